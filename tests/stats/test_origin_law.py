"""Synthetic origins drawn lazily follow the law of the direct draw: thousands of equal destinations, chi-square."""

import math
import sys
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import chi2

sys.path.append(str(Path(__file__).parents[1] / "exact"))
from exact_origins import rejecting, release

from understudy.commute.places import CommuteInput, Places, Rings
from understudy.commute.recipe import CommuteRecipe
from understudy.commute.synthesize import draw
from understudy.mechanisms.origin_cells import class_cells
from understudy.mechanisms.origin_domain import everywhere
from understudy.mechanisms.origin_draws import KEEP_ALL, Certificate, Destinations, OriginDraws
from understudy.mechanisms.origin_urn import draw_origins, exact_binomial_bits
from understudy.mechanisms.stream import Stream
from understudy.privacy import Entry, Ledger, Secret
from understudy.sources.flows import Flows, Histograms

FALSE_ALARM = 1e-10
COPIES = 20_000


def agrees(counts: dict, law: dict) -> None:
    """Pearson's chi-square over outcomes, rare ones pooled so that the approximation holds far into the tail."""
    number = sum(counts.values())
    assert set(counts) <= {out for out, chance in law.items() if chance > 0}, "an impossible output"
    groups, pool = [], [0.0, 0.0]
    for out, chance in law.items():
        expected = number * float(chance)
        if expected >= 25:
            groups.append((counts.get(out, 0), expected))
        else:
            pool[0] += counts.get(out, 0)
            pool[1] += expected
    if pool[1] >= 25:
        groups.append(tuple(pool))
    statistic = sum((seen - expected) ** 2 / expected for seen, expected in groups)
    assert statistic < chi2.isf(FALSE_ALARM, len(groups) - 1)


def tally(units, draws, cells):
    grid = np.zeros((COPIES, cells), dtype=np.int64)
    np.add.at(grid, (np.repeat(np.arange(COPIES), draws), units), 1)
    found, times = np.unique(grid, axis=0, return_counts=True)
    return {tuple(row): int(n) for row, n in zip(found.tolist(), times, strict=True)}


def copies(real, draws, alpha, *, keep=KEEP_ALL, gamma=None, weights=None):
    cells = len(real)
    domain = everywhere(cells, COPIES)
    public = Destinations(
        workers=np.full(COPIES, sum(real)),
        draws=np.full(COPIES, draws),
        cells=np.full((COPIES, 1), cells),
        weights=np.ones((COPIES, 1), dtype=np.int64),
        keeps=np.full((COPIES, 1), keep),
    )
    event = OriginDraws.of(
        public.take(slice(0, 1)),
        [alpha],
        certificate=Certificate.PURE if gamma is None else Certificate.PROBABILISTIC,
        epsilon=1.0 if gamma is None else math.log1p(gamma),  # gamma-Good is of the epsilon that is paid for
        delta=0.01,
        rejects=gamma is not None,
    )
    there = [cell for cell, n in enumerate(real) if n]
    table = Histograms.of(
        np.repeat(np.arange(COPIES), len(there)),
        np.tile(there, COPIES),
        np.tile([real[cell] for cell in there], COPIES),
        number=COPIES,
    )
    ledger = Ledger.of([Entry(stage="origins", reads="test", event=event)])
    units = draw_origins(
        Secret(table), domain, public, [alpha] * COPIES, gamma=gamma, ledger=ledger, stream=Stream.seeded(7)
    )
    return tally(units, draws, cells)


@pytest.mark.parametrize(
    ("real", "draws", "alpha"),
    [((2, 1, 0), 3, Fraction(1, 3)), ((1, 0, 0, 0), 4, Fraction(1, 8)), ((0, 3), 2, Fraction(5, 2))],
)
def test_draws_follow_the_law(real, draws, alpha):
    law = release(real, (alpha,) * len(real), (Fraction(1),) * len(real), draws)
    agrees(copies(real, draws, alpha), law)


