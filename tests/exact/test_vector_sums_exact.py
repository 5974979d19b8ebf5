"""Sums of vectors: the price by enumeration of tiny tables, and every answer's own vectors against what it pays for."""

import itertools
from decimal import Context, Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from understudy.answers import parse_question, plan_answer
from understudy.answers.models import ModelMethod
from understudy.answers.quantiles import tree_over
from understudy.codebook import Categorical, Codebook, Continuous, Integer
from understudy.errors import ParameterError
from understudy.mechanisms.discrete_gaussian import LEAST_VARIANCE
from understudy.mechanisms.gaussian_measurements import (
    MOST_COPIES,
    GaussianMeasurements,
    gaussian_measurements_event,
    gaussian_sums_event,
)
from understudy.mechanisms.stream import Stream
from understudy.mechanisms.vector_sums import (
    Lengths,
    MomentSums,
    TreeCounts,
    VectorSums,
    cut_vectors,
    noisy_vector_sums,
    quieter_event,
    vector_sums_event,
)
from understudy.privacy import Neighbours, Secret
from understudy.privacy.events import event_from_dict
from understudy.sources.tables import CountTable

AR, RO = Neighbours.ADD_REMOVE, Neighbours.REPLACE
KINDS = [VectorSums, TreeCounts, MomentSums]
BOOK = Codebook(
    columns=(
        Categorical(name="sex", levels=("F", "M")),
        Categorical(name="region", levels=("N", "S", "E"), missing="NA"),
        Integer(name="age", edges=tuple(map(Fraction, (0, 3, 7, 10)))),
        Continuous(name="charge", edges=tuple(map(Fraction, (-2, 0, 2, 6))), precision=1, missing="NA"),
    )
)
QUESTIONS = [
    "count",
    "table of sex, region",
    "mean of charge by sex",
    "sum of charge by region where sex=F",
    "share of region=S by sex",
    "median of charge by sex",
    "difference of mean of age by region",
    "linear charge ~ age + sex + region",
    "linear age ~ charge * sex",
    "logistic sex == 'M' ~ age + region",
    "logistic age > 4 ~ charge + sex + region + I(charge ** 2)",
]


def summed(table, vectors):
    return tuple(np.array([vectors[record] for record in table], dtype=int).reshape(-1, 2).sum(axis=0).tolist())


@pytest.mark.parametrize("relation", [AR, RO])
@pytest.mark.parametrize("scale", [Fraction(1, 2), Fraction(3), Fraction(7, 2)])
@pytest.mark.parametrize(
    ("moved", "vectors"),
    [(3, [(3, 0), (2, 1), (0, 3)]), (2, [(1, 1), (-2, 0), (0, 0)]), (4, [(4, 0), (-1, 3), (0, -4)])],
)
def test_sums_cost_exactly_what_is_stated(relation, scale, moved, vectors):
    """Over all tables of up to two records, all neighbours and all outputs."""
    with localcontext(Context(prec=50)):
        rate, worst = Decimal(scale.denominator) / Decimal(scale.numerator), Decimal(0)
        for size in range(3):
            for table in itertools.combinations_with_replacement(range(len(vectors)), size):
                for record in range(len(vectors)):
                    others = [(*table, record)] if relation is AR else []
                    if relation is RO:
                        others = [(*table[:k], record, *table[k + 1 :]) for k in range(size)]
                    for other in others:
                        left, right = summed(table, vectors), summed(other, vectors)
                        ratio = sum(
                            max(abs(abs(y - b) - abs(y - a)) for y in range(-16, 17))
                            for a, b in zip(left, right, strict=True)
                        )
                        worst = max(worst, ratio * rate)
        stated = moved * (1 if relation is AR else 2) * rate
        assert worst <= stated
        apart = max(sum(abs(a - b) for a, b in zip(u, v, strict=True)) for u in vectors for v in vectors)
        assert worst == (moved if relation is AR else apart) * rate
    for kind in KINDS:
        claim = kind(scale=scale, moved=moved, neighbours=relation).guarantee()
        assert Fraction(claim.epsilon) >= moved * (1 if relation is AR else 2) / scale
        assert claim.epsilon == pytest.approx(float(stated), rel=1e-15)


