"""What a release may promise, as values.

A guarantee always names its neighbour relation: which change of the table it protects. Two guarantees under
different relations are never added up.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import Any, ClassVar

from understudy.codec import to_plain
from understudy.errors import ParameterError


class Neighbours(StrEnum):
    """Which two tables count as neighbours; with whom that protects, and in words a board can read."""

    _value_: str
    unit: str
    """Whom the relation protects: one record, one person, or where one worker lives."""
    plain: str

    def __new__(cls, value: str, unit: str = "", plain: str = "") -> "Neighbours":
        """A word with its meaning."""
        member = str.__new__(cls, value)
        member._value_, member.unit, member.plain = value, unit, plain.format(unit=unit)
        return member

    ADD_REMOVE = "add-remove", "record", "adding or removing one {unit}"
    """One record more or less; the number of records is private."""
    REPLACE = "replace-one", "record", "changing one {unit} to any other (the number of records is public)"
    """One record takes another value; the number of records is public."""
    ORIGIN = (
        "origin-in-destination",
        "worker's origin",
        "changing the origin of one worker inside a destination (which worker works where, destination totals and "
        "output sizes are public)",
    )
    """One worker's origin changes inside a public destination; destination totals are public. For commuting tables."""
    ADD_REMOVE_PERSON = "add-remove-person", "person", "adding or removing one {unit} with all their records"
    """One person more or less, with all their records; the numbers of people and records are private."""
    REPLACE_PERSON = (
        "replace-person",
        "person",
        "changing all records of one {unit} (how many records each {unit} has is public)",
    )
    """All records of one person take other values; how many records each person has is public, hence the total too."""

    @property
    def of_people(self) -> "Neighbours":
        """The same change made to a whole person instead of one record."""
        if self is Neighbours.ORIGIN:
            raise ParameterError("a worker's origin is already one person's; there is no group of them to price.")
        adding = self in (Neighbours.ADD_REMOVE, Neighbours.ADD_REMOVE_PERSON)
        return Neighbours.ADD_REMOVE_PERSON if adding else Neighbours.REPLACE_PERSON


@dataclass(frozen=True, kw_only=True)
class Guarantee:
    """Base of every promise."""

    kind: ClassVar[str]

    is_formal: ClassVar[bool] = True
    """Whether there is a theorem behind the promise."""

    def __post_init__(self) -> None:
        epsilon, delta = getattr(self, "epsilon", 0.0), getattr(self, "delta", 0.0)
        if not epsilon >= 0:  # also where it is no number at all
            raise ParameterError(f"`epsilon` is {epsilon}; it must be 0 or more.")
        if not 0 <= delta <= 1:
            raise ParameterError(f"`delta` is {delta}; it is a probability, between 0 and 1.")

    def to_dict(self) -> dict[str, Any]:
        """The promise as plain data, for a manifest."""
        return {"kind": self.kind, **to_plain(vars(self))}


@dataclass(frozen=True, kw_only=True)
class PureDP(Guarantee):
    """Every output is at most e^epsilon times likelier on one neighbour than on the other."""

    kind: ClassVar[str] = "PureDP"
    delta: ClassVar[float] = 0.0
    epsilon: float
    neighbours: Neighbours

    def to_dict(self) -> dict[str, Any]:
        """As plain data; delta is spelled out so that machines need no special case."""
        return {"kind": self.kind, "epsilon": self.epsilon, "delta": 0.0, "neighbours": self.neighbours.value}


@dataclass(frozen=True, kw_only=True)
class ApproxDP(Guarantee):
    """As PureDP up to probability delta."""

    kind: ClassVar[str] = "ApproxDP"
    epsilon: float
    delta: float
    neighbours: Neighbours


def differential_privacy(epsilon: float, delta: float, neighbours: Neighbours) -> PureDP | ApproxDP:
    """A price that was added up: pure where its delta is 0, and never above probability 1."""
    if delta == 0:
        return PureDP(epsilon=epsilon, neighbours=neighbours)
    return ApproxDP(epsilon=epsilon, delta=min(delta, 1.0), neighbours=neighbours)


@dataclass(frozen=True, kw_only=True)
class ProbabilisticDP(Guarantee):
    """The epsilon ratio holds outside a set of outputs of probability delta; not closed under post-processing."""

    kind: ClassVar[str] = "ProbabilisticDP"
    epsilon: float
    delta: float
    neighbours: Neighbours


@dataclass(frozen=True, kw_only=True)
class LDiverse(Guarantee):
    """Every sampling distribution has entropy at least log l. Not differential privacy."""

    kind: ClassVar[str] = "LDiverse"
    l: float  # noqa: E741 - the field's own name for it


@dataclass(frozen=True, kw_only=True)
class KAnonymous(Guarantee):
    """Every combination of quasi-identifiers is shared by at least k rows. Not differential privacy."""

    kind: ClassVar[str] = "KAnonymous"
    k: int


@dataclass(frozen=True, kw_only=True)
class NoFormal(Guarantee):
    """No theorem covers this; ``why`` names every culprit."""

    kind: ClassVar[str] = "NoFormal"
    is_formal: ClassVar[bool] = False
    why: str


_KINDS: dict[str, type[Guarantee]] = {
    cls.kind: cls for cls in (PureDP, ApproxDP, ProbabilisticDP, LDiverse, KAnonymous, NoFormal)
}


def guarantee_from_dict(data: dict[str, Any]) -> Guarantee:
    """Read back what :meth:`Guarantee.to_dict` wrote."""
    fields = {name: value for name, value in data.items() if name != "kind"}
    if data.get("kind") == "PureDP":
        fields.pop("delta", None)
    if "neighbours" in fields:
        fields["neighbours"] = Neighbours(fields["neighbours"])
    return _KINDS[data["kind"]](**fields)
