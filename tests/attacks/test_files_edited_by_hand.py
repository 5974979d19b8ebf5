"""Manifests, ledgers, models and release folders that somebody changed, and figures that go out with a release."""

import copy
import io
import json
import pickle
import shutil
import zipfile
from decimal import Decimal
from fractions import Fraction

import pytest

import understudy as us
from understudy import verify
from understudy.anonymize.entries import exact
from understudy.anonymize.perturb import AddNoise
from understudy.cli.app import main
from understudy.codebook import Codebook
from understudy.errors import ParameterError, ReleaseError
from understudy.mechanisms import DirichletDraws
from understudy.mechanisms.stream import Stream
from understudy.pages.write import check_page_target
from understudy.privacy import Neighbours
from understudy.privacy.events import event_from_dict
from understudy.privacy.guarantees import PureDP
from understudy.privacy.ledger import Entry, Ledger
from understudy.privacy.secret import Secret
from understudy.release.manifest import read_quote
from understudy.synth import make_recipe
from understudy.synth.model_file import load_model


@pytest.fixture(scope="module")
def folders(table, book, tmp_path_factory):
    place = tmp_path_factory.mktemp("releases")
    recipes = {
        "laplace": make_recipe("laplace", epsilon=1.0),
        "pegs": make_recipe("pegs", alpha=50.0, delta=1e-6),
        "contingency": make_recipe("contingency"),
        "sba": make_recipe("sba", epsilon=1.0, delta=1e-10),
    }
    for name, recipe in recipes.items():
        recipe.fit(us.open(table, book)).sample(20).save(place / name)
    seeded = Stream.seeded(1)
    recipes["laplace"].fit(us.open(table, book), stream=seeded).sample(20).save(place / "seeded")
    return place


@pytest.fixture
def edited(folders, tmp_path):
    def edit(name, change):
        folder = shutil.copytree(folders / name, tmp_path / name)
        manifest = json.loads((folder / "manifest.json").read_text())
        change(manifest)
        (folder / "manifest.json").write_text(json.dumps(manifest))
        return verify(folder)

    return edit


def consistently(manifest):
    """What a careful forger does: total, statement and prices follow from the ledger again."""
    ledger = Ledger.from_list(manifest["ledger"])
    total = ledger.total(delta=manifest["delta_for_total"])
    said = read_quote(manifest).statement_of(manifest["rows"]["number"], looked=manifest["confidential_look"])
    manifest.update(statement=said, guarantee=total.to_dict(), assumptions=list(ledger.assumptions))
    manifest["ledger"] = ledger.to_list()


@pytest.mark.parametrize("name", ["laplace", "pegs", "contingency", "seeded"])
def test_untouched_releases_verify(name, edited):
    verdict = edited(name, lambda manifest: None)
    assert verdict.is_valid, verdict.problems
    assert verdict.total.is_formal == (name in ("laplace", "pegs"))
    if verdict.total.is_formal:
        assert "the method, its parameters and the codebook cost what is stated" in verdict.passed


def smaller_epsilon(manifest):
    manifest["guarantee"]["epsilon"] = 0.1


def smaller_delta(manifest):
    """Both are below a billionth, and one is nothing beside the other."""
    manifest["guarantee"]["delta"] = 1e-300


def other_purchase(manifest):
    """The name of another release of the same price, which the account asked later has paid for."""
    manifest["charged_as"] = "5a0e7a4c-0000-4000-8000-000000000000"


def softer_words(manifest):
    manifest["statement"] = "This file is perfectly private."


def cheaper_event(manifest):
    manifest["ledger"][-1]["event"]["scale"] = "100/1"
    consistently(manifest)


def fewer_draws(manifest):
    manifest["ledger"][-1]["event"]["draws"] = 1
    consistently(manifest)


def larger_prior(manifest):
    for prior in manifest["ledger"][-1]["event"]["priors"]:
        for level in prior:
            level[0] = "5000/1"
    consistently(manifest)


def no_draws(manifest):
    manifest["ledger"][-1]["event"]["priors"] = []


def entry_price(manifest):
    manifest["ledger"][-1]["guarantee"]["epsilon"] = 0.01


def other_assumptions(manifest):
    manifest["assumptions"] = []


def other_relation(manifest):
    manifest["ledger"][-1]["event"]["neighbours"] = "replace-one"
    consistently(manifest)


def without_culprit(manifest):
    manifest["ledger"] = [entry for entry in manifest["ledger"] if entry["event"]["kind"] != "unpriced-read"]
    consistently(manifest)


