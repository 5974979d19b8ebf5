"""SBHG as a whole on tiny tables: the choice of parents and the released counts together, by enumeration.

The law of everything that a fit releases is known exactly: picks are independent given earlier ones, with the
probabilities of :func:`understudy.mechanisms.exponential.penalties`; given the parents, cells are noised one by one and
those that neighbours share have one law. So the hockey-stick divergence of the whole release is a finite sum.
"""

import itertools
import math
from collections import Counter

import numpy as np
import pytest
from enumeration import AR, RO, neighbours_of, records_of, small_book, source_of, tables_up_to
from hypothesis import given, settings
from hypothesis import strategies as st

from understudy.blocks import choosing
from understudy.blocks.choosing import PrivateParents
from understudy.codebook import Categorical, Codebook
from understudy.errors import ParameterError
from understudy.mechanisms.exponential import ExponentialSelection, penalties
from understudy.mechanisms.gaussian_stability import GaussianStability
from understudy.mechanisms.stability import StabilityHistogram
from understudy.mechanisms.stream import Stream
from understudy.privacy import ApproxDP, PureDP, Secret
from understudy.sources.base import Source
from understudy.sources.encoded import count_codes
from understudy.synth import SBHG, PrivBayes, SBHGGauss

ROUNDING = 1e-9
"""Relative; the sums have at most a few thousand float terms."""
BOOK = small_book(2, 2, 2)
_NONE = np.zeros(0, dtype=np.uint8)


# --- the choice of parents -------------------------------------------------------------------------------------------


class Counted(Source):
    """Counts of one tiny table, each clique once: thousands of fits ask for the same few."""

    def __init__(self, table):
        super().__init__(codebook=BOOK, account=None)
        self.columns = [np.array(column, dtype=np.uint8) for column in zip(*table, strict=True)] or [_NONE] * 3
        self.known = {}

    def count(self, cliques, report=None):
        for clique in cliques:
            if clique not in self.known:
                picked = [self.columns[BOOK.position(name)] for name in clique]
                self.known[clique] = Secret(count_codes(clique, (2,) * len(clique), picked))
        return [self.known[clique] for clique in cliques]


class Scripted:
    """Stands in for ``select``: follows a script and records the probability of what it was told to pick."""

    def __init__(self, script):
        self.script, self.shares, self.options = list(script), [], []

    def __call__(self, scores, *, epsilon, sensitivity, monotone, neighbours, stream):
        gaps = penalties(scores.open(), epsilon=epsilon, sensitivity=sensitivity, monotone=monotone)
        weights = [math.exp(-gap) for gap in gaps]
        pick = self.script[len(self.shares)] if len(self.shares) < len(self.script) else 0
        self.shares.append(weights[pick] / math.fsum(weights))
        self.options.append(len(weights))
        return pick, None


def parents_law(choice, source, monkeypatch):
    """Probability of every choice of parents, following every script of picks."""
    law = Counter()
    waiting = [()]
    while waiting:
        script = waiting.pop()
        scripted = Scripted(script)
        with monkeypatch.context() as patch:
            patch.setattr(choosing, "select", scripted)
            chosen = choice.choose(source, Stream.seeded(1))
        law[tuple(sorted(chosen.items()))] += math.prod(scripted.shares)
        for place in range(len(script), len(scripted.options)):
            stem = (*script, *[0] * (place - len(script)))
            waiting += [(*stem, pick) for pick in range(1, scripted.options[place])]
    assert math.isclose(math.fsum(law.values()), 1, rel_tol=ROUNDING)
    return law


def pairs_of(relation, most):
    """Neighbouring tables of at most ``most`` records (replace-one: exactly so many)."""
    for table in tables_up_to(BOOK, most - 1 if relation is AR else most):
        if relation is AR or len(table) == most:
            for other in neighbours_of(BOOK, table, relation):
                if relation is AR or table < other:
                    yield table, other


