"""Draft a codebook from data, check data against it, and declare what is public."""

import datetime as dt
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from understudy.codebook import Categorical, Codebook, Continuous, Dates, Grain, Integer, Ordinal, Origin, Role, Text
from understudy.codebook.declare import declare_text
from understudy.datasets.discharges import discharges
from understudy.errors import DataError, ParameterError
from understudy.sources import open_source
from understudy.sources.check import Fault, check_table
from understudy.sources.draft import draft_codebook, draft_with_reasons

ROWS = 2000
DAY = dt.date(2020, 1, 1)


def days(span: int) -> list[dt.date]:
    return [DAY + dt.timedelta(days=row * 7919 % span) for row in range(ROWS)]


@pytest.fixture(scope="module")
def table() -> pa.Table:
    rows = range(ROWS)
    return pa.table(
        {
            "age": [row * 31 % 90 for row in rows],
            "bmi": [150 / 10 + row * 17 % 251 / 10 for row in rows],
            "pay": [round(1.01**row, 2) for row in rows],
            "sex": [("F", "M", None)[row % 3] for row in rows],
            "code": [("x", "y", "N/A", "z")[row % 4] for row in rows],
            "stage": [float(row % 5) for row in rows],
            "flag": [row % 2 == 0 for row in rows],
            "zip": [f"{row % 40:05d}" for row in rows],
            "soon": [str(day) for day in days(50)],
            "weeks": days(600),
            "months": [f"{day} 10:30:00" for day in days(2000)],
            "years": days(36500),
            "name": [f"p{row}" for row in rows],
            "many": [f"t{row % 500}" for row in rows],
            "same": ["x"] * ROWS,
            "nothing": pa.nulls(ROWS),
            "huge": [2**60 + row % 700 for row in rows],
            "mostly": [str(row) if row % 50 else "unk" for row in rows],
            "dots": [str(row) if row % 5 else "." for row in rows],
            "zeros": [0 if row % 50 else row for row in rows],
        }
    )


@pytest.fixture(scope="module")
def book(table: pa.Table) -> Codebook:
    return draft_codebook(table)


def test_a_draft_is_marked_as_one(book: Codebook) -> None:
    assert "drafted from the data" in book.description
    assert "only where every column is attested" in book.description  # as true after the attestation as before it
    assert not book.title  # a page made later would carry it
    assert all(column.origin is Origin.DRAFTED for column in book.columns)
    assert book.column("age").description == ""  # forms and figures made later would carry it
    assert book.unattested == book.names
    assert Codebook.from_toml(book.to_toml()) == book


def test_a_draft_fits_its_data(table: pa.Table, book: Codebook, tmp_path: Path) -> None:
    assert check_table(table, book) == []
    open_source(table, book).count([[name] for name in book.names])
    pyarrow.csv.write_csv(table, tmp_path / "t.csv")
    from_text = draft_codebook(tmp_path / "t.csv")
    assert check_table(tmp_path / "t.csv", from_text) == []
    assert [column.kind for column in from_text.columns] == [column.kind for column in book.columns]


def test_kinds(book: Codebook) -> None:
    kinds = {column.name: column.kind for column in book.columns}
    assert kinds == {
        "age": "integer", "bmi": "continuous", "pay": "continuous", "sex": "categorical", "code": "categorical",
        "stage": "ordinal", "flag": "categorical", "zip": "categorical", "soon": "date", "weeks": "date",
        "months": "date", "years": "date", "name": "text", "many": "text", "same": "categorical", "nothing": "text",
        "huge": "text", "mostly": "text", "dots": "integer", "zeros": "integer",
    }  # fmt: skip


def test_levels_and_missing_tokens(book: Codebook) -> None:
    assert book.column("stage").labels == ("0", "1", "2", "3", "4")  # whole floats lose their .0
    assert book.column("flag").labels == ("false", "true")
    assert book.column("sex").labels == ("F", "M", "NA")
    assert book.column("code").labels == ("x", "y", "z", "N/A")
    assert book.column("dots").missing == "."
    assert book.column("zip").labels[:2] == ("00000", "00001")


