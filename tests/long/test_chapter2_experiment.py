"""Chapter 2 redrawn: every figure is a picture, and the numbers are those that the guide speaks of."""

import sys
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parents[2]))  # experiments are no part of the package

from experiments.chapter2.models import fit, regression_table
from experiments.chapter2.run import main
from experiments.chapter2.study import QUASI, number, prepare
from understudy.anonymize.measure import class_sizes


@pytest.fixture(scope="module")
def study():
    return prepare(rows=4000)


def test_a_quick_run_writes_all_figures_and_tables(tmp_path, capsys):
    numbers = main(quick=True, out=tmp_path)
    assert "Table 2.3" in capsys.readouterr().out
    drawn = sorted(tmp_path.glob("*.svg"))
    assert [path.name.split("-")[2][0] for path in drawn] == ["1", "2", "3", "4", "5", "5", "6", "7"]
    for path in drawn:
        ElementTree.fromstring(path.read_text(encoding="utf-8"))
    assert "Table 2.1" in (tmp_path / "tables.md").read_text(encoding="utf-8")
    assert numbers["k"] >= 3 and numbers["rare_boxes"]["released"] == 0
    assert numbers["uniques_five_columns"] >= numbers["uniques_by_region"] >= numbers["uniques_by_digits"]
    assert numbers["dollars_per_day"] > 0


def test_each_stage_is_what_it_says(study):
    assert study.original.num_rows > study.prepared.num_rows
    assert None not in study.prepared.column("los").to_pylist()
    assert max(map(number, study.prepared.column("charge").to_pylist())) < 20_000
    assert set(study.by_digits.column("patzip").to_pylist()) <= {"90***", "91***", "93***"}
    assert class_sizes(study.released, QUASI).min() >= 3
    assert study.released.num_rows + study.anonymous.facts[-1]["suppressed"] >= study.prepared.num_rows


def test_regression_is_least_squares_of_what_is_determined(study):
    found = fit(study.released, target="los", other="charge")
    left = found.observed - found.fitted
    assert abs(left.sum()) < 1e-6  # there is an intercept
    charges = np.array([number(value) for value in study.released.column("charge").to_pylist()])
    assert abs(left @ charges) < 1e-3 * np.abs(charges).sum()  # nothing of the charges is left in the residuals
    assert 0 <= found.explained <= 1
    assert regression_table("t", found).count("\n") == len(found.names) + 3
