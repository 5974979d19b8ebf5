"""What a page says about errors and invented pairs, held against draws whose truth is known."""

import numpy as np
import pytest

from understudy.commute.jobs import open_commutes, synthesize_commutes
from understudy.commute.released import read_release
from understudy.commute.reliability import DrawErrors, draw_errors, expected_invented, own_draws
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