@pytest.mark.parametrize(
    ("relation", "rows", "count"),
    [
        *((RO, 2, 1), (RO, 2, 2), (RO, 3, 1), (RO, 3, 2), (AR, 4, 1)),
        *(pytest.param(*large, marks=pytest.mark.long) for large in ((AR, 4, 2), (RO, 4, 1), (RO, 4, 2))),
    ],
)
def test_the_choice_of_parents_costs_what_its_entry_says(relation, rows, count, monkeypatch):
    choice = PrivateParents(count=count, epsilon=0.5, public_rows=rows, neighbours=relation, per_cell=rows / 4)
    stated = choice.entries(BOOK)[0].guarantee
    assert stated == PureDP(epsilon=count * 3 * 0.5, neighbours=relation)
    tables = {table for pair in pairs_of(relation, rows) for table in pair}
    laws = {table: parents_law(choice, Counted(table), monkeypatch) for table in tables}
    worst = 0.0
    for table, other in pairs_of(relation, rows):
        left, right = laws[table], laws[other]
        assert left.keys() == right.keys()  # every choice stays possible
        worst = max(worst, *(abs(math.log(left[out] / right[out])) for out in left))
    assert worst <= stated.epsilon * (1 + ROUNDING)
    assert worst >= 0.2  # something is really read: three picks at 0.5 each, two candidates each


# --- parents and tables together -------------------------------------------------------------------------------------


def laplace_at_least(scale, bound):
    """P(X >= bound) of discrete Laplace noise."""
    q = math.exp(-1 / scale)
    return q**bound / (1 + q) if bound >= 1 else 1 - q ** (1 - bound) / (1 + q)


def laplace_cell(event, first, second):
    """Outcomes of one released cell as pairs of probabilities; outcomes of one likelihood ratio are merged."""
    scale, low = float(event.scale), event.threshold
    ends = [low, *range(low + 1, max(low, first, second) + 1)]  # from the larger count on the ratio is constant

    def law(count):
        if count == 0:
            return [1.0] + [0.0] * len(ends)
        tails = [laplace_at_least(scale, end - count) for end in ends]
        return [1 - tails[0], *(a - b for a, b in itertools.pairwise(tails)), tails[-1]]

    return list(zip(law(first), law(second), strict=True))


def gaussian_cell(event, first, second):
    variance, low = float(event.variance), event.threshold
    reach = math.ceil(9 * math.sqrt(variance))  # what is left beyond has a probability below 1e-17
    noise = {x: math.exp(-x * x / (2 * variance)) for x in range(-reach, reach + 1)}
    whole = math.fsum(noise.values())

    def law(count):
        if count == 0:
            return [1.0] + [0.0] * (2 * reach)
        shown = [noise.get(value - count, 0.0) / whole for value in range(low, low + 2 * reach)]
        return [1 - math.fsum(shown), *shown]

    return [pair for pair in zip(law(first), law(second), strict=True) if max(pair) > 1e-15]


def counts_of(table, columns):
    places = [BOOK.names.index(name) for name in columns]
    return Counter(tuple(record[place] for place in places) for record in table)


def released_law(table, other, parents, cell_law, events):
    """Arrays of both probabilities of every outcome, over the cells in which two tables differ."""
    left, right = np.ones(1), np.ones(1)
    for event, (name, chosen) in zip(events, parents, strict=True):
        first, second = (counts_of(records, (*chosen, name)) for records in (table, other))
        for cell in sorted(first.keys() | second.keys()):
            if first[cell] != second[cell]:
                p, q = np.array(cell_law(event, first[cell], second[cell])).T
                left, right = np.outer(left, p).ravel(), np.outer(right, q).ravel()
    return left, right


def divergence(table, other, laws, cell_law, events, epsilon):
    """Largest P(S) - e^epsilon Q(S) over all events S, in the worse direction."""
    sums = [0.0, 0.0]
    for parents in laws[table]:
        left, right = released_law(table, other, parents, cell_law, events)
        left, right = left * laws[table][parents], right * laws[other][parents]
        for direction, (p, q) in enumerate(((left, right), (right, left))):
            sums[direction] += float(np.maximum(p - math.exp(epsilon) * q, 0).sum())
    return max(sums)


def pipeline(recipe, pairs, cell_law, monkeypatch):
    """The whole release at its stated total: the largest delta that any pair needs, and the stated one."""
    total = recipe.quote(BOOK, 10).total
    assert isinstance(total, ApproxDP)
    assert total.delta <= recipe.delta
    events = list(recipe.table_events(BOOK)) * (3 if len(recipe.table_events(BOOK)) == 1 else 1)
    choice = recipe.choice(recipe.pick_epsilon(BOOK))
    tables = {table for pair in pairs for table in pair}
    laws = {table: parents_law(choice, Counted(table), monkeypatch) for table in tables}
    needed = max(divergence(table, other, laws, cell_law, events, total.epsilon) for table, other in pairs)
    assert needed <= total.delta * (1 + ROUNDING)
    return needed / total.delta


def heavier(table, times):
    return tuple(sorted(table * times))


