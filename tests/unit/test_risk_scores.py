"""A risk score as every other release: quoted before the data, paid for once, described in full, and checked again."""

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import understudy as us
from tests.unit.tree_tables import book, simulated
from understudy.errors import BudgetError, DataError, ParameterError, ReleaseError
from understudy.mechanisms.stream import Stream
from understudy.privacy import ApproxDP, Neighbours, NoFormal, PureDP
from understudy.privacy.account import Account
from understudy.privacy.provenance import InputRole, Made, Provenance
from understudy.privacy.transaction import Payment, Point
from understudy.release.folders import digest_of
from understudy.service.served import Served
from understudy.sources import EncodedSource, open_source
from understudy.synth import make_recipe
from understudy.trees import load_model, save_model
from understudy.trees.model_file import _checksum
from understudy.trees.recheck import verify_score
from understudy.trees.recipe import RiskScore
from understudy.trees.train import make_training

KEY = bytes(range(32))
OLD = Path(__file__).parent / "old_models"
AR = Neighbours.ADD_REMOVE
TRAININGS = {
    "forest": make_training("forest", epsilon=1.0),
    "tree": make_training("tree", epsilon=1.0),
    "stable bag": make_training("bag", epsilon=1.0, structure="stable", delta=1e-6),
    "disjoint bag": make_training("bag", epsilon=1.0, sharing="disjoint"),
    "measured calls": make_training("per-call-tree", epsilon=1.0, call_epsilon=0.25, structure="measured", delta=1e-6),
    "free calls": make_training("per-call-tree", structure="random", call_epsilon=0.25),
    "dpat": make_training("dpat", call_epsilon=0.25),
    "alpha-tree": make_training("alpha-tree"),
}


def source(rows=500, account=None):
    codes, labels = simulated(rows)
    columns = [*(np.ascontiguousarray(codes[:, place]) for place in range(4)), labels.astype(np.uint8)]
    return EncodedSource(codebook=book(), columns=columns, account=account)


def table(rows=300, seed=3):
    codes, labels = simulated(rows, seed)
    dose = ["5", "15", "25", "35", None]
    return pa.table(
        {
            "dose": pa.array([None if dose[c] is None else float(dose[c]) for c in codes[:, 0]]),
            "stage": [["I", "II", "III"][c] for c in codes[:, 1]],
            "ward": ["abc"[c] for c in codes[:, 2]],
            "sex": ["FM"[c] for c in codes[:, 3]],
            "ill": [("no", "yes")[c] for c in labels],
        }
    )


@pytest.fixture
def account(tmp_path):
    return Account.create(tmp_path / "a", dataset="patients", epsilon=3.0, delta=1e-4, neighbours=AR)


def states(account):
    return [charge.state.value for charge in account.history()]


# --- price, payment, manifest ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", TRAININGS)
def test_what_is_quoted_before_the_data_covers_what_is_stated(name):
    recipe = RiskScore(training=TRAININGS[name], target="ill")
    quoted, model = recipe.quote(book()), recipe.fit(source()).sample()
    assert quoted.total.kind == model.guarantee.kind
    if isinstance(model.guarantee, PureDP | ApproxDP):
        assert model.guarantee.epsilon <= quoted.total.epsilon <= model.guarantee.epsilon + 1e-6
        assert model.guarantee.delta == quoted.total.delta
    assert quoted.call == model.call_guarantee
    assert model.manifest.to_dict()["statement"] == model.statement


def test_a_forest_of_two_rounds_costs_no_more_than_was_quoted():
    recipe = RiskScore(training=make_training("forest", epsilon=40.0), target="ill")
    model = recipe.fit(source(4000)).sample()
    assert "round 2 of 2" in model.statement
    assert model.guarantee.epsilon <= recipe.quote(book()).total.epsilon


def test_a_training_that_is_dearer_than_its_quote_shows_nothing(account, monkeypatch):
    from understudy.errors import RefusalError
    from understudy.trees.train import OneTree

    price = OneTree.price
    monkeypatch.setattr(OneTree, "price", lambda self, features: price(OneTree(epsilon=0.5), features))
    with pytest.raises(RefusalError, match="more than the"):
        RiskScore(training=TRAININGS["tree"], target="ill").fit(source(account=account)).sample()


def test_a_model_in_memory_is_spent_with_the_digest_of_what_is_public(account):
    fitted = RiskScore(training=TRAININGS["tree"], target="ill").fit(source(account=account))
    assert states(account) == []
    model = fitted.sample()
    (charge,) = account.history()
    assert (charge.release_id, charge.digest) == (model.manifest.release_id, model.digest)
    assert model.manifest.account == "charged to the account of 'patients'"
    fitted.sample()
    assert account.spent().epsilon == pytest.approx(2.0), "to train again is to pay again"