def test_edges_are_pleasant_and_hold_everything(book: Codebook) -> None:
    for name, precision in (("age", 0), ("bmi", 1), ("pay", 2), ("zeros", 0)):
        column = book.column(name)
        assert isinstance(column, Integer | Continuous)
        assert 3 <= len(column.edges) <= 17
        digits = [len(str(float(edge)).replace(".", "").strip("-0")) for edge in column.edges]
        assert max(digits) <= 3, name
        assert not isinstance(column, Continuous) or column.precision == precision
    assert book.column("age").labels[0].startswith("[0, ")


def test_grains_keep_the_levels_few(book: Codebook) -> None:
    grains = {column.name: (column.grain, column.size) for column in book.columns if isinstance(column, Dates)}
    assert grains["soon"] == (Grain.DAY, 50)
    assert grains["weeks"][0] is Grain.WEEK
    assert grains["months"][0] is Grain.MONTH
    assert grains["years"][0] is Grain.YEAR
    assert max(size for _, size in grains.values()) <= 120


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("name", "nearly one per row"),
        ("many", "more than 256 distinct"),
        ("nothing", "no value at all"),
        ("huge", "more digits"),
        ("mostly", "its own whole number"),  # beside a code, which the draft takes off first
    ],
)
def test_what_is_left_out_says_why(table: pa.Table, name: str, words: str) -> None:
    book, reasons = draft_with_reasons(table)
    assert book.column(name).role is Role.IDENTIFIER
    assert words in reasons[name]


def test_the_file_says_nothing_about_columns_that_nobody_attests(table: pa.Table) -> None:
    """A release carries the codebook: one description for all that is left out, whatever the data held."""
    book, reasons = draft_with_reasons(table)
    said = {book.column(name).description for name in reasons}
    assert said == {"left out; declare its kind and levels if it should be kept"}
    assert "unk" not in book.to_toml()


def test_columns_are_dropped_by_name(table: pa.Table) -> None:
    book, reasons = draft_with_reasons(table, drop=["age, soon", "name"])
    for name in ("age", "soon", "name"):
        assert book.column(name).role is Role.IDENTIFIER
        assert name not in reasons
    assert [column.name for column in book.columns] == table.column_names
    with pytest.raises(ParameterError, match=r"no column 'who' \(`drop`\)"):
        draft_codebook(table, drop=["who"])
    with pytest.raises(DataError, match="every column is dropped"):
        draft_codebook(table, drop=table.column_names)


def test_draft_of_discharges_finds_the_declared_levels() -> None:
    drafted = draft_codebook(discharges(5000, seed=3))
    assert drafted.column("sex").labels == ("Female", "Male", "NA")
    assert set(drafted.column("typ").labels) >= {"Acute Care", "Skilled Nursing"}


def test_many_columns_are_drafted_together() -> None:
    """More columns than one scan takes."""
    frame = {f"c{k}": np.arange(200) % (k % 7 + 2) for k in range(130)}
    drafted = draft_codebook(pa.table(frame))
    assert [column.size for column in drafted.columns] == [k % 7 + 2 for k in range(130)]


def test_several_missing_tokens_in_one_column() -> None:
    words = ["NA", "NA", "?", "low", "high", None] * 10
    numbers = [str(k) for k in range(50)] + ["NA", "NA", "?"] + [None] * 7
    drafted = draft_codebook(pa.table({"word": words, "number": numbers}))
    assert drafted.column("word").labels == ("high", "low", "?", "NA")
    assert (drafted.column("number").missing, drafted.column("number").reading.missing) == ("NA", ("?",))
    assert check_table(pa.table({"word": words, "number": numbers}), drafted) == []


def test_a_constant_column_is_drafted_with_its_one_level() -> None:
    assert draft_codebook(pa.table({"a": ["x", "x"], "b": [7, 7]})).sizes == (1, 1)


def test_draft_refusals(tmp_path: Path) -> None:
    (tmp_path / "head.csv").write_text("a,b\n")
    with pytest.raises(DataError, match="no rows"):
        draft_codebook(tmp_path / "head.csv")
    with pytest.raises(DataError, match="no rows"):
        draft_codebook(pa.table({"a": pa.array([], pa.string())}))
    with pytest.raises(DataError, match=r"no column of .* can be drafted"):
        draft_codebook(pa.table({"a": pa.nulls(2, pa.string())}))
    with pytest.raises(ParameterError, match="`bins` is 1"):
        draft_codebook(pa.table({"a": ["x", "y"]}), bins=1)
    with pytest.raises(ParameterError, match="`max_levels` is True"):
        draft_codebook(pa.table({"a": ["x", "y"]}), max_levels=True)


