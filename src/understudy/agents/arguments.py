"""What a tool may be called with: declared once, for the schema that an agent reads and for the check that it meets.

Every text, list and number is bounded, and an argument that nobody declared is refused. Sentences quote what the agent
sent, shortened.
"""

import math
import re
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from understudy.agents.phases import Told
from understudy.parameters import shown_value

MOST_WORDS = 2_000
"""Characters of a text."""
MOST_ITEMS = 50
NAME = re.compile("[a-z0-9][a-z0-9_-]{0,63}")
"""How things are named: never a path, and never a name that the file system reads as one."""
NAME_WORDS = "1 to 64 small letters, digits, hyphens and underscores, first a letter or digit"


@dataclass(frozen=True, kw_only=True)
class Kind(ABC):
    """Which values an argument may have."""

    help: str
    required: bool = False

    @property
    @abstractmethod
    def words(self) -> str:
        """After "it must be"."""

    @property
    @abstractmethod
    def bare(self) -> dict[str, Any]:
        """Its JSON Schema, without the description."""

    @abstractmethod
    def admits(self, value: Any) -> bool:
        """Whether it may have this value."""

    @property
    def schema(self) -> dict[str, Any]:
        """Its JSON Schema."""
        return {**self.bare, "description": self.help}


@dataclass(frozen=True, kw_only=True)
class Words(Kind):
    """A text."""

    most: int = MOST_WORDS

    @property
    def words(self) -> str:
        """Its length."""
        return f"a text of 1 to {self.most:,} characters"

    @property
    def bare(self) -> dict[str, Any]:
        """A string."""
        return {"type": "string", "minLength": 1, "maxLength": self.most}

    def admits(self, value: Any) -> bool:
        """A text that is not too long and holds no control characters."""
        return isinstance(value, str) and 1 <= len(value) <= self.most and value.isprintable()


@dataclass(frozen=True, kw_only=True)
class Name(Kind):
    """The name of something."""

    @property
    def words(self) -> str:
        """What it is made of."""
        return NAME_WORDS

    @property
    def bare(self) -> dict[str, Any]:
        """A string."""
        return {"type": "string", "pattern": f"^{NAME.pattern}$"}

    def admits(self, value: Any) -> bool:
        """Nothing that could be a path."""
        return isinstance(value, str) and NAME.fullmatch(value) is not None


@dataclass(frozen=True, kw_only=True)
class Amount(Kind):
    """A finite number above or from ``least``."""

    least: float = 0.0
    most: float = 1e6
    is_open: bool = True
    """Whether ``least`` itself is left out."""
    is_open_above: bool = False

    @property
    def words(self) -> str:
        """Its bounds."""
        low, high = ("above" if self.is_open else "of at least"), ("below" if self.is_open_above else "at most")
        return f"a number {low} {self.least:g} and {high} {self.most:g}"

    @property
    def bare(self) -> dict[str, Any]:
        """A number."""
        low, high = (
            ("exclusiveMinimum" if self.is_open else "minimum"),
            ("exclusiveMaximum" if self.is_open_above else "maximum"),
        )
        return {"type": "number", low: self.least, high: self.most}

    def admits(self, value: Any) -> bool:
        """Inside the bounds."""
        if isinstance(value, bool) or not isinstance(value, int | float) or not -math.inf < value < math.inf:
            return False
        above = value > self.least if self.is_open else value >= self.least
        return above and (value < self.most if self.is_open_above else value <= self.most)


@dataclass(frozen=True, kw_only=True)
class Count(Kind):
    """A whole number."""

    least: int = 1
    most: int

    @property
    def words(self) -> str:
        """Its bounds."""
        return f"a whole number from {self.least:,} to {self.most:,}"

    @property
    def bare(self) -> dict[str, Any]:
        """An integer."""
        return {"type": "integer", "minimum": self.least, "maximum": self.most}

    def admits(self, value: Any) -> bool:
        """Inside the bounds."""
        return isinstance(value, int) and not isinstance(value, bool) and self.least <= value <= self.most


