"""Files of version 0.1.0 are read or brought up to date; files of a newer version are refused in words."""

import base64
import json
import shutil
import sqlite3
import zipfile
from contextlib import closing
from fractions import Fraction
from pathlib import Path

import pytest

import understudy as us
from understudy.codebook import Codebook, LinkedCodebook
from understudy.errors import UnderstudyError
from understudy.evaluate.rumap.journal import Journal
from understudy.histories.model_file import load_histories
from understudy.privacy.account import Account
from understudy.release.notices import read_notices
from understudy.release.reading import read_manifest_file
from understudy.release.signature import check_signature, read_public_key
from understudy.service import Budgets, Store
from understudy.service.amounts import Amount
from understudy.service.keys import KeyBook
from understudy.service.projects import Projects
from understudy.service.secret import ENVIRONMENT
from understudy.service.served import by_name
from understudy.synth.choices import Choices
from understudy.synth.model_file import load_model
from understudy.trees.model import load_model as load_score

HERE = Path(__file__).parent
KEY = bytes(range(32))
DRAWN = HERE / "drawn_0_2_0"
RELEASES = ("laplace", "marginals", "counts", "anonymized", "linked", "flows")


@pytest.fixture
def old(tmp_path, monkeypatch):
    monkeypatch.setenv(ENVIRONMENT, base64.b64encode(KEY).decode())
    return shutil.copytree(HERE / "version_0_1_0", tmp_path / "old")


@pytest.mark.parametrize("name", RELEASES)
def test_a_release_verifies(old, name):
    verdict = us.verify(old / name)
    assert verdict.is_valid, verdict.problems


@pytest.mark.parametrize("name", ["pegs", "pegs-rs", "pmi"])
def test_a_release_whose_alpha_was_found_for_its_epsilon_verifies(name):
    verdict = us.verify(DRAWN / name)
    assert verdict.is_valid, verdict.problems


@pytest.mark.parametrize("asked", json.loads((DRAWN / "facts.json").read_text()), ids=lambda asked: asked["method"])
def test_the_alpha_of_an_epsilon_is_the_one_that_it_was(asked):
    """Digit by digit: an account knows by its ledger a charge that was interrupted before the upgrade."""
    options, book = asked["options"], Codebook.load(DRAWN / "pegs" / "codebook.toml")
    recipe = Choices(method=asked["method"], options=options).recipe(book, options["rows"])
    assert recipe.alpha_used(book) == Fraction(asked["alpha"])


@pytest.mark.parametrize(("factor", "holds"), [(1 + 1e-9, True), (1 + 1e-4, False), (0.5, False)])
def test_only_the_last_digits_of_the_figures_of_a_paper_may_differ(tmp_path, factor, holds):
    """Another machine computes other last digits, of the price too, which is held to the same tolerance."""
    folder = shutil.copytree(DRAWN / "pmi", tmp_path / "pmi")
    text = (folder / "manifest.json").read_text(encoding="utf-8")
    paper = json.loads(text)["paper"]
    for figure in (paper["epsilon_per_record"], paper["alpha"], paper["weight_on_the_model"]["age"]):
        other = text.replace(json.dumps(figure), json.dumps(figure * factor), 1)
        assert other != text
        (folder / "manifest.json").write_text(other, encoding="utf-8")
        said = [problem for problem in us.verify(folder).problems if "the paper's claim" in problem]
        assert (not said) == holds, figure


def test_flows_by_levels_are_read(old):
    from understudy.commute.released import read_release

    read = read_release(old / "flows")
    assert not read.problems and read.places is not None and len(read.origins) == 12


def test_signature_and_notice_hold(old):
    signed = check_signature(old / "laplace", read_public_key(old / "signer.pub"))
    assert signed is not None and not signed.fault
    assert [notice.kind for notice in read_notices(old / "laplace")] == ["withdrawn"]


def test_models_draw_at_no_further_price(old):
    assert load_model(old / "laplace.us").sample(7).table.num_rows == 7
    release = load_histories(old / "linked.us")
    assert release.ledger.total(delta=release.delta).is_formal
    drawn = us.draw(old / "linked.us", 5, out=old / "drawn")
    assert drawn.manifest.tables["patients"] == 5 and us.verify(old / "drawn").is_valid


def test_scores_answer(old):
    assert us.verify(old / "tree.us").is_valid
    for name in ("score.us", "tree.us"):
        assert load_score(old / name, KEY).codebook.names


