"""One epsilon pays for everything; the split follows public rules, is shown, and can be changed."""

import json
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest

import understudy as us
from understudy.codebook import Categorical, Codebook, Coded, Integer, Pack, PersonUnit, Text
from understudy.codebook.columns import Role
from understudy.errors import BudgetError, ParameterError
from understudy.synth.choices import load_recipe
from understudy.synth.paid_draft import PaidPlan
from understudy.synth.people import of_people

PACK = Pack(name="tiny", text="code,group\n" + "".join(f"c{n},g{n % 5}\n" for n in range(60)))
AGE = Integer(name="age", edges=tuple(map(Fraction, (0, 20, 60, 100))), shape="measured", pieces=4)
BOOK = Codebook(
    columns=(
        Text(name="id", role=Role.IDENTIFIER),
        Categorical(name="sex", levels=("F", "M")),
        AGE,
        Coded(name="code", pack=PACK, missing="NA"),
        Coded(name="other_code", pack=PACK, missing="NA"),
    )
)
PEOPLE = replace(BOOK, unit=PersonUnit(id="id", cap=2, pseudonyms=True, records_per_person="counted"))


def visits(rows: int = 3000) -> pa.Table:
    rng = np.random.default_rng(3)
    return pa.table(
        {
            "id": [f"p{k // 2}" for k in range(rows)],
            "sex": rng.choice(["F", "M"], rows),
            "age": rng.integers(0, 100, rows),
            "code": [f"c{n}" for n in np.minimum(rng.geometric(0.15, rows), 59)],
            "other_code": [f"c{n}" for n in np.minimum(rng.geometric(0.15, rows), 59)],
        }
    )


METHODS = {
    "marginals": {"delta": 1e-6},
    "laplace": {},
    "privbayes": {"public_rows": 3000},
    "sbhg-gauss": {"delta": 1e-6, "parents": "declared"},
}


@pytest.mark.parametrize("book", [BOOK, PEOPLE], ids=["records", "people"])
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("epsilon", [0.2, 1.0, 5.0])
def test_all_parts_together_stay_within_the_one_epsilon(method, epsilon, book):
    quote = us.quote(book, 100, method, epsilon=epsilon, **METHODS[method])
    assert quote.total.epsilon <= epsilon and quote.total.delta <= METHODS[method].get("delta", 0.0)
    stages = {entry.stage for entry in quote.ledger}
    assert {"details"} <= stages and ("people" in stages) == (book is PEOPLE)
    assert quote.total.epsilon > 0.98 * epsilon, "what was asked for is used"
    assert "pays for all of it: model" in quote.shared and quote.to_dict()["shared"] == quote.shared


def test_shares_can_be_named_and_epsilons_of_their_own_are_paid_beside():
    price = {"epsilon": 1.0, "delta": 1e-6}
    ruled, more = (of_people(us.Marginals(**price, split=split), BOOK) for split in (None, {"details": 0.7}))
    assert more.detail_epsilon > ruled.detail_epsilon and more.epsilon < ruled.epsilon
    beside = us.Marginals(**price, detail_epsilon=0.5, detail_delta=1e-7)
    assert of_people(beside, BOOK) is beside and beside.quote(BOOK, 10).shared == ""
    entries = [entry.guarantee.epsilon for entry in beside.quote(BOOK, 10).ledger]
    assert entries[0] == pytest.approx(1.0) and sum(entries[1:]) == pytest.approx(0.5)
    certified = us.Marginals(**price, certify=("sex x age within 0.2",)).quote(BOOK, 10)
    assert certified.total.epsilon <= 1.0 and "certificate" in certified.shared


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"split": {"details": 0.6, "people": 0.5}}, "adds up to 1.1"),
        ({"split": {"nose": 0.1}}, "parts are details, people, certificate"),
        ({"split": {"people": 0.1}}, "nothing asks for it"),
        ({"split": {"details": 0.1}, "detail_epsilon": 1.0}, "give one of them"),
        ({"split": {"details": 0.9}, "certify": ("sex within 0.1",)}, "leaves nothing for the model"),
    ],
)
def test_bad_splits_get_a_sentence(options, said):
    with pytest.raises(ParameterError, match=said):
        us.quote(BOOK, 10, epsilon=1.0, delta=1e-6, **options)


