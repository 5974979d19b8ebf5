"""Attacks on synthetic people with histories: what they gain about people in the data over people set aside.

A person becomes one record: what the top table says of them, how many rows they have in each table, and the first and
the last of their rows in each. Then the attacks of one table are tried on these records (:mod:`..risk.gains`), so that
their success has the same unit.
"""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from understudy.codebook import Codebook, Column, Ordinal, Role
from understudy.codebook.columns import Categorical
from understudy.codebook.views import NONE as NO_ROW
from understudy.evaluate.holdout import check_holdout, refuse_same_people
from understudy.evaluate.linked.rows import NONE, Ints, LinkedRows, follow
from understudy.evaluate.linked.shares import coarse
from understudy.evaluate.report.intruder import Attacks, lone_copies
from understudy.evaluate.risk.gains import Gain, counted_gains
from understudy.sources.encoded import EncodedSource
from understudy.sources.tables import code_type


def person_gains(real: LinkedRows, synthetic: LinkedRows, holdout: LinkedRows) -> list[Gain]:
    """Membership by looking a whole history up and, where roles are declared, guesses of each sensitive value."""
    if not all(side.tables[side.book.person.name].rows for side in (real, synthetic, holdout)):
        return []
    sides = [person_records(side) for side in (real, synthetic, holdout)]
    book = sides[0].codebook
    known, wanted = book.with_role(Role.QUASI_IDENTIFIER), book.with_role(Role.SENSITIVE)
    gains = counted_gains(*sides, quasi=known, sensitive=wanted)
    same = "the same values, numbers of rows, and first and last rows"
    says = f"Is this person in the data? Yes, if a synthetic person has {same}."
    return [replace(gains[0], says=says), *gains[1:]]


def person_attacks(real: LinkedRows, synthetic: LinkedRows, holdout: LinkedRows | None) -> Attacks:
    """What is known about risk, in the shape that a verdict on one table is reached from.

    A hold-out whose people are in the data too is refused, by their ids and by what is known of them: it would prove
    that every release is safe.
    """
    if holdout is not None:
        refuse_same_people(real.people, holdout.people)
    person = real.book.person.name
    sides = [side for side in (real, synthetic, holdout) if side is not None]
    if not all(side.tables[person].rows for side in sides):
        return Attacks(level="quick", quasi=(), sensitive=(), gains=None if holdout is None else (), copies=None)
    truth, copy, *others = (person_records(side) for side in sides)
    for other in others:
        check_holdout(truth, other)
    gains = None if holdout is None else tuple(person_gains(real, synthetic, holdout))
    copies = lone_copies(truth, copy, others[0] if others else None)
    book = truth.codebook
    return Attacks(
        level="quick",
        quasi=book.with_role(Role.QUASI_IDENTIFIER),
        sensitive=book.with_role(Role.SENSITIVE),
        gains=gains,
        copies=replace(copies, copies="people have the whole history"),
    )


def person_records(rows: LinkedRows) -> EncodedSource:
    """One record for each person."""
    columns, codes = zip(*_columns(rows), strict=True)
    arrays = [each.astype(code_type(column.size)) for column, each in zip(columns, codes, strict=True)]
    return EncodedSource(codebook=Codebook(columns=tuple(columns)), columns=arrays)


def _columns(rows: LinkedRows) -> Iterator[tuple[Column, Ints]]:
    person = rows.book.person
    for name in (column.name for column in person.book.described):
        spelled = person.spelled(name)
        yield _told(rows, spelled, spelled, rows.tables[person.name].codes(name))
    for table in rows.book.tables[1:]:
        people = _people(rows, table.name)
        most = rows.book.most_rows(table.name)
        number = np.bincount(people[people != NONE], minlength=rows.tables[person.name].rows)
        levels = tuple(map(str, range(most + 1)))
        yield Ordinal(name=f"number of {table.name}", levels=levels), np.minimum(number, most)
        ends = {"first": _ends(rows, table.name, people, last=False)}
        if most > 1:
            ends["last"] = _ends(rows, table.name, people, last=True)
        for which, chosen in ends.items():
            for name in (column.name for column in table.book.described):
                codes = follow(rows.tables[table.name].codes(name), chosen)
                yield _told(rows, table.spelled(name), f"{which} {table.spelled(name)}", codes)


def _told(rows: LinkedRows, spelled: str, name: str, codes: Ints) -> tuple[Column, Ints]:
    """A column in bands where it has very many levels; one level more says that there is no row, or no known value."""
    column = rows.book.column(spelled)
    banded, size = coarse(column, codes)
    levels = (*(str(level) for level in range(size)), NO_ROW)
    return Categorical(name=name, levels=levels, role=column.role), np.where(banded < 0, size, banded)


def _people(rows: LinkedRows, table: str) -> Ints:
    """The person of every row of a table; NONE for orphans."""
    which = np.arange(rows.tables[table].rows)
    for step in reversed(rows.book.path(table)[1:]):
        which = follow(rows.tables[step.name].above, which)
    return which


def _ends(rows: LinkedRows, table: str, people: Ints, *, last: bool) -> Ints:
    """The first or the last row of each person: of the first or last parent, by their place among siblings."""
    path = rows.book.path(table)[1:]
    which = np.arange(len(people))
    places = []
    for step in reversed(path):  # its own place, then that of the row above
        places.append(follow(rows.tables[step.name].place, which))
        which = follow(rows.tables[step.name].above, which)
    order = np.lexsort((*places, people))
    chosen = np.full(rows.tables[rows.book.person.name].rows, NONE)
    order = order[people[order] != NONE]
    chosen[people[order[::-1] if not last else order]] = order[::-1] if not last else order
    return chosen
