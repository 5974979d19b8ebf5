"""What is kept, for how long, and what a thief of the database would hold."""

import os
import sqlite3
import stat
from concurrent.futures import ThreadPoolExecutor

import pytest
from sqlalchemy import insert, select, text, update

from understudy.errors import DataError, ParameterError, UnderstudyError
from understudy.service import Budgets, KeyBook, Store
from understudy.service import keys as keys_module
from understudy.service.amounts import Amount, cap_of, epsilon_of, price_of
from understudy.service.projects import Projects
from understudy.service.secret import ENVIRONMENT, ServiceSecret
from understudy.service.tables import meta


def test_amounts_add_up_as_written():
    assert price_of(0.1) * 10 == cap_of(1.0) == 10**9
    assert price_of(1 / 3) == 333_333_334, "a price is rounded up"
    assert cap_of(1 / 3) == 333_333_333, "and a cap down"
    assert epsilon_of(cap_of(2.5)) == 2.5
    for wrong in (0, -1, float("nan"), float("inf"), 1e7, 1e-12):
        with pytest.raises(ParameterError):
            cap_of(wrong)


def test_the_store_is_durable(store):
    with store.reading() as connection:
        if store.is_sqlite:
            assert connection.execute(text("PRAGMA journal_mode")).scalar() == "wal"
            assert connection.execute(text("PRAGMA synchronous")).scalar() == 2, "FULL: every commit is on the disk"
            assert connection.execute(text("PRAGMA foreign_keys")).scalar() == 1
        else:
            assert connection.execute(text("SHOW synchronous_commit")).scalar() == "on"
    if not store.is_sqlite:
        with store.writing() as connection:  # a condition in an UPDATE must see what a rival has just spent
            assert connection.execute(text("SHOW transaction_isolation")).scalar() == "read committed"


def test_reads_see_one_state(store):
    """Else a charge between two reads would look as if somebody had altered the books."""
    with store.writing() as connection:
        connection.execute(insert(meta), {"name": "state", "text": "before"})
    with store.reading() as connection:
        query = select(meta.c.text).where(meta.c.name == "state")
        assert connection.execute(query).scalar_one() == "before"
        with store.writing() as rival:
            rival.execute(update(meta).where(meta.c.name == "state").values(text="after"))
        assert connection.execute(query).scalar_one() == "before"
    with store.reading() as connection:
        assert connection.execute(query).scalar_one() == "after"


def test_a_role_that_does_not_wait_for_the_disk_is_overruled(postgres_url, tmp_path):
    hasty = f"{postgres_url}%20-csynchronous_commit%3Doff"
    with Store.open(hasty, secret_file=tmp_path / "secret") as store, store.reading() as connection:
        assert connection.execute(text("SHOW synchronous_commit")).scalar() == "on"
        assert (
            connection.execute(text("SELECT reset_val FROM pg_settings WHERE name = 'synchronous_commit'")).scalar()
            == "off"
        )


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("nonsense", "cannot be read as a URL"),
        ("mysql://u@h/d", "'mysql'"),
        ("sqlite://", "forgets what was spent"),
        ("sqlite:///:memory:", "forgets what was spent"),
        ("sqlite:////no/such/folder/at/all.db", "cannot be used"),
    ],
)
def test_databases_that_are_refused(url, words):
    with pytest.raises((ParameterError, DataError), match=words):
        Store.open(url)


def test_a_password_is_not_in_the_error():
    with pytest.raises(DataError) as caught:
        Store.open("postgresql://someone:hunter2@127.0.0.1:1/none", secret_file=None)
    assert "hunter2" not in str(caught.value) and caught.value.__cause__ is None


def test_another_programs_file_is_left_alone(tmp_path):
    path = tmp_path / "theirs.db"
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE invoices (number INTEGER)")
    connection.close()
    before = path.read_bytes()
    with pytest.raises(DataError, match="invoices"):
        Store.open(f"sqlite:///{path}")
    assert not (tmp_path / "theirs.db.secret").exists()
    with pytest.raises(DataError, match="cannot be used"):
        (tmp_path / "text.db").write_text("this is no database, " * 100)
        Store.open(f"sqlite:///{tmp_path / 'text.db'}")
    assert path.read_bytes()[24:] == before[24:] or path.exists()


def test_many_servers_may_start_at_once_on_an_empty_database(database, tmp_path):
    """All make the tables and the secret; none trips over another."""
    with ThreadPoolExecutor(6) as pool:
        stores = list(pool.map(lambda _: Store.open(database, secret_file=tmp_path / "secret"), range(6)))
    assert len({store.secret.mark for store in stores}) == 1
    for store in stores:
        store.check()
        store.close()


