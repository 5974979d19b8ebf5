"""A release that is superseded or withdrawn stays what it was, and says so; further editions are added up exactly."""

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest

import understudy as us
from understudy.codebook import Categorical, Codebook, Publication
from understudy.errors import BudgetError, ParameterError, ReleaseError
from understudy.privacy.account import Account
from understudy.privacy.editions import MOST, forecast_editions, like_charge
from understudy.privacy.guarantees import Neighbours
from understudy.release.face import FACE
from understudy.release.folders import digest_of
from understudy.release.notices import NOTICE, without_notices
from understudy.release.reading import read_manifest_file

BOOK = Codebook(columns=(Categorical(name="a", levels=("x", "y")), Categorical(name="b", levels=("0", "1"))))
TABLE = pa.table({"a": ["x", "y"] * 50, "b": ["0", "0", "1", "1"] * 25})


@pytest.fixture
def account(tmp_path) -> Account:
    return Account.create(tmp_path / "d.account", dataset="d", epsilon=5.0, delta=0.0, neighbours=Neighbours.ADD_REMOVE)


@pytest.fixture
def editions(tmp_path, account) -> tuple[Path, Path]:
    for year in ("2025", "2026"):
        us.count(TABLE, BOOK, by=["a"], epsilon=1.0, account=account, out=tmp_path / year)
    return tmp_path / "2025", tmp_path / "2026"


def digests(folder: Path) -> dict[str, str]:
    return {path.name: digest_of(path) for path in folder.iterdir()}


def test_a_superseded_release_says_so_and_stays_what_it_was(editions, account):
    old, new = editions
    before, spent = digests(old), account.spent()
    notices = us.supersede(old, new, why="One year more", account=account)
    assert [notice.kind for notice in notices] == ["superseded", "supersedes"]
    names = [read_manifest_file(folder)["release"] for folder in editions]
    verdict, later = us.verify(old), us.verify(new)
    assert verdict.is_valid and later.is_valid
    assert names[1] in verdict.notices[0] and "One year more." in verdict.notices[0]
    assert names[0] in later.notices[0] and "supersedes" in later.notices[0]
    page = (old / FACE).read_text(encoding="utf-8")
    assert f"superseded on {notices[0].when[:10]} by the release {names[1]}" in page
    after = digests(old)
    assert set(after) - set(before) == {NOTICE}
    assert {name for name in before if before[name] != after[name]} == {FACE}, "all other digests stay"
    manifest = read_manifest_file(old)
    assert "sha256:" in manifest["files"][FACE] and manifest["files"][FACE] == before[FACE]
    (old / FACE).write_text(without_notices(page), encoding="utf-8")
    assert digests(old)[FACE] == before[FACE]
    assert account.spent() == spent, "the account keeps both"
    assert f"superseded by {names[1]}" in account.history()[0].notices[0]
    assert account.history()[1].notices == ()


def test_a_manifest_names_what_it_supersedes(editions, tmp_path):
    old, _ = editions
    name = read_manifest_file(old)["release"]
    book = replace(BOOK, publication=Publication(version="2026", supersedes=name))
    us.count(TABLE, book, by=["a"], epsilon=1.0, out=tmp_path / "third")
    assert read_manifest_file(tmp_path / "third")["publication"]["supersedes"] == name
    assert name in (tmp_path / "third" / FACE).read_text(encoding="utf-8")
    assert [notice.kind for notice in us.supersede(old, tmp_path / "third")] == ["superseded"]
    assert not (tmp_path / "third" / NOTICE).exists()


def test_withdrawing_gives_nothing_back(editions, account):
    old, new = editions
    spent = account.spent()
    us.supersede(old, new)
    notice = us.withdraw(old, why="A wrong column.", account=account)
    assert "nothing is given back" in notice.sentence and "A wrong column." in notice.sentence
    verdict = us.verify(old)
    assert verdict.is_valid and len(verdict.notices) == 2 and "withdrawn" in verdict.notices[1]
    assert account.spent() == spent
    page = (old / FACE).read_text(encoding="utf-8")
    assert page.count("<!-- notice -->") == 1 and "A wrong column" in page and "superseded" in page


def test_a_notice_leaves_passport_and_signature_as_they_are(editions, tmp_path):
    old, new = editions
    for folder in editions:
        us.passport(folder)
    us.sign(old, new_key=tmp_path / "k")
    us.supersede(old, new)
    us.withdraw(old, why="A wrong column")
    assert us.verify(old, key=tmp_path / "k.pub").problems == us.verify(new).problems == ()


