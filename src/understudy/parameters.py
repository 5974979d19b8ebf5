"""What a parameter may be, declared once.

A :class:`Rule` says which values are allowed. Its check, its error sentence, its command-line flag and its line in the
reference all follow from it. :func:`option` attaches a rule, a help text and a panel to a field of a dataclass;
:class:`Declared` gives such a class its checks, its copies and its plain form.

>>> Number(above=0, most=1).check("share", 2.0)
Traceback (most recent call last):
    ...
understudy.errors.ParameterError: `share` is 2.0; it must be a number above 0 and at most 1. Try 0.5.
"""

import dataclasses
import difflib
import math
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import MISSING, dataclass
from enum import StrEnum
from fractions import Fraction
from pathlib import PurePath
from typing import Any, ClassVar, Self, TypeVar

from understudy.codec import is_numpy_number, to_fraction, to_plain
from understudy.errors import ParameterError

Class = TypeVar("Class")
_METADATA_KEY = "understudy.option"
_SHOWN_ITEMS, _SHOWN_CHARACTERS = 12, 200
_NAMED = re.compile(r"`([a-z_]+)`")
"""How sentences name an option; the command line spells it as the flag instead."""


class Panel(StrEnum):
    """Where an option stands in the help of a command."""

    PRIVACY = "Privacy"
    MODEL = "Model"
    INPUT = "Input and output"
    SPEED = "Speed"


class Rule(ABC):
    """Which values a parameter may have."""

    metavar: ClassVar[str] = "TEXT"
    repeats: ClassVar[bool] = False
    """Whether the flag may be given several times."""

    @property
    @abstractmethod
    def words(self) -> str:
        """What the value must be, after "it must be"."""

    @property
    @abstractmethod
    def example(self) -> Any:
        """A value that is allowed."""

    @abstractmethod
    def admits(self, value: Any) -> bool:
        """Whether ``value`` is allowed."""

    def check(self, name: str, value: Any) -> Any:
        """``value``, if it is allowed; otherwise an error that names the value, the rule and the remedy."""
        if not self.admits(value):
            raise ParameterError(f"`{name}` is {shown_value(value)}; it must be {self.words}. Try {self.example}.")
        return value

    def read(self, name: str, given: Any, context: Any = None) -> Any:
        """The value that a word on the command line, or an entry of a recipe file, stands for.

        ``context`` is what a rule may need to know besides, such as the codebook.
        """
        return self.check(name, given)

    def plain(self, value: Any) -> Any:
        """``value`` as manifests and recipe files keep it; :meth:`read` understands it."""
        return to_plain(value)


@dataclass(frozen=True, kw_only=True)
class Number(Rule):
    """A finite number within bounds; exact fractions count as numbers."""

    metavar: ClassVar[str] = "NUMBER"
    above: float | None = None
    least: float | None = None
    below: float | None = None
    most: float | None = None
    tried: float | None = None
    """The example, where the middle of the range is a bad one."""

    def admits(self, value: Any) -> bool:
        """Finite, and inside the bounds."""
        if isinstance(value, bool) or not (isinstance(value, int | float | Fraction) or is_numpy_number(value)):
            return False
        return (
            -math.inf < value < math.inf  # also of whole numbers that no float holds
            and (self.above is None or value > self.above)
            and (self.least is None or value >= self.least)
            and (self.below is None or value < self.below)
            and (self.most is None or value <= self.most)
        )

    @property
    def words(self) -> str:
        """The bounds in words."""
        low = f"above {self.above:g}" if self.above is not None else None
        low = f"of at least {self.least:g}" if self.least is not None else low
        high = f"below {self.below:g}" if self.below is not None else None
        high = f"at most {self.most:g}" if self.most is not None else high
        bounds = " and ".join(part for part in (low, high) if part)
        return f"{'a number' if high else 'a finite number'} {bounds}".rstrip()

    @property
    def example(self) -> float:
        """A value inside the bounds."""
        if self.tried is not None:
            return self.tried
        low = self.above if self.above is not None else self.least
        high = self.below if self.below is not None else self.most
        if low is not None and high is not None:
            return (low + high) / 2
        return (low + 1.0) if low is not None else (high - 1.0) if high is not None else 1.0

    def read(self, name: str, given: Any, context: Any = None) -> Any:
        """A number, also written as text."""
        return self.check(name, number_of(given) if isinstance(given, str) else given)


def exact(value: Any) -> Fraction | None:
    """A number as it is written (0.1 is a tenth), or None where it is no finite number."""
    try:
        return to_fraction(str(value))
    except (ValueError, ZeroDivisionError):
        return None


