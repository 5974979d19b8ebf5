"""What only SQLite can show: columns that hold anything, files known by their first bytes, writers beside a reader."""

import sqlite3
from collections import Counter
from contextlib import closing
from fractions import Fraction
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

import understudy as us
from tests.engines.places import put_into_sqlite
from tests.engines.test_engines import BOOK, CLIQUES, opened, reference_codes, typed_table
from tests.engines.test_injection import NAMES, counted, expected, identifier, table_of
from understudy.codebook import Categorical, Codebook, Integer
from understudy.errors import DataError
from understudy.sources.check import check_table
from understudy.sources.draft import draft_codebook
from understudy.sources.linked_draft import draft_linked

AGE = Codebook(columns=(BOOK.column("age"),))


def run(path: Path, *statements: str) -> None:
    with closing(sqlite3.connect(path)) as connection, connection:
        for statement in statements:
            connection.execute(statement)


def total(source: Any) -> int:
    return int(source.count([("age",)])[0].open().to_grid().sum())


@pytest.mark.parametrize("name", ["t.sqlite", "t.db", "t.csv", "export"])
@pytest.mark.parametrize("local", [0, 1 << 28])
def test_a_file_is_known_by_its_first_bytes(tmp_path: Path, name: str, local: int) -> None:
    path = put_into_sqlite(tmp_path / name, "patients", typed_table())
    codes = reference_codes(typed_table())
    for address in (str(path), path, f"{path}?table=patients", f"sqlite://{path}"):
        source = us.open(address, BOOK, local_bytes=local)
        for clique, found in zip(CLIQUES[:5], opened(source.count(CLIQUES[:5])), strict=True):
            columns = [codes[BOOK.position(column)].tolist() for column in clique]
            assert found == Counter(zip(*columns, strict=True)), clique


def test_columns_are_what_they_hold(tmp_path: Path) -> None:
    """Whatever their declared types say."""
    path = tmp_path / "t.sqlite"
    run(
        path,
        "CREATE TABLE t (age INTEGER, grade REAL, code, born DATE, ok BOOLEAN)",
        "INSERT INTO t VALUES (5, 1, 7, '2000-01-03', 1), ('17', 2.5, '07', 'soon', 0)",
        "INSERT INTO t VALUES ('eldest', 3, 7.5, NULL, 'yes')",
        "INSERT INTO t VALUES (NULL, NULL, x'00ff', NULL, NULL), (900719925474099, 1e300, NULL, NULL, NULL)",
    )
    book = Codebook(
        columns=(
            Integer(name="age", edges=tuple(map(Fraction, (0, 18, 10**15))), missing="NA"),
            Categorical(name="grade", levels=("1", "2.5", "3", "1e+300"), missing="NA"),
            Categorical(name="code", levels=("7", "07", "7.5"), missing="NA"),
            Categorical(name="ok", levels=("1", "0", "yes"), missing="NA"),
        )
    )
    with pytest.raises(DataError, match=r"'age' \(1 rows\), 'code' \(1 rows\)") as caught:
        us.open(str(path), book).count([("age",)])
    assert "eldest" not in str(caught.value)
    source = us.open(str(path), book, unknown="missing")
    grids = [table.open().to_grid().tolist() for table in source.count([[name] for name in book.names])]
    assert grids == [[2, 1, 2], [1, 1, 1, 1, 1], [1, 1, 1, 2], [1, 1, 1, 2]]


def test_numbers_are_read_exactly(tmp_path: Path) -> None:
    path = tmp_path / "t.sqlite"
    numbers = [2**62, 2**62 + 1, 0.1 + 0.2, 1e-7, 25.1, -0.0]
    run(path, "CREATE TABLE t (a, b)")
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.executemany("INSERT INTO t VALUES (?, 'x')", [(number,) for number in numbers])
        connection.execute("INSERT INTO t VALUES ('text', 'x')")  # so that all of them are read as texts
    levels = ("4611686018427387904", "4611686018427387905", "0.30000000000000004", "1e-07", "25.1", "0", "text")
    book = Codebook(columns=(Categorical(name="a", levels=levels),))
    assert us.open(str(path), book).count([("a",)])[0].open().to_grid().tolist() == [1] * 7


def test_a_text_that_is_not_utf8_is_told_by_its_column(tmp_path: Path) -> None:
    path = tmp_path / "t.sqlite"
    run(path, "CREATE TABLE t (age, name)", "INSERT INTO t VALUES (5, CAST(x'ff41' AS TEXT))")
    with pytest.raises(DataError, match=r"column 'name' holds a text that is not UTF-8"):
        us.open(str(path), AGE).count([("age",)])