@given(
    st.lists(st.lists(st.integers(-(1 << 20), 1 << 20), min_size=3, max_size=3), min_size=1, max_size=5),
    st.integers(1, 1 << 18),
    st.integers(1, 1 << 36),
)
def test_no_vector_is_longer_than_what_is_paid_for(rows, moved, squared):
    cut = cut_vectors(np.array(rows), Lengths(moved=moved, squared=squared))
    assert np.abs(cut).sum(axis=1).max() <= moved
    assert max(sum(int(v) ** 2 for v in row) for row in cut) <= squared
    kept = (np.abs(rows).sum(axis=1) <= moved) & ((np.array(rows, dtype=object) ** 2).sum(axis=1) <= squared)
    assert (cut[kept] == np.array(rows)[kept]).all()


@pytest.mark.parametrize("target", ["table", "population"])
@pytest.mark.parametrize("epsilon", [1e-5, 0.01, 1.0, 10.0])
def test_both_ends_and_the_middle_add_up_to_the_units(epsilon, target):
    for question in ("mean of charge", "mean of age"):
        method = plan_answer(parse_question(question, BOOK), BOOK, epsilon=epsilon, target=target).method
        known = ~np.isnan(method.grid.values(question.split()[-1]))
        assert (method.table >= 0).all()
        assert (method.table[known].sum(axis=1) == method.units).all()
        assert not method.table[~known].any()


@pytest.mark.parametrize("cells", [1, 2, 3, 7, 16, 50, 255, 256])
def test_a_record_is_in_one_node_of_every_level(cells):
    tree = tree_over(cells)
    assert (tree.nodes.sum(axis=0) == tree.levels).all()
    assert set(np.unique(tree.nodes)) <= {0, 1}
    counts = np.arange(1.0, cells + 1)
    assert np.allclose(tree.solve @ (tree.nodes @ counts), counts)


def all_cells(plan):
    sizes = [plan.grid.column(name).size for name in plan.question.columns]
    return np.indices(sizes).reshape(len(sizes), -1).T.astype(np.uint16)


def rules_of(plan):
    """Of an answer every rule, its lengths and its event; of a model at several public coefficients."""
    method = plan.method
    if not isinstance(method, ModelMethod):
        yield method.rule, method.lengths, plan.events[0]
        return
    draws = np.random.default_rng(5)
    for measurement in method.measurements:
        for beta in (np.zeros(method.design.size), draws.normal(0, 3, method.design.size)):
            if measurement is not method.measurements[0] or not beta.any():  # the first step begins at 0
                yield (
                    (lambda codes, m=measurement, b=beta: method.rule(codes, m, b)),
                    measurement.lengths,
                    measurement.event,
                )


@pytest.mark.parametrize("delta", [None, 1e-6])
@pytest.mark.parametrize("question", QUESTIONS)
def test_one_record_moves_an_answer_by_no_more_than_is_paid_for(question, delta):
    """Of all cells of the whole domain, by the very rule that is drawn from."""
    plan = plan_answer(parse_question(question, BOOK), BOOK, epsilon=1.0, delta=delta)
    cells = all_cells(plan)
    for rule, lengths, event in rules_of(plan):
        slots, vectors = rule(cells)
        cut = cut_vectors(vectors[slots >= 0], lengths)
        longest = int(np.abs(cut).sum(axis=1).max())
        if isinstance(event, GaussianMeasurements):
            assert max(sum(int(v) ** 2 for v in row) for row in cut) <= lengths.squared
        else:
            assert longest <= lengths.moved == getattr(event, "moved", 1)
    assert plan.quote.total.epsilon <= 1.0
    assert getattr(plan.quote.total, "delta", 0.0) <= (delta or 0.0)


@pytest.mark.parametrize("question", [question for question in QUESTIONS if "~" in question])
def test_a_model_cuts_no_record_of_its_own_domain(question):
    plan = plan_answer(parse_question(question, BOOK), BOOK, epsilon=1.0)
    cells = all_cells(plan)
    for rule, lengths, _ in rules_of(plan):
        _, vectors = rule(cells)
        assert (cut_vectors(vectors, lengths) == vectors).all()


