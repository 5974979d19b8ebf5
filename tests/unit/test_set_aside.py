"""People set aside by lot: whole people, every row once and as it was read, and one person's coin moves nobody else."""

import gzip
import itertools
import math
import sqlite3
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import understudy as us
from understudy.codebook import Categorical, Codebook
from understudy.errors import DataError, ParameterError
from understudy.evaluate.set_aside import set_aside
from understudy.facade import demo
from understudy.mechanisms.stream import Stream
from understudy.sources.files import open_table
from understudy.sources.same import refuse_same

BOOK = """format = 1
[unit]
id = "id"
cap = 3
[[columns]]
name = "id"
kind = "text"
role = "identifier"
[[columns]]
name = "sex"
kind = "categorical"
levels = ["F", "M"]
missing = "?"
"""
ROWS_ALONE = Codebook(columns=(Categorical(name="sex", levels=("F", "M")),))
PEOPLE = 900


@pytest.fixture
def book(tmp_path):
    place = tmp_path / "book.toml"
    place.write_text(BOOK)
    return place


def lines(delimiter=","):
    """Three rows of each person, with missing values, quotes and line ends in a field."""
    rows = [(n % PEOPLE, "FM?"[n % 3], f'"über {n}\n""x"", {n}"' if n % 5 else "") for n in range(3 * PEOPLE)]
    return "\n".join(delimiter.join(map(str, row)) for row in [("id", "sex", "note"), *rows]) + "\n"


def written(folder, kind):
    """The same rows as another kind of file; its address."""
    if kind == "parquet":
        (folder / "first.csv").write_text(lines(), encoding="utf-8")
        pq.write_table(open_table(folder / "first.csv").table.to_pyarrow(), folder / "t.parquet", row_group_size=100)
        return str(folder / "t.parquet")
    if kind == "gzip":
        (folder / "t.csv.gz").write_bytes(gzip.compress(lines().encode()))
        return str(folder / "t.csv.gz")
    if kind == "semicolons":
        (folder / "t.csv").write_bytes(lines(";").encode("cp1252"))
        return f"{folder / 't.csv'}?encoding=cp1252"
    (folder / "t.csv").write_text(lines(), encoding="utf-8")
    return str(folder / "t.csv")


def rows_in(place):
    table = pq.read_table(place)
    return list(zip(*(column.to_pylist() for column in table.columns), strict=True))


@pytest.mark.parametrize("kind", ["csv", "gzip", "semicolons", "parquet"])
def test_every_row_is_in_one_of_the_files_as_it_was_read_and_people_stay_whole(tmp_path, book, kind):
    address = written(tmp_path, kind)
    before = open_table(address).table.to_pyarrow()
    rest, held = us.keep_back(address, book, rest=tmp_path / "rest.parquet", held=tmp_path / "held.parquet", share=0.4)
    assert pq.read_schema(rest).names == pq.read_schema(held).names == before.column_names
    key = [tuple(map(str, row)) for row in zip(*(column.to_pylist() for column in before.columns), strict=True)]
    stay, go = rows_in(rest), rows_in(held)
    assert sorted(key) == sorted(tuple(map(str, row)) for row in (*stay, *go))
    assert not {row[0] for row in stay} & {row[0] for row in go}, "nobody is on both sides"
    assert {place.stat().st_mode & 0o777 for place in (rest, held)} == {0o600}
    assert not [place for place in tmp_path.iterdir() if place.name.startswith(".")], "nothing half done is left"
    reread = us.check(rest, book).faults, us.check(held, book).faults
    assert reread == (us.check(address, book).faults,) * 2 or all(
        not fault.is_fatal for each in reread for fault in each
    )


def test_about_the_share_of_the_people_is_set_aside(tmp_path, book):
    """Coins of 900 people at .4: 360, within six standard deviations of a binomial (a false alarm in 10^8)."""
    rest, held = us.keep_back(
        written(tmp_path, "csv"), book, rest=tmp_path / "r.parquet", held=tmp_path / "h.parquet", share=0.4
    )
    out = len({row[0] for row in rows_in(held)})
    assert abs(out - 0.4 * PEOPLE) <= 6 * math.sqrt(PEOPLE * 0.4 * 0.6)
    assert len({row[0] for row in rows_in(rest)} - {"", None}) == PEOPLE - out