def test_a_file_is_charged_for_its_bytes(account, tmp_path):
    RiskScore(training=TRAININGS["tree"], target="ill").fit(source(account=account)).write(tmp_path / "m.us")
    (charge,) = account.history()
    assert charge.digest == digest_of(tmp_path / "m.us")
    assert json.loads((tmp_path / "m.us").read_text())["public"]["manifest"]["release"] == charge.release_id


def test_training_that_shows_nothing_is_charged_nothing_and_has_its_line(account, tmp_path):
    recipe = RiskScore(training=TRAININGS["free calls"], target="ill")
    recipe.fit(source(account=account)).write(tmp_path / "m.us", key=KEY)
    assert (states(account), account.spent().epsilon) == (["committed"], 0.0)


STRUCK = {
    Point.RESERVED: ("cancelled", False),
    Point.DRAWING: ("cancelled", False),
    Point.DRAWN: ("cancelled", False),
    Point.COMMITTING: ("held", False),
    Point.COMMITTED: ("committed", False),
}


@pytest.mark.parametrize("point", Point, ids=str)
def test_an_interrupt_leaves_no_model_that_was_not_paid_for(point, account, tmp_path, monkeypatch):
    def reached(self, at):
        if at is point:
            raise KeyboardInterrupt

    fitted = RiskScore(training=TRAININGS["tree"], target="ill").fit(source(account=account))
    monkeypatch.setattr(Payment, "reached", reached)
    with pytest.raises(KeyboardInterrupt):
        fitted.write(tmp_path / "m.us")
    state, exists = STRUCK[point]
    assert states(account) == [state]
    assert (tmp_path / "m.us").exists() == exists
    assert sorted(path.name for path in tmp_path.iterdir() if "unfinished" in path.name) == []


def test_what_cannot_be_sealed_or_written_is_refused_before_anything_is_charged(account, tmp_path, monkeypatch):
    monkeypatch.delenv("UNDERSTUDY_MODEL_KEY", raising=False)
    fitted = RiskScore(training=TRAININGS["free calls"], target="ill").fit(source(account=account))
    with pytest.raises(ReleaseError, match="no key was given"):
        fitted.write(tmp_path / "m.us")
    with pytest.raises(ReleaseError, match="does not exist"):
        fitted.write(tmp_path / "nowhere" / "m.us", key=KEY)
    assert account.history() == []


@pytest.mark.parametrize(
    ("more", "word"),
    [
        ({"quality_epsilon": 1.0, "quality_data": "x.csv"}, "not both"),
        ({"subgroups": ("sex",)}, "no quality is measured"),
        ({"quality_epsilon": -1.0}, "quality_epsilon"),
        ({"name": "No"}, "web address"),
        ({"training": TRAININGS["free calls"], "quality_epsilon": 1.0}, "a call for each record"),
        ({"training": TRAININGS["free calls"], "quality_data": "x.csv"}, "cannot be measured for free"),
    ],
)
def test_odd_recipes_are_refused(more, word):
    with pytest.raises(ParameterError, match=word):
        RiskScore(**{"training": TRAININGS["tree"], "target": "ill", **more})


def test_a_confidential_look_is_told(account):
    account.look("evaluation")
    model = RiskScore(training=TRAININGS["tree"], target="ill").fit(source(account=account)).sample()
    assert "after a confidential look" in model.statement


# --- what goes in ---------------------------------------------------------------------------------------------------


def test_a_synthetic_table_is_no_training_data():
    release = make_recipe("contingency").fit(open_source(table(), book())).sample(200)
    with pytest.raises(DataError, match="a risk score could promise nothing"):
        RiskScore(training=TRAININGS["tree"], target="ill").fit(open_source(release.table, book()))


def test_records_recoded_one_by_one_may_be_trained_on():
    held = source()
    held.provenance = Provenance(made=Made.ANONYMIZED, release="r7", record_wise=True, real_records=True)
    model = RiskScore(training=TRAININGS["tree"], target="ill").fit(held).sample()
    assert model.guarantee.is_formal
    assert any("r7" in warning for warning in model.manifest.warnings)


@pytest.fixture(scope="module")
def releases(tmp_path_factory):
    """Two releases of other data: one with a formal promise, one without."""
    folder = tmp_path_factory.mktemp("releases")
    for name, recipe in {
        "formal": make_recipe("laplace", epsilon=0.75),
        "informal": make_recipe("contingency"),
    }.items():
        recipe.fit(open_source(table(seed=8), book())).sample(400).save(folder / name)
    return folder


def trained(tmp_path, quality_data, **more):
    return us.train(
        table(),
        book(),
        method=TRAININGS["tree"],
        target="ill",
        out=tmp_path / "m.us",
        quality_data=quality_data,
        **more,
    )


