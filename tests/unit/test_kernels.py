"""The compiled loops against big-integer Python, word by word."""

import bisect

import numpy as np
import pytest

from understudy.blocks.keys import ColumnKey, FeatureHashKey, MinHashKey
from understudy.compiled import high_low_product, kernel
from understudy.errors import ParameterError, RefusalError
from understudy.mechanisms.stream import Stream
from understudy.samplers.kernels import LookUp, draw_by_halving, draw_by_scan, mark_visits

WORD = 1 << 64
EDGES = [0, 1, 2, (1 << 32) - 1, 1 << 32, (1 << 63) - 1, 1 << 63, WORD - 2, WORD - 1]


@kernel
def products(left, right, high, low):
    for position in range(len(left)):
        high[position], low[position] = high_low_product(left[position], right[position])


def words_of(values):
    return np.array(values, dtype=np.uint64)


def test_products_have_both_halves():
    random = Stream.seeded(1).words(400).tolist()
    pairs = [(a, b) for a in EDGES for b in EDGES] + list(zip(random[:200], random[200:], strict=True))
    high, low = words_of([0] * len(pairs)), words_of([0] * len(pairs))
    products(words_of([a for a, _ in pairs]), words_of([b for _, b in pairs]), high, low)
    assert [(h << 64) + x for h, x in zip(high.tolist(), low.tolist(), strict=True)] == [a * b for a, b in pairs]


def expected_draws(slots, cumulative, words):
    """Lemire's draw in Python: high half of word x total, again in the first 2^64 mod total of the low half."""
    out, position = [], 0
    for slot in slots:
        bounds = cumulative[slot]
        while True:
            product = words[position] * bounds[-1]
            position += 1
            if product % WORD >= WORD % bounds[-1]:
                break
        out.append(bisect.bisect_right(bounds[:-1], product >> 64))
    return out, position


TOTALS = [1, 2, 3, 7, 1 << 20, 3 << 61, (1 << 63) - 1]


