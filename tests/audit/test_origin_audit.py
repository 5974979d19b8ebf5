"""Try to refute what a commuting release states: draw from two neighbours and look at the worst output set."""

import math

import numpy as np
import pyarrow as pa
import pytest

from understudy.commute import CommuteRecipe
from understudy.commute.jobs import open_commutes, quote_commutes
from understudy.commute.synthesize import draw
from understudy.mechanisms.stream import Stream

RUNS = 15_000
Z = 6.5
"""Standard errors on each side: a false alarm has probability below 1e-9."""


def hits(home, recipe, seed):
    """How often the canary's block gets more synthetic workers than theorem 4.3 allows, of RUNS destinations."""
    names = [f"w{i:05d}" for i in range(RUNS)]
    flows = pa.table({"origin": ["a"] * (2 * RUNS) + [home] * RUNS, "destination": names * 3})
    given = open_commutes(flows, origins=["a", "b", "c"])
    plan = quote_commutes(recipe, given)
    made = draw(plan, stream=Stream.seeded(seed))
    inside = np.bincount(made.destinations, weights=made.origins == 1, minlength=RUNS)
    return int((inside >= 2).sum()), plan


@pytest.mark.parametrize("certificate", ["exact", "probabilistic", "pure"])
def test_the_stated_epsilon_is_not_refuted(certificate):
    """Three workers per destination; the third lives in b, or in c. P(S) <= e^eps P'(S) + delta for S: two in b."""
    delta = None if certificate == "pure" else 0.02
    recipe = CommuteRecipe(epsilon=1.5, delta=delta, certificate=certificate)
    there, plan = hits("b", recipe, 1)
    absent, _ = hits("c", recipe, 2)
    total = plan.quote.total
    p, q = there / RUNS, absent / RUNS
    low = p - Z * math.sqrt(max(p * (1 - p), 1 / RUNS) / RUNS)
    high = q + Z * math.sqrt(max(q * (1 - q), 1 / RUNS) / RUNS)
    assert low <= math.exp(total.epsilon) * high + total.delta
    assert p > q, "the audit sees something"


def test_a_tenth_of_the_virtual_workers_would_be_caught():
    """Power: drawn with an epsilon of 6 and judged by 1.5, the same output set refutes the promise."""
    weak = CommuteRecipe(epsilon=6.0, delta=None, certificate="pure")
    there, _ = hits("b", weak, 1)
    absent, _ = hits("c", weak, 2)
    p, q = there / RUNS, absent / RUNS
    low = p - Z * math.sqrt(p * (1 - p) / RUNS)
    high = q + Z * math.sqrt(max(q * (1 - q), 1 / RUNS) / RUNS)
    assert low > math.exp(1.5) * high
