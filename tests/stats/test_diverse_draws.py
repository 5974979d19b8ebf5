"""LUGS draws what its blocks say: exact laws on small tables; diagnostics on chains of known mixing."""

import itertools
import math
from collections import Counter, defaultdict
from fractions import Fraction

import numpy as np
import pytest
from diverse_reference import law_of, near_blocks

from understudy.blocks.minhash import RecordMinHash
from understudy.codebook import Categorical, Codebook
from understudy.errors import ParameterError
from understudy.mechanisms.l_diversity import diverse_tables
from understudy.mechanisms.stream import Stream
from understudy.samplers.diagnostics import autocorrelation, effective_sample_size
from understudy.samplers.diverse import DiverseSampler
from understudy.sources import EncodedSource
from understudy.synth import LUGS, PLUGS

SIZES = (2, 3, 4)
ROWS = 60_000
RECORDS = [(0, 0, 0)] * 9 + [(0, 1, 2)] * 4 + [(1, 2, 3)] * 5 + [(1, 0, 1)] * 2 + [(0, 2, 2)]


def source_of(records=RECORDS, sizes=SIZES):
    book = Codebook(
        columns=tuple(Categorical(name=f"c{i}", levels=tuple(map(str, range(size)))) for i, size in enumerate(sizes))
    )
    columns = [np.array(values, dtype=np.uint8) for values in zip(*records, strict=True)]
    return EncodedSource(codebook=book, columns=columns)


def sampler_of(ell=1.5, floor=2.0**-20, hashes=2, records=RECORDS, sizes=SIZES):
    source = source_of(records, sizes)
    hashing = RecordMinHash(sizes=sizes, hashes=hashes, key_space=256)
    table = source.count([source.codebook.names])[0].open()
    tables = diverse_tables(table, keys_of=hashing.leave_one_out, key_space=256, ls=[ell] * len(sizes), floor=floor)
    return DiverseSampler(tables, hashing, 4), tables, hashing


def assert_follows(seen, law, draws):
    """Every outcome within Bernstein's bound at L = 26: over at most 24 outcomes a false alarm below 48 e^-26 < 1e-9.

    A bound in standard deviations alone would be wrong for the outcomes that are expected once in 300 runs.
    """
    assert sum(law.values()) == 1
    for outcome, chance in law.items():
        p = float(chance)
        assert abs(seen.get(outcome, 0) - draws * p) <= math.sqrt(52 * draws * p * (1 - p)) + 52 / 3, outcome
    assert set(seen) <= {outcome for outcome, chance in law.items() if chance}


def sweep_law(tables, hashing, sampler, start):
    """The law of one sweep from a state, block by block, in exact fractions."""
    law = {start: Fraction(1)}
    for column, size in enumerate(SIZES):
        after = defaultdict(Fraction)
        for state, chance in law.items():
            codes = np.array([state], dtype=np.uint8)
            block = int(tables.slots[column, hashing.leave_one_out(codes)[column, 0]])
            if block < 0:
                block = near_blocks(sampler._index, hashing, column, codes.T.copy())[0]
            if block < 0:
                block = int(tables.first[column + 1]) - 1
            weights = law_of(tables, block, size)
            for level in range(size):
                reached = (*state[:column], level, *state[column + 1 :])
                after[reached] += chance * Fraction(int(weights[level]), int(weights.sum()))
        law = after
    return {state: chance for state, chance in law.items() if chance}


@pytest.mark.parametrize("floor", [0.0, 2.0**-20, 0.2])
@pytest.mark.parametrize("ell", [1.0, 1.5, 2.0])
def test_draws_follow_the_integer_weights(ell, floor):
    sampler, tables, hashing = sampler_of(ell=ell, floor=floor)
    law = defaultdict(Fraction)
    for start in itertools.product(*map(range, SIZES)):
        for reached, chance in sweep_law(tables, hashing, sampler, start).items():
            law[reached] += chance / math.prod(SIZES)
    drawn = sampler.draw(rows=ROWS, sweeps=1, stream=Stream.from_system())
    assert_follows(Counter(zip(*(column.tolist() for column in drawn), strict=True)), law, ROWS)


def test_several_sweeps_follow_the_law():
    sampler, tables, hashing = sampler_of()
    law = dict.fromkeys(itertools.product(*map(range, SIZES)), Fraction(1, math.prod(SIZES)))
    for _ in range(2):
        after = defaultdict(Fraction)
        for state, chance in law.items():
            for reached, share in sweep_law(tables, hashing, sampler, state).items():
                after[reached] += chance * share
        law = after
    drawn = sampler.draw(rows=ROWS, sweeps=2, stream=Stream.from_system())
    assert_follows(Counter(zip(*(column.tolist() for column in drawn), strict=True)), law, ROWS)


