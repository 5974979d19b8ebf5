"""Mistakes with a database, at the command line: one sentence, exit code 2, nothing charged, nothing written."""

import os
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import understudy as us
from tests.engines.conftest import put_into_sqlite
from tests.engines.test_engines import BOOK, typed_table
from understudy.errors import DataError
from understudy.privacy.guarantees import Neighbours

SERVERS = ["postgres", "mariadb"]


@pytest.fixture
def synth(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Any:
    """Runs ``understudy synth`` on an address; what it said, when it failed as it should."""
    BOOK.save(tmp_path / "book.toml")
    account = us.Account.create(
        tmp_path / "a.account", dataset="visits", epsilon=1.0, delta=1e-6, neighbours=Neighbours.ADD_REMOVE
    )

    def run(address: str) -> str:
        from understudy.cli.app import main

        words = ["synth", address, "-c", str(tmp_path / "book.toml"), "-m", "marginals", "--epsilon", "1", "--delta"]
        words += ["1e-6", "-n", "10", "--account", str(account.path), "-o", str(tmp_path / "release")]
        monkeypatch.setattr(sys, "argv", ["understudy", *words])
        with pytest.raises(SystemExit) as ended:
            main()
        said = capfd.readouterr().err
        assert ended.value.code == 2, said
        assert "Traceback" not in said
        assert account.history() == []
        assert not (tmp_path / "release").exists()
        return " ".join(said.split())

    return run


def served(request: pytest.FixtureRequest, engine: str) -> Any:
    return request.getfixturevalue("postgres" if engine == "postgres" else "maria")


@pytest.mark.parametrize("engine", SERVERS)
def test_a_table_that_is_not_there(engine: str, request: pytest.FixtureRequest, synth: Any) -> None:
    assert "there is no table 'nowhere'" in synth(served(request, engine).address("nowhere"))


@pytest.mark.parametrize("engine", SERVERS)
def test_somebody_whom_the_server_does_not_know(engine: str, request: pytest.FixtureRequest, synth: Any) -> None:
    server = served(request, engine)
    server.load("visits", typed_table())
    assert "cannot be read" in synth(server.address("visits", user="nobody_knows"))


@pytest.mark.parametrize("scheme", ["postgresql", "mariadb", "mysql", "sqlite"])
def test_a_password_in_the_address(scheme: str, synth: Any) -> None:
    said = synth(f"{scheme}://ann:hunter2@localhost/db?table=t")
    assert "holds a password or key" in said
    assert "hunter2" not in said


@pytest.mark.parametrize("engine", SERVERS)
def test_a_type_that_nobody_knows(engine: str, request: pytest.FixtureRequest, synth: Any) -> None:
    server = served(request, engine)
    server.load("visits", typed_table())
    alter = "ALTER TABLE visits DROP COLUMN place, ADD COLUMN place point"
    if engine == "mariadb":
        server.run(alter, "UPDATE visits SET place = POINT(1, 2)")
    else:
        with server.connect() as connection:
            connection.execute(alter)
            connection.execute("UPDATE visits SET place = '(1,2)'")
    said = synth(server.address("visits"))
    assert "place" in said
    assert "1.5" not in said


def test_a_sqlite_file_that_is_none(tmp_path: Path, synth: Any) -> None:
    put_into_sqlite(tmp_path / "t.sqlite", "t", typed_table())
    whole = (tmp_path / "t.sqlite").read_bytes()
    (tmp_path / "t.sqlite").write_bytes(whole[: len(whole) // 2])
    assert "cannot be read" in synth(str(tmp_path / "t.sqlite"))
    assert "there is no SQLite file" in synth(f"sqlite://{tmp_path / 'gone.sqlite'}")


@pytest.mark.parametrize("engine", SERVERS)
def test_linked_tables_that_change_while_they_are_encoded(
    engine: str, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    """PostgreSQL sees one state of all tables; MariaDB says that they changed."""
    from tests.engines.test_linked_engines import BOOK as LINKED
    from tests.unit.linked_hospital import tables
    from understudy.sources.linked import LinkedSource, open_linked

    server = served(request, engine)
    for name, table in tables().items():
        server.load(name, table)
    source = open_linked(server.address("x").replace("&table=x", ""), LINKED)
    staged, emptied = LinkedSource._staged, []

    def between(self: Any, name: str, benches: Any) -> Any:
        made = staged(self, name, benches)
        if not emptied:
            emptied.append(name)
            for other in tables():
                if engine == "mariadb":
                    server.run(f"DELETE FROM {other}")
                else:
                    with server.connect() as connection:
                        connection.execute(f"DELETE FROM {other}")
        return made

    monkeypatch.setattr(LinkedSource, "_staged", between)
    if engine == "mariadb":
        with pytest.raises(DataError, match="the table changed while it was counted"):
            source.rows(LINKED.person.name)
        return
    rows = source.rows("stays")
    assert int(rows.count().to_pyarrow().as_py()) == tables()["stays"].num_rows


def test_postgres_without_tables_of_its_own_holds_one_state(postgres: Any) -> None:
    postgres.load("visits", typed_table())
    with postgres.connect() as connection:
        connection.execute("REVOKE TEMPORARY ON DATABASE postgres FROM PUBLIC")
        if not connection.execute("SELECT 1 FROM pg_roles WHERE rolname = 'looker'").fetchone():
            connection.execute("CREATE ROLE looker LOGIN")
        connection.execute("GRANT SELECT ON visits TO looker")
        book = us.Codebook(columns=(BOOK.column("age"),))
        source = us.open(postgres.address("visits", user="looker"), book)
        assert source.count([("age",)])[0].open().to_grid().sum() == 400
        connection.execute("INSERT INTO visits (age) VALUES (5)")
        assert source.count([("age",)])[0].open().to_grid().sum() == 400
        later = us.open(postgres.address("visits", user="looker"), book)
        assert later.count([("age",)])[0].open().to_grid().sum() == 401


def _cut_short(path: Path) -> None:
    os.truncate(path, 8192)


def _overwritten(path: Path) -> None:
    size = path.stat().st_size
    with path.open("r+b") as file:
        file.seek(8192)
        file.write(b"QZX!" * ((size - 8192) // 4))


@pytest.mark.parametrize("harm", [_cut_short, _overwritten])
@pytest.mark.parametrize("engine", ["duckdb", "sqlite"])
def test_a_file_that_goes_away_while_it_is_counted(engine: str, harm: Any, tmp_path: Path) -> None:
    """In place, as a disk that fails does; a file that is replaced is read to its end, of the one state it had."""
    path, rows = tmp_path / f"t.{engine}", pa.concat_tables([typed_table()] * 250)
    if engine == "sqlite":
        put_into_sqlite(path, "visits", rows)
    else:
        import duckdb

        with duckdb.connect(str(path)) as connection:
            connection.register("frame", rows)
            connection.execute("CREATE TABLE visits AS FROM frame")
    source = us.open(f"{engine}://{path}", BOOK)
    harm(path)
    with pytest.raises(DataError, match=r"cannot be read.*opy it again from its source") as caught:
        source.count([("age",)])
    said = str(caught.value)
    assert "Traceback" not in said and "arrow_scan" not in said and "QZX" not in said and ".." not in said


@pytest.mark.parametrize("engine", ["duckdb", "sqlite"])
def test_a_file_that_is_replaced_or_removed_is_counted_in_one_state(engine: str, tmp_path: Path) -> None:
    path, other = tmp_path / f"t.{engine}", tmp_path / f"u.{engine}"
    for place, rows in ((path, typed_table()), (other, typed_table().slice(0, 100))):
        if engine == "sqlite":
            put_into_sqlite(place, "visits", rows)
            continue
        import duckdb

        with duckdb.connect(str(place)) as connection:
            connection.register("frame", rows)
            connection.execute("CREATE TABLE visits AS FROM frame")
    book = us.Codebook(columns=(BOOK.column("bmi"),))
    source = us.open(f"{engine}://{path}", book, local_bytes=0)
    assert source.count([("bmi",)])[0].open().to_grid().sum() == 400
    other.replace(path)
    assert source.count([(book.smooth[0].fine.name,)])[0].open().to_grid().sum() == 400
    later = us.open(f"{engine}://{path}", book, local_bytes=0)
    path.unlink()
    assert later.count([("bmi",)])[0].open().to_grid().sum() == 100