@dataclass(frozen=True, kw_only=True)
class ExactNumber(Number):
    """A number that is taken as it is written; decimals and texts count."""

    def admits(self, value: Any) -> bool:
        """Finite, and inside the bounds."""
        return not isinstance(value, bool) and super().admits(exact(value))


@dataclass(frozen=True, kw_only=True)
class Whole(Rule):
    """A whole number within bounds."""

    metavar: ClassVar[str] = "NUMBER"
    least: int = 1
    most: int | None = None
    tried: int | None = None

    def admits(self, value: Any) -> bool:
        """An int (not a bool) inside the bounds."""
        is_whole = isinstance(value, int) or _is_numpy_whole(value)
        return (
            is_whole
            and not isinstance(value, bool)
            and self.least <= value
            and (self.most is None or value <= self.most)
        )

    @property
    def words(self) -> str:
        """The bounds in words."""
        if self.most is None:
            return f"a whole number of {self.least:,} or more"
        return f"a whole number from {self.least:,} to {self.most:,}"

    @property
    def example(self) -> int:
        """A value inside the bounds."""
        return self.least if self.tried is None else self.tried

    def read(self, name: str, given: Any, context: Any = None) -> Any:
        """A whole number, also written as text."""
        return self.check(name, number_of(given, int) if isinstance(given, str) else given)


@dataclass(frozen=True, kw_only=True)
class NumberOrWord(Rule):
    """A number, or a word for a way to find it."""

    metavar: ClassVar[str] = "NUMBER"
    number: Number | Whole
    choices: tuple[str, ...]

    @property
    def words(self) -> str:
        """The bounds of the number, and the choices."""
        return f"{self.number.words}, or {' or '.join(self.choices)}"

    @property
    def example(self) -> str:
        """The last choice."""
        return self.choices[-1]

    def admits(self, value: Any) -> bool:
        """A choice, or a number inside the bounds."""
        return value in self.choices if isinstance(value, str) else self.number.admits(value)

    def read(self, name: str, given: Any, context: Any = None) -> Any:
        """A choice, or a number, also written as text."""
        try:
            return self.number.read(name, given)
        except ParameterError:
            return self.check(name, given)


@dataclass(frozen=True)
class OneOf(Rule):
    """One of a few words; with an enum, its members or their values."""

    choices: tuple[Any, ...]
    metavar: ClassVar[str] = "WORD"

    @classmethod
    def of(cls, choices: Iterable[Any]) -> "OneOf":
        """The members of an enum, or words."""
        return cls(tuple(choices))

    def admits(self, value: Any) -> bool:
        """One of them; text must be spelled as listed."""
        return isinstance(value, str) and value in self.choices

    @property
    def words(self) -> str:
        """All of them."""
        return f"one of {', '.join(map(str, self.choices))}"

    @property
    def example(self) -> str:
        """The first of them."""
        return str(self.choices[0])

    def check(self, name: str, value: Any) -> Any:
        """The choice itself: a member of the enum, where there is one."""
        return self.choices[self.choices.index(super().check(name, value))]


class Flag(Rule):
    """Yes or no."""

    metavar: ClassVar[str] = ""
    words = "true or false"
    example = True

    def admits(self, value: Any) -> bool:
        """A bool."""
        return isinstance(value, bool)


@dataclass(frozen=True, kw_only=True)
class Text(Rule):
    """Any text, or what a caller's own test admits."""

    words: str = "a text"
    example: str = "name"
    admitted: Callable[[Any], bool] = lambda value: isinstance(value, str) and bool(value)

    def admits(self, value: Any) -> bool:
        """What the test says."""
        return self.admitted(value)


@dataclass(frozen=True, kw_only=True)
class Names(Rule):
    """Several names, separated by commas on the command line."""

    metavar: ClassVar[str] = "NAME,NAME"
    words: str = "a list of names"
    example: str = "age,sex"

    def admits(self, value: Any) -> bool:
        """Texts, none of them empty."""
        return isinstance(value, tuple | list) and all(isinstance(name, str) and name for name in value)

    def read(self, name: str, given: Any, context: Any = None) -> Any:
        """Split at commas."""
        return tuple(self.check(name, _split(given)))


class EachName(Names):
    """Several names, each with a flag of its own."""

    metavar: ClassVar[str] = "NAME"
    repeats: ClassVar[bool] = True