def test_an_account_goes_on_with_every_charge(old):
    facts = json.loads((old / "facts.json").read_text())
    account = Account.open(old / "account-of-stays")
    assert account.spent().to_dict() == facts["spent"]
    assert len(account.history()) == facts["charges"] and len(account.looks()) == 1
    before = account.remaining()
    us.synthesize(_rows(), old / "book.toml", rows=5, method="laplace", epsilon=1.0, out=old / "more", account=account)
    assert account.remaining() == pytest.approx(before - 1.0)
    assert us.verify(old / "more").is_valid


def _rows():
    import pyarrow as pa

    return pa.table({"sex": ["F", "M"] * 50, "age": list(range(100)), "ward": ["A", "B"] * 50})


def test_a_map_goes_on(old):
    assert Journal(old / "journal", {"rows": 5}).runs == {}


@pytest.mark.parametrize("made", ["version_0_1_0", "first_service"])
def test_a_service_database_keeps_keys_budgets_and_spending(made, tmp_path, monkeypatch):
    monkeypatch.setenv(ENVIRONMENT, base64.b64encode(KEY).decode())
    old = shutil.copytree(HERE / made, tmp_path / "old")
    facts = json.loads((old / "facts.json").read_text())
    served = by_name([load_score(old / "score.us", KEY)])["septic-shock"]
    assert served.model_id == facts["model_id"], "the budget of a model must not begin anew"
    for _ in range(2):  # brought up once, and then as it is
        with Store.open(f"sqlite:///{old}/service.db") as store:
            keys, budgets = KeyBook(store), Budgets(store)
            known = keys.check(facts["key"])
            assert known is not None and known.key_id == facts["key_id"]
            of_key, of_model = budgets.balances(facts["key_id"])[facts["model_id"]]
            assert of_key.spent == of_model.spent == 1_500_000_000 and not budgets.faults()
            assert (of_key.cap, of_model.cap >= 5_000_000_000) == (2_000_000_000, True)
            budgets.set_cap(facts["model_id"], 6.0)
    with Store.open(f"sqlite:///{old}/service.db") as store:
        Budgets(store).charge(facts["key_id"], facts["model_id"], [b"4" * 32])
        with pytest.raises(UnderstudyError):  # 2.0 are granted, and all of them spent now
            Budgets(store).charge(facts["key_id"], facts["model_id"], [b"5" * 32])
        projects = Projects(store)
        projects.set_data_cap("stays", Amount.cap(1.0, 1e-9), account="a" * 32)
        projects.create("readmission", "stays", Amount.cap(1.0))
        projects.join("readmission", facts["key_id"], Amount.cap(1.0))
        assert projects.faults() == [] and len(projects.ledger("stays")) == 3 and len(store.identity) == 32
    with closing(sqlite3.connect(old / "service.db")) as connection:
        (number,) = connection.execute("SELECT text FROM understudy_meta WHERE name = 'schema'").fetchone()
    assert number == "2", "version 0.1.0 reads 1 only: it would answer beside the caps of data sets"


# Newer files


def edited(path: Path, old: str, new: str) -> Path:
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new, 1), encoding="utf-8")
    return path


def in_archive(path: Path, old: str, new: str) -> Path:
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    members["model.json"] = members["model.json"].replace(old.encode(), new.encode(), 1)
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return path


def pragma(path: Path, command: str) -> Path:
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(command)
    return path


LINKED = 'format = 99\n[tables.a]\nkey = "id"\n'
NEWER = {
    "codebook": lambda old: Codebook.load(edited(old / "book.toml", "format = 1", "format = 99")),
    "linked codebook": lambda old: LinkedCodebook.load(edited(old / "book.toml", "format = 1", LINKED)),
    "manifest": lambda old: read_manifest_file(
        edited(old / "laplace/manifest.json", '"format": 2', '"format": 99').parent
    ),
    "verify": lambda old: us.verify(edited(old / "laplace/manifest.json", '"format": 2', '"format": 99').parent),
    "notice": lambda old: read_notices(edited(old / "laplace/notice.json", '"format": 1', '"format": 99').parent),
    "model": lambda old: load_model(in_archive(old / "laplace.us", '"format": 1', '"format": 99')),
    "model of histories": lambda old: load_histories(in_archive(old / "linked.us", '"format": 1', '"format": 99')),
    "score": lambda old: load_score(edited(old / "tree.us", '-model": 2', '-model": 99'), KEY),
    "account": lambda old: Account.open(pragma(old / "account-of-stays", "PRAGMA user_version = 99")),
    "service database": lambda old: Store.open(
        "sqlite:///" + str(pragma(old / "service.db", "UPDATE understudy_meta SET text = '99' WHERE name = 'schema'"))
    ),
    "map": lambda old: Journal(edited(old / "journal/settings.json", "{", '{"format": 99,').parent, {"rows": 5}),
}  # fmt: skip


