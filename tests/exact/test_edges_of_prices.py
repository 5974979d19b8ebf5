"""Edges of prices and of small mechanisms, each held to by itself (see decision 0178).

What is exact here is said by hand: noise is replaced by a scripted stream or by none, so that a fault
in one line shows.
"""

import math
from fractions import Fraction

import numpy as np
import pytest

from understudy.errors import DataError, ParameterError, RefusalError
from understudy.mechanisms import (
    labelled,
    laplace_tables,
    leaf_answers,
    people_histogram,
    record_sums,
    rule_support,
    vector_sums,
)
from understudy.mechanisms.capped_answers import CappedAnswers
from understudy.mechanisms.discrete_gaussian import LEAST_VARIANCE
from understudy.mechanisms.exact_laplace import COUNT_LIMIT, MAX_SCALE
from understudy.mechanisms.gaussian_measurements import LEAST_DELTA, GaussianMeasurements, Meter, gaussian_sums_event
from understudy.mechanisms.histogram import GeometricHistogram
from understudy.mechanisms.histories import HistoryMeasurements, history_event
from understudy.mechanisms.labelled import (
    UNIT,
    Cells,
    Grove,
    grove_sums,
    kept_leaf_counts,
    labelled_cells,
    noisy_leaf_counts,
    pooled,
    set_aside,
    split_apart,
)
from understudy.mechanisms.laplace_tables import noisy_tables, share_of
from understudy.mechanisms.leaf_answers import (
    call_ledger,
    call_scale,
    locally_noisy_mean,
    neighbouring_means,
    noisy_leaves,
    sealed_counts,
    unsealed_counts,
)
from understudy.mechanisms.max_norm import _exp_minus, _geometric, acceptance, max_norm_event, max_norm_noise
from understudy.mechanisms.people_histogram import noisy_people, people_histogram_event
from understudy.mechanisms.prediction import (
    PerturbedPrediction,
    draw_predicted,
    fitted_in_secret,
    to_units,
    unit_bits,
)
from understudy.mechanisms.record_sums import LEAN, RecordSums, moments_squared, sums_squared, vectors
from understudy.mechanisms.rule_support import RuleSupport, rule_support_event, supported
from understudy.mechanisms.smoothing import open_for_draws
from understudy.mechanisms.stability import stability_delta
from understudy.mechanisms.stream import Stream
from understudy.mechanisms.vector_sums import (
    Lengths,
    Released,
    VectorSums,
    cut_vectors,
    gaussian_deviation,
    most_units,
    noisy_vector_sums,
    quieter_event,
    vector_sums_event,
)
from understudy.privacy import Neighbours, Secret
from understudy.privacy.guarantees import ApproxDP, NoFormal, PureDP
from understudy.privacy.ledger import Entry, Ledger
from understudy.sources import CountTable

AR, RO = Neighbours.ADD_REMOVE, Neighbours.REPLACE
PEOPLE = Neighbours.ADD_REMOVE_PERSON


class Scripted:
    """Gives the numbers of a list, and notes below what each was asked for."""

    def __init__(self, *numbers):
        self.numbers, self.asked = list(numbers), []

    def below(self, limit):
        self.asked.append(limit)
        return self.numbers.pop(0)


# ---- sums of vectors


def test_the_price_of_sums_is_what_one_record_moves():
    for neighbours, epsilon in ((AR, 3.0), (RO, 6.0)):
        event = VectorSums(scale=Fraction(2), moved=6, neighbours=neighbours)
        assert event.guarantee() == PureDP(epsilon=epsilon, neighbours=neighbours)
        made = vector_sums_event(VectorSums, epsilon=epsilon, moved=6, neighbours=neighbours)
        assert made == event and made.renyi(np.array([1.5]))[0] <= epsilon


def test_units_of_sums_are_halved_until_noise_can_be_drawn():
    most = int(MAX_SCALE)
    assert most_units(1.0, wanted=8, times=1, neighbours=AR) == 8
    assert most_units(1.0, wanted=most, times=1, neighbours=AR) == most
    assert most_units(1.0, wanted=2 * most, times=1, neighbours=AR) == most
    assert most_units(1.0, wanted=most, times=1, neighbours=RO) == most // 2
    assert most_units(0.5, wanted=most, times=2, neighbours=AR) == most // 4
    assert most_units(1.0, wanted=4, times=4 * most, neighbours=AR) == 1
    with pytest.raises(ParameterError):
        most_units(-1.0, wanted=4, times=1, neighbours=AR)


