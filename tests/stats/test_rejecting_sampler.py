"""Gibbs chains with rejection against their exact law, a plain Python twin, and brute force over all states.

Frequencies are compared by Chernoff's bound for one outcome among n draws, P(n KL(seen share, p) >= t on one side) <=
e^-t, with t chosen so that all comparisons of one test together fail with probability below 1e-9, whatever the seed.
"""

import itertools
import math
from collections import Counter, defaultdict

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from understudy.blocks.released import released_key, released_weights
from understudy.codebook import Categorical, Codebook
from understudy.errors import RefusalError, ReleaseError
from understudy.mechanisms.stream import Stream
from understudy.privacy import Neighbours
from understudy.privacy.account import Account
from understudy.samplers.rejecting import RejectingSampler
from understudy.samplers.threads import BLOCK
from understudy.sources import EncodedSource
from understudy.sources.tables import CountTable
from understudy.synth import SBHG, GibbsSampler, SBHGGauss

FAILURE = 1e-9
ROWS = 120_000
RNG = 20_240_601


def book_of(*sizes):
    return Codebook(
        columns=tuple(
            Categorical(name=name, levels=tuple(map(str, range(size))))
            for name, size in zip("abcd", sizes, strict=False)
        )
    )


def source_of(book, records, account=None):
    codes = np.array(records, dtype=np.uint16)
    columns = [np.ascontiguousarray(codes[:, place]) for place in range(codes.shape[1])]
    return EncodedSource(codebook=book, columns=columns, account=account)


def table_of(book, columns, cells):
    """A released table from a dict of cells; the child is the last column."""
    sizes = [book.column(name).size for name in columns]
    codes = np.array(sorted(cells), dtype=np.uint16).reshape(len(cells), len(columns))
    counts = np.array([cells[cell] for cell in sorted(cells)], dtype=np.int64)
    return CountTable.sparse(columns, sizes, codes, counts)


def sampler_of(book, tables):
    keys = [released_key(book, table) for table in tables]
    weights = [released_weights(key, table) for key, table in zip(keys, tables, strict=True)]
    return RejectingSampler(book, keys, weights)


class Naive:
    """Algorithm 2 of the SBHG paper, with its test put right, in plain Python on dicts of counts."""

    def __init__(self, book, tables):
        self.sizes = book.sizes
        self.reads = [[book.position(name) for name in table.columns[:-1]] for table in tables]
        self.blocks = []
        for table in tables:
            block = defaultdict(lambda size=table.sizes[-1]: [0] * size)
            for code, count in zip(*(part.tolist() for part in table.occupied()), strict=True):
                block[tuple(code[:-1])][code[-1]] += count
            self.blocks.append(dict(block))

    def key(self, column, state):
        return tuple(state[place] for place in self.reads[column])

    def fits(self, state):
        return all(self.key(column, state) in block for column, block in enumerate(self.blocks))

    def blockers(self, column, state):
        """Tables that do not know the state, among those whose key reads the column."""
        readers = (j for j in range(len(self.sizes)) if column in self.reads[j])
        return [j for j in readers if self.key(j, state) not in self.blocks[j]]

    def matrix(self, states):
        """Transition probabilities of one sweep in codebook order."""
        place = {state: number for number, state in enumerate(states)}
        sweep = np.eye(len(states))
        for column, block in enumerate(self.blocks):
            step = np.zeros_like(sweep)
            for state in states:
                weights = block[self.key(column, state)]
                for level, weight in enumerate(weights):
                    moved = (*state[:column], level, *state[column + 1 :])
                    stays = bool(self.blockers(column, moved))
                    if weight:
                        step[place[state], place[state if stays else moved]] += weight / sum(weights)
            sweep = sweep @ step
        return sweep

    def states(self):
        return [state for state in itertools.product(*map(range, self.sizes)) if self.fits(state)]


def assert_follows(seen, law):
    """``seen``: how often each state came; ``law``: its exact probability."""
    draws = sum(seen.values())
    assert set(seen) <= {state for state, chance in law.items() if chance > 0}
    allowed = math.log(2 * len(law) / FAILURE)
    for state, p in law.items():
        share = seen.get(state, 0) / draws
        parts = [x * math.log(x / y) for x, y in ((share, p), (1 - share, 1 - p)) if x > 0]
        assert draws * math.fsum(parts) <= allowed, (state, share, p)


def drawn(columns):
    return Counter(zip(*(column.tolist() for column in columns), strict=True))


# --- the exact law ---------------------------------------------------------------------------------------------------

BOOK = book_of(2, 3, 2)
PARENTS = {"a": ("b",), "b": ("a", "c"), "c": ("b",)}
CELLS = {(0, 0, 0): 280, (0, 1, 0): 80, (0, 1, 1): 360, (0, 2, 1): 40, (1, 0, 0): 160, (1, 0, 1): 120, (1, 2, 1): 480}
RECORDS = [record for record, times in CELLS.items() for _ in range(times)]


