"""Tables with noise, drawn and priced: what they must hold whatever the noise is, and what it costs (decision 0178)."""

import itertools
import math
import os
from fractions import Fraction

import numpy as np
import pytest

from understudy.errors import ParameterError, RefusalError
from understudy.mechanisms import histogram, origin_baselines, origin_urn
from understudy.mechanisms.discrete_laplace import ADD_REMOVE, clamped_sum
from understudy.mechanisms.exact_laplace import COUNT_LIMIT, LIMIT, SATURATED
from understudy.mechanisms.flow_measurements import FlowMeasurements, FlowMeter, flow_event, measured_deviation
from understudy.mechanisms.gaussian_measurements import Meter, centred
from understudy.mechanisms.group import GroupOf, group_factor, kept_records, share_of_group
from understudy.mechanisms.histogram import GeometricHistogram, SparseHistogram, noisy_histogram_event
from understudy.mechanisms.origin_baselines import (
    SubsampledBinomial,
    _two_cells,
    baseline_event,
    draw_baseline,
)
from understudy.mechanisms.origin_domain import everywhere
from understudy.mechanisms.origin_draws import KEEP_ALL, Certificate, Destinations, OriginDraws
from understudy.mechanisms.origin_urn import draw_origins
from understudy.mechanisms.stability import StabilityHistogram, stability_delta
from understudy.mechanisms.stream import Stream
from understudy.privacy import Neighbours, Secret
from understudy.privacy.guarantees import ApproxDP, NoFormal, PureDP
from understudy.privacy.ledger import Entry, Ledger
from understudy.sources.flows import GroupCells, Histograms
from understudy.sources.tables import CountTable

AR, RO = Neighbours.ADD_REMOVE, Neighbours.REPLACE


# ---- baselines of flows


@pytest.mark.parametrize("trials", [1, 2, 5])
@pytest.mark.parametrize("share", [Fraction(1), Fraction(1, 2), Fraction(1, 8)])
@pytest.mark.parametrize("epsilon", [0.0, 0.4, 3.0])
def test_a_worker_who_moves_between_two_cells_costs_the_hockey_stick_of_their_laws(trials, share, epsilon):
    coins = [Fraction(math.comb(trials, k), 1 << trials) for k in range(trials + 1)]
    without = [*coins, Fraction(0)]
    worker = [(1 - share) * a + share * b for a, b in zip(without, [Fraction(0), *coins], strict=True)]
    ratio = Fraction(math.exp(epsilon))
    pairs = itertools.product(range(trials + 2), repeat=2)
    due = sum(max(worker[a] * without[b] - ratio * without[a] * worker[b], Fraction(0)) for a, b in pairs)
    stated = _two_cells(int(share * KEEP_ALL), trials, epsilon)
    assert float(due) * (1 - 1e-15) <= stated <= float(due) + 1e-12
    if epsilon:
        event = SubsampledBinomial(keep=int(share * KEEP_ALL), trials=trials, epsilon=epsilon)
        assert float(due) <= event.guarantee().delta <= min(1.0, float(due) * (1 + 1e-8) + 1e-12)


def test_baselines_cost_what_was_asked_for_and_are_refused_where_nothing_is_left():
    laplace = baseline_event("laplace", epsilon=0.7, delta=None, keep=1.0)
    assert 0.6999 < laplace.guarantee().epsilon <= 0.7 and laplace.guarantee().neighbours is Neighbours.ORIGIN
    stable = baseline_event("sba", epsilon=0.7, delta=1e-6, keep=1.0)
    assert stable.guarantee().epsilon <= 0.7 and stable.guarantee().delta <= 1e-6
    for delta in (0.0, 1.0, -1e-6):
        for method in ("sba", "subsample"):
            with pytest.raises(ParameterError, match="delta"):
                baseline_event(method, epsilon=1.0, delta=delta, keep=0.5)
    for keep in (0.0, 2.0**-33, 1.1):
        with pytest.raises(ParameterError, match="subsample"):
            baseline_event("subsample", epsilon=1.0, delta=1e-3, keep=keep)
    few = baseline_event("subsample", epsilon=8.0, delta=0.9, keep=0.5)
    assert few.trials == 1 and few.keep == KEEP_ALL // 2