def test_a_release_with_a_promise_measures_quality_and_is_in_the_price(releases, tmp_path, account):
    model = trained(tmp_path, releases / "formal" / "synthetic.parquet", account=account)
    assert model.guarantee.epsilon == pytest.approx(1.75)
    assert "used as public records to measure quality on, is in the price" in model.statement
    assert account.spent().epsilon == pytest.approx(1.75)
    assert model.quality.paid == "measured on public data: synthetic.parquet"
    assert verify_score(tmp_path / "m.us").problems == ()


@pytest.mark.parametrize("how", ["file", "copy", "in memory"])
def test_a_release_without_a_promise_measures_nothing(how, releases, tmp_path, account):
    path = releases / "informal" / "synthetic.parquet"
    given = {
        "file": path,
        "copy": tmp_path / "elsewhere.parquet",
        "in memory": pq.read_table(path),
    }[how]
    if how == "copy":
        given.write_bytes(path.read_bytes())
    with pytest.raises(DataError, match="which must be public, and it is not"):
        trained(tmp_path, given, account=account)
    assert account.history() == [] and not (tmp_path / "m.us").exists()


def test_a_table_that_is_declared_public_is_said_to_be_declared(tmp_path):
    model = trained(tmp_path, table(seed=9))
    assert "Declared public, and taken as such: public records to measure quality on." in model.statement
    assert model.quality.paid == "measured on public data: a table in memory"
    assert InputRole.QUALITY in model.manifest.quote.inputs
    same = table()
    with pytest.raises(ParameterError, match="the confidential table itself"):
        us.train(same, book(), method=TRAININGS["tree"], target="ill", out=tmp_path / "n.us", quality_data=same)


def test_a_fault_of_the_public_records_charges_nothing(tmp_path, account):
    odd = table(seed=9).set_column(3, "sex", pa.array(["X"] * 300))
    with pytest.raises(DataError):
        trained(tmp_path, odd, account=account)
    assert account.history() == []


# --- files and checks -----------------------------------------------------------------------------------------------


def written(tmp_path, training, **more):
    return RiskScore(training=training, target="ill", **more).fit(source()).write(tmp_path / "m.us", key=KEY)


@pytest.mark.parametrize("name", TRAININGS)
def test_a_model_file_is_verified_and_read_back(name, tmp_path):
    more = {"quality_epsilon": 0.5, "subgroups": ("sex",)} if name == "forest" else {}
    model = written(tmp_path, TRAININGS[name], **more)
    verdict = verify_score(tmp_path / "m.us")
    assert verdict.problems == () and verdict.total == model.guarantee
    assert verdict.what == f"a risk score by {model.method}"
    again = load_model(tmp_path / "m.us", KEY)
    assert again.card() == model.card()
    assert again.manifest.to_dict() == model.manifest.to_dict()
    assert again.digest == model.digest


def test_a_seeded_model_is_verified_as_one_that_promises_nothing(tmp_path):
    recipe = RiskScore(training=TRAININGS["tree"], target="ill")
    recipe.fit(source(), stream=Stream.seeded(1)).write(tmp_path / "m.us")
    verdict = verify_score(tmp_path / "m.us")
    assert verdict.is_valid and isinstance(verdict.total, NoFormal)


def edited(path, change, *, mended=True):
    content = json.loads(path.read_text(encoding="utf-8"))
    change(content["public"], content["public"]["manifest"])
    if mended:
        content["checksum"] = _checksum(content)
    path.write_text(json.dumps(content), encoding="utf-8")


def halve_ledger(public, manifest):
    """A cheaper training, and everything that follows from it."""
    from understudy.privacy import Ledger
    from understudy.release.manifest import read_quote

    manifest["ledger"] = manifest["ledger"][:1]
    ledger = Ledger.from_list(manifest["ledger"])
    manifest["guarantee"] = ledger.total().to_dict()
    manifest["assumptions"] = list(ledger.assumptions)
    quote = read_quote({**manifest, "delta_for_total": None})
    manifest["statement"] = quote.statement_of(manifest["rows"]["number"], looked=manifest["confidential_look"])