@dataclass(frozen=True, kw_only=True)
class Several(Rule):
    """A list of values that all obey one rule; separated by commas on the command line."""

    metavar: ClassVar[str] = "VALUE,VALUE"
    each: Rule
    words: str = "a list"
    example: str = "a,b"
    least: int = 1

    def admits(self, value: Any) -> bool:
        """Long enough, and every item allowed."""
        return isinstance(value, tuple | list) and len(value) >= self.least and all(map(self.each.admits, value))

    def check(self, name: str, value: Any) -> Any:
        """As a tuple, which does not change."""
        return tuple(super().check(name, value))

    def read(self, name: str, given: Any, context: Any = None) -> Any:
        """Item by item."""
        items = _split(given)
        if not isinstance(items, tuple | list):
            return self.check(name, given)
        read = [self.each.read(name, item, context) if isinstance(item, str | Mapping) else item for item in items]
        return self.check(name, read)


EPSILON = Number(above=0)
DELTA = Number(above=0, below=1, tried=1e-6)
SHARE = Number(above=0, below=1)
ROWS = Whole(least=1, most=10**12, tried=1000)
"""A terabyte a column; beyond it a number is a slip of the hand."""


REQUIRED: Any = object()
"""Stands where an option has no default."""


@dataclass(frozen=True, kw_only=True)
class Option:
    """What a field declares: everything that the command line, the recipe file and the reference say about it."""

    name: str
    rule: Rule
    help: str
    panel: Panel
    default: Any = REQUIRED
    flag: str | None = None
    """How it is written on the command line, where that differs from its name; a short form stands behind a space."""

    @property
    def is_required(self) -> bool:
        """Whether it has no default."""
        return self.default is REQUIRED

    @property
    def has_no_value(self) -> bool:
        """Whether nothing stands for it unless somebody names a value."""
        return self.is_required or self.default is None

    @property
    def flags(self) -> str:
        """As it is written on the command line."""
        return self.flag or f"--{self.name.replace('_', '-')}"

    def check(self, value: Any) -> Any:
        """The checked value; None where that is the default."""
        return None if value is None and self.default is None else self.rule.check(self.name, value)


def option(
    default: Any = REQUIRED,
    *,
    rule: Rule,
    help: str,  # noqa: A002 - the word that everybody knows
    panel: Panel = Panel.MODEL,
    flag: str | None = None,
) -> Any:
    """A dataclass field that declares an option."""
    metadata = {_METADATA_KEY: Option(name="", rule=rule, help=help, panel=panel, flag=flag)}
    if default is REQUIRED:
        return dataclasses.field(metadata=metadata)
    return dataclasses.field(default=default, metadata=metadata)


def option_of(cls: type, name: str, default: Any) -> Any:
    """A field that declares an option of another class, with a default of its own."""
    known = options_of(cls)[name]
    own = "" if known.default in (REQUIRED, None) else f" Default: {known.default}."
    return option(default, rule=known.rule, help=known.help + own, panel=known.panel, flag=known.flag)


def options_of(cls: type) -> dict[str, Option]:
    """The declared options of a dataclass, in their order."""
    return {
        field.name: dataclasses.replace(field.metadata[_METADATA_KEY], name=field.name, default=_default_of(field))
        for field in dataclasses.fields(cls)
        if _METADATA_KEY in field.metadata
    }


def read_options(cls: type, words: Mapping[str, Any], context: Any = None) -> dict[str, Any]:
    """What the words of a command line or a recipe file stand for; None is what was not given."""
    known = options_of(cls)
    return {
        name: _read(known[name].rule, name, value, context) if name in known else value
        for name, value in words.items()
        if value is not None
    }


def _read(rule: Rule, name: str, given: Any, context: Any) -> Any:
    """What is neither words nor allowed may be a table in the wrong place, which no rule should take apart."""
    return rule.read(name, given, context) if _is_words(given) or rule.admits(given) else rule.check(name, given)


def _is_words(value: Any) -> bool:
    """Whether a command line or a file could have it."""
    if isinstance(value, Mapping):
        return all(_is_words(item) for item in value.values())
    if isinstance(value, list | tuple):
        return all(_is_words(item) for item in value)
    return _is_plain(value) or isinstance(value, PurePath)


def options_together(classes: Mapping[str, type]) -> dict[str, Option]:
    """The options of several classes, for a help that is about all of them.

    What only some of them take says whose it is; a default on which they disagree is left out.
    """
    found: dict[str, dict[str, Option]] = {}
    for called, cls in classes.items():
        for name, declared in options_of(cls).items():
            found.setdefault(name, {})[called] = declared
    together = {}
    for name, by_class in found.items():
        first, *others = by_class.values()
        whose = "" if len(by_class) == len(classes) else f" Of {', '.join(by_class)}."
        default = first.default if all(other.default == first.default for other in others) else None
        together[name] = dataclasses.replace(first, help=first.help + whose, default=default)
    return together


