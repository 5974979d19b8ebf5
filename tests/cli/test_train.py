"""`understudy train`, as a person uses it: models, keys, accounts, quality, and what is refused."""

import json
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pyarrow.csv as pv
import pytest

from understudy.codebook import Categorical, Codebook, Integer
from understudy.privacy import Neighbours
from understudy.privacy.account import Account
from understudy.trees import load_model
from understudy.trees.model_file import KEY_VARIABLE
from understudy.trees.recipe import FittedScore


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    """Two features and an outcome that follows the first."""
    folder = tmp_path_factory.mktemp("train")
    rng = np.random.default_rng(6)
    age = rng.integers(0, 100, 600)
    ill = np.where(rng.random(600) < 1 / (1 + np.exp(-(age - 55) / 10)), "yes", "no")
    frame = pa.table({"age": age, "sex": rng.choice(["F", "M"], 600), "ill": ill})
    pv.write_csv(frame, folder / "data.csv")
    edges = tuple(map(Fraction, range(0, 101, 10)))
    book = Codebook(
        columns=(
            Integer(name="age", edges=edges),
            Categorical(name="sex", levels=("F", "M")),
            Categorical(name="ill", levels=("no", "yes")),
        )
    )
    book.save(folder / "book.toml")
    return folder / "data.csv", folder / "book.toml"


def words(table, *more):
    data, book = table
    return ("train", data, "-c", book, "--target", "ill", *more)


def test_a_forest_with_paid_quality(run, table, tmp_path):
    out = tmp_path / "model.us"
    said = run(
        *words(table, "--method", "forest", "--epsilon", 3, "-o", out),
        *("--quality-epsilon", 2, "--subgroup", "sex", "--json"),
    )
    assert said.code == 0, said.err
    card = said.json["card"]
    assert card["privacy"]["guarantee"]["epsilon"] == pytest.approx(5.0, abs=1e-6)
    assert set(card["quality"]["measures"]["subgroups"]["sex"]) == {"F", "M"}
    assert "epsilon 2" in card["quality"]["paid"]
    model = load_model(out)
    young, old = model.score(model.encode([{"age": 20, "sex": "F"}, {"age": 90, "sex": "F"}]))[0]
    assert young < 0.5 < old  # 450 records at epsilon 3: the direction of age is beyond doubt


def test_the_default_is_additive_and_draws_its_shapes(run, table, tmp_path):
    out, drawn = tmp_path / "model.us", tmp_path / "shapes.svg"
    said = run(*words(table, "--epsilon", 3, "--delta", 1e-6, "-o", out, "--shapes", drawn, "--json"))
    assert said.code == 0, said.err
    card = said.json["card"]
    assert card["method"] == "additive"
    assert card["privacy"]["guarantee"]["epsilon"] <= 3.0 and card["privacy"]["guarantee"]["delta"] == 1e-6
    age = next(shape for shape in card["shapes"] if shape["feature"] == "age")
    assert len(age["values"]) == len(age["adds"]) == 10
    assert age["adds"][0] < 0 < age["adds"][-1]  # 600 records at epsilon 3: the direction of age is beyond doubt
    assert all(low <= adds <= high for low, adds, high in zip(age["low"], age["adds"], age["high"], strict=True))
    picture = drawn.read_text(encoding="utf-8")
    assert picture.startswith("<svg") and "age" in picture and "sex" in picture


def test_shapes_of_a_tree_are_refused_before_anything_is_paid(run, table, tmp_path):
    out = tmp_path / "model.us"
    said = run(*words(table, "--method", "tree", "--epsilon", 1, "-o", out, "--shapes", tmp_path / "s.svg"))
    assert said.code != 0 and "additive or forest" in said.err
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("place", ["model.us", "./model.us", "sub/../model.us"])
def test_a_key_in_the_place_of_its_model_is_refused_and_not_left_behind(run, table, tmp_path, place):
    (tmp_path / "sub").mkdir()
    more = ("-m", "edpat", "--call-epsilon", 1, "-o", tmp_path / "model.us", "--new-key", f"{tmp_path}/{place}")
    said = run(*words(table, *more))
    assert said.code == 2 and "where the model goes; name another file" in said.err
    assert [path.name for path in tmp_path.iterdir()] == ["sub"]


