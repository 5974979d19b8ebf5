"""What only MariaDB can show: its general log, its collation, its odd types, and its ways of reading a moving table."""

import json
from collections import Counter
from contextlib import closing
from fractions import Fraction
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pyarrow as pa
import pytest

import understudy as us
from tests.engines.conftest import Maria, start_maria
from tests.engines.statement_logs import heard, ours_in, sends_rows
from tests.engines.test_capping import BOOK as CAPPED
from tests.engines.test_capping import visits as capped_visits
from tests.engines.test_engines import BOOK, CLIQUES, opened, reference_codes, typed_table
from tests.engines.test_injection import LEVELS, NAMES, book_of, counted, expected, table_of
from tests.engines.test_linked_engines import BOOK as LINKED
from tests.engines.test_linked_engines import count_linked
from tests.unit.linked_hospital import tables
from understudy.codebook import Categorical, Codebook, Continuous, Dates, Grain, Integer
from understudy.codebook.readings import Reading, folded
from understudy.errors import DataError, UnderstudyError
from understudy.privacy.guarantees import Neighbours
from understudy.sources.check import check_table
from understudy.sources.draft import draft_codebook
from understudy.sources.engines.mariadb import ENGINE, _refuse_others
from understudy.sources.linked import open_linked
from understudy.sources.rows import read_rows

PASSWORD = "correct-horse-battery"
AGE = Codebook(columns=(BOOK.column("age"),))


def sends(statement: str, private: set[str]) -> bool:
    return sends_rows(statement, private, "mysql")


def test_the_general_log_shows_that_only_counts_leave(maria: Maria) -> None:
    address = maria.load("visits", typed_table())
    with heard(maria) as sent:
        us.open(address, BOOK).count(CLIQUES)
        us.Marginals(epsilon=1.0, delta=1e-6).fit(us.open(address, BOOK))
    codes = ours_in(sent)
    assert len(codes) == 2
    private = {"visits", *codes}
    assert len([text for text in sent if any(name in text for name in private)]) > 10
    assert [text for text in sent if sends(text, private)] == []


@pytest.mark.parametrize("user", ["root", pytest.param("looker", marks=pytest.mark.long)])
def test_the_log_shows_no_records_where_people_are_capped(maria: Maria, user: str) -> None:
    """With temporary tables and without."""
    maria.load("capped_visits", capped_visits())
    maria.let_read("looker", "capped_visits")
    with heard(maria) as sent:
        us.Marginals(epsilon=1.0, delta=1e-6).fit(us.open(maria.address("capped_visits", user=user), CAPPED))
    codes = ours_in(sent)
    assert any("SHA2" in text.upper() for text in sent) and bool(codes) == (user == "root")
    assert [text for text in sent if sends(text, {"capped_visits", "codes", *codes})] == []


@pytest.mark.parametrize("user", ["root", pytest.param("looker", marks=pytest.mark.long)])
def test_the_log_shows_no_records_of_linked_tables(maria: Maria, user: str) -> None:
    """With temporary tables and without."""
    for name, table in tables().items():
        maria.load(name, table)
    maria.let_read("looker", *tables())
    with heard(maria) as sent:
        count_linked(maria.address(None, user=user))
    private = {*tables(), *ours_in(sent)}
    assert (len(private) > len(tables())) == (user == "root")
    assert len([text for text in sent if any(name in text for name in private)]) > 10
    assert [text for text in sent if sends(text, private)] == []


@pytest.mark.parametrize(
    "leak",
    [
        "SELECT * FROM visits",
        "SELECT `age` FROM visits LIMIT 1",
        "SELECT c0, c1 FROM codes",
        "SELECT max(age), place FROM visits GROUP BY seen",
        "SELECT max(age) FROM visits",
        "CREATE TABLE kept AS SELECT * FROM visits",
        "WITH codes AS (SELECT 1 AS c0 FROM visits) SELECT 0 AS s, c0 FROM codes UNION ALL SELECT 1, c0 FROM codes",
        "SELECT 0 AS s, c0, COUNT(*) FROM codes GROUP BY c0 UNION ALL SELECT 1, c1, 1 FROM codes",
    ],
)
def test_the_reading_of_the_log_would_notice(leak: str) -> None:
    assert sends(leak, {"visits", "codes"})


@pytest.fixture
def reader(maria: Maria) -> str:
    """An address of somebody who may read one table, and nothing else."""
    maria.load("visits", typed_table())
    maria.let_read("looker", "visits")
    return maria.address("visits", user="looker")