def test_another_version_or_secret_is_refused(database, tmp_path):
    first = Store.open(database, secret_file=tmp_path / "a")
    ServiceSecret.find(tmp_path / "b", may_create=True)
    with pytest.raises(DataError, match="another service secret"):
        Store.open(database, secret_file=tmp_path / "b")
    with pytest.raises(ParameterError, match="no secret file"):
        Store.open(database, secret_file=tmp_path / "gone")
    with first.writing() as connection:
        connection.execute(text("UPDATE understudy_meta SET text = '99' WHERE name = 'schema'"))
    with pytest.raises(DataError, match="version 99"):
        first.check()
    first.close()


def test_the_secret_file_is_for_its_owner_only(tmp_path, monkeypatch):
    path = tmp_path / "secret"
    secret = ServiceSecret.find(path, may_create=True)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert list(tmp_path.iterdir()) == [path], "no half-written file is left"
    assert ServiceSecret.find(path, may_create=False).mark == secret.mark
    assert "withheld" in repr(secret) and path.read_text().strip() not in repr(secret)
    with pytest.raises(TypeError):
        secret.__reduce__()
    path.chmod(0o644)
    with pytest.raises(ParameterError, match="chmod 600"):
        ServiceSecret.find(path, may_create=False)
    monkeypatch.setenv(ENVIRONMENT, "c2hvcnQ=")
    with pytest.raises(ParameterError, match="32 bytes"):
        ServiceSecret.find(path, may_create=False)


def test_marks_of_different_purposes_and_parts_differ():
    secret = ServiceSecret(os.urandom(32))
    marks = [secret.mac(*words) for words in (("a", b"bc"), ("ab", b"c"), ("a", b"b", b"c"), ("a", b"", b"bc"))]
    assert len(set(marks)) == 4


def test_a_key_is_shown_once_and_kept_as_a_mark(store, tmp_path):
    book = KeyBook(store)
    made = book.create(label="triage", scopes=["score"])
    secret_half = made.text.split("_", 2)[2]
    assert len(secret_half) == 43 and made.text not in repr(made)
    assert book.check(made.text) == made.key == book.recall(made.text)
    with store.reading() as connection:
        row = connection.execute(text("SELECT * FROM understudy_api_keys")).one()
    assert secret_half not in repr(row)
    assert bytes(row.keyed_hash) == store.secret.mac("api-key", made.text.encode())
    if store.is_sqlite:
        modes = {stat.S_IMODE(path.stat().st_mode) for path in tmp_path.iterdir()}
        assert modes == {0o600}, "database, log and secret are for their owner only"
        kept = b"".join(path.read_bytes() for path in tmp_path.iterdir() if "service.db" in path.name)
        assert secret_half.encode() not in kept


@pytest.mark.parametrize(
    "change",
    [
        lambda text: text[:-1] + ("A" if text[-1] != "A" else "B"),
        lambda text: text + "A",
        lambda text: text.replace("us_", "us-"),
        lambda text: "us_" + "0" * 16 + text[19:],
        lambda text: text.upper(),
        lambda text: "",
        lambda text: "us_" + "'" * 16 + "_" + "x" * 43,
        lambda text: text.replace("_", "_\x00", 1),
    ],
)
def test_nearly_a_key_is_no_key(lite, change):
    book = KeyBook(lite)
    made = book.create(label="triage", scopes=["score"])
    wrong = change(made.text)
    assert book.check(wrong) is None and book.recall(wrong) is None
    book.check(made.text)
    assert book.recall(wrong) is None, "not even while the right one is remembered"


def test_unknown_and_wrong_keys_take_the_same_steps(lite, monkeypatch):
    book = KeyBook(lite)
    made = book.create(label="triage", scopes=["score"])
    compared = []
    real = keys_module.hmac.compare_digest
    monkeypatch.setattr(
        keys_module.hmac, "compare_digest", lambda a, b: compared.append((len(a), len(b))) or real(a, b)
    )
    book.check("us_" + "0" * 16 + made.text[19:])
    book.check(made.text[:-1] + "_")
    assert compared == [(32, 32), (32, 32)]