def test_the_alphas_of_edpat_are_given_on_the_command_line(run, table, tmp_path):
    """One alpha gives one tree, and alphas with the same structure are kept once."""
    out, key = tmp_path / "model.us", tmp_path / "key"
    said = run(
        *words(table, "--method", "edpat", "--call-epsilon", 1, "--alphas", "0.5,2", "-o", out, "--new-key", key)
    )
    assert said.code == 0, said.err
    model = load_model(out, key)
    assert model.manifest.parameters["alphas"] == [0.5, 2.0]
    assert 1 <= len(model.scorer.trees) <= 2
    said = run(*words(table, "--method", "edpat", "--call-epsilon", 1, "--alphas", "two", "-o", tmp_path / "x.us"))
    assert said.code != 0 and "alphas" in said.err


def test_people_with_several_records_are_paid_for_as_people_and_refused_where_answers_cost(run, table, tmp_path):
    """A [unit] in the codebook is all it takes; what is refused leaves no key behind."""
    data, book = tmp_path / "stays.csv", tmp_path / "stays.toml"
    head, *rows = table[0].read_text(encoding="utf-8").splitlines()
    data.write_text("\n".join([f"patient,{head}", *(f"p{k % 200},{row}" for k, row in enumerate(rows))]) + "\n")
    columns = table[1].read_text(encoding="utf-8")
    patient = '[unit]\nid = "patient"\ncap = 2\n\n[[columns]]\nname = "patient"\nkind = "text"\nrole = "identifier"\n\n'
    book.write_text(columns.replace("[[columns]]", f"{patient}[[columns]]", 1))
    out, key = tmp_path / "model.us", tmp_path / "key"
    said = run(*words((data, book), "--epsilon", 3, "--delta", 1e-6, "-o", out, "--json"))
    assert said.code == 0, said.err
    guarantee = said.json["card"]["privacy"]["guarantee"]
    assert guarantee["neighbours"] == "add-remove-person" and guarantee["epsilon"] <= 3.0
    refused = run(*words((data, book), "-m", "edpat", "--call-epsilon", 1, "-o", tmp_path / "x.us", "--new-key", key))
    assert refused.code == 2 and "[unit]" in refused.err
    assert not key.exists()


def test_quality_on_public_records_names_the_file_only(run, table, tmp_path):
    asked = words(table, "--method", "tree", "--epsilon", 4, "-o", tmp_path / "tree.us")
    refused = run(*asked, "--quality-data", table[0])
    assert refused.code == 2 and "it holds the confidential table itself" in " ".join(refused.err.split())
    public = tmp_path / "public.csv"
    public.write_text("".join(table[0].read_text(encoding="utf-8").splitlines(keepends=True)[:-5]), encoding="utf-8")
    said = run(
        *(*asked, "--quality-data", public),
        *("--subgroup", "sex", "--reliability", tmp_path / "drawn.svg"),
    )
    assert said.code == 0, said.err
    assert "?" in said.out.splitlines()[0] and "sex F, auroc: 0." in said.out
    assert (tmp_path / "drawn.svg").read_text(encoding="utf-8").startswith("<svg")
    assert "auroc: 0." in said.out and "measured on public data: public.csv" in said.out
    assert str(tmp_path) not in (tmp_path / "tree.us").read_text(encoding="utf-8")


def test_per_call_models_need_a_key(run, table, tmp_path, monkeypatch):
    monkeypatch.delenv(KEY_VARIABLE, raising=False)
    asked = words(table, "--method", "per-call-tree", "--epsilon", 1, "--call-epsilon", 0.1)
    refused = run(*asked, "-o", tmp_path / "calls.us")
    assert refused.code == 2 and KEY_VARIABLE in refused.err
    said = run(*asked, "-o", tmp_path / "calls.us", "--new-key", tmp_path / "key")
    assert said.code == 0, said.err
    assert "every new question costs another epsilon = 0.1" in said.out
    assert load_model(tmp_path / "calls.us", tmp_path / "key").price_per_call == 0.1
    assert "exists already" in run(*asked, "-o", tmp_path / "other.us", "--new-key", tmp_path / "key").err
    both = run(*asked, "-o", tmp_path / "other.us", "--new-key", tmp_path / "k2", "--key", tmp_path / "key")
    assert both.code == 2 and "one of the two" in both.err


