"""Try to find out from `histories` whether one person with a rare chain of rows was in the data.

The attacker knows everything but that person, and sees the measurements themselves, which tell more than any release.
"""

import math

import numpy as np
from scipy.stats import beta

from understudy.mechanisms.gaussian_measurements import Meter
from understudy.mechanisms.histories import history_event
from understudy.mechanisms.stream import Stream
from understudy.privacy.secret import Secret
from understudy.sources.tables import CountTable

TRIALS = 2_000
FAILS = 1e-9


def _seen(event, rows, present, seed):
    """The cell of the rare chain, measured with everything that the price allows."""
    grid = np.array([[50, 20], [30, rows if present else 0]])
    meter = Meter(event, Stream.seeded(seed)).apart(event.units, rows=rows)
    copies = event.units // meter.table_price
    return meter.table(Secret(CountTable.dense(("before", "now"), grid)), copies=copies)[1, 1]


def _least_epsilon(rows, *, stated, epsilon, delta):
    """The largest epsilon that threshold attacks prove, with certainty 1 - FAILS each."""
    event = history_event(epsilon=epsilon, delta=delta, rows=(1, rows))
    with_person, without = (
        np.array([_seen(event, stated, present, 2 * trial + present) * (rows / stated) for trial in range(TRIALS)])
        for present in (True, False)
    )
    proven = 0.0
    for threshold in np.linspace(0, rows, 9):
        hits, false = int((with_person > threshold).sum()), int((without > threshold).sum())
        if not hits:
            continue
        least = beta.ppf(FAILS, hits, TRIALS - hits + 1)
        most = beta.ppf(1 - FAILS, false + 1, TRIALS - false) if false < TRIALS else 1.0
        if least > delta:
            proven = max(proven, math.log((least - delta) / most))
    return proven


def test_the_presence_of_one_person_is_not_told_beyond_the_price():
    for rows in (1, 3):
        assert _least_epsilon(rows, stated=rows, epsilon=1.0, delta=1e-6) <= 1.0


def test_the_attack_finds_a_price_that_is_too_low():
    """Noise of a thirtieth of the stated price is refuted, so the attack above could have failed."""
    assert _least_epsilon(1, stated=1, epsilon=30.0, delta=1e-6) > 1.0
