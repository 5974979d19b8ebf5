"""The functions of the package: what they take, what they leave on disk, and what their results show."""

import importlib
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import understudy as us
from understudy.cli.app import PANELS
from understudy.codebook import Categorical, Codebook, Integer, Role
from understudy.errors import ParameterError
from understudy.facade import anonymity, averages, looks
from understudy.reconstruct import Aggregate

BOOK = Codebook(
    columns=(
        Categorical(name="sex", levels=("F", "M"), role=Role.QUASI_IDENTIFIER),
        Categorical(name="county", levels=("A", "B", "C"), role=Role.QUASI_IDENTIFIER),
        Integer(name="days", edges=(0, 2, 4, 8, 30)),
        Categorical(name="ill", levels=("no", "yes"), role=Role.SENSITIVE),
    )
)

GAPS = Codebook(
    columns=(Categorical(name="a", levels=("x", "y"), missing="NA"), Categorical(name="b", levels=("0", "1")))
)


@pytest.fixture(scope="module")
def table() -> pa.Table:
    drawn = np.random.default_rng(5)
    return pa.table(
        {
            "sex": drawn.choice(["F", "M"], 600),
            "county": drawn.choice(["A", "B", "C"], 600),
            "days": drawn.integers(0, 30, 600),
            "ill": drawn.choice(["no", "yes"], 600),
        }
    )


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


MAKERS = {
    "draft": us.draft,
    "synthesize": lambda table: us.synthesize(table, BOOK, rows=20, method="laplace", epsilon=1.0),
    "synthesize_many": lambda table: us.synthesize_many(table, BOOK, 20, "laplace", files=2, epsilon=1.0),
    "count": lambda table: us.count(table, BOOK, by=["sex"], epsilon=1.0),
    "impute": lambda _: us.impute(pa.table({"a": ["x", "y", "NA"] * 40, "b": ["0", "1", "1"] * 40}), GAPS, files=2),
    "anonymize": lambda table: us.anonymize(table, BOOK, k=3, suppression=0.1),
    "train": lambda table: us.train(table, BOOK, target="ill", method="tree", epsilon=1.0),
    "evaluate": lambda table: us.evaluate(table, table, BOOK, risk="none"),
    "reconstruct": lambda table: us.reconstruct(
        pd.DataFrame({"county": ["A", "A", "B"], "days": [1, 2, 3]}),
        Aggregate(by="county", target="charge", values={"A": 1.5, "B": 4.0}),
        "mp",
    ),
    "commute": lambda table: us.commute(
        pa.table({"origin": ["a", "b"] * 30, "destination": ["x"] * 60}),
        4.0,
        "exact",
        delta=1e-5,
        origins=["a", "b", "c"],
    ),
}


@pytest.mark.parametrize("name", MAKERS)
def test_without_out_nothing_is_written(name, table, here):
    assert MAKERS[name](table) is not None
    assert list(here.iterdir()) == []


def test_data_may_be_a_frame_a_table_or_a_path_and_a_book_a_path(table, here):
    path, book = here / "t.csv", here / "book.toml"
    table.to_pandas().to_csv(path, index=False)
    BOOK.save(book)
    made = [
        us.synthesize(data, codebook, rows=9, method="contingency", seed=1).table.to_pydict()
        for data in (table, table.to_pandas(), path, str(path))
        for codebook in (BOOK, book, str(book))
    ]
    assert all(one == made[0] for one in made)


def test_a_method_is_a_name_an_object_or_a_file(table, here):
    recipe = here / "recipe.toml"
    recipe.write_text('method = "laplace"\nepsilon = 2.0\n')
    priced = [
        us.quote(BOOK, 10, "laplace", epsilon=2.0),
        us.quote(BOOK, rows=10, method=us.LaplaceHistogram(epsilon=2.0)),
        us.quote(BOOK, 10, us.read_recipe(recipe)),
    ]
    assert len({one.total for one in priced}) == 1
    with pytest.raises(ParameterError, match=r"delta stand beside a recipe.*LaplaceHistogram\(\.\.\.\)"):
        us.quote(BOOK, 10, us.LaplaceHistogram(epsilon=2.0), delta=1e-6)


