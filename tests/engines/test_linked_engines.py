"""Linked tables give the same rows on every engine: keys, ranks, constants, and the rows that take part."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.engines.conftest import Postgres, put_into_sqlite
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


def faults_of(what: Any) -> list[tuple[Any, ...]]:
    return sorted((fault.kind, fault.table, fault.column or "", fault.count) for fault in check_linked(what, BOOK))


def in_postgres(postgres: Postgres, data: dict[str, Any]) -> str:
    for name, table in data.items():
        postgres.load(name, table)
    return postgres.address("x").replace("&table=x", "")


ENGINES = [
    "duckdb",
    "postgres",
    "postgres without temporary tables",
    "mariadb",
    "mariadb without temporary tables",
    "sqlite",
]


@pytest.fixture
def put_with(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[str, dict[str, Any]], str]:
    """Puts linked tables into an engine, and gives the address of them all."""

    def put(engine: str, data: dict[str, Any]) -> str:
        if engine == "duckdb":
            import duckdb

            with duckdb.connect(str(tmp_path / "t.duckdb")) as connection:
                for name, table in data.items():
                    connection.register("frame", table)
                    connection.execute(f"CREATE TABLE {name} AS FROM frame")
            return f"duckdb://{tmp_path / 't.duckdb'}"
        if engine == "postgres":
            return in_postgres(request.getfixturevalue("postgres"), data)
        if engine.startswith("postgres"):
            postgres = request.getfixturevalue("postgres")
            address = in_postgres(postgres, data)
            with postgres.connect() as connection:
                connection.execute("REVOKE TEMPORARY ON DATABASE postgres FROM PUBLIC")
                if not connection.execute("SELECT 1 FROM pg_roles WHERE rolname = 'reader'").fetchone():
                    connection.execute("CREATE ROLE reader LOGIN")
                connection.execute(f"GRANT SELECT ON {', '.join(data)} TO reader")
            return address.replace("//postgres@", "//reader@")
        if engine == "sqlite":
            for name, table in data.items():
                put_into_sqlite(tmp_path / "t.sqlite", name, table)
            return f"sqlite://{tmp_path / 't.sqlite'}"
        maria = request.getfixturevalue("maria")
        for name, table in data.items():
            maria.load(name, table)
        user = "root"
        if engine != "mariadb":
            user = "reader"
            maria.run("CREATE USER IF NOT EXISTS reader", *(f"GRANT SELECT ON test.{name} TO reader" for name in data))
        return maria.address("x", user=user).replace("&table=x", "")

    return put


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("key", [None, "one key", "another"])
def test_engines_give_the_same_rows(engine: str, key: str | None, put_with: Any) -> None:
    assert rows_of(put_with(engine, tables()), key) == rows_of(tables(), key)


@pytest.mark.parametrize("engine", ENGINES)
def test_engines_tell_the_same_faults(engine: str, put_with: Any) -> None:
    data = changed("diagnoses", "stay_id", 4, 77)
    data["stays"] = changed("stays", "ward", 3, "maternity")["stays"]
    assert faults_of(put_with(engine, data)) == faults_of(data) != []


@pytest.mark.long
@pytest.mark.parametrize("key", [None, "one key"])
def test_spark_gives_the_same_rows(spark: Any, key: str | None) -> None:
    frames = {
        name: spark.createDataFrame([tuple(row.values()) for row in table.to_pylist()], table.column_names)
        for name, table in tables().items()
    }
    assert rows_of(frames, key) == rows_of(tables(), key)