def tables():
    for total in TOTALS:
        if total >= 4:
            yield [0, 1, 1, total // 2, total // 2 + 1, total]  # two categories of weight 0 among them
        yield [total]


@pytest.mark.parametrize("draw", [draw_by_scan, draw_by_halving], ids=["scan", "halving"])
@pytest.mark.parametrize("bounds", list(tables()), ids=lambda bounds: f"{len(bounds)} of {bounds[-1]}")
def test_draws_are_those_of_big_integers(draw, bounds):
    total = bounds[-1]
    chosen = {pick % total for pick in (0, 1, total // 3, total // 2, total // 2 + 1, total - 1)}
    words = [(pick * WORD) // total + step for pick in chosen for step in (0, 1, 2)]
    words = [word % WORD for word in words] + EDGES + Stream.seeded(2).words(500).tolist() + [WORD - 1] * 30
    slots = np.zeros(len(words) - 300, dtype=np.int64)
    out = np.full(len(slots), 255, dtype=np.uint8)
    done, used = draw(slots, words_of([bounds]), words_of(words), 0, out, 0)
    expected, position = expected_draws(slots.tolist(), [bounds], words)
    assert (done, used) == (len(slots), position)
    assert out.tolist() == expected


def test_every_pick_has_equally_many_accepted_words():
    """A total of 3 x 2^62 and 2^64 words: floor(2^64/total) = 1 word each, the other quarter is rejected."""
    total = 3 << 62
    slots, out = np.zeros(1, dtype=np.int64), np.zeros(1, dtype=np.uint8)
    rejected = [word for word in range(4) if word * total % WORD < WORD % total]
    assert rejected == [0]  # one in four
    assert draw_by_scan(slots, words_of([[total]]), words_of([0]), 0, out, 0) == (0, 1)
    assert draw_by_scan(slots, words_of([[total]]), words_of([0, 4, 8, 5]), 0, out, 0) == (1, 4)


@pytest.mark.parametrize("draw", [draw_by_scan, draw_by_halving], ids=["scan", "halving"])
def test_a_draw_goes_on_where_the_words_ran_out(draw):
    bounds = words_of([[1, 3, 3 << 62]])
    slots, words = np.zeros(40, dtype=np.int64), Stream.seeded(3).words(300)
    whole, parts = np.zeros(40, dtype=np.uint8), np.zeros(40, dtype=np.uint8)
    assert draw(slots, bounds, words, 0, whole, 0)[0] == 40
    done, start = 0, 0
    while done < 40:
        done, position = draw(slots, bounds, words[start : start + 3], 0, parts, done)
        start += position
    assert parts.tolist() == whole.tolist()


def test_look_up_finds_every_key_and_sends_others_to_the_prior():
    keys = np.unique(np.concatenate([np.arange(50) << 40, Stream.seeded(4).words(900).astype(np.int64) >> 2]))
    keys = np.ascontiguousarray(keys[keys >= 0])
    look_up = LookUp(keys, unseen=len(keys))
    asked = np.concatenate([keys[::-1], keys + 1, [0, 1, (1 << 62) - 1]])
    rows = {key: row for row, key in enumerate(keys.tolist())}
    expected = [rows.get(key, len(keys)) for key in asked.tolist()]
    look_up.replace(asked)
    assert asked.tolist() == expected


def test_look_up_of_an_empty_table():
    asked = np.array([0, 5, 1 << 61], dtype=np.int64)
    LookUp(np.empty(0, dtype=np.int64), unseen=0).replace(asked)
    assert asked.tolist() == [0, 0, 0]


def test_visits_are_those_of_a_set():
    """Few rows and chains in a table filled to its limit, so that probes collide."""
    unseen, chains, steps = 7, np.arange(16, dtype=np.int64), 8
    table, owners = np.full(256, -1, dtype=np.int64), np.zeros(256, dtype=np.int64)
    visited = set()
    for step in range(steps):
        slots = Stream.seeded(step).below_each(np.full(16, 8, dtype=np.uint64)).astype(np.int64)
        expected = []
        for slot, chain in zip(slots.tolist(), chains.tolist(), strict=True):
            expected.append(unseen if (slot, chain) in visited else slot)
            visited.add((slot, chain))
        mark_visits(slots, chains, table, owners, unseen)
        assert slots.tolist() == expected
    assert np.count_nonzero(table >= 0) == len({pair for pair in visited if pair[0] != unseen})


def test_streams_of_one_key_do_not_overlap_and_seeds_repeat():
    parent = Stream.seeded(9)
    children = [parent.spawn() for _ in range(3)]
    lanes = [tuple(stream.words(64).tolist()) for stream in (parent, *children, children[0].spawn())]
    assert len(set(lanes)) == 5
    assert Stream.seeded(9).words(64).tolist() == list(lanes[0])
    assert Stream.from_system().words(4).tolist() != Stream.from_system().words(4).tolist()
    assert "not private" in repr(parent)


def test_words_do_not_depend_on_how_they_are_asked_for():
    whole, parts = Stream.seeded(5).words(200_000), Stream.seeded(5)
    assert np.concatenate([parts.words(n) for n in (1, 7, 0, 131_072, 68_920)]).tolist() == whole.tolist()


def test_uniform_integers_refuse_an_empty_range():
    with pytest.raises(ParameterError, match="bound"):
        Stream.seeded(1).below(0)
    with pytest.raises(ParameterError, match="seed"):
        Stream.seeded(1.5)


def test_column_keys_are_mixed_radix():
    key = ColumnKey(reads=("a", "b", "c"), sizes=(3, 4, 300))
    columns = [np.array(codes, dtype=np.uint16) for codes in ([0, 2, 1], [3, 0, 1], [299, 5, 0])]
    assert key.keys(columns).tolist() == [3 * 300 + 299, 2 * 1200 + 5, 1200 + 300]
    assert key.space == 3600
    with pytest.raises(RefusalError, match="feature-hash"):
        ColumnKey(reads=tuple("abcd"), sizes=(1 << 16,) * 4)


@pytest.mark.parametrize("cls", [FeatureHashKey, MinHashKey])
def test_hashed_keys_are_fixed_functions_of_the_values(cls):
    """Public constants only: the same in every process, for every width of codes, and within the declared space."""
    key = cls(reads=("a", "b"), sizes=(10, 10), buckets=97)
    grid = np.stack(np.meshgrid(np.arange(10), np.arange(10)), axis=-1).reshape(-1, 2)
    narrow = key.keys([np.ascontiguousarray(grid[:, p].astype(np.uint8)) for p in (0, 1)])
    wide = key.keys([np.ascontiguousarray(grid[:, p].astype(np.uint32)) for p in (0, 1)])
    assert narrow.tolist() == wide.tolist()
    assert 0 <= narrow.min() <= narrow.max() < 97
    assert len(set(narrow.tolist())) > 10
    swapped = key.keys([np.ascontiguousarray(grid[:, p].astype(np.uint8)) for p in (1, 0)])
    assert swapped.tolist() != narrow.tolist()  # which column holds a value matters
    with pytest.raises(ParameterError, match="buckets"):
        cls(reads=("a",), sizes=(2,), buckets=0)
