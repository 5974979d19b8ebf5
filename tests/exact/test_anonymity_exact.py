"""What k-anonymity says and does not say, on tables small enough to see through."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest

from understudy.anonymize import Closeness, DistinctDiversity, EntropyDiversity, RecursiveDiversity, measure
from understudy.anonymize.anonymity import apply_node
from understudy.anonymize.cells import Cells
from understudy.anonymize.hierarchy import identity
from understudy.anonymize.lattice import search
from understudy.anonymize.losses import make_loss
from understudy.anonymize.problem import pose
from understudy.anonymize.state import State
from understudy.anonymize.steps import TopCode
from understudy.anonymize.suppress import SuppressRows
from understudy.codebook import Categorical, Ordinal
from understudy.mechanisms import KAnonymousTable, Stream
from understudy.mechanisms.histogram import GeometricHistogram
from understudy.privacy import Entry, KAnonymous, Ledger, Neighbours, NoFormal, PureDP
from understudy.privacy.statement import statement

SALARIES = [3, 4, 5, 6, 11, 8, 7, 9, 10]
"""Salary in thousands of the nine patients of the t-closeness paper, in its three classes of three."""
CLASSES = ["a", "a", "a", "b", "b", "b", "c", "c", "c"]


def test_the_salary_example_of_t_closeness():
    """PRIVACY section 10: .375 for the class of the three lowest salaries, .166667 for {6, 11, 8}."""
    table = pa.table({"q": CLASSES, "salary": [str(salary) for salary in SALARIES]})
    one = Closeness(column="salary", t=0.4, distance="ordered")
    order = {"salary": [str(salary) for salary in range(3, 12)]}
    assert measure(table, quasi=["q"], criteria=[one], orders=order).achieved[0][1] == pytest.approx(0.375, abs=1e-12)
    values = np.arange(9)
    whole = np.ones(9, dtype=np.int64)
    spread = np.isin(values + 3, [6, 11, 8]).astype(np.int64)
    assert one.measure(spread, whole) == pytest.approx(1 / 6, abs=1e-12)


def test_hierarchical_distance_by_hand():
    """Four diseases in two groups: what moves inside a group costs half, what crosses costs one."""
    tree = np.array([[0, 1, 2, 3], [0, 0, 1, 1], [0, 0, 0, 0]])
    one = Closeness(column="d", t=1.0, distance="hierarchical")
    whole = np.array([1, 1, 1, 1])
    assert one.measure(np.array([1, 0, 0, 0]), whole, tree) == pytest.approx(0.25 * 0.5 + 0.5 * 1)
    assert one.measure(np.array([1, 0, 1, 0]), whole, tree) == pytest.approx(0.5 * 0.5)
    assert one.measure(np.array([1, 1, 1, 1]), whole, tree) == 0


def test_diversities_by_hand():
    """Counts (5, 3, 2): three values; exp(H); recursive with l = 2: 5 / (3 + 2) = 1, below c strictly."""
    counts = np.array([5, 3, 2, 0])
    assert DistinctDiversity(column="s", l=3).measure(counts, counts) == 3
    entropy = EntropyDiversity(column="s", l=2.5)
    expected = math.exp(-(0.5 * math.log(0.5) + 0.3 * math.log(0.3) + 0.2 * math.log(0.2)))
    assert entropy.measure(counts, counts) == pytest.approx(expected)
    assert entropy.passes(expected)
    recursive = RecursiveDiversity(column="s", c=1.0, l=2)
    assert recursive.measure(counts, counts) == 1
    assert not recursive.passes(1.0)
    assert RecursiveDiversity(column="s", c=1.01, l=2).passes(1.0)
    assert RecursiveDiversity(column="s", c=9, l=4).measure(counts, counts) == math.inf
    assert EntropyDiversity(column="s", l=2).passes(
        EntropyDiversity(column="s", l=2).measure(np.array([5, 5, 0]), counts)
    )


def test_homogeneity_attack():
    """2-anonymous, and everybody in the first class has the same diagnosis: k says nothing about it."""
    table = pa.table({"zip": ["752**"] * 2 + ["761**"] * 2, "diagnosis": ["HIV", "HIV", "flu", "asthma"]})
    found = measure(table, quasi=["zip"], criteria=[DistinctDiversity(column="diagnosis", l=2)])
    assert found.k == 2
    assert found.achieved[0][1] == 1
    assert found.broken


def test_two_tables_can_identify_together():
    """Two 2-anonymous tables of the same four people; their intersection is one person."""
    people = [("A", 25, "75217"), ("B", 27, "76101"), ("C", 41, "75211"), ("D", 48, "76107")]
    by_age = pa.table({"age": [f"{age // 20 * 20}+" for _, age, _ in people]})
    by_place = pa.table({"zip": [place[:3] + "**" for _, _, place in people]})
    assert measure(by_age, quasi=["age"]).k == 2
    assert measure(by_place, quasi=["zip"]).k == 2
    young = {name for name, age, _ in people if age < 40}
    near = {name for name, _, place in people if place.startswith("752")}
    assert young & near == {"A"}
    entries = [
        Entry(stage="release", reads="r", event=KAnonymousTable(k=2, quasi_identifiers=(q,))) for q in ("age", "zip")
    ]
    assert Ledger.of(entries[:1]).total() == KAnonymous(k=2)
    assert isinstance(Ledger.of(entries).total(), NoFormal)
    assert "property of one table" in Ledger.of(entries).total().why


def test_it_never_adds_up_to_differential_privacy():
    table = Entry(stage="release", reads="r", event=KAnonymousTable(k=9, quasi_identifiers=("a",)))
    noise = GeometricHistogram(scale=Fraction(1), neighbours=Neighbours.ADD_REMOVE)
    both = Ledger.of([table, Entry(stage="tables", reads="r", event=noise)])
    assert isinstance(both.total(), NoFormal)
    assert isinstance(Ledger.of(both.entries[1:]).total(), PureDP)
    said = statement(Ledger.of([table]), KAnonymous(k=9), rows=10, route="none", paper=None)
    for words in ("property of this table alone", "not differential privacy", "no bound against other releases"):
        assert words in said


def small_cells(column, codes):
    return Cells(
        columns=(column,), codes=np.array(codes, dtype=np.int32).reshape(-1, 1), counts=np.ones(len(codes), np.int64)
    ).merged()


def anonymised(codes):
    """The released multiset for k = 2 with suppression by deletion."""
    column = Categorical(name="x", levels=("a", "b"))
    cells = small_cells(column, codes)
    problem = pose(cells, quasi=["x"], hierarchies={"x": identity(column)}, k=2, suppression=0.5, delete=True)
    made = apply_node(cells, problem, search(problem, make_loss("discernibility", problem)))
    return {made.columns[0].labels[code]: int(count) for code, count in zip(made.codes[:, 0], made.counts, strict=True)}


def test_anonymising_first_breaks_differential_privacy():
    """One record more moves the anonymised table by two rows: noise for one row of it is then not enough.

    With {a, a, b} the lonely b is deleted; with {a, a, b, b} both stay. Geometric noise of scale 1 on the count of b is
    1-private for one row of its input, but between these two neighbours the ratio reaches e^2.
    """
    before, after = anonymised([0, 0, 1]), anonymised([0, 0, 1, 1])
    assert before == {"a": 2} and after == {"a": 2, "b": 2}
    ratio = math.exp(-abs(2 - 2)) / math.exp(-abs(2 - 0))
    assert ratio == pytest.approx(math.e**2) and ratio > math.e


def test_a_public_rule_keeps_neighbours_neighbours():
    """Top coding and deleting a named level: neighbouring tables give results that differ by at most one row."""
    column = Ordinal(name="x", levels=("0", "1", "2", "3"))

    def recoded(codes):
        state = State(cells=small_cells(column, codes), quasi=("x",), rules={}, stream=Stream.seeded(1))
        for step in (TopCode(column="x", at="2"), SuppressRows(column="x", when=("0",))):
            assert step.is_record_wise
            state = step.apply(state)
        cells = state.cells
        return {cells.columns[0].labels[code]: int(n) for code, n in zip(cells.codes[:, 0], cells.counts, strict=True)}

    for codes in itertools.product(range(4), repeat=3):
        for more in range(4):
            one, two = recoded([*codes, 1]), recoded([*codes, 1, more])
            moved = sum(abs(one.get(key, 0) - two.get(key, 0)) for key in {*one, *two})
            assert moved == (0 if more == 0 else 1)