def test_counting_needs_no_right_but_reading(maria: Maria, reader: str) -> None:
    with heard(maria) as sent:
        us.open(reader, BOOK).count(CLIQUES)
    assert sum("WITH codes AS" in text for text in sent) == 1
    assert "START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY" in sent
    assert [text for text in sent if sends(text, {"visits", "codes"})] == []


def test_several_tables_are_counted_by_one_statement(maria: Maria, reader: str) -> None:
    sets = [["c0"], ["c2", "c1"], ["c0", "c3", "c4"]]
    with heard(maria) as sent:
        found = list(us.open(reader, BOOK).bench.count(sets))
    kept = us.open(maria.address("visits"), BOOK).bench
    for mine, table in zip(found, kept.count(sets), strict=True):
        cells, others = (Counter(tuple(row.values()) for row in each.to_pylist()) for each in (mine, table))
        assert cells == others
    asked = [text for text in sent if "UNION ALL" in text]
    assert len(asked) == 1
    assert not sends(asked[0], {"visits", "codes"})


class TestOneState:
    """The table changes while it is counted: the counts are of one state, or it is said."""

    def total(self, source: Any) -> int:
        return int(source.count([("age",)])[0].open().to_grid().sum())

    def test_codes_are_made_by_one_statement(self, maria: Maria) -> None:
        source = us.open(maria.load("visits", typed_table()), AGE)
        assert self.total(source) == 400
        maria.run("INSERT INTO visits (age) VALUES (5)")
        assert self.total(source) == 400
        assert self.total(us.open(maria.address("visits"), AGE)) == 401

    def test_nobody_who_writes_has_to_wait(self, maria: Maria, reader: str) -> None:
        for address in (maria.address("visits"), reader):
            source = us.open(address, AGE)
            source.count([("age",)])
            maria.run("SET SESSION innodb_lock_wait_timeout = 1", "UPDATE visits SET age = age + 0 WHERE age < 50")

    def test_without_a_table_of_codes_a_snapshot_is_held(self, maria: Maria, reader: str) -> None:
        source = us.open(reader, AGE)
        assert self.total(source) == 400
        maria.run("INSERT INTO visits (age) VALUES (5)")
        assert self.total(source) == 400
        assert self.total(us.open(reader, AGE)) == 401

    @pytest.mark.parametrize("change", ["INSERT INTO old (age) VALUES (5)", "UPDATE old SET age = 7 WHERE age = 70"])
    @pytest.mark.parametrize("name", ["old", "seen_old"])
    def test_where_there_are_no_snapshots_a_change_is_said(self, maria: Maria, name: str, change: str) -> None:
        maria.load("old", typed_table(), kept_by="MyISAM")
        maria.run(
            "CREATE OR REPLACE VIEW seen_old AS SELECT * FROM old",
        )
        maria.let_read("looker", name)
        source = us.open(maria.address(name, user="looker"), AGE)
        assert self.total(source) == self.total(source) == 400
        maria.run(change)
        with pytest.raises(DataError, match=r"the table changed while it was counted.*run again"):
            self.total(source)
        assert self.total(us.open(maria.address(name), AGE)) in (400, 401)

    def test_pieces_that_are_encoded_later_are_of_the_same_state(self, maria: Maria) -> None:
        smooth = Codebook(columns=(BOOK.column("bmi"),))
        pieces = smooth.smooth[0].fine.name
        for change in (None, "INSERT INTO visits (bmi) VALUES (11.0)"):
            source = us.open(maria.load("visits", typed_table()), smooth)
            source.count([("bmi",)])
            if change is None:
                assert int(source.count([(pieces,)])[0].open().to_grid().sum()) == 400
                continue
            maria.run(change)
            with pytest.raises(DataError, match="the table changed while it was counted"):
                source.count([(pieces,)])

    def test_pieces_without_a_table_of_codes_or_a_snapshot(self, maria: Maria) -> None:
        smooth = Codebook(columns=(BOOK.column("bmi"),))
        maria.load("old", typed_table(), kept_by="MyISAM")
        maria.let_read("looker", "old")
        source = us.open(maria.address("old", user="looker"), smooth)
        source.count([("bmi",)])
        maria.run("INSERT INTO old (bmi) VALUES (11.0)")
        with pytest.raises(DataError, match="the table changed while it was counted"):
            source.count([(smooth.smooth[0].fine.name,)])

    @pytest.mark.parametrize("changed", ["patients", "stays"])
    def test_linked_tables_without_tables_of_codes_or_snapshots(self, maria: Maria, changed: str) -> None:
        for name, table in tables().items():
            maria.load(name, table, kept_by="MyISAM")
        maria.let_read("looker", *tables())
        source = open_linked(maria.address(None, user="looker"), LINKED).capped("a key")
        stays = LINKED.table("stays").book
        codes = [f"c{place}" for place in range(len(source.columns("stays")))]

        def total() -> int:
            counted = source.counting(stays, source.rows("stays").select(codes)).count([stays.names[:1]])
            return int(counted[0].open().to_grid().sum())

        assert total() == total() > 0
        maria.run(f"DELETE FROM {changed} LIMIT 1")
        with pytest.raises(DataError, match="the table changed while it was counted"):
            total()


