"""The PeGS experiment: its verdicts, one sweep, and figures that are well formed."""

import itertools
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

sys.path.insert(0, str(Path(__file__).parents[2]))  # experiments are no part of the package

from experiments.pegs import figures
from experiments.pegs.blocks import sweep
from experiments.pegs.maps import AMOUNT, EPSILONS, UNIQUE
from experiments.pegs.report import METHODS, below, claims, verdict
from experiments.pegs.settings import discharges, nhds


def test_a_difference_within_two_standard_errors_decides_nothing():
    assert below((1.0, 0.1), (2.0, 0.1)) == 1
    assert below((2.0, 0.1), (1.0, 0.1)) == -1
    assert below((1.0, 0.1), (1.2, 0.1)) == 0
    assert [verdict(signs) for signs in ([1, 1], [1, 0], [1, -1])] == ["agrees", "undecided", "differs"]


def test_a_sweep_changes_one_column_after_the_other():
    setting = discharges(quick=True)
    rows = sweep(setting)
    names = setting.source.codebook.names
    assert [row[0] for row in rows] == ["seed", *names]
    for step, (before, after) in enumerate(itertools.pairwise(rows), start=1):
        moved = [k for k in range(1, len(after)) if before[k] != after[k]]
        assert moved in ([], [step])


def collected() -> dict:
    """Numbers as the maps collect them: everything falls with epsilon, by far more than its spread."""
    formulas = ["y > 1 ~ a", "y ~ a"]
    names = ["marginal_mse", "marginal_mae", "kendall_marginal", "spearman_marginal", "mode_attack: c", AMOUNT, UNIQUE]
    names += [f"{kind} | {given}" for given in ("age", "zip") for kind in ("conditional_mse", "conditional_mae")]
    names += [f"coefficient_distance: {formula}" for formula in formulas]
    terms = [f"coefficient: {formula}: {term}" for formula in formulas for term in "ab"]
    series = {
        method: {
            str(epsilon): dict.fromkeys([*names, *terms], (1 / epsilon + place, 1e-6))
            | {"mode_attack: c (bootstrap)": (-1.0, 1e-6)}
            for epsilon in EPSILONS
        }
        for place, method in enumerate(METHODS)
    }
    return {
        "series": series,
        "references": {"marginal_mae": {"bootstrap": 0.1}},
        "coefficients": dict.fromkeys(terms, 2.0),
        "repeats": 5,
        "formulas": formulas,
        "given": ["age", "zip"],
        "category": "c",
        "amount": "y",
        "known": ["age", "zip"],
    }


def test_figures_are_well_formed_and_claims_are_judged():
    found = collected()
    for drawn in figures.maps(found).values():
        assert ElementTree.fromstring(drawn).tag.endswith("svg")
    judged = {claim: word for claim, word, _ in claims(found)}
    assert judged["marginal distances fall with epsilon"] == "agrees"
    assert judged["PeGS.rs has the smallest marginal distance at epsilon 0.1"] == "differs"
    assert judged["PMI has the worst linear coefficients at epsilon 10"] == "agrees"


@pytest.mark.data
def test_nhds_has_thirteen_columns(data_folder):
    setting = nhds(quick=True)
    assert setting is not None and len(setting.source.codebook.names) == 13
    assert "unknown" not in setting.source.codebook.column("MDC").labels
