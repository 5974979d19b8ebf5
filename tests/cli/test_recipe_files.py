"""A recipe file holds all choices, and every release can be repeated from the one that it yields."""

import json
import tomllib

import pytest
from registry_examples import EXAMPLES

from understudy.errors import ParameterError
from understudy.parameters import options_of
from understudy.synth.choices import Choices, read_recipe
from understudy.synth.registry import METHODS, make_recipe


@pytest.mark.parametrize("name", METHODS)
def test_a_recipe_survives_its_file(name, tmp_path):
    recipe = make_recipe(name, **EXAMPLES[name])
    path = tmp_path / "recipe.toml"
    path.write_text(Choices(method=name, options=recipe.parameters(), rows=7).to_toml())
    choices = read_recipe(path)
    assert choices.rows == 7
    assert choices.recipe(None, None) == recipe


@pytest.mark.parametrize("name", METHODS)
def test_every_option_has_help_and_takes_its_own_default_and_example_back(name):
    for option in options_of(METHODS[name]).values():
        assert option.help.endswith(".") and option.rule.words
        if option.default is not None and not option.is_required:
            plain = option.rule.plain(option.default)
            assert option.rule.read(option.name, plain, None) == option.default
        assert (
            option.rule.read(option.name, option.rule.plain(option.rule.read(option.name, option.rule.example)))
            is not None
        )


def test_the_recipe_of_a_release_makes_another_one(run, discharges, tmp_path):
    data, book = discharges
    price = ("--epsilon", 2, "--delta", 1e-6, "--workload", "charge=3", "-n", 40)
    assert run("synth", data, "-c", book, *price, "-o", tmp_path / "r").code == 0
    assert run("recipe", tmp_path / "r", "-o", tmp_path / "recipe.toml").code == 0
    content = tomllib.loads((tmp_path / "recipe.toml").read_text())
    assert content["workload"] == {"charge": 3.0} and content["rows"] == 40
    said = run("synth", data, "-c", book, "--recipe", tmp_path / "recipe.toml", "-o", tmp_path / "s", "--json")
    assert said.code == 0, said.err
    first, second = (json.loads((tmp_path / name / "manifest.json").read_text()) for name in "rs")
    assert first["parameters"] == second["parameters"] and first["rows"] == second["rows"]
    assert first["guarantee"] == second["guarantee"]


def test_flags_win_over_the_file(run, discharges, tmp_path):
    data, book = discharges
    path = tmp_path / "recipe.toml"
    path.write_text('method = "laplace"\nepsilon = 1.0\nrows = 5\n')
    said = run("quote", data, "-c", book, "--recipe", path, "--epsilon", 3, "-n", 6, "--json")
    assert said.code == 0, said.err
    quote = json.loads(said.out)
    assert quote["rows"] == 6 and 2 < quote["total"]["epsilon"] <= 3


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("epsilon = 1", "names no method"),
        ('method = "laplac"', "Did you mean 'laplace'"),
        (
            'method = "laplace"\nepsilon = "much"\nrows = 5',
            "recipe.toml': 'epsilon' is 'much'; it must be a finite number above 0",
        ),
        (
            'method = "laplace"\nepsilon = 1\nalpha = 2\nrows = 5',
            "recipe.toml': laplace does not take 'alpha'; it takes 'detail_epsilon'",
        ),
        ('method = "laplace"\nepsilon = 1', "rows"),
        ("method = ", "neither JSON"),
        ('method = "laplace"\nepsilon = 1\nrows = -5', "recipe.toml': 'rows' is -5; it must be a whole number from 1"),
        ('method = "laplace"\nepsilon = 1\nrows = 5\nneighbours = "nobody"', "one of add-remove, replace-one"),
    ],
)
def test_a_bad_file_is_one_sentence(run, discharges, tmp_path, text, words):
    data, book = discharges
    path = tmp_path / "recipe.toml"
    path.write_text(text + "\n")
    said = run("quote", data, "-c", book, "--recipe", path)
    assert said.code == 2 and words in " ".join(said.err.split()), said.err


def test_a_method_that_contradicts_its_file_is_refused(run, discharges, tmp_path):
    data, book = discharges
    path = tmp_path / "recipe.toml"
    path.write_text('method = "laplace"\nepsilon = 1.0\nrows = 5\n')
    said = run("quote", data, "-c", book, "--recipe", path, "-m", "pegs")
    assert said.code == 2 and "leave one of them out" in " ".join(said.err.split())


def test_what_is_not_there_is_named():
    with pytest.raises(ParameterError, match="cannot be read"):
        read_recipe("nowhere.toml")
