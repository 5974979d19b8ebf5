"""Laws of LUGS: blocks are l-diverse with no weight to spare, parts add up, MinHash and LSH do what they say."""

import math

import numpy as np
import pytest
from diverse_reference import law_of, near_blocks, nearest_distances, weight_used
from hypothesis import given, settings
from hypothesis import strategies as st
from mpmath import mp, mpf

from understudy.blocks.minhash import RecordMinHash
from understudy.blocks.nearest import BlockIndex, distance_between
from understudy.codebook import Categorical, Codebook
from understudy.mechanisms.diverse_weights import UNIFORM, margin
from understudy.mechanisms.l_diversity import LDiverseDraws, diverse_tables, diversify, split_counts
from understudy.mechanisms.stream import Stream
from understudy.privacy import Entry, Ledger, NoFormal, PureDP
from understudy.privacy.guarantees import LDiverse
from understudy.samplers.diverse import DiverseSampler
from understudy.sources import EncodedSource
from understudy.synth import LUGS, PLUGS

mp.dps = 40
FLOOR = 2.0**-20


def exact_entropy(weights):
    """Of integer weights, to 40 digits."""
    total = mpf(sum(int(w) for w in weights))
    return -sum(mpf(int(w)) / total * mp.log(mpf(int(w)) / total) for w in weights if w)


def entropy_at(counts, weight):
    records, levels = sum(counts), len(counts)
    w = mpf(weight)
    shares = [(1 - w) * n / mpf(records) + w / levels for n in counts]
    return -sum(q * mp.log(q) for q in shares if q)


blocks = st.lists(st.integers(0, 40) | st.integers(0, 10**7), min_size=2, max_size=30).filter(any)


@settings(max_examples=400, deadline=None)
@given(counts=blocks, share=st.floats(0, 1), floor=st.sampled_from([0.0, FLOOR, 0.1]))
def test_every_block_is_diverse_and_no_weight_is_wasted(counts, share, floor):
    levels = len(counts)
    ell = 1 + share * (levels - 1)
    w, u, shift = weight_used(counts, l=ell, floor=floor)
    weights = [u] * levels if shift == UNIFORM else [u + (n << shift) for n in counts]
    assert sum(weights) < 2**57
    if ell < levels or shift != UNIFORM:
        assert exact_entropy(weights) >= mp.log(mpf(ell))
    assert w >= floor * (1 - 1e-12)
    if floor > 0:
        assert min(weights) > 0
    room = math.log(levels) - math.log(ell)
    spare = 1e-9 + (margin(sum(map(bool, counts)), levels) / room if room > 0 else 1e-3)
    if w - spare > floor:  # proofs/l_diversity.md: a weight smaller by this much would not do
        assert entropy_at(counts, w - spare) < mp.log(mpf(ell))


@settings(max_examples=50, deadline=None)
@given(levels=st.integers(2, 40), counts=st.data())
def test_the_extremes(levels, counts):
    some = counts.draw(st.lists(st.integers(0, 100), min_size=levels, max_size=levels))
    assert weight_used(some, l=levels)[0] in (0.0, 1.0)  # only the uniform will do
    assert weight_used([0] * levels, l=1.5)[0] == 1.0
    if any(some):
        assert weight_used(some, l=1)[0] == 0.0


def table_of(rows, sizes, seed=1):
    rng = np.random.default_rng(seed)
    hidden = rng.integers(0, 3, rows)
    columns = [
        ((hidden * (position + 1) + (rng.random(rows) < 0.3) * rng.integers(0, size, rows)) % size).astype(np.uint8)
        for position, size in enumerate(sizes)
    ]
    book = Codebook(
        columns=tuple(
            Categorical(name=f"c{position}", levels=tuple(map(str, range(size)))) for position, size in enumerate(sizes)
        )
    )
    return EncodedSource(codebook=book, columns=columns)


SIZES = (2, 5, 7, 3, 9)


