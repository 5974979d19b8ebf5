"""Released models on the command line: price, release, model file, more rows; and everything that can go wrong."""

import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest

import understudy as us

PRICE = ("--epsilon", 1, "--delta", 1e-6)
GENEROUS = ("--epsilon", 40, "--delta", 1e-5)
SIZE = ("--parent-count", 2, "--sweeps", 20, "--public-rows", 3000)
# At epsilon 40 the noise of every table is below one record and its threshold below ten, among 3,000 records: that a
# whole table is lost, or no state is known to all of them, does not happen.
METHODS = [
    pytest.param(("sbhg", *GENEROUS, "--parent-count", 1, "--sweeps", 5, "--public-rows", 3000), id="sbhg"),
    pytest.param(("sbhg", *GENEROUS, "--parents", "declared", "--sweeps", 2), id="sbhg declared"),
    pytest.param(("sbhg", *GENEROUS, "--parents", "los=sev"), id="sbhg mapping"),
    pytest.param(
        ("sbhg-gauss", *GENEROUS, "--parent-count", 1, "--public-rows", 3000, "--selection-share", 0.1), id="gauss"
    ),
    pytest.param(
        ("privbayes", "--epsilon", 2, "--public-rows", 3000, "--usefulness", 6, "--parent-count", 1), id="privbayes"
    ),
    pytest.param(("laplace", "--epsilon", 3), id="laplace"),
    pytest.param(("sba", "--epsilon", 20, "--delta", 1e-3), id="sba"),
]


def flat(text):
    return " ".join(text.split())


@pytest.mark.parametrize("method", ["sbhg", "sbhg-gauss"])
@pytest.mark.parametrize("relation", ["add-remove", "replace-one"])
def test_quote_reads_nothing_and_stays_within_what_was_asked(run, discharges, method, relation):
    _, book = discharges
    words = ("quote", "no-such-file.csv", "-c", book, "-m", method, *PRICE, *SIZE, "-n", 500, "--neighbours", relation)
    priced = run(*words, "--json")
    assert priced.code == 0, priced.err
    total = priced.json["total"]
    assert total["kind"] == "ApproxDP"
    assert 0.9 < total["epsilon"] <= 1 and total["delta"] <= 1e-6
    assert total["neighbours"] == relation
    stages = [entry["stage"] for entry in priced.json["entries"]]
    assert stages == ["parents"] + ["tables"] * (13 if method == "sbhg" else 1)
    assert priced.json["entries"][0]["event"]["selections"] == 26
    shown = run(*words)
    assert shown.code == 0
    assert "differentially private" in shown.out and "cost nothing more" in flat(shown.out)


@pytest.mark.parametrize("options", METHODS)
def test_a_model_is_saved_and_drawn_from(run, discharges, tmp_path, options):
    data, book = discharges
    method, *rest = options
    model = tmp_path / "released.model"
    words = (data, "-c", book, "-m", method, *rest, "-n", 150)
    priced = run("quote", *words, "--json")
    made = run("synth", *words, "-o", tmp_path / "one", "--save-model", model)
    assert made.code == 0, made.err
    assert f"wrote {model}" in made.out.replace("\n", "")
    manifests = [json.loads((tmp_path / "one" / "manifest.json").read_text())]
    for name in ("two", "three"):
        drawn = run("draw", model, "-n", 150, "-o", tmp_path / name, "--json")
        assert drawn.code == 0, drawn.err
        manifests.append(drawn.json["manifest"])
        assert run("verify", tmp_path / name, "--json").json["valid"]
    for manifest in manifests:
        assert manifest["guarantee"] == priced.json["total"]
        assert manifest["ledger"] == priced.json["entries"]
        assert manifest["statement"] == priced.json["statement"]
        assert manifest["randomness"].startswith("secure")
        assert (manifest["method"], manifest["route"]) == (method, "N")
    assert manifests[1]["release"] != manifests[2]["release"]
    assert "drawn from a released model" in manifests[1]["account"]
    tables = [pq.read_table(tmp_path / name / "synthetic.parquet") for name in ("one", "two", "three")]
    assert [table.num_rows for table in tables] == [150] * 3
    if method != "sba":  # of the cells of all 13 columns one or two survive
        assert not tables[1].equals(tables[2])


def test_a_model_costs_its_account_once(run, discharges, tmp_path):
    data, book = discharges
    account, model = tmp_path / "d.account", tmp_path / "m.model"
    assert run("account", "create", account, "--dataset", "d", "--epsilon", 45, "--delta", 1e-3).code == 0
    words = ("synth", data, "-c", book, "-m", "sbhg", *GENEROUS, "--parents", "declared", "-n", 50)
    words = (*words, "--account", account)
    assert run(*words, "-o", tmp_path / "one", "--save-model", model).code == 0
    assert run("draw", model, "-n", 50, "-o", tmp_path / "two").code == 0
    shown = run("account", "show", account, "--json").json
    assert shown["releases"] == 1 and shown["spent"]["epsilon"] <= 40
    refused = run(*words, "-o", tmp_path / "three", "--save-model", tmp_path / "n.model")
    assert refused.code == 1 and "cap" in refused.err
    assert not (tmp_path / "three").exists() and not (tmp_path / "n.model").exists()