def test_texts_are_told_apart_by_their_bytes(maria: Maria) -> None:
    """By the default of the server, all of these but two are the same."""
    texts = ["a", "A", "a ", "á", "ä", " a", "a\t", "ss", "ß", "\x0b", "a\x1f", "\\", "'", "😀"]
    maria.run("DROP TABLE IF EXISTS words", "CREATE TABLE words (w varchar(20)) COLLATE utf8mb4_general_ci")
    with closing(maria.connect(database="test")) as connection, connection.cursor() as cursor:
        cursor.executemany(
            "INSERT INTO words VALUES (%s)", [(text,) for text in texts for _ in range(texts.index(text) + 1)]
        )
    ((merged,),) = maria.run("SELECT count(DISTINCT w) FROM words WHERE w IN ('a', 'A', 'a ', 'á', 'ä')")
    assert merged == 1  # which is what must not happen
    book = Codebook(columns=(Categorical(name="w", levels=tuple(texts)),))
    assert us.open(maria.address("words"), book).count([("w",)])[0].open().to_grid().tolist() == list(
        range(1, len(texts) + 1)
    )
    maria.let_read("looker", "words")
    source = us.open(maria.address("words", user="looker"), book)
    assert source.count([("w",)])[0].open().to_grid().tolist() == list(range(1, len(texts) + 1))


def test_small_letters_are_those_of_every_engine(maria: Maria) -> None:
    """Every letter of three alphabets, and rare ones, which keep their case."""
    rare = (0x1E9E, 0x2126, 0x10A0, 0xFF21)
    places = (*range(0x41, 0x5B), *range(0xC0, 0x250), *range(0x386, 0x3CF), *range(0x400, 0x460), *rare)
    letters = [chr(place) for place in places]
    seen = pa.table({"w": letters})
    levels = tuple(dict.fromkeys(folded(letter) for letter in letters))
    book = Codebook(columns=(Categorical(name="w", levels=levels, reading=Reading(fold=True)),))
    expected = Counter((levels.index(folded(letter)),) for letter in letters)
    assert opened(us.open(maria.load("letters", seen), book).count([("w",)]))[0] == expected


def test_types_that_only_mariadb_has(maria: Maria) -> None:
    maria.run(
        "SET SESSION sql_mode = ''",
        "DROP TABLE IF EXISTS odd",
        "CREATE TABLE odd (mood enum('low','high'), tags set('x','y'), code char(4), ok boolean, one bit(1),"
        " many bit(8), big bigint unsigned, padded int(5) unsigned zerofill, price decimal(8,2), small float,"
        " born year, at time, day date, moment timestamp NULL, written datetime, doc json, who uuid,"
        " photo blob, place point)",
        "SET SESSION time_zone = '+02:00'",
        "INSERT INTO odd VALUES ('low', 'x,y', 'a', true, b'1', b'101', 18446744073709551615, 42, 2.5, 0.1, 1999,"
        " '10:30:00', '0000-00-00', '2020-03-01 00:30:00', '2020-03-01 00:30:00', '{\"a\": 1}',"
        " '123e4567-e89b-12d3-a456-426655440000', 'abc', POINT(1, 2))",
        "INSERT INTO odd VALUES ('high', 'y', 'bb', false, b'0', b'0', 0, 7, -1.00, 25.5, 2020, '00:00:00',"
        " '2020-02-29', '2020-03-01 00:30:00', '2020-12-31 23:59:59', 'null', NULL, NULL, NULL)",
        "INSERT INTO odd (mood) VALUES (NULL)",
    )
    words = {
        "mood": ("low", "high"), "tags": ("x,y", "y"), "code": ("a", "bb"), "ok": ("1", "0"), "one": ("1", "0"),
        "many": ("5", "0"), "big": ("18446744073709551615", "0"), "padded": ("42", "7"), "price": ("2.50", "-1.00"),
        "born": ("1999", "2020"), "at": ("10:30:00", "00:00:00"), "doc": ('{"a": 1}', "null"),
    }  # fmt: skip
    book = Codebook(
        columns=(
            *(Categorical(name=name, levels=levels, missing="NA") for name, levels in words.items()),
            Categorical(name="who", levels=("123e4567-e89b-12d3-a456-426655440000",), missing="NA"),
        )
    )
    source = us.open(maria.address("odd"), book)
    for name, table in zip(book.names, source.count([[name] for name in book.names]), strict=True):
        assert table.open().to_grid().tolist() == ([1, 1, 1] if name != "who" else [1, 2]), name
    numbers = Codebook(
        columns=(
            Continuous(name="price", edges=tuple(map(Fraction, (-5, 0, 5))), precision=2, missing="NA"),
            Continuous(name="small", edges=tuple(map(Fraction, (0, 1, 30))), precision=1, missing="NA"),
            Integer(name="many", edges=tuple(map(Fraction, (0, 3, 256))), missing="NA"),
        )
    )
    source = us.open(maria.address("odd"), numbers)
    grids = [table.open().to_grid().tolist() for table in source.count([[name] for name in numbers.names])]
    assert grids == [[1, 1, 1], [1, 1, 1], [1, 1, 1]]


