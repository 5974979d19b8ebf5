"""What only a database can show: its own log of statements, passwords, and going away."""

import datetime as dt
import json
from fractions import Fraction
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pyarrow as pa
import pytest

import understudy as us
from tests.engines.conftest import Postgres, start_postgres
from tests.engines.statement_logs import heard, ours_in, sends_rows
from tests.engines.test_engines import BOOK, CLIQUES, typed_table
from tests.engines.test_linked_engines import count_linked
from tests.unit.linked_hospital import tables
from understudy.codebook import Categorical, Continuous, Dates, Grain, Integer
from understudy.errors import DataError
from understudy.privacy.guarantees import Neighbours
from understudy.sources.check import check_table
from understudy.sources.draft import draft_codebook
from understudy.sources.review import look_at_columns
from understudy.sources.rows import read_rows

PASSWORD = "correct-horse-battery"


def sends(statement: str, private: set[str]) -> bool:
    return sends_rows(statement, private, "postgres")


def test_the_statement_log_shows_that_only_counts_leave(postgres: Postgres) -> None:
    address = postgres.load("visits", typed_table())
    with heard(postgres) as sent:
        us.open(address, BOOK).count(CLIQUES)
        us.Marginals(epsilon=1.0, delta=1e-6).fit(us.open(address, BOOK))
    codes = ours_in(sent)
    assert len(codes) == 2
    private = {"visits", *codes}
    assert len([text for text in sent if any(name in text for name in private)]) > 10
    assert [text for text in sent if sends(text, private)] == []


@pytest.mark.parametrize("user", ["postgres", pytest.param("looker", marks=pytest.mark.long)])
def test_the_log_shows_no_records_of_linked_tables(postgres: Postgres, user: str) -> None:
    """With temporary tables and without."""
    for name, table in tables().items():
        postgres.load(name, table)
    postgres.let_read("looker", *tables())
    with heard(postgres) as sent:
        count_linked(postgres.address(None, user=user))
    private = {*tables(), *ours_in(sent)}
    assert (len(private) > len(tables())) == (user == "postgres")
    assert len([text for text in sent if any(name in text for name in private)]) > 10
    assert [text for text in sent if sends(text, private)] == []


@pytest.mark.parametrize(
    "leak",
    [
        "SELECT * FROM visits",
        'SELECT "age" FROM visits LIMIT 1',
        "COPY (SELECT c0, c1 FROM codes) TO STDOUT (FORMAT csv)",
        "SELECT max(age), place FROM visits GROUP BY seen",
        "SELECT max(age) FROM visits",
        "CREATE TABLE kept AS SELECT * FROM visits",
        "WITH codes AS MATERIALIZED (SELECT c0 FROM visits) SELECT c0 FROM codes",
        'DECLARE "c" CURSOR FOR SELECT s.key FROM stays AS s JOIN patients AS p ON s.parent = p.key',
        "COPY visits TO STDOUT",
        "EXECUTE something",
    ],
)
def test_the_reading_of_the_log_would_notice(leak: str) -> None:
    assert sends(leak, {"visits", "codes", "stays", "patients"})


def test_counting_needs_no_right_but_reading(postgres: Postgres, open_reader: str) -> None:
    with heard(postgres) as sent:
        us.open(open_reader, BOOK).count(CLIQUES[:4])
    assert len([text for text in sent if "GROUPING SETS" in text]) == 1
    assert [text for text in sent if sends(text, {"visits", "codes"})] == []


@pytest.fixture
def open_reader(postgres: Postgres) -> str:
    postgres.load("visits", typed_table())
    postgres.let_read("looker", "visits")
    return postgres.address("visits", user="looker")


@pytest.fixture
def locked(postgres: Postgres) -> str:
    """An address that asks for a password."""
    postgres.load("visits", typed_table())
    with postgres.connect() as connection:
        if not connection.execute("SELECT 1 FROM pg_roles WHERE rolname = 'ann'").fetchone():
            connection.execute(f"CREATE ROLE ann LOGIN PASSWORD '{PASSWORD}'")
        connection.execute("GRANT SELECT ON visits TO ann; GRANT TEMPORARY ON DATABASE postgres TO ann")
        rules = postgres.folder / "pg_hba.conf"
        if "scram" not in rules.read_text().partition("\n")[0]:
            rules.write_text("local all ann scram-sha-256\n" + rules.read_text())
        connection.execute("SELECT pg_reload_conf()")
    return postgres.address("visits", user="ann")