@pytest.mark.parametrize("book", [BOOK, PEOPLE], ids=["records", "people"])
def test_the_manifest_says_the_split_and_is_computed_again(book, tmp_path):
    release = us.synthesize(visits(), book, 500, out=tmp_path / "r", epsilon=1.0, delta=1e-6, split={"details": 0.4})
    manifest = json.loads((tmp_path / "r" / "manifest.json").read_text())
    one = manifest["parameters"]["one_epsilon"]
    assert one["asked"]["epsilon"] == 1.0 and one["shares"]["details"] == 0.4
    assert set(one["epsilons"]) == {"model", "details", *(["people"] if book is PEOPLE else [])}
    checked = us.verify(tmp_path / "r")
    assert checked.is_valid, checked.problems
    assert any("cost what is stated" in line for line in checked.passed)
    again = us.quote(tmp_path / "r" / "codebook.toml", 500, load_recipe(tmp_path / "r", book, 500))
    assert again.total == release.manifest.total
    manifest["parameters"]["one_epsilon"]["asked"]["epsilon"] = 0.5
    (tmp_path / "r" / "manifest.json").write_text(json.dumps(manifest))
    assert not us.verify(tmp_path / "r").is_valid


def test_an_account_says_its_relation_before_anything_is_read_and_proposes_the_stronger(tmp_path):
    records = us.Account.create(tmp_path / "r", dataset="d", epsilon=9, delta=1e-3, neighbours=us.Neighbours.ADD_REMOVE)
    whole = us.Account.create(
        tmp_path / "p", dataset="d", epsilon=9, delta=1e-3, neighbours=us.Neighbours.ADD_REMOVE_PERSON
    )
    price = {"epsilon": 1.0, "delta": 1e-6}
    for account, book, said in (
        (records, PEOPLE, "Open an account for add-remove-person"),
        (whole, BOOK, r"Name the id column and a cap in the codebook \(\[unit\]\)"),
    ):
        with pytest.raises(BudgetError, match=said):
            us.quote(book, 10, account=account, **price)
        unread = pa.table({name: pa.array([], pa.string()) for name in visits().column_names})
        with pytest.raises(BudgetError, match=said):
            us.synthesize(unread, book, 10, account=account, **price)
        assert account.history() == [] or not list(account.history())
    with pytest.raises(BudgetError, match="also hides how many records"):
        us.quote(BOOK, 10, account=records, neighbours="replace-one", **price)


def test_a_priced_draft_says_beforehand_how_large_a_level_must_be(tmp_path):
    plan = PaidPlan(epsilon=2.0, delta=1e-6)
    first, second, third = plan.outlook(4)
    assert "a text needs about" in first and "whole number" in second and "bounds" in third
    needed, threshold = (int(word) for word in (first.split("about ")[1].split()[0], first.split("threshold ")[1][:2]))
    rng = np.random.default_rng(1)
    shown = 0
    for _ in range(20):
        values = ["often"] * 3000 + ["needed"] * needed + ["rare"] * (threshold // 4)
        table = pa.table({name: rng.permutation(values) for name in "abcd"})
        book = us.draft(table, tmp_path / f"{rng.integers(1 << 60)}.toml", epsilon=2.0, delta=1e-6).codebook
        shown += sum("needed" in book.column(name).labels for name in "abcd")
        assert not any("rare" in book.column(name).labels for name in "abcd")
    # 80 levels, each shown with 0.95 or more: fewer than 64 happen less than once in a thousand million times
    assert shown >= 64
