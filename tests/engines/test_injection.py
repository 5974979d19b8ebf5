"""Columns, tables, schemas and levels whose names are SQL: quoted or refused, their neighbour is untouched."""

from collections import Counter
from typing import Any
from urllib.parse import quote

import pyarrow as pa
import pytest

import understudy as us
from tests.engines.test_engines import opened
from understudy.codebook import Categorical, Codebook
from understudy.errors import DataError, UnderstudyError
from understudy.sources.check import check_table
from understudy.sources.draft import draft_codebook

NAMES = (
    'a"; DROP TABLE victims; --',
    "a'; DROP TABLE victims; --",
    "a`; DROP TABLE victims; --",
    "1) FROM victims; --",
    "a) UNION SELECT password FROM victims --",
    "$$; DROP TABLE victims; $$",
    "a\\'; DROP TABLE victims; --",
    "%s %(x)s {0}",
    "/* a */ b",
    "select",
    "a.b",
    "a`.`b",
    'a"."b',
    "a\n; DROP TABLE victims; --",
    "\\",
    '"',
    "*",
    ":x ?",
    'U&"0041" a::text',
    "\u202e; DROP TABLE victims\u2028--",
)
LEVELS = ("'; DROP TABLE victims; --", "\\'; DROP TABLE victims; --", "plain")


def table_of(names: tuple[str, ...]) -> pa.Table:
    return pa.table({name: [LEVELS[(row * (place + 1)) % 3] for row in range(30)] for place, name in enumerate(names)})


def book_of(names: tuple[str, ...]) -> Codebook:
    return Codebook(columns=tuple(Categorical(name=name, levels=LEVELS) for name in names))


def expected(names: tuple[str, ...]) -> list[Counter[tuple[int, ...]]]:
    """Of every column and of all together."""
    values = table_of(names).columns
    codes = [[LEVELS.index(value) for value in column.to_pylist()] for column in values]
    return [*(Counter((code,) for code in column) for column in codes), Counter(zip(*codes, strict=True))]


def counted(what: Any, names: tuple[str, ...], table: str | None = None) -> list[Counter[tuple[int, ...]]]:
    source = us.open(what, book_of(names), table=table)
    return opened(list(source.count([*((name,) for name in names), names])))


