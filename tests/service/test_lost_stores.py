"""A disk that is full, a database that is gone, clocks that jump, a second server, and passwords in the wrong place."""

import asyncio
import inspect
import os
import resource
import threading
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest
from sqlalchemy import text

from understudy.cli.serve import serve
from understudy.errors import DataError, ParameterError, RefusalError
from understudy.facade import service as facade
from understudy.front.visitors import Limits
from understudy.service import Budgets, KeyBook, Store, purses, readiness
from understudy.service import store as store_module
from understudy.service.readiness import Readiness


def test_a_disk_without_room_is_not_ready(lite, service, monkeypatch):
    monkeypatch.setattr(readiness, "_REMEMBERED", 0.0)
    assert service.call("GET", "/readyz", key=None).status_code == 200
    usage = store_module.shutil.disk_usage(".")
    with monkeypatch.context() as full:
        full.setattr(store_module.shutil, "disk_usage", lambda _: usage._replace(free=1 << 20))
        said = service.call("GET", "/readyz", key=None)
        assert said.status_code == 503 and "disk" in said.json()["detail"]
    assert service.call("GET", "/readyz", key=None).status_code == 200


def test_a_disk_that_takes_no_more_bytes_is_not_ready(lite):
    """The system itself refuses to let any file grow, as a full disk or a quota does."""
    lite.check()
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, before[1]))
    try:
        with pytest.raises(DataError, match="cannot be used"):
            lite.check()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    lite.check()


def postgres_connection(postgres):
    import psycopg

    return psycopg.connect(postgres.get_uri(), autocommit=True)


def test_a_database_that_is_gone_is_not_ready_and_one_that_is_back_is(postgres, tmp_path, monkeypatch):
    monkeypatch.setattr(readiness, "_REMEMBERED", 0.0)
    parts = urlsplit(postgres.get_uri())
    real = Path(parse_qs(parts.query)["host"][0]) / ".s.PGSQL.5432"
    door = Path(os.path.realpath(tmp_path)) / ".s.PGSQL.5432"
    door.symlink_to(real)
    name = f"s{os.urandom(6).hex()}"
    with postgres_connection(postgres) as connection:
        connection.execute(f"CREATE SCHEMA {name}")
    url = f"postgresql://postgres@/postgres?host={door.parent}&application_name={name}&options=-csearch_path%3D{name}"
    store = Store.open(url, secret_file=tmp_path / "secret")
    ready = Readiness(store.check)
    try:
        assert asyncio.run(ready.holds())
        door.unlink()
        with postgres_connection(postgres) as connection:
            of_ours = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = %s"
            connection.execute(of_ours, [name])
        assert not asyncio.run(ready.holds())
        door.symlink_to(real)
        assert asyncio.run(ready.holds())
    finally:
        store.close()


def test_a_database_that_never_answers_is_not_ready_in_time():
    never, asked = threading.Event(), []

    def hang() -> None:
        asked.append(1)
        never.wait(20)

    async def scene() -> list[bool]:
        ready = Readiness(hang, patience=0.05)
        answers = await asyncio.gather(*(ready.holds() for _ in range(10)))
        never.set()
        return answers

    assert asyncio.run(scene()) == [False] * 10 and len(asked) == 1, "and asking often does not ask it often"


def test_why_a_store_is_not_ready_is_told_once_each_time_it_is_lost(monkeypatch):
    works, told = False, []

    def check() -> None:
        if not works:
            raise OSError

    async def scene() -> None:
        nonlocal works
        ready = Readiness(check, failed=lambda reason: told.append(type(reason).__name__))
        for works in (False, False, True, False, False):
            ready._until = -1.0  # a second later
            assert await ready.holds() == works

    asyncio.run(scene())
    assert told == ["OSError", "OSError"]


class Clocks:
    """Both clocks of the module, in our hands."""

    def __init__(self, monkeypatch) -> None:
        self.wall, self.steady = 1_000_000.0, 500.0
        monkeypatch.setattr(purses, "time", self)

    def time(self) -> float:
        return self.wall

    def monotonic(self) -> float:
        return self.steady


@pytest.mark.parametrize("jump", [-3600.0, -10.0, 0.0, 3600.0])
def test_a_clock_that_jumps_blocks_no_question_for_longer_than_its_deadline(lite, monkeypatch, jump):
    """A server dies between paying and answering, and the clock is set; then the question is asked again and again."""
    clocks = Clocks(monkeypatch)
    book, till = KeyBook(lite), Budgets(lite, abandoned=15.0)
    key = book.create(label="k", scopes=["score"]).key.key_id
    till.register("m", name="m", price=0.1)
    till.set_cap("m", 1.0)
    till.grant(key, "m", 1.0)
    assert till.charge(key, "m", [b"q"]).paid == {b"q": 1}
    clocks.wall += jump
    waited, paid = 0.0, {}
    while not (paid := till.charge(key, "m", [b"q"]).paid):
        clocks.wall, clocks.steady, waited = clocks.wall + 1.0, clocks.steady + 1.0, waited + 1.0
    assert waited <= 16.0 and paid == {b"q": 2}
    assert till.settle(key, "m", {b"q": (2, "answer")}) == {b"q": "answer"}
    clocks.wall -= 7200.0
    assert till.charge(key, "m", [b"q"]).stored == {b"q": "answer"}, "a stored answer has no age"
    assert till.faults() == [] and till.model_balances()["m"][1].spent == 200_000_000