def test_revocation(store):
    book, other = KeyBook(store), KeyBook(store)
    made = book.create(label="triage", scopes=["score"])
    assert other.check(made.text) is not None
    assert book.revoke(made.key.key_id).revoked is not None
    assert book.check(made.text) is None and book.recall(made.text) is None
    assert other.check(made.text) is None, "another server sees it in the store"
    assert book.revoke(made.key.key_id).revoked == book.find(made.key.key_id).revoked, "once is enough"
    assert [key.key_id for key in book.all()] == [made.key.key_id]
    with pytest.raises(ParameterError, match="no key"):
        book.revoke("nobody")


def test_a_remembered_key_is_forgotten_within_a_second(lite, monkeypatch):
    book = KeyBook(lite)
    made = book.create(label="triage", scopes=["score"])
    now = 1000.0
    monkeypatch.setattr(keys_module.time, "monotonic", lambda: now)
    book.check(made.text)
    now += 0.99
    assert book.recall(made.text) is not None
    now += 0.02
    assert book.recall(made.text) is None


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"label": "", "scopes": ["score"]}, "label"),
        ({"label": "a\nb", "scopes": ["score"]}, "printable"),
        ({"label": "x" * 121, "scopes": ["score"]}, "120"),
        ({"label": "x", "scopes": []}, "at least one scope"),
        ({"label": "x", "scopes": ["root"]}, "'root'"),
        ({"label": "x", "scopes": ["score:../etc"]}, "score:MODEL"),
        ({"label": "x", "scopes": ["score"], "rate": 0}, "rate"),
        ({"label": "x", "scopes": ["score"], "rate": True}, "rate"),
    ],
)
def test_keys_that_are_not_made(lite, options, words):
    with pytest.raises(ParameterError, match=words):
        KeyBook(lite).create(**options)
    assert KeyBook(lite).all() == []


def test_a_secret_file_may_be_named_by_the_environment(tmp_path, monkeypatch):
    """As a container does: the argument wins over it, and it over the file beside the database."""
    monkeypatch.delenv("UNDERSTUDY_SERVICE_SECRET", raising=False)
    named = ServiceSecret.find(tmp_path / "named", may_create=True).mark
    given = ServiceSecret.find(tmp_path / "given", may_create=True).mark
    beside = ServiceSecret.find(tmp_path / "beside", may_create=True).mark
    assert ServiceSecret.find(None, beside=tmp_path / "beside", may_create=False).mark == beside
    monkeypatch.setenv("UNDERSTUDY_SERVICE_SECRET_FILE", str(tmp_path / "named"))
    assert ServiceSecret.find(None, beside=tmp_path / "beside", may_create=False).mark == named
    assert ServiceSecret.find(tmp_path / "given", beside=None, may_create=False).mark == given
    monkeypatch.setenv("UNDERSTUDY_SERVICE_SECRET_FILE", str(tmp_path / "nowhere"))
    with pytest.raises(ParameterError, match="nowhere"):
        ServiceSecret.find(None, may_create=False)


def test_a_postgres_database_of_the_first_version_is_brought_up(postgres_url, tmp_path):
    """Its table of changed caps lacked two columns, and projects had no tables; what was granted and spent stays."""
    with Store.open(postgres_url, secret_file=tmp_path / "secret") as store:
        book, till = KeyBook(store), Budgets(store)
        key = book.create(label="k", scopes=["score"]).key.key_id
        till.register("m", name="m", price=0.5)
        till.set_cap("m", 2.0)
        till.grant(key, "m", 1.0)
        till.charge(key, "m", [b"1" * 32])
        with store.writing() as connection:
            for column in ("dataset", "delta"):
                connection.execute(text(f"ALTER TABLE understudy_cap_changes DROP COLUMN {column}"))
            for name in ("payments", "questions", "members", "projects", "data_sets"):
                connection.execute(text(f"DROP TABLE understudy_{name}"))
    for _ in range(2):  # brought up once, and then as it is
        with Store.open(postgres_url, secret_file=tmp_path / "secret") as store:
            of_key, of_model = Budgets(store).balances(key)["m"]
            assert of_key.spent == of_model.spent == 500_000_000 and not Budgets(store).faults()
            Budgets(store).set_cap("m", 3.0)
    with Store.open(postgres_url, secret_file=tmp_path / "secret") as store:
        projects = Projects(store)
        projects.set_data_cap("stays", Amount.cap(1.0, 1e-9), account="a" * 32)
        assert projects.faults() == [] and len(projects.ledger("stays")) == 1
        with store.writing() as connection:
            connection.execute(text("UPDATE understudy_meta SET text = '99' WHERE name = 'schema'"))
    with pytest.raises(UnderstudyError, match="version 99"):
        Store.open(postgres_url, secret_file=tmp_path / "secret")