def _days(name: str, *, missing: tuple[str, ...] = ()) -> Codebook:
    day = Dates(name=name, grain=Grain.MONTH, start=BOOK.column("seen").start, end=BOOK.column("seen").end,
                missing="NA", reading=Reading(missing=missing))  # fmt: skip
    return Codebook(columns=(day,))


def test_days_that_are_none_and_moments_in_other_zones(maria: Maria) -> None:
    test_types_that_only_mariadb_has(maria)
    with pytest.raises(DataError, match=r"'day' \(1 rows\)"):
        us.open(maria.address("odd"), _days("day")).count([("day",)])
    lenient = us.open(maria.address("odd"), _days("day", missing=("0000-00-00",)))
    assert lenient.count([("day",)])[0].open().to_grid()[[1, 12]].tolist() == [1, 2]
    # a moment is the day that it is in Greenwich, whatever the zone of the server; a written day is as written
    assert us.open(maria.address("odd"), _days("moment")).count([("moment",)])[0].open().to_grid()[1] == 2
    assert us.open(maria.address("odd"), _days("written")).count([("written",)])[0].open().to_grid()[2] == 1


@pytest.mark.parametrize("name", ["photo", "place"])
def test_a_type_that_nobody_knows_is_refused_where_it_is_asked_for(maria: Maria, name: str) -> None:
    test_types_that_only_mariadb_has(maria)
    book = Codebook(columns=(Categorical(name=name, levels=("a", "b"), missing="NA"),))
    with pytest.raises(DataError, match=f"column '{name}' holds .* that nobody here can read.*leave the column out"):
        us.open(maria.address("odd"), book).count([(name,)])


@pytest.fixture
def locked(maria: Maria) -> str:
    """An address that asks for a password."""
    maria.load("visits", typed_table())
    maria.run(
        f"CREATE OR REPLACE USER ann IDENTIFIED BY '{PASSWORD}'",
        "GRANT SELECT, CREATE TEMPORARY TABLES ON test.* TO ann",
    )
    return maria.address("visits", user="ann")