@pytest.mark.parametrize("hashes", [1, 3])
@pytest.mark.parametrize("ell", [1.5, 1.99])
def test_blocks_of_a_fit_are_diverse(hashes, ell):
    source = table_of(3000, SIZES)
    hashing = RecordMinHash(sizes=SIZES, hashes=hashes, key_space=512)
    counts = source.count([source.codebook.names])[0]
    tables = diversify(counts, keys_of=hashing.leave_one_out, key_space=512, ls=[ell] * 5, floor=FLOOR).open()
    for column, size in enumerate(SIZES):
        begin, end = tables.block_range(column)
        assert end > begin
        total = 0
        for block in range(begin, end + 1):
            law = law_of(tables, block, size)
            assert int(law.sum()) == int(tables.blocks[block, 1])
            assert exact_entropy(law) >= mp.log(mpf(ell))
            total += int(tables.cumulative[int(tables.blocks[block, 2]) + (int(tables.blocks[block, 3]) >> 8) - 1])
        assert total == 2 * 3000  # every record is in one block, and in the column as a whole
    assert tables.weights.min() >= FLOOR


def test_blocks_are_those_of_a_slow_reference():
    source = table_of(500, SIZES)
    hashing = RecordMinHash(sizes=SIZES, hashes=2, key_space=64)
    table = source.count([source.codebook.names])[0].open()
    tables = diverse_tables(table, keys_of=hashing.leave_one_out, key_space=64, ls=[1.0] * 5, floor=0.0)
    codes = np.stack(source._columns, axis=1)
    for column, size in enumerate(SIZES):
        seen = {}
        for row in codes:
            tokens = [hashing.tokens[:, hashing.offsets[c] + row[c]] for c in range(5) if c != column]
            seen.setdefault(tuple(np.min(tokens, axis=0).tolist()), np.zeros(size, np.int64))[row[column]] += 1
        keys = hashing.leave_one_out(codes)[column]
        merged = {}
        for row, key in zip(codes, keys, strict=True):
            merged.setdefault(int(key), np.zeros(size, np.int64))[row[column]] += 1
        assert len(merged) <= len(seen)
        for key, counts in merged.items():
            assert np.array_equal(law_of(tables, int(tables.slots[column, key]), size), counts.astype(np.uint64))
        assert (tables.slots[column] >= 0).sum() == len(merged)


@pytest.mark.parametrize("parts", [1, 2, 5])
def test_parts_add_up_to_the_table(parts):
    source = table_of(2000, SIZES)
    counts = source.count([source.codebook.names])[0]
    whole = counts.open().to_grid()
    split = split_counts(counts, parts, Stream.from_system())
    assert len(split) == parts
    assert np.array_equal(sum(part.open().to_grid() for part in split), whole)
    shares = [int(part.open().occupied()[1].sum()) for part in split]
    assert all(abs(share - 2000 / parts) < 6 * math.sqrt(2000) for share in shares)  # six standard deviations


def test_one_part_is_the_plain_algorithm():
    source = table_of(4000, SIZES)
    options = {"l": 1.5, "hashes": 2, "key_space": 256, "sweeps": 3}
    plain = LUGS(**options).fit(source, stream=Stream.seeded(5)).sample(20_000).table
    assert PLUGS(**options, partitions=1).fit(source, stream=Stream.seeded(5)).sample(20_000).table.equals(plain)
    other = PLUGS(**options, partitions=2, processes=1).fit(source, stream=Stream.seeded(5)).sample(20_000).table
    assert not other.equals(plain)


def test_rows_do_not_depend_on_processes_or_threads():
    source = table_of(1000, SIZES)
    options = {"l": 1.5, "hashes": 2, "key_space": 256, "sweeps": 2, "partitions": 2}
    made = [PLUGS(**options, processes=p).fit(source, stream=Stream.seeded(6)).sample(500).table for p in (1, 2)]
    assert made[0].equals(made[1])
    hashing = RecordMinHash(sizes=SIZES, hashes=2, key_space=256)
    counts = source.count([source.codebook.names])[0].open()
    tables = diverse_tables(counts, keys_of=hashing.leave_one_out, key_space=256, ls=[1.5] * 5, floor=FLOOR)
    sampler = DiverseSampler(tables, hashing, 4)
    drawn = [sampler.draw(rows=40_000, sweeps=2, stream=Stream.seeded(7), threads=t) for t in (1, 2)]
    assert all(np.array_equal(a, b) for a, b in zip(*drawn, strict=True))