def test_many_levels_are_drawn_right():
    """More cells than a scan takes: the binary search, with counts 1 to 60 in one block."""
    sizes = (2, 80)
    records = [(0, level) for level in range(60) for _ in range(level + 1)]
    sampler, tables, _ = sampler_of(ell=1.0, floor=0.05, records=records, sizes=sizes)
    drawn = sampler.draw(rows=ROWS, sweeps=1, stream=Stream.from_system())
    for first in (0, 1):
        mine = drawn[1][drawn[0] == first]
        block = int(
            tables.slots[
                1,
                RecordMinHash(sizes=sizes, hashes=2, key_space=256).leave_one_out(
                    np.array([[first, 0]], dtype=np.uint8)
                )[1, 0],
            ]
        )
        block = block if block >= 0 else int(tables.block_range(1)[0])
        weights = law_of(tables, block, 80)
        total = int(weights.sum())
        law = {level: Fraction(int(w), total) for level, w in enumerate(weights)}
        assert_follows(Counter(mine.tolist()), law, len(mine))


def test_a_mixture_of_parts_is_a_mixture():
    """Rows of two parts: each is independent of the others, so shares of one column stay within six deviations."""
    source = source_of(RECORDS * 40)
    options = {"l": 1.2, "sweeps": 6, "key_space": 256, "hashes": 2}
    plain = LUGS(**options).fit(source).sample(ROWS).table
    parts = PLUGS(**options, partitions=2, processes=1).fit(source).sample(ROWS).table
    for name, size in zip(source.codebook.names, SIZES, strict=True):
        a, b = (np.bincount(np.array(t[name].to_pylist(), dtype=int), minlength=size) / ROWS for t in (plain, parts))
        assert np.abs(a - b).max() < 0.05  # parts know a little less: no law, only that nothing is broken


def test_no_records_at_all_draw_uniformly():
    source = source_of([(0, 0, 0)])
    source = EncodedSource(codebook=source.codebook, columns=[column[:0] for column in source._columns])
    drawn = LUGS(l=1.5).fit(source).sample(ROWS).table
    law = {level: Fraction(1, 4) for level in range(4)}
    assert_follows(Counter(int(v) for v in drawn["c2"].to_pylist()), law, ROWS)


def test_diagnose_tells_reducible_from_irreducible():
    source = source_of(RECORDS * 30)
    good = LUGS(l=1.5).fit(source).diagnose(chains=64, sweeps=100)
    assert good.irreducible and not any(good.zero_blocks.values()) and good.smallest_weight > 0
    bad = LUGS(l=1.0, floor=0.0).fit(source).diagnose(chains=64, sweeps=100)
    assert not bad.irreducible and any(bad.zero_blocks.values())
    assert any("reducible" in said for said in bad.warnings())
    assert LUGS(l=1.0, floor=0.0).quote(source.codebook, 10).warnings
    assert not LUGS(l=1.5).quote(source.codebook, 10).warnings
    for report in (good, bad):
        assert set(report.autocorrelation) == set(source.codebook.names)
        assert all(share > 0 for share in report.effective_share.values())


@pytest.mark.parametrize("flip", [0.5, 0.2, 0.05])
def test_autocorrelation_of_a_chain_of_known_mixing(flip):
    """Two states, changed with chance f each sweep: rho(t) = (1 - 2f)^t, and ESS / n = f / (1 - f).

    20,000 chains of 80 sweeps; agreement at lag t is a mean of chains that are independent, so its deviation is at most
    0.5 / sqrt(20,000) on the agreement scale, twice that on rho; six deviations.
    """
    rng = np.random.default_rng(int(Stream.from_system().below(2**63)))
    chains, sweeps = 20_000, 80
    start = rng.integers(0, 2, (1, chains))
    trace = np.concatenate([start, start ^ (np.cumsum(rng.random((sweeps, chains)) < flip, axis=0) & 1)])
    rho = autocorrelation(trace.astype(np.uint8), lags=40)
    bound = 6 / math.sqrt(chains)
    assert all(abs(rho[lag] - (1 - 2 * flip) ** lag) < bound for lag in range(41))
    share = effective_sample_size(rho, trace.size) / trace.size
    assert share == pytest.approx(flip / (1 - flip), rel=0.35)


def test_a_trace_that_is_too_short_is_refused():
    with pytest.raises(ParameterError, match="lags"):
        autocorrelation(np.zeros((5, 2), dtype=np.uint8), lags=5)