def identifier(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


@pytest.fixture
def victims(postgres):
    """A table that every case tries to destroy."""
    with postgres.connect() as connection:
        connection.execute("DROP TABLE IF EXISTS victims")
        connection.execute("CREATE TABLE victims (password text)")
        connection.execute("INSERT INTO victims VALUES ('a'), ('b'), ('c')")
    yield
    with postgres.connect() as connection:
        assert connection.execute("SELECT count(*) FROM victims").fetchone() == (3,)
        connection.execute("DROP TABLE victims")


def put(postgres, schema: str, name: str, names: tuple[str, ...]) -> None:
    columns = ", ".join(f"{identifier(column)} text" for column in names)
    with postgres.connect() as connection:
        connection.execute(f"CREATE SCHEMA {identifier(schema)}")
        connection.execute(f"CREATE TABLE {identifier(schema)}.{identifier(name)} ({columns})")
        rows = zip(*[column.to_pylist() for column in table_of(names).columns], strict=True)
        with connection.cursor().copy(f"COPY {identifier(schema)}.{identifier(name)} FROM STDIN") as copy:
            for row in rows:
                copy.write_row(row)


@pytest.mark.parametrize("number", range(len(NAMES)))
def test_names_of_postgres_are_quoted(postgres, victims, number):
    """Each name as schema, as table and, with all others, as column."""
    name = NAMES[number]
    put(postgres, f"s{number} {name}", name, NAMES)
    address = postgres.address(quote(f"{identifier(f's{number} {name}')}.{identifier(name)}"))
    assert counted(address, NAMES) == expected(NAMES)


def test_names_of_duckdb_are_quoted(tmp_path):
    """Where drafts and checks are made: of a file, and of a table in a database."""
    import duckdb

    name = tmp_path / "t.duckdb"
    with duckdb.connect(str(name)) as connection:
        connection.register("frame", table_of(NAMES))
        connection.execute("CREATE TABLE victims AS SELECT 1 AS password")
        for table in NAMES:
            connection.execute(f"CREATE TABLE {identifier(table)} AS FROM frame")
    for table in NAMES:
        assert counted(f"duckdb://{name}?table={quote(table)}", NAMES) == expected(NAMES)
    frame = table_of(NAMES)
    assert set(draft_codebook(frame).names) == set(NAMES)
    assert [fault.kind for fault in check_table(frame, book_of(NAMES)) if fault.is_fatal] == []
    with duckdb.connect(str(name)) as connection:
        assert connection.execute("SELECT count(*) FROM victims").fetchone() == (1,)


@pytest.mark.parametrize("name", [*NAMES, "victims; DROP TABLE victims", '"victims', "a.b.c; --", "pg_temp.x'--"])
def test_tables_that_are_not_there_are_refused_by_postgres(postgres, victims, name):
    with pytest.raises(DataError):
        counted(postgres.address(quote(name)), ("x",))


@pytest.mark.parametrize("option", ["options=-c%20search_path%3Dx", "password=x", "service=x", "sslkey=/etc/passwd"])
def test_addresses_cannot_smuggle_settings(postgres, option):
    with pytest.raises(UnderstudyError):
        us.open(f"{postgres.address('victims')}&{option}", book_of(("x",)))


@pytest.mark.java
@pytest.mark.long
def test_names_of_spark_are_quoted(spark):
    spark.createDataFrame([("a",), ("b",), ("c",)], ["password"]).createOrReplaceTempView("victims")
    rows = list(zip(*[column.to_pylist() for column in table_of(NAMES).columns], strict=True))
    frame = spark.createDataFrame(rows, list(NAMES))
    assert counted(frame, NAMES) == expected(NAMES)
    view = "`v ``; DROP VIEW victims; --`"
    frame.createOrReplaceTempView(view)
    assert counted(spark, NAMES, table=view) == expected(NAMES)
    for name in (*NAMES, "victims; DROP VIEW victims", "victims UNION SELECT 1", "`victims", "victims WHERE 1=1 --"):
        with pytest.raises(UnderstudyError):
            counted(spark, NAMES, table=name)
    assert spark.table("victims").count() == 3


@pytest.mark.java
@pytest.mark.long
def test_schemas_of_spark_are_quoted(spark, tmp_path, monkeypatch):
    """Spark's own catalog knows letters, digits and _ alone; a server's, here the Derby that Spark brings, any name."""
    monkeypatch.chdir(tmp_path)  # Derby writes a log
    kind = "org.apache.spark.sql.execution.datasources.v2.jdbc.JDBCTableCatalog"
    where = {"": kind, ".url": "jdbc:derby:memory:hostile;create=true",
             ".driver": "org.apache.derby.iapi.jdbc.AutoloadedDriver"}  # fmt: skip
    for option, value in where.items():
        spark.conf.set(f"spark.sql.catalog.server{option}", value)

    def fill(address: str, frame: Any) -> None:
        spark.sql(f"CREATE TABLE {address} (a STRING)")
        frame.writeTo(address).append()

    values = table_of(("a",))["a"].to_pylist()
    spark.sql("CREATE NAMESPACE server.KEPT")
    fill("server.KEPT.victims", spark.createDataFrame([("x",), ("y",), ("z",)], "a STRING"))
    rows = spark.createDataFrame([(value,) for value in values], "a STRING")
    # Spark refuses to make a schema with its own quotes; what has a slash is a path
    names = [name for name in NAMES if not set("`/") & set(name)]
    assert len(names) > 12
    for name in names:
        spark.sql(f"CREATE NAMESPACE server.`{name}`")
        fill(f"server.`{name}`.`{name}`", rows)
        assert counted(spark, ("a",), table=f"server.`{name}`.`{name}`") == expected(("a",)), name
        bare = [] if name.isidentifier() else [f"server.{name}.{name}"]
        for refused in (*bare, f"server.`{name}.victims", f"`{name}`.victims"):
            with pytest.raises(UnderstudyError):
                counted(spark, ("a",), table=refused)
    for name in NAMES:
        with pytest.raises(UnderstudyError):
            counted(spark, ("a",), table=f"server.`{name.replace('`', '``')}; --`.victims")
    assert spark.table("server.KEPT.victims").count() == 3