def test_a_large_delta_is_warned_about_everywhere(run, discharges, tmp_path):
    data, book = discharges
    risky = ("--epsilon", 40, "--delta", 0.001, "--parent-count", 1, "--public-rows", 3000)
    words = (data, "-c", book, "-m", "sbhg", *risky, "-n", 20)
    sentence = "delta is 0.001, which is not below 1/3,000"
    shown = run("quote", *words)
    assert sentence in flat(shown.err) and sentence not in flat(shown.out)
    assert any(sentence in text for text in run("quote", *words, "--json").json["warnings"])
    made = run("synth", *words, "-o", tmp_path / "one", "--save-model", tmp_path / "m.model")
    assert made.code == 0 and sentence in flat(made.err)
    for folder in ("one", "two"):
        if folder == "two":
            drawn = run("draw", tmp_path / "m.model", "-n", 20, "-o", tmp_path / folder)
            assert drawn.code == 0 and sentence in flat(drawn.err)
        manifest = json.loads((tmp_path / folder / "manifest.json").read_text())
        assert any(sentence in text for text in manifest["warnings"])
        assert run("verify", tmp_path / folder).code == 0
    small = run("quote", data, "-c", book, "-m", "sbhg", *GENEROUS, "--parent-count", 1, "--public-rows", 3000, "-n", 5)
    assert "warning" not in small.err


def test_raw_mutual_information_is_drawn_and_promises_nothing(run, discharges, tmp_path):
    data, book = discharges
    words = ("synth", data, "-c", book, "-m", "sbhg", *GENEROUS, "--parents", "mutual-information", "-n", 20)
    made = run(*words, "-o", tmp_path / "r", "--save-model", tmp_path / "m.model", "--json")
    assert made.code == 0, made.err
    assert made.json["manifest"]["guarantee"]["kind"] == "NoFormal"
    drawn = run("draw", tmp_path / "m.model", "-n", 20, "-o", tmp_path / "d", "--json").json["manifest"]
    assert drawn["guarantee"]["kind"] == "NoFormal" and "raw data" in drawn["guarantee"]["why"]
    assert run("verify", tmp_path / "d").code == 0


def test_the_plain_gibbs_baseline(run, discharges, tmp_path):
    data, book = discharges
    words = ("synth", data, "-c", book, "-m", "gibbs", "-n", 20, "-o", tmp_path / "r")
    refused = run(*words, "--save-model", tmp_path / "m.model")
    assert refused.code == 2 and "no model that may leave the house" in flat(refused.err)
    made = run(*words, "--parents", "declared", "--sweeps", 3, "--json")
    assert made.code == 0, made.err
    assert made.json["manifest"]["guarantee"]["kind"] == "NoFormal"


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("sbhg", *PRICE, "--parent-count", 13, "--public-rows", 3000), ("--parent-count", "13", "from 1 to 12")),
        (("sbhg", *PRICE, "--parent-count", 0, "--public-rows", 3000), ("--parent-count", "is 0")),
        (("sbhg-gauss", *PRICE, "--parent-count", 40, "--public-rows", 3000), ("--parent-count", "40")),
        (("sbhg", *PRICE, "--parents", -1, "--public-rows", 3000), ("'-1'", "declared, private")),
        (("sbhg", *PRICE, "--parents", "²", "--public-rows", 3000), ("'²'", "declared, private")),
        (("sbhg", *PRICE), ("--public-rows", "--parents declared")),
        (("sbhg", *PRICE, "--public-rows", 1), ("--public-rows", "2 or more")),
        (("sbhg", "--epsilon", 1), ("needs --delta",)),
        (("sbhg", "--delta", 1e-6), ("needs --epsilon",)),
        (("sbhg", "--epsilon", 0, "--delta", 1e-6), ("epsilon", "above 0")),
        (("sbhg", "--epsilon", 1, "--delta", 2), ("delta", "above 0 and below 1")),
        (("sbhg", *PRICE, "--public-rows", 3000, "--sweeps", 0), ("sweeps", "1 or more")),
        (("sbhg", *PRICE, "--public-rows", 3000, "--selection-share", 1), ("--selection-share",)),
        (("sbhg", *PRICE, "--parents", "private", "--parents", "los=sev"), ("COLUMN=PARENT",)),
        (("sbhg", *PRICE, "--usefulness", 4), ("does not take --usefulness",)),
        (("privbayes", "--epsilon", 1), ("needs --public-rows",)),
        (("privbayes", "--epsilon", 1, "--public-rows", 3000, "--delta", 1e-6), ("does not take --delta",)),
        (("gibbs", "--parents", "private"), ("promises nothing",)),
        (("pegs", "--alpha", 1, "--parents", "private"), ("--public-rows",)),
        (("pegs", "--alpha", 1, "--parents", "private", "--public-rows", 3000), ("needs a price",)),
    ],
)
def test_bad_parameters(run, discharges, tmp_path, options, words):
    data, book = discharges
    method, *rest = options
    for command in (("quote", data), ("synth", data, "-o", tmp_path / "r")):
        said = run(*command, "-c", book, "-m", method, *rest, "-n", 10)
        assert said.code == 2, said.err
        for word in words:
            assert word in flat(said.err), said.err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("method", ["sbhg", "privbayes"])
