"""Linked tables give the same rows on every engine: keys, ranks, constants, and the rows that take part."""

from typing import Any

import pytest

from tests.engines.places import EVERY
from tests.unit.linked_hospital import book, changed, tables
from understudy.sources.benches import fetched
from understudy.sources.linked import open_linked
from understudy.sources.linked_check import check_linked

BOOK = book(('child = "stays"', 'child = "stays"\nrule = "most frequent"'))


def rows_of(what: Any, key: str | None = None) -> dict[str, list[tuple[Any, ...]]]:
    source = open_linked(what, BOOK)
    source = source if key is None else source.capped(key)
    found = {}
    for table in BOOK.tables:
        rows = source.rows(table.name)
        names = [name for name in rows.columns if name in ("key", "parent", "rank") or name.startswith("c")]
        answer = fetched(source.connection, rows.select(names)).to_pylist()
        found[table.name] = sorted(tuple("" if row[n] is None else row[n] for n in sorted(names)) for row in answer)
    return found


def count_linked(what: Any) -> None:
    """As a fit does: the rows that take part, and a table of counts of each."""
    source = open_linked(what, BOOK).capped("a key")
    for table in BOOK.tables:
        codes = [f"c{place}" for place in range(len(source.columns(table.name)))]
        source.counting(table.book, source.rows(table.name).select(codes)).count([table.book.names[:1]])


def faults_of(what: Any) -> list[tuple[Any, ...]]:
    return sorted((fault.kind, fault.table, fault.column or "", fault.count) for fault in check_linked(what, BOOK))


@pytest.mark.parametrize("engine", EVERY)
@pytest.mark.parametrize("key", [None, "one key", "another"])
def test_engines_give_the_same_rows(engine: str, key: str | None, place: Any) -> None:
    assert rows_of(place(engine).put(tables()), key) == rows_of(tables(), key)


@pytest.mark.parametrize("engine", EVERY)
def test_engines_tell_the_same_faults(engine: str, place: Any) -> None:
    data = changed("diagnoses", "stay_id", 4, 77)
    data["stays"] = changed("stays", "ward", 3, "maternity")["stays"]
    assert faults_of(place(engine).put(data)) == faults_of(data) != []


@pytest.mark.long
def test_spark_gives_the_same_rows_of_frames(spark: Any) -> None:
    frames = {
        name: spark.createDataFrame([tuple(row.values()) for row in table.to_pylist()], table.column_names)
        for name, table in tables().items()
    }
    assert rows_of(frames, "one key") == rows_of(tables(), "one key")
