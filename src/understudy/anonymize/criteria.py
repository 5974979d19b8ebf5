"""What every class of the released table must satisfy, beside having k rows.

Each criterion names a sensitive column and measures, for a class, one number from the class's histogram of that column
(and, for t-closeness, the histogram of the whole released table). The search runs compiled twins of these measures
(``kernels``); what is reported is recomputed with the ones here, from the released table.

Missing sensitive values count as one more level.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from understudy.anonymize.entries import COLUMN, read_entry
from understudy.parameters import Declared, Number, OneOf, Panel, Rule, Several, Whole, option

Histogram = npt.NDArray[np.int64]
Shares = npt.NDArray[np.float64]
Tree = npt.NDArray[np.int64]
"""The node of every level at every height; the last height is one root."""

SLACK = 1e-12
"""Comparisons of floats allow this much, so that (5, 5) is 2-diverse."""


@dataclass(frozen=True, kw_only=True)
class Criterion(Declared, ABC):
    """Base: ``measure`` says how good one class is, ``passes`` whether that is enough."""

    kind: ClassVar[str]
    worst: ClassVar[Any] = staticmethod(min)
    """What is achieved over all classes, from the numbers of each."""
    column: str = option(rule=COLUMN, help="The sensitive column.", panel=Panel.PRIVACY)

    @property
    @abstractmethod
    def label(self) -> str:
        """In a few words, for statements."""

    @abstractmethod
    def measure(self, histogram: Histogram, whole: Histogram, tree: Tree | None = None) -> float:
        """The number that the criterion is about, for one class."""

    @abstractmethod
    def passes(self, measured: float) -> bool:
        """Whether a class with this number is good enough."""

    def to_dict(self) -> dict[str, Any]:
        """As plain data."""
        return {"kind": self.kind, **self.get_params()}


@dataclass(frozen=True, kw_only=True)
class DistinctDiversity(Criterion):
    """At least l different values in every class."""

    kind: ClassVar[str] = "distinct-l-diversity"
    l: int = option(rule=Whole(tried=2), help="Different values at least.", panel=Panel.PRIVACY)  # noqa: E741

    @property
    def label(self) -> str:
        """In a few words."""
        return f"distinct {self.l}-diversity of {self.column}"

    def measure(self, histogram: Histogram, whole: Histogram, tree: Tree | None = None) -> float:
        """Number of different values."""
        return float((histogram > 0).sum())

    def passes(self, measured: float) -> bool:
        """At least l."""
        return measured >= self.l


@dataclass(frozen=True, kw_only=True)
class EntropyDiversity(Criterion):
    """Entropy of the sensitive column in every class at least log l; reported as exp(H)."""

    kind: ClassVar[str] = "entropy-l-diversity"
    l: float = option(  # noqa: E741
        rule=Number(least=1, tried=2), help="exp of the entropy at least.", panel=Panel.PRIVACY
    )

    @property
    def label(self) -> str:
        """In a few words."""
        return f"entropy {self.l:g}-diversity of {self.column}"

    def measure(self, histogram: Histogram, whole: Histogram, tree: Tree | None = None) -> float:
        """exp of the entropy."""
        shares = histogram[histogram > 0] / histogram.sum()
        return float(np.exp(-(shares * np.log(shares)).sum()))

    def passes(self, measured: float) -> bool:
        """At least l."""
        return math.log(measured) + SLACK >= math.log(self.l)


@dataclass(frozen=True, kw_only=True)
class RecursiveDiversity(Criterion):
    """Recursive (c, l): the commonest value is rarer than c times all but the l - 1 commonest together."""

    kind: ClassVar[str] = "recursive-l-diversity"
    worst: ClassVar[Any] = staticmethod(max)
    c: float = option(rule=Number(above=0, tried=2), help="The factor c.", panel=Panel.PRIVACY)
    l: int = option(rule=Whole(tried=2), help="The number l.", panel=Panel.PRIVACY)  # noqa: E741

    @property
    def label(self) -> str:
        """In a few words."""
        return f"recursive ({self.c:g}, {self.l})-diversity of {self.column}"

    def measure(self, histogram: Histogram, whole: Histogram, tree: Tree | None = None) -> float:
        """The ratio r_1 / (r_l + ... + r_m) that must stay below c; infinite where there are fewer than l values."""
        counts = np.sort(histogram)[::-1]
        tail = int(counts[self.l - 1 :].sum())
        return float(counts[0]) / tail if tail else math.inf

    def passes(self, measured: float) -> bool:
        """Strictly below c."""
        return measured < self.c


@dataclass(frozen=True, kw_only=True)
class Closeness(Criterion):
    """Earth mover's distance between every class and the whole released table at most t."""

    kind: ClassVar[str] = "t-closeness"
    worst: ClassVar[Any] = staticmethod(max)
    t: float = option(rule=Number(least=0, most=1, tried=0.2), help="The distance allowed.", panel=Panel.PRIVACY)
    distance: str = option(
        rule=OneOf(("equal", "ordered", "hierarchical")),
        help="equal: all values are equally far apart; ordered: by rank; hierarchical: by a tree.",
        panel=Panel.PRIVACY,
    )

    @property
    def label(self) -> str:
        """In a few words."""
        return f"{self.t:g}-closeness of {self.column} ({self.distance} distance)"

    def measure(self, histogram: Histogram, whole: Histogram, tree: Tree | None = None) -> float:
        """The distance of one class to the whole."""
        p, q = histogram / histogram.sum(), whole / whole.sum()
        if self.distance == "equal":
            return equal_distance(p, q)
        if self.distance == "ordered":
            return ordered_distance(p[whole > 0], q[whole > 0])
        assert tree is not None
        return hierarchical_distance(p, q, tree)

    def passes(self, measured: float) -> bool:
        """At most t."""
        return measured <= self.t + SLACK


