"""PrivBayes: the shape of its networks, the law of its rows, and the price of its choices on tiny tables."""

import itertools
import math
from collections import Counter

import numpy as np
import pytest

from understudy.codebook import Categorical, Codebook
from understudy.errors import DataError, ParameterError
from understudy.mechanisms.exponential import penalties
from understudy.mechanisms.stream import Stream
from understudy.privacy import Neighbours, PureDP
from understudy.sources import EncodedSource
from understudy.synth import PrivBayes
from understudy.synth.methods import privbayes

AR, RO = Neighbours.ADD_REMOVE, Neighbours.REPLACE
FAILURE = 1e-9
ROWS = 150_000


def book_of(*sizes):
    return Codebook(
        columns=tuple(
            Categorical(name=name, levels=tuple(map(str, range(size))))
            for name, size in zip("abcdef", sizes, strict=False)
        )
    )


def source_of(book, records):
    codes = np.array(records, dtype=np.uint8).reshape(len(records), len(book.names))
    return EncodedSource(codebook=book, columns=[np.ascontiguousarray(column) for column in codes.T])


def records_of(book, rows, seed=1):
    stream = Stream.seeded(seed)
    return [tuple(min(stream.below(size), stream.below(size)) for size in book.sizes) for _ in range(rows)]


@pytest.mark.parametrize("relation", [AR, RO])
@pytest.mark.parametrize("usefulness", [0.01, 4.0, 60.0, 1e9])
@pytest.mark.parametrize("seed", range(4))
def test_networks_have_parents_first_and_useful_tables(relation, usefulness, seed):
    book = book_of(2, 5, 3, 9, 4, 2)
    recipe = PrivBayes(epsilon=1.0, public_rows=600, neighbours=relation, usefulness=usefulness, parent_count=2)
    model = recipe.fit(source_of(book, records_of(book, 600)), stream=Stream.seeded(seed)).model
    order = model.way.order
    assert sorted(order) == list(range(6))
    assert [table.columns[-1] for table in model.tables] == list(book.names)
    joined, limit = [], recipe.largest_table(book)
    for column in order:
        table = model.tables[column]
        *parents, child = table.columns
        assert set(parents) <= set(joined)
        assert len(parents) <= 2
        assert table.cells <= limit or not parents
        if joined and len(parents) < min(2, len(joined)):  # maximal: no other column fits beside them
            others = [book.column(name).size for name in joined if name not in parents]
            assert all(table.cells * size > limit for size in others)
        joined.append(child)
    assert model.faults() == []


def test_largest_table_is_the_papers_rule():
    """Average count of a cell over the noise's scale p / epsilon, at least ``usefulness``; public numbers only."""
    book = book_of(2, 2, 2, 2)
    recipe = PrivBayes(epsilon=2.0, public_rows=1000, usefulness=4.0, selection_share=0.5)
    assert recipe.largest_table(book) == 1000 * 1 // (4 * 4)
    replaced = PrivBayes(epsilon=2.0, public_rows=1000, usefulness=4.0, selection_share=0.5, neighbours=RO)
    assert replaced.largest_table(book) == 1000 * 1 // (4 * 4 * 2)


@pytest.mark.parametrize("epsilon", [0.05, 1.0, 1e5])
def test_rows_follow_the_noisy_network(epsilon):
    """Exact probabilities of all records, from the released counts alone; an empty row of counts draws uniformly."""
    book = book_of(2, 3, 2)
    recipe = PrivBayes(epsilon=epsilon, public_rows=40, usefulness=1e-6, parent_count=2)
    fitted = recipe.fit(source_of(book, records_of(book, 40)), stream=Stream.seeded(11))
    grids = [table.to_grid() for table in fitted.model.tables]
    law = {}
    for record in itertools.product(*map(range, book.sizes)):
        chance = 1.0
        for column, (table, grid) in enumerate(zip(fitted.model.tables, grids, strict=True)):
            weights = grid[tuple(record[book.position(name)] for name in table.columns[:-1])]
            total = int(weights.sum())
            chance *= int(weights[record[column]]) / total if total else 1 / len(weights)
        law[record] = chance
    assert math.isclose(math.fsum(law.values()), 1, rel_tol=1e-12)
    made = fitted.sample(ROWS).table
    seen = Counter(zip(*(map(int, made[name].to_pylist()) for name in book.names), strict=True))
    assert set(seen) <= {record for record, p in law.items() if p > 0}
    allowed = math.log(2 * len(law) / FAILURE)  # Chernoff for each record, both sides
    for record, p in law.items():
        share = seen[record] / ROWS
        parts = [x * math.log(x / y) for x, y in ((share, p), (1 - share, 1 - p)) if x > 0]
        assert ROWS * math.fsum(parts) <= allowed, record


def test_with_a_huge_epsilon_the_tables_are_exact():
    book = book_of(2, 3, 2)
    records = records_of(book, 500)
    model = PrivBayes(epsilon=1e5, public_rows=500, usefulness=1e-6).fit(source_of(book, records)).model
    for table in model.tables:
        places = [book.position(name) for name in table.columns]
        exact = Counter(tuple(record[place] for place in places) for record in records)
        codes, counts = table.occupied()
        assert {tuple(map(int, c)): int(n) for c, n in zip(codes, counts, strict=True)} == exact


# --- the choice of the network ---------------------------------------------------------------------------------------