@pytest.mark.parametrize("kind", NEWER)
def test_a_newer_file_is_refused_in_words(kind, old):
    with pytest.raises(UnderstudyError) as refused:
        NEWER[kind](old)
    words = str(refused.value)
    assert "version" in words and str(old) in words.replace("`", ""), words


def test_newer_passports_and_signatures_are_named_by_verify(old):
    edited(old / "laplace/passport.json", '"passport": 1', '"passport": 99')
    assert any("passport.json is of format 99" in problem for problem in us.verify(old / "laplace").problems)
    edited(old / "laplace/signature.json", "{", '{"format": 99,')
    signed = check_signature(old / "laplace", None)
    assert signed is not None and "is of format 99" in signed.fault


def test_a_newer_line_in_an_account_is_refused(old):
    """The chain of digests is whole, and one line says something that this version does not know."""
    import hashlib

    path = old / "account-of-stays"
    with closing(sqlite3.connect(path)) as connection, connection:
        number, digest = connection.execute("SELECT number, digest FROM lines ORDER BY number DESC").fetchone()
        body = '{"when": "2030-01-01"}'
        text = "\n".join([digest, str(number + 1), "lent", body])
        fresh = hashlib.sha256(text.encode()).hexdigest()
        connection.execute("INSERT INTO lines VALUES (?, 'lent', ?, ?)", (number + 1, body, fresh))
    with pytest.raises(UnderstudyError, match="'lent'"):
        Account.open(path)


def test_a_newer_database_is_left_as_it_is(old):
    path = pragma(old / "service.db", "UPDATE understudy_meta SET text = '99' WHERE name = 'schema'")
    pragma(path, "DROP TABLE understudy_cap_changes")
    with pytest.raises(UnderstudyError, match="version 99"):
        Store.open(f"sqlite:///{path}")
    with closing(sqlite3.connect(path)) as connection:
        names = {name for (name,) in connection.execute("SELECT name FROM sqlite_master")}
    assert "understudy_cap_changes" not in names


# The studio


def test_folders_of_the_studio_say_their_format_and_newer_ones_are_refused(tmp_path):
    from understudy.studio.workspace import Root, new_dataset

    own = new_dataset(Root.at(tmp_path), "stays", title="Stays", data="rows.csv")
    declared = own.path("dataset.toml")
    assert "format = 1" in declared.read_text(encoding="utf-8")
    declared.write_text('title = "Stays"\n', encoding="utf-8")
    assert Root.at(tmp_path).dataset("stays").title == "Stays", "the first ones did not say it"
    declared.write_text('format = 99\ntitle = "Stays"\n', encoding="utf-8")
    with pytest.raises(UnderstudyError, match=r"'stays' is of format 99, not 1; use the version that wrote it"):
        _ = Root.at(tmp_path).dataset("stays").declared


def test_approvals_of_the_studio_say_their_format_and_newer_ones_are_refused(tmp_path):
    from understudy.studio.approvals import approvals_of, approve
    from understudy.studio.released import find_release
    from understudy.studio.workspace import Root, new_dataset

    own = new_dataset(Root.at(tmp_path), "stays", title="Stays", data="rows.csv")
    shutil.copytree(HERE / "version_0_1_0" / "laplace", own.path("releases", "r1"))
    release = find_release(own, "r1")
    approve(release, "A. Meyer")
    approvals = own.path("approvals.jsonl")
    line = json.loads(approvals.read_text(encoding="utf-8"))
    assert line.pop("format") == 2 and [one.person for one in approvals_of(release)] == ["A. Meyer"]
    for earlier in (line, {**line, "format": 1}):
        approvals.write_text(json.dumps(earlier) + "\n", encoding="utf-8")
        assert approvals_of(release) == [], "the first ones spoke for the manifest alone"
    approvals.write_text(json.dumps({**line, "format": 99}) + "\n", encoding="utf-8")
    with pytest.raises(UnderstudyError, match="is of format 99"):
        approvals_of(release)
