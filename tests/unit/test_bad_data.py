"""Whatever is wrong with an input, the answer is one of our errors, in a sentence that helps."""

import contextlib
import gzip
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from understudy.codebook import Categorical, Codebook, Integer
from understudy.errors import CodebookError, DataError, ParameterError, UnderstudyError
from understudy.sources import open_source
from understudy.sources.check import check_table
from understudy.sources.draft import draft_codebook

BOOK = Codebook(
    columns=(
        Categorical(name="sex", levels=("F", "M"), missing="NA"),
        Integer(name="age", edges=(Fraction(0), Fraction(50), Fraction(120))),
    )
)
FRAME = pa.table({"sex": ["F", "M"] * 500, "age": list(range(100)) * 10})


def written(name: str, data: bytes | str) -> Callable[[Path], Path]:
    def write(folder: Path) -> Path:
        (folder / name).write_bytes(data if isinstance(data, bytes) else data.encode())
        return folder / name

    return write


def truncated_parquet(folder: Path) -> Path:
    pq.write_table(FRAME, folder / "t.parquet")
    whole = (folder / "t.parquet").read_bytes()
    (folder / "t.parquet").write_bytes(whole[: len(whole) // 2])
    return folder / "t.parquet"


def damaged_parquet(folder: Path) -> Path:
    """The footer is whole, the pages are not."""
    pq.write_table(FRAME, folder / "t.parquet", compression="zstd", use_dictionary=False)
    whole = bytearray((folder / "t.parquet").read_bytes())
    whole[20:400] = bytes(380)
    (folder / "t.parquet").write_bytes(bytes(whole))
    return folder / "t.parquet"


def repeated_parquet(folder: Path) -> Path:
    pq.write_table(pa.table([["F"], ["F"], [1]], names=["sex", "sex", "age"]), folder / "t.parquet")
    return folder / "t.parquet"


def half_gzip(folder: Path) -> Path:
    text = "sex,age\n" + "".join(f"F,{row * 7919 % 97}\n" for row in range(20_000))
    packed = gzip.compress(text.encode())
    (folder / "t.csv.gz").write_bytes(packed[: len(packed) // 2])
    return folder / "t.csv.gz"


def flipped_gzip(folder: Path) -> Path:
    path = half_gzip(folder)
    packed = bytearray(gzip.compress(b"sex,age\n" + b"F,1\n" * 50))
    packed[-6] ^= 0xFF  # the checksum
    path.write_bytes(bytes(packed))
    return path


def two_kinds(folder: Path) -> str:
    (folder / "a.csv").write_text("sex,age\nF,1\n")
    pq.write_table(FRAME, folder / "a.parquet")
    return str(folder / "a.*")


def two_headers(folder: Path) -> str:
    (folder / "a.csv").write_text("sex,age\nF,1\n")
    (folder / "b.csv").write_text("age,sex\n1,F\n")
    return str(folder / "*.csv")


def two_schemas(folder: Path) -> str:
    pq.write_table(FRAME, folder / "a.parquet")
    pq.write_table(FRAME.rename_columns(["gender", "age"]), folder / "b.parquet")
    return str(folder / "*.parquet")


def not_a_database(folder: Path) -> str:
    return str(written("t.duckdb", "not a database at all")(folder))


def empty_database(folder: Path) -> str:
    duckdb.connect(str(folder / "t.duckdb")).close()
    return f"duckdb://{folder / 't.duckdb'}"


LATIN = "sex,age\nF,1\n\xe9,2\n".encode("latin-1")
LATE = b"sex,age\n" + b"F,1\n" * 50_000 + b"\xe9,2\n"

WRONG: list[tuple[str, Callable[[Path], Any], str]] = [
    ("missing file", lambda folder: folder / "nope.csv", "there is no file .*nope.csv.*check the path"),
    ("missing glob", lambda folder: str(folder / "*.csv"), "there is no file"),
    ("folder", lambda folder: folder, "is a folder; give a file or a pattern"),
    ("extension", written("t.docx", "x"), r"of a kind that is not read. Save it as CSV \(.csv"),
    ("no extension", written("t", "x"), "of a kind that is not read"),
    ("empty csv", written("t.csv", ""), "is empty; a table needs a header and rows"),
    ("empty parquet", written("t.parquet", ""), "is empty"),
    ("blank lines", written("t.csv", "\n\n"), "empty first line"),
    ("header only", written("t.csv", "sex,age\n"), "no rows"),
    ("header without line end", written("t.csv", "sex,age"), "no rows"),
    ("duplicate header", written("t.csv", "sex,age,sex\nF,1,M\n"), "two columns called 'sex'.*rename"),
    ("header by case", written("t.csv", "sex,age,SEX\nF,1,M\n"), "two columns called 'SEX', 'sex'"),
    ("duplicate header in Parquet", repeated_parquet, "two columns called 'sex'"),
    ("missing column", written("t.csv", "sex,weight\nF,1\n"), "lacks the columns 'age'.*codebook of another file"),
    ("not UTF-8", written("t.csv", LATIN), "not UTF-8 text from line 3 on; save it as UTF-8"),
    ("not UTF-8 far down", written("t.csv", LATE), "Line: 50002.*UTF-8"),
    ("UTF-16", written("t.csv", "sex,age\nF,1\n".encode("utf-16")), "not UTF-8"),
    ("too few fields", written("t.csv", "sex,age\nF,1\nM\n"), "Line: 3.*Mend that line"),
    ("too many fields", written("t.csv", "sex,age\nF,1\nM,2,3\n"), "Line: 3.*Mend that line"),
    ("open quote", written("t.csv", 'sex,age\nF,1\n"M,2\n'), "Line: 3"),
    ("mixed line ends", written("t.csv", "sex,age\r\nF,1\nM,2\r\n"), "lines end alike"),
    ("not Parquet", written("t.parquet", "sex,age\nF,1\nM,2\n"), "truncated or is not Parquet"),
    ("truncated Parquet", truncated_parquet, "truncated or is not Parquet"),
    ("damaged Parquet", damaged_parquet, "cannot be read"),
    ("half a gzip", half_gzip, "cut short or damaged"),
    ("damaged gzip", flipped_gzip, "cut short or damaged"),
    ("not gzip", written("t.csv.gz", "sex,age\nF,1\n"), "Not a gzipped file"),
    ("two kinds", two_kinds, r"different kinds \(csv, parquet\)"),
    ("two headers", two_headers, "files read together need one header"),
    ("two schemas", two_schemas, "files read together need one header"),
    ("not a database", not_a_database, "cannot be read"),
    ("empty database", empty_database, "has the tables none"),
    ("no database", lambda folder: f"duckdb://{folder}/nope.duckdb", "no DuckDB file"),
    ("elsewhere", lambda folder: "s3://bucket/t.csv", "addresses of kind 's3' cannot be opened"),
    ("dictionary", lambda folder: {"sex": ["F"]}, "a dict cannot be opened"),
    ("nothing", lambda folder: None, "a NoneType cannot be opened"),
    ("no columns", lambda folder: pd.DataFrame(), "no columns"),
    ("mixed types", lambda folder: pd.DataFrame({"sex": ["F", 1], "age": [1, 2]}), "Give every column one type"),
    ("repeated in pandas", lambda folder: pd.DataFrame([[1, 2]], columns=["sex", "sex"]), "two columns called 'sex'"),
    ("wrong codebook", lambda folder: pa.table({"sex": ["F"], "age": [900]}), r"does not know in 'age' \(1 rows\)"),
    ("missing value", lambda folder: pa.table({"sex": ["F"], "age": pa.array([None], pa.int64())}), "does not know"),
]


@pytest.mark.parametrize(("make", "words"), [pytest.param(m, w, id=name) for name, m, w in WRONG])
def test_wrong_input_is_named(make: Callable[[Path], Any], words: str, tmp_path: Path) -> None:
    what = make(tmp_path)
    with pytest.raises(DataError, match=words) as caught:
        open_source(what, BOOK).count([["sex"], ["sex", "age"]])
    assert "\n" not in str(caught.value)
    assert str(caught.value).rstrip().endswith((".", "?", "level)."))


@pytest.mark.parametrize("make", [pytest.param(m, id=name) for name, m, _ in WRONG])
def test_draft_and_check_never_fall_over(make: Callable[[Path], Any], tmp_path: Path) -> None:
    """A check lists what counting would stumble over, or raises one of our errors; nothing else escapes."""
    what = make(tmp_path)
    try:
        assert any(fault.is_fatal for fault in check_table(what, BOOK))
    except UnderstudyError as reason:
        assert "\n" not in str(reason)
    with contextlib.suppress(UnderstudyError):
        draft_codebook(what)


# (Permissions are not tested: the tests may run as root, who may read everything.)


@pytest.mark.parametrize("local_bytes", [0, 1 << 20])
@pytest.mark.parametrize("unknown", ["error", "missing", "other"])
def test_values_outside_go_where_the_caller_says(unknown: str, local_bytes: int) -> None:
    levels = ("a", "b", "rest")
    book = Codebook(
        columns=(
            Categorical(name="both", levels=levels, missing="NA", other="rest"),
            Categorical(name="tidy", levels=("x", "y")),
        )
    )
    table = pa.table({"both": ["a", "zzz", None, "NA", "b"], "tidy": ["x", "y", "x", "y", "x"]})
    source = open_source(table, book, unknown=unknown, local_bytes=local_bytes)
    if unknown == "error":
        with pytest.raises(DataError, match=r"'both' \(1 rows\).*codebook check.*unknown = 'missing'"):
            source.count([["both"]])
        return
    [secret] = source.count([["both"]])
    expected = {"missing": [1, 1, 0, 3], "other": [1, 1, 1, 2]}[unknown]
    assert secret.open().to_grid().tolist() == expected


@pytest.mark.parametrize("unknown", ["missing", "other"])
def test_values_without_a_place_to_go_are_refused(unknown: str) -> None:
    book = Codebook(columns=(Categorical(name="x", levels=("a", "b")),))
    with pytest.raises(DataError, match="does not know in 'x'"):
        open_source(pa.table({"x": ["a", "zzz"]}), book, unknown=unknown).count([["x"]])


def test_values_that_are_no_numbers_are_not_clipped() -> None:
    """Engines' greatest() and least() skip nulls, which would put nonsense into an end bin."""
    book = Codebook(columns=(Integer(name="x", edges=(Fraction(0), Fraction(5), Fraction(9)), clip=True),))
    with pytest.raises(DataError, match=r"'x' \(2 rows\)"):
        open_source(pa.table({"x": ["1", "900", "many", None]}), book).count([["x"]])


def test_floats_with_gaps_and_infinities_are_read() -> None:
    """NaN is a gap; infinity is no number; neither may stop the engine."""
    book = Codebook(
        columns=(
            Integer(name="n", edges=(Fraction(0), Fraction(5), Fraction(9)), missing="NA"),
            Categorical(name="c", levels=("1", "2.5"), missing="NA"),
        )
    )
    column = np.array([1.0, np.nan, 7.0])
    frame = pd.DataFrame({"n": column, "c": np.array([1.0, 2.5, np.nan])})
    one, two = (t.open().to_grid().tolist() for t in open_source(frame, book).count([["n"], ["c"]]))
    assert (one, two) == ([1, 1, 1], [1, 1, 1])
    frame = pd.DataFrame({"n": [1.0, np.inf, 1e300], "c": [1.0, -np.inf, 2.5]})
    with pytest.raises(DataError, match=r"'n' \(2 rows\), 'c' \(1 rows\)"):
        open_source(frame, book).count([["n"]])


def test_unknown_policy_is_checked() -> None:
    with pytest.raises(ParameterError, match="`unknown` is 'drop'; it must be one of error, missing, other"):
        open_source(FRAME, BOOK, unknown="drop")


def test_a_column_outside_the_codebook_cannot_be_counted() -> None:
    with pytest.raises(CodebookError, match="no column 'weight'"):
        open_source(FRAME, BOOK).count([["weight"]])


def test_codebook_path_that_is_none(tmp_path: Path) -> None:
    with pytest.raises(CodebookError, match="no codebook at"):
        open_source(FRAME, tmp_path / "none.toml")


def test_awkward_levels_are_levels(tmp_path: Path) -> None:
    levels = ("a,b", 'say "hi"', "two\nlines", "😀", "=1+1", "#", "'", " padded ", "NULL", "\\", "-", "\t")
    book = Codebook(columns=(Categorical(name="x", levels=levels), Categorical(name="=y,\n", levels=("1", "2"))))
    table = pa.table({"x": levels, "=y,\n": ["1", "2"] * 6})
    table.to_pandas().to_csv(tmp_path / "t.csv", index=False)
    pq.write_table(table, tmp_path / "t.parquet")
    for what in (table, tmp_path / "t.csv", tmp_path / "t.parquet"):
        for local_bytes in (0, 1 << 20):
            [secret] = open_source(what, book, local_bytes=local_bytes).count([["x"]])
            assert secret.open().to_grid().tolist() == [1] * len(levels)