def invented_price(manifest):
    manifest["ledger"] = [
        Entry(
            stage="rows",
            reads="rows",
            event=DirichletDraws(priors=(((Fraction(600), 3),),), draws=20, neighbours=Neighbours.ADD_REMOVE),
        ).to_dict()
    ]
    manifest["method"] = "pegs"
    consistently(manifest)


@pytest.mark.parametrize(
    ("name", "change", "reason"),
    [
        ("laplace", smaller_epsilon, "is not what the ledger adds up to"),
        ("sba", smaller_delta, "is not what the ledger adds up to"),
        ("laplace", other_purchase, "the table says of itself another release than its manifest"),
        ("laplace", softer_words, "the statement in plain words is not the one that the ledger supports"),
        ("laplace", cheaper_event, "costs epsilon 1, delta 0: one of them was changed"),
        ("laplace", other_relation, "one of them was changed"),
        ("pegs", fewer_draws, "one of them was changed"),
        ("pegs", larger_prior, "one of them was changed"),
        ("pegs", no_draws, "the ledger cannot be priced"),
        ("laplace", entry_price, "the price of tables is not what its event costs"),
        ("laplace", other_assumptions, "the list of assumptions is not that of the ledger"),
        ("seeded", without_culprit, "the randomness was seeded, and the ledger claims a promise all the same"),
        ("contingency", without_culprit, "nothing is recorded"),
    ],
    ids=lambda value: getattr(value, "__name__", None),
)
def test_an_edited_manifest_does_not_verify(name, change, reason, edited):
    verdict = edited(name, change)
    said = "; ".join(verdict.problems)
    if name == "contingency":  # an empty ledger promises nothing, and says so: there is no lie to find
        assert not verdict.total.is_formal and reason in verdict.total.why
    else:
        assert reason in said, said


def test_a_drafted_codebook_behind_a_promise_does_not_verify(folders, tmp_path):
    folder = shutil.copytree(folders / "laplace", tmp_path / "out")
    book = (
        Codebook.load(folder / "codebook.toml").to_toml().replace('levels = ["0"', 'origin = "drafted"\nlevels = ["0"')
    )
    drafted = Codebook.from_toml(book)
    drafted.save(folder / "codebook.toml")
    manifest = json.loads((folder / "manifest.json").read_text())
    from understudy.release.folders import digest_of

    manifest["codebook"]["digest"] = drafted.digest
    manifest["files"]["codebook.toml"] = digest_of(folder / "codebook.toml")
    (folder / "manifest.json").write_text(json.dumps(manifest))
    assert any("levels of b were drafted from the data" in said for said in verify(folder).problems)


@pytest.mark.parametrize("name", ["report.html", "evaluation.json", "real.parquet", ".hidden"])
def test_what_lies_beside_a_release_is_not_part_of_it(name, folders, tmp_path):
    folder = shutil.copytree(folders / "laplace", tmp_path / "out")
    (folder / name).write_text("AUC 0.83, n = 300")
    assert any(f"{name} lies in the folder and is not part of the release" in p for p in verify(folder).problems)


def test_an_evaluation_is_not_written_into_a_release(folders):
    with pytest.raises(ReleaseError, match="must not go out with it"):
        check_page_target(folders / "laplace" / "report.html")


def rewritten(model, target, **changes):
    """A model file with other facts in its description, or other files."""
    with zipfile.ZipFile(model) as archive:
        files = {name: archive.read(name) for name in archive.namelist()}
    described = json.loads(files["model.json"])
    for name, change in changes.items():
        described[name] = change(described[name]) if callable(change) else change
    files["model.json"] = json.dumps(described).encode()
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    target.write_bytes(buffer.getvalue())
    return target


def cheaper(ledger):
    ledger[-1]["event"]["scale"] = "1000/1"
    return ledger


@pytest.mark.parametrize(
    "changes",
    [{"ledger": cheaper}, {"parameters": lambda p: {**p, "epsilon": 5.0}}],
    ids=["cheaper ledger", "dearer recipe"],
)
def test_an_edited_model_is_refused(changes, table, book, tmp_path):
    model = make_recipe("laplace", epsilon=1.0).fit(us.open(table, book)).save_model(tmp_path / "m.model")
    with pytest.raises(ReleaseError, match="one of them was changed"):
        load_model(rewritten(model, tmp_path / "edited.model", **changes))


def test_a_model_without_its_ledger_promises_nothing(table, book, tmp_path):
    model = make_recipe("laplace", epsilon=1.0).fit(us.open(table, book)).save_model(tmp_path / "m.model")
    drawn = load_model(rewritten(model, tmp_path / "edited.model", ledger=[])).sample(5)
    assert "nothing is recorded, so nothing can be claimed" in drawn.manifest.total.why