def test_one_row_more_moves_no_other(tmp_path):
    """So a release of the rest promises to everybody in the whole table what it promises to those in the rest."""
    sides = []
    for rows in (1000, 1001):
        table = pa.table({"sex": ["FM"[n % 2] for n in range(rows)], "number": list(range(rows))})
        places = {"rest": tmp_path / f"r{rows}.parquet", "held": tmp_path / f"h{rows}.parquet"}
        set_aside(table, ROWS_ALONE, **places, share=0.3, stream=Stream.seeded(7))
        sides.append({row[1] for row in rows_in(places["held"])} - {1000})
    assert sides[0] == sides[1] and 0 < len(sides[0]) < 1000


@pytest.mark.parametrize("share", [0, 1, -0.1, 1.5, float("nan"), "half"])
def test_a_share_must_leave_both_sides(tmp_path, book, share):
    with pytest.raises(ParameterError, match="share"):
        us.keep_back(written(tmp_path, "csv"), book, rest=tmp_path / "r", held=tmp_path / "h", share=share)
    assert not (tmp_path / "r").exists() and not (tmp_path / "h").exists()


def test_an_empty_side_is_refused_and_leaves_nothing(tmp_path):
    places = {"rest": tmp_path / "r", "held": tmp_path / "h"}
    with pytest.raises(DataError, match="too few people"):
        us.keep_back(pa.table({"sex": ["F"]}), ROWS_ALONE, **places)
    assert list(tmp_path.iterdir()) == []


def test_files_that_are_there_stay(tmp_path):
    places = {"rest": tmp_path / "r", "held": tmp_path / "h"}
    places["held"].write_text("dear")
    with pytest.raises(DataError, match="already"):
        us.keep_back(pa.table({"sex": ["F", "M"] * 50}), ROWS_ALONE, **places)
    assert places["held"].read_text() == "dear" and not places["rest"].exists()


def test_a_folder_that_is_not_there_is_told(tmp_path):
    nowhere = tmp_path / "no"
    with pytest.raises(DataError, match="cannot be written"):
        us.keep_back(pa.table({"sex": ["F", "M"] * 50}), ROWS_ALONE, rest=nowhere / "r", held=nowhere / "h")
    assert list(tmp_path.iterdir()) == []


def test_a_release_is_not_divided(tmp_path):
    """Its copy would no longer be known as a release, and could be paid for as if it held people."""
    table = pa.table({"sex": ["F", "M"] * 200})
    us.synthesize(table, ROWS_ALONE, rows=50, method="laplace", epsilon=1.0, out=tmp_path / "1")
    places = {"rest": tmp_path / "r", "held": tmp_path / "h"}
    with pytest.raises(DataError, match="before a release is made"):
        us.keep_back(tmp_path / "1" / "synthetic.parquet", ROWS_ALONE, **places)
    assert sorted(place.name for place in tmp_path.iterdir()) == ["1"]


def test_a_row_of_nobody_is_refused_as_releases_refuse_it(tmp_path, book):
    table = pa.table({"id": ["a", "b", None, " "], "sex": ["F", "M", "F", "M"]})
    with pytest.raises(DataError, match="missing in 2 rows"):
        us.keep_back(table, book, rest=tmp_path / "r", held=tmp_path / "h")
    with pytest.raises(DataError, match="no column 'id'"):
        us.keep_back(table.drop_columns("id"), book, rest=tmp_path / "r", held=tmp_path / "h")
    assert [place.name for place in tmp_path.iterdir()] == [book.name]