@pytest.mark.parametrize(("epsilon", "delta", "count"), [(1.0, 0.01, 1), (3.0, 0.4, 2), (0.2, 1e-5, 1)])
def test_the_whole_release_is_private_under_add_remove(epsilon, delta, count, monkeypatch):
    recipe = SBHG(epsilon=epsilon, delta=delta, parent_count=count, public_rows=240)
    pairs = list(pairs_of(AR, 3))
    crowded = [heavier(((0, 0, 0), (0, 1, 1), (1, 0, 1)), times) for times in (2, 5, 12)]
    pairs += [(table, other) for table in crowded for other in neighbours_of(BOOK, table, AR)]
    spent = pipeline(recipe, pairs, laplace_cell, monkeypatch)
    assert spent >= 0.1  # a lone record shows in one of three tables


@pytest.mark.parametrize(("epsilon", "delta"), [(1.0, 0.01), (3.0, 0.4)])
def test_the_whole_release_is_private_under_replace_one(epsilon, delta, monkeypatch):
    choice = PrivateParents(count=1, epsilon=epsilon / 10, public_rows=3, neighbours=RO, per_cell=1)
    recipe = SBHG(epsilon=epsilon, delta=delta, neighbours=RO, parents=choice, parent_count=1)
    assert pipeline(recipe, list(pairs_of(RO, 3)), laplace_cell, monkeypatch) >= 0.1


@pytest.mark.parametrize("times", [1, 4, 9])
def test_the_gaussian_release_is_private(times, monkeypatch):
    recipe = SBHGGauss(epsilon=4.0, delta=0.05, parent_count=1, public_rows=240)
    table = heavier(((0, 0, 0), (0, 1, 1)), times)
    pairs = [(table, other) for other in neighbours_of(BOOK, table, AR)]
    pipeline(recipe, pairs, gaussian_cell, monkeypatch)


# --- what a fit releases ---------------------------------------------------------------------------------------------


def messy(rows):
    """Records of 3 x 4 x 2 levels, some combinations never."""
    book = small_book(3, 4, 2)
    records = [record for record in records_of(book) if sum(record) % 3 != 1]
    return book, [records[(7 * row * row + row) % len(records)] for row in range(rows)]


@pytest.mark.parametrize("cls", [SBHG, SBHGGauss])
@pytest.mark.parametrize("epsilon", [0.05, 2.0])
def test_cells_that_no_record_has_are_never_released(cls, epsilon):
    """The threshold of a large delta is low, the noise is enormous; still only occupied cells can show."""
    book, records = messy(60)
    recipe = cls(epsilon=epsilon, delta=0.9, parents="declared")
    source = source_of(book, records)
    shown = 0
    for seed in range(40):
        for table in recipe.fit(source, stream=Stream.seeded(seed)).model.tables:
            places = [book.names.index(name) for name in table.columns]
            occupied = {tuple(record[place] for place in places) for record in records}
            codes, counts = table.occupied()
            assert {tuple(map(int, code)) for code in codes} <= occupied
            assert (counts >= 1).all()
            shown += len(codes)
    assert shown > 100


@pytest.mark.parametrize("cls", [SBHG, SBHGGauss, PrivBayes])
@pytest.mark.parametrize("relation", [AR, RO])
def test_the_ledger_holds_the_very_events_of_the_mechanisms(cls, relation):
    book, records = messy(90)
    more = {} if cls is PrivBayes else {"delta": 1e-3}
    recipe = cls(epsilon=2.0, public_rows=90, neighbours=relation, parent_count=1, **more)
    before = recipe.quote(book, 10)
    source = source_of(book, records)
    found = recipe.perturb(source, Stream.from_system(), None)
    priced = Counter(entry.event for entry in before.ledger.entries)
    written = Counter(entry.event for entry in found.entries)
    chosen = priced - written
    assert written <= priced  # with multiplicity: three tables are three events
    assert [type(event) for event in chosen] == [ExponentialSelection]
    picks = len(book.names) - 1 if cls is PrivBayes else len(book.names)
    assert next(iter(chosen)).selections == picks
    assert sum(1 for event in written.elements() if isinstance(event, GaussianStability)) == (cls is SBHGGauss)
    fitted = recipe.fit(source)
    assert fitted.quote(10) == before
    assert fitted.model.ledger == before.ledger
    assert fitted.quote(10**6).ledger == before.ledger  # rows are free


# --- the price -------------------------------------------------------------------------------------------------------


def plain_book(sizes):
    return Codebook(
        columns=tuple(
            Categorical(name=f"c{place}", levels=tuple(map(str, range(size)))) for place, size in enumerate(sizes)
        )
    )


