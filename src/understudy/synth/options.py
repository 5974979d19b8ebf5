"""Rules and options that several methods of synthesis declare."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import PurePath
from typing import Any, ClassVar

from understudy.blocks.choosing import ParentChoice
from understudy.blocks.conditional import KEY_FUNCTIONS
from understudy.blocks.engines import engine_words
from understudy.blocks.priors import PriorShape, PublicShape, Shape
from understudy.codebook import Codebook
from understudy.errors import ParameterError
from understudy.mechanisms.smoothing import declared_public
from understudy.parameters import DELTA, EPSILON, REQUIRED, Flag, Number, OneOf, Panel, Rule, Whole, option, shown_value
from understudy.privacy.guarantees import Neighbours
from understudy.privacy.provenance import InputRole
from understudy.sources import open_source
from understudy.sources.addresses import shown
from understudy.sources.inputs import public_provenance
from understudy.synth.seeds import PublicSeeds, RealSeeds, SeedPool, UniformSeeds


@dataclass(frozen=True)
class NeighboursRule(OneOf):
    """Add-remove or replace-one; the relation of commuting tables says nothing about a table of records."""

    choices: tuple[Any, ...] = (Neighbours.ADD_REMOVE, Neighbours.REPLACE)

    def check(self, name: str, value: Any) -> Any:
        """A member of the enum."""
        if value == Neighbours.ORIGIN:
            raise ParameterError(
                f"`{name}` is {Neighbours.ORIGIN.value!r}; that relation belongs to commuting tables "
                "(`understudy commute synth`). Use add-remove or replace-one."
            )
        if isinstance(value, Neighbours) and value not in self.choices:
            raise ParameterError(
                f"`{name}` is {value.value!r}; the codebook's [unit] makes the person the unit. "
                "Use add-remove or replace-one."
            )
        return super().check(name, value)


class ParentsRule(Rule):
    """A word, or the parents of some columns."""

    repeats: ClassVar[bool] = True
    metavar: ClassVar[str] = "PARENTS"
    words = "a way to choose parents, or parents by column"
    example = "declared"

    def admits(self, value: Any) -> bool:
        """Words are looked up by whoever chooses."""
        return value is None or isinstance(value, str | Mapping | ParentChoice)

    def read(self, name: str, given: Any, context: Any = None) -> Any:
        """One word, or ``COLUMN=PARENT,PARENT`` for each column whose parents are set."""
        if isinstance(given, ParentChoice):
            return given
        if isinstance(given, Mapping):
            if not all(isinstance(parents, str | list | tuple) for parents in given.values()):
                raise ParameterError(f"`{name}` is given by what a manifest says of an object; give the object itself.")
            return {column: _names(parents) for column, parents in given.items()}
        words = [given] if isinstance(given, str) else list(given)
        if len(words) == 1 and "=" not in words[0]:
            return words[0]
        parents = {}
        for word in words:
            column, equals, listed = str(word).partition("=")
            if not equals or not column:
                raise ParameterError(
                    f"`{name}` is {word!r}; write one word, or COLUMN=PARENT,PARENT for some columns, for example "
                    "charge=los,sev."
                )
            parents[column] = _names(listed)
        return parents

    def plain(self, value: Any) -> Any:
        """The word or the parents; an object by its word and choices."""
        return value.describe() if isinstance(value, ParentChoice) else super().plain(value)


class NumbersByColumn(Rule):
    """A number for all columns, or ``COLUMN=NUMBER`` for each."""

    repeats: ClassVar[bool] = True
    metavar: ClassVar[str] = "COLUMN=NUMBER"
    words = "a number, or a number for each column (COLUMN=NUMBER)"
    example = "income=3"

    def __init__(self, number: Number, *, also_alone: bool) -> None:
        self._number, self._also_alone = number, also_alone

    def admits(self, value: Any) -> bool:
        """Numbers inside the bounds."""
        if isinstance(value, Mapping):
            return all(self._number.admits(item) for item in value.values())
        return self._also_alone and self._number.admits(value)

    def check(self, name: str, value: Any) -> Any:
        """Names the column whose number is wrong."""
        if isinstance(value, Mapping):
            for column, item in value.items():
                self._number.check(f"{name} of {column}", item)
            return value
        return self._number.check(name, value) if self._also_alone else super().check(name, value)

    def read(self, name: str, given: Any, context: Any = None) -> Any:
        """Split at the equals sign."""
        if isinstance(given, Mapping | int | float):
            return self.check(name, given)
        words = [given] if isinstance(given, str) else [str(word) for word in given]
        split = [word.rpartition("=") for word in words]
        columns = [column for column, _, _ in split]
        try:
            numbers = [float(number) for _, _, number in split]
        except ValueError:
            numbers = []
        alone = self._also_alone and columns == [""]
        if len(numbers) != len(words) or (not alone and not all(columns)) or len(set(columns)) < len(columns):
            raise ParameterError(
                f"`{name}` is {' '.join(words)!r}; write COLUMN=NUMBER for each column"
                f"{', or one number' if self._also_alone else ', for example income=3'}."
            )
        return self.check(name, numbers[0] if alone else dict(zip(columns, numbers, strict=True)))


class EnginesRule(Rule):
    """One engine for all columns, or one for each."""

    repeats: ClassVar[bool] = True
    metavar: ClassVar[str] = "ENGINE"
    words = "an engine, or an engine for each column"
    example = "auto"

    def admits(self, value: Any) -> bool:
        """Words are looked up when they are known to be engines."""
        return isinstance(value, str | Mapping)

    def read(self, name: str, given: Any, context: Any = None) -> Any:
        """``COLUMN=ENGINE`` words."""
        return self.check(name, engine_words(given) if isinstance(given, list | tuple) else given)


class PriorRule(Rule):
    """A shape of virtual records, or a public table that has one."""

    words = "uniform, ordinal, or a public table"
    example = "uniform"

    def admits(self, value: Any) -> bool:
        """A shape."""
        return isinstance(value, PriorShape | PublicShape) or value in list(PriorShape)

    def check(self, name: str, value: Any) -> Shape:
        """A member of the enum, or the shape of a public table."""
        shape: Shape = super().check(name, value)
        return PriorShape(shape) if isinstance(shape, str) else shape

    def read(self, name: str, given: Any, context: Any = None) -> Shape:
        """Counts the public table, once it is known to be public; ``context`` is the codebook."""
        if self.admits(given) or not isinstance(given, str) or not isinstance(context, Codebook):
            return self.check(name, given)
        public_provenance(given, InputRole.PRIOR)  # before anything of it is read
        public = open_source(given, context)
        counted = public.count([[column] for column in context.names])
        tables = declared_public(counted, provenance=public.provenance, role=InputRole.PRIOR)
        counts = {
            column: tuple(int(n) for n in table.to_grid()) for column, table in zip(context.names, tables, strict=True)
        }
        return PublicShape(counts=counts, source=shown(given), provenance=public.provenance)

    def plain(self, value: Any) -> Any:
        """The word, or where the table is."""
        return value.source if isinstance(value, PublicShape) else value.value


class SeedsRule(Rule):
    """Where chains start."""

    words = "uniform, the path of a public table, or data"
    example = "uniform"
    _FORMER: ClassVar[Mapping[str, str]] = {"uniform over the codebook": "uniform", "real rows": "data"}
    """What manifests said before recipes could be read back from them."""
    _OBJECT: ClassVar[str] = "an object of the type "

    def admits(self, value: Any) -> bool:
        """A pool; a word is refused, lest it be priced as public."""
        return isinstance(value, SeedPool)

    def check(self, name: str, value: Any) -> Any:
        """A pool of starting rows."""
        if not self.admits(value):
            raise ParameterError(
                f"`{name}` is {shown_value(value)}; it must be UniformSeeds(), PublicSeeds(path=...) or RealSeeds() "
                "(from understudy.synth.seeds). On the command line a word is enough."
            )
        return value

    def read(self, name: str, given: Any, context: Any = None) -> SeedPool:
        """``uniform``, ``data``, or the path of a public table."""
        if not isinstance(given, str | PurePath):
            pool: SeedPool = self.check(name, given)
            return pool
        word = str(given).removeprefix("rows of the public file ")
        word = self._FORMER.get(word, word)
        if word.startswith(self._OBJECT):
            raise ParameterError(f"`{name}` is {word!r}, which a manifest says of it; give the object itself.")
        return UniformSeeds() if word == "uniform" else RealSeeds() if word == "data" else PublicSeeds(path=word)

    def plain(self, value: Any) -> str:
        """The word that stands for it."""
        if isinstance(value, PublicSeeds):
            return shown(value.path)
        if not isinstance(value, RealSeeds | UniformSeeds):
            return f"{self._OBJECT}{type(value).__module__}.{type(value).__qualname__}"
        return "data" if isinstance(value, RealSeeds) else "uniform"


def _names(listed: str | Sequence[str]) -> tuple[str, ...]:
    return tuple(name for name in (listed.split(",") if isinstance(listed, str) else listed) if name)


def epsilon_option(default: Any = REQUIRED) -> Any:
    """The whole file's privacy loss."""
    return option(default, rule=EPSILON, panel=Panel.PRIVACY, help="Privacy loss of the whole file.")