@settings(max_examples=25, deadline=None)
@given(st.lists(st.floats(-1e12, 1e12) | st.integers(-50, 50), min_size=25, max_size=80, unique=True))
def test_any_numbers_can_be_drafted(numbers: list[float]) -> None:
    frame = pa.table({"x": pa.array(numbers, pa.float64()), "y": [str(k % 2) for k in range(len(numbers))]})
    assert check_table(frame, draft_codebook(frame)) == []


# Check

BOOK = Codebook(
    columns=(
        Categorical(name="sex", levels=("F", "M")),
        Integer(name="age", edges=(0, 50, 120), missing="NA"),  # type: ignore[arg-type]
        Continuous(name="bmi", edges=(0, 50, 120), precision=1, missing="NA"),  # type: ignore[arg-type]
        Dates(name="day", grain=Grain.MONTH, start=dt.date(2020, 1, 1), end=dt.date(2020, 12, 31)),
        Text(name="id", role=Role.IDENTIFIER),
    )
)
GOOD = "F,1,2.5,2020-01-01\n"


def found(faults: list[Fault]) -> dict[tuple[str, str | None], tuple[tuple[int, ...], int, tuple[str, ...]]]:
    assert all(fault.sentence.endswith((".", "?")) for fault in faults)
    return {(fault.kind, fault.column): (fault.rows, fault.count, fault.values) for fault in faults}


