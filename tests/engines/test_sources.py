"""One table, however it is handed over, gives one set of counts."""

import datetime as dt
import gzip
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

from understudy.codebook import (
    Categorical,
    Codebook,
    Continuous,
    Dates,
    Grain,
    Integer,
    Ordinal,
    Role,
    Text,
)
from understudy.codebook.decode import decode_table
from understudy.errors import DataError
from understudy.mechanisms.stream import Stream
from understudy.privacy.secret import Secret
from understudy.sources import CountTable, open_source
from understudy.sources.check import check_table

BOOK = Codebook(
    columns=(
        Text(name="id", role=Role.IDENTIFIER),
        Categorical(name="place", levels=("a,b", 'say "hi"', "two\nlines", "😀", "=1+1", "O'Neil"), missing="NA"),
        Ordinal(name="grade", levels=("1", "2", "3")),
        Integer(name="age", edges=tuple(map(Fraction, (0, 18, 65, 120))), missing="NA"),
        Continuous(name="bmi", edges=tuple(map(Fraction, (10, 25, 60))), precision=1),
        Dates(name="seen", grain=Grain.MONTH, start=dt.date(2020, 1, 1), end=dt.date(2020, 12, 31), missing=""),
    )
)
CLIQUES = [["place"], ["grade", "age"], ["seen", "bmi"], ["age", "place", "grade", "seen"], list(BOOK.names)]
ROWS = 700


@pytest.fixture(scope="module")
def table() -> pa.Table:
    stream = Stream.seeded(11)
    codes = [stream.below_each(np.full(ROWS, size, dtype=np.uint64)).astype(np.uint8) for size in BOOK.sizes]
    made = decode_table(BOOK, codes, stream.below_each)
    return made.append_column("id", pa.array([f"p{k}" for k in range(ROWS)]))


@pytest.fixture(scope="module")
def expected(table: pa.Table) -> list[np.ndarray]:
    return opened(open_source(table, BOOK).count(CLIQUES))


def opened(tables: list[Secret[CountTable]]) -> list[np.ndarray]:
    return [secret.open().to_grid() for secret in tables]


def as_csv(table: pa.Table, folder: Path) -> Path:
    pyarrow.csv.write_csv(table, folder / "t.csv")
    return folder / "t.csv"


def as_gzip(table: pa.Table, folder: Path) -> Path:
    (folder / "t.csv.gz").write_bytes(gzip.compress(as_csv(table, folder).read_bytes()))
    return folder / "t.csv.gz"


def as_semicolons(table: pa.Table, folder: Path) -> Path:
    options = pyarrow.csv.WriteOptions(delimiter=";")
    pyarrow.csv.write_csv(table, folder / "semi.csv", write_options=options)
    return folder / "semi.csv"


def as_excel_csv(table: pa.Table, folder: Path) -> Path:
    """A byte order mark, as a spreadsheet writes it."""
    (folder / "bom.csv").write_bytes(b"\xef\xbb\xbf" + as_csv(table, folder).read_bytes())
    return folder / "bom.csv"


def as_pandas_csv(table: pa.Table, folder: Path) -> Path:
    """With an unnamed index column in front, as pandas writes by default."""
    table.to_pandas().to_csv(folder / "pandas.csv")
    return folder / "pandas.csv"


def as_parquet(table: pa.Table, folder: Path) -> Path:
    pq.write_table(table, folder / "t.parquet", row_group_size=100)
    return folder / "t.parquet"


def as_csv_glob(table: pa.Table, folder: Path) -> str:
    for part in range(3):
        pyarrow.csv.write_csv(table.slice(part * 300, 300), folder / f"part{part}.csv")
    return str(folder / "part*.csv")


def as_parquet_glob(table: pa.Table, folder: Path) -> str:
    for part in range(3):
        pq.write_table(table.slice(part * 300, 300), folder / f"part{part}.parquet")
    return str(folder / "part?.parquet")


def as_bracketed(table: pa.Table, folder: Path) -> Path:
    pq.write_table(table.slice(0, 1), folder / "odd1.parquet")
    pq.write_table(table, folder / "odd[1].parquet")
    return folder / "odd[1].parquet"


def as_pandas(table: pa.Table, folder: Path) -> pd.DataFrame:
    return table.to_pandas()


def as_object_pandas(table: pa.Table, folder: Path) -> pd.DataFrame:
    frame = table.to_pandas()
    frame["place"] = frame["place"].astype("category")
    frame["grade"] = frame["grade"].astype(float)  # whole floats lose their .0
    return frame


def as_polars(table: pa.Table, folder: Path) -> Any:
    return pl.DataFrame(table)


def as_lazy_polars(table: pa.Table, folder: Path) -> Any:
    return pl.DataFrame(table).lazy()


def as_arrow(table: pa.Table, folder: Path) -> pa.Table:
    return table.combine_chunks()


def as_batch(table: pa.Table, folder: Path) -> pa.RecordBatch:
    return table.combine_chunks().to_batches()[0]


def as_duckdb(table: pa.Table, folder: Path) -> str:
    with duckdb.connect(str(folder / "t.duckdb")) as connection:
        connection.register("frame", table)
        connection.execute("CREATE TABLE patients AS FROM frame; CREATE TABLE other AS SELECT 1 AS x")
    return f"duckdb://{folder / 't.duckdb'}?table=patients"


HANDED_OVER: list[Callable[[pa.Table, Path], Any]] = [
    as_csv, as_gzip, as_semicolons, as_excel_csv, as_pandas_csv, as_parquet, as_csv_glob, as_parquet_glob,
    as_bracketed, as_pandas, as_object_pandas, as_polars, as_lazy_polars, as_arrow, as_batch, as_duckdb,
]  # fmt: skip


