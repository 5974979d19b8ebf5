"""Files that understudy 0.1 wrote before the spine: they verify, are known, and promise no more than is true."""

import shutil
from pathlib import Path

import pytest

import understudy as us
from understudy.privacy.account import Account
from understudy.privacy.provenance import InputRole, Made
from understudy.sources.inputs import find_provenance
from understudy.synth.model_file import load_model

OLD = Path(__file__).parent / "old_releases"
TABLES = {
    "synthetic": ("synthetic.parquet", Made.SYNTHETIC),
    "counts": ("counts.parquet", Made.COUNTS),
    "recoded": ("anonymized.parquet", Made.ANONYMIZED),
    "seeded-noise": ("anonymized.parquet", Made.ANONYMIZED),
    "commutes": ("synthetic.parquet", Made.SYNTHETIC),
}


@pytest.mark.parametrize("name", TABLES)
def test_a_release_of_the_first_format_verifies(name, tmp_path):
    verdict = us.verify(shutil.copytree(OLD / name, tmp_path / name))
    assert verdict.is_valid, verdict.problems
    assert any("format 1" in said for said in verdict.passed)


@pytest.mark.parametrize(("change", "by"), [("(epsilon = 1)", "(epsilon = 0.1)"), ('"epsilon": 1.0', '"epsilon": 0.5')])
def test_and_does_not_when_its_promise_was_edited(change, by, tmp_path):
    folder = shutil.copytree(OLD / "synthetic", tmp_path / "r")
    text = (folder / "manifest.json").read_text()
    assert change in text
    (folder / "manifest.json").write_text(text.replace(change, by, 1))
    assert not us.verify(folder).is_valid


@pytest.mark.parametrize("name", TABLES)
def test_what_it_is_is_known_from_its_manifest(name):
    table, made = TABLES[name]
    found = find_provenance(str(OLD / name / table))
    assert found.made is made
    assert found.record_wise == (name == "recoded")
    assert found.seeded == (name == "seeded-noise")


def test_a_csv_is_known_by_its_manifest_and_a_lone_copy_by_its_mark(tmp_path):
    assert find_provenance(str(OLD / "synthetic" / "synthetic.csv")).made is Made.SYNTHETIC
    alone = shutil.copy(OLD / "recoded" / "anonymized.parquet", tmp_path / "alone.parquet")
    # the first mark does not say whether a seed was used, so that no price may rest on it
    assert not find_provenance(str(alone)).record_wise


def test_a_formal_one_may_be_public_knowledge_and_its_price_comes_along():
    bought = find_provenance(str(OLD / "synthetic" / "synthetic.parquet")).as_public(InputRole.SEEDS)
    assert bought is not None and bought.ledger.total().epsilon == 1.0


def test_a_model_of_the_first_format_still_draws():
    assert load_model(OLD / "laplace.model").sample(7).table.num_rows == 7


def test_an_account_of_version_1_goes_on(tmp_path):
    account = Account.open(shutil.copy(OLD / "account-of-version-1", tmp_path / "a.account"))
    assert account.spent().epsilon == 1.0 and [one.state for one in account.history()] == ["committed"]
    assert account.remaining() == 4.0
