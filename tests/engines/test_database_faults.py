"""Mistakes with a database, at the command line: one sentence, exit code 2, nothing charged, nothing written."""

import os
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import understudy as us
from tests.engines.places import FILES, SERVERS, put_into_sqlite
from tests.engines.test_engines import BOOK, typed_table
from understudy.errors import DataError
from understudy.privacy.guarantees import Neighbours
from understudy.sources.engines import engines


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


@pytest.mark.parametrize("engine", SERVERS)
def test_a_table_that_is_not_there(engine: str, place: Any, synth: Any) -> None:
    assert "there is no table 'nowhere'" in synth(place(engine).server.address("nowhere"))


@pytest.mark.parametrize("engine", SERVERS)
def test_somebody_whom_the_server_does_not_know(engine: str, place: Any, synth: Any) -> None:
    there = place(engine)
    there.put({"visits": typed_table()})
    assert "cannot be read" in synth(there.server.address("visits", user="nobody_knows"))


@pytest.mark.parametrize("scheme", [scheme for engine in engines().values() for scheme in engine.schemes])
def test_a_password_in_the_address(scheme: str, synth: Any) -> None:
    said = synth(f"{scheme}://ann:hunter2@localhost/db?table=t")
    assert "holds a password or key" in said
    assert "hunter2" not in said


@pytest.mark.parametrize("engine", SERVERS)
def test_a_type_that_nobody_knows(engine: str, place: Any, synth: Any) -> None:
    there = place(engine)
    there.put({"visits": typed_table()})
    there.server.run(
        "ALTER TABLE visits DROP COLUMN place, ADD COLUMN place point", "UPDATE visits SET place = POINT(1.5, 2)"
    )
    said = synth(there.address("visits"))
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
    engine: str, place: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One server sees one state of all tables (PostgreSQL); of another (MariaDB) it is said that they changed."""
    from tests.engines.test_linked_engines import BOOK as LINKED
    from tests.unit.linked_hospital import tables
    from understudy.sources.linked import LinkedSource, open_linked

    there = place(engine)
    source = open_linked(there.put(tables()), LINKED)
    staged, emptied = LinkedSource._staged, []

    def between(self: Any, name: str, benches: Any) -> Any:
        made = staged(self, name, benches)
        if not emptied:
            emptied.append(name)
            there.server.run(*(f"DELETE FROM {other}" for other in tables()))
        return made

    monkeypatch.setattr(LinkedSource, "_staged", between)
    if not there.server.sees_one_state:
        with pytest.raises(DataError, match="the table changed while it was counted"):
            source.rows(LINKED.person.name)
        return
    rows = source.rows("stays")
    assert int(rows.count().to_pyarrow().as_py()) == tables()["stays"].num_rows


def test_postgres_without_tables_of_its_own_holds_one_state(postgres: Any) -> None:
    postgres.load("visits", typed_table())
    postgres.let_read("looker", "visits")
    book = us.Codebook(columns=(BOOK.column("age"),))
    source = us.open(postgres.address("visits", user="looker"), book)
    assert source.count([("age",)])[0].open().to_grid().sum() == 400
    postgres.run("INSERT INTO visits (age) VALUES (5)")
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
@pytest.mark.parametrize("engine", FILES)
def test_a_file_that_goes_away_while_it_is_counted(engine: str, harm: Any, place: Any) -> None:
    """In place, as a disk that fails does; a file that is replaced is read to its end, of the one state it had."""
    there = place(engine)
    source = us.open(there.put({"visits": pa.concat_tables([typed_table()] * 250)}), BOOK)
    harm(there.path)
    with pytest.raises(DataError, match=r"cannot be read.*opy it again from its source") as caught:
        source.count([("age",)])
    said = str(caught.value)
    assert "Traceback" not in said and "arrow_scan" not in said and "QZX" not in said and ".." not in said


@pytest.mark.parametrize("engine", FILES)
def test_a_file_that_is_replaced_or_removed_is_counted_in_one_state(engine: str, place: Any, tmp_path: Path) -> None:
    there = place(engine)
    there.put({"visits": typed_table().slice(0, 100)})
    other = there.path.replace(tmp_path / "other")
    address = there.put({"visits": typed_table()})
    book = us.Codebook(columns=(BOOK.column("bmi"),))
    source = us.open(address, book, local_bytes=0)
    assert source.count([("bmi",)])[0].open().to_grid().sum() == 400
    other.replace(there.path)
    assert source.count([(book.smooth[0].fine.name,)])[0].open().to_grid().sum() == 400
    later = us.open(address, book, local_bytes=0)
    there.path.unlink()
    assert later.count([("bmi",)])[0].open().to_grid().sum() == 100
