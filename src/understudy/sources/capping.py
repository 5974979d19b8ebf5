"""At most so many records of each person, chosen inside an engine by a secret key.

Every record gets the SHA-256 of the key, its content, its number among records of the same content, and its person; the
``cap`` smallest of each person stay. So the choice

- is left to the key, which a secure stream draws anew for every fit, and not to the order of the file: the number
  among equal records depends on how many there are, not on where they lie;
- of one person depends on the key and on the records of that person alone, which is all that the price rests on
  (``mechanisms/proofs/group_of_records.md``; neither the secrecy of the key nor the quality of the hash);
- is the same whenever an engine works it out again, and the same on every engine.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import ibis
import numpy as np
import numpy.typing as npt

from understudy.codebook import PersonUnit
from understudy.errors import DataError
from understudy.sources import dialects
from understudy.sources.base import Choice, no_ids
from understudy.sources.benches import bench_for, fetched
from understudy.sources.expressions import PERSON, person_of
from understudy.sources.faults import engine_errors
from understudy.sources.files import Opened

_NUMBER, _RANK = "understudy_number", "understudy_rank"


def kept_by_key(
    table: Any, *, person: str, content: Sequence[str], cap: int, key: Any, hashed: Sequence[str] = ()
) -> Any:
    """The rows that take part, as an Ibis expression without their person; ``key`` is a text, or a scalar of one.

    ``content`` names the columns by which records differ. Where two hashes agree the content itself decides, so that
    nothing is ever left to the order in which an engine meets the rows. ``hashed`` are those of them that every engine
    spells alike, where some are not.
    """
    number = ibis.row_number().over(group_by=[person, *content], order_by=person)
    numbered = table.mutate(**{_NUMBER: number})
    spelled = [_spelled(numbered[name]) for name in (*(hashed or content), _NUMBER, person)]
    text = key
    for piece in spelled:
        text = text + "," + piece
    order = [dialects.dialect_of(numbered).sha256(text), *(numbered[name] for name in content)]
    ranked = numbered.mutate(**{_RANK: ibis.row_number().over(group_by=person, order_by=order)})
    return ranked.filter(ranked[_RANK] < cap).select(*content)


def _spelled(value: Any) -> Any:
    """As text that no two values share: whole numbers as they are, other values with their length before them."""
    if value.type().is_integer():
        return value.cast("string").fill_null("-")
    text = value if value.type().is_string() else value.cast("string")
    return (text.length().cast("string") + ":" + text).fill_null("-")


def refuse_missing_ids(rows: int, unit: PersonUnit | None) -> None:
    """A missing id could be anybody's."""
    assert unit is not None
    if rows:
        raise DataError(
            f"the id column {unit.id!r} is missing in {rows:,} rows; each row needs the id of its person, or the cap "
            "on records per person protects nobody there. Fill the gaps or drop those rows."
        )


def person_numbers(ids: Any, unit: PersonUnit | None) -> npt.NDArray[np.int64]:
    """A number for the person of each record."""
    refuse_missing_ids(ids.null_count, unit)
    coded = ids.combine_chunks().dictionary_encode()
    return np.asarray(coded.indices.to_numpy(zero_copy_only=False), dtype=np.int64)


def capped_table(
    opened: Opened, unit: PersonUnit, names: Sequence[str], choice: Choice
) -> tuple[Opened, Callable[[], None]]:
    """The columns ``names`` of the records that take part, values as they stand, and what lets the engine forget them.

    For a table that has no codebook yet, so that records are told apart by their values instead of by codes.
    """
    if unit.id not in opened.header:
        raise no_ids(unit)
    with engine_errors(repr(opened.label)):
        values = {f"v{place}": opened.value(name) for place, name in enumerate(names)}
        table = opened.table.select(**{PERSON: person_of(opened.value(unit.id))}, **values)
        absent = fetched(opened.connection, table.aggregate(n=table[PERSON].isnull().sum()))
        refuse_missing_ids(int(absent["n"][0].as_py() or 0), unit)
        with bench_for(opened.connection, table).held(choice.key()) as key:
            kept = kept_by_key(table, person=PERSON, content=list(values), cap=choice.cap, key=key)
            bench = bench_for(opened.connection, kept)
            return replace(opened, table=bench.encode(), header=tuple(names)), bench.free
