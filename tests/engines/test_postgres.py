"""What only a database can show: its own log of statements, passwords, and going away."""

import datetime as dt
import gc
import json
import re
from fractions import Fraction
from pathlib import Path

import pyarrow as pa
import pytest
import sqlglot
from sqlglot import expressions as sql

import understudy as us
from tests.engines.conftest import Postgres, start_postgres
from tests.engines.test_engines import BOOK, CLIQUES, typed_table
from understudy.codebook import Categorical, Dates, Grain, Integer
from understudy.errors import DataError
from understudy.privacy.guarantees import Neighbours
from understudy.sources.check import check_table
from understudy.sources.draft import draft_codebook
from understudy.sources.review import look_at_columns
from understudy.sources.rows import read_rows

PASSWORD = "correct-horse-battery"


def statements(postgres: Postgres, before: int) -> list[str]:
    """Everything that any client sent since the log was ``before`` bytes long."""
    text = (postgres.folder / "log").read_text(encoding="utf-8", errors="replace")[before:]
    entries = re.split(r"^@\d+ ", text, flags=re.MULTILINE)
    found = [re.match(r"LOG:  (?:statement|execute [^:]*): (.*)", entry, re.DOTALL) for entry in entries]
    return [match[1].strip() for match in found if match]


def sends_rows(statement: str, private: set[str]) -> bool:
    """Whether a statement sends anything about the private tables to its client that is not a count."""
    inner = re.fullmatch(r"COPY \((.*)\) TO STDOUT \(FORMAT csv\)", statement, re.DOTALL)
    tree = sqlglot.parse_one(inner[1] if inner else statement, dialect="postgres")
    if isinstance(tree, sql.Create):
        return not tree.find(sql.TemporaryProperty)  # rows go into a temporary table of the database, to nobody
    if not {table.name for table in tree.find_all(sql.Table)} & private:
        return False
    if isinstance(tree, sql.Analyze | sql.Drop):
        return False
    assert isinstance(tree, sql.Select), statement
    group = tree.args.get("group")
    grouped = {column.sql() for column in (group.find_all(sql.Column) if group else ())}
    places = [literal for literal in (group.expressions if group else ()) if isinstance(literal, sql.Literal)]
    grouped |= {tree.expressions[int(place.this) - 1].unalias().sql() for place in places}  # GROUP BY 1, 2
    for item in tree.expressions:
        bare = item.unalias()
        if (
            not isinstance(bare, sql.AggFunc | sql.Grouping)
            and bare.sql() not in grouped
            and not bare.find(sql.AggFunc)
        ):
            return True
    return False


def test_the_statement_log_shows_that_only_counts_leave(postgres: Postgres) -> None:
    address = postgres.load("visits", typed_table())
    gc.collect()  # sources of earlier tests let their tables go now, not in the middle of this one
    before = len((postgres.folder / "log").read_text(encoding="utf-8", errors="replace"))
    source = us.open(address, BOOK)
    source.count(CLIQUES)
    us.Marginals(epsilon=1.0, delta=1e-6).fit(us.open(address, BOOK))
    sent = statements(postgres, before)
    codes = {name for text in sent for name in re.findall(r"understudy_codes_[0-9a-f]{32}", text)}
    assert len(codes) == 2
    private = {"visits", *codes}
    about = [text for text in sent if any(name in text for name in private) and "pg_catalog" not in text]
    assert len(about) > 10
    assert [text for text in about if sends_rows(text, private)] == []


@pytest.mark.parametrize(
    "leak",
    [
        "SELECT * FROM visits",
        'SELECT "age" FROM visits LIMIT 1',
        "COPY (SELECT c0, c1 FROM codes) TO STDOUT (FORMAT csv)",
        "SELECT max(age), place FROM visits GROUP BY seen",
        "CREATE TABLE kept AS SELECT * FROM visits",
    ],
)
def test_the_reading_of_the_log_would_notice(leak: str) -> None:
    assert sends_rows(leak, {"visits", "codes"})


def test_counting_needs_no_right_but_reading(postgres: Postgres, open_reader: str) -> None:
    before = len((postgres.folder / "log").read_text(encoding="utf-8", errors="replace"))
    us.open(open_reader, BOOK).count(CLIQUES[:4])
    sent = [text for text in statements(postgres, before) if "GROUPING SETS" in text]
    assert len(sent) == 1
    assert not sends_rows(sent[0].replace("WITH codes AS MATERIALIZED", "WITH codes AS"), {"visits", "codes"})


@pytest.fixture
def open_reader(postgres: Postgres) -> str:
    postgres.load("visits", typed_table())
    with postgres.connect() as connection:
        connection.execute("REVOKE TEMPORARY ON DATABASE postgres FROM PUBLIC")
        if not connection.execute("SELECT 1 FROM pg_roles WHERE rolname = 'looker'").fetchone():
            connection.execute("CREATE ROLE looker LOGIN")
        connection.execute("GRANT SELECT ON visits TO looker")
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