@pytest.mark.parametrize("question", QUESTIONS)
def test_a_record_moves_no_other_records_vector(question):
    """Of every cell the same slot and vector, whichever cells lie beside it and in whatever order."""
    plan = plan_answer(parse_question(question, BOOK), BOOK, epsilon=1.0)
    cells = all_cells(plan)
    for rule, _, _ in rules_of(plan):
        slots, vectors = rule(cells)
        for some in (np.arange(len(cells))[::-1], np.arange(1, len(cells), 3), *np.arange(len(cells))[-5:, None]):
            own_slots, own_vectors = rule(cells[some])
            assert (own_slots == slots[some]).all()
            assert (own_vectors == vectors[some]).all()


def one_cell(counts):
    return Secret(CountTable.dense(("c",), np.array(counts, dtype=np.int64)))


def test_more_than_is_paid_for_is_refused():
    event = vector_sums_event(VectorSums, epsilon=1.0, moved=2, neighbours=AR)
    with pytest.raises(ParameterError, match="paid for"):
        noisy_vector_sums(
            one_cell([1, 2]),
            lambda codes: (np.zeros(len(codes), np.int64), np.full((len(codes), 1), 3)),
            slots=1,
            width=1,
            lengths=Lengths(moved=3, squared=9),
            event=event,
            stream=Stream.seeded(1),
        )


@pytest.mark.parametrize("kind", KINDS)
def test_events_are_read_back(kind):
    event = vector_sums_event(kind, epsilon=0.5, moved=1 << 14, neighbours=RO)
    assert event_from_dict(event.to_dict()) == event
    assert event.guarantee().epsilon <= 0.5


def test_a_declared_delta_never_makes_noise_louder():
    lengths = Lengths(moved=40, squared=16)
    event = quieter_event(MomentSums, lengths, epsilon=1.0, delta=1e-6, neighbours=AR)
    assert isinstance(event, GaussianMeasurements)
    assert event == gaussian_sums_event(epsilon=1.0, delta=1e-6, neighbours=AR)
    assert isinstance(
        quieter_event(VectorSums, Lengths(moved=4, squared=16), epsilon=1.0, delta=1e-6, neighbours=AR), VectorSums
    )


@pytest.mark.parametrize(("epsilon", "delta"), [(1.0, 1e-50), (0.01, 1e-300), (1e-5, 1e-6), (1e9, 1e-6)])
def test_a_declared_delta_that_helps_nothing_is_left_unused(epsilon, delta):
    """Noise that could not be drawn, or is not proved, would else be refused, perhaps after it was paid for."""
    lengths = Lengths(moved=100, squared=4)
    assert isinstance(quieter_event(VectorSums, lengths, epsilon=epsilon, delta=delta, neighbours=AR), VectorSums)


def test_sums_take_as_many_units_as_were_paid_for():
    """Units of joined noise are not added up one by one, so that there may be more of them than copies of a table."""
    event = gaussian_sums_event(epsilon=2_000.0, delta=1e-6, neighbours=AR)
    assert event.units > MOST_COPIES
    released = noisy_vector_sums(
        one_cell([5, 1]),
        lambda codes: (np.zeros(len(codes), np.int64), np.ones((len(codes), 1), np.int64)),
        slots=1,
        width=1,
        lengths=Lengths(moved=1, squared=1),
        event=event,
        stream=Stream.seeded(1),
    )
    assert abs(float(released.values[0, 0]) - 6) < 10 * released.normal


@pytest.mark.parametrize(("epsilon", "delta"), [(0.1, 1e-6), (20.0, 1e-9), (3.0, 0.4)])
def test_units_that_are_passed_over_could_not_have_been_joined(epsilon, delta):
    events = (
        gaussian_measurements_event(epsilon=epsilon, delta=delta, units=1 << bits, neighbours=AR)
        for bits in range(10, 40, 2)
    )
    first = next(event for event in events if event.variance >= LEAST_VARIANCE)
    assert gaussian_sums_event(epsilon=epsilon, delta=delta, neighbours=AR) == first
