"""Edges of what stands around the compiled kernels, each held to by itself (see decision 0178)."""

from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest

from understudy.errors import ParameterError, RefusalError, ReleaseError
from understudy.mechanisms import origin_baselines
from understudy.mechanisms.l_diversity import LDiverseDraws, check_l, diverse_tables, diversified, split_counts
from understudy.mechanisms.origin_baselines import (
    SubsampledBinomial,
    _coins,
    _drawn,
    _kept,
    baseline_event,
    check_cells,
    draw_baseline,
)
from understudy.mechanisms.origin_cells import class_cells
from understudy.mechanisms.origin_domain import Index
from understudy.mechanisms.origin_draws import KEEP_ALL, Destinations
from understudy.mechanisms.origin_urn import check_weights
from understudy.mechanisms.sealing import key_id, seal, unseal
from understudy.mechanisms.smoothing import VirtualRecords, open_for_draws, smoothed
from understudy.mechanisms.stream import Stream
from understudy.privacy.ledger import Entry, Ledger
from understudy.privacy.secret import Secret
from understudy.sources.flows import Histograms
from understudy.sources.tables import CountTable


class Scripted:
    """A stream that says what it was told to."""

    def __init__(self, *words: int) -> None:
        self.left = list(words)

    def words(self, count: int) -> np.ndarray:
        said, self.left = self.left[:count], self.left[count:]
        return np.array(said, dtype=np.uint64)


def places(number: int, draws: int = 1) -> Destinations:
    ones = np.ones(number, dtype=np.int64)
    return Destinations(
        workers=ones, draws=ones * draws, cells=ones[:, None], weights=ones[:, None], keeps=ones[:, None] * KEEP_ALL
    )


# ---- baselines of flows


def test_a_worker_is_kept_by_the_upper_half_of_its_word_alone():
    """keep of 2^32 chances: the word below the bound keeps, the bound itself does not."""
    keep = KEEP_ALL // 4
    words = (0, (keep - 1) << 32 | 0xFFFFFFFF, keep << 32, (keep + 1) << 32, (1 << 64) - 1, 0)
    assert _kept(np.array([2, 0, 3, 1]), keep, Scripted(*words)).tolist() == [2, 0, 0, 1]
    assert _kept(np.array([2]), KEEP_ALL, Scripted((1 << 64) - 1, 0)).tolist() == [2]


@pytest.mark.parametrize(("trials", "words", "expected"), [
    (3, [0b1111, 0b1010], [3, 1]), (64, [(1 << 64) - 1, 1], [64, 1]), (65, [(1 << 64) - 1, 0, 0b11, 0b10], [65, 0]),
])  # fmt: skip
def test_coins_are_as_many_bits_as_there_are_trials(trials, words, expected):
    stream = Scripted(*words)
    assert _coins(2, trials, stream).tolist() == expected and stream.left == []


def test_domains_that_are_too_large_are_refused_before_a_cell_is_made(monkeypatch):
    laplace = baseline_event("laplace", epsilon=1.0, delta=None, keep=0.5)
    stable = baseline_event("sba", epsilon=1.0, delta=1e-6, keep=0.5)
    monkeypatch.setattr(origin_baselines, "_MOST_CELLS", 12)
    check_cells(laplace, places(3), 4)
    check_cells(stable, places(3), 5)
    with pytest.raises(RefusalError, match="15 cells"):
        check_cells(laplace, places(3), 5)
    empty = Secret(Histograms.of(*[np.zeros(0, dtype=np.int64)] * 3, number=3))
    ledger = Ledger((Entry(stage="s", reads="flows", event=laplace),))
    with pytest.raises(RefusalError, match="15 cells"):
        draw_baseline(empty, places(3), laplace, ledger=ledger, units=5, stream=Stream.seeded(1))