def conditional_tables(parents=PARENTS):
    tables = []
    for name in BOOK.names:
        columns = (*parents[name], name)
        cells = Counter()
        for record, times in CELLS.items():
            cells[tuple(record[BOOK.position(c)] for c in columns)] += times
        tables.append(table_of(BOOK, columns, cells))
    return tables


@pytest.mark.parametrize("sweeps", [1, 2, 5])
@pytest.mark.parametrize("start", [(0, 0, 0), (1, 2, 1)])
def test_chains_follow_the_transition_matrix(sweeps, start):
    tables = conditional_tables()
    naive = Naive(BOOK, tables)
    states = naive.states()
    law = np.linalg.matrix_power(naive.matrix(states), sweeps)[states.index(start)]
    starts = [np.full(ROWS, code, dtype=np.uint8) for code in start]
    rows, _ = sampler_of(BOOK, tables).run(starts, sweeps=sweeps, stream=Stream.seeded(RNG + sweeps))
    assert_follows(drawn(rows), dict(zip(states, law.tolist(), strict=True)))


@pytest.mark.parametrize("method", ["sbhg", "sbhg-gauss", "gibbs"])
def test_without_noise_every_variant_has_the_stationary_law_of_hashed_gibbs(method):
    """At an enormous epsilon Laplace noise is 0 and lone cells alone are withheld: the plain hashed Gibbs sampler."""
    options = {"parents": PARENTS, "sweeps": 40}
    recipe = {
        "sbhg": lambda: SBHG(epsilon=1e6, delta=1e-9, **options),
        "sbhg-gauss": lambda: SBHGGauss(epsilon=60.0, delta=1e-9, **options),
        "gibbs": lambda: GibbsSampler(**options),
    }[method]()
    fitted = recipe.fit(source_of(BOOK, RECORDS), stream=Stream.seeded(RNG))
    if method != "sbhg-gauss":  # Gaussian noise is never quite 0: its chains follow the tables it made
        for released, exact in zip(fitted.model.tables, conditional_tables(), strict=True):
            assert np.array_equal(released.to_grid(), exact.to_grid())
    naive = Naive(BOOK, fitted.model.tables)
    states = naive.states()
    mixed = np.linalg.matrix_power(naive.matrix(states), 40)
    assert np.ptp(mixed, axis=0).max() < 1e-6  # any start is forgotten: a tenth of a row among all
    table = fitted.sample(ROWS).table
    rows = Counter(zip(*(map(int, table[name].to_pylist()) for name in BOOK.names), strict=True))
    assert_follows(rows, dict(zip(states, mixed[0].tolist(), strict=True)))


# --- the same words, the same rows -----------------------------------------------------------------------------------


def naive_run(naive, rows, sweeps, stream):
    """All rows of each block, column after column, one word per attempt; blocks one after another."""
    words = iter(int(word) for word in stream.spawn().words(1 << 19))
    moved, rejected, blamed = Counter(), Counter(), Counter()
    for first in range(0, len(rows), BLOCK):
        for _, column in itertools.product(range(sweeps), range(len(naive.sizes))):
            for row in range(first, min(first + BLOCK, len(rows))):
                state = rows[row]
                weights = naive.blocks[column][naive.key(column, state)]
                total = sum(weights)
                while True:
                    pick, low = divmod(next(words) * total, 1 << 64)
                    if low >= (1 << 64) % total:
                        break
                level = next(i for i, reach in enumerate(itertools.accumulate(weights)) if pick < reach)
                proposal = (*state[:column], level, *state[column + 1 :])
                if by := naive.blockers(column, proposal):
                    rejected[column] += 1
                    blamed[column, by[0]] += 1
                else:
                    moved[column] += proposal != state
                    rows[row] = proposal
    return moved, rejected, blamed


