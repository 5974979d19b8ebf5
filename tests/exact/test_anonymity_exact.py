"""What k-anonymity says and does not say, on tables small enough to see through."""

import itertools
import math
import re
from collections import Counter
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import understudy
from understudy.anonymize import (
    AddNoise,
    Bin,
    BottomCode,
    Closeness,
    DistinctDiversity,
    Drop,
    EntropyDiversity,
    Generalise,
    GroupLevels,
    Keep,
    Recipe,
    RecursiveDiversity,
    Round,
    Rule,
    SuppressCells,
    SuppressRows,
    TopCode,
    measure,
)
from understudy.anonymize.anonymity import apply_node
from understudy.anonymize.cells import Cells
from understudy.anonymize.hierarchy import build
from understudy.anonymize.lattice import search
from understudy.anonymize.losses import LOSSES
from understudy.anonymize.problem import pose
from understudy.anonymize.recipe import STEPS
from understudy.anonymize.state import State
from understudy.codebook import Categorical, Codebook, Integer, Ordinal, Origin, PersonUnit, Role, Text
from understudy.mechanisms import KAnonymousTable, Stream
from understudy.mechanisms.histogram import GeometricHistogram
from understudy.privacy import Entry, KAnonymous, Ledger, Neighbours, NoFormal, PureDP
from understudy.privacy.provenance import Made, Provenance
from understudy.privacy.statement import statement
from understudy.sources import open_source

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
    problem = pose(cells, quasi=["x"], hierarchies={"x": build(column, ())}, k=2, suppression=0.5, delete=True)
    made = apply_node(cells, problem, search(problem, LOSSES["discernibility"](problem)))
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


ORDERED = Ordinal(name="x", levels=("0", "1", "2", "3"))
NUMBERED = Integer(name="x", edges=tuple(Fraction(edge) for edge in range(5)))
PAIR = (ORDERED, Categorical(name="y", levels=("a",)))
RULES = [
    (PAIR, Keep(columns=("x",))),
    (PAIR, Drop(columns=("y",))),
    ((ORDERED,), TopCode(column="x", at="2")),
    ((ORDERED,), BottomCode(column="x", at="1")),
    ((NUMBERED,), Bin(column="x", width=2)),
    ((NUMBERED,), Round(column="x", to=2)),
    ((ORDERED,), GroupLevels(column="x", levels=("0", "3"), into="ends")),
    ((ORDERED,), Generalise(column="x", to="first 0")),
    ((ORDERED,), SuppressCells(columns=("x",), when=("0",))),
]


def after(step, columns, codes):
    """The rows after a step, as a multiset."""
    rows = np.array([[code] + [0] * (len(columns) - 1) for code in codes], dtype=np.int32)
    cells = Cells(columns=columns, codes=rows, counts=np.ones(len(rows), np.int64)).merged()
    rules = {"x": Rule(prefix=(0,))} if isinstance(step, Generalise) else {}
    cells = step.apply(State(cells=cells, quasi=("x",), rules=rules, stream=Stream.seeded(1))).cells
    labels = cells.columns[0].labels
    return Counter({labels[code]: int(n) for code, n in zip(cells.codes[:, 0], cells.counts, strict=True)})


def moved(one, two):
    """Rows that are in one table and not in the other, on either side."""
    return (one - two).total(), (two - one).total()


@pytest.mark.parametrize(("columns", "step"), RULES, ids=lambda one: getattr(one, "do", ""))
def test_a_public_rule_keeps_neighbours_neighbours(columns, step):
    """Under both relations: one record more is one row more, one record changed is at most one row changed."""
    assert step.is_record_wise and not step.is_random
    for codes in itertools.product(range(4), repeat=3):
        before = after(step, columns, codes)
        for code in range(4):
            assert moved(before, after(step, columns, [*codes, code])) == (0, 1)
            changed = moved(before, after(step, columns, [*codes[:2], code]))
            assert changed in ((0, 0), (1, 1))


def test_every_step_is_in_the_table_of_the_proof():
    """Whether it treats each record by itself, and whether it draws, as the proof gives the reasons for."""
    text = (Path(understudy.__file__).parent / "mechanisms" / "proofs" / "k_anonymity.md").read_text(encoding="utf-8")
    rows = [line.split("|")[1:4] for line in text.splitlines() if line.startswith("| `")]
    said = {name: (row[1].strip(), row[2].strip()) for row in rows for name in re.findall("`(.*?)`", row[0])}
    proved = {step.do for _, step in RULES}
    for do, step in STEPS.items():
        by_itself, draws = said[do]
        wise = step.is_record_wise  # a property where it depends on the options of the step
        assert by_itself == ("with `when`" if isinstance(wise, property) else "yes" if wise else "no")
        assert draws == ("yes" if step.is_random else "no")
        assert (by_itself != "no") == (do in proved or do == "noise")
    assert set(said) == set(STEPS)


def test_deleting_by_a_rule_breaks_the_relation_that_knows_the_size():
    """One record takes another value, and the table loses a row: replace-one says nothing about such a pair."""
    step = SuppressRows(column="x", when=("0",))
    assert moved(after(step, (ORDERED,), [1, 2, 3]), after(step, (ORDERED,), [0, 2, 3])) == (1, 0)
    assert not step.is_record_wise


def test_noise_of_its_own_keeps_neighbours_and_noise_under_a_seed_does_not():
    """The n-th row gets the n-th noise of a seed: one record more in front moves nearly all rows."""
    column = Integer(name="x", edges=tuple(Fraction(edge) for edge in range(0, 1001, 10)))
    codes = list(range(20, 60))
    step = AddNoise(column="x", scale=100)
    assert step.is_record_wise and step.is_random
    one, two = after(step, (column,), codes), after(step, (column,), [0, *codes])
    assert moved(one, two)[0] > 10
    recipe = Recipe(steps=(step,))
    book = Codebook(columns=(column, Categorical(name="q", levels=("a", "b"))))
    source = open_source(pa.table({"x": [10 * code for code in codes], "q": ["a"] * len(codes)}), book)
    fitted = [recipe.fit(source, quasi=("q",), stream=stream) for stream in (None, Stream.seeded(1))]
    assert [one.record_wise for one in fitted] == [True, False]
    plain = Recipe(steps=(TopCode(column="x", at=500),))
    assert plain.fit(source, quasi=("q",), stream=Stream.seeded(1)).record_wise  # nothing was drawn


def test_rules_that_were_read_from_data_are_not_public():
    """A codebook drafted from the data, people with several records, a table that was made of many records."""
    column = Ordinal(name="x", levels=("0", "1", "2", "3"))
    table = pa.table({"x": ["0", "1", "2", "3"] * 5, "who": [str(k) for k in range(20)]})
    recipe = Recipe(steps=(TopCode(column="x", at="2"),), quasi=("x",))

    def is_record_wise(columns, rows=table, **more):
        return recipe.fit(open_source(rows, Codebook(columns=columns, **more))).record_wise

    assert is_record_wise((column,))
    assert not is_record_wise((replace(column, origin=Origin.DRAFTED),))
    ids = Text(name="who", role=Role.IDENTIFIER)
    assert is_record_wise((column, ids))
    assert not is_record_wise((column, ids), unit=PersonUnit(id="who", cap=3))
    filled = Provenance(made=Made.COMPLETED, release="r", record_wise=False, real_records=True)
    assert not is_record_wise((column,), table.replace_schema_metadata(filled.mark()))
