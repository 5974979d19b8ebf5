"""Edges of sources: marks inside archives, blank names, endless days, numbers too long, names with quotes."""

import contextlib
import datetime as dt
import json
import shutil
import sqlite3
import weakref
import zipfile
from collections.abc import Iterator

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet
import pytest

import understudy as us
from understudy.codebook import Categorical, Codebook, Continuous, Dates, Grain, LinkedCodebook, LinkedTable
from understudy.errors import DataError, ParameterError
from understudy.privacy.provenance import DECLARED, Made, Provenance, of_several
from understudy.release.folders import digest_of
from understudy.sources import open_source
from understudy.sources.check import check_table
from understudy.sources.documents.variables import number_in
from understudy.sources.engines.sqlite import _Reader
from understudy.sources.files import database_of
from understudy.sources.inputs import find_provenance
from understudy.sources.linked import linked_provenance
from understudy.sources.review import Looked, dangers
from understudy.sources.rows import read_rows
from understudy.sources.same import refuse_same

COMPLETED = Provenance(made=Made.COMPLETED, release="x", record_wise=False, real_records=True)
ROW_BY_ROW = Provenance(made=Made.ANONYMIZED, release="x", record_wise=True, real_records=True)


def _levels(name="a", *levels):
    return Codebook(columns=(Categorical(name=name, levels=levels or ("1", "2")),))


def _counted(what, book, unknown="error"):
    (table,) = open_source(what, book, unknown=unknown).count([book.names])
    codes, counts = table.open().occupied()
    return dict(zip(codes.ravel().tolist(), counts.tolist(), strict=True))


def _marked(provenance):
    return pa.table({"a": ["1", "2"]}).replace_schema_metadata(provenance.mark())


def _archive(folder, table, *, beside=True):
    pa.parquet.write_table(table, folder / "t.parquet")
    (folder / "about.txt").write_text("a\n1\n")
    path = folder / "t.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.write(folder / "t.parquet", "t.parquet")
        if beside:
            archive.write(folder / "about.txt", "about.txt")
    return path


def test_a_file_among_others_in_an_archive_keeps_its_provenance(tmp_path):
    path = _archive(tmp_path, _marked(COMPLETED))
    assert find_provenance(f"{path}?member=t.parquet").made is Made.COMPLETED
    assert find_provenance(path, member="t.parquet").made is Made.COMPLETED
    assert find_provenance(path).made is Made.COMPLETED, "which file is read may stand in a codebook alone"
    assert not find_provenance(f"{path}?member=about.txt").is_release
    assert open_source(f"{path}?member=t.parquet", _levels()).provenance.made is Made.COMPLETED


@pytest.mark.parametrize("below", ["", "r/", "./r/", "r//", "r/x/../", "r\\"])
def test_a_manifest_in_an_archive_is_found_however_its_place_is_spelled(tmp_path, below):
    """bsdtar writes ./ before every name, and older programs of Windows write backslashes: a CSV has no other mark."""
    table = pa.table({"a": ["1", "2"] * 20})
    us.synthesize(table, _levels(), rows=5, method="laplace", epsilon=1.0, out=tmp_path / "r", csv=True)
    path = tmp_path / "r.zip"
    with zipfile.ZipFile(path, "w") as archive:
        for name in ("synthetic.csv", "manifest.json"):
            packed = zipfile.ZipInfo("x")
            packed.filename = f"{below if name.endswith('csv') else below.replace('x/../', '')}{name}"
            archive.writestr(packed, (tmp_path / "r" / name).read_bytes())
    for found in (find_provenance(path), find_provenance(path, member=f"{below}synthetic.csv")):
        assert found.made is Made.SYNTHETIC and not found.record_wise


@pytest.mark.parametrize("reason", ["unpacks to more", "packed twice"])
def test_a_manifest_in_an_archive_that_cannot_be_read_is_no_absent_one(tmp_path, monkeypatch, reason):
    path = tmp_path / "r.zip"
    with zipfile.ZipFile(path, "w") as archive:
        for name in ("t.csv", "manifest.json", *(["./manifest.json"] if reason == "packed twice" else [])):
            packed = zipfile.ZipInfo("x")
            packed.filename = name
            archive.writestr(packed, "a\n1\n" if name == "t.csv" else '{"release": 1}')
    if reason == "unpacks to more":
        monkeypatch.setattr("understudy.sources.inputs._MOST_TEXT", 5)
    with pytest.raises(DataError, match=reason):
        find_provenance(path)