def test_vectors_are_cut_to_both_lengths():
    given = np.array([[3, -3], [4, 0], [5, 0], [0, 0], [-9, 3], [2, 2]])
    assert cut_vectors(given, Lengths(moved=4, squared=100)).tolist() == [
        [2, -2], [4, 0], [4, 0], [0, 0], [-2, 1], [2, 2],
    ]  # fmt: skip
    assert cut_vectors(given, Lengths(moved=100, squared=8)).tolist() == [
        [1, -1], [2, 0], [2, 0], [0, 0], [-1, 0], [2, 2],
    ]  # fmt: skip
    every = np.array([[a, b, c] for a in range(-6, 7) for b in range(-6, 7) for c in range(-6, 7)])
    for lengths in (Lengths(moved=5, squared=9), Lengths(moved=7, squared=24), Lengths(moved=1, squared=1)):
        cut = cut_vectors(every, lengths)
        assert np.abs(cut).sum(axis=1).max() <= lengths.moved and (cut * cut).sum(axis=1).max() <= lengths.squared
        assert (cut * every >= 0).all()
        short = (np.abs(every).sum(axis=1) <= lengths.moved) & ((every * every).sum(axis=1) <= lengths.squared)
        assert (cut[short] == every[short]).all()


def table_of(counts):
    counts = np.asarray(counts)
    return CountTable.sparse(("a",), (len(counts),), np.arange(len(counts))[:, None], counts)


def ruled(codes):
    at = codes[:, 0].astype(np.int64)
    return np.array([0, 1, -1, 2])[at], np.stack([at + 1, -at], axis=1)


@pytest.mark.parametrize("together", [1, 3, 1 << 22])
def test_sums_of_every_slot_without_noise(together, monkeypatch):
    monkeypatch.setattr(vector_sums, "discrete_laplace", lambda exact, **_how: exact)
    monkeypatch.setattr(vector_sums, "_TOGETHER", together)
    words = {"slots": 2, "width": 2, "lengths": Lengths(moved=3, squared=100), "stream": Stream.of_seed(1)}
    event = VectorSums(scale=Fraction(3, 2), moved=3, neighbours=AR)
    found = noisy_vector_sums(Secret(table_of([2, 5, 7, 9])), ruled, event=event, **words)
    assert found.values.tolist() == [[2.0, 0.0], [10.0, -5.0]], "slots beyond the list are left out"
    assert (found.laplace, found.normal) == (1.5, 0.0) and found.variance == 4.5
    wider = {**words, "slots": 3, "lengths": Lengths(moved=3, squared=100)}
    assert noisy_vector_sums(Secret(table_of([2, 5, 7, 9])), ruled, event=event, **wider).values.tolist() == [
        [2.0, 0.0], [10.0, -5.0], [9.0, -9.0],
    ]  # fmt: skip
    for asked, paying in ((4, event), (2, GeometricHistogram(scale=Fraction(1), neighbours=AR))):
        with pytest.raises(ParameterError, match="are paid for"):
            noisy_vector_sums(
                Secret(table_of([1])), ruled, event=paying, **{**words, "lengths": Lengths(moved=asked, squared=9)}
            )
    one = {**words, "lengths": Lengths(moved=1, squared=1)}
    assert noisy_vector_sums(
        Secret(table_of([2, 5])), ruled, event=GeometricHistogram(scale=Fraction(1), neighbours=AR), **one
    ).values.tolist() == [[2.0, 0.0], [0.0, 0.0]]
    with pytest.raises(ParameterError, match="were paid for"):
        noisy_vector_sums(Secret(table_of([1])), ruled, event=event, **{**words, "width": 3})
    full = noisy_vector_sums(Secret(table_of([2 * COUNT_LIMIT])), ruled, event=event, **words)
    assert full.values[0, 0] == COUNT_LIMIT and full.is_full and not found.is_full
    assert Released(values=np.array([-1.0 * COUNT_LIMIT]), laplace=0.0, normal=2.0).is_full
    assert Released(values=np.zeros(0), laplace=1.0, normal=2.0).variance == 6.0