def test_drawing_from_two_copies_of_a_model_is_covered(table, book, tmp_path):
    """Route N: the tables were paid for once, and every row is computed from them."""
    model = make_recipe("laplace", epsilon=1.0).fit(us.open(table, book)).save_model(tmp_path / "m.model")
    twin = shutil.copy(model, tmp_path / "twin.model")
    for path in (model, twin):
        assert load_model(path).sample(5).manifest.total == PureDP(epsilon=1.0, neighbours=Neighbours.ADD_REMOVE)


@pytest.mark.parametrize(
    "event",
    [
        {"kind": "dirichlet-draws", "priors": [], "draws": 5, "neighbours": "add-remove"},
        {"kind": "dirichlet-draws", "priors": [[["1/1", 2]]], "draws": -5, "neighbours": "add-remove"},
        {"kind": "dirichlet-draws", "priors": [[["-1/2", 2]]], "draws": 5, "neighbours": "add-remove"},
        {"kind": "dirichlet-reset-blocks", "priors": [], "blocks": 5, "neighbours": "add-remove"},
        {"kind": "geometric-histogram", "scale": "-1/1", "neighbours": "add-remove"},
        {"kind": "geometric-histogram", "scale": "1/0", "neighbours": "add-remove"},
        {"kind": "geometric-histogram", "scale": float("inf"), "neighbours": "add-remove"},
        {"kind": "geometric-histogram", "scale": "1e999999999", "neighbours": "add-remove"},
        {"kind": "geometric-histogram", "scale": "1e-999999999", "neighbours": "add-remove"},
        {"kind": "geometric-histogram", "scale": "1/1", "neighbours": "nobody"},
        {"kind": "geometric-histogram", "scale": "1/1", "neighbours": "add-remove", "epsilon": 0},
        {"kind": "exponential-selection", "epsilon": float("nan"), "selections": 3, "neighbours": "add-remove"},
        {"kind": "exponential-selection", "epsilon": "1/2", "selections": 0, "neighbours": "add-remove"},
        {"kind": "of-my-own"},
    ],
    ids=lambda event: "-".join(str(value) for value in list(event.values())[:3]),
)
def test_an_event_that_costs_nothing_or_nonsense_is_refused(event):
    with pytest.raises((ReleaseError, ParameterError)):
        event_from_dict(event)


@pytest.mark.parametrize("number", ["1e999999999", "-1E+999_999_999", Decimal("1e-999999999")])
def test_a_number_that_would_fill_the_memory_is_none(number):
    """Building the fraction took minutes and gigabytes; a recipe for anonymising is a file that anybody may send."""
    assert exact(number) is None
    with pytest.raises(ParameterError, match="`scale`"):
        AddNoise(column="a", scale=number)


@pytest.fixture
def run(capsys):
    def go(*words):
        with pytest.raises(SystemExit) as stop:
            main([str(word) for word in words])
        said = capsys.readouterr()
        assert "Traceback" not in said.err
        return int(stop.value.code or 0), said.out + said.err

    return go


def test_the_command_line_says_the_same(run, folders, data, book, tmp_path):
    """A cheaper ledger, a report inside a release, a completed table, real starts that are called public."""
    codebook = tmp_path / "book.toml"
    book.save(codebook)
    folder = shutil.copytree(folders / "laplace", tmp_path / "out")
    manifest = json.loads((folder / "manifest.json").read_text())
    cheaper_event(manifest)
    (folder / "manifest.json").write_text(json.dumps(manifest))
    code, said = run("verify", folder)
    assert code == 1 and "one of them was changed" in " ".join(said.split())
    code, said = run("evaluate", data, folders / "laplace", "-c", codebook, "-o", folders / "laplace" / "report.html")
    assert code == 2 and "must not go out with it" in " ".join(said.split())
    asked = ("-c", codebook, "-n", 5, "-m", "pegs", "--alpha", 5)
    code, said = run("synth", data, *asked, "--seeds", data, "-o", tmp_path / "seeds")
    assert code == 2 and "it holds the confidential table itself" in " ".join(said.split())
    code, said = run("quote", folders / "contingency" / "synthetic.parquet", *asked)
    assert code == 0 and "synthetic already" in " ".join(said.split())
    code, said = run("quote", data, *asked, "--neighbours", "origin-in-destination")
    assert code == 2 and "belongs to commuting tables" in " ".join(said.split())


@pytest.mark.parametrize("how", [pickle.dumps, copy.copy, copy.deepcopy])
def test_a_secret_is_never_written_or_copied(how):
    with pytest.raises(TypeError, match="a secret is not written to disk"):
        how(Secret({"x": 17}))
