"""Rows really drawn, against exact probabilities computed from the raw records by naive arithmetic.

Every comparison is by Chernoff's bound for one outcome among n draws, P(n KL(seen share, p) >= t on one side) <= e^-t,
with t chosen so that all comparisons of one test together fail with probability below 1e-9, whatever the seed.
"""

import itertools
import math
from collections import Counter, defaultdict
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from understudy.blocks import conditional
from understudy.codebook import Categorical, Codebook
from understudy.mechanisms.smoothing import Weights, open_for_draws
from understudy.mechanisms.stream import Stream
from understudy.samplers import gibbs
from understudy.samplers.cells import draw_cells
from understudy.samplers.gibbs import ConditionalSampler
from understudy.samplers.threads import BLOCK
from understudy.sources import EncodedSource
from understudy.synth import PeGS, PeGSReset

FAILURE = 1e-9
ROWS = 150_000


def assert_follows(seen, law, draws):
    """``seen``: how often each outcome came; ``law``: its exact probability."""
    assert set(seen) <= {outcome for outcome, chance in law.items() if chance > 0}
    assert sum(seen.values()) == draws
    assert sum(law.values()) == 1
    allowed = math.log(2 * len(law) / FAILURE)
    for outcome, chance in law.items():
        share, p = seen.get(outcome, 0) / draws, float(chance)
        parts = [x * math.log(x / y) for x, y in ((share, p), (1 - share, 1 - p)) if x > 0]
        assert draws * math.fsum(parts) <= allowed, (outcome, share, p)


def book_of(*sizes):
    names = "abcd"[: len(sizes)]
    return Codebook(
        columns=tuple(
            Categorical(
                name=name, levels=tuple(map(str, range(size))), parents=tuple(other for other in names if other != name)
            )
            for name, size in zip(names, sizes, strict=True)
        )
    )


def columns_of(records):
    codes = np.array(records, dtype=np.uint8)
    return [np.ascontiguousarray(codes[:, position]) for position in range(codes.shape[1])]


def source_of(book, records):
    return EncodedSource(codebook=book, columns=columns_of(records))


def sampler_of(book, records, alpha):
    recipe = PeGS(alpha=alpha)
    fitted = recipe.fit(source_of(book, records))
    quote = recipe.quote(book, 1)
    weights = open_for_draws(fitted.blocks.tables, event=quote.ledger.entries[-1].event, ledger=quote.ledger)
    return ConditionalSampler(book, fitted.blocks.keys, weights)


class Naive:
    """Equation 6 of the PeGS paper by counting records one by one; parents are all other columns."""

    def __init__(self, book, records, alpha):
        self.sizes, self.records, self.alpha = book.sizes, records, Fraction(alpha)

    def law(self, column, state, reset=False):
        others = [p for p in range(len(state)) if p != column]
        alike = [r for r in self.records if not reset and all(r[p] == state[p] for p in others)]
        total = len(alike) + self.sizes[column] * self.alpha
        return [(sum(r[column] == level for r in alike) + self.alpha) / total for level in range(self.sizes[column])]

    def block(self, seed, size):
        """Law of ``size`` records in a row, with reset; one record is a plain sweep."""
        laws = {((), seed, frozenset()): Fraction(1)}
        for _ in range(size):
            for column in range(len(seed)):
                after = defaultdict(Fraction)
                for (made, state, visited), chance in laws.items():
                    cell = (column, (*state[:column], *state[column + 1 :]))
                    for level, share in enumerate(self.law(column, state, cell in visited)):
                        moved = (*state[:column], level, *state[column + 1 :])
                        after[made, moved, visited | {cell}] += chance * share
                laws = after
            recorded = defaultdict(Fraction)
            for (made, state, visited), chance in laws.items():
                recorded[(*made, state), state, visited] += chance
            laws = recorded
        out = defaultdict(Fraction)
        for (made, _, _), chance in laws.items():
            out[made] += chance
        return out


def rows_of(columns):
    return list(zip(*(column.tolist() for column in columns), strict=True))


RECORDS = [(0, 0), (0, 0), (0, 1), (1, 2), (1, 2), (1, 2), (1, 2), (1, 0)]


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize(("alpha", "seed"), [(0.25, (0, 0)), (1.0, (1, 2)), (7.5, (0, 2))])
def test_a_sweep_follows_equation_4(alpha, seed, threads):
    book = book_of(2, 3)
    starts = columns_of([seed] * ROWS)
    drawn = sampler_of(book, RECORDS, alpha).sweep(starts, sweeps=1, stream=Stream.from_system(), threads=threads)
    law = {made[0]: chance for made, chance in Naive(book, RECORDS, alpha).block(seed, 1).items()}
    assert_follows(Counter(rows_of(drawn)), law, ROWS)
    assert rows_of(starts) == [seed] * ROWS  # the caller's seeds are left alone