def test_gaussian_sums_are_measured_at_the_length_that_is_paid_for(monkeypatch):
    asked = []

    def summed(_meter, exact, *, squared, units):
        asked.append((squared, units))
        return exact.astype(float), 9.0

    monkeypatch.setattr(Meter, "sums", summed)
    for neighbours, squared in ((AR, 5), (RO, 20)):
        event = gaussian_sums_event(epsilon=1.0, delta=1e-6, neighbours=neighbours)
        found = noisy_vector_sums(
            Secret(table_of([3])), ruled, slots=1, width=2, lengths=Lengths(moved=9, squared=5), event=event,
            stream=Stream.of_seed(1),
        )  # fmt: skip
        assert asked.pop() == (squared, event.units) and (found.laplace, found.normal) == (0.0, 3.0)
        meant = event.sums_variance(squared=squared, units=event.units)
        assert gaussian_deviation(event, Lengths(moved=9, squared=5)) == math.sqrt(meant)


def test_the_quieter_noise_is_chosen():
    words = {"epsilon": 1.0, "neighbours": AR}
    short, long = Lengths(moved=2, squared=2), Lengths(moved=1000, squared=1000)
    assert isinstance(quieter_event(VectorSums, short, delta=None, **words), VectorSums)
    assert isinstance(quieter_event(VectorSums, short, delta=1e-6, **words), VectorSums)
    chosen = quieter_event(VectorSums, long, delta=1e-6, **words)
    assert isinstance(chosen, GaussianMeasurements)
    for moved in range(2, 40):
        lengths = Lengths(moved=moved, squared=4)
        laplace = math.sqrt(2) * float(vector_sums_event(VectorSums, moved=moved, **words).scale)
        quiet = gaussian_deviation(chosen, lengths) < laplace
        assert isinstance(quieter_event(VectorSums, lengths, delta=1e-6, **words), GaussianMeasurements) is quiet


# ---- caps, shares, people


def test_a_cap_of_answers_costs_itself():
    half, small = Fraction(1, 2), Fraction(1, 1024)
    assert CappedAnswers(epsilon=half, delta=Fraction(0), neighbours=AR).guarantee() == PureDP(
        epsilon=0.5, neighbours=AR
    )
    claim = CappedAnswers(epsilon=Fraction(1, 3), delta=small, neighbours=RO).guarantee()
    assert claim == ApproxDP(epsilon=claim.epsilon, delta=float(small), neighbours=RO) and claim.epsilon >= Fraction(
        1, 3
    )
    assert CappedAnswers(epsilon=half, delta=Fraction(1, 3), neighbours=AR).guarantee().delta >= Fraction(1, 3)
    assert CappedAnswers(epsilon=Fraction(0), delta=small, neighbours=AR).renyi(np.array([2.0])) is None
    for epsilon, delta in ((-half, small), (0.5, small), (half, Fraction(1)), (half, -small), (half, 0.1)):
        with pytest.raises(ParameterError):
            CappedAnswers(epsilon=epsilon, delta=delta, neighbours=AR)


def test_shares_of_a_budget_never_exceed_it(monkeypatch):
    for total in (1.0, 0.1, 0.7, 3.3):
        for tables in (1, 2, 3, 7, 10, 49):
            share = share_of(total, tables)
            assert Fraction(share) * tables <= Fraction(total) < Fraction(math.nextafter(share, 9.0)) * tables
    assert share_of(1.0, 1) == 1.0 and share_of(1.0, 4) == 0.25
    with pytest.raises(ParameterError, match="one or more"):
        share_of(1.0, 0)
    asked = []
    monkeypatch.setattr(
        laplace_tables, "noisy_histogram", lambda count, *, epsilon, **_how: asked.append(epsilon) or (count, epsilon)
    )
    assert noisy_tables(["x", "y"], epsilon=1.0, neighbours=AR, stream=None) == (["x", "y"], [0.5, 0.5])
    with pytest.raises(ParameterError):
        noisy_tables(["x"], epsilon=0.0, neighbours=AR, stream=None)


def test_people_by_their_number_of_records(monkeypatch):
    event = people_histogram_event(epsilon=0.5, neighbours=AR)
    assert event.scale == 2 and event.guarantee() == PureDP(epsilon=0.5, neighbours=PEOPLE)
    assert event == people_histogram_event(epsilon=0.5, neighbours=PEOPLE)
    with pytest.raises(ParameterError, match="relation of people"):
        people_histogram.PeopleHistogram(scale=Fraction(1), neighbours=AR)
    curve = event.renyi(np.array([1.5, 1e6]))
    assert 0 < curve[0] < curve[1] <= 0.5 * (1 + 1e-9)
    for shown, people in (([3, -2, 0], (3, 0, 0)), ([0, -1, 0], (1,)), ([0, 0, 1], (0, 0, 1))):
        monkeypatch.setattr(people_histogram, "discrete_laplace", lambda _exact, shown=shown, **_how: np.array(shown))
        assert noisy_people(Secret(table_of([1, 1, 1])), event=event, stream=None) == people