class TestOneState:
    @pytest.mark.parametrize("mode", ["DELETE", "WAL"])
    def test_a_change_between_two_readings_is_said(self, tmp_path: Path, mode: str) -> None:
        path = put_into_sqlite(tmp_path / "t.sqlite", "t", typed_table())
        run(path, f"PRAGMA journal_mode = {mode}")
        source = us.open(str(path), AGE, local_bytes=0)
        source.count([("age",)])
        run(path, "INSERT INTO t (age) VALUES (7)")  # nobody has to wait for a reader that is done
        assert total(source) == 400  # codes that were made stay what they are
        with pytest.raises(DataError, match="the table changed while it was counted"):
            source.count([(AGE.smooth[0].fine.name,)])
        assert total(us.open(str(path), AGE)) == 401

    def test_a_file_that_changes_after_it_was_opened(self, tmp_path: Path) -> None:
        path = put_into_sqlite(tmp_path / "t.sqlite", "t", typed_table())
        source = us.open(str(path), AGE)
        run(path, "UPDATE t SET age = 1")
        with pytest.raises(DataError, match="the table changed while it was counted"):
            source.count([("age",)])

    def test_a_file_that_somebody_else_has_locked(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("understudy.sources.engines.sqlite._WAIT_SECONDS", 0.1)
        path = put_into_sqlite(tmp_path / "t.sqlite", "t", typed_table())
        with closing(sqlite3.connect(path, isolation_level=None)) as connection:
            connection.execute("BEGIN EXCLUSIVE")
            with pytest.raises(DataError, match="Another program is writing to it"):
                us.open(str(path), AGE).count([("age",)])


def test_the_file_is_only_read(tmp_path: Path) -> None:
    path = put_into_sqlite(tmp_path / "t.sqlite", "patients", typed_table())
    before = path.read_bytes()
    us.Marginals(epsilon=1.0, delta=1e-6).fit(us.open(str(path), BOOK))
    draft_codebook(str(path))
    assert path.read_bytes() == before
    assert [place.name for place in tmp_path.iterdir()] == ["t.sqlite"]


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda path: None, "there is no SQLite file"),
        (lambda path: path.write_bytes(b"SQLite format 3\x00" + b"x" * 500), "damaged, encrypted or not SQLite"),
        (lambda path: run(path, "CREATE TABLE t (x)", "CREATE TABLE u (x)"), "has the tables t, u; name one"),
        (lambda path: run(path, "CREATE TABLE t (x)"), "lacks the columns 'age'"),
        (lambda path: run(path, "CREATE VIEW t AS SELECT load_extension('x') AS age"), "not authorized|unsafe use"),
        (lambda path: run(path, "CREATE TABLE u (x)", "CREATE VIEW t AS SELECT age FROM gone", "DROP TABLE u"), "gone"),
    ],
)  # fmt: skip
def test_bad_files_get_a_sentence(tmp_path: Path, make: Any, said: str) -> None:
    path = tmp_path / "t.sqlite"
    make(path)
    with pytest.raises(DataError, match=said):
        us.open(f"sqlite://{path}", AGE).count([("age",)])


@pytest.mark.parametrize(
    ("tail", "said"),
    [("?table=nowhere", "has the tables"), ("?mode=rwc", "'mode'"), ("?table=t&password=hunter2", "password or key")],
)
def test_bad_addresses_get_a_sentence(tmp_path: Path, tail: str, said: str) -> None:
    path = put_into_sqlite(tmp_path / "t.sqlite", "t", typed_table())
    with pytest.raises(DataError, match=said) as caught:
        us.open(f"sqlite://{path}{tail}", AGE)
    assert "hunter2" not in str(caught.value)


def test_names_are_quoted(tmp_path: Path) -> None:
    path = tmp_path / "odd ?#%'name.sqlite"
    run(path, "CREATE TABLE victims AS SELECT 1 AS password")
    for name in NAMES:
        put_into_sqlite(path, name, table_of(NAMES))
        run(path, f"CREATE VIEW {identifier('view of ' + name)} AS SELECT * FROM {identifier(name)}")
    for name in NAMES:
        for table in (name, f"view of {name}"):
            assert counted(path, NAMES, table=table) == expected(NAMES)
    plain = path.rename(tmp_path / "t.sqlite")
    for name in NAMES:
        assert counted(f"sqlite://{plain}?table={quote(name)}", NAMES) == expected(NAMES)
    with closing(sqlite3.connect(plain)) as connection:
        assert connection.execute("SELECT count(*) FROM victims").fetchone() == (1,)


def test_drafts_and_checks_are_made_as_of_any_file(tmp_path: Path) -> None:
    path = put_into_sqlite(tmp_path / "t.sqlite", "patients", typed_table())
    draft = draft_codebook(str(path))
    assert draft.names == tuple(typed_table().column_names)
    assert draft.column("age").kind == "integer"
    assert check_table(str(path), BOOK) == []
    run(path, "UPDATE patients SET place = 'elsewhere' WHERE age = 5")
    assert {fault.column for fault in check_table(str(path), BOOK)} == {"place"}


def test_linked_tables_are_drafted_from_one_file(tmp_path: Path) -> None:
    from tests.unit.linked_hospital import tables

    for name, table in tables().items():
        put_into_sqlite(tmp_path / "t.sqlite", name, table)
    assert {table.name for table in draft_linked(str(tmp_path / "t.sqlite")).codebook.tables} >= set(tables())