def test_a_confidential_file_inside_an_archive_is_not_public_outside_of_it(tmp_path):
    path = _archive(tmp_path, pa.table({"a": ["1", "2"]}))
    for confidential in (f"{path}?member=t.parquet", str(path)):
        with pytest.raises(ParameterError, match="holds the confidential table itself"):
            refuse_same(confidential, str(tmp_path / "t.parquet"), "starts")
    refuse_same(f"{path}?member=t.parquet", str(tmp_path / "about.txt"), "starts")


@pytest.mark.parametrize("engine", ["sqlite", "duckdb"])
def test_a_confidential_table_in_a_file_is_not_public_under_another_name(tmp_path, engine):
    path, copy, link, other = (tmp_path / f"{name}.{engine}" for name in ("a", "copy", "link", "other"))
    for place, value in ((path, 1), (other, 2)):
        module = {"sqlite": sqlite3, "duckdb": duckdb}[engine]
        with contextlib.closing(module.connect(str(place))) as connection:
            connection.execute("CREATE TABLE t (a INTEGER)")
            connection.execute("CREATE TABLE u (a INTEGER)")
            connection.execute(f"INSERT INTO t VALUES ({value})")
            connection.commit()
    shutil.copyfile(path, copy)
    link.hardlink_to(path)
    spelled = [str(path), f"{path}?table=t", f"{engine}://{path}?table=t"]
    for confidential in spelled:
        for public in (*spelled, *(f"{place}?table=t" for place in (copy, link))):
            with pytest.raises(ParameterError, match="holds the confidential table itself"):
                refuse_same(confidential, public, "starts")
        refuse_same(confidential, str(other), "starts")
    refuse_same(f"{path}?table=t", f"{path}?table=u", "starts")


def test_equal_tables_in_memory_are_one_table():
    table = pa.table({"a": ["1", "2"], "b": [1, 2]})
    for other in (pa.table(table.to_pydict()), table.to_pandas(), table.to_batches()[0]):
        with pytest.raises(ParameterError, match="holds the confidential table itself"):
            refuse_same(table, other, "starts")
    others = (table.slice(0, 1), table.rename_columns(["a", "c"]), table.to_pydict(), None)
    for other in others:
        refuse_same(table, other, "starts")


@pytest.mark.parametrize(
    ("confidential", "public", "is_same"),
    [
        ("postgresql://ann@db.org/c?table=t", "postgres://bob@DB.org:5432/c?table=t&sslmode=require", True),
        ("postgresql://localhost/c?table=s.t", "postgresql://127.0.0.1/c?table=t", True),
        ("mariadb://db.org/c?table=t", "mysql://db.org:3306/c?table=`t`", True),
        ("postgresql://db.org/c?table=t", "postgresql://db.org/c?table=census", False),
        ("postgresql://db.org/c?table=s.t", "postgresql://db.org/c?table=r.t", False),
        ("postgresql://db.org:1/c?table=t", "postgresql://db.org:2/c?table=t", False),
        ("postgresql://db.org/c?table=t", "mariadb://db.org/c?table=t", False),
        ("spark://h:7077?path=s3a://b/x", "spark://H:7077?path=s3a://b/x", True),
        ("spark://h:7077?path=s3a://b/x", "spark://h:7077?path=s3a://b/y", False),
    ],
)
def test_two_spellings_of_a_table_on_a_server_are_one_table(confidential, public, is_same):
    if not is_same:
        refuse_same(confidential, public, "starts")
        return
    with pytest.raises(ParameterError, match="holds the confidential table itself"):
        refuse_same(confidential, public, "starts")


@pytest.mark.parametrize("confidential", ["arrow", "coded", "pandas", "categories", "polars"])
@pytest.mark.parametrize("public", ["arrow", "coded", "pandas", "categories", "polars"])
def test_equal_rows_in_memory_are_one_table_whatever_holds_them(confidential, public):
    """No number equals itself where it is none, and categories are sorted in some kinds of frames and not in others."""
    ward, days = ["south", "north", "south"], [1.0, float("nan"), 2.0]

    def made(kind, first="south"):
        values = [first, *ward[1:]]
        if kind == "polars":
            return pl.DataFrame({"ward": values, "days": days})
        if kind in ("arrow", "coded"):
            array = pa.array(values)
            return pa.table({"ward": array.dictionary_encode() if kind == "coded" else array, "days": days})
        return pd.DataFrame({"ward": pd.Categorical(values) if kind == "categories" else values, "days": days})

    with pytest.raises(ParameterError, match="holds the confidential table itself"):
        refuse_same(made(confidential), made(public), "starts")
    refuse_same(made(confidential), made(public, first="north"), "starts")