@pytest.mark.parametrize("keep", [KEEP_ALL // 2, KEEP_ALL // 8, 3 * (KEEP_ALL // 4)])
@pytest.mark.parametrize(("real", "alpha"), [((2, 0, 0, 0), Fraction(1, 2)), ((1, 1, 0, 0), Fraction(2))])
def test_lazy_shrinking_follows_algorithm_2(real, alpha, keep):
    """Only the number of kept cells is drawn at once; which they are shows when one is needed."""
    law = release(real, (alpha,) * 4, (Fraction(keep, KEEP_ALL),) * 4, 3)
    agrees(copies(real, 3, alpha, keep=keep), law)


def test_no_draw_without_its_price():
    from understudy.errors import RefusalError

    public = Destinations(
        workers=np.array([1]),
        draws=np.array([1]),
        cells=np.array([[2]]),
        weights=np.ones((1, 1), dtype=np.int64),
        keeps=np.full((1, 1), KEEP_ALL),
    )
    table = Histograms.of(np.array([0]), np.array([1]), np.array([1]), number=1)
    event = OriginDraws.of(public, [Fraction(1)], certificate=Certificate.PURE, epsilon=1.0, delta=None, rejects=False)
    paid = Ledger.of([Entry(stage="origins", reads="test", event=event)])
    options = {"gamma": None, "stream": Stream.seeded(1)}
    assert len(draw_origins(Secret(table), everywhere(2, 1), public, [Fraction(1)], ledger=paid, **options)) == 1
    for ledger, alpha in ((Ledger(), Fraction(1)), (paid, Fraction(1, 2))):
        with pytest.raises(RefusalError, match="does not pay"):
            draw_origins(Secret(table), everywhere(2, 1), public, [alpha], ledger=ledger, **options)


def test_rejection_follows_lemma_52():
    alpha, real, gamma = Fraction(1, 2), (2, 1, 0), 3.0
    law = rejecting(release(real, (alpha,) * 3, (Fraction(1),) * 3, 3), real, [alpha] * 3, gamma)
    assert any(chance == 0 for chance in law.values()), "something is rejected"
    agrees(copies(real, 3, alpha, gamma=gamma), law)


def ring_world():
    """Nine origins: three near the destinations, four farther, two far; one destination in COPIES copies."""
    miles = np.array([0.1, 0.4, 0.9, 2.0, 2.5, 3.0, 3.9, 7.0, 9.0])
    names = tuple(f"o{i}" for i in range(9))
    work = tuple(f"w{i:05d}" for i in range(COPIES))
    degrees = miles / 69.0934
    places = Places(
        names=names + work,
        latitudes=np.concatenate([41 + degrees, np.full(COPIES, 41.0)]),
        longitudes=np.full(9 + COPIES, -71.0),
    )
    return names, work, places


@pytest.mark.parametrize("shrink", [pytest.param(False, marks=pytest.mark.long), True])
def test_distance_rings_follow_the_law(shrink):
    """Prior by distance, a cut-off and long commutes apart: the law of the coarser domain, then uniform inside it."""
    import pyarrow as pa

    names, work, places = ring_world()
    rings = Rings(miles=(1.0, 4.0, math.inf), shares=(0.6, 0.3, 0.1), keeps=(1.0, 0.5, 0.25), source="test")
    recipe = CommuteRecipe(
        epsilon=1.0, delta=None, certificate="pure", rings=rings, prior="distance", shrink=shrink, cutoff=8.0, split=4.0
    )
    real = {0: 1, 3: 1}
    cells = Histograms.of(
        np.repeat(np.arange(COPIES), 2), np.tile(list(real), COPIES), np.ones(2 * COPIES, dtype=np.int64), number=COPIES
    )
    flows = Flows(
        destinations=work,
        totals=np.full(COPIES, 2),
        origins=pa.array(names),
        origins_from_data=False,
        cells=Secret(cells),
    )
    plan = recipe.plan(CommuteInput(flows=flows, places=places), secure=False)
    assert plan.public.cells[0].tolist() == [3, 4, 1, 1], "near and middle origins, one long cell, one beyond"
    weights = plan.public.weights[0]
    alpha = plan.alphas[0]
    assert weights.tolist() == [3, 1, 1, 1] or weights[0] > weights[1] >= 1
    kinds = [0, 0, 0, 1, 1, 1, 1, 2, 3]
    alphas = tuple(alpha * int(weights[kind]) for kind in kinds)
    keeps = tuple(Fraction(int(plan.public.keeps[0][kind]), KEEP_ALL) for kind in kinds)
    law = release((1, 0, 0, 1, 0, 0, 0, 0, 0), alphas, keeps, 2)
    drawn = draw(plan, stream=Stream.seeded(11))
    grid = np.zeros((COPIES, 9), dtype=np.int64)
    np.add.at(grid, (drawn.destinations, drawn.origins), 1)
    assert grid[:, 8].sum() == 0, "nobody beyond the cut-off is shown"
    grid[:, 8] = 2 - grid.sum(axis=1)
    found, times = np.unique(grid, axis=0, return_counts=True)
    agrees({tuple(row): int(n) for row, n in zip(found.tolist(), times, strict=True)}, law)
    assert drawn.left_out == grid[:, 8].sum()


def test_a_merged_histogram_counts_everybody():
    names, work, places = ring_world()
    import pyarrow as pa

    recipe = CommuteRecipe(epsilon=1.0, delta=None, certificate="pure", cutoff=8.0, split=4.0)
    cells = Histograms.of(np.zeros(3, dtype=np.int64), np.array([0, 7, 8]), np.array([5, 3, 2]), number=COPIES)
    flows = Flows(
        destinations=work,
        totals=np.full(COPIES, 1),
        origins=pa.array(names),
        origins_from_data=False,
        cells=Secret(cells),
    )
    plan = recipe.plan(CommuteInput(flows=flows, places=places), secure=False)
    merged = class_cells(flows.cells, plan.domain, None).open()
    assert (merged.units.tolist(), merged.counts.tolist()) == ([0, 9 + 1, 9 + 2], [5, 3, 2])


@pytest.mark.parametrize("keep", [1 << 31, 1 << 28, 0xF0000000, 0xABCDEF01])
@pytest.mark.parametrize("trials", [1, 3, 70])
def test_bitwise_binomials(trials, keep):
    """Mean and shape of 20,000 draws."""
    words = Stream.seeded(5).words(1_200_000)
    chance = Fraction(keep, KEEP_ALL)
    law = {k: math.comb(trials, k) * chance**k * (1 - chance) ** (trials - k) for k in range(trials + 1)}
    counts: dict[int, int] = {}
    position = 0
    for _ in range(COPIES):
        value, position = exact_binomial_bits(trials, keep, words, position)
        assert position >= 0
        counts[value] = counts.get(value, 0) + 1
    agrees(counts, law)


def test_a_binomial_that_runs_out_of_words_says_so():
    assert exact_binomial_bits(1000, 1 << 31, np.zeros(3, dtype=np.uint64), 0)[1] == -1