def holed_tables(book, parents, records, stream):
    """Tables of random records with every third cell struck out."""
    tables = []
    for name in book.names:
        columns = (*parents[name], name)
        cells = Counter(tuple(record[book.position(c)] for c in columns) for record in records)
        kept = {cell: int(3 * count + stream.below(5)) for cell, count in cells.items() if stream.below(3)}
        tables.append(table_of(book, columns, kept))
    return tables


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(
    ("sizes", "rows"),
    [
        pytest.param((2, 3, 4, 2), 300, id="small"),
        pytest.param((2, 3, 4, 2), BLOCK + 7, id="two blocks"),
        pytest.param((90, 3, 80, 2), 400, id="many levels"),
        pytest.param((2000, 1500, 2, 3), 400, id="sparse"),
    ],
)
def test_the_sampler_does_what_the_plain_one_does(sizes, rows, seed):
    book = book_of(*sizes)
    parents = {"a": ("b", "c"), "b": ("a", "d"), "c": ("a",), "d": ("b", "a")}
    stream = Stream.seeded(100 * seed + len(sizes))
    records = [tuple(min(stream.below(size), stream.below(size)) for size in sizes) for _ in range(800)]
    tables = holed_tables(book, parents, records, stream)
    if sizes[0] > 1000:
        assert released_weights(released_key(book, tables[3]), tables[3]).keys is not None
    naive, sampler = Naive(book, tables), sampler_of(book, tables)
    good = [record for record in records if naive.fits(record)]
    assert good  # with 800 records and a third of the cells missing some survive; a fixed seed, no luck involved
    starts = [good[row % len(good)] for row in range(rows)]
    columns = [np.array(column, dtype=np.uint16) for column in zip(*starts, strict=True)]
    if max(sizes) <= 256:
        columns = [column.astype(np.uint8) for column in columns]
    made, mixing = sampler.run(columns, sweeps=2, stream=Stream.seeded(seed), threads=1)
    moved, rejected, blamed = naive_run(naive, starts, 2, Stream.seeded(seed))
    assert list(zip(*(column.tolist() for column in made), strict=True)) == starts
    for column, name in enumerate(book.names):
        assert mixing.moved[name] == moved[column] / (2 * rows)
        assert mixing.rejected[name] == rejected[column] / (2 * rows)
        if rejected[column]:
            most = max(blamed[column, j] for j in range(4))
            assert blamed[column, book.position(mixing.blockers[name])] == most
        else:
            assert name not in mixing.blockers


def test_threads_change_no_law():
    starts = [np.full(4 * BLOCK, code, dtype=np.uint8) for code in (0, 0, 0)]
    tables = conditional_tables()
    naive = Naive(BOOK, tables)
    states = naive.states()
    law = np.linalg.matrix_power(naive.matrix(states), 3)[states.index((0, 0, 0))]
    seen = []
    done = sampler_of(BOOK, tables).run(
        starts, sweeps=3, stream=Stream.seeded(RNG), threads=2, report=lambda now, of: seen.append((now, of))
    )[0]
    assert_follows(drawn(done), dict(zip(states, law.tolist(), strict=True)))
    assert seen[-1] == (4 * BLOCK, 4 * BLOCK)
    assert not np.array_equal(done[1][: 2 * BLOCK], done[1][2 * BLOCK :])  # each thread has words of its own
    assert all((column == 0).all() for column in starts)  # the starts are left alone


# --- tables with holes -----------------------------------------------------------------------------------------------


@st.composite
def holed(draw):
    sizes = draw(st.lists(st.integers(2, 3), min_size=2, max_size=4))
    book = book_of(*sizes)
    tables = []
    for name in book.names:
        others = [other for other in book.names if other != name]
        columns = (*draw(st.lists(st.sampled_from(others), max_size=2, unique=True)), name)
        domain = list(itertools.product(*(range(book.column(c).size) for c in columns)))
        kept = draw(st.lists(st.sampled_from(domain), min_size=1, unique=True))
        tables.append(table_of(book, columns, {cell: draw(st.integers(1, 40)) for cell in kept}))
    return book, tables


@settings(max_examples=150, deadline=None)
@given(made=holed(), seed=st.integers(0, 1 << 30))
def test_chains_start_and_stay_where_every_table_knows_them(made, seed):
    book, tables = made
    naive, sampler = Naive(book, tables), sampler_of(book, tables)
    feasible = set(naive.states())
    stream = Stream.seeded(seed)
    try:
        rows = sampler.starts(60, stream, among=64)
    except RefusalError as refusal:
        assert "Use fewer parents" in str(refusal)
        assert any(repr(name) in str(refusal) for name in book.names)
        assert chance_of_no_start(naive, feasible) ** 64 >= FAILURE / 150  # not by bad luck alone
        return
    assert feasible
    assert len(rows[0]) == 60
    assert set(drawn(rows)) <= feasible
    for _ in range(4):
        rows, mixing = sampler.run(rows, sweeps=1, stream=stream)
        assert set(drawn(rows)) <= feasible
        for name in book.names:
            assert mixing.moved[name] + mixing.rejected[name] <= 1 + 1e-12


