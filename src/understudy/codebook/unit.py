"""The person as the unit of protection, for tables with several records per person."""

from collections.abc import Mapping
from dataclasses import dataclass

from understudy.codebook.columns import Column
from understudy.parameters import Whole

COUNTED = "counted"
"""Instead of public shares: counted in the data, at a price."""
MOST_WEIGHT = 1 << 40
MOST_RECORDS = 10_000
"""A larger cap would price a person so high that nothing is promised."""


@dataclass(frozen=True, kw_only=True)
class PersonUnit:
    """One person is all records that share a value of ``id``; at most ``cap`` of them take part.

    The cap is public and must not be read from the data: choose it from what is known about such tables.
    """

    id: str
    """The identifier column whose values tell people apart; it never reaches a release."""
    cap: int
    """How many records of one person are used; which ones is left to chance."""
    pseudonyms: bool = False
    """Whether a release has the id column again, with ids made anew: one for each record, unless the next says more."""
    records_per_person: tuple[int, ...] | str = ()
    """How common it is among synthetic people to have one record, two, ...: public weights, or ``counted``."""

    @property
    def assumption(self) -> str:
        """What a reader takes for granted."""
        sentence = (
            f"records of one person share one value of {self.id}, and the cap of {self.cap} records per person was "
            "chosen without looking at the data"
        )
        if self.records_per_person and self.records_per_person != COUNTED:
            sentence += "; how common each number of records per person is, is public knowledge"
        return sentence


def unit_faults(unit: PersonUnit, columns: Mapping[str, Column]) -> list[str]:
    """Whether the id column exists and is dropped, and the cap makes sense."""
    faults = []
    if not Whole(most=MOST_RECORDS).admits(unit.cap):
        faults.append(
            f"[unit] has cap = {unit.cap!r}; it is the number of records of one person that take part, a whole number "
            f"from 1 to {MOST_RECORDS:,}. Try 4."
        )
    faults += _share_faults(unit)
    column = columns.get(unit.id)
    if column is None:
        faults.append(
            f"[unit] has id = {unit.id!r}, which is not a column of the codebook; describe it with "
            'kind = "text" and role = "identifier".'
        )
    elif column.is_modelled or column.kind != "text":
        faults.append(
            f"[unit] has id = {unit.id!r}, a {column.kind} column that would take part in the synthesis; ids never "
            'reach a release. Give it kind = "text" and role = "identifier".'
        )
    return faults


def _share_faults(unit: PersonUnit) -> list[str]:
    shares = unit.records_per_person
    if shares == ():
        return []
    are_whole = isinstance(shares, tuple) and all(map(Whole(least=0, most=MOST_WEIGHT).admits, shares))
    if shares != COUNTED and (not are_whole or not any(shares)):
        shown = list(shares) if isinstance(shares, tuple) else repr(shares)
        return [
            f"[unit] has records_per_person = {shown}; it lists how common it is to have one record, two, and so on, "
            f'in whole numbers (try [6, 3, 1]), or is "{COUNTED}".'
        ]
    if shares != COUNTED and len(shares) > unit.cap:
        return [
            f"[unit] has records_per_person for up to {len(shares)} records, and cap = {unit.cap}; nobody takes part "
            "with more records than the cap."
        ]
    if not unit.pseudonyms:
        return [
            "[unit] has records_per_person but no ids to group records by; write pseudonyms = true, or leave it out."
        ]
    return []