def test_support_of_pairs_costs_all_pairs(monkeypatch):
    event = RuleSupport(scale=Fraction(4), threshold=60, pairs=3, neighbours=AR)
    one = Fraction(stability_delta(Fraction(4), 60))
    claim = event.guarantee()
    assert claim.epsilon == 0.75 and claim.neighbours is AR
    assert 1 - (1 - one) ** 3 <= Fraction(claim.delta) <= (1 - (1 - one) ** 3) * (1 + Fraction(1, 10**12))
    assert RuleSupport(scale=Fraction(4), threshold=60, pairs=3, neighbours=RO).guarantee().epsilon == 1.5
    assert isinstance(RuleSupport(scale=Fraction(1000), threshold=1, pairs=4_096, neighbours=AR).guarantee(), NoFormal)
    made = rule_support_event(epsilon=1.0, delta=1e-6, pairs=3, neighbours=AR).guarantee()
    assert 0.99 < made.epsilon <= 1.0 and 1e-8 < made.delta <= 1e-6
    monkeypatch.setattr(rule_support, "discrete_laplace", lambda exact, **_how: exact)
    shown = supported([Secret(table_of([59, 60, 61]))] * 3, event=event, stream=None)
    assert [table.occupied()[1].tolist() for table in shown] == [[60, 61]] * 3
    for number in (2, 4):
        with pytest.raises(ValueError, match="are paid for"):
            supported([Secret(table_of([1]))] * number, event=event, stream=None)


# ---- people with histories


def test_histories_are_priced_for_a_person():
    event = history_event(epsilon=1.0, delta=1e-6, rows=(1, 3))
    assert event.rows == (1, 3) and event.units % 9 == 0 and event.units >= 9 << 16
    assert event.variance >= LEAST_VARIANCE
    claim = event.guarantee()
    assert claim.neighbours is PEOPLE and claim.epsilon <= 1.0 and claim.delta == 1e-6
    plain = GaussianMeasurements(variance=event.variance, units=event.units, delta=1e-6, neighbours=AR)
    assert claim.epsilon == plain.guarantee().epsilon
    assert history_event(epsilon=1.0, delta=1e-6, rows=(1,)).units == 1 << 16
    with pytest.raises(RefusalError, match="hardly any noise"):
        history_event(epsilon=1e7, delta=1e-6, rows=(1, 3000))


def test_what_is_not_proved_of_histories_is_refused():
    def made(**changed):
        words = {
            "variance": Fraction(33**2),
            "units": 9 << 16,
            "delta": 1e-6,
            "neighbours": AR,
            "rows": (1, 3),
        }
        return HistoryMeasurements(**{**words, **changed})

    assert made().rows == (1, 3)
    assert made(variance=Fraction(LEAST_VARIANCE)) and made(delta=LEAST_DELTA)
    assert made(rows=(1,), variance=Fraction(31**2)) and made(rows=(1,), delta=LEAST_DELTA / 2)
    for changed in (
        {"rows": ()},
        {"rows": (0, 1)},
        {"rows": (1, 0)},
        {"neighbours": RO},
        {"variance": Fraction(31**2)},
        {"delta": LEAST_DELTA / 2},
        {"rows": (2,), "delta": LEAST_DELTA / 2},
    ):
        with pytest.raises(ParameterError):
            made(**changed)


# ---- the max norm


def test_the_price_of_max_norm_sums():
    for neighbours, epsilon in ((AR, 1.5), (RO, 3.0)):
        event = max_norm_event(epsilon=epsilon, sensitivity=3, dimensions=5, neighbours=neighbours)
        assert event.scale == 2 and event.guarantee() == PureDP(epsilon=epsilon, neighbours=neighbours)
        assert (event.sensitivity, event.dimensions) == (3, 5) and event.renyi(np.array([1.5]))[0] <= epsilon
    third = max_norm_event(epsilon=0.3, sensitivity=1, dimensions=1, neighbours=AR)
    assert 0.3 * (1 - 1e-5) < third.guarantee().epsilon <= 0.3
    with pytest.raises(ParameterError):
        max_norm_event(epsilon=0.0, sensitivity=1, dimensions=1, neighbours=AR)


