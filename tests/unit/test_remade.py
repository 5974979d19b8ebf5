"""A recipe made again from its own manifest, or from a file, is the same recipe."""

import json
from dataclasses import replace

import pytest
from test_registry import EXAMPLES

from understudy import datasets
from understudy.blocks.priors import PriorShape, PublicShape
from understudy.errors import ParameterError, RefusalError
from understudy.privacy import Neighbours
from understudy.synth import METHODS, make_recipe
from understudy.synth.choices import load_recipe, remade
from understudy.synth.seeds import PublicSeeds, RealSeeds

BOOK = datasets.discharges_codebook()


def written(recipe):
    """Its parameters as a manifest brings them back."""
    return json.loads(json.dumps(recipe.parameters()))


@pytest.mark.parametrize("method", sorted(METHODS))
def test_every_method_can_be_made_again(method):
    recipe = make_recipe(method, **EXAMPLES[method])
    assert remade(method, written(recipe)) == recipe


@pytest.mark.parametrize(
    ("method", "options"),
    [
        ("pegs", {"neighbours": Neighbours.REPLACE, "prior": PriorShape.ORDINAL, "seeds": RealSeeds()}),
        ("pegs", {"seeds": PublicSeeds(path="a.parquet"), "parents": {"cat": ("sex", "sev")}}),
        ("marginals", {"workload": {"sex": 2.0}}),
        ("lugs", {"l": {"sex": 1.5, "cat": 1.2}}),
        ("imputation", {"order": ("sex", "cat"), "engines": {"sex": "logistic"}}),
    ],
)
def test_choices_survive(method, options):
    try:
        recipe = make_recipe(method, **{**EXAMPLES[method], **options})
    except ParameterError:
        pytest.fail(f"{method} no longer takes {options}")
    assert remade(method, written(recipe)) == recipe


def test_what_a_manifest_says_only_in_words_is_refused():
    recipe = make_recipe("pegs", **EXAMPLES["pegs"])
    public = replace(recipe, prior=PublicShape(counts={"sex": (1, 2)}, source="census"))
    with pytest.raises(RefusalError, match="prior"):
        remade("pegs", written(public))
    with pytest.raises(RefusalError, match="cannot be made again"):
        remade("pegs", {})


def test_a_file_of_choices(tmp_path):
    (tmp_path / "r.toml").write_text('method = "pegs-rs"\nepsilon = 2.0\ndelta = 1e-6\nblock-size = 5\n')
    found = load_recipe(tmp_path / "r.toml", BOOK, 40)
    assert (found.name, found.epsilon, found.block_size, found.rows) == ("pegs-rs", 2.0, 5, 40)
    recipe = make_recipe("laplace", epsilon=1.0)
    manifest = {"method": "laplace", "parameters": written(recipe)}
    (tmp_path / "manifest.json").write_text(json.dumps(manifest))
    assert load_recipe(tmp_path / "manifest.json", BOOK, 40) == load_recipe(tmp_path, BOOK, 40) == recipe


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("r.toml", "method =", "neither JSON"),
        ("r.json", "{", "neither JSON"),
        ("r.toml", "epsilon = 1.0", "names no method"),
        ("r.json", "[1]", "names no method"),
        ("r.toml", 'method = "marginal"', "Did you mean 'marginals'"),
        ("r.toml", 'method = "laplace"', "needs `epsilon`"),
        (
            "r.toml",
            'method = "laplace"\nepsilon = 1.0\nspeed = 3',
            "in the recipe '.*r.toml': laplace does not take 'speed'",
        ),
        ("r.toml", 'method = "laplace"\nepsilon = -1.0', "epsilon"),
        ("r.toml", 'method = "laplace"\nepsilon = "much"', "epsilon"),
    ],
)
def test_bad_files_are_refused_in_a_sentence(tmp_path, name, text, said):
    (tmp_path / name).write_text(text)
    with pytest.raises(ParameterError, match=said):
        load_recipe(tmp_path / name, BOOK, 40)
    with pytest.raises(ParameterError, match="cannot be read"):
        load_recipe(tmp_path / "missing.toml", BOOK, 40)


@pytest.mark.parametrize("method", ["pegs", "pmi"])
def test_a_word_for_seeds_is_refused_instead_of_priced_as_public(method):
    """`seeds="data"` from Python was quoted as if chains began anywhere but in the data."""
    with pytest.raises(ParameterError, match="RealSeeds"):
        make_recipe(method, epsilon_per_record=1.0, seeds="data").quote(BOOK, rows=10)
