"""k-anonymity of a released table, as an entry of a ledger: a property of that table, not of how it was made."""

from dataclasses import dataclass
from typing import ClassVar

from understudy.parameters import Text, Whole, option
from understudy.privacy.events import Event
from understudy.privacy.guarantees import Guarantee, KAnonymous


@dataclass(frozen=True, kw_only=True)
class KAnonymousTable(Event):
    """A table was released in which every combination of quasi-identifiers occurs at least k times."""

    kind: ClassVar[str] = "k-anonymous-table"
    proof: ClassVar[str | None] = "k_anonymity.md"
    k: int = option(rule=Whole(least=2), help="smallest class, counted in the released table")
    quasi_identifiers: tuple[str, ...] = option(
        rule=Text(words="one column or more", example="age,sex", admitted=bool), help="columns that classes agree on"
    )
    criteria: tuple[str, ...] = ()
    """What else every class satisfies, in words."""

    def guarantee(self) -> Guarantee:
        """The class size; nothing about neighbouring tables."""
        return KAnonymous(k=self.k)
