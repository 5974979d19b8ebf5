"""Laws of every utility metric: identity is perfect, independence is known, and no order of rows or columns matters."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from understudy.codebook import Categorical, Codebook, Ordinal
from understudy.evaluate.utility import METRICS, UTILITY, Options, utility_references
from understudy.evaluate.utility.association import information_in
from understudy.evaluate.utility.distances import (
    artificial_share,
    joint_l1_score,
    total_variation,
    tvd_one_way,
    tvd_two_way,
)
from understudy.sources import CountTable, EncodedSource

ASKED_OF_THE_CODEBOOK = {"weighted_tvd", "weighted_means", "detail_tvd"}
OF_TABLES = [name for name in UTILITY if not METRICS[name].of_models and name not in ASKED_OF_THE_CODEBOOK]
OF_MODELS = ["coefficient_distance", "coefficient_utility", "interval_overlap", "lasso_mse", "lasso_auc"]


@st.composite
def books(draw):
    columns = []
    for position in range(draw(st.integers(1, 4))):
        levels = tuple("pqrst"[: draw(st.integers(2, 5))])
        kind = draw(st.sampled_from([Categorical, Ordinal]))
        columns.append(kind(name=f"c{position}", levels=levels, missing=draw(st.none() | st.just("NA"))))
    return Codebook(columns=tuple(columns))


@st.composite
def rows_of(draw, book, least=2):
    record = st.tuples(*[st.integers(0, size - 1) for size in book.sizes])
    return np.array(draw(st.lists(record, min_size=least, max_size=30)), dtype=np.uint8)


@st.composite
def pairs(draw):
    book = draw(books())
    return book, draw(rows_of(book)), draw(rows_of(book))


def source(book, rows):
    return EncodedSource(codebook=book, columns=list(np.ascontiguousarray(rows.T)))


def scores(real, copy, names=OF_TABLES, **options):
    return {name: UTILITY[name](real, copy, Options(**options)) for name in names}


def same(first, second):
    for name, score in first.items():
        other = second[name]
        assert other.value == pytest.approx(score.value, rel=1e-6, abs=1e-9, nan_ok=True), name
        assert other.breakdown == pytest.approx(dict(score.breakdown), rel=1e-6, abs=1e-9, nan_ok=True), name


@settings(max_examples=15, deadline=None)
@given(pairs())
def test_identity_is_perfect(made):
    book, rows, _ = made
    for name, score in scores(source(book, rows), source(book, rows)).items():
        if not math.isnan(score.value):  # ranks of ties, tables of more columns than there are
            assert score.value == pytest.approx(METRICS[name].perfect, abs=1e-9), name
        else:
            assert score.note, name


@settings(max_examples=15, deadline=None)
@given(pairs(), st.randoms(use_true_random=False))
def test_the_order_of_rows_does_not_matter(made, luck):
    book, rows, others = made
    shuffled = [np.array(luck.sample(list(map(tuple, table)), len(table)), dtype=np.uint8) for table in (rows, others)]
    same(scores(source(book, rows), source(book, others)), scores(*(source(book, table) for table in shuffled)))


@settings(max_examples=15, deadline=None)
@given(pairs(), st.randoms(use_true_random=False))
def test_the_order_of_columns_does_not_matter(made, luck):
    """Neither of both tables, nor of the synthetic one alone."""
    book, rows, others = made
    order = luck.sample(range(len(book.columns)), len(book.columns))
    turned = replace(book, columns=tuple(book.columns[position] for position in order))
    straight = scores(source(book, rows), source(book, others))
    same(straight, scores(source(book, rows), source(turned, others[:, order])))
    crossed = scores(source(turned, rows[:, order]), source(turned, others[:, order]))
    for name, score in straight.items():  # the names of tables follow the order of columns
        assert crossed[name].value == pytest.approx(score.value, rel=1e-6, abs=1e-9, nan_ok=True), name


@settings(max_examples=15, deadline=None)
@given(pairs())
def test_values_stay_in_their_range(made):
    book, rows, others = made
    for name, score in scores(source(book, rows), source(book, others)).items():
        if not math.isnan(score.value):
            assert METRICS[name].lowest - 1e-9 <= score.value <= METRICS[name].highest + 1e-9, name


@settings(max_examples=20, deadline=None)
@given(pairs(), st.integers(2, 5))
def test_shares_do_not_know_the_number_of_rows(made, times):
    book, rows, others = made
    names = [name for name in OF_TABLES if name not in ("joint_l1", "pmse_ratio", "artificial_share", "information")]
    once = scores(source(book, rows), source(book, others), names)
    same(once, scores(source(book, rows), source(book, np.tile(others, (times, 1))), names))


@settings(max_examples=15, deadline=None)
@given(pairs())
def test_total_variation_is_a_distance_that_grows_with_the_table(made):
    book, rows, others = made
    real, copy = source(book, rows), source(book, others)
    assert tvd_one_way(real, copy).value == pytest.approx(tvd_one_way(copy, real).value)
    joint = joint_l1_score(real, copy).value / (2 * len(rows))
    wide = tvd_two_way(real, copy)
    narrow = tvd_one_way(real, copy).breakdown
    for name, value in wide.breakdown.items():
        first, second = name.split(" x ")
        assert max(narrow[first], narrow[second]) - 1e-12 <= value <= joint + 1e-12
    assert artificial_share(real, copy).value <= joint + 1e-12  # rows that are not real must all have changed


@settings(max_examples=15, deadline=None)
@given(st.lists(st.integers(1, 6), min_size=2, max_size=4), st.lists(st.integers(1, 6), min_size=2, max_size=4))
def test_independent_columns_are_known(first, second):
    """Exactly independent counts: no association, no information, and both reference lines are one."""
    counts = np.outer(first, second)
    assert information_in(CountTable.dense(("a", "b"), counts)) == pytest.approx(0, abs=1e-9)
    book = Codebook(
        columns=tuple(
            Categorical(name=name, levels=tuple("pqrs"[: len(side)])) for name, side in (("a", first), ("b", second))
        )
    )
    cells = np.argwhere(counts)
    table = source(book, np.repeat(cells, counts[tuple(cells.T)], axis=0).astype(np.uint8))
    score = UTILITY["chi_square_difference"](table, table, Options())
    assert score is not None and score.breakdown["a x b: real"] == pytest.approx(0, abs=1e-9)
    lines = utility_references(table, table)
    for line in lines.values():
        assert line.bootstrap == pytest.approx(line.independent, rel=1e-6, abs=1e-9)


@settings(max_examples=15, deadline=None)
@given(st.data())
def test_total_variation_of_arrays_obeys_the_triangle(data):
    shape = data.draw(st.sampled_from([(3,), (2, 3), (2, 2, 2)]))
    size = math.prod(shape)
    lists = st.lists(st.integers(0, 9), min_size=size, max_size=size).filter(any)
    a, b, c = (np.array(data.draw(lists)).reshape(shape) for _ in range(3))
    assert total_variation(a, c) <= total_variation(a, b) + total_variation(b, c) + 1e-12
    assert total_variation(a, 3 * a) == pytest.approx(0, abs=1e-12)


@settings(max_examples=8, deadline=None)
@given(st.integers(0, 10**6))
def test_models_do_not_know_any_order_and_find_identity_perfect(seed):
    rng = np.random.Generator(np.random.PCG64(seed))
    book = Codebook(
        columns=(
            Ordinal(name="y", levels=tuple("abcd")),
            Ordinal(name="x", levels=tuple("abc")),
            Categorical(name="sex", levels=("F", "M")),
        )
    )

    def drawn():
        x, sex = rng.integers(0, 3, 300), rng.integers(0, 2, 300)
        y = np.clip(np.round(x / 2 + sex + rng.normal(size=300)), 0, 3)
        return np.stack([y, x, sex], axis=1).astype(np.uint8)

    rows, others = drawn(), drawn()
    for name, score in scores(source(book, rows), source(book, rows), OF_MODELS, target="y").items():
        assert score.value == pytest.approx(METRICS[name].perfect, abs=1e-9), name
    order, turned = [2, 0, 1], replace(book, columns=tuple(book.columns[position] for position in (2, 0, 1)))
    straight = scores(source(book, rows), source(book, others), OF_MODELS, target="y")
    shuffled = rng.permutation(others)[:, order]
    crossed = scores(source(turned, rng.permutation(rows)[:, order]), source(turned, shuffled), OF_MODELS, target="y")
    for name, score in straight.items():
        assert crossed[name].value == pytest.approx(score.value, rel=1e-3, abs=1e-4), name  # solvers stop within this