def test_a_password_comes_from_the_environment_and_stays_there(
    locked: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("PGPASSWORD", raising=False)
    monkeypatch.setenv("PGPASSFILE", str(tmp_path / "none"))
    with pytest.raises(DataError, match=r"cannot be read.*PGPASSWORD or ~/.pgpass"):
        us.open(locked, BOOK)
    monkeypatch.setenv("PGPASSWORD", "wrong-" + PASSWORD)
    with pytest.raises(DataError, match="password authentication failed") as caught:
        us.open(locked, BOOK)
    assert PASSWORD not in str(caught.value)
    monkeypatch.setenv("PGPASSWORD", PASSWORD)
    release = us.PeGS(alpha=1.0).fit(us.open(locked, BOOK)).sample(5)
    release.save(tmp_path / "release")
    written = "".join(path.read_text(errors="replace") for path in (tmp_path / "release").iterdir())
    said = "".join(capfd.readouterr())
    assert PASSWORD not in written + said + repr(us.open(locked, BOOK)) + json.dumps(release.manifest.to_dict())
    monkeypatch.delenv("PGPASSWORD")
    client = tmp_path / "pgpass"
    client.write_text(f"*:*:*:ann:{PASSWORD}\n")
    client.chmod(0o600)
    monkeypatch.setenv("PGPASSFILE", str(client))
    assert len(us.open(locked, BOOK).count([("age",)])) == 1


class TestGoingAway:
    """The database dies in the middle of a count: one sentence, nothing charged, nothing written."""

    def test_a_count_that_loses_its_database_says_so(self, tmp_path: Path) -> None:
        postgres = start_postgres()
        address = postgres.load("visits", typed_table())
        account = us.Account.create(
            tmp_path / "a.account", dataset="visits", epsilon=1.0, delta=1e-6, neighbours=Neighbours.ADD_REMOVE
        )
        steps: list[str] = []

        def pull_the_plug(step: str, done: int, total: int) -> None:
            steps.append(step)
            if step == "counting":
                postgres.die()

        with pytest.raises(DataError, match="The database went away while it was asked; nothing was released") as lost:
            us.synthesize(
                address,
                BOOK,
                rows=10,
                method="marginals",
                epsilon=1.0,
                delta=1e-6,
                out=tmp_path / "release",
                account=account.path,
                report=pull_the_plug,
            )
        assert "counting" in steps
        assert "Traceback" not in str(lost.value)
        assert not (tmp_path / "release").exists()
        assert account.history() == []
        with pytest.raises(DataError, match="cannot be read"):  # and it stays a sentence while the server is down
            us.open(address, BOOK)
        postgres.stop()


def test_a_table_that_is_not_there(postgres: Postgres) -> None:
    with pytest.raises(DataError, match=r"there is no table 'nowhere.visits'.*SCHEMA.TABLE, case counts"):
        us.open(postgres.address("nowhere.visits"), BOOK)


def test_names_with_points_and_capitals(postgres: Postgres) -> None:
    with postgres.connect() as connection:
        connection.execute('CREATE SCHEMA IF NOT EXISTS "My.Schema"')
        connection.execute('CREATE TABLE IF NOT EXISTS "My.Schema"."T" (age bigint)')
        connection.execute('TRUNCATE "My.Schema"."T"; INSERT INTO "My.Schema"."T" VALUES (5), (70)')
    book = us.Codebook(columns=(BOOK.column("age"),))
    counts = us.open(postgres.address('"My.Schema"."T"'), book).count([("age",)])[0].open()
    assert counts.to_grid().tolist() == [1, 0, 1, 0]


def test_types_that_only_postgres_has(postgres: Postgres) -> None:
    with postgres.connect() as connection:
        connection.execute(
            "DROP TABLE IF EXISTS odd; DROP TYPE IF EXISTS mood; CREATE TYPE mood AS ENUM ('low', 'high')"
        )
        connection.execute(
            "CREATE TABLE odd (mood mood, code char(4), seen timestamptz, age numeric, ok boolean, bmi real)"
        )
        connection.execute(
            "INSERT INTO odd VALUES ('low', 'a', '2020-03-01 00:30+02', 5, true, 25.5),"
            " ('high', 'bb', '2020-02-29 23:30+00', 'NaN', false, 'NaN'), (NULL, NULL, NULL, NULL, NULL, NULL)"
        )
    words = {"mood": ("low", "high"), "code": ("a", "bb"), "ok": ("true", "false")}
    book = us.Codebook(
        columns=(
            *(Categorical(name=name, levels=levels, missing="NA") for name, levels in words.items()),
            Integer(name="age", edges=tuple(map(Fraction, (0, 18, 65))), missing="NA"),
        )
    )
    source = us.open(postgres.address("odd"), book)
    found = [table.open().to_grid().tolist() for table in source.count([("mood",), ("code",), ("age",), ("ok",)])]
    assert found == [[1, 1, 1], [1, 1, 1], [1, 0, 2], [1, 1, 1]]
    days = us.Codebook(columns=(BOOK.column("seen"),))
    # a moment in time is the day that it is in Greenwich, whatever the server's zone
    assert us.open(postgres.address("odd"), days).count([("seen",)])[0].open().to_grid()[1] == 2


@pytest.mark.parametrize("what", ['Dom."a.in"', "Dom.seen"])
def test_domains_are_the_types_that_they_rest_on(postgres: Postgres, what: str) -> None:
    """A column of a domain was of no known type: its numbers and days were all taken for values that do not fit."""
    postgres.run(
        "DROP SCHEMA IF EXISTS dom CASCADE",
        "CREATE SCHEMA dom",
        "CREATE DOMAIN dom.years AS integer CHECK (value >= 0)",
        'CREATE DOMAIN dom."of ""adults" AS dom.years CHECK (value >= 18)',
        "CREATE DOMAIN dom.price AS numeric(8, 2)",
        "CREATE DOMAIN dom.real AS double precision",
        "CREATE DOMAIN dom.day AS date",
        "CREATE DOMAIN dom.moment AS timestamptz",
        "CREATE DOMAIN dom.code AS char(4)",
        'CREATE TABLE dom."a.in" (age dom.years, adult dom."of ""adults", price dom.price, bmi dom.real, day dom.day,'
        " moment dom.moment, code dom.code, paid money, at pg_lsn, spare point)",
        "SET TIME ZONE '-11:00'",
        "INSERT INTO dom.\"a.in\" VALUES (5, 70, 2.5, 0.5, '2020-03-01', '2020-03-01 00:30+02', 'ab', '2.5', '0/0'),"
        " (20, 20, 0.5, 'NaN', NULL, NULL, 'b', '0.5', '0/1')",
        'INSERT INTO dom."a.in" DEFAULT VALUES',
        'CREATE VIEW dom.seen AS SELECT * FROM dom."a.in"',
    )
    edges = tuple(map(Fraction, (0, 1, 18, 80)))
    numbers = ("age", "adult", "price", "bmi", "paid")
    words = {"code": ("ab", "b"), "price": ("2.50", "0.50"), "paid": ("2.50", "0.50"), "at": ("0/0", "0/1")}
    days = {"start": dt.date(2020, 2, 1), "end": dt.date(2020, 3, 31)}
    address = postgres.address(quote(what.replace("Dom", "dom")))

    def counted(*columns: Any) -> list[list[int]]:
        book = us.Codebook(columns=columns)
        return [table.open().to_grid().tolist() for table in us.open(address, book).count([[n] for n in book.names])]

    assert counted(*(Continuous(name=n, edges=edges, precision=2, missing="NA") for n in numbers)) == [
        [0, 1, 1, 1], [0, 0, 2, 1], [1, 1, 0, 1], [1, 0, 0, 2], [1, 1, 0, 1],
    ]  # fmt: skip
    assert counted(*(Categorical(name=n, levels=levels, missing="NA") for n, levels in words.items())) == [[1] * 3] * 4
    # a moment is the day that it is in Greenwich
    assert counted(*(Dates(name=n, grain=Grain.MONTH, missing="NA", **days) for n in ("day", "moment"))) == [
        [0, 1, 2], [1, 0, 2],
    ]  # fmt: skip


@pytest.mark.parametrize("kind", ["date", "timestamp", "timestamptz"])
def test_endless_days_are_no_days(postgres: Postgres, kind: str) -> None:
    """Until they were, one `infinity` kept the whole table from being counted."""
    with postgres.connect() as connection:
        connection.execute(f"DROP TABLE IF EXISTS endless; CREATE TABLE endless (seen {kind})")
        connection.execute("INSERT INTO endless VALUES ('infinity'), ('-infinity'), ('2020-01-06'), ('0044-03-15 BC')")
    for grain in Grain:
        start = grain.first(grain.number(dt.date(2019, 1, 1)))
        column = Dates(name="seen", grain=grain, start=start, end=dt.date(2020, 12, 31), missing="NA")
        book = us.Codebook(columns=(column,))
        (table,) = us.open(postgres.address("endless"), book, unknown="missing").count([("seen",)])
        assert sorted(table.open().occupied()[1].tolist()) == [1, 3]
        faults = {fault.kind: fault.count for fault in check_table(postgres.address("endless"), book)}
        assert faults == {"not a date": 2, "outside the edges": 1}


def test_jobs_that_need_values_say_that_none_leave(postgres: Postgres) -> None:
    address = postgres.load("visits", typed_table())
    with pytest.raises(DataError, match="only counts leave a database"):
        draft_codebook(address)
    with pytest.raises(DataError, match="no record leaves a database"):
        read_rows(address, BOOK)
    with pytest.raises(DataError, match="only counts leave a database"):
        look_at_columns(address, BOOK)
    assert check_table(address, BOOK) == []  # the holder of the data may still be told what does not fit


def test_frames_that_are_no_spark(postgres: Postgres) -> None:
    with pytest.raises(DataError, match="cannot be opened"):
        us.open(pa.scalar(1), BOOK)
