"""What every class of the released table must satisfy, beside having k rows.

Each criterion names a sensitive column and measures, for a class, one number from the class's histogram of that column
(and, for t-closeness, the histogram of the whole released table). The search runs compiled twins of these measures
(``kernels``); what is reported is recomputed with the ones here, from the released table.

Missing sensitive values count as one more level.
"""

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from dataclasses import fields as dataclass_fields
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from understudy.errors import ParameterError

Histogram = npt.NDArray[np.int64]
Shares = npt.NDArray[np.float64]

SLACK = 1e-12
"""Comparisons of floats allow this much, so that (5, 5) is 2-diverse."""

DISTANCES = ("equal", "ordered", "hierarchical")


def check_k(k: int) -> int:
    """A whole number of at least 2: with 1 nothing is asked."""
    if isinstance(k, bool) or not isinstance(k, int) or k < 2:
        raise ParameterError(f"`k` is {k!r}; it must be a whole number of 2 or more (1 asks nothing). Try 5.")
    return k


def _check_l(l: Any, *, whole: bool) -> None:  # noqa: E741 - the field's own name for it
    kinds = int if whole else int | float
    if isinstance(l, bool) or not isinstance(l, kinds) or not 1 <= l < math.inf:
        word = "whole number" if whole else "number"
        raise ParameterError(f"`l` is {l!r}; it must be a {word} of 1 or more (1 asks nothing). Try 2.")


@dataclass(frozen=True, kw_only=True)
class Criterion(ABC):
    """Base: ``measure`` says how good one class is, ``passes`` whether that is enough."""

    kind: ClassVar[str]
    column: str

    @property
    @abstractmethod
    def said(self) -> str:
        """In a few words, for statements."""

    @abstractmethod
    def measure(self, histogram: Histogram, whole: Histogram, tree: npt.NDArray[np.int64] | None = None) -> float:
        """The number that the criterion is about, for one class."""

    @abstractmethod
    def passes(self, measured: float) -> bool:
        """Whether a class with this number is good enough."""

    def worst(self, measured: list[float]) -> float:
        """What is achieved over all classes."""
        return min(measured)

    def to_dict(self) -> dict[str, Any]:
        """As plain data."""
        return {"kind": self.kind, **vars(self)}


@dataclass(frozen=True, kw_only=True)
class DistinctDiversity(Criterion):
    """At least l different values in every class."""

    kind: ClassVar[str] = "distinct-l-diversity"
    l: int  # noqa: E741 - the field's own name for it

    def __post_init__(self) -> None:
        _check_l(self.l, whole=True)

    @property
    def said(self) -> str:
        """In a few words."""
        return f"distinct {self.l}-diversity of {self.column}"

    def measure(self, histogram: Histogram, whole: Histogram, tree: npt.NDArray[np.int64] | None = None) -> float:
        """Number of different values."""
        return float((histogram > 0).sum())

    def passes(self, measured: float) -> bool:
        """At least l."""
        return measured >= self.l


@dataclass(frozen=True, kw_only=True)
class EntropyDiversity(Criterion):
    """Entropy of the sensitive column in every class at least log l; reported as exp(H)."""

    kind: ClassVar[str] = "entropy-l-diversity"
    l: float  # noqa: E741 - the field's own name for it

    def __post_init__(self) -> None:
        _check_l(self.l, whole=False)

    @property
    def said(self) -> str:
        """In a few words."""
        return f"entropy {self.l:g}-diversity of {self.column}"

    def measure(self, histogram: Histogram, whole: Histogram, tree: npt.NDArray[np.int64] | None = None) -> float:
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
    c: float
    l: int  # noqa: E741 - the field's own name for it

    def __post_init__(self) -> None:
        _check_l(self.l, whole=True)
        if isinstance(self.c, bool) or not isinstance(self.c, int | float) or not 0 < self.c < math.inf:
            raise ParameterError(f"`c` is {self.c!r}; it must be a number above 0. Try 2.")

    @property
    def said(self) -> str:
        """In a few words."""
        return f"recursive ({self.c:g}, {self.l})-diversity of {self.column}"

    def measure(self, histogram: Histogram, whole: Histogram, tree: npt.NDArray[np.int64] | None = None) -> float:
        """The ratio r_1 / (r_l + ... + r_m) that must stay below c; infinite where there are fewer than l values."""
        counts = np.sort(histogram)[::-1]
        tail = int(counts[self.l - 1 :].sum())
        return float(counts[0]) / tail if tail else math.inf

    def passes(self, measured: float) -> bool:
        """Strictly below c."""
        return measured < self.c

    def worst(self, measured: list[float]) -> float:
        """The largest ratio."""
        return max(measured)


@dataclass(frozen=True, kw_only=True)
class Closeness(Criterion):
    """Earth mover's distance between every class and the whole released table at most t."""

    kind: ClassVar[str] = "t-closeness"
    t: float
    distance: str
    """``equal`` (all values are equally far apart), ``ordered`` (by rank) or ``hierarchical`` (by a tree)."""

    def __post_init__(self) -> None:
        if isinstance(self.t, bool) or not isinstance(self.t, int | float) or not 0 <= self.t <= 1:
            raise ParameterError(f"`t` is {self.t!r}; it is a distance between 0 and 1. Try 0.2.")
        if self.distance not in DISTANCES:
            raise ParameterError(f"`distance` is {self.distance!r}; it must be one of {', '.join(DISTANCES)}.")

    @property
    def said(self) -> str:
        """In a few words."""
        return f"{self.t:g}-closeness of {self.column} ({self.distance} distance)"

    def measure(self, histogram: Histogram, whole: Histogram, tree: npt.NDArray[np.int64] | None = None) -> float:
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

    def worst(self, measured: list[float]) -> float:
        """The largest distance."""
        return max(measured)


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


def hierarchical_distance(p: Shares, q: Shares, tree: npt.NDArray[np.int64]) -> float:
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


_KINDS: dict[str, type[Criterion]] = {
    cls.kind: cls for cls in (DistinctDiversity, EntropyDiversity, RecursiveDiversity, Closeness)
}


def criterion_from_dict(data: dict[str, Any]) -> Criterion:
    """Read back what :meth:`Criterion.to_dict` wrote, or what a recipe says."""
    kind = data.get("kind")
    if kind not in _KINDS:
        raise ParameterError(f"criterion kind {kind!r} is unknown; kinds are {', '.join(_KINDS)}.")
    cls = _KINDS[kind]
    fields = {name: value for name, value in data.items() if name != "kind"}
    wanted = [one.name for one in dataclass_fields(cls)]
    if set(fields) != set(wanted):
        raise ParameterError(f"a criterion of kind {kind!r} has {', '.join(fields)}; it needs {', '.join(wanted)}.")
    return cls(**fields)