CELLS = Histograms.of(np.array([0, 0, 2, 2, 4]), np.array([0, 2, 1, 2, 0]), np.array([5, 1, 7, 2, 4]), number=5)
GRID = np.array([[5, 0, 1], [0, 0, 0], [0, 7, 2], [0, 0, 0], [4, 0, 0]])


def places(number):
    ones = np.ones((number, 1), dtype=np.int64)
    return Destinations(
        workers=ones[:, 0], draws=np.arange(number) + 1, cells=ones, weights=ones, keeps=ones * KEEP_ALL
    )


@pytest.mark.parametrize("chunk", [1, 3, 6, 1 << 22])
@pytest.mark.parametrize("method", ["laplace", "subsample", "sba"])
def test_synthetic_workers_are_drawn_from_noisy_cells_of_their_own_destination(monkeypatch, method, chunk):
    """With noise that was written down: every cell that is left, once, with its weight, wherever the work was cut."""
    extra = np.array([[-9, 2, 0], [0, 0, 3], [1, -8, 0], [0, -1, 0], [-4, 0, 1]])
    begin, seen = [0], []

    def noised(counts, *, scale, stream):
        if counts.ndim == 1:  # occupied cells alone
            return counts + extra[CELLS.rows, CELLS.units]
        rows = slice(begin[0], begin[0] + len(counts))
        begin[0] += len(counts)
        return counts + extra[rows]

    def coins(cells, trials, stream):
        rows = slice(begin[0], begin[0] + cells // 3)
        begin[0] += cells // 3
        return (extra[rows].ravel() + 9) // 2

    def drawn(rows, units, weights, public, stream, *, first=0):
        each = zip(rows + first, units, weights, public.draws[rows], strict=True)
        seen.extend(tuple(int(word) for word in cell) for cell in each)
        return rows, units

    monkeypatch.setattr(origin_baselines, "_CHUNK", chunk)
    monkeypatch.setattr(origin_baselines, "discrete_laplace", noised)
    monkeypatch.setattr(origin_baselines, "_coins", coins)
    monkeypatch.setattr(origin_baselines, "_kept", lambda counts, keep, stream: counts // 2)
    monkeypatch.setattr(origin_baselines, "_drawn", drawn)
    event = {
        "laplace": GeometricHistogram(scale=Fraction(2), neighbours=Neighbours.ORIGIN),
        "subsample": SubsampledBinomial(keep=KEEP_ALL // 2, trials=9, epsilon=1.0),
        "sba": StabilityHistogram(scale=Fraction(2), threshold=2, neighbours=Neighbours.ORIGIN),
    }[method]
    ledger = Ledger((Entry(stage="s", reads="flows", event=event),))
    told = []
    draw_baseline(
        Secret(CELLS), places(5), event, ledger=ledger, units=3, stream=Stream.seeded(1),
        report=lambda *words: told.append(words),
    )  # fmt: skip
    if method == "laplace":
        left = GRID + extra
    elif method == "subsample":
        left = 2 * (GRID // 2 + (extra + 9) // 2) - 9
    else:
        left = np.where((GRID > 0) & (GRID + extra >= 2), GRID + extra, 0)
    due = [(d, u, int(left[d, u]), d + 1) for d in range(5) for u in range(3) if left[d, u] > 0]
    assert sorted(seen) == due
    if method != "sba":
        assert told[-1] == ("drawing", 5, 5) and len(told) == math.ceil(5 / max(1, chunk // 3))


@pytest.mark.parametrize("draws", [1, 40, 3_000])
def test_every_word_that_draws_an_origin_comes_from_the_stream(monkeypatch, draws):
    """In their order, each offered until it is used: nothing of what lay in the memory before."""
    draw_all, offered, used = origin_urn._draw_all, [], [0]

    def watched(*given):
        *_, pool, _out, _start = given
        offered.append((used[0], pool.copy()))
        start, words = draw_all(*given)
        used[0] += words
        return start, words

    monkeypatch.setattr(origin_urn, "_draw_all", watched)
    ones = np.ones((3, 1), dtype=np.int64)
    public = Destinations(
        workers=np.array([4, 2, 1]), draws=ones[:, 0] * draws, cells=ones * 5, weights=ones, keeps=ones * KEEP_ALL
    )
    cells = Histograms.of(np.array([0, 0, 1, 2]), np.array([1, 4, 0, 3]), np.array([3, 1, 2, 1]), number=3)
    alphas = [Fraction(1, 2)] * 3
    event = OriginDraws.of(public, alphas, certificate=Certificate.PURE, epsilon=1.0, delta=None, rejects=False)
    ledger = Ledger((Entry(stage="s", reads="flows", event=event),))
    out = draw_origins(
        Secret(cells), everywhere(5, 3), public, alphas, gamma=None, ledger=ledger, stream=Stream.seeded(4)
    )
    whole = Stream.seeded(4).words(sum(len(pool) for _, pool in offered))
    assert all((pool == whole[begin : begin + len(pool)]).all() for begin, pool in offered)
    assert len(out) == 3 * draws and used[0] >= 3 * draws


# ---- sparse histograms


@pytest.mark.parametrize("wanted", [0, 1, 3])
def test_a_sparse_histogram_is_noise_on_every_cell_cut_at_its_threshold(monkeypatch, wanted):
    counts = np.array([[9, 0, 0], [0, 3, 1]], dtype=np.int64)
    table = CountTable.dense(("a", "b"), counts)
    event = SparseHistogram(scale=Fraction(2), threshold=4, neighbours=AR)
    asked = []

    def chances(trials, *, chance, stream):
        low, high = chance(200)
        asked.append((trials, Fraction(low + high, 2 << 200)))
        return wanted

    monkeypatch.setattr(histogram, "discrete_laplace", lambda exact, scale, stream: exact + np.array([-5, 1, 9]))
    monkeypatch.setattr(histogram, "exact_binomial", chances)
    monkeypatch.setattr(histogram, "exact_geometric", lambda size, scale, stream: np.array([0, 7, LIMIT])[:size])
    shown = histogram._sparse(table, event, Stream.seeded(5))
    [(trials, chance)] = asked
    q = math.exp(-1 / 2)
    assert trials == 3 and float(chance) == pytest.approx(q**4 / (1 + q), rel=1e-12)
    codes, values = shown.occupied()
    found = {tuple(code): int(value) for code, value in zip(codes.tolist(), values, strict=True)}
    assert {cell: value for cell, value in found.items() if counts[cell]} == {(0, 0): 4, (1, 2): 10, (1, 1): 4}
    others = sorted(value for cell, value in found.items() if not counts[cell])
    assert others == [4, 11, LIMIT][:wanted], "each in an empty cell of its own, and no more than 64 bits"
    assert shown.sizes == (2, 3)


def test_domains_are_dense_then_sparse_then_refused():
    def event(*sizes, epsilon=1.0, relation=AR):
        return noisy_histogram_event(sizes, epsilon=epsilon, neighbours=relation)

    assert isinstance(event(1 << 12, 1 << 12), GeometricHistogram)
    for relation, epsilon in ((AR, 1.0), (RO, 1.0), (AR, 0.1)):
        sparse = event(1 << 12, 1 << 12, 2, relation=relation, epsilon=epsilon)
        q = math.exp(-1 / sparse.scale)
        spurious = (1 << 25) * q**sparse.threshold / (1 + q)
        assert isinstance(sparse, SparseHistogram) and 10_000 * q * 0.99 <= spurious <= 10_000 * 1.01
        assert sparse.guarantee().epsilon <= epsilon and sparse.guarantee().epsilon == pytest.approx(epsilon)
    for wrong in ((), (0,), (3, 0)):
        with pytest.raises(ParameterError, match="sizes"):
            event(*wrong)
    assert isinstance(event(*[2] * 200), SparseHistogram)
    for refused in (lambda: event(*[2] * 201), lambda: event(*[2] * 150, epsilon=0.005)):
        with pytest.raises(RefusalError, match="combinations"):
            refused()


@pytest.mark.parametrize("count", [-COUNT_LIMIT, -3, 0, COUNT_LIMIT])
def test_noise_that_is_as_good_as_infinite_ends_at_the_limit_whatever_the_count(count):
    exact = np.full(4, count, dtype=np.int64)
    noise = np.array([SATURATED, -SATURATED, 5, -5])
    assert clamped_sum(exact, lambda size: noise.copy()).tolist() == [
        LIMIT, -LIMIT, min(count + 5, LIMIT), max(count - 5, -LIMIT)
    ]  # fmt: skip
    assert ADD_REMOVE.admits(AR) and not ADD_REMOVE.admits(RO)


# ---- people


@pytest.mark.parametrize("records", [1, 2, 7])
@pytest.mark.parametrize("epsilon", [0.125, 1.0])
def test_a_person_costs_every_step_from_no_record_to_all(records, epsilon):
    factor = group_factor(epsilon, records)
    due = sum(math.exp(step * epsilon) for step in range(records))
    assert due <= factor * (1 + 1e-15) and factor == pytest.approx(due, rel=1e-9)
    each, slack = share_of_group(epsilon=epsilon, delta=1e-6, records=records)
    assert Fraction(each) * records <= Fraction(epsilon) and each == pytest.approx(epsilon / records)
    assert slack * group_factor(each, records) <= 1e-6 and slack == pytest.approx(1e-6 / group_factor(each, records))
    assert share_of_group(epsilon=epsilon, delta=None, records=records) == (each, None)
    event = StabilityHistogram(scale=Fraction(1) / Fraction(epsilon), threshold=40, neighbours=AR)
    one, whole = event.guarantee(), GroupOf(event=event, records=records).guarantee()
    assert isinstance(whole, ApproxDP) and whole.neighbours is Neighbours.ADD_REMOVE_PERSON
    assert whole.epsilon >= records * one.epsilon * (1 - 1e-15) and whole.epsilon == pytest.approx(
        records * one.epsilon
    )
    assert whole.delta == pytest.approx(one.delta * group_factor(one.epsilon, records))
    assert whole.delta >= float(stability_delta(event.scale, 40))
    for threshold, many in itertools.product((2, 3, 5, 9), range(1, 16)):
        loose = StabilityHistogram(scale=Fraction(2), threshold=threshold, neighbours=AR)
        grown = loose.guarantee().delta * group_factor(loose.guarantee().epsilon, many)
        assert isinstance(GroupOf(event=loose, records=many).guarantee(), ApproxDP if grown < 1 else NoFormal)


def test_the_curve_of_a_person_is_that_of_chained_records():
    event = GeometricHistogram(scale=Fraction(5), neighbours=AR)
    orders = np.array([1.5, 2.0, 9.0])
    for records in (1, 3):
        due = np.zeros(3)
        for j in range(records):
            higher = records * orders - j
            due += records * orders / higher * event.renyi(higher)
        group = GroupOf(event=event, records=records)
        assert isinstance(group.guarantee(), PureDP)
        due = np.minimum(due, group.guarantee().epsilon)
        assert (group.renyi(orders) >= due * (1 - 1e-15)).all() and group.renyi(orders) == pytest.approx(due, rel=1e-9)
    stable = StabilityHistogram(scale=Fraction(2), threshold=20, neighbours=AR)
    assert stable.slack > 0 and GroupOf(event=stable, records=2).renyi(orders) is None
    person = GroupOf(event=event, records=2)
    for wrong in (person, None):
        with pytest.raises(ParameterError, match="event"):
            GroupOf(event=wrong, records=2)


@pytest.mark.parametrize("cap", [1, 2, 5])
def test_of_every_person_so_many_records_take_part_and_any_of_them_may(cap):
    people = np.array([7, 3, 7, 7, 1, 3, 7, 7, 9, 9, 9])
    often = np.zeros(len(people), dtype=np.int64)
    stream = Stream.seeded(11)
    for _ in range(60):
        kept = kept_records(people, cap=cap, stream=stream)
        for person in (1, 3, 7, 9):
            has = int((people == person).sum())
            assert kept[people == person].sum() == min(cap, has)
        often += kept
    # a record of the person with five is left out of all 60 with a chance of at most (4 / 5)^60 = 2e-6
    assert (often > 0).all()
    assert kept_records(people[:0], cap=cap, stream=stream).shape == (0,)


# ---- flows that are measured


def test_measured_flows_are_sums_of_their_workers(monkeypatch):
    event = flow_event(epsilon=2.0, delta=1e-9)
    assert isinstance(event, FlowMeasurements) and event.joins and event.guarantee().epsilon <= 2.0
    taken = []

    def sums(self, exact, *, squared, units):
        taken.append((squared, units))
        return exact.astype(np.float64), 4096.0 * 2

    monkeypatch.setattr(Meter, "sums", sums)
    rng = np.random.default_rng(3)
    rows, units, counts = rng.integers(0, 4, 20), rng.integers(0, 6, 20), rng.integers(1, 9, 20)
    cells = Histograms.of(rows, units, counts, number=4)
    kinds = np.stack([cells.counts // 2, cells.counts - cells.counts // 2], axis=1)
    groups = {"age": Secret(GroupCells(rows=cells.rows, units=cells.units, counts=kinds))}
    meter = FlowMeter(cells=Secret(cells), meter=Meter(event, Stream.seeded(1)), groups=groups)
    home, work = np.array([0, 0, 1, 2, 2, 1]), np.array([1, 0, 1, 0])
    due = np.zeros((3, 2), dtype=np.int64)
    for row, unit, count in zip(cells.rows, cells.units, cells.counts, strict=True):
        due[home[unit], work[row]] += count
    found, variance = meter.pairs(home, work, (3, 2), units=5)
    assert found.reshape(3, 2).tolist() == due.tolist() and variance == 2.0
    assert meter.homes(home, 3, units=6)[0].tolist() == due.sum(axis=1).tolist()
    for listed in ([0, 3, 4], [5], [], list(range(6))):
        pairs = np.array(listed, dtype=np.int64)
        assert meter.listed(home, work, pairs, 2, units=7)[0].tolist() == due.ravel()[pairs].tolist()
    for by_home, place, number in ((True, home, 3), (False, work, 2)):
        whole, spread = meter.characteristic("age", place, number, by_home=by_home, units=8)
        assert whole.shape == (number, 2) and spread == 2.0
        assert whole.sum(axis=1).tolist() == due.sum(axis=1 if by_home else 0).tolist()
        lower = np.zeros(number)
        np.add.at(lower, place[cells.units if by_home else cells.rows], kinds[:, 0])
        assert whole[:, 0].tolist() == lower.tolist()
    assert {squared for squared, _ in taken} == {2 * 64**2} and [u for _, u in taken][:3] == [5, 6, 7]
    monkeypatch.undo()
    assert measured_deviation(event, 9) ** 2 * 4096 == pytest.approx(event.sums_variance(squared=2 * 4096, units=9))
    quiet = FlowMeasurements(variance=Fraction(9), units=10, delta=1e-9, neighbours=Neighbours.ORIGIN)
    with pytest.raises(RefusalError, match="buy too little"):
        measured_deviation(quiet, 9)
    with pytest.raises(RefusalError, match="price of flow measurements"):
        FlowMeter(cells=Secret(cells), meter=Meter(quiet, Stream.seeded(1)))


def test_a_table_without_its_margins_sums_to_nothing_along_every_axis():
    rng = np.random.default_rng(4)
    for shape in ((3,), (2, 5), (3, 2, 4)):
        table = rng.normal(size=shape)
        free = centred(table)
        for axis in range(len(shape)):
            assert np.abs(free.sum(axis=axis)).max() < 1e-12
        assert centred(free) == pytest.approx(free) and (free * (table - free)).sum() == pytest.approx(0, abs=1e-9)


# ---- streams


def test_no_two_streams_share_words_and_a_seed_repeats_its_own():
    def streams():
        seeded = Stream.seeded(3)
        parts = [Stream.for_part(number, seed) for number, seed in ((0, 3), (1, 3), (0, 4))]
        return [seeded, seeded.spawn(), seeded.spawn().spawn(), Stream.seeded(4), Stream.of_seed(5), *parts]

    secure = [Stream.from_system(), Stream.of_seed(None), Stream.for_part(1, None), Stream.checked(None)]
    one, two = ([stream.words(3).tolist() for stream in streams()] for _ in range(2))
    assert one == two and not any(stream.is_secure for stream in streams())
    every = [word for words in one for word in words] + [int(stream.words(1)[0]) for stream in secure]
    assert len(set(every)) == len(every) and all(stream.is_secure for stream in secure)
    assert Stream.checked(secure[0]) is secure[0]
    for wrong in (np.random.default_rng(1), object()):
        with pytest.raises(ParameterError, match="stream"):
            Stream.checked(wrong)
    for wrong in (True, 1.5, "1"):
        with pytest.raises(ParameterError, match="seed"):
            Stream.seeded(wrong)
    with pytest.raises(ParameterError, match="key"):
        Stream(key=bytes(32))


@pytest.mark.parametrize("pieces", [[1000], [1, 2, 997], [131_072, 131_073, 5], [64] * 20])
def test_a_stream_is_one_sequence_however_it_is_asked(pieces):
    whole = Stream.seeded(9).words(sum(pieces))
    stream = Stream.seeded(9)
    assert np.concatenate([stream.words(piece) for piece in pieces]).tolist() == whole.tolist()
    assert len(set(whole[:2000].tolist())) == min(2000, len(whole))


def test_numbers_below_their_bounds_are_even(monkeypatch):
    """Every word in its turn would take too long: six deviations of 30,000 draws of each bound."""
    stream = Stream.seeded(10)
    for bound in (1, 2, 3, 7, 10):
        drawn = stream.below_each(np.full(30_000, bound, dtype=np.uint64))
        counts = np.bincount(drawn.astype(np.int64), minlength=bound)
        assert len(counts) == bound
        assert np.abs(counts - 30_000 / bound).max() <= 6 * math.sqrt(30_000 / bound) and counts.min() > 0
    mixed = np.array([1, 1 << 63, 5, (1 << 64) - 1] * 500, dtype=np.uint64)
    assert (stream.below_each(mixed) < mixed).all() and stream.below_each(mixed[:0]).shape == (0,)
    for wrong in (0, -3):
        with pytest.raises(ParameterError, match="bound"):
            stream.below(wrong)
    big = [stream.below(3 << 200) for _ in range(200)]
    assert all(0 <= each < 3 << 200 for each in big) and max(big) > 2 << 200 and min(big) < 1 << 200


def test_a_forked_process_draws_other_numbers_unless_a_seed_was_given():
    for stream, same in ((Stream.from_system(), False), (Stream.seeded(3), True)):
        stream.words(2)
        read, write = os.pipe()
        child = os.fork()
        if child == 0:
            os.write(write, stream.words(2).tobytes())
            os._exit(0)
        os.waitpid(child, 0)
        theirs = np.frombuffer(os.read(read, 16), dtype=np.uint64)
        os.close(read)
        os.close(write)
        assert (theirs.tolist() == stream.words(2).tolist()) is same
