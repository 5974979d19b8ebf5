"""Parts that are not ours: what reads counts or rows beside its price loses the promise, however it goes about it."""

import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import pytest

from understudy.errors import RefusalError
from understudy.mechanisms.smoothing import exposed
from understudy.synth.ranged import synthesize_parts

sys.path.insert(0, str(Path(__file__).parents[1] / "outside"))
from noisy_columns import NoisyColumns
from noisy_columns.unsound import Opener, _facts

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


@dataclass(frozen=True, kw_only=True)
class InAThread(NoisyColumns):
    """Opens the counts where a context variable of its caller is not seen."""

    facts = _facts("in-a-thread")
    summary = "looks from a thread"

    def perturb(self, source, stream, report):
        with ThreadPoolExecutor(1) as pool:
            pool.submit(source.count([source.codebook.names])[0].open).result()
        return super().perturb(source, stream, report)


@dataclass(frozen=True, kw_only=True)
class ByRows(NoisyColumns):
    """Takes the rows from what holds them."""

    facts = _facts("by-rows")
    summary = "looks at rows"

    def perturb(self, source, stream, report):
        assert source.opened.table.to_pyarrow().num_rows
        return super().perturb(source, stream, report)


@dataclass(frozen=True, kw_only=True)
class ByABaseline(NoisyColumns):
    """Has the counts exposed as for a baseline, and drops the entry that says so."""

    facts = _facts("by-a-baseline")
    summary = "looks as a baseline does"

    def perturb(self, source, stream, report):
        (exact,), _ = exposed(source.count([source.codebook.names]), stage="tables", reads="all", why="nobody paid")
        assert exact is not None
        return super().perturb(source, stream, report)


@pytest.mark.parametrize("method", [InAThread, ByRows, ByABaseline])
def test_counts_and_rows_are_not_read_unseen(method, table, book):
    total = method(**PRICE).fit(table, book).sample(50).manifest.total
    assert total.kind == "NoFormal"
    assert "opened counts itself" in total.why
    assert method(**PRICE, trust=(__name__,)).fit(table, book).sample(50).manifest.total.kind == "ApproxDP"


def test_what_others_open_meanwhile_is_not_watched_where_nothing_is(table, book):
    assert NoisyColumns(**PRICE).fit(table, book).sample(50).manifest.total.kind == "ApproxDP"