def test_max_norm_noise_step_by_step():
    assert acceptance(3, 2) == (49, 80) and acceptance(0, 1) == (1, 2) and acceptance(2, 3) == (125, 480)
    for numbers, kept in (((5,), True), ((2, 9), False), ((2, 2, 14), True)):
        stream = Scripted(*numbers)
        assert _exp_minus(3, 5, stream) is kept and stream.asked == [5 * k for k in range(1, len(numbers) + 1)]
    assert _exp_minus(1, 1, Scripted(0, 1)) is False and _exp_minus(1, 1, Scripted(0, 0, 2)) is True
    # part 3 of 5 is kept at once; then wholes are counted: one success (two below 1 in a row), one failure
    stream = Scripted(3, 4, 0, 0, 2, 0, 1)
    assert _geometric(Fraction(5, 2), stream) == (3 + 5 * 1) // 2 and stream.numbers == []
    assert stream.asked == [5, 5, 1, 2, 3, 1, 2]


def test_a_radius_is_kept_in_proportion(monkeypatch):
    monkeypatch.setattr("understudy.mechanisms.max_norm._geometric", lambda scale, stream: stream.below(1000))
    stream = Scripted(1, 1, 1, 49, 1, 1, 1, 48, 0, 6)
    assert max_norm_noise(2, scale=Fraction(1), stream=stream) == [-3, 3] and stream.asked == [
        1000, 1000, 1000, 80, 1000, 1000, 1000, 80, 7, 7,
    ]  # fmt: skip


# ---- answers of leaves


def test_a_call_pays_for_every_tree():
    assert call_scale(0.5, 3) == 6
    ledger = call_ledger(call_scale(0.5, 4), 4)
    assert len(ledger) == 4 and ledger.basic() == PureDP(epsilon=0.5, neighbours=AR)


def test_leaf_counts_are_those_of_the_leaf(monkeypatch):
    monkeypatch.setattr(leaf_answers, "discrete_laplace", lambda exact, **_how: exact)
    counts = Secret([np.array([[1, 2], [3, 4]]), np.array([[5, 6]])])
    assert noisy_leaves(counts, [1, 0], scale=Fraction(1), stream=None).tolist() == [[3, 4], [5, 6]]
    with pytest.raises(ValueError, match="zip"):
        noisy_leaves(counts, [1], scale=Fraction(1), stream=None)
    sealed = sealed_counts(counts, more=1)
    assert sealed.open() == {"counts": [[[1, 2], [3, 4]], [[5, 6]]], "more": 1}
    assert [table.tolist() for table in unsealed_counts(sealed, [2, 1]).open()] == [[[1, 2], [3, 4]], [[5, 6]]]
    for part, words in (
        (None, "is missing"),
        ({"counts": [[[1, 2]], [[5, 6]]]}, "do not fit"),
        ({"counts": [[[1, 2, 3], [3, 4, 3]], [[5, 6, 7]]]}, "do not fit"),
        ({"counts": [[[1, 2], [3, -1]], [[5, 6]]]}, "no whole number"),
        ({"counts": [[[1, 2], [3, 0.5]], [[5, 6]]]}, "no whole number"),
    ):
        with pytest.raises(ValueError, match=words):
            unsealed_counts(None if part is None else Secret(part), [2, 1])
    empty = unsealed_counts(Secret({"counts": [[[0, 0]]]}), [1])
    assert empty.open()[0].tolist() == [[0, 0]]


def test_neighbouring_shares_by_enumeration():
    for negative in range(5):
        for positive in range(5):
            around = [(negative + 1, positive), (negative, positive + 1)]
            around += [(negative - 1, positive)] if negative else []
            around += [(negative, positive - 1)] if positive else []
            shares = [p / (n + p) for n, p in around if n + p]
            assert neighbouring_means(negative, positive) == (max(shares), min(shares))
    counts = Secret([np.array([[1, 3]]), np.array([[0, 0]])])
    high, low = neighbouring_means(1, 3)
    empty = neighbouring_means(0, 0)
    answer, scale = locally_noisy_mean(counts, [0, 0], epsilon=0.5, stream=Stream.of_seed(1))
    assert scale == ((high - low) + (empty[0] - empty[1])) / 2 / 0.5
    assert answer - float(Stream.of_seed(1).generator().laplace(0.0, scale)) == pytest.approx(0.625)


# ---- sums of records


