"""Parts that are not ours: what reads counts or rows beside its price loses the promise, however it goes about it."""

import sys
from pathlib import Path

import pytest

from understudy.errors import RefusalError
from understudy.synth.ranged import synthesize_parts

sys.path.insert(0, str(Path(__file__).parents[1] / "outside"))
from noisy_columns import NoisyColumns
from noisy_columns.unsound import Opener

PRICE = {"epsilon": 1.0, "delta": 1e-6}


def test_a_method_that_opens_counts_makes_no_parts(table, book, tmp_path):
    """Its price was quoted before the fit, so that the manifest stated a promise all the same."""
    with pytest.raises(RefusalError, match="opened counts itself"):
        synthesize_parts(table, book, Opener(**PRICE), rows=50, part_rows=20, out=tmp_path / "release")
    assert not (tmp_path / "release").exists()


def test_a_method_that_keeps_the_rules_makes_parts(table, book, tmp_path):
    made = synthesize_parts(table, book, NoisyColumns(**PRICE), rows=50, part_rows=20, out=tmp_path / "release")
    assert made.manifest.total.kind == "ApproxDP"


def test_a_method_that_is_trusted_by_name_makes_parts(table, book, tmp_path):
    recipe = Opener(**PRICE, trust=("noisy_columns",))
    made = synthesize_parts(table, book, recipe, rows=50, part_rows=20, out=tmp_path / "release")
    assert made.manifest.total.kind == "ApproxDP"
    assert "trusts by name" in made.statement