def test_linked_tables_are_not_record_wise():
    """One person stands in several of them, and so in several of their rows."""
    book = LinkedCodebook(
        tables=(
            LinkedTable(name="people", key="id", book=_levels("sex", "F", "M")),
            LinkedTable(name="stays", parent="people", parent_key="id", cap=2, book=_levels("ward", "A", "B")),
        )
    )
    people, stays = pa.table({"id": [1], "sex": ["F"]}), pa.table({"id": [1], "ward": ["A"]})
    data = {"people": people, "stays": stays}
    assert linked_provenance(data, book).record_wise
    marked = {name: table.replace_schema_metadata(ROW_BY_ROW.mark()) for name, table in data.items()}
    assert not linked_provenance(marked, book).record_wise


def test_a_column_without_a_name_is_counted_by_the_name_it_gets():
    table = pa.table({"": ["1", "2"], "b": ["x", "x"]})
    book = Codebook(columns=(Categorical(name="column 1", levels=("1", "2")), Categorical(name="b", levels=("x",))))
    assert [fault.kind for fault in check_table(table, book)] == []
    assert _counted(table, _levels("column 1")) == {0: 1, 1: 1}


@pytest.mark.parametrize("kind", ["date", "timestamp", "timestamptz"])
@pytest.mark.parametrize("grain", list(Grain))
def test_endless_days_are_no_days(tmp_path, kind, grain):
    path = tmp_path / "days.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute(f"CREATE TABLE t (d {kind})")
        connection.execute("INSERT INTO t VALUES ('infinity'), ('-infinity'), ('2020-01-06'), ('1969-12-31')")
    start = grain.first(grain.number(dt.date(2019, 1, 1)))
    book = Codebook(columns=(Dates(name="d", grain=grain, start=start, end=dt.date(2020, 12, 31), missing="NA"),))
    source = f"duckdb:///{path}?table=t"
    assert sorted(_counted(source, book, "missing").values()) == [1, 3]
    endless, early = (fault for fault in check_table(source, book))
    assert (endless.kind, endless.rows) == ("not a date", (1, 2))
    assert (early.kind, early.rows) == ("outside the edges", (4,))


def test_a_database_file_may_have_quotes_in_its_name(tmp_path):
    path = tmp_path / 'it\'s "one".duckdb'
    with duckdb.connect(str(path)) as connection:
        connection.execute("CREATE TABLE t AS SELECT 1 AS a")
    assert _counted(str(path), _levels()) == {0: 1}
    assert _counted(f"duckdb:///{path}?table=t", _levels()) == {0: 1}