def test_vectors_of_records_are_cut_to_the_bound():
    tables = [np.array([[64, 0], [3, -4], [0, 0]]), np.array([[64], [-64]])]
    codes = np.array([[0, 0], [1, 1], [2, 0]], dtype=np.uint8)
    assert vectors(codes, tables, bound=2 * LEAN**2).tolist() == [[64, 0, 64], [3, -4, -64], [0, 0, 64]]
    cut = vectors(codes, tables, bound=LEAN**2)
    assert cut.tolist() == [[45, 0, 45], [2, -3, -63], [0, 0, 64]] and (cut * cut).sum(axis=1).max() <= LEAN**2
    with pytest.raises(ValueError, match="beyond 64"):
        vectors(codes, [np.array([[65], [0], [0]])], bound=LEAN**2)
    assert vectors(codes[:0], tables, bound=1).shape == (0, 3)
    assert sums_squared(100) == 100 + 64**2
    assert moments_squared(100) == 64**2 * 100 + math.ceil(Fraction(100**2 + 64**2 * 100, 2))
    assert moments_squared(3) == 64**2 * 3 + math.ceil(Fraction(9 + 64**2 * 3, 2))


def records(monkeypatch, asked, *, variance=256.0):
    def summed(_meter, exact, *, squared, units):
        asked.append((np.asarray(exact).ravel().tolist(), squared, units))
        return np.asarray(exact, dtype=float), variance

    monkeypatch.setattr(Meter, "sums", summed)
    cells = Cells(codes=np.array([[0, 1], [1, 0]], dtype=np.uint8), counts=np.array([[3, 1], [0, 2]]))
    event = gaussian_sums_event(epsilon=1.0, delta=1e-6, neighbours=AR)
    return RecordSums(cells=Secret(cells), meter=Meter(event, Stream.of_seed(1)))


def test_sums_of_records_by_hand(monkeypatch):
    asked = []
    sums = records(monkeypatch, asked)
    times = record_sums._TIMES
    found = sums.class_counts(lambda codes: codes[:, 0].astype(int), 2, units=7)
    assert found.values.tolist() == [[3.0, 1.0], [0.0, 2.0]] and found.deviation == 16.0 / times
    assert asked.pop() == ([3 * times, times, 0, 2 * times], times**2, 7)
    first, second = sums.histograms([0, 1], [np.array([0, 1]), np.array([-1, 0])], units=5)
    assert (first.values.tolist(), second.values.tolist()) == ([4.0, 2.0], [4.0])
    assert asked.pop()[1:] == (times**2 * 2, 5) and first.deviation == 16.0 / times
    tables = [np.array([[64], [0]]), np.array([[0], [32]])]
    found = sums.residual_sums(tables, lambda codes: np.array([0.25, 2.0]), bound=10**6, units=3)
    # of the first cell 3 pulls of -16 and one of 48, with the vector (64, 32); of the second 2 of 0, with (0, 0)
    assert asked.pop() == ([64 * 0, 0, 0], 64**2 * sums_squared(10**6), 3) and found.deviation == 16.0 / 64**2
    found = sums.residual_sums(tables, lambda codes: np.array([0.25, 0.5]), bound=10**6, units=3, reach=20)
    pulls = 3 * -16 + 20, 2 * 20
    assert asked.pop()[:2] == ([64 * sum(pulls), 64 * pulls[0], 32 * pulls[0]], 400 * sums_squared(10**6))
    mean, moments, deviation = sums.second_moments(tables, bound=10**6, units=2)
    assert asked.pop()[1:] == (moments_squared(10**6), 2) and deviation == 16.0 / 64**2
    assert mean.tolist() == [4.0, 2.0] and moments.tolist() == [[4.0, 2.0], [2.0, 1.0]]


def test_sums_of_records_are_for_records_that_come_or_go():
    event = gaussian_sums_event(epsilon=1.0, delta=1e-6, neighbours=RO)
    with pytest.raises(RefusalError, match="add-remove neighbours only"):
        RecordSums(cells=Secret(None), meter=Meter(event, Stream.of_seed(1)))


# ---- perturbed predictions


