"""Random codebooks with random rules: rules mean what they say, nothing gets stuck, and no recipe breaks one."""

import itertools
import os
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from registry_examples import examples_with

from understudy.codebook import Categorical, Codebook, Determines, Implies, Impossible, Integer, Order, Ordinal
from understudy.codebook.constraints import Allowed
from understudy.errors import CodebookError, RefusalError
from understudy.mechanisms.stream import Stream
from understudy.sources import EncodedSource
from understudy.synth import METHODS, make_recipe

RECIPES = examples_with(
    {
        "pegs-rs": {"block_size": 7},
        "laplace": {"epsilon": 2.0},
        **{key: {"epsilon": 8.0, "delta": 0.001} for key in ("sba", "marginals")},
        **{key: {"epsilon": 30.0, "delta": 0.01, "parents": "full"} for key in ("sbhg", "sbhg-gauss")},
        "privbayes": {"epsilon": 8.0, "public_rows": 1000},
        "pmi": {"epsilon_per_record": None, "alpha": 0.5, "engines": "blocks"},
        "imputation": {"engines": "blocks"},
        "lugs": {"l": 1.1, "sweeps": 2},
        "plugs": {"l": 1.1, "sweeps": 2, "processes": 1},
        "gibbs": {"sweeps": 3},
    }
)
MISSING = "?"


@st.composite
def books(draw, most=4):
    """A few columns, without rules."""
    columns = []
    for place in range(draw(st.integers(2, most))):
        name, size = f"c{place}", draw(st.integers(2, 4))
        common = {"name": name, "missing": draw(st.sampled_from([None, MISSING])), "parents": None}
        kind = draw(st.sampled_from(["categorical", "ordinal", "integer"]))
        if kind == "integer":
            widths = draw(st.lists(st.integers(1, 3), min_size=size, max_size=size))
            edges = list(itertools.accumulate(widths, initial=draw(st.integers(0, 2))))
            columns.append(Integer(edges=tuple(map(Fraction, edges)), **common))
        elif kind == "ordinal":
            columns.append(Ordinal(levels=("x", "y", "z")[: max(2, size - 1)], **common))
        else:
            columns.append(Categorical(levels=tuple(f"{name}{level}" for level in range(size)), **common))
    return tuple(columns)


@st.composite
def rules(draw, columns):
    """A rule about some of the columns."""

    def some(column, *, proper=False):
        labels = column.labels[: column.proper_levels] if proper else column.labels
        return tuple(draw(st.lists(st.sampled_from(labels), min_size=1, max_size=len(labels), unique=True)))

    chosen = draw(st.lists(st.sampled_from(columns), min_size=1, max_size=3, unique_by=lambda column: column.name))
    kind = draw(st.sampled_from(["impossible", "implies", "order", "determines"]))
    if kind == "impossible" or len(chosen) == 1:
        return Impossible(cells=tuple((column.name, some(column)) for column in chosen))
    if kind == "implies":
        return Implies(
            when=tuple((column.name, some(column)) for column in chosen[1:]), then=((chosen[0].name, some(chosen[0])),)
        )
    if kind == "order":
        return Order(low=chosen[0].name, high=chosen[1].name, relation=draw(st.sampled_from(["<", "<="])))
    first, second = chosen[:2]
    targets = [draw(st.sampled_from(second.labels)) for _ in range(first.proper_levels)]
    groups = {label: tuple(first.labels[c] for c, t in enumerate(targets) if t == label) for label in targets}
    return Determines(column=first.name, sets=second.name, groups=tuple(groups.items()))


def span(column, code):
    """Smallest and largest value of a code; None for a missing one."""
    if code == column.missing_code:
        return None
    if isinstance(column, Integer):
        first, count = column.grids[code]
        return first, first + count - 1
    return code, code


def keeps(rule, columns, row):
    """The rule by its own words, without any of the program's tables."""
    named = {column.name: (column, code) for column, code in zip(columns, row, strict=True)}

    def among(name, values):
        column, code = named[name]
        return column.labels[code] in values

    def missing(name):
        column, code = named[name]
        return code == column.missing_code

    if isinstance(rule, Impossible):
        return not all(among(name, values) for name, values in rule.cells)
    if isinstance(rule, Implies):
        if not all(among(name, values) for name, values in rule.when):
            return True
        return all(among(name, values) or missing(name) for name, values in rule.then)
    if isinstance(rule, Determines):
        if missing(rule.column) and not any(MISSING in values for _, values in rule.groups):
            return True
        target = next(group for group, values in rule.groups if among(rule.column, values))
        return missing(rule.sets) or among(rule.sets, (target,))
    low, high = (span(*named[name]) for name in (rule.low, rule.high))
    return low is None or high is None or low[0] + rule.gap <= high[1]


def ordered(columns, constraints, row):
    """Whether values inside the bins can satisfy all orders at once, tried out."""
    orders = [rule for rule in constraints if isinstance(rule, Order)]
    spans = {column.name: span(column, code) for column, code in zip(columns, row, strict=True)}
    gaps = {(rule.low, rule.high): rule.gap for rule in orders}
    for rule in orders:
        gaps[rule.low, rule.high] = max(gaps[rule.low, rule.high], rule.gap)
    names = [column.name for column in columns]
    for middle, low, high in itertools.product(names, repeat=3):
        if (low, middle) in gaps and (middle, high) in gaps:
            gaps[low, high] = max(gaps.get((low, high), -1), gaps[low, middle] + gaps[middle, high])
    known = [(pair, gap) for pair, gap in gaps.items() if spans[pair[0]] and spans[pair[1]]]
    return all(spans[low][0] + gap <= spans[high][1] for (low, high), gap in known)