CONFIDENTIAL = {
    "check": lambda table: us.check(table, BOOK),
    "evaluate": MAKERS["evaluate"],
    "evaluate_large": lambda table: looks.evaluate_large(table, table, BOOK),
    "audit": lambda table: us.audit(table, BOOK, 3, "laplace", runs=40, epsilon=1.0),
    "anonymize": MAKERS["anonymize"],
    "averages_risk": lambda table: averages.averages_risk(table, BOOK, groups=["county"], value="days"),
    "weigh_anonymity": lambda table: list(us.weigh_anonymity(table, BOOK, 3).values()),
}


@pytest.mark.parametrize("name", CONFIDENTIAL)
def test_confidential_results_show_no_figure(name, table):
    shown = repr(CONFIDENTIAL[name](table))
    assert "confidential" in shown and not any(letter.isdigit() for letter in shown)


@pytest.mark.parametrize("name", ["synthesize", "count", "train", "reconstruct", "commute", "draft"])
def test_results_are_shown_in_one_short_line(name, table):
    shown = repr(MAKERS[name](table))
    assert shown.startswith("<") and len(shown) < 120 and "\n" not in shown


@pytest.mark.parametrize("name", ["evaluate_large", "averages_risk", "audit"])
def test_an_account_remembers_looks_from_python(name, table, here):
    account = us.Account.create("a.account", dataset="d", epsilon=1.0, delta=0.0, neighbours=us.Neighbours.ADD_REMOVE)
    if name == "evaluate_large":
        looks.evaluate_large(table, table, BOOK, account=account)
    elif name == "averages_risk":
        averages.averages_risk(table, BOOK, groups=["county"], value="days", account="a.account")
    else:
        us.audit(table, BOOK, 3, "laplace", runs=40, epsilon=1.0, account=account)
    assert len(account.summary()["looks"]) == 1 and account.history() == []


@pytest.mark.parametrize("room", ["anonymize", "commute", "evaluate", "reconstruct"])
def test_a_room_that_was_imported_can_still_be_called(room):
    """Python puts a subpackage into its package; `us.evaluate` must stay what the user knows."""
    module = importlib.import_module(f"understudy.{room}")
    assert getattr(us, room) is module and callable(module)
    assert module.__doc__.startswith(module._use_case.__doc__.split("\n")[0])
    with pytest.raises(TypeError, match="missing"):
        module()


def test_the_guide_puts_every_command_beside_its_function():
    """What the command line can do, Python can do in one call."""
    page = (Path(__file__).parents[2] / "docs" / "guide" / "python.md").read_text(encoding="utf-8")
    rows = [line.split("|")[1:4] for line in page.splitlines() if line.startswith("| `us.")]
    named = set(re.findall(r"`us\.(\w+)", page))
    functions = {name for name in us.__all__ if name[0].islower()} - {"open", "datasets"}
    assert functions <= named, functions - named
    assert all(hasattr(us, name) for name in named), named
    commands = {
        entry[0] if isinstance(entry, tuple) else entry.__name__ for panel in PANELS.values() for entry in panel
    }
    told = {word.split()[0] for _, _, cell in rows for word in re.findall(r"`([^`]+)`", cell)}
    beside = set(re.findall(r"`(studio|serve|mcp|keys|projects|review)`", page))
    assert commands <= told | beside and told <= commands, (commands - told - beside, told - commands)


@pytest.mark.parametrize("seed", range(8))
def test_what_was_weighed_is_read_again_also_where_no_detail_is_lost(tmp_path, seed):
    """A table whose classes are large enough keeps all its detail: 1 - kept / whole must not round below zero."""
    drawn = np.random.default_rng(seed)
    levels = tuple("abcdefg"[: drawn.integers(2, 8)])
    table = pa.table({"x": np.repeat(levels, drawn.integers(40, 90, size=len(levels)))})
    book = Codebook(columns=(Categorical(name="x", levels=levels),))
    weighed = anonymity.weigh_anonymity(table, book, 5, quasi=("x",), out=tmp_path / "w.json")
    quasi, figures = anonymity.read_weighed(tmp_path / "w.json")
    assert quasi == ["x"] and [one["detail_lost"] for one in figures] == [one.detail_lost for one in weighed.values()]
    assert figures[0]["detail_lost"] == pytest.approx(0, abs=1e-12)