def test_a_training_that_fails_leaves_no_key(run, table, tmp_path, monkeypatch):
    asked = words(table, "--method", "per-call-tree", "--epsilon", 1, "--call-epsilon", 0.1)
    Account.create(tmp_path / "a.account", dataset="d", epsilon=0.5, delta=0.0, neighbours=Neighbours.ADD_REMOVE)
    poor = run(*asked, "-o", tmp_path / "m.us", "--new-key", tmp_path / "key", "--account", tmp_path / "a.account")
    assert poor.code == 1 and not (tmp_path / "m.us").exists() and not (tmp_path / "key").exists()
    monkeypatch.setattr(FittedScore, "write", interrupted)
    assert run(*asked, "-o", tmp_path / "m.us", "--new-key", tmp_path / "key").code == 130
    assert not (tmp_path / "key").exists(), "and so does one that is interrupted"
    monkeypatch.undo()
    written = FittedScore.write
    monkeypatch.setattr(FittedScore, "write", lambda *a, **b: interrupted(written(*a, **b)))
    assert run(*asked, "-o", tmp_path / "m.us", "--new-key", tmp_path / "key").code == 130
    assert load_model(tmp_path / "m.us", tmp_path / "key").price_per_call == 0.1, "a model that is there keeps its key"


def interrupted(*_, **__):
    raise KeyboardInterrupt


def test_methods_for_study_say_that_they_promise_nothing(run, table, tmp_path):
    (tmp_path / "key").write_text("ab" * 32)
    for method, price in (("dpat", ("--call-epsilon", 1)), ("edpat", ("--call-epsilon", 1)), ("alpha-tree", ())):
        said = run(*words(table, "--method", method, *price, "-o", tmp_path / method, "--key", tmp_path / "key"))
        assert said.code == 0, said.err
        assert "no formal privacy guarantee" in said.out and "warning" in said.err


def test_the_account_is_charged_once_and_refuses_beyond_its_cap(run, table, tmp_path):
    path = tmp_path / "account"
    Account.create(path, dataset="d", epsilon=1.5, delta=0.0, neighbours=Neighbours.ADD_REMOVE)
    asked = words(table, "--method", "forest", "--epsilon", 1, "--account", path)
    assert run(*asked, "-o", tmp_path / "one.us").code == 0
    assert Account.open(path).spent().epsilon == pytest.approx(1.0, abs=1e-6)
    refused = run(*asked, "-o", tmp_path / "two.us")
    assert refused.code == 1 and "above its cap" in refused.err
    assert not (tmp_path / "two.us").exists()
    free = run(
        *words(table, "--method", "alpha-tree", "--account", path, "-o", tmp_path / "x.us", "--new-key", tmp_path / "k")
    )
    assert free.code == 1 and "no formal total" in free.err
    assert Account.open(path).spent().epsilon == pytest.approx(1.0, abs=1e-6)


def test_a_fault_of_the_data_charges_nothing(run, table, tmp_path):
    path = tmp_path / "account"
    Account.create(path, dataset="d", epsilon=1.5, delta=0.0, neighbours=Neighbours.ADD_REMOVE)
    bad = tmp_path / "bad.csv"
    bad.write_text("age,sex,ill\n20,F,no\n999,F,yes\n", encoding="utf-8")
    said = run(
        *("train", bad, "-c", table[1], "--target", "ill", "--method", "forest", "--epsilon", 1),
        *("--account", path, "-o", tmp_path / "model.us"),
    )
    assert said.code == 2 and "age" in said.err
    assert Account.open(path).spent().epsilon == 0


