"""How often columns differ between the records of one person. A confidential look, for the holder's screen alone."""

from dataclasses import dataclass
from typing import Any

from understudy.codebook import Codebook
from understudy.errors import DataError, listed
from understudy.sources.benches import fetched
from understudy.sources.expressions import encoded_columns, person_of
from understudy.sources.faults import engine_errors
from understudy.sources.files import open_table


@dataclass(frozen=True, kw_only=True)
class Repeated:
    """How the records of persons repeat each other; all of it is private."""

    people: int
    several: int
    """People with more than one record."""
    differing: dict[str, int]
    """For each column the number of people whose records have more than one known value of it."""

    @property
    def constant(self) -> tuple[str, ...]:
        """Columns in which at most one in a hundred of the people with several records differ."""
        return tuple(name for name, people in self.differing.items() if people * 100 <= self.several)


def look_at_persons(what: Any, book: Codebook, person: str, *, table: str | None = None) -> Repeated:
    """Count, for each column, the people who contradict that it is constant. Missing values contradict nothing."""
    opened = open_table(what, table, file=book.file)
    if person not in opened.header:
        has = listed(opened.header)
        raise DataError(f"{opened.label} has no column {person!r} that tells people apart; it has {has}.")
    columns = [column for column in book.described if column.reads == column.name and column.name != person]
    with engine_errors(repr(opened.label)):
        codes = encoded_columns(opened.table, "error", columns, {"person": person_of(opened.value(person))})
        codes = codes.filter(codes.person.notnull())
        values = {
            f"v{place}": codes[f"c{place}"].nunique(where=codes[f"c{place}"] != missing)
            for place, column in enumerate(columns)
            for missing in [column.size + 1 if column.missing_code is None else column.missing_code]
        }
        each = codes.group_by("person").aggregate(records=codes.count(), **values)
        asked = {"people": each.count(), "several": (each.records > 1).sum()}
        asked |= {name: (each[name] > 1).sum() for name in values}
        found = fetched(opened.connection, each.aggregate(**asked)).to_pylist()[0]
    differing = {column.name: int(found[f"v{place}"] or 0) for place, column in enumerate(columns)}
    return Repeated(people=int(found["people"]), several=int(found["several"] or 0), differing=differing)