def test_what_cannot_be_noted_is_refused_and_nothing_is_written(editions, tmp_path, account):
    old, new = editions
    other = Account.create(
        tmp_path / "o.account", dataset="o", epsilon=1.0, delta=0.0, neighbours=Neighbours.ADD_REMOVE
    )
    before = digests(old)
    with pytest.raises(BudgetError, match="has not paid for the release"):
        us.withdraw(old, why="x", account=other)
    with pytest.raises(ParameterError, match="`why` is empty"):
        us.withdraw(old, why=" ")
    with pytest.raises(ParameterError, match="a sentence"):
        us.withdraw(old, why="two\nlines")
    with pytest.raises(ParameterError, match="which `old` is too"):
        us.supersede(old, old)
    with pytest.raises(ReleaseError, match="there is no release folder"):
        us.supersede(old, tmp_path / "nowhere")
    assert digests(old) == before and not (new / NOTICE).exists()
    (new / "counts.parquet").write_bytes(b"")
    with pytest.raises(ReleaseError, match="does not verify"):
        us.supersede(old, new)
    assert digests(old) == before


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda facts: facts["notices"][0].update(why="All is well"), "other notices than the folder"),
        (lambda facts: facts["notices"].clear(), "is not of format 1"),
        (lambda facts: facts.update(manifest="sha256:0"), "is about another release"),
        (lambda facts: facts.pop("notices"), "cannot be read"),
        (lambda facts: facts["notices"][0].update(kind="praised"), "is not of format 1"),
    ],
)
def test_a_notice_that_was_edited_does_not_verify(editions, change, says):
    old, _ = editions
    us.withdraw(old, why="A wrong column")
    facts = json.loads((old / NOTICE).read_text(encoding="utf-8"))
    change(facts)
    (old / NOTICE).write_text(json.dumps(facts), encoding="utf-8")
    assert any(says in problem for problem in us.verify(old).problems)


def test_a_notice_that_was_removed_does_not_verify(editions):
    old, _ = editions
    us.withdraw(old, why="A wrong column")
    (old / NOTICE).unlink()
    assert us.verify(old).problems == ("index.html has other notices than the folder",)


def test_a_notice_of_another_release_does_not_verify(editions):
    old, new = editions
    us.withdraw(old, why="A wrong column")
    shutil.copy(old / NOTICE, new / NOTICE)
    assert any("is about another release" in problem for problem in us.verify(new).problems)


# How long the cap lasts


@pytest.mark.parametrize("composition", ["basic", "renyi"])
@pytest.mark.parametrize("cap", [2.0, 3.3])
def test_the_forecast_is_what_the_account_then_does(tmp_path, composition, cap):
    terms = {"dataset": "d", "epsilon": cap, "delta": 1e-5, "neighbours": Neighbours.ADD_REMOVE}
    account = Account.create(tmp_path / "d.account", composition=composition, **terms)
    quote = us.Marginals(epsilon=0.5, delta=1e-6).quote(BOOK, 10)

    def pay():
        account.reserve(quote.ledger, label="edition", delta=quote.delta).commit("r")

    pay()
    outlook = forecast_editions(account, like_charge(account, None), per_year=2.0)
    assert outlook.editions >= 2 and outlook.years == outlook.editions / 2
    for total in outlook.totals:
        pay()
        assert account.spent() == total
    for _ in range(outlook.editions - len(outlook.totals)):
        pay()
    assert outlook.refused is not None and not account.keeps_cap(outlook.refused)
    with pytest.raises(BudgetError, match="above its cap"):
        pay()
    assert forecast_editions(account, like_charge(account, 1)).editions == 0


def test_a_forecast_like_a_folder_and_one_without_end(editions, tmp_path, account):
    outlook = us.forecast_editions(account, editions[0])
    assert outlook.editions == 3 and "3 more like it fit: at 1 a year the cap lasts 3 years." in outlook.lines()
    assert us.forecast_editions(account.path, "2").to_dict()["editions"] == 3
    wide = Account.create(tmp_path / "w.account", dataset="w", epsilon=1e6, delta=0.0, neighbours=Neighbours.ADD_REMOVE)
    endless = us.forecast_editions(wide, editions[0])
    assert endless.editions == MOST and endless.refused is None and "at least" in endless.lines()[2]
    with pytest.raises(BudgetError, match="no charge yet"):
        us.forecast_editions(wide)
    with pytest.raises(ParameterError, match="per_year"):
        us.forecast_editions(account, per_year=0)
    other = Account.create(tmp_path / "p.account", dataset="p", epsilon=1.0, delta=0.0, neighbours=Neighbours.REPLACE)
    with pytest.raises(BudgetError, match="priced for add-remove"):
        us.forecast_editions(other, editions[0])