def test_several_sweeps_follow_the_chain():
    book, alpha, seed = book_of(2, 3), 0.5, (1, 1)
    drawn = sampler_of(book, RECORDS, alpha).sweep(
        columns_of([seed] * ROWS), sweeps=3, stream=Stream.from_system(), threads=1
    )
    law = {seed: Fraction(1)}
    for _ in range(3):
        after = defaultdict(Fraction)
        for state, chance in law.items():
            for (reached,), share in Naive(book, RECORDS, alpha).block(state, 1).items():
                after[reached] += chance * share
        law = after
    assert_follows(Counter(rows_of(drawn)), law, ROWS)


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("block_size", [1, 2])
def test_blocks_follow_the_law_with_reset(block_size, threads):
    book, alpha, seed = book_of(2, 3), 0.25, (1, 2)
    drawn = sampler_of(book, RECORDS, alpha).sweep_with_reset(
        columns_of([seed] * ROWS), block_size=block_size, stream=Stream.from_system(), threads=threads
    )
    rows = rows_of(drawn)
    blocks = [tuple(rows[start : start + block_size]) for start in range(0, len(rows), block_size)]
    assert_follows(Counter(blocks), Naive(book, RECORDS, alpha).block(seed, block_size), ROWS)


@pytest.mark.parametrize("recipe", [PeGS(alpha=0.5), PeGSReset(alpha=0.5, block_size=3)], ids=lambda r: r.name)
def test_a_release_follows_the_law_from_uniform_seeds(recipe):
    """The whole way from records to the Arrow table; the first row of each chain is a sweep from a uniform seed."""
    book = book_of(2, 3)
    size = getattr(recipe, "block_size", 1)
    table = recipe.fit(source_of(book, RECORDS)).sample(ROWS).table
    assert table.num_rows == ROWS
    first = list(zip(*(map(int, table[name].to_pylist()[::size]) for name in book.names), strict=True))
    law = defaultdict(Fraction)
    for seed in itertools.product(range(2), range(3)):
        for (made,), chance in Naive(book, RECORDS, 0.5).block(seed, 1).items():
            law[made] += chance / 6
    assert_follows(Counter(first), law, len(first))


def test_cells_are_drawn_by_weight():
    codes = np.array([[0, 5], [1, 0], [1, 7], [2, 2]], dtype=np.uint8)
    weights = np.array([1, 0, 2**40, 2**40 + 2**39], dtype=np.int64)
    drawn = draw_cells(codes, weights, rows=ROWS, stream=Stream.from_system())
    total = int(weights.sum())
    law = {tuple(cell): Fraction(int(w), total) for cell, w in zip(codes.tolist(), weights, strict=True)}
    assert_follows(Counter(rows_of(drawn)), law, ROWS)