def test_the_price_of_perturbed_predictions():
    event = PerturbedPrediction(alpha=Fraction(1, 2), levels=(2, 1, 3), draws=5, neighbours=RO)
    each = math.log(3)
    assert each <= event.per_draw <= each * (1 + 1e-14)
    claim = event.guarantee()
    assert 10 * each <= claim.epsilon <= 10 * each * (1 + 1e-14) and claim.neighbours is RO
    assert event.scaled(Fraction(3)).alpha == Fraction(3, 2)
    for order in (1.5, 2.0, 8.0):
        total = 0.0
        for levels in (2, 3):
            sure, other = (1.5 / (1 + levels / 2), 0.5 / (1 + levels / 2))
            rest = (levels - 2) * other
            total += math.log(sure**order * other ** (1 - order) + other**order * sure ** (1 - order) + rest) / (
                order - 1
            )
        [curve] = event.renyi(np.array([order]))
        assert 5 * total * (1 - 1e-12) <= curve <= 5 * total * (1 + 1e-12)
    assert event.renyi(np.array([1e6]))[0] <= 10 * each * (1 + 1e-12), "no more than the pure price"
    for wrong in ({"alpha": Fraction(0)}, {"levels": ()}, {"levels": (0,)}, {"draws": 0}):
        with pytest.raises(ParameterError):
            PerturbedPrediction(**{"alpha": Fraction(1), "levels": (2,), "draws": 1, "neighbours": AR, **wrong})


def test_predictions_in_whole_units():
    broken = [[np.nan, 1.0], [-0.5, 1.5], [np.inf, 1.0], [0.0, 0.0], [1e308, 1e308]]
    assert to_units(np.array(broken), bits=4).tolist() == [[8, 8]] * 5
    assert to_units(np.array([[0.0, 2.0], [1.0, 2.0], [3.0, 1.0]]), bits=4).tolist() == [[0, 16], [5, 11], [12, 4]]
    assert (unit_bits(Fraction(1), 4), unit_bits(Fraction(1, 1 << 50), 2)) == (40, 50)
    assert unit_bits(Fraction(1 << 30), 2) == 62 - (1 + (1 << 31)).bit_length()
    assert unit_bits(Fraction(1 << 50), 4) == 9
    refused = ((Fraction(1, 3), 2), (Fraction(1, 1 << 61), 2), (Fraction(1 << 55), 1 << 8), (Fraction(1 << 50), 32))
    for alpha, levels in refused:
        with pytest.raises(RefusalError, match="does not fit exact 63-bit weights"):
            unit_bits(alpha, levels)


class Picking:
    """Gives the picks of a list, and notes below what they were asked for."""

    def __init__(self, *picks):
        self.picks, self.asked = list(picks), []

    def below_each(self, limits):
        self.asked.append(limits.tolist())
        return np.array(self.picks.pop(0), dtype=np.uint64)


