"""k-anonymity of a released table, as an entry of a ledger: a property of that table, not of how it was made."""

from dataclasses import dataclass
from typing import Any, ClassVar

from understudy.errors import ParameterError
from understudy.privacy.events import Event
from understudy.privacy.guarantees import Guarantee, KAnonymous


@dataclass(frozen=True, kw_only=True)
class KAnonymousTable(Event):
    """A table was released in which every combination of quasi-identifiers occurs at least k times."""

    kind: ClassVar[str] = "k-anonymous-table"
    proof: ClassVar[str | None] = "k_anonymity.md"
    k: int
    """Smallest class, counted in the released table."""
    quasi_identifiers: tuple[str, ...]
    criteria: tuple[str, ...] = ()
    """What else every class satisfies, in words."""

    def __post_init__(self) -> None:
        if isinstance(self.k, bool) or not isinstance(self.k, int) or self.k < 2:
            raise ParameterError(f"`k` is {self.k!r}; a table where some combination is unique promises nothing.")
        if not self.quasi_identifiers:
            raise ParameterError("a k-anonymous table names its quasi-identifiers; there are none.")

    @classmethod
    def from_fields(cls, values: dict[str, Any]) -> "KAnonymousTable":
        """From a manifest."""
        return cls(
            k=values["k"],
            quasi_identifiers=tuple(values["quasi_identifiers"]),
            criteria=tuple(values["criteria"]),
        )

    def guarantee(self) -> Guarantee:
        """The class size; nothing about neighbouring tables."""
        return KAnonymous(k=self.k)