def test_attempts_that_were_noticed_do_not_pile_up(lite, monkeypatch):
    clocks = Clocks(monkeypatch)
    monkeypatch.setattr(purses, "_MOST_NOTICED", 3)
    book, till = KeyBook(lite), Budgets(lite)
    key = book.create(label="k", scopes=["score"]).key.key_id
    till.register("m", name="m", price=0.1)
    till.set_cap("m", 9.0)
    till.grant(key, "m", 9.0)
    for number in range(10):
        till.charge(key, "m", [bytes([number])])
        till.charge(key, "m", [bytes([number])])
        clocks.steady += 20.0
        clocks.wall -= 20.0
    assert len(till._attempts._noticed) <= 4


def test_no_wait_on_postgres_is_endless(postgres_url, tmp_path):
    with Store.open(postgres_url, secret_file=tmp_path / "secret") as store, store.reading() as connection:
        for limit in ("statement_timeout", "idle_in_transaction_session_timeout"):
            assert connection.execute(text(f"SHOW {limit}")).scalar() == "30s"


def test_one_server_on_a_sqlite_file(store, tmp_path):
    """Two stores may be open (`understudy keys` is one); only serving is for one."""
    with store.served_alone():
        if not store.is_sqlite:
            with store.served_alone():
                return
        path = store._engine.url.database
        with (
            Store.open(f"sqlite:///{path}", secret_file=tmp_path / "secret") as second,
            pytest.raises(RefusalError, match=r"one server; stop it first, or let several servers share a PostgreSQL"),
            second.served_alone(),
        ):
            raise AssertionError("served twice")
    with store.served_alone():
        pass


def test_a_database_behind_a_link_is_refused_and_nothing_is_made_there(tmp_path):
    """SQLite follows a link that leads nowhere, and would make the database there, with the rights of any file."""
    (tmp_path / "link.db").symlink_to(tmp_path / "elsewhere")
    os.mkfifo(tmp_path / "pipe.db")
    for name, kind in (("link.db", "a symbolic link"), ("pipe.db", "a named pipe")):
        with pytest.raises(ParameterError, match=kind):
            Store.open(f"sqlite:///{tmp_path / name}", secret_file=tmp_path / "secret")
    assert {path.name for path in tmp_path.iterdir()} == {"link.db", "pipe.db"}


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o077])
def test_what_the_service_writes_is_for_its_owner_whatever_the_umask(tmp_path, umask):
    before = os.umask(umask)
    try:
        with Store.open(f"sqlite:///{tmp_path / 's.db'}") as store, store.served_alone():
            KeyBook(store).create(label="k", scopes=["score"])
            modes = {path.name: path.stat().st_mode & 0o777 for path in tmp_path.iterdir()}
    finally:
        os.umask(before)
    assert {"s.db", "s.db.secret", "s.db.serving", "s.db-wal"} <= set(modes)
    assert {mode & 0o077 for mode in modes.values()} == {0}, modes


def test_a_lock_that_is_no_file_is_told_in_a_sentence(tmp_path):
    (tmp_path / "s.db.serving").symlink_to("/dev/null")
    with (
        Store.open(f"sqlite:///{tmp_path / 's.db'}") as store,
        pytest.raises(ParameterError, match="a symbolic link"),
        store.served_alone(),
    ):
        raise AssertionError("served through a link")


def test_the_unit_file_closes_what_the_server_does_not_need():
    """Each promise of the page on operations is a line of the file, and its command is one that the program takes."""
    path = Path(__file__).parents[2] / "deploy" / "understudy.service"
    lines = [line for line in path.read_text(encoding="utf-8").splitlines() if "=" in line and not line.startswith("#")]
    unit = dict(line.split("=", 1) for line in lines)
    assert int(unit["LimitNOFILE"]) - 256 >= Limits().connections and unit["LimitCORE"] == "0"
    assert unit["ProtectSystem"] == "strict" and unit["NoNewPrivileges"] == "yes" and unit["UMask"] == "0077"
    assert unit["CapabilityBoundingSet"] == "" and "MemoryDenyWriteExecute" not in unit
    words = unit["ExecStart"].split()[2:]
    known = inspect.signature(serve).parameters
    assert all(word[2:].replace("-", "_") in known for word in words if word.startswith("--"))


@pytest.mark.parametrize(
    "address", ["postgresql://ann:hunter2@db/scores", "postgresql://ann@db/scores?password=hunter2"]
)
def test_a_password_in_the_argument_is_refused(address, monkeypatch, tmp_path):
    monkeypatch.delenv(facade.DATABASE_VARIABLE, raising=False)
    with pytest.raises(ParameterError, match="PGPASSFILE") as caught:
        facade._database(address)
    assert "hunter2" not in str(caught.value)
    (tmp_path / "address").write_text(f"{address}\n")
    monkeypatch.setenv("UNDERSTUDY_DATABASE_FILE", str(tmp_path / "address"))
    assert facade._database(None) == address, "a file, which nobody else need be able to read"
    monkeypatch.setenv("UNDERSTUDY_DATABASE_FILE", str(tmp_path / "nowhere"))
    with pytest.raises(ParameterError, match="nowhere"):
        facade._database(None)
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "endless").symlink_to("/dev/zero")
    for name in ("pipe", "endless"):  # either would be read for ever
        monkeypatch.setenv("UNDERSTUDY_DATABASE_FILE", str(tmp_path / name))
        with pytest.raises(ParameterError, match="only plain files are read"):
            facade._database(None)
    monkeypatch.setenv(facade.DATABASE_VARIABLE, address)
    assert facade._database(None) == address, "the environment"
    assert facade._database("postgresql://ann@db/scores") == "postgresql://ann@db/scores"
