"""What is asked of a table in a few words: k, further demands and hierarchies, turned into a recipe of one step.

>>> Asked(k=5, suppression=0.01).recipe().steps[0].do
'full-domain'
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from understudy.anonymize.anonymity import FullDomain, Mondrian
from understudy.anonymize.criteria import (
    CRITERIA,
    Closeness,
    Criterion,
    DistinctDiversity,
    EntropyDiversity,
    RecursiveDiversity,
)
from understudy.anonymize.entries import column_words
from understudy.anonymize.hierarchies import Rule as HierarchyRule
from understudy.anonymize.recipe import HIERARCHIES, Recipe
from understudy.errors import ParameterError
from understudy.parameters import Declared, Flag, Panel, Rule, option, option_of, options_of


@dataclass(frozen=True, kw_only=True)
class _Demands(Rule):
    """Criteria of one kind; in words ``COLUMN=NUMBERS`` for each."""

    metavar: ClassVar[str] = "COLUMN=VALUE"
    repeats: ClassVar[bool] = True
    cls: type[Criterion]
    form: str
    """The words, for example COLUMN=C,L."""
    keys: tuple[str, ...]
    """The options of the criterion that stand behind the equals sign, in order."""
    example: str = "disease=3"
    rest: tuple[str, ...] = ()
    """What the last of them are where they are left out."""

    @property
    def words(self) -> str:
        """The form."""
        return f"{self.form} for each column"

    def admits(self, value: Any) -> bool:
        """Criteria of this kind."""
        return isinstance(value, tuple | list) and all(isinstance(item, self.cls) for item in value)

    def read(self, name: str, given: Any, context: Any = None) -> Any:
        """From words, or what was given."""
        if self.admits(given):
            return tuple(given)
        return tuple(self._criterion(name, *pair) for pair in column_words(name, given, self.form))

    def _criterion(self, name: str, column: str, value: str) -> Criterion:
        parts = value.split(",")
        parts += self.rest if len(parts) < len(self.keys) else ()
        if len(parts) != len(self.keys):
            raise ParameterError(f"`{name}` is {column}={value!r}; write {self.form}.")
        known = options_of(self.cls)
        numbers = {key: known[key].rule.read(name, part) for key, part in zip(self.keys, parts, strict=True)}
        return self.cls(column=column, **numbers)


def _demands(help: str, cls: type[Criterion], form: str, *keys: str, **more: Any) -> Any:  # noqa: A002
    return option((), rule=_Demands(cls=cls, form=form, keys=keys, **more), help=help, panel=Panel.PRIVACY)


@dataclass(frozen=True, kw_only=True)
class Asked(Declared):
    """A k-anonymous table in one step."""

    k: int | None = option_of(FullDomain, "k", None)
    suppression: float | None = option_of(FullDomain, "suppression", None)
    loss: str | None = option_of(FullDomain, "loss", None)
    mondrian: bool = option(False, rule=Flag(), help="Cut boxes instead of generalising whole columns.")
    delete: bool = option(False, rule=Flag(), help="Delete suppressed rows instead of starring them.")
    distinct: tuple[Criterion, ...] = _demands("COLUMN=L: distinct l-diversity.", DistinctDiversity, "COLUMN=L", "l")
    entropy: tuple[Criterion, ...] = _demands(
        "COLUMN=L: entropy l-diversity.", EntropyDiversity, "COLUMN=L", "l", example="disease=2.5"
    )
    recursive: tuple[Criterion, ...] = _demands(
        "COLUMN=C,L: recursive (c,l)-diversity.", RecursiveDiversity, "COLUMN=C,L", "c", "l", example="disease=3,2"
    )
    closeness: tuple[Criterion, ...] = _demands(
        "COLUMN=T or COLUMN=T,ordered or COLUMN=T,hierarchical: t-closeness.",
        Closeness, "COLUMN=T,ordered", "t", "distance", example="disease=0.2,ordered", rest=("equal",),
    )  # fmt: skip
    criteria: tuple[Criterion, ...] = option((), rule=CRITERIA, help="Further demands, as objects.")
    hierarchies: Mapping[str, HierarchyRule] = field(default_factory=dict, metadata=HIERARCHIES.metadata)

    @property
    def says_nothing(self) -> bool:
        """Whether nothing was asked at all."""
        return self == Asked()

    def recipe(self) -> Recipe:
        """The recipe of one step; what is lacking or contradicts itself is refused."""
        if self.k is None:
            raise ParameterError("nothing is asked: give `k`, or a `recipe`. There is no default for privacy.")
        criteria = (*self.distinct, *self.entropy, *self.recursive, *self.closeness, *self.criteria)
        if self.mondrian:
            if self.suppression is not None or self.loss or self.delete:
                raise ParameterError(
                    "`mondrian` suppresses nothing and has no loss to choose; leave those options out."
                )
            return Recipe(steps=(Mondrian(k=self.k, criteria=criteria),), hierarchies=self.hierarchies)
        if self.suppression is None:
            raise ParameterError(
                "`suppression` is missing: the share of rows that may be suppressed, for example 0.01; 0 allows none."
            )
        step = FullDomain(
            k=self.k,
            suppression=self.suppression,
            loss=self.loss or "entropy",
            suppressed="delete" if self.delete else "star",
            criteria=criteria,
        )
        return Recipe(steps=(step,), hierarchies=self.hierarchies)