@pytest.mark.parametrize(
    ("training", "change", "word"),
    [
        ("tree", lambda p, m: m["guarantee"].update(epsilon=0.1), "is not what the ledger adds up to"),
        ("tree", lambda p, m: m.update(statement=m["statement"].replace("= 1)", "= 0.1)")), "statement in plain words"),
        ("tree", halve_ledger, "training by these parameters costs epsilon 1"),
        ("tree", lambda p, m: m["parameters"].update(epsilon=9.0), "costs epsilon 9"),
        ("tree", lambda p, m: m["parameters"].pop("alpha"), "cannot be computed anew"),
        ("tree", lambda p, m: m.update(randomness="seeded: by somebody"), "the randomness was seeded"),
        ("tree", lambda p, m: m.update(method="forest"), "not what the method 'forest' leaves behind"),
        ("tree", lambda p, m: m["score"].update(positive="perhaps"), "no level of the target"),
        ("tree", lambda p, m: m["score"].update(price_per_call=0.1), "released at once"),
        ("tree", lambda p, m: p.update(codebook=p["codebook"].replace('"F"', '"D"')), "not the one that the score"),
        ("measured calls", lambda p, m: m["score"].update(price_per_call=0.01), "stated price of an answer"),
        ("measured calls", lambda p, m: m["call"].update(epsilon=0.01), "stated price of an answer"),
        ("measured calls", lambda p, m: p["scorer"].update(scale="1/8"), "what its noise costs, epsilon 8"),
        ("measured calls", lambda p, m: p["scorer"].update(scale="1/9"), "the noise of an answer has no price"),
        ("dpat", lambda p, m: m.update(call=PureDP(epsilon=0.1, neighbours=AR).to_dict()), "answers that have none"),
    ],
)
def test_a_file_that_promises_more_than_it_paid_for_is_found_out(training, change, word, tmp_path):
    written(tmp_path, TRAININGS[training])
    edited(tmp_path / "m.us", change)
    problems = verify_score(tmp_path / "m.us").problems
    assert any(word in problem for problem in problems), problems


def test_a_release_that_is_left_out_of_the_price_is_found_out(releases, tmp_path):
    trained(tmp_path, releases / "formal" / "synthetic.parquet")
    edited(tmp_path / "m.us", lambda p, m: m.update(ledger=m["ledger"][1:]))
    problems = " ".join(verify_score(tmp_path / "m.us").problems)
    assert "is not in the ledger" in problems and "costs epsilon 1.75" in problems


def test_damage_is_a_problem_and_another_file_a_sentence(tmp_path):
    written(tmp_path, TRAININGS["tree"])
    edited(tmp_path / "m.us", lambda p, m: m.update(created="yesterday"), mended=False)
    (problem,) = verify_score(tmp_path / "m.us").problems
    assert "its checksum does not fit" in problem
    edited(tmp_path / "m.us", lambda p, m: m.pop("ledger"))
    with pytest.raises(ReleaseError, match="not a sound model file"):
        verify_score(tmp_path / "m.us")
    (tmp_path / "other.us").write_text("{}")
    with pytest.raises(ReleaseError, match="is not a score model"):
        verify_score(tmp_path / "other.us")


OLD_MODELS = {
    "tree": (PureDP(epsilon=1.0, neighbours=AR), "Training is (epsilon = 1)-differentially private"),
    "calls": (PureDP(epsilon=0.999999999, neighbours=AR), "every new question costs another epsilon = 0.25"),
    "free": (PureDP(epsilon=0.0, neighbours=AR), "it released nothing"),
    "seeded": (None, "the noise was made from a seed"),
}


@pytest.mark.parametrize("name", OLD_MODELS)
def test_files_of_the_first_format_are_read_and_keep_their_words(name, tmp_path):
    promised, words = OLD_MODELS[name]
    model = load_model(OLD / f"{name}.us", KEY)
    assert words in model.statement and words in model.card()["privacy"]["statement"]
    assert model.guarantee == promised or (promised is None and isinstance(model.guarantee, NoFormal))
    verdict = verify_score(OLD / f"{name}.us")
    assert verdict.is_valid and "in the words of format 1" in " ".join(verdict.passed)
    assert load_model(save_model(model, tmp_path / "new.us", KEY), KEY).guarantee == model.guarantee


def test_budgets_of_the_first_format_go_on(tmp_path):
    """The service knows a model by what it is, not by its file: its identity must not move."""
    model = load_model(OLD / "calls.us", KEY)
    known = "eaaf010a397f28b6daf9b31f38e3385c4604fdd5973193564bb442674dfddf4f"
    assert Served(model=model).model_id == known
    again = load_model(save_model(model, tmp_path / "new.us", KEY), KEY)
    assert Served(model=again).model_id == known


def test_an_old_file_whose_words_promise_more_is_found_out(tmp_path):
    content = json.loads((OLD / "tree.us").read_text(encoding="utf-8"))
    content["public"]["statement"] = content["public"]["statement"].replace("(epsilon = 1)", "(epsilon = 0.1)")
    content["checksum"] = _checksum(content)
    (tmp_path / "m.us").write_text(json.dumps(content), encoding="utf-8")
    (problem,) = verify_score(tmp_path / "m.us").problems
    assert "statement in plain words" in problem


def test_a_study_model_is_charged_to_no_account(account):
    with pytest.raises(BudgetError, match="no formal total"):
        RiskScore(training=TRAININGS["alpha-tree"], target="ill").fit(source(account=account)).sample()
    assert account.history() == []