@pytest.mark.parametrize("hand_over", HANDED_OVER, ids=lambda made: made.__name__)
def test_same_counts(
    hand_over: Callable[[pa.Table, Path], Any], table: pa.Table, expected: list[np.ndarray], tmp_path: Path
) -> None:
    what = hand_over(table, tmp_path)
    source = open_source(what, BOOK)
    for found, wanted in zip(opened(source.count(CLIQUES)), expected, strict=True):
        assert np.array_equal(found, wanted)
    assert [fault for fault in check_table(what, BOOK) if fault.is_fatal] == []


@pytest.mark.parametrize("hand_over", [as_csv, as_duckdb], ids=lambda made: made.__name__)
def test_same_counts_inside_the_engine(
    hand_over: Callable[[pa.Table, Path], Any], table: pa.Table, expected: list[np.ndarray], tmp_path: Path
) -> None:
    source = open_source(hand_over(table, tmp_path), BOOK, local_bytes=0)
    for found, wanted in zip(opened(source.count(CLIQUES)), expected, strict=True):
        assert np.array_equal(found, wanted)


def test_a_table_in_a_database_can_be_named_apart(table: pa.Table, expected: list[np.ndarray], tmp_path: Path) -> None:
    as_duckdb(table, tmp_path)
    source = open_source(tmp_path / "t.duckdb", BOOK, table="patients")
    assert np.array_equal(opened(source.count(CLIQUES[:1]))[0], expected[0])
    with pytest.raises(DataError, match=r"tables other, patients; name one"):
        open_source(tmp_path / "t.duckdb", BOOK)


def test_opening_reads_no_row(tmp_path: Path) -> None:
    path = tmp_path / "late.csv"
    header = "place,grade,age,bmi,seen\n"
    path.write_bytes(header.encode() + b"NA,1,5,20.5,2020-01-01\n" * 20_000 + b"\xff\xfe,bad\n")
    source = open_source(path, BOOK)
    assert "rows withheld" in repr(source)
    with pytest.raises(DataError, match="cannot be read"):
        source.count([["age"]])


def test_counts_are_withheld(table: pa.Table) -> None:
    [secret] = open_source(table, BOOK).count([["grade"]])
    assert repr(secret) == "<withheld>"


def test_lines_that_look_like_comments_are_rows(tmp_path: Path) -> None:
    """A guessing reader takes # for a comment and drops rows in silence."""
    path = tmp_path / "hash.csv"
    path.write_text("x,y\n#a,b\nc,d\n#a,d\n")
    book = Codebook(columns=(Categorical(name="x", levels=("#a", "c")), Categorical(name="y", levels=("b", "d"))))
    assert opened(open_source(path, book).count([["x", "y"]]))[0].tolist() == [[1, 1], [0, 1]]


def test_a_quote_far_down_the_file_is_still_a_quote(tmp_path: Path) -> None:
    path = tmp_path / "late.csv"
    path.write_text("x,y\n" + "a,b\n" * 30_000 + '"a,b",b\n')
    book = Codebook(columns=(Categorical(name="x", levels=("a", "a,b")), Categorical(name="y", levels=("b", "c"))))
    assert opened(open_source(path, book).count([["x"]]))[0].tolist() == [30_000, 1]


@pytest.mark.parametrize("second", [pa.array([7.0, None]), pa.array(["7", None]), pa.array([7, None], pa.int8())])
def test_parquet_files_of_different_types_are_not_rounded(second: pa.Array, tmp_path: Path) -> None:
    """pandas writes whole numbers as decimals where a value is missing."""
    book = Codebook(columns=(Integer(name="n", edges=(Fraction(0), Fraction(5), Fraction(9)), missing="NA"),))
    pq.write_table(pa.table({"n": [1, 2]}), tmp_path / "a.parquet")
    pq.write_table(pa.table({"n": second}), tmp_path / "b.parquet")
    assert opened(open_source(tmp_path / "*.parquet", book).count([["n"]]))[0].tolist() == [2, 1, 1]
    pq.write_table(pa.table({"n": [2.7]}), tmp_path / "c.parquet")
    with pytest.raises(DataError, match=r"'n' \(1 rows\)"):
        open_source(tmp_path / "*.parquet", book).count([["n"]])


@pytest.mark.parametrize("unknown", ["error", "other-or-missing"])
@pytest.mark.parametrize("odd", [[], ["old", "11"]])
def test_text_in_parquet_files_is_encoded_without_the_engine_and_means_the_same(tmp_path, unknown, odd):
    """Nulls, the spelled missing value, numbers as text and unknown values; two files of several pieces."""
    book = Codebook(
        columns=(
            Integer(name="age", edges=tuple(map(Fraction, (0, 5, 10))), missing="NA"),
            Categorical(name="sex", levels=("f", "m", "x"), other="x"),
        )
    )
    rng = np.random.default_rng()
    for number in range(2):
        ages = [value or None for value in rng.choice(["", "NA", "3", "5.0", " 7", *odd], 500).tolist()]
        rows = pa.table({"sex": rng.choice(["f", "m", *odd], 500).tolist(), "age": ages})
        pq.write_table(rows, tmp_path / f"{number}.parquet", row_group_size=200)
    told = []
    for by_engine in (False, True):
        source = open_source(str(tmp_path / "*.parquet"), book, unknown=unknown)
        if by_engine:
            source._parquet = ()
        try:
            told.append([secret.open().to_grid().tolist() for secret in source.count([["age"], ["sex", "age"]])])
        except DataError as reason:
            told.append(str(reason))
        assert (source.bench.codes is None) or by_engine
    assert told[0] == told[1]
    assert isinstance(told[0], str) == (unknown == "error" and bool(odd))