@pytest.mark.parametrize("differing", [1, 3, 6])
def test_minhash_collides_as_often_as_sets_are_similar(differing):
    """Each of 64 hashes of each of 3,000 pairs agrees with chance J = (m - d) / (m + d); six standard deviations.

    Pairs are built on values that no two of them share within a column, so that they are as good as independent; the 64
    hashes of a pair are independent functions.
    """
    columns, pairs = 9, 3000
    sizes = (2 * pairs,) * columns
    hashing = RecordMinHash(sizes=sizes, hashes=64, key_space=16, seed=int(Stream.from_system().below(2**60)))
    first = np.tile(np.arange(pairs)[:, None], (1, columns)).astype(np.uint16)
    second = first.copy()
    second[:, :differing] += pairs
    agree = hashing.minima(first) == hashing.minima(second)
    similarity = (columns - differing) / (columns + differing)
    deviation = math.sqrt(similarity * (1 - similarity) / agree.size)
    assert abs(agree.mean() - similarity) < 6 * deviation


def test_leaving_one_column_out_forgets_it():
    hashing = RecordMinHash(sizes=SIZES, hashes=3, key_space=1 << 20)
    codes = np.random.default_rng(2).integers(0, SIZES, size=(2000, 5)).astype(np.uint8)
    keys = hashing.leave_one_out(codes)
    for column, size in enumerate(SIZES):
        other = codes.copy()
        other[:, column] = (other[:, column] + 1) % size
        assert np.array_equal(hashing.leave_one_out(other)[column], keys[column])
    assert keys.min() >= 0 and keys.max() < 1 << 20


def test_nearest_blocks_against_exact_search():
    """Recall rises with the bands and is nearly complete with many; a distance is never understated."""
    sizes = (4, 6, 8, 5, 7, 9, 3, 6)
    source = table_of(4000, sizes)
    hashing = RecordMinHash(sizes=sizes, hashes=4, key_space=1 << 14)
    counts = source.count([source.codebook.names])[0].open()
    tables = diverse_tables(counts, keys_of=hashing.leave_one_out, key_space=1 << 14, ls=[1.2] * 8, floor=FLOOR)
    states = np.random.default_rng(3).integers(0, np.array(sizes)[:, None], size=(8, 400)).astype(np.uint8)
    recall = {}
    for bands in (1, 8, 64):
        index = BlockIndex.build(tables, hashing, bands)
        hits = 0
        for column in range(8):
            unseen = np.ascontiguousarray(
                states[:, tables.slots[column][hashing.leave_one_out(states.T.copy())[column]] < 0]
            )
            found = near_blocks(index, hashing, column, unseen)
            nearest = nearest_distances(tables, column, unseen)
            for row, block in enumerate(found):
                if block >= 0:
                    begin, end = tables.block_range(column)
                    assert begin <= block < end
                    apart = distance_between(unseen[:, row], tables.modes[block], column)
                    assert apart >= nearest[row]
                    hits += apart == nearest[row]
        recall[bands] = hits / max(
            1, sum((tables.slots[c][hashing.leave_one_out(states.T.copy())[c]] < 0).sum() for c in range(8))
        )
    assert recall[1] <= recall[8] <= recall[64]
    assert recall[64] > 0.9


wanted = st.lists(st.tuples(st.floats(1, 2), st.integers(2, 9)), min_size=1, max_size=4).map(
    lambda pairs: LDiverseDraws(ls=tuple(p[0] for p in pairs), levels=tuple(p[1] for p in pairs), floor=0.0)
)


@given(st.lists(wanted, min_size=1, max_size=4))
def test_a_ledger_of_diverse_draws_totals_as_the_smallest(events):
    ledger = Ledger.of(Entry(stage="rows", reads="blocks", event=event) for event in events)
    smallest = min(min(event.ls) for event in events)
    for total in (ledger.total(), ledger.total(delta=1e-6), ledger.basic(), Ledger.from_list(ledger.to_list()).basic()):
        assert total == LDiverse(l=smallest)
    assert ledger.why_informal() is None
    assert math.isinf(ledger.renyi_at(2.0)[0])


@given(wanted)
def test_a_diverse_draw_is_never_added_to_differential_privacy(event):
    from fractions import Fraction

    from understudy.mechanisms import GeometricHistogram
    from understudy.privacy import Neighbours

    priced = Entry(stage="t", reads="c", event=GeometricHistogram(scale=Fraction(1), neighbours=Neighbours.ADD_REMOVE))
    diverse = Entry(stage="rows", reads="blocks", event=event)
    assert isinstance(Ledger.of([priced]).total(), PureDP)
    for entries in ([priced, diverse], [diverse, priced]):
        total = Ledger.of(entries).total(delta=1e-6)
        assert isinstance(total, NoFormal)
        assert "LDiverse" in total.why