def test_a_wrong_public_size_is_refused_without_the_right_one(run, discharges, tmp_path, method):
    data, book = discharges
    price = PRICE if method == "sbhg" else ("--epsilon", 1)
    words = ("synth", data, "-c", book, "-m", method, *price, "--public-rows", 2222, "-n", 10, "-o", tmp_path / "r")
    said = run(*words)
    assert said.code == 2 and "2,222 records" in flat(said.err)
    assert "3000" not in said.err.replace(",", "")
    assert list(tmp_path.iterdir()) == []


def test_nothing_survives(run, discharges, tmp_path):
    """Exit code 1, one sentence with a remedy, no folder, no model; and the attempt stays paid for."""
    data, book = discharges
    account = tmp_path / "d.account"
    us.Account.create(account, dataset="d", epsilon=1.0, delta=0.1, neighbours=us.Neighbours.ADD_REMOVE)
    words = ("synth", data, "-c", book, "-m", "sbhg", "--epsilon", 0.01, "--delta", 1e-9, "--parents", "declared")
    said = run(*words, "-n", 10, "-o", tmp_path / "r", "--save-model", tmp_path / "m.model", "--account", account)
    assert said.code == 1
    for word in ("nothing survives", "Use fewer parents, a larger epsilon", "paid for"):
        assert word in flat(said.err)
    assert [path.name for path in tmp_path.iterdir()] == ["d.account"]
    opened = us.Account.open(account)
    assert 0 < opened.spent().epsilon <= 0.01


def test_model_targets_are_checked_before_anything_is_spent(run, discharges, tmp_path):
    data, book = discharges
    account, there = tmp_path / "d.account", tmp_path / "there.model"
    us.Account.create(account, dataset="d", epsilon=100.0, delta=0.1, neighbours=us.Neighbours.ADD_REMOVE)
    there.write_text("mine")
    words = ("synth", data, "-c", book, "-m", "laplace", "--epsilon", 1, "-n", 10, "--account", account)
    for model, sentence in (
        (there, "exists already; a model never overwrites"),
        (tmp_path / "no" / "folder" / "m.model", "does not exist"),
        (tmp_path / "r" / "m.model", "does not exist"),
        (tmp_path / "r", "give the model another name"),
        ("/proc/m.model", "nothing can be written"),
    ):
        said = run(*words, "-o", tmp_path / "r", "--save-model", model)
        assert said.code == 2 and sentence in flat(said.err), said.err
    said = run(*words[:5], "pegs", "--alpha", 1, "-n", 10, "-o", tmp_path / "r", "--save-model", tmp_path / "m.model")
    assert said.code == 2 and "route S" in said.err
    assert there.read_text() == "mine"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["d.account", "there.model"]
    assert us.Account.open(account).history() == []


@pytest.fixture(scope="module")
def model(discharges, tmp_path_factory) -> Path:
    data, book = discharges
    path = tmp_path_factory.mktemp("model") / "m.model"
    recipe = us.make_recipe("laplace", epsilon=1.0)
    recipe.fit(us.open(str(data), us.Codebook.load(book))).save_model(path)
    return path


def test_draw_refuses_what_is_no_model(run, model, tmp_path):
    broken = tmp_path / "broken.model"
    raw = bytearray(model.read_bytes())
    raw[len(raw) // 3] ^= 0xFF
    cut = "not a whole model file"
    for content, words in ((raw, cut), (raw[:100], cut), (b"", "is empty"), (b"hello", "is not a model file")):
        broken.write_bytes(content)
        said = run("draw", broken, "-n", 5, "-o", tmp_path / "r")
        assert said.code == 2 and words in flat(said.err), said.err
        told = run("draw", broken, "-n", 5, "-o", tmp_path / "r", "--json")
        assert told.code == 2 and told.json["error"]["kind"] == "ReleaseError"
    said = run("draw", tmp_path / "nowhere.model", "-n", 5, "-o", tmp_path / "r")
    assert said.code == 2 and "there is no model file" in flat(said.err)
    assert [path.name for path in tmp_path.iterdir()] == ["broken.model"]


@pytest.mark.parametrize("rows", ["0", "-5", "many", "1.5"])
def test_draw_refuses_bad_rows(run, model, tmp_path, rows):
    said = run("draw", model, "-n", rows, "-o", tmp_path / "r")
    assert said.code == 2 and rows in said.err
    assert list(tmp_path.iterdir()) == []


def test_draw_checks_its_folder_first(run, model, tmp_path):
    (tmp_path / "there").mkdir()
    assert "exists already" in flat(run("draw", model, "-n", 5, "-o", tmp_path / "there").err)
    assert "does not exist" in flat(run("draw", model, "-n", 5, "-o", tmp_path / "no" / "such").err)
    made = run("draw", model, "-n", 5, "-o", tmp_path / "r", "--csv")
    assert made.code == 0 and (tmp_path / "r" / "synthetic.csv").exists()