books = st.lists(st.sampled_from([2, 3, 9]), min_size=2, max_size=6).map(plain_book)
epsilons = st.floats(math.log(0.01), math.log(40)).map(math.exp)
deltas = st.floats(math.log(1e-12), math.log(0.4)).map(math.exp)
relations = st.sampled_from([AR, RO])
shares = st.floats(0.01, 0.99)


@st.composite
def hashed_gibbs(draw, cls, book):
    word = draw(st.sampled_from(["private", "declared", "random", "full"]))
    return cls(
        epsilon=draw(epsilons),
        delta=draw(deltas),
        neighbours=draw(relations),
        parents=word,
        parent_count=draw(st.integers(1, len(book.names) - 1)),
        selection_share=draw(shares),
        public_rows=draw(st.integers(2, 10**6)) if word == "private" else None,
    )


def within(recipe, book):
    quote = recipe.quote(book, 100)
    total = quote.total
    assert isinstance(total, PureDP | ApproxDP)
    assert total.epsilon <= recipe.epsilon
    assert total.delta <= getattr(recipe, "delta", 0.0)
    assert total.neighbours is recipe.neighbours
    return total


@pytest.mark.parametrize("cls", [SBHG, SBHGGauss])
@settings(max_examples=40, deadline=None)
@given(data=st.data(), book=books)
def test_the_total_never_exceeds_what_was_asked_for(cls, data, book):
    recipe = data.draw(hashed_gibbs(cls, book))
    total = within(recipe, book)
    if recipe.delta <= 1e-4 <= 1e-3 * recipe.epsilon:  # not where a delta by itself pays for nearly everything
        assert total.epsilon >= 0.5 * recipe.epsilon  # little is wasted


@settings(max_examples=60, deadline=None)
@given(
    book=books, epsilon=epsilons, relation=relations, share=shares, rows=st.integers(2, 10**6), most=st.integers(1, 5)
)
def test_a_network_never_costs_more_than_was_asked_for(book, epsilon, relation, share, rows, most):
    recipe = PrivBayes(epsilon=epsilon, public_rows=rows, neighbours=relation, selection_share=share, parent_count=most)
    total = within(recipe, book)
    assert total.epsilon >= epsilon * (1 - 1e-3)
    assert isinstance(total, PureDP)


def noise_of(recipe, book):
    event = recipe.table_events(book)[0]
    spread = event.scale if isinstance(event, StabilityHistogram) else event.variance
    return spread, event.threshold


@pytest.mark.parametrize("cls", [SBHG, SBHGGauss])
@pytest.mark.parametrize("relation", [AR, RO])
@pytest.mark.parametrize("word", ["declared", "private"])
@pytest.mark.parametrize("columns", [3, pytest.param(13, marks=pytest.mark.long)])
def test_a_smaller_epsilon_means_more_noise_and_a_higher_threshold(cls, relation, word, columns):
    book = plain_book([3] * columns)
    more = {"public_rows": 10_000} if word == "private" else {}
    noises = [
        noise_of(cls(epsilon=epsilon, delta=1e-6, neighbours=relation, parents=word, **more), book)
        for epsilon in (8.0, 4.0, 2.0, 1.0, 0.5, 0.25, 0.1, 0.03)
    ]
    for (spread, threshold), (wider, higher) in itertools.pairwise(noises):
        assert wider > spread
        assert higher > threshold


@pytest.mark.parametrize("cls", [SBHG, SBHGGauss])
def test_a_smaller_delta_means_a_higher_threshold(cls):
    book = plain_book([3] * 5)
    thresholds = [
        noise_of(cls(epsilon=1.0, delta=delta, parents="declared"), book)[1] for delta in (1e-2, 1e-4, 1e-6, 1e-9)
    ]
    assert thresholds == sorted(set(thresholds))


@pytest.mark.parametrize("cls", [SBHG, SBHGGauss])
@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"epsilon": 0.0}, "epsilon"),
        ({"delta": 1}, "delta"),
        ({"delta": 0.0}, "delta"),
        ({"sweeps": 0}, "sweeps"),
        ({"sweeps": True}, "sweeps"),
        ({"selection_share": 0.0}, "selection_share"),
        ({"selection_share": 1.0}, "selection_share"),
        ({"public_rows": None}, "public_rows"),
        ({"parents": "clever"}, "parents"),
    ],
)
def test_bad_choices_are_refused_before_any_data(cls, options, named):
    with pytest.raises(ParameterError, match=named):
        cls(**{"epsilon": 1.0, "delta": 1e-6, "public_rows": 100, **options})