def test_a_password_comes_from_the_environment_and_stays_there(
    locked: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("MYSQL_PWD", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    with pytest.raises(DataError, match=r"cannot be read.*MYSQL_PWD or ~/.my.cnf"):
        us.open(locked, BOOK)
    monkeypatch.setenv("MYSQL_PWD", "wrong-" + PASSWORD)
    with pytest.raises(DataError, match="Access denied for user 'ann'") as caught:
        us.open(locked, BOOK)
    assert PASSWORD not in str(caught.value)
    monkeypatch.setenv("MYSQL_PWD", PASSWORD)
    release = us.PeGS(alpha=1.0).fit(us.open(locked, BOOK)).sample(5)
    release.save(tmp_path / "release")
    written = "".join(path.read_text(errors="replace") for path in (tmp_path / "release").iterdir())
    said = "".join(capfd.readouterr())
    assert PASSWORD not in written + said + repr(us.open(locked, BOOK)) + json.dumps(release.manifest.to_dict())
    monkeypatch.delenv("MYSQL_PWD")
    (tmp_path / ".my.cnf").write_text(f"[client]\npassword={PASSWORD}\n")
    assert len(us.open(locked, BOOK).count([("age",)])) == 1
    (tmp_path / ".my.cnf").write_text("password without a section\n")
    with pytest.raises(DataError, match="cannot be read as an option file"):
        us.open(locked, BOOK)


@pytest.mark.parametrize(
    ("address", "said"),
    [
        ("mysql://ann:hunter2@host/db?table=t", "holds a password or key"),
        ("mariadb://ann@host/db?table=t&password=hunter2", "holds a password or key"),
        ("mariadb://ann@host/db?table=t&passwd=hunter2", "holds a password or key"),
        ("mariadb://ann@host/db?table=t&pwd=hunter2", "holds a password or key"),
        ("mariadb://ann@host/db", r"names no table; add \?table="),
        ("mariadb://ann@host/db?table=a.b.c", "is not a name"),
        ("mariadb://ann@host/db?table=a%00b", "is not a name"),
        ("mariadb://ann@host:x/db?table=t", "port"),
        ("mariadb://[::1/db?table=t", "IPv6"),
        ("mariadb://ann@host/db?table=t&init_command=DROP", "'init_command'"),
        ("mariadb://ann@host/db?table=t&local_infile=1", "'local_infile'"),
        ("mariadb://ann@host/db?table=t&connect_timeout=soon", "whole number"),
        ("mariadb://ann@host/db?table=t&socket=/x", "a host and a socket"),
        ("mariadb://ann@/db?table=t&defaults_file=/nowhere/at.all", "there is no file"),
        ("mysql://ann@127.0.0.1:1/db?table=t", r"cannot be read.*Is the server running, and may it be reached"),
        ("mariadb://ann@/db?table=t&socket=/nowhere/at.all", r"cannot be read.*Is the server running"),
    ],
)
def test_bad_addresses_get_a_sentence(address: str, said: str) -> None:
    pytest.importorskip("pymysql", reason="group mariadb: PyMySQL is not installed")
    with pytest.raises(DataError, match=said) as caught:
        us.open(address, BOOK)
    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize(("version", "said"), [("8.0.36", "not MariaDB"), ("5.5.5-10.5.9-MariaDB", "10.6 or newer")])
def test_servers_on_which_nobody_tried_it_are_refused(version: str, said: str) -> None:
    with pytest.raises(DataError, match=said):
        _refuse_others(version)


def test_what_the_server_quotes_is_not_repeated() -> None:
    assert "Anna" not in ENGINE.words(Exception(1292, "Truncated incorrect DOUBLE value: 'Anna Schmidt'"))


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # the killed server leaves a socket
def test_a_count_that_loses_its_database_says_so(mariadbd: Path, tmp_path: Path) -> None:
    maria = start_maria()
    try:
        address = maria.load("visits", typed_table())
        account = us.Account.create(
            tmp_path / "a.account", dataset="visits", epsilon=1.0, delta=1e-6, neighbours=Neighbours.ADD_REMOVE
        )
        steps: list[str] = []

        def pull_the_plug(step: str, done: int, total: int) -> None:
            steps.append(step)
            if step == "counting" and steps.count("counting") == 1:
                maria.die()

        with pytest.raises(DataError, match="The database went away while it was asked; nothing was released") as lost:
            us.synthesize(address, BOOK, rows=10, method="marginals", epsilon=1.0, delta=1e-6,
                          out=tmp_path / "release", account=account.path, report=pull_the_plug)  # fmt: skip
        assert "counting" in steps
        assert "Traceback" not in str(lost.value)
        assert not (tmp_path / "release").exists()
        assert account.history() == []
        with pytest.raises(DataError, match="cannot be read"):  # and it stays a sentence while the server is down
            us.open(address, BOOK)
    finally:
        maria.stop()


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # a socket of the server killed above
def test_a_table_that_is_not_there(maria: Maria, reader: str) -> None:
    for name in ("nowhere.visits", "nowhere", "%20", "v" * 70):
        with pytest.raises(DataError, match=r"there is no table|cannot be read"):
            us.open(maria.address(name), BOOK)
    with pytest.raises(DataError, match=r"Check your user name and rights|there is no table"):
        us.open(reader.replace("table=visits", "table=mysql.user"), BOOK)
    with pytest.raises(DataError, match="cannot be read"):
        us.open(maria.address("t", database="no_such_database"), BOOK)


@pytest.mark.parametrize("number", range(len(NAMES)))
def test_names_are_quoted(maria: Maria, number: int) -> None:
    """Each name as schema, as table and, with all others, as column; and what stands in the levels."""
    ticked = lambda name: "`" + name.replace("`", "``") + "`"  # noqa: E731
    schema, name = f"s{number} {NAMES[number]}", NAMES[number]
    maria.run(
        "DROP TABLE IF EXISTS victims", "CREATE TABLE victims (password text)", "INSERT INTO victims VALUES ('a')"
    )
    columns = ", ".join(f"{ticked(column)} text" for column in NAMES)
    place = f"{ticked(schema)}.{ticked(name)}"
    with closing(maria.connect(database="test")) as connection, connection.cursor() as cursor:
        cursor.execute(f"CREATE DATABASE IF NOT EXISTS {ticked(schema)}")
        cursor.execute(f"CREATE OR REPLACE TABLE {place} ({columns})")
        rows = list(zip(*[column.to_pylist() for column in table_of(NAMES).columns], strict=True))
        for row in rows:
            cursor.execute(f"INSERT INTO {place} VALUES (" + ", ".join(map(connection.escape, row)) + ")")
    assert counted(maria.address(quote(place)), NAMES) == expected(NAMES)
    assert maria.run("SELECT count(*) FROM victims") == [(1,)]


@pytest.mark.parametrize("name", [*NAMES, "victims; DROP TABLE victims", "`victims", "a\nb", "victims\x00", "a.b`.`c"])
def test_tables_that_are_not_there_are_refused(maria: Maria, name: str) -> None:
    maria.run(
        "DROP TABLE IF EXISTS victims", "CREATE TABLE victims (password text)", "INSERT INTO victims VALUES ('a')"
    )
    with pytest.raises(UnderstudyError):
        counted(maria.address(quote(name)), ("x",))
    assert maria.run("SELECT count(*) FROM victims") == [(1,)]


def test_settings_of_the_server_do_not_matter(maria: Maria) -> None:
    """Quotes and backslashes that mean something else, another zone, another collation."""
    address = maria.load("visits", typed_table())
    kept = maria.run("SELECT @@GLOBAL.sql_mode, @@GLOBAL.time_zone, @@GLOBAL.collation_server")[0]
    maria.run(
        "SET GLOBAL sql_mode = 'ANSI_QUOTES,NO_BACKSLASH_ESCAPES,PIPES_AS_CONCAT,IGNORE_SPACE,NO_ZERO_DATE'",
        "SET GLOBAL time_zone = '-11:00'",
        "SET GLOBAL collation_server = 'latin1_swedish_ci'",
    )
    try:
        source = us.open(address, BOOK)
        codes = reference_codes(typed_table())
        for clique, found in zip(CLIQUES, opened(source.count(CLIQUES)), strict=True):
            columns = [codes[BOOK.position(name)].tolist() for name in clique]
            assert found == Counter(zip(*columns, strict=True)), clique
    finally:
        maria.run(*(f"SET GLOBAL {name} = '{value}'" for name, value in
                    zip(("sql_mode", "time_zone", "collation_server"), kept, strict=True)))  # fmt: skip


def test_linked_tables_that_change_while_they_are_encoded(maria: Maria, monkeypatch: pytest.MonkeyPatch) -> None:
    from understudy.sources.linked import LinkedSource

    for name, table in tables().items():
        maria.load(name, table)
    source = open_linked(maria.address(None), LINKED)
    staged, done = LinkedSource._staged, []

    def between(self: Any, name: str, benches: Any) -> Any:
        made = staged(self, name, benches)
        if not done:
            done.append(name)
            maria.run(f"DELETE FROM {name} LIMIT 1")
        return made

    monkeypatch.setattr(LinkedSource, "_staged", between)
    with pytest.raises(DataError, match="the table changed while it was counted"):
        source.rows(LINKED.person.name)


def test_jobs_that_need_values_say_that_none_leave(maria: Maria) -> None:
    address = maria.load("visits", typed_table())
    with pytest.raises(DataError, match="only counts leave a database"):
        draft_codebook(address)
    with pytest.raises(DataError, match="no record leaves a database"):
        read_rows(address, BOOK)
    assert check_table(address, BOOK) == []
    assert [fault.kind for fault in check_table(maria.load("texts", table_of(("x",))), book_of(("x",)))] == []
    assert LEVELS
