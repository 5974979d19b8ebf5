"""The additive score: its price, its plan, and what it learns."""

from dataclasses import replace

import numpy as np
import pytest

from tests.scored_records import BOOK, FEATURES, held, records, true_odds
from understudy.codebook import Codebook
from understudy.errors import ParameterError
from understudy.mechanisms.stream import Stream
from understudy.privacy import ApproxDP, Ledger
from understudy.trees import Additive, make_training
from understudy.trees import additive as room
from understudy.trees.features import features_of


def area(label, score):
    """Chance that a positive record has the larger score."""
    positive, negative = score[label == 1], np.sort(score[label == 0])
    below = np.searchsorted(negative, positive, "left") + np.searchsorted(negative, positive, "right")
    return float(below.mean() / 2 / len(negative))


def grown(size, epsilon, replicates=0, seed=None):
    stream = Stream.from_system() if seed is None else Stream.seeded(seed)
    cells = held(*records(size))
    return room.grow_additive(cells, FEATURES, epsilon=epsilon, delta=1e-6, stream=stream, replicates=replicates)


@pytest.mark.parametrize("epsilon", [0.05, 1.0, 20.0])
def test_it_pays_one_line_that_is_known_before_the_data(epsilon):
    training = Additive(epsilon=epsilon, delta=1e-6)
    cells = held(*records(200))
    entries = training.grow(cells, FEATURES, Stream.from_system()).entries
    assert entries == training.price(FEATURES)
    total = Ledger.of(entries).total(delta=1e-6)
    assert isinstance(total, ApproxDP)
    assert 0.99 * epsilon <= total.epsilon <= epsilon and total.delta == 1e-6


@pytest.mark.parametrize("size", [0, 1, 400, 20_000])
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 10.0])
def test_no_plan_spends_more_units_than_there_are(size, epsilon, monkeypatch):
    meters = []
    plain = room.Meter
    monkeypatch.setattr(room, "Meter", lambda *given: meters.append(plain(*given)) or meters[-1])
    forest, _ = grown(size, epsilon, replicates=3)
    assert 0 <= meters[0].left <= 8  # what rounding leaves over
    probability, low, high = forest.score(records(50)[0])
    assert ((probability > 0) & (probability < 1)).all() and (low <= probability).all() and (probability <= high).all()


def test_more_is_asked_where_there_are_more_records_for_the_noise():
    """The plan follows from price, codebook and the noisy size alone."""
    event = room.gaussian_sums_event(epsilon=1.0, delta=1e-6, neighbours=room.Neighbours.ADD_REMOVE)
    meter = room.Meter(event, Stream.seeded(1))
    plans = [room._plan(FEATURES, meter, size) for size in (20.0, 400.0, 1e4, 1e6)]
    assert [plan.level for plan in plans] == [0, 1, 2, 2]
    assert [plan.rounds for plan in plans][::3] == [1, 4]
    units = int((1 - room.CLASSES - room.BANDS) * event.units)
    assert all(plan.ranks + plan.labels + plan.moments + plan.residuals == units for plan in plans)
    assert [plan.groups for plan in plans] == [0, 0, 16, 32]


def test_hollows_are_found_in_groups():
    """Illness at both ends of a number, which has no slope: 10,000 records at epsilon 1."""
    rng = np.random.default_rng(6)
    codes = np.stack([rng.integers(0, 32, 10_000), rng.integers(0, 32, 10_000)], axis=1).astype(np.uint8)
    odds = 2.0 * (np.abs(codes[:, 0] - 15.5) > 11) - 1.0
    label = (rng.random(10_000) < 1 / (1 + np.exp(-odds))).astype(np.intp)
    book = Codebook(columns=(FEATURES[1].column, replace(FEATURES[1].column, name="other"), BOOK.column("ill")))
    features, cells = features_of(book, "ill"), held(codes, label)
    forest, _ = room.grow_additive(cells, features, epsilon=1.0, delta=1e-6, stream=Stream.from_system(), replicates=0)
    vote, other = map(np.array, forest.votes)
    # 2 in truth; a group of 312 records is known within .2 by chance and .1 by noise, a mean of several far better
    assert abs(np.delete(vote, range(5, 27)).mean() - vote[5:27].mean() - 2.0) < 0.5
    assert np.ptp(other) < 1.0


def test_many_records_give_nearly_the_best_order_and_calibrated_scores():
    """20,000 records at epsilon 5, against the true chances; illness is no straight line of anything."""
    codes, label = records(20_000, seed=9)
    forest, _ = grown(20_000, 5.0)
    score = forest.score(codes)[0]
    assert area(label, score) > area(label, true_odds(codes)) - 0.015
    for part in np.array_split(np.argsort(score), 5):
        # within 5 standard errors of a share of 4,000 records, and what additive curves cannot follow
        assert abs(score[part].mean() - label[part].mean()) < 0.04 + 0.03


def test_a_score_follows_the_ward_and_not_the_noise():
    forest, _ = grown(20_000, 5.0)
    spans = [max(vote) - min(vote) for vote in forest.votes]
    assert spans[0] > spans[2] > max(spans[1], spans[3])
    assert np.argmax(forest.votes[2]) == 2


def test_more_epsilon_does_not_hurt():
    """Areas at rising epsilons fall by no more than .03, six deviations of 20 fits."""
    codes, label = records(4_000, seed=3)
    means = [
        np.mean([area(label, grown(800, epsilon, seed=seed)[0].score(codes)[0]) for seed in range(20)])
        for epsilon in (0.1, 0.5, 1.0, 2.0, 5.0, 10.0, 100.0)
    ]
    assert min(np.diff(means)) > -0.03
    assert means[-1] > area(label, true_odds(codes)) - 0.02


def test_cumulative_shares_never_fall_and_end_at_one():
    rng = np.random.default_rng(2)
    group = np.repeat(np.arange(8), 4)
    for _ in range(50):
        below = room._cumulative(group, rng.normal(0, 30, 8), 100.0)
        assert below[0] == 0.0 and below[-1] == 1.0 and (np.diff(below) >= 0).all()
    exact = room._cumulative(group, np.array([10.0, 0, 0, 0, 30, 0, 0, 60]), 100.0)
    assert exact[[4, 16, 20, 32]] == pytest.approx([0.1, 0.1, 0.4, 1.0])


def test_it_needs_a_delta():
    with pytest.raises(ParameterError, match="delta"):
        make_training("additive", epsilon=1.0)