def test_a_table_in_a_file_of_a_database_is_divided(tmp_path):
    with sqlite3.connect(tmp_path / "t.sqlite") as database:
        database.execute("CREATE TABLE t (sex TEXT, n INTEGER)")
        database.executemany("INSERT INTO t VALUES (?, ?)", [("FM"[n % 2], n) for n in range(300)])
    places = {"rest": tmp_path / "r", "held": tmp_path / "h"}
    us.keep_back(f"sqlite:///{tmp_path / 't.sqlite'}", ROWS_ALONE, **places, table="t")
    assert sorted(row[1] for place in places.values() for row in rows_in(place)) == list(range(300))


def test_linked_tables_are_refused_in_a_sentence(tmp_path):
    demo.example_histories(tmp_path / "stays", patients=20)
    (book,) = (tmp_path / "stays").glob("*.toml")
    with pytest.raises(ParameterError, match="linked tables"):
        us.keep_back(tmp_path / "stays", book, rest=tmp_path / "r", held=tmp_path / "h")


def test_the_two_files_are_what_a_report_needs(tmp_path, book):
    """Synthesized from the rest, attacked with those kept back: nobody of them is known to the release."""
    rest, held = us.keep_back(
        written(tmp_path, "csv"), book, rest=tmp_path / "r.parquet", held=tmp_path / "h.parquet", share=0.3
    )
    release = us.synthesize(rest, book, rows=200, epsilon=1.0, delta=1e-6)
    found = us.evaluate(rest, release.table, book, holdout=held).to_dict()
    assert "hold" in str(found)
    with pytest.raises(DataError, match="training table too"):
        us.evaluate(tmp_path / "t.csv", release.table, book, holdout=held)


@pytest.mark.parametrize("kind", ["csv", "gzip", "semicolons", "parquet"])
def test_neither_half_nor_the_whole_is_public_beside_another(tmp_path, book, kind):
    address = written(tmp_path, kind)
    halves = us.keep_back(address, book, rest=tmp_path / "rest.parquet", held=tmp_path / "held.parquet")
    other = us.keep_back(address, book, rest=tmp_path / "r2.parquet", held=tmp_path / "h2.parquet")
    first = Path(address.partition("?")[0])
    copy = tmp_path / f"copy{''.join(first.suffixes)}"
    copy.write_bytes(first.read_bytes())
    for confidential, public in itertools.permutations([address, *halves], 2):
        with pytest.raises(ParameterError, match="holds the confidential table itself"):
            refuse_same(confidential, public, "a map")
    for mine, theirs in ((halves[0], copy), (halves[0], other[1]), (other[0], halves[0])):
        with pytest.raises(ParameterError, match="holds the confidential table itself"):
            refuse_same(mine, theirs, "a map")
    (tmp_path / "public.csv").write_text("id,sex,note\n1,F,a\n")
    refuse_same(halves[0], tmp_path / "public.csv", "a map")
    refuse_same(tmp_path / "public.csv", halves[0], "a map")


def test_the_whole_database_is_not_public_beside_its_halves(tmp_path):
    with sqlite3.connect(tmp_path / "t.sqlite") as database:
        database.execute("CREATE TABLE t (sex TEXT)")
        database.executemany("INSERT INTO t VALUES (?)", [("FM"[n % 2],) for n in range(300)])
    whole = f"sqlite:///{tmp_path / 't.sqlite'}"
    rest, _ = us.keep_back(whole, ROWS_ALONE, rest=tmp_path / "r", held=tmp_path / "h", table="t")
    with pytest.raises(ParameterError, match="holds the confidential table itself"):
        refuse_same(rest, f"{whole}?table=t", "a map")
    with pytest.raises(ParameterError, match="holds the confidential table itself"):
        refuse_same(rest, whole, "a map")
    refuse_same(rest, f"{whole}?table=places", "a map")  # another table of it may be public


def test_one_name_for_both_files_is_refused(tmp_path, book):
    address = written(tmp_path, "csv")
    with pytest.raises(DataError, match="Name two files"):
        us.keep_back(address, book, rest=tmp_path / "a", held=tmp_path / "x" / ".." / "a")
    assert not (tmp_path / "a").exists(), "nobody is lost"