def stretches(bound, parts):
    """Law of ``pick * parts // bound`` for a uniform pick."""
    edges = [-(-part * bound // parts) for part in range(parts + 1)]
    return {part: Fraction(edges[part + 1] - edges[part], bound) for part in range(parts)}


@pytest.mark.parametrize("bound", [1, 2, 3, 10, 2**32 + 1, 3 * 2**62, 2**64 - 1])
def test_uniform_integers_are_uniform(bound):
    """By stretch of the range and by remainder; at 3 x 2^62 a missing rejection would show most."""
    parts = min(bound, 6)
    picks = Stream.from_system().below_each(np.full(ROWS, bound, dtype=np.uint64)).tolist()
    assert max(picks) < bound
    assert_follows(Counter(pick * parts // bound for pick in picks), stretches(bound, parts), ROWS)
    remainders = {rest: Fraction((bound - rest + parts - 1) // parts, bound) for rest in range(parts)}
    assert_follows(Counter(pick % parts for pick in picks), remainders, ROWS)


@pytest.mark.parametrize("bound", [5, 2**64, 2**65 + 2**64])
def test_single_uniform_integers_are_uniform(bound):
    stream, draws = Stream.from_system(), 20_000
    seen = Counter(stream.below(bound) * 5 // bound for _ in range(draws))
    assert_follows(seen, stretches(bound, 5), draws)


# What follows is exact: the same words must give the same rows.


def test_scan_and_halving_draw_the_same_rows(monkeypatch):
    book, rng = book_of(5, 3, 4), np.random.default_rng(3)
    records = rng.integers(0, [5, 3, 4], size=(400, 3)).tolist()
    seeds = columns_of(rng.integers(0, [5, 3, 4], size=(5000, 3)))
    sampler, drawn = sampler_of(book, records, 0.3), []
    for levels in (64, 0):
        monkeypatch.setattr(gibbs, "SCAN_LEVELS", levels)
        drawn.append(sampler.sweep(seeds, sweeps=2, stream=Stream.seeded(11), threads=1))
        drawn.append(sampler.sweep_with_reset(seeds, block_size=4, stream=Stream.seeded(11), threads=1))
    for by_scan, by_halving in zip(drawn[:2], drawn[2:], strict=True):
        assert all(np.array_equal(a, b) for a, b in zip(by_scan, by_halving, strict=True))


@pytest.mark.parametrize("key", ["columns", "feature-hash", "minhash"])
@pytest.mark.parametrize("recipe", [PeGS(alpha=0.3), PeGSReset(alpha=0.3, block_size=7)], ids=lambda r: r.name)
def test_dense_and_sparse_tables_draw_the_same_rows(recipe, key, monkeypatch):
    book, rng = book_of(5, 3, 4), np.random.default_rng(4)
    source = source_of(book, rng.integers(0, [5, 3, 4], size=(40, 3)))
    recipe = replace(recipe, key=key, key_space=None if key == "columns" else 16)
    tables = []
    for cells in (1 << 22, 0):
        monkeypatch.setattr(conditional, "DENSE_CELLS", cells)
        fitted = recipe.fit(source, stream=Stream.seeded(12))
        assert (fitted.blocks.tables[0].open().keys is None) == (cells > 0)
        tables.append(fitted.sample(3000).table)
    assert tables[0].equals(tables[1])


def reference_blocks(sampler, seeds, block_size, together, words):
    """PeGS.rs in slow Python: one dictionary of visited cells per chain and column, Lemire's draw on big integers."""
    weights: list[Weights] = sampler._weights
    rows_of_keys = [None if t.keys is None else {k: r for r, k in enumerate(t.keys.tolist())} for t in weights]
    bounds = [table.cumulative.tolist() for table in weights]
    out = [[None] * (len(seeds[0]) * block_size) for _ in seeds]
    for start in range(0, len(seeds[0]), together):
        state = [seed[start : start + together].tolist() for seed in seeds]
        chains = range(len(state[0]))
        visited = [[set() for _ in chains] for _ in seeds]
        for step in range(block_size):
            for column, table in enumerate(weights):
                reads = [np.array(state[p], dtype=np.uint8) for p in sampler._reads[column]]
                keys = sampler._keys[column].keys(reads).tolist()
                for chain in chains:
                    key = keys[chain]
                    named = rows_of_keys[column]
                    row = key if named is None else named.get(key, table.unseen)
                    if key in visited[column][chain]:
                        row = table.unseen
                    visited[column][chain].add(key)
                    cumulative = bounds[column][row]
                    total = cumulative[-1]
                    while True:
                        product = next(words) * total
                        if product % 2**64 >= 2**64 % total:
                            break
                    state[column][chain] = sum(bound <= product >> 64 for bound in cumulative[:-1])
            for column in range(len(seeds)):
                for chain in chains:
                    out[column][(start + chain) * block_size + step] = state[column][chain]
    return out


@pytest.mark.parametrize("cells", [1 << 22, 0], ids=["dense", "sparse"])
@pytest.mark.parametrize("block_size", [1, 6, 25])
def test_visited_cells_are_those_of_a_slow_reference(block_size, cells, monkeypatch):
    monkeypatch.setattr(conditional, "DENSE_CELLS", cells)
    chains = BLOCK // block_size + 20  # two groups of chains, the second one short
    book, rng = book_of(3, 2, 4), np.random.default_rng(5)
    sampler = sampler_of(book, rng.integers(0, [3, 2, 4], size=(30, 3)).tolist(), 0.4)
    seeds = columns_of(rng.integers(0, [3, 2, 4], size=(chains, 3)))
    drawn = sampler.sweep_with_reset(seeds, block_size=block_size, stream=Stream.seeded(13), threads=1)
    words = iter(Stream.seeded(13).spawn().words(4 * chains * block_size).tolist())
    expected = reference_blocks(sampler, seeds, block_size, BLOCK // block_size, words)
    assert [column.tolist() for column in drawn] == expected


def test_a_longer_block_than_the_cache_holds():
    book = book_of(2, 2)
    sampler = sampler_of(book, [(0, 0), (1, 1)], 1.0)
    size = BLOCK + 1
    drawn = sampler.sweep_with_reset(columns_of([(0, 0), (1, 1)]), block_size=size, stream=Stream.seeded(1), threads=2)
    assert [len(column) for column in drawn] == [2 * size, 2 * size]
    assert all(column.max() == 1 for column in drawn)


def test_progress_is_reported_up_to_the_end():
    said = []
    sampler = sampler_of(book_of(2, 2), [(0, 0)], 1.0)
    sampler.sweep(
        columns_of([(0, 0)] * 40_000), sweeps=1, stream=Stream.seeded(1), report=lambda *x: said.append(x), threads=2
    )
    assert said[-1] == (40_000, 40_000)
    assert [done for done, _ in said] == sorted(done for done, _ in said)


def test_a_failure_in_one_thread_is_heard():
    sampler = sampler_of(book_of(2, 2), [(0, 0)], 1.0)

    def refuse(done, total):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        sampler.sweep(columns_of([(0, 0)] * 40_000), sweeps=1, stream=Stream.seeded(1), report=refuse, threads=2)