def uses_distance(criterion: Criterion, distance: str) -> bool:
    """Whether a criterion needs the order, or the tree, of its column's values."""
    return isinstance(criterion, Closeness) and criterion.distance == distance


def equal_distance(p: Shares, q: Shares) -> float:
    """Half the sum of absolute differences: all values are at distance 1 [Li07 section 5].

    >>> round(equal_distance(np.array([1.0, 0.0]), np.array([0.25, 0.75])), 6)
    0.75
    """
    return float(np.abs(p - q).sum() / 2)


def ordered_distance(p: Shares, q: Shares) -> float:
    """Sum of absolute differences of the cumulated shares over C - 1, C the values that occur in the table [Li07].

    Salaries 3k to 11k, all nine once: the class of the three lowest, and one of 6k, 8k and 11k.

    >>> q = np.full(9, 1 / 9)
    >>> low, spread = np.repeat([1 / 3, 0.0], [3, 6]), np.zeros(9)
    >>> spread[[3, 5, 8]] = 1 / 3
    >>> round(ordered_distance(low, q), 6), round(ordered_distance(spread, q), 6)
    (0.375, 0.166667)
    """
    if len(p) < 2:
        return 0.0
    return float(np.abs(np.cumsum(p - q)).sum() / (len(p) - 1))


def hierarchical_distance(p: Shares, q: Shares, tree: Tree) -> float:
    """What flows between the children of a node costs its height over the tree's [Li07 section 5].

    ``tree[h][value]`` is the node of a value at height h; height 0 are the values, the last row is the root.
    """
    extra = p - q
    height = len(tree) - 1
    total = 0.0
    for level in range(1, height + 1):
        children, first = np.unique(tree[level - 1], return_index=True)
        flows = np.bincount(tree[level - 1], weights=extra)[children]
        parents = tree[level][first]
        surplus = np.bincount(parents, weights=np.maximum(flows, 0.0))
        lack = np.bincount(parents, weights=np.maximum(-flows, 0.0))
        total += level / height * float(np.minimum(surplus, lack).sum())
    return total


KINDS: dict[str, type[Criterion]] = {
    cls.kind: cls for cls in (DistinctDiversity, EntropyDiversity, RecursiveDiversity, Closeness)
}


class _CriterionRule(Rule):
    """A criterion, also as a table of a recipe."""

    words = "a criterion"
    example = '{ kind = "distinct-l-diversity", column = "disease", l = 2 }'

    def admits(self, value: Any) -> bool:
        """A criterion."""
        return isinstance(value, Criterion)

    def read(self, name: str, given: Any, context: Any = None) -> Any:
        """From the table of a recipe or a manifest."""
        return criterion_from_dict(given) if isinstance(given, Mapping) else self.check(name, given)


CRITERIA = Several(each=_CriterionRule(), words="a list of criteria", example=f"[{_CriterionRule.example}]", least=0)


def criterion_from_dict(entry: Mapping[str, Any]) -> Criterion:
    """What :meth:`Criterion.to_dict` wrote, or what a recipe says."""
    kind = OneOf.of(KINDS).check("kind", entry.get("kind"))
    return read_entry(KINDS[kind], kind, {key: value for key, value in entry.items() if key != "kind"})