def delta_option(default: Any = REQUIRED) -> Any:
    """The slack of the whole file's total."""
    return option(default, rule=DELTA, panel=Panel.PRIVACY, help="Slack of the whole-file total, far below 1/records.")


def neighbours_option() -> Any:
    """The relation under which the price holds."""
    return option(Neighbours.ADD_REMOVE, rule=NeighboursRule(), panel=Panel.PRIVACY, help="add-remove or replace-one.")


def measurements_option() -> Any:
    """Whether a release carries what it was made from."""
    return option(
        True,
        rule=Flag(),
        panel=Panel.INPUT,
        flag="--measurements/--no-measurements",
        help="Keep the noisy tables beside the rows, as they were measured: `understudy infer` needs them, and they "
        "are paid for.",
    )


def parents_option(default: Any = None) -> Any:
    """How the parents of columns are chosen."""
    return option(
        default,
        rule=ParentsRule(),
        help="declared, private, random, full, or mutual-information (reads raw data: no formal guarantee); or "
        "COLUMN=PARENT,PARENT, repeated, which overrides the codebook.",
    )


def parent_count_option(default: int = 2) -> Any:
    """R of the SBHG paper."""
    return option(default, rule=Whole(tried=2), help="R: parents per column, for choices that take a number.")


def public_rows_option(*, is_required: bool = False) -> Any:
    """The publicly known size of the table."""
    return option(
        REQUIRED if is_required else None,
        rule=Whole(least=2, tried=10_000),
        help="Publicly known number of records (an upper bound under add-remove), for private choices.",
    )


def sweeps_option(default: int, *, least: int = 1, about: str) -> Any:
    """Gibbs sweeps."""
    return option(default, rule=Whole(least=least, tried=max(1, default)), help=about)


def key_option() -> Any:
    """Which function of the parents is the key of a conditional table."""
    return option("columns", rule=OneOf.of(KEY_FUNCTIONS), help="columns, feature-hash or minhash.")


def key_space_option(default: int | None = None) -> Any:
    """How many keys a hash has."""
    return option(default, rule=Whole(tried=65_536), help="Number of hashed keys.")


def seeds_option() -> Any:
    """Where chains start."""
    made = option(
        rule=SeedsRule(),
        help="uniform, the path of a public table, or data (real rows: no formal guarantee).",
    )
    return field(default_factory=UniformSeeds, metadata=made.metadata)