@pytest.mark.parametrize("method", ["laplace", "subsample", "sba"])
def test_nothing_is_perturbed_that_the_ledger_does_not_pay_for(method):
    event = baseline_event(method, epsilon=20.0, delta=1e-3, keep=1.0)
    cells = Histograms.of(np.array([0, 1]), np.array([2, 0]), np.array([500, 700]), number=2)
    draw = {"units": 3, "stream": Stream.seeded(1)}
    with pytest.raises(RefusalError, match="does not pay"):
        draw_baseline(Secret(cells), places(2), event, ledger=Ledger(()), **draw)
    ledger = Ledger((Entry(stage="s", reads="flows", event=event),))
    rows, units = draw_baseline(Secret(cells), places(2, 400), event, ledger=ledger, **draw)
    assert np.bincount(rows).tolist() == [400, 400]
    # noise of scale 1/10 or some coins on hundreds: nearly all workers are where they were
    assert (units[rows == 0] == 2).mean() > 0.9 and (units[rows == 1] == 0).mean() > 0.9


def test_more_coins_until_the_price_is_met_and_none_beyond():
    event = baseline_event("subsample", epsilon=1.0, delta=1e-3, keep=0.5)
    assert isinstance(event, SubsampledBinomial) and event.guarantee().delta <= 1e-3
    fewer = SubsampledBinomial(keep=event.keep, trials=event.trials - 1, epsilon=1.0)
    assert fewer.guarantee().delta > 1e-3
    with pytest.raises(ParameterError, match="coins"):
        baseline_event("subsample", epsilon=1e-3, delta=1e-12, keep=1.0)


def test_workers_are_drawn_from_the_weights_of_their_own_destination():
    rows, units = _drawn(
        np.array([0, 0, 2]), np.array([5, 7, 9]), np.array([1, 3, 2]), places(3, 4_000), Stream.seeded(3), first=10
    )
    assert set(rows) == {10, 12} and set(units[rows == 12]) == {9}
    share = (units[rows == 10] == 7).mean()
    assert abs(share - 0.75) < 6 * (0.75 * 0.25 / 4_000) ** 0.5


def test_a_destination_without_workers_keeps_its_place():
    """Histograms by region are of the same destinations, the last one too: whatever is drawn goes by their place."""
    cells = Histograms.of(np.array([0, 0, 1]), np.array([0, 2, 1]), np.array([3, 4, 5]), number=4)
    domain = SimpleNamespace(merged=np.zeros(1, dtype=bool))
    by_region = class_cells(Secret(cells), domain, np.array([1, 0, 1])).open()
    assert by_region.starts.tolist() == [0, 1, 2, 2, 2]
    assert by_region.units.tolist() == [1, 0] and by_region.counts.tolist() == [7, 5]
    same = class_cells(Secret(cells), domain, None).open()
    assert same.starts.tolist() == cells.starts.tolist() and same.units.tolist() == cells.units.tolist()


def test_kinds_of_destinations_are_computed_once_and_go_back_to_their_places():
    ones = np.ones((4, 1), dtype=np.int64)
    public = Destinations(
        workers=np.array([9, 5, 9, 5]), draws=np.array([9, 5, 9, 6]), cells=ones, weights=ones, keeps=ones * KEEP_ALL
    )
    once, where = public.distinct()
    assert len(once) == 3 and where.shape == (4,) and where[0] == where[2] != where[1] != where[3]
    assert once.workers[where].tolist() == [9, 5, 9, 5] and once.draws[where].tolist() == [9, 5, 9, 6]


def test_weights_of_62_bits_are_exact_and_longer_ones_are_refused():
    one = np.ones((1, 1), dtype=np.int64)

    def public(draws: int) -> Destinations:
        return Destinations(
            workers=np.array([1 << 61]), draws=np.array([draws]), cells=one, weights=one, keeps=one * KEEP_ALL
        )

    check_weights(public((1 << 61) - 2), [Fraction(1)])
    with pytest.raises(RefusalError, match="63 bits; at most 62"):
        check_weights(public((1 << 61) - 1), [Fraction(1)])
    check_weights(public(5).take([]), [])