@dataclass(frozen=True, kw_only=True)
class Choice(Kind):
    """One of a few words."""

    choices: tuple[str, ...]

    @property
    def words(self) -> str:
        """All of them."""
        return f"one of {', '.join(self.choices)}"

    @property
    def bare(self) -> dict[str, Any]:
        """An enumeration."""
        return {"type": "string", "enum": list(self.choices)}

    def admits(self, value: Any) -> bool:
        """One of them."""
        return isinstance(value, str) and value in self.choices


@dataclass(frozen=True, kw_only=True)
class YesNo(Kind):
    """True or false."""

    @property
    def words(self) -> str:
        """Both."""
        return "true or false"

    @property
    def bare(self) -> dict[str, Any]:
        """A boolean."""
        return {"type": "boolean"}

    def admits(self, value: Any) -> bool:
        """A bool."""
        return isinstance(value, bool)


@dataclass(frozen=True, kw_only=True)
class Several(Kind):
    """A list of texts."""

    @property
    def words(self) -> str:
        """Of what, and how many."""
        return f"a list of at most {MOST_ITEMS} texts of 1 to {MOST_WORDS:,} characters"

    @property
    def bare(self) -> dict[str, Any]:
        """An array of strings."""
        return {"type": "array", "maxItems": MOST_ITEMS, "items": Words(help="").bare}

    def admits(self, value: Any) -> bool:
        """Each a text."""
        each = Words(help="")
        return isinstance(value, list) and len(value) <= MOST_ITEMS and all(map(each.admits, value))


@dataclass(frozen=True, kw_only=True)
class Settings(Kind):
    """Options by name: numbers, yes or no, short words."""

    @property
    def words(self) -> str:
        """Of what."""
        return f"an object of at most {MOST_ITEMS} options, each a number, true or false, or a short word"

    @property
    def bare(self) -> dict[str, Any]:
        """An object of plain values."""
        return {
            "type": "object",
            "maxProperties": MOST_ITEMS,
            "additionalProperties": {"type": ["number", "boolean", "string"], "maxLength": 64},
        }

    def admits(self, value: Any) -> bool:
        """Plain values under short names."""
        number, word = Amount(help="", least=-1e12, most=1e12, is_open=False), Words(help="", most=64)
        return (
            isinstance(value, dict)
            and len(value) <= MOST_ITEMS
            and all(map(word.admits, value))
            and all(isinstance(each, bool) or number.admits(each) or word.admits(each) for each in value.values())
        )


def schema_of(arguments: Mapping[str, Kind]) -> dict[str, Any]:
    """The JSON Schema of all arguments of a tool."""
    return {
        "type": "object",
        "properties": {name: kind.schema for name, kind in arguments.items()},
        "required": [name for name, kind in arguments.items() if kind.required],
        "additionalProperties": False,
    }


def checked(arguments: Mapping[str, Kind], given: Mapping[str, Any] | None) -> dict[str, Any]:
    """What an agent sent, if it may be sent; null stands for an argument that was left out."""
    sent = {name: value for name, value in (given or {}).items() if value is not None}
    strangers = [name for name in sent if name not in arguments]
    if strangers:
        known = ", ".join(arguments) or "none"
        raise Told(f"there is no argument {strangers[0][:80]!r}; the arguments are: {known}.")
    missing = [name for name, kind in arguments.items() if kind.required and name not in sent]
    if missing:
        raise Told(f"`{missing[0]}` is missing; it must be {arguments[missing[0]].words}. {_all(missing[1:])}".strip())
    for name, value in sent.items():
        if not arguments[name].admits(value):
            raise Told(f"`{name}` is {_shown(value)}; it must be {arguments[name].words}.")
    return sent


def _all(names: Sequence[str]) -> str:
    return f"So are {', '.join(names)}." if len(names) > 1 else f"So is {names[0]}." if names else ""


def _shown(value: Any) -> str:
    if isinstance(value, str) and len(value) > 80:
        return f"a text of {len(value):,} characters"
    if isinstance(value, int) and abs(value) >= 10**18:
        return "a very large number"
    return shown_value(value)[:120]
