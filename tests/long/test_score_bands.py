"""The noise band of the additive score: as wide as it says, over enough fits to tell half of it from the whole."""

import numpy as np

from tests.scored_records import FEATURES, held, records
from understudy.mechanisms.stream import Stream
from understudy.trees import additive as room
from understudy.trees import scorers


def test_the_noise_band_holds_the_score_without_noise_nine_times_in_ten(monkeypatch):
    """Over 100 fits. Were all records covered or missed together, their share would have a deviation of .03."""
    fits, level = 100, scorers.BAND
    asked, cells = records(60, seed=4)[0], held(*records(4_000))
    event = room.gaussian_sums_event(epsilon=2.0, delta=1e-6, neighbours=room.Neighbours.ADD_REMOVE)
    plan = room._plan(FEATURES, room.Meter(event, Stream.from_system()), 4_000.0)
    assert plan.groups and plan.rounds > 1  # every kind of step is in it
    monkeypatch.setattr(room, "_plan", lambda *given: plan)

    def scored(**given):
        return room.grow_additive(cells, FEATURES, epsilon=2.0, delta=1e-6, stream=Stream.from_system(), **given)[0]

    bands = [scored().score(asked) for _ in range(fits)]
    with monkeypatch.context() as patched:  # the same fit, drawn together as if there were noise, without the noise
        patched.setattr(room.Meter, "_joined", lambda self, exact, share: exact.astype(np.float64))
        truth = scored(replicates=0).score(asked)[0]

    def covered(width):
        ends = [(middle - width * (middle - low), middle + width * (high - middle)) for middle, low, high in bands]
        return float(np.mean([(low <= truth) & (truth <= high) for low, high in ends]))

    tolerance = 4 * (level * (1 - level) / fits) ** 0.5
    assert covered(1.0) > level - tolerance
    assert covered(0.5) < level - tolerance  # half a band has 59 in a hundred: it would fail