@pytest.mark.parametrize("number", [1, 2, 3, 200])
def test_every_unit_is_in_the_grid_where_its_coordinates_say(number):
    """South of the equator too: whoever looks for units around a place looks into these cells alone."""
    draw = np.random.default_rng(1)
    latitudes, longitudes = draw.uniform(-40, 10, number), draw.uniform(-170, 170, number)
    index = Index.build(latitudes, longitudes)
    (rows, columns), (south, west, height, width) = index.shape, index.box
    assert sorted(index.order) == list(range(number)) and len(index.offsets) == rows * columns + 1
    for cell in range(rows * columns):
        for unit in index.order[index.offsets[cell] : index.offsets[cell + 1]]:
            row, column = divmod(cell, columns)
            assert row <= (latitudes[unit] - south) / height <= row + 1 + 1e-9
            assert column <= (longitudes[unit] - west) / width <= column + 1 + 1e-9


# ---- the stream


@pytest.mark.parametrize("bound", [1, 2, 3, 5, 9, 17])
def test_every_outcome_below_a_bound_is_drawn(bound):
    stream = Stream.seeded(7)
    assert {stream.below(bound) for _ in range(60 * bound)} == set(range(bound))  # one missing: below e^-55


def test_where_a_lane_ends_the_next_one_goes_on():
    """A counter that began anew would repeat the noise of the lane."""
    stream = Stream.seeded(7)
    whole = stream._left
    stream._left = 16
    words = stream.words(4)
    assert stream._left == whole - 16 and len(set(words.tolist())) == 4
    assert stream._lanes.take() == 2


# ---- l-diversity


def entropy_of(weights: np.ndarray) -> float:
    shares = weights / weights.sum()
    shares = shares[shares > 0]
    return float(np.exp(-(shares * np.log(shares)).sum()))


@pytest.mark.parametrize("l", [1.0, 1.5, 2.0, 2.9])
def test_every_key_of_a_diverse_table_has_its_entropy(l):  # noqa: E741
    grid = np.array([[9, 0, 0], [5, 4, 0], [0, 0, 0], [3, 3, 3]], dtype=np.int64)
    table = CountTable.dense(("key", "x"), grid)
    made = diversified(
        Secret(table), l=l, floor=0.0, key_of=lambda columns: columns[0].astype(np.int64), key_space=4, dense=True
    ).open()
    weights = np.diff(made.cumulative.astype(float), axis=1, prepend=0)
    for key in range(4):
        assert entropy_of(weights[key]) >= l - 1e-6
    assert len(set(weights[2])) == 1 and len(set(weights[-1])) == 1, "a key that no record has is uniform"
    if l == 1.0:
        assert weights[0][1:].tolist() == [0.0, 0.0], "without a need for it nobody is made up"
        assert weights[1][0] / weights[1][1] == 5 / 4


def test_blocks_that_rule_a_level_out_are_counted():
    grid = np.array([[9, 0, 0], [4, 4, 4], [5, 1, 0]], dtype=np.int64)
    table = CountTable.dense(("a", "x"), grid)

    def made(wanted: float, floor: float) -> list[int]:
        tables = diverse_tables(
            table, keys_of=lambda codes: np.stack([codes[:, 0].astype(np.int32)] * 2), key_space=3,
            ls=(1.0, wanted), floor=floor, threads=1,
        )  # fmt: skip
        return tables.zero_blocks()

    assert made(1.0, 0.0)[1] == 2 and made(1.0, 0.01)[1] == 0 and made(3.0, 0.0)[1] == 0


def test_records_are_split_whatever_their_values():
    table = CountTable.dense(("a",), np.array([4_000, 0, 2_000]))
    assert split_counts(Secret(table), 1, Stream.seeded(1))[0].open() is table
    parts = [part.open().occupied() for part in split_counts(Secret(table), 4, Stream.seeded(1))]
    assert sum(int(counts.sum()) for _, counts in parts) == 6_000
    for codes, counts in parts:
        assert codes[:, 0].tolist() == [0, 2] and np.all(np.abs(counts - [1_000, 500]) < 6 * 28)