class Follower:
    """Stands in for ``select`` and for the stream's first column: follows a script, records the probabilities."""

    def __init__(self, script, monkeypatch):
        self.script, self.shares, self.options = list(script), [], []
        self.sensitivities, self.shapes = [], []
        real = privbayes.score_tables

        def scored(tables, score, **options):
            self.shapes.append([table.open().sizes for table in tables])
            return real(tables, score, **options)

        monkeypatch.setattr(privbayes, "score_tables", scored)
        monkeypatch.setattr(privbayes, "select", self.select)

    def take(self, weights):
        place = len(self.shares)
        pick = self.script[place] if place < len(self.script) else 0
        self.shares.append(weights[pick] / math.fsum(weights))
        self.options.append(len(weights))
        return pick

    def below(self, bound):
        return self.take([1.0] * bound)

    def select(self, scores, *, epsilon, sensitivity, monotone, neighbours, stream):
        self.sensitivities.append(sensitivity)
        gaps = penalties(scores.open(), epsilon=epsilon, sensitivity=sensitivity, monotone=monotone)
        return self.take([math.exp(-gap) for gap in gaps]), None


def network_law(recipe, source, monkeypatch):
    law, waiting = Counter(), [()]
    while waiting:
        script = waiting.pop()
        with monkeypatch.context() as patch:
            follower = Follower(script, patch)
            network = recipe._network(source, follower, None)
        law[tuple(network.items())] += math.prod(follower.shares)
        for place in range(len(script), len(follower.options)):
            stem = (*script, *[0] * (place - len(script)))
            waiting += [(*stem, pick) for pick in range(1, follower.options[place])]
    assert math.isclose(math.fsum(law.values()), 1, rel_tol=1e-9)
    return law


@pytest.mark.parametrize("relation", [AR, RO])
def test_the_network_costs_what_its_entry_says(relation, monkeypatch):
    """All tables of up to 3 records (replace-one: of 3) over 2 x 2 x 3 levels that hold fixed first records."""
    book = book_of(2, 2, 3)
    recipe = PrivBayes(epsilon=2.0, public_rows=3, neighbours=relation, usefulness=1e-6, selection_share=0.5)
    stated = recipe.price(book, 1)[0].guarantee
    assert stated == PureDP(epsilon=1.0, neighbours=relation)
    domain = list(itertools.product(*map(range, book.sizes)))
    worst = 0.0
    for base in itertools.combinations_with_replacement([(0, 0, 0), (0, 1, 2), (1, 1, 1)], 2):
        tables = [(*base, record) for record in domain] + ([base] if relation is AR else [])
        laws = [network_law(recipe, source_of(book, table), monkeypatch) for table in tables]
        pairs = [(law, laws[-1]) for law in laws[:-1]] if relation is AR else itertools.combinations(laws, 2)
        for left, right in pairs:
            assert left.keys() == right.keys()
            worst = max(worst, *(abs(math.log(left[net] / right[net])) for net in left))
    assert 0.1 <= worst <= stated.epsilon * (1 + 1e-9)


@pytest.mark.parametrize(
    ("sizes", "expected"),
    [
        pytest.param((2, 2, 2), {True}, id="all binary"),
        pytest.param((3, 4, 3), {False}, id="none binary"),
        pytest.param((2, 3, 2), {True, False}, id="mixed"),
    ],
)
def test_the_binary_sensitivity_is_used_only_where_it_holds(sizes, expected, monkeypatch):
    """PrivBayes Lemma 4.1 needs the child, or all its parents together, to have two levels, for every candidate."""
    book = book_of(*sizes)
    recipe = PrivBayes(epsilon=1.0, public_rows=50, neighbours=RO, usefulness=1e-6, parent_count=2)
    source, used = source_of(book, records_of(book, 50)), set()
    narrow, wide = (privbayes.mutual_information_sensitivity(50, binary=binary) for binary in (True, False))
    for script in itertools.product(range(3), range(2)):
        with monkeypatch.context() as patch:
            follower = Follower(script, patch)
            recipe._network(source, follower, None)
        for shapes, sensitivity in zip(follower.shapes, follower.sensitivities, strict=True):
            binary = all(shape[-1] == 2 or math.prod(shape[:-1]) <= 2 for shape in shapes)
            assert sensitivity == (narrow if binary else wide)
            used.add(binary)
    assert used == expected


@pytest.mark.parametrize("relation", [AR, RO])
def test_a_public_size_that_the_data_contradict_is_refused_without_a_count(relation):
    book = book_of(2, 3, 2)
    source = source_of(book, records_of(book, 4321))
    with pytest.raises(DataError, match="1,000 records") as refusal:
        PrivBayes(epsilon=1.0, public_rows=1000, neighbours=relation).fit(source)
    assert "4321" not in str(refusal.value).replace(",", "")


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"public_rows": 1}, "public_rows"),
        ({"public_rows": True}, "public_rows"),
        ({"selection_share": 0.0}, "selection_share"),
        ({"selection_share": 1.0}, "selection_share"),
        ({"parent_count": 0}, "parent_count"),
        ({"usefulness": 0.0}, "usefulness"),
        ({"epsilon": -1.0}, "epsilon"),
    ],
)
def test_bad_choices_are_refused(options, named):
    with pytest.raises(ParameterError, match=named):
        PrivBayes(**{"epsilon": 1.0, "public_rows": 100, **options})


def test_a_single_column_needs_no_network():
    book = book_of(4)
    recipe = PrivBayes(epsilon=1.0, public_rows=100)
    assert recipe.quote(book, 5).total == PureDP(epsilon=1.0, neighbours=AR)
    assert recipe.fit(source_of(book, records_of(book, 100))).sample(50).table.num_rows == 50
