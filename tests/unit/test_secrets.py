"""Private counts stay in their box: who may open one, and what a box and a fit refuse."""

import ast
import copy
import pickle
from pathlib import Path

import numpy as np
import pytest
from registry_examples import examples_with

import understudy
from understudy.codebook import Categorical, Codebook
from understudy.errors import RefusalError
from understudy.mechanisms.smoothing import open_for_draws
from understudy.mechanisms.stream import Stream
from understudy.privacy import Ledger, Secret
from understudy.sources import EncodedSource
from understudy.synth import METHODS, PeGS, make_recipe

SRC = Path(understudy.__file__).parent
OPENERS = {"mechanisms", "anonymize", "evaluate"}
"""Rooms whose code may open a secret: `anonymize` releases real records, and its ledger says so."""

ALLOWED: dict[str, str] = {
    "trees/scorers.py: secret.open()": "a plain tree promises nothing; whoever holds the key of its file may see it",
}
"""Calls of `.open()` without arguments elsewhere that open no secret: "file:line text" and why. Paths, gzip files and
accounts are opened with arguments, so they are not met here."""

PUBLIC_TABLES = {"synth/forecast.py", "synth/options.py", "synth/seeds.py", "trees/quality.py"}
"""Files that may call `declared_public`: all open a file that the user names as public, never the confidential one."""

EXPOSED = {
    "blocks/parents.py",
    "reconstruct/risk.py",  # attacks one's own table, as evaluate/ does; its report is confidential and says so
    "synth/methods/contingency.py",
    "synth/detail_tables.py",
    "synth/filling.py",
    "synth/methods/gibbs.py",
    "synth/grouping.py",
    "synth/methods/imputation.py",
    "synth/methods/bayesian_bootstrap.py",
    "synth/seeds.py",
    "trees/train.py",
}
"""Files that may call `exposed`, whose unpriced entry they must also quote."""


def calls_under(folder: Path):
    for path in sorted(folder.rglob("*.py")):
        where = path.relative_to(SRC)
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            yield where, node


def test_secrets_are_opened_only_where_randomness_or_evaluation_lives():
    opened = []
    for where, node in calls_under(SRC):
        if not isinstance(node, ast.Call) or node.args or node.keywords:
            continue
        if isinstance(node.func, ast.Attribute) and node.func.attr == "open":
            text = f"{where.as_posix()}: {ast.unparse(node)}"
            if where.parts[0] not in OPENERS and text not in ALLOWED:
                opened.append(text)
    assert opened == []


def test_nobody_reaches_around_the_box():
    """Neither the private attribute nor `open` passed on as a function."""
    for where, node in calls_under(SRC):
        if where.as_posix() == "privacy/secret.py":
            continue
        if isinstance(node, ast.Attribute):
            assert node.attr not in ("_value", "_Secret__value"), where
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("getattr", "map"):
            assert "Secret.open" not in ast.unparse(node), where
            assert not any(isinstance(a, ast.Constant) and a.value in ("open", "_value") for a in node.args), where


@pytest.mark.parametrize(("name", "files"), [("declared_public", PUBLIC_TABLES), ("exposed", EXPOSED)])
def test_the_two_doors_without_a_price_have_known_callers(name, files):
    callers = {
        where.as_posix()
        for where, node in calls_under(SRC)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == name
    }
    assert callers == files


def small_source():
    book = Codebook(columns=tuple(Categorical(name=name, levels=("0", "1")) for name in "ab"))
    codes = np.tile(np.array([0, 1, 1], dtype=np.uint8), 400)
    return EncodedSource(codebook=book, columns=[codes, codes.copy()])


def test_a_secret_does_not_show_itself():
    for text in (repr(Secret(42)), str(Secret(42)), f"{Secret(42)}", repr([Secret(42)]), repr({"n": Secret(42)})):
        assert "42" not in text
        assert "<withheld>" in text


def test_a_secret_is_not_written_to_disk():
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        with pytest.raises(TypeError, match="secret"):
            pickle.dumps(Secret(42), protocol=protocol)
    with pytest.raises(TypeError, match="secret"):
        copy.deepcopy(Secret(42))


PURE = {"alpha": 1.0, "epsilon_per_record": None, "delta": None}
OPTIONS = examples_with({"pegs": PURE, "pegs-rs": {**PURE, "block_size": 2}, "pmi": PURE})


@pytest.mark.parametrize("method", METHODS)
def test_a_fit_is_not_written_to_disk_and_does_not_show_itself(method):
    fitted = make_recipe(method, **OPTIONS[method]).fit(small_source())
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        with pytest.raises(TypeError, match="confidential"):
            pickle.dumps(fitted, protocol=protocol)
    with pytest.raises(TypeError, match="confidential"):
        copy.copy(fitted)
    assert "withheld" in repr(fitted)
    assert not any(digit in repr(fitted).replace("2 columns", "") for digit in "0123456789")


def test_counts_and_sources_do_not_show_themselves():
    source = small_source()
    assert repr(source.count([["a"]])) == "[<withheld>]"
    assert "1200" not in repr(source)
    assert "withheld" in repr(source)
    assert "1200" not in repr(PeGS(alpha=1.0).fit(source).blocks)


def test_weights_open_only_against_a_ledger_that_pays():
    recipe, source = PeGS(alpha=1.0), small_source()
    fitted = recipe.fit(source, stream=Stream.seeded(1))
    paid, unpaid = recipe.quote(source.codebook, 10), recipe.quote(source.codebook, 11)
    event = paid.ledger.entries[-1].event
    assert len(open_for_draws(fitted.blocks.tables, event=event, ledger=paid.ledger)) == 2
    for ledger in (unpaid.ledger, Ledger()):
        with pytest.raises(RefusalError, match="quote and reserve"):
            open_for_draws(fitted.blocks.tables, event=event, ledger=ledger)
