"""The coverage experiment of imputation runs and counts what it should."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))  # experiments are no part of the package

from experiments.combining import DESIGNS, coverage


def test_a_short_run_counts_every_rule_and_design():
    tally = coverage(logistic=False, repeats=2)
    assert {design for design, _, _ in tally} == set(DESIGNS)
    assert {rule for _, rule, _ in tally} == {"complete", "full", "partial", "plug-in", "missing"}
    assert all(0 <= held <= number == 2 for held, number, _ in tally.values())
