"""Parts that are not ours: what reads counts or rows beside its price loses the promise, however it goes about it."""

import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import pytest

from understudy.blocks.choosing import ParentChoice
from understudy.errors import ParameterError, RefusalError
from understudy.mechanisms.histogram import GeometricHistogram
from understudy.mechanisms.smoothing import exposed
from understudy.privacy import Neighbours, PureDP
from understudy.privacy.events import event_from_dict
from understudy.privacy.ledger import Entry
from understudy.synth.methods.pegs import PeGS
from understudy.synth.ranged import synthesize_parts
from understudy.synth.seeds import SeedPool
from understudy.trees.recipe import RiskScore
from understudy.trees.train import OneTree

sys.path.insert(0, str(Path(__file__).parents[1] / "outside"))
from noisy_columns import NoisyColumns
from noisy_columns.unsound import Cheap, Opener, _facts

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


ALPHA = {"alpha": 50.0, "delta": 1e-6}


class RealRows(SeedPool):
    """Starts of chains from the confidential table, unlike RealSeeds without a word about it."""

    def cells(self, source):
        found, _ = exposed(source.count([source.codebook.names]), stage="seeds", reads="rows", why="")
        return found[0].occupied()


@dataclass(frozen=True, kw_only=True)
class BestParents(ParentChoice):
    """Looks at exact counts and forgets to say so: the base class has no entries."""

    word = "best"

    def check(self, book):
        pass

    def choose(self, source, stream, report=None):
        assert source.count([source.codebook.names])[0].open() is not None
        return {"a": ("b",), "b": ()}


@dataclass(frozen=True, kw_only=True)
class CheapParents(ParentChoice):
    """Prices itself, with an event that nobody here knows."""

    word = "cheap"

    def check(self, book):
        pass

    def entries(self, book):
        return [Entry(stage="parents", reads="parents", event=Cheap(epsilon=0.01))]

    def choose(self, source, stream, report=None):
        return {"a": ("b",), "b": ()}


def test_starts_of_another_package_are_watched(table, book):
    recipe = PeGS(**ALPHA, seeds=RealRows())
    with pytest.raises(RefusalError, match="opened counts itself"):
        recipe.fit(table, book).sample(5)
    assert RealRows.__qualname__ in recipe.parameters()["seeds"]  # it said "uniform"


@pytest.mark.parametrize(("parents", "reason"), [(BestParents(), "opened counts"), (CheapParents(), "prices Cheap")])
def test_a_choice_of_parents_of_another_package_is_watched(parents, reason, table, book):
    recipe = PeGS(**ALPHA, parents=parents)
    total = recipe.fit(table, book).sample(5).manifest.total
    assert total.kind == "NoFormal" and reason in total.why
    assert recipe.parameters()["parents"] == {"choice": parents.word}
    trusted = PeGS(**ALPHA, parents=parents, trust=(__name__, "noisy_columns"))
    made = trusted.fit(table, book).sample(5)
    assert made.manifest.total.kind == "ApproxDP" and "trusts by name" in made.statement


@dataclass(frozen=True, kw_only=True)
class LookingTree(OneTree):
    """Grows as ours does, after a look at the records."""

    def grow(self, cells, features, stream):
        assert cells.open() is not None
        return super().grow(cells, features, stream)


def test_a_way_to_train_is_one_of_ours():
    """A class of the caller's was priced, charged and stated as the method that it derives from."""
    with pytest.raises(ParameterError, match="`training` is of the type LookingTree"):
        RiskScore(training=LookingTree(epsilon=1.0), target="b")


def test_an_event_of_ours_is_not_replaced():
    """Every manifest, account and model that holds such an event would be priced by the newcomer from then on."""
    paid = GeometricHistogram(scale=Fraction(1), neighbours=Neighbours.ADD_REMOVE)
    with pytest.raises(TypeError, match="already"):

        class Free(GeometricHistogram):
            kind = GeometricHistogram.kind

            def guarantee(self):
                return PureDP(epsilon=0.0, neighbours=Neighbours.ADD_REMOVE)

    assert event_from_dict(paid.to_dict()).guarantee() == paid.guarantee()
