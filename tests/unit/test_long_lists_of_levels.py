"""Columns with long lists of levels are looked up in a table in memory, which has to reach the engine that writes codes
to disk: those of large tables, and those of linked ones."""

import pytest

from understudy.codebook import Categorical, Codebook, LinkedCodebook, LinkedTable
from understudy.evaluate.opened import open_grids
from understudy.sources import benches, open_source
from understudy.sources.engines.duckdb import read_alone
from understudy.sources.expressions import _LISTED
from understudy.sources.linked import open_linked

LEVELS = tuple(f"L{number}" for number in range(_LISTED + 1))


@pytest.fixture
def rows(tmp_path):
    place = tmp_path / "rows.csv"
    place.write_text("\n".join(["id,code", *(f"{number // 2},L{number}" for number in range(6)), ""]))
    return place


def test_codes_of_a_large_table_go_to_disk(rows, monkeypatch):
    monkeypatch.setattr(benches.DuckBench, "on_disk", True)
    book = Codebook(columns=(Categorical(name="code", levels=LEVELS),))
    (counts,) = open_grids(open_source(str(rows), book, local_bytes=0), [["code"]])
    assert counts[:7].tolist() == [1, 1, 1, 1, 1, 1, 0]


def linked(data):
    empty = Codebook(columns=(Categorical(name="sex", levels=("F", "M")),))
    people = LinkedTable(name="people", key="id", book=empty)
    codes = Codebook(columns=(Categorical(name="code", levels=LEVELS),))
    stays = LinkedTable(name="rows", parent="people", parent_key="id", cap=2, book=codes)
    source = open_linked(data, LinkedCodebook(tables=(people, stays)))
    return sorted(source.rows("rows").c0.to_pyarrow().to_pylist())


def test_codes_of_linked_files_go_to_disk(rows):
    (rows.parent / "people.csv").write_text("id,sex\n0,F\n1,M\n2,F\n")
    assert linked(rows.parent) == [0, 1, 2, 3, 4, 5]


def test_linked_tables_of_a_database_that_is_read_alone(tmp_path):
    """The engine may write to its own folder only."""
    import duckdb

    with duckdb.connect(str(tmp_path / "study.duckdb")) as connection:
        connection.execute("CREATE TABLE people AS SELECT range AS id, 'F' AS sex FROM range(3)")
        connection.execute("CREATE TABLE rows AS SELECT range // 2 AS id, 'L' || range AS code FROM range(6)")
    read_alone.set()
    try:
        assert linked(str(tmp_path / "study.duckdb")) == [0, 1, 2, 3, 4, 5]
    finally:
        read_alone.clear()