def good_rows(columns, constraints):
    rows = itertools.product(*(range(column.size) for column in columns))
    return [
        row
        for row in rows
        if all(keeps(rule, columns, row) for rule in constraints) and ordered(columns, constraints, row)
    ]


@st.composite
def ruled(draw, most=4):
    """Columns and rules that speak about them and fit them; they may contradict each other."""
    columns = draw(books(most))
    found = draw(st.lists(rules(columns), min_size=1, max_size=4, unique_by=lambda rule: rule.title))
    named = {column.name: column for column in columns}
    fitting = tuple(rule for rule in found if not rule.faults(named))
    assume(fitting)
    return columns, fitting


def book_of(columns, constraints):
    """The codebook, or None where it is refused, which must be right and must name rules."""
    rows = good_rows(columns, constraints)
    try:
        book = Codebook(columns=columns, constraints=constraints)
    except CodebookError as refused:
        in_circle = "run in a circle" in str(refused)
        assert in_circle or not rows, str(refused)
        assert in_circle or any(rule.title in str(refused) for rule in constraints)
        return None, rows
    assert rows
    return book, rows


@settings(max_examples=150, deadline=None)
@given(ruled(), st.randoms(use_true_random=False))
def test_rules_mean_what_they_say_and_rows_never_get_stuck(made, random):
    columns, constraints = made
    book, rows = book_of(columns, constraints)
    if book is None:
        return
    assert Codebook.from_toml(book.to_toml()) == book
    every = np.array(list(itertools.product(*map(range, book.sizes))))
    fits = book.allowed.fits(list(every.T))
    assert sorted(map(tuple, every[fits].tolist())) == sorted(rows)
    order = list(range(len(columns)))
    random.shuffle(order)
    steps = book.allowed.plan(order)
    for _ in range(20):  # any choice within the steps ends in an allowed row
        row = [np.zeros(1, dtype=np.int64) for _ in columns]
        for column in order:
            step = steps[column]
            levels = range(book.sizes[column])
            if step is not None:
                levels = np.flatnonzero(step.choices.levels[step.sets(row)[0]])
            assert len(levels)
            row[column][0] = random.choice(list(levels))
        assert tuple(int(code[0]) for code in row) in rows
    pair = order[:2]
    seen = np.zeros([book.sizes[place] for place in pair], dtype=bool)
    for row in rows:
        seen[tuple(row[place] for place in pair)] = True
    assert (book.allowed.possible(pair) == seen).all()


@settings(max_examples=60, deadline=None)
@given(ruled(), st.data())
def test_a_part_of_the_domain_is_narrowed_further(made, data):
    columns, constraints = made
    book, rows = book_of(columns, constraints)
    if book is None:
        return
    place = data.draw(st.integers(0, len(columns) - 1))
    code = data.draw(st.integers(0, book.sizes[place] - 1))
    wanted = [row for row in rows if row[place] == code]
    if not wanted:
        with pytest.raises(ValueError, match="no row with these values"):
            book.allowed.within({columns[place].name: [code]})
        return
    part = book.allowed.within({columns[place].name: [code]})
    every = np.array(list(itertools.product(*map(range, book.sizes))))
    assert sorted(map(tuple, every[part.fits(list(every.T))].tolist())) == sorted(wanted)


EXAMPLES = int(os.environ.get("UNDERSTUDY_RULE_EXAMPLES", "20"))


@pytest.mark.parametrize("method", METHODS)
@settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck))
@given(ruled(most=3), st.integers(0, 2**32))
def test_no_recipe_breaks_a_rule(method, made, seed):
    """Whatever the data hold, rows that break the rules among them; a refusal is allowed, a bad row is not."""
    columns, constraints = made
    book, rows = book_of(columns, constraints)
    if book is None:
        return
    generator = np.random.default_rng(seed)
    good = np.array(rows)[generator.integers(0, len(rows), 300)]
    bad = np.stack([generator.integers(0, size, 20) for size in book.sizes], axis=1)
    codes = np.concatenate([good, bad]).astype(np.uint8)
    source = EncodedSource(codebook=book, columns=[np.ascontiguousarray(column) for column in codes.T])
    recipe = make_recipe(method, **RECIPES[method])
    plain = Codebook(columns=columns)
    if recipe.route == "N" or method in ("pegs", "pmi"):
        assert recipe.quote(book, 40).total == recipe.quote(plain, 40).total, "rules are public: they cost nothing"
    fitted = recipe.fit(source, stream=Stream.seeded(seed))
    try:
        release = fitted.sample(40)
    except RefusalError:
        return
    table = release.table
    made_codes = EncodedSource(codebook=book, columns=_encode(book, table))
    found, counts = made_codes.count([book.names])[0].open().occupied()
    assert counts.sum() == 40
    assert set(map(tuple, found.tolist())) <= set(rows)
    for rule in constraints:
        if isinstance(rule, Order) and isinstance(book.column(rule.low), Integer):
            low, high = table.column(rule.low).to_pylist(), table.column(rule.high).to_pylist()
            assert all(a is None or b is None or a + rule.gap <= b for a, b in zip(low, high, strict=True))


def _encode(book, table):
    from understudy.codebook.encode import encode_value

    return [
        np.array([encode_value(column, value) for value in table.column(column.name).to_pylist()], dtype=np.uint8)
        for column in book.modelled
    ]


def test_no_rules_allow_everything():
    columns = (Categorical(name="a", levels=("x", "y")),)
    free = Allowed(columns, ())
    assert not free
    assert free.plan([0]) == (None,)
    assert free.fits([np.array([0, 1])]).all()