def test_l_lies_between_one_and_the_levels_of_its_column():
    assert check_l(2, names=("a", "b"), levels=(3, 1), cap=False) == (2.0, 1.0)
    assert check_l({"a": 3, "b": 1}, names=("a", "b"), levels=(3, 2), cap=False) == (3.0, 1.0)
    assert check_l(4, names=("a",), levels=(3,), cap=True) == (3.0,)
    for wrong in (4, 0.9, {"a": 2, "c": 2}, {}):
        with pytest.raises(ParameterError):
            check_l(wrong, names=("a",), levels=(3,), cap=False)
    for ls, levels in (((), ()), ((2.0,), (2, 2)), ((0.5,), (2,)), ((3.0,), (2,))):
        with pytest.raises(ParameterError):
            LDiverseDraws(ls=ls, levels=levels, floor=0.0)
    assert LDiverseDraws(ls=(2.0, 1.0, 3.0), levels=(2, 1, 4), floor=0.0).guarantee().l == 2.0


# ---- sealing and smoothing


def test_what_is_sealed_opens_with_its_key_beside_its_text_and_not_otherwise():
    key, other = bytes(32), bytes(31) + b"\1"
    box = seal(Secret({"a": [1]}), key=key, bound_to=b"text")
    assert unseal(box, key=key, bound_to=b"text").open() == {"a": [1]}
    assert key_id(key) != key_id(other) and len(key_id(key)) == 16 and key.hex()[:16] != key_id(key)
    assert seal(Secret({"a": [1]}), key=key, bound_to=b"text")["nonce"] != box["nonce"]
    cases = [
        (box, other, b"text", "give the key"),
        (box, key, b"texts", "was changed"),
        (box | {"cipher": "AES"}, key, b"text", "knows ChaCha20"),
        (box | {"text": box["text"][:-8]}, key, b"text", "was changed"),
        ({name: box[name] for name in ("cipher", "key_id", "text")}, key, b"text", "was changed"),
    ]
    for changed, given, text, words in cases:
        with pytest.raises(ReleaseError, match=words):
            unseal(changed, key=given, bound_to=text)


def test_smoothed_counts_are_counts_and_virtual_records():
    table = CountTable.dense(("key", "x"), np.array([[2, 0], [0, 1]]))
    virtual = VirtualRecords.shaped(smallest=Fraction(1, 4), ratios=(1, 3))
    for dense in (True, False):
        made = smoothed(
            Secret(table), virtual=virtual, key_of=lambda columns: columns[0].astype(np.int64), key_space=2, dense=dense
        ).open()
        assert made.cumulative.tolist() == [[9, 12], [1, 8], [1, 4]] and made.unseen == 2
        assert made.keys is None if dense else made.keys.tolist() == [0, 1]
    assert virtual.prior == ((Fraction(1, 4), 1), (Fraction(3, 4), 1))
    tiny = VirtualRecords.shaped(smallest=Fraction(1, 1 << 61), ratios=(1, 1))
    one = CountTable.dense(("x",), np.array([4, 0]))
    with pytest.raises(RefusalError, match="bits"):
        smoothed(Secret(one), virtual=tiny, key_of=lambda columns: columns[0], key_space=1, dense=True)
    fits = CountTable.dense(("x",), np.array([3, 0]))
    smoothed(Secret(fits), virtual=tiny, key_of=lambda columns: columns[0], key_space=1, dense=True)


def test_weights_are_opened_against_a_line_for_them():
    event = baseline_event("laplace", epsilon=1.0, delta=None, keep=0.5)
    with pytest.raises(RefusalError, match="does not pay"):
        open_for_draws([Secret(1)], event=event, ledger=Ledger(()))
    paid = Ledger((Entry(stage="s", reads="x", event=event),))
    assert open_for_draws([Secret(1), Secret(2)], event=event, ledger=paid) == [1, 2]