def test_every_fault_of_every_column_is_listed(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text(
        "sex,age,bmi,day,extra\nF,1,2.5,2020-01-01,\nX,130,heavy,2021-01-01,\n,1.5,,nope,\nF,old,1e9,,\n"
        "Y,NA,NA,2020-05-05 10:00,\nX,5,5,2020-01-01,\n"
    )
    assert found(check_table(path, BOOK)) == {
        ("extra column", "extra"): ((), 1, ()),
        ("outside levels", "sex"): ((2, 5, 6), 3, ("X", "Y")),
        ("missing value", "sex"): ((3,), 1, ()),
        ("outside the edges", "age"): ((2,), 1, ("130",)),
        ("not a whole number", "age"): ((3,), 1, ("1.5",)),
        ("not a number", "age"): ((4,), 1, ("old",)),
        ("not a number", "bmi"): ((2,), 1, ("heavy",)),
        ("outside the edges", "bmi"): ((4,), 1, ("1e9",)),
        ("outside the edges", "day"): ((2,), 1, ("2021-01-01",)),
        ("not a date", "day"): ((3,), 1, ("nope",)),
        ("missing value", "day"): ((4,), 1, ()),
    }
    assert [fault.is_fatal for fault in check_table(path, BOOK)].count(False) == 1


def test_the_book_may_be_a_path(tmp_path: Path) -> None:
    BOOK.save(tmp_path / "book.toml")
    (tmp_path / "t.csv").write_text("sex,age,bmi,day\n" + GOOD)
    assert check_table(str(tmp_path / "t.csv"), tmp_path / "book.toml") == []


def test_only_the_first_examples_are_kept_and_all_are_counted() -> None:
    book = Codebook(columns=(Categorical(name="x", levels=("a", "b")),))
    [fault] = check_table(pa.table({"x": ["a"] * 5 + [f"v{k % 50}" for k in range(500)]}), book, most=3)
    assert (fault.count, fault.rows, fault.values) == (500, (6, 7, 8), ("v0", "v1", "v2"))
    assert "and 497 more" in fault.sentence
    with pytest.raises(ParameterError, match="`most` is 0"):
        check_table(pa.table({"x": ["a"]}), book, most=0)


@pytest.mark.parametrize("form", ["csv", "parquet", "pandas", "arrow", "duckdb", "csv glob", "parquet glob"])
def test_row_numbers_are_those_of_the_file(form: str, tmp_path: Path) -> None:
    """Many rows and row groups, so that several threads read at once."""
    rows = 200_000
    bad = [17, 65_537, 131_072, 199_999]
    values = ["a"] * rows
    for row in bad:
        values[row] = f"bad{row}"
    frame = pa.table({"x": values, "n": pa.array(range(rows))})
    book = Codebook(columns=(Categorical(name="x", levels=("a", "b")), Text(name="n", role=Role.IDENTIFIER)))
    what: object = frame
    if form == "csv":
        pyarrow.csv.write_csv(frame, tmp_path / "t.csv")
        what = tmp_path / "t.csv"
    elif form == "parquet":
        pq.write_table(frame, tmp_path / "t.parquet", row_group_size=5000)
        what = tmp_path / "t.parquet"
    elif form == "pandas":
        what = frame.to_pandas()
    elif form == "duckdb":
        import duckdb

        with duckdb.connect(str(tmp_path / "t.duckdb")) as connection:
            connection.register("frame", frame)
            connection.execute("CREATE TABLE t AS FROM frame")
        what = tmp_path / "t.duckdb"
    elif form == "csv glob":
        for part in range(4):
            pyarrow.csv.write_csv(frame.slice(part * 50_000, 50_000), tmp_path / f"p{part}.csv")
        what = str(tmp_path / "p*.csv")
    elif form == "parquet glob":
        for part in range(4):
            pq.write_table(frame.slice(part * 50_000, 50_000), tmp_path / f"p{part}.parquet", row_group_size=5000)
        what = str(tmp_path / "p*.parquet")
    [fault] = check_table(what, book)
    assert fault.rows == tuple(row + 1 for row in bad)
    assert fault.values == tuple(f"bad{row}" for row in bad)


def test_headers_are_checked_with_the_rows(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("sex,age,sex,day,BMI\nF,1,F,2020-01-01,3\nX,1,F,2020-01-01,3\n")
    assert found(check_table(path, BOOK)) == {
        ("duplicate header", "sex"): ((), 2, ()),
        ("missing column", "bmi"): ((), 1, ()),
        ("extra column", "BMI"): ((), 1, ()),
        ("outside levels", "sex"): ((2,), 1, ("X",)),
    }
    frame = pd.DataFrame([["F", 1, 2.5, "2020-01-01", "F"]], columns=["sex", "age", "bmi", "day", "sex"])
    assert list(found(check_table(frame, BOOK))) == [("duplicate header", "sex")]


def test_broken_lines_do_not_hide_other_faults(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes(b"sex,age,bmi,day\n" + GOOD.encode() + b"\xe9,1,2,2020-01-01\nF,1\n\nF,200,2,2020-01-01\n")
    assert found(check_table(path, BOOK)) == {
        ("encoding", None): ((3,), 1, ()),  # a line of the file, header included
        ("unreadable", None): ((3,), 1, ()),
        ("outside levels", "sex"): ((2,), 1, ("\ufffd",)),
        ("outside the edges", "age"): ((4,), 1, ("200",)),
        ("missing value", "day"): ((3,), 1, ()),
    }


def test_files_of_a_glob_are_checked_one_by_one(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("sex,age,bmi,day\n" + GOOD + "X,1,1,2020-01-01\n")
    (tmp_path / "b.csv").write_text("sex,bmi,day\nF,1,2020-01-01\nZ,1,2020-01-01\nX,1,2020-01-01\n")
    (tmp_path / "c.csv").write_text("")
    faults = check_table(str(tmp_path / "*.csv"), BOOK)
    assert found(faults) == {
        ("outside levels", "sex"): ((2, 4, 5), 3, ("X", "Z")),
        ("missing column", "age"): ((), 1, ()),
        ("empty file", None): ((), 1, ()),
    }
    assert all(name in " ".join(fault.sentence for fault in faults) for name in ("b.csv", "c.csv"))


# Declare (more in test_declare.py)


def test_a_draft_becomes_public_by_declaring(book: Codebook) -> None:
    said = Codebook.from_toml(declare_text(book.to_toml(), columns=None, by="me", source="web", on=DAY))
    assert said.is_public
    assert isinstance(said.column("stage"), Ordinal)


def test_ids_are_told_from_amounts_whatever_an_estimate_says() -> None:
    """100,000 different numbers, whose estimated number is about an eighth too low."""
    table = pa.table({"id": [str(2_278_392 + 4_360 * row) for row in range(101_766)], "sex": ["F", "M"] * 50_883})
    book, reasons = draft_with_reasons(table)
    assert "as identifiers do" in reasons["id"] and book.column("id").role is Role.IDENTIFIER