def test_draws_follow_the_perturbed_prediction():
    bits = unit_bits(Fraction(1), 2)
    whole = 1 << bits
    predicted = np.array([[0.25, 0.75]] * 4)
    edge = whole // 4 + whole
    stream = Picking([0, edge - 1, edge, 3 * whole - 1])
    assert draw_predicted(predicted, alpha=Fraction(1), stream=stream).tolist() == [0, 0, 1, 1]
    assert stream.asked == [[3 * whole] * 4]
    # level 0 is allowed and held to; what the perturbation alone causes becomes an allowed level
    inside = np.array([[True, False, True]] * 3)
    stream = Picking([0, 3 * whole // 2 + 1, 4 * whole - 1], [1])
    found = draw_predicted(np.array([[0.5, 0.25, 0.5]] * 3), alpha=Fraction(1), stream=stream, inside=inside)
    assert found.tolist() == [0, 2, 2] and stream.asked == [[4 * whole] * 3, [2]]
    nothing = Picking([whole + 1], [0])
    assert draw_predicted(
        np.array([[0.0, 1.0, 0.0]]), alpha=Fraction(1), stream=nothing, inside=inside[:1]
    ).tolist() == [0]
    assert nothing.asked == [[4 * whole]]


def test_models_are_opened_only_against_a_ledger_that_pays():
    event = PerturbedPrediction(alpha=Fraction(1), levels=(2,), draws=1, neighbours=AR)
    paying = Ledger((Entry(stage="rows", reads="rows", event=event),))
    models = fitted_in_secret(Secret("counts"), lambda counts: [counts])
    assert open_for_draws([models], event=event, ledger=paying) == [["counts"]]
    for ledger in (Ledger(), Ledger((Entry(stage="rows", reads="rows", event=event.scaled(Fraction(2))),))):
        with pytest.raises(RefusalError, match="does not pay"):
            open_for_draws([models], event=event, ledger=ledger)


# ---- labelled records


def test_labelled_records_are_put_together():
    table = CountTable.sparse(("x", "y"), (2, 3), np.array([[0, 0], [0, 1], [0, 2], [1, 1]]), np.array([2, 3, 4, 5]))
    held = labelled_cells(Secret(table), target="y", positive=1).open()
    assert (held.codes.tolist(), held.counts.tolist()) == ([[0], [1]], [[6, 3], [0, 5]])
    wide = CountTable.sparse(("x", "y"), (257, 2), np.array([[0, 0]]), np.array([1]))
    with pytest.raises(RefusalError, match="more than 256"):
        labelled_cells(Secret(wide), target="y", positive=1)
    limit = CountTable.sparse(("x", "y"), (256, 300), np.array([[255, 0]]), np.array([1]))
    assert labelled_cells(Secret(limit), target="y", positive=1).open().codes.tolist() == [[255]]
    for codes, counts in (
        (np.zeros(2), np.zeros((2, 2))),
        (np.zeros((2, 1)), np.zeros((3, 2))),
        (np.zeros((2, 1)), np.zeros((2, 3))),
    ):
        with pytest.raises(DataError, match="do not fit together"):
            pooled(codes, counts)
    none = pooled(np.zeros((3, 0), np.uint8), np.array([[1, 0], [2, 1], [0, 4]]))
    assert none.counts.tolist() == [[3, 5]] and pooled(np.zeros((0, 2)), np.zeros((0, 2))).codes.shape == (0, 2)


def test_records_are_split_apart_one_by_one():
    cells = Cells(codes=np.array([[0], [1]], dtype=np.uint8), counts=np.array([[2, 1], [0, 1]]))
    stream = Picking([0, 1, 1, 0])
    parts = [part.open() for part in split_apart(Secret(cells), 2, stream)]
    assert stream.asked == [[2] * 4]
    assert [(part.codes.tolist(), part.counts.tolist()) for part in parts] == [
        ([[0], [1]], [[1, 0], [0, 1]]), ([[0]], [[1, 1]]),
    ]  # fmt: skip
    training, aside = set_aside(Secret(cells), one_in=3, stream=Picking([0, 1, 2, 2]))
    assert (aside.open().counts.tolist(), training.open().counts.tolist()) == ([[1, 0]], [[1, 1], [0, 1]])


def test_leaves_and_groves_without_noise(monkeypatch):
    monkeypatch.setattr(labelled, "discrete_laplace", lambda exact, **_how: exact)
    monkeypatch.setattr(labelled, "max_norm_noise", lambda dimensions, **_how: [UNIT] * dimensions)
    cells = Secret(Cells(codes=np.array([[0], [1]], dtype=np.uint8), counts=np.array([[2, 1], [0, 3]])))
    counts, entry = noisy_leaf_counts(cells, lambda codes: codes[:, 0] * 0, 2, epsilon=0.5, stream=None, reads="r")
    assert counts.tolist() == [[2, 4], [0, 0]] and entry.guarantee == PureDP(epsilon=0.5, neighbours=AR)
    groves = [Grove(feature=0, lean=(UNIT, -UNIT)), Grove(feature=0, lean=(UNIT // 2, 0))]
    words = {"epsilon": 0.5, "stream": None, "reads": "r"}
    sums, scale, entry = grove_sums(cells, groves, lambda codes: np.array([0.25, 0.75]), limit=UNIT, **words)
    # two of -1/4 and one of 3/4 lean to the first; three of 1/4 lean away
    assert sums.tolist() == [0.25 - 0.75 + 1, 0.125 + 1] and scale == 2.0
    assert entry.guarantee == PureDP(epsilon=0.5, neighbours=AR) and entry.event.dimensions == 2
    cut, scale, entry = grove_sums(cells, groves[:1], lambda codes: np.array([0.25, 0.75]), limit=UNIT // 8, **words)
    assert cut.tolist() == [(-2 + 1 - 3) / 8 + 1] and scale == 0.25 and entry.event.sensitivity == UNIT // 8
    empty = Secret(Cells(codes=np.zeros((0, 1), np.uint8), counts=np.zeros((0, 2), np.int64)))
    assert grove_sums(empty, groves, lambda codes: 1 / 0, limit=UNIT, **words)[0].tolist() == [1.0, 1.0]
    for lean in ((UNIT + 1,), (-UNIT - 1,), (0.5,)):
        with pytest.raises(ValueError, match="whole numbers"):
            Grove(feature=0, lean=lean)
    assert [table.tolist() for table in kept_leaf_counts(cells, lambda codes: codes[:, 0], 2).open()] == [
        [[2, 1], [0, 3]]
    ]
