"""Whom a release protects when people have several records."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from understudy.codebook.columns import Column

_KEYS = ("id", "cap")
_MAY = ("pseudonyms", "records_per_person")
COUNTED = "counted"
"""Instead of public shares: counted in the data, at a price."""
MOST_WEIGHT = 1 << 40
MOST_RECORDS = 10_000
"""A larger cap would price a person so high that nothing is promised."""


@dataclass(frozen=True, kw_only=True)
class PersonUnit:
    """One person is all records that share a value of ``id``; at most ``cap`` of them take part.

    The cap is public and must not be read off the data: choose what is known about such tables.
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
        said = (
            f"records of one person share one value of {self.id}, and the cap of {self.cap} records per person was "
            "chosen without looking at the data"
        )
        if self.records_per_person and self.records_per_person != COUNTED:
            said += "; how common each number of records per person is, is public knowledge"
        return said


def unit_faults(unit: PersonUnit, columns: "Mapping[str, Column]") -> list[str]:
    """Whether the id column exists and is dropped, and the cap makes sense."""
    found = []
    if isinstance(unit.cap, bool) or not isinstance(unit.cap, int) or not 1 <= unit.cap <= MOST_RECORDS:
        found.append(
            f"[unit] has cap = {unit.cap!r}; it is the number of records of one person that take part, a whole number "
            f"from 1 to {MOST_RECORDS:,}. Try 4."
        )
    found += _share_faults(unit)
    column = columns.get(unit.id)
    if column is None:
        found.append(
            f"[unit] has id = {unit.id!r}, which is not a column of the codebook; describe it with "
            'kind = "text" and role = "identifier".'
        )
    elif column.is_modelled or column.kind != "text":
        found.append(
            f"[unit] has id = {unit.id!r}, a {column.kind} column that would take part in the synthesis; ids never "
            'reach a release. Give it kind = "text" and role = "identifier".'
        )
    return found


def _share_faults(unit: PersonUnit) -> list[str]:
    shares = unit.records_per_person
    if shares == ():
        return []
    whole = isinstance(shares, tuple) and all(
        isinstance(n, int) and not isinstance(n, bool) and 0 <= n <= MOST_WEIGHT for n in shares
    )
    if shares != COUNTED and (not whole or not any(shares)):
        return [
            f"[unit] has records_per_person = {_listed(shares)}; it lists how common it is to have one record, two, "
            f'and so on, in whole numbers (try [6, 3, 1]), or is "{COUNTED}".'
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


def _listed(shares: Any) -> str:
    return str(list(shares) if isinstance(shares, tuple) else repr(shares))


def read_unit(value: Any) -> tuple[PersonUnit | None, list[str]]:
    """The ``[unit]`` table of a codebook, and what is wrong with it."""
    if value is None:
        return None, []
    if not isinstance(value, dict):
        return None, ['unit must be a table: [unit] with id = "patient" and cap = 4.']
    if strange := sorted(set(value) - {*_KEYS, *_MAY}):
        return None, [f"[unit] has unknown keys {', '.join(strange)}; it knows {', '.join((*_KEYS, *_MAY))}."]
    if lacking := [key for key in _KEYS if key not in value]:
        return None, [f"[unit] lacks {', '.join(lacking)}; it needs the id column and the cap on records per person."]
    if not isinstance(value["id"], str) or not value["id"]:
        return None, [f"[unit] has id = {value['id']!r}; it must be the name of a column in quotes."]
    wanted = value.get("pseudonyms", False)
    if not isinstance(wanted, bool):
        return None, [f"[unit] has pseudonyms = {wanted!r}; it must be true or false."]
    shares = value.get("records_per_person", ())
    shares = tuple(shares) if isinstance(shares, list) and shares else shares
    return PersonUnit(id=value["id"], cap=value["cap"], pseudonyms=wanted, records_per_person=shares), []


def unit_lines(unit: PersonUnit) -> list[str]:
    """The table as canonical TOML."""
    from understudy.codebook.toml_text import quoted

    lines = ["", "[unit]", f"id = {quoted(unit.id)}", f"cap = {unit.cap}"]
    lines += ["pseudonyms = true"] if unit.pseudonyms else []
    shares = unit.records_per_person
    if shares:
        lines.append(f"records_per_person = {quoted(shares) if isinstance(shares, str) else list(shares)}")
    return lines