def test_a_database_file_of_this_folder_is_found_by_three_slashes_too(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with duckdb.connect("t.duckdb") as connection:
        connection.execute("CREATE TABLE t AS SELECT 1 AS a")
    with contextlib.closing(sqlite3.connect("t.sqlite")) as client, client:
        client.execute("CREATE TABLE t AS SELECT 1 AS a")
    for kind in ("duckdb", "sqlite"):
        for address in (f"{kind}:///t.{kind}?table=t", f"{kind}://t.{kind}?table=t"):
            assert _counted(address, _levels()) == {0: 1}
            assert database_of(address) == (tmp_path / f"t.{kind}", "t"), "one file, however it is spelled"
        with pytest.raises(DataError, match=f"'/gone.{kind}'"):
            _counted(f"{kind}:///gone.{kind}?table=t", _levels())
    (tmp_path / "inner" / tmp_path.relative_to("/")).mkdir(parents=True)
    monkeypatch.chdir("inner")
    (tmp_path / "inner" / tmp_path.relative_to("/") / "t.duckdb").touch()
    assert database_of(f"duckdb://{tmp_path}/t.duckdb") == (tmp_path / "t.duckdb", None), "what is absolute stays so"


def test_sqlite_has_whole_numbers_that_no_float_spells_beside_fractions(tmp_path):
    path = tmp_path / "t.sqlite"
    with sqlite3.connect(path) as client:
        client.execute("CREATE TABLE t (a)")
        client.executemany("INSERT INTO t VALUES (?)", [((1 << 60) + 1,), (0.5,), (None,)])
    book = Codebook(columns=(Continuous(name="a", edges=(0, 1, 2), precision=1, missing="NA"),))
    assert _counted(f"sqlite:///{path}?table=t", book, "missing") == {0: 1, 2: 2}


def test_columns_that_sqlite_computes_are_columns(tmp_path):
    path = tmp_path / "t.sqlite"
    with sqlite3.connect(path) as client:
        client.execute("CREATE TABLE t (a, b AS (a + 1), c AS (a * 2) STORED)")
        client.execute("INSERT INTO t (a) VALUES (1)")
    for name, value in (("a", "1"), ("b", "2"), ("c", "2")):
        assert _counted(f"sqlite:///{path}?table=t", _levels(name, value)) == {0: 1}


def test_a_sqlite_file_that_was_locked_is_read_in_a_transaction_afterwards(tmp_path):
    path = tmp_path / "t.sqlite"
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("CREATE TABLE t (a)")
    reader = _Reader(str(path))
    reader.client.execute("PRAGMA busy_timeout = 1")
    other.execute("BEGIN EXCLUSIVE")
    with pytest.raises(sqlite3.OperationalError), reader.reading():
        pass
    other.execute("ROLLBACK")
    with reader.reading():
        assert reader.client.in_transaction
    assert not reader.client.in_transaction
    other.close()


def test_a_document_with_a_very_small_number_is_read_at_once():
    assert number_in("1e-999999999") == 0 == number_in("0e999999999")
    assert number_in("-2.50") == -2.5


def test_values_that_are_no_single_value_are_told_in_a_sentence():
    with pytest.raises(DataError, match="column 'a' of the table in memory cannot be read"):
        read_rows(pa.table({"a": pa.array([[1], [2]])}), _levels(), unknown="missing")


def test_one_key_that_is_called_json_is_a_column(tmp_path):
    path = tmp_path / "t.jsonl"
    path.write_text('{"json": "1"}\n{"json": "2"}\n')
    assert _counted(path, _levels("json")) == {0: 1, 1: 1}
    assert np.array_equal(read_rows(path, _levels("json")).open().codes[0], [0, 1])


@pytest.mark.parametrize("folder", ["synthetic", "stays"])
def test_a_part_of_any_table_is_known_by_the_manifest_of_its_release(tmp_path, folder):
    part = tmp_path / folder / "part.csv"
    part.parent.mkdir()
    part.write_text("a\n1\n")
    manifest = {"release": "r", "ledger": [], "files": {f"{folder}/part.csv": digest_of(part)}}
    (tmp_path / "manifest.json").write_text(json.dumps(manifest))
    assert find_provenance(part).is_release
    part.write_text("a\n2\n")
    with pytest.raises(DataError, match="was changed after its release"):
        find_provenance(part)


def test_a_damaged_manifest_is_no_absent_one(tmp_path):
    (tmp_path / "t.csv").write_text("a\n1\n")
    manifest = json.dumps({"release": "r", "statement": "s", "ledger": []})
    (tmp_path / "manifest.json").write_text(manifest[:-1])
    with pytest.raises(DataError, match="cut short or damaged"):
        find_provenance(tmp_path / "t.csv")
    (tmp_path / "manifest.json").write_text("// of another program")
    assert not find_provenance(tmp_path / "t.csv").is_release


def test_a_review_speaks_of_rows_with_a_value_and_counts_rare_values_that_it_did_not_list():
    surname, dose = _levels("surname", "Ahn", "Boe"), _levels("dose", "No", "Up")
    listed = tuple((f"n{place}", 9 if place < 10 else 1) for place in range(2000))
    seen = Looked(name="surname", rows=9000, present=5080, distinct=5000, values=listed)
    (names,) = [each for each in dangers(surname.columns[0], seen) if each.topic == "names"]
    assert "4,990 of 5,000 in fewer than 5 rows" in names.sentence
    most = Looked(name="dose", rows=1000, present=100, distinct=2, values=(("No", 99), ("Up", 1)))
    (nearly,) = [each for each in dangers(dose.columns[0], most) if each.topic == "constant"]
    assert nearly.sentence == "'No' in all but 1 of the rows that have a value", "900 rows have none"


def test_parts_of_a_release_are_told_one_at_a_time():
    """Each tells the whole manifest: kept side by side, those of a thousand parts took 150 MB."""
    told: list[weakref.ref[Provenance]] = []
    most = 0

    def parts() -> Iterator[Provenance]:
        nonlocal most
        for _ in range(50):
            part = Provenance(made=Made.SYNTHETIC, release="r", record_wise=True, real_records=False, text="manifest")
            told.append(weakref.ref(part))
            yield part
            del part
            most = max(most, sum(ref() is not None for ref in told))

    joined = of_several(parts())
    assert joined.several and not joined.record_wise and len(told) == 50 and most <= 3
    assert of_several([]) == DECLARED and of_several([DECLARED, DECLARED]) == DECLARED


@pytest.mark.parametrize("sign", ["\t", "\n", "\r", "\0", "#x"])
def test_an_address_that_would_be_read_as_another_is_refused(tmp_path, sign):
    with contextlib.closing(sqlite3.connect(tmp_path / "t.sqlite")) as client, client:
        client.execute("CREATE TABLE t (a INTEGER)")
    with pytest.raises(DataError, match="no part of an address can have"):
        database_of(f"sqlite:///{tmp_path}/t.sqlite{sign}?table=t")