@pytest.mark.parametrize(
    ("more", "sentence"),
    [
        (("--method", "oak", "--epsilon", 1), "forest"),
        (("--method", "forest"), "forest needs --epsilon; there is no default"),
        (("--method", "forest", "--epsilon", "nan"), "above 0"),
        (("--method", "forest", "--epsilon", "-1"), "above 0"),
        (("--method", "forest", "--epsilon", "much"), "much"),
        (("--method", "forest", "--epsilon", 1e-12), "larger epsilon"),
        (("--method", "forest", "--epsilon", 1, "--target", "weight"), "weight"),
        (("--method", "forest", "--epsilon", 1, "--target", "age"), "positive"),
        (("--method", "forest", "--epsilon", 1, "--positive", "perhaps"), "perhaps"),
        (("--method", "forest", "--epsilon", 1, "--name", "../up"), "web address"),
        (("--method", "forest", "--epsilon", 1, "--model-version", 0), "whole number of 1 or more"),
        (("--method", "forest", "--epsilon", 1, "--structure", "stable"), "forest does not take --structure"),
        (("--method", "tree", "--epsilon", 1, "--structure", "stable"), "delta"),
        (("--method", "tree", "--epsilon", 1, "--alpha", 1), "public-rows"),
        (("--method", "tree", "--epsilon", 1, "--depth", 99), "depth"),
        (("--method", "bag", "--epsilon", 1, "--sharing", "none"), "sharing"),
        (("--method", "tree", "--epsilon", 1, "--trees", 9), "tree does not take --trees"),
        (("--method", "forest", "--epsilon", 1, "--subgroup", "sex"), "no quality"),
        (("--method", "forest", "--epsilon", 1, "--quality-epsilon", 1, "--subgroup", "shoe"), "shoe"),
        (("--method", "forest", "--epsilon", 1, "--quality-epsilon", 0), "--quality-epsilon is 0"),
        (("--method", "forest", "--epsilon", 1, "--reliability", "x.svg"), "quality report"),
        (("--method", "dpat", "--call-epsilon", "nan", "--new-key", "/nowhere/k"), "--call-epsilon is nan"),
    ],
)
def test_what_is_refused_is_named(run, table, tmp_path, more, sentence):
    said = run(*words(table, "-o", tmp_path / "model.us", *more))
    assert said.code == 2, said.out
    assert sentence in said.err
    assert not (tmp_path / "model.us").exists()


def test_a_recipe_file_holds_the_choices_and_flags_win(run, table, tmp_path):
    data, book = table
    path = tmp_path / "recipe.toml"
    path.write_text('method = "bag"\ntarget = "ill"\nepsilon = 9.0\ntrees = 2\nmodel-version = 3\n')
    asked = ("train", data, "-c", book, "--recipe", path)
    refused = run(*asked, "-o", tmp_path / "m.us")
    assert refused.code == 2 and "recipe.toml': bag does not take 'model_version'" in " ".join(refused.err.split())
    path.write_text(path.read_text().replace("model-version", "version"))
    said = run(*asked, "--epsilon", 2, "-o", tmp_path / "m.us", "--json")
    assert said.code == 0, said.err
    assert said.json["card"]["privacy"]["guarantee"]["epsilon"] == pytest.approx(2.0, abs=1e-6)
    assert said.json["card"]["version"] == 3
    other = run(*asked, "--method", "tree", "-o", tmp_path / "n.us")
    assert other.code == 2 and "leave one of them out" in " ".join(other.err.split())
    bare = run("train", data, "-c", book, "--epsilon", 1, "--delta", 1e-6, "-o", tmp_path / "n.us")
    assert bare.code == 2 and "a risk score needs --target" in " ".join(bare.err.split())


def test_the_help_shows_the_options_of_the_method(run):
    every, forest = (run("train", *words, "--help").out for words in ((), ("--method", "forest")))
    assert "--sharing" in every and "Of bag." in every and "--target" in forest and "--sharing" not in forest


def test_errors_for_machines(run, table, tmp_path):
    said = run(*words(table, "--method", "forest", "-o", tmp_path / "m.us", "--json"))
    assert said.code == 2
    assert json.loads(said.out)["error"]["kind"] == "ParameterError"
    (tmp_path / "m.us").write_text("x")
    again = run(*words(table, "--method", "forest", "--epsilon", 1, "-o", tmp_path / "m.us"))
    assert again.code == 2 and "never overwrites" in again.err
    nowhere = run(*words(table, "--method", "forest", "--epsilon", 1, "-o", tmp_path / "no" / "m.us"))
    assert nowhere.code == 2 and "does not exist" in nowhere.err