def check_names(cls: type, called: str, given: Iterable[str]) -> None:
    """Refuse options that a class does not have, and the lack of one without a default."""
    known, names = options_of(cls), set(given)
    if unknown := sorted(names - set(known)):
        raise ParameterError(
            f"{called} does not take {_in_marks(unknown)}; it takes {_in_marks(known) or 'no options'}."
        )
    if missing := [name for name, declared in known.items() if declared.is_required and name not in names]:
        tries = ", ".join(f"{known[name].rule.example} for {_in_marks([name])}" for name in missing)
        raise ParameterError(f"{called} needs {_in_marks(missing)}; there is no default. Try {tries}.")


def _in_marks(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def as_keys(sentence: str, *, but: Collection[str] = ()) -> str:
    """A sentence about a recipe file, where options are keys and no flags; ``but`` are options that stand elsewhere."""
    return _NAMED.sub(lambda match: match[0] if match[1] in but else repr(match[1]), sentence)


def name_file(reason: ParameterError, path: Any, keys: Collection[str], *, but: Collection[str] = ()) -> None:
    """Let an error that names a key of a recipe file name the file, too."""
    sentence = str(reason)
    if {*_NAMED.findall(sentence)} & {*keys} - {*but}:
        reason.args = (f"in the recipe {str(path)!r}: {as_keys(sentence, but=but)}",)


def find_declared(classes: Mapping[str, type[Class]], name: str, *, hint: str = "") -> type[Class]:
    """The class of a method by its name; a slip of the pen gets a suggestion, anything else ``hint``."""
    if name in classes:
        return classes[name]
    near = difflib.get_close_matches(name.lower(), classes, n=1, cutoff=0.4)
    more = f" Did you mean {near[0]!r}?" if near else f" {hint}".rstrip()
    raise ParameterError(f"there is no method {name!r}; methods are {', '.join(classes)}.{more}")


def from_words(cls: type[Class], called: str, words: Mapping[str, Any], *, context: Any = None, **beside: Any) -> Class:
    """The object that words of a command line or a recipe file stand for; ``beside`` are fields that are no options."""
    return make_declared(cls, called, read_options(cls, words, context), **beside)


def make_declared(cls: type[Class], called: str, values: Mapping[str, Any], **beside: Any) -> Class:
    """The object that has these options, each of which the class must know; ``called`` is what messages call it."""
    check_names(cls, called, values)
    return cls(**beside, **values)


def _default_of(field: "dataclasses.Field[Any]") -> Any:
    if field.default_factory is not MISSING:
        return field.default_factory()
    return REQUIRED if field.default is MISSING else field.default


class Declared:
    """A frozen dataclass whose fields are options: they are checked when it is made."""

    def __post_init__(self) -> None:
        for name, declared in options_of(type(self)).items():
            object.__setattr__(self, name, declared.check(getattr(self, name)))

    def get_params(self) -> dict[str, Any]:
        """Every choice by name."""
        return {name: getattr(self, name) for name in options_of(type(self))}

    def parameters(self) -> dict[str, Any]:
        """Every choice as plain data, for manifests and recipe files."""
        return {name: declared.rule.plain(getattr(self, name)) for name, declared in options_of(type(self)).items()}

    def with_params(self, **changes: Any) -> Self:
        """A copy with some choices changed; this one stays as it is."""
        if unknown := sorted(set(changes) - set(options_of(type(self)))):
            known = ", ".join(options_of(type(self)))
            raise ParameterError(f"there is no option {', '.join(unknown)}; the options are {known}.")
        return dataclasses.replace(self, **changes)  # type: ignore[type-var]


def shown_value(value: Any) -> str:
    """As an error may quote it: tables and other objects by their type alone, whatever they hold."""
    inside = value.values() if isinstance(value, dict) else value if isinstance(value, list | tuple) else [value]
    if len(inside) > _SHOWN_ITEMS or not all(_is_plain(item) for item in inside):
        return f"a value of type {type(value).__name__}"
    text = f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else repr(value)
    return text if len(text) <= _SHOWN_CHARACTERS else f"{text[:_SHOWN_CHARACTERS]}…"


def _is_plain(value: Any) -> bool:
    return isinstance(value, str | int | float | Fraction | type(None)) or is_numpy_number(value)


def _is_numpy_whole(value: Any) -> bool:
    return is_numpy_number(value) and value.dtype.kind in "iu"


def _split(given: Any) -> Any:
    """The parts of a text between commas; whatever else was given stays as it is."""
    return [part.strip() for part in given.split(",") if part.strip()] if isinstance(given, str) else given


def number_of(text: str, kind: Callable[[str], Any] = float) -> Any:
    """The number that a person typed (with ``kind=int`` a whole one), or the text where it is none."""
    try:
        return kind(text) if text.isascii() and "_" not in text else text  # Python reads 0_1, and digits of all scripts
    except ValueError:
        return text
