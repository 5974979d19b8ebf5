"""What a page says about errors and invented pairs, held against draws whose truth is known."""

import numpy as np
import pytest

from understudy.commute.jobs import open_commutes, synthesize_commutes
from understudy.commute.released import read_release
from understudy.commute.reliability import (
    DrawErrors,
    draw_errors,
    expected_invented,
    invented_of_all,
    invented_of_drawn,
    own_draws,
)
from understudy.datasets import commutes
from understudy.sources.flows import read_flows

TOWN = commutes(3000, seed=5, homes=120, workplaces=15)


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    from understudy.commute import CommuteRecipe

    folder = tmp_path_factory.mktemp("errors") / "release"
    given = open_commutes(TOWN.flows, count="workers", places=TOWN.places)
    synthesize_commutes(CommuteRecipe(epsilon=3.0, delta=1e-6, certificate="exact"), given, out=folder, seed=11)
    return read_release(folder)


def test_the_numbers_are_those_of_the_law(made):
    """Estimate and variance of one area, from 4,000 draws of the law itself with the numbers that the page gets."""
    event = own_draws(made.manifest)
    errors = draw_errors(made, event)
    assert isinstance(errors, DrawErrors) and len(errors.gains) == len(made.flows.destinations)
    place = int(np.argmax(made.flows.totals))
    workers = int(made.flows.totals[place])
    alpha, origins = errors.virtual[place], len(made.origins)
    assert errors.gains[place] * workers == pytest.approx(workers + alpha * origins)
    generator = np.random.default_rng(3)
    cells, real = origins // 4, workers // 2
    shares = generator.beta(real + alpha * cells, workers - real + alpha * (origins - cells), 4000)
    drawn = generator.binomial(workers, shares)
    estimates = drawn * errors.gains[place] - cells * alpha
    bound = errors.factors[place] * drawn.mean()
    assert abs(estimates.mean() - real) < 8 * np.sqrt(bound / 4000)
    assert estimates.var() < 1.15 * bound, "the page's variance is an upper bound"
    assert np.mean(np.abs(estimates - real) < 1.96 * np.sqrt(errors.factors[place] * drawn)) > 0.93


def test_as_many_pairs_are_invented_as_public_numbers_say(made):
    real = read_flows(TOWN.flows, count="workers", origins=list(made.origins)).cells.open()
    released = made.flows.cells.open()
    pairs = [set(zip(cells.rows.tolist(), cells.units.tolist(), strict=True)) for cells in (real, released)]
    invented = len(pairs[1] - pairs[0])
    expected = expected_invented(made, own_draws(made.manifest), pairs=len(pairs[1]))
    slack = 8 * np.sqrt(expected.most)
    assert expected.least - slack <= invented <= expected.most + slack
    assert 0 < expected.least < expected.most and "the real flows were not used" in expected.sentence


def test_releases_of_other_kinds_have_no_draws():
    assert own_draws({"ledger": [], "inputs": {}}) is None


@pytest.mark.parametrize("seed", range(5))
def test_noisy_flows_say_how_many_pairs_are_invented(seed):
    """Flows whose truth is known, under noise as large as theirs: both statements hold, and are no empty ones.

    Half of the pairs are empty, and half have 1, 2 or 5 workers: the ends are far from the truth beside their noise.
    """
    generator = np.random.default_rng(seed)
    truth = generator.permutation(np.repeat([0, 1, 2, 5], [20_000, 10_000, 6_000, 4_000]))
    deviations = np.full(len(truth), 2.0)
    estimates = truth + generator.normal(0, deviations)
    least, most = invented_of_drawn(estimates, deviations)
    assert least < 20_000 < most
    assert most == pytest.approx(40_000 - 42_000**2 / 134_000, rel=0.1)  # what Cauchy and Schwarz leave open
    assert least == 0  # more workers than pairs: none need be empty
    sparse = generator.permutation(np.repeat([0, 1, 2], [36_000, 3_000, 1_000]))
    least, most = invented_of_drawn(sparse + generator.normal(0, deviations), deviations)
    assert 31_000 < least < 36_000 < most < 39_500
    shown = np.where(estimates > 3, 1, 0)  # chosen by the same noise that they are judged by
    invented = int(np.sum(truth[shown > 0] == 0))
    found = invented_of_all(shown, estimates, deviations)
    assert invented - 8 * np.sqrt(invented) < found < 3 * invented


def test_nothing_is_said_to_be_invented_where_there_is_no_noise():
    truth = np.array([3.0, 0.0, 2.0])
    assert invented_of_all(truth, truth, np.zeros(3)) == 0
    assert invented_of_drawn(np.array([2.0, 2.0]), np.zeros(2)) == (0, 0)
    assert invented_of_drawn(np.zeros(0), np.zeros(0)) == (0, 0)