def chance_of_no_start(naive, feasible):
    """Probability that one search of fifty sweeps, missing blocks lending their marginal, meets no feasible state."""
    states = list(itertools.product(*map(range, naive.sizes)))
    place = {state: number for number, state in enumerate(states)}
    marginals = [[sum(w) for w in zip(*block.values(), strict=True)] for block in naive.blocks]
    sweep = np.eye(len(states))
    for column, block in enumerate(naive.blocks):
        step = np.zeros_like(sweep)
        for state in states:
            weights = block.get(naive.key(column, state), marginals[column])
            for level, weight in enumerate(weights):
                step[place[state], place[(*state[:column], level, *state[column + 1 :])]] += weight / sum(weights)
        sweep = sweep @ step
    chances = np.full(len(states), 1 / len(states))
    for _ in range(50):
        chances = chances @ sweep
        chances[[place[state] for state in feasible]] = 0
    return chances.sum()


def test_states_that_satisfy_all_tables_do_not_exist():
    book = book_of(2, 2)
    tables = [table_of(book, ("b", "a"), {(0, 1): 5}), table_of(book, ("a", "b"), {(0, 1): 5})]
    assert not Naive(book, tables).states() or Naive(book, tables).states() == [(0, 0)]
    with pytest.raises(RefusalError, match="no starting state") as refusal:
        sampler_of(book, tables).starts(10, Stream.seeded(1))
    assert "coarser levels" in str(refusal.value)


def test_the_diagnosis_names_the_table_that_blocks():
    book = book_of(2, 2, 2, 2)
    tables = [
        table_of(book, ("c", "a"), {(0, 0): 5, (0, 1): 5, (1, 0): 3, (1, 1): 1}),
        table_of(book, ("a", "b"), {(0, 0): 4, (0, 1): 4}),  # knows nothing of a = 1
        table_of(book, ("b", "c"), {(0, 0): 2, (0, 1): 2, (1, 0): 1, (1, 1): 1}),
        table_of(book, ("b", "d"), {(0, 1): 2, (1, 1): 9}),  # always the same value: nothing is rejected
    ]
    sampler = sampler_of(book, tables)
    stream = Stream.seeded(2)
    starts = sampler.starts(500, stream)
    assert not starts[0].any()
    _, mixing = sampler.run(starts, sweeps=10, stream=stream)
    assert mixing.moved["a"] == 0
    assert mixing.rejected["a"] > 0
    assert mixing.blockers == {"a": "b"}
    assert min(mixing.moved["b"], mixing.moved["c"]) > 0
    said = mixing.warnings()
    assert len(said) == 2
    assert "no chain ever changed 'a': the table of 'b' rejects every change" in said[0]
    assert "no chain ever changed 'd'." in said[1]
    assert all("fewer parents" in text for text in said)


# --- nothing survives ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("cls", [SBHG, SBHGGauss])
def test_tables_without_survivors_release_nothing_and_stay_paid_for(cls, tmp_path):
    """That nothing survived is an answer about the data: tried again for nothing, it would wear the noise away."""
    account = Account.create(
        tmp_path / "d.account", dataset="d", epsilon=10.0, delta=0.1, neighbours=Neighbours.ADD_REMOVE
    )
    recipe = cls(epsilon=0.01, delta=1e-12, parents=PARENTS)
    fitted = recipe.fit(source_of(BOOK, RECORDS, account))
    with pytest.raises(RefusalError, match="nothing survives") as refusal:
        fitted.sample(10)
    said = str(refusal.value)
    assert all(word in said for word in ("a, b, c", "fewer parents", "larger epsilon", "coarser", "Confidential"))
    assert not any(character.isdigit() for character in said)
    assert account.spent().epsilon == recipe.quote(BOOK, 10).total.epsilon
    assert [charge.state.value for charge in account.history()] == ["committed"]
    with pytest.raises(RefusalError, match="nothing survives"):  # the same tables, at no further price
        fitted.sample(10)
    assert len(account.history()) == 1
    assert [path.name for path in tmp_path.iterdir()] == ["d.account"]


def failing(error):
    def write(*_):
        raise error

    return write


def test_an_interrupt_gives_the_price_back_and_a_full_disk_does_not(tmp_path):
    account = Account.create(
        tmp_path / "d.account", dataset="d", epsilon=1e7, delta=0.1, neighbours=Neighbours.ADD_REMOVE
    )
    fitted = SBHG(epsilon=1e6, delta=1e-9, parents=PARENTS, sweeps=1).fit(source_of(BOOK, RECORDS, account))
    for error, raised, states in (
        (KeyboardInterrupt(), KeyboardInterrupt, ["cancelled"]),
        (OSError(28, "No space left on device"), ReleaseError, ["cancelled", "committed"]),
    ):
        with pytest.MonkeyPatch.context() as patched, pytest.raises(raised):
            patched.setattr("pyarrow.parquet.write_table", failing(error))
            fitted.write(tmp_path / "r", 10)
        assert [charge.state.value for charge in account.history()] == states
        assert [path.name for path in tmp_path.iterdir()] == ["d.account"]
    fitted.sample(10)  # the same noisy tables, which are paid for
    assert len(account.history()) == 2
