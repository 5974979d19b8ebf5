"""Hypothesis strategies for small tables with hierarchies, and the plainest reading of what is asked of them."""

import itertools
import math
from collections import Counter, defaultdict
from fractions import Fraction

import numpy as np
from hypothesis import strategies as st

from understudy.anonymize.cells import Cells
from understudy.anonymize.criteria import Closeness, DistinctDiversity, EntropyDiversity, RecursiveDiversity
from understudy.anonymize.hierarchy import build
from understudy.codebook import Categorical, Ordinal

SENSITIVE = Ordinal(name="s", levels=("a", "b", "c", "d"))


@st.composite
def hierarchies(draw, name):
    """A column of 2 to 5 levels and 0 to 2 steps of nested groups."""
    size = draw(st.integers(2, 5))
    kind = draw(st.sampled_from([Categorical, Ordinal]))
    missing = draw(st.sampled_from([None, "NA"]))
    column = kind(name=name, levels=tuple(f"{name}{level}" for level in range(size)), missing=missing)
    steps, groups = [], list(range(size))
    for step in range(draw(st.integers(0, 2))):
        parents = {group: draw(st.integers(0, 2)) for group in sorted(set(groups))}
        groups = [parents[group] for group in groups]
        steps.append((f"step {step}", [f"g{step}{group}" for group in groups]))
    return build(column, steps)


@st.composite
def tables(draw, most_columns=3, least_rows=1):
    """Cells over quasi-identifiers x, y, z and a sensitive column s, and their hierarchies."""
    names = "xyz"[: draw(st.integers(1, most_columns))]
    trees = {name: draw(hierarchies(name)) for name in names}
    trees["s"] = build(SENSITIVE, [("half", ("ab", "ab", "cd", "cd"))])
    columns = tuple(trees[name].column for name in (*names, "s"))
    line = st.tuples(*(st.integers(0, column.size - 1) for column in columns))
    rows = draw(st.lists(line, min_size=least_rows, max_size=24))
    cells = Cells(columns=columns, codes=np.array(rows, dtype=np.int32), counts=np.ones(len(rows), np.int64)).merged()
    return tuple(names), trees, cells, rows


criteria = st.one_of(
    st.builds(DistinctDiversity, column=st.just("s"), l=st.integers(1, 3)),
    st.builds(EntropyDiversity, column=st.just("s"), l=st.sampled_from([1.0, 1.5, 2.0])),
    st.builds(RecursiveDiversity, column=st.just("s"), c=st.sampled_from([0.5, 1.0, 3.0]), l=st.integers(1, 3)),
    st.builds(
        Closeness,
        column=st.just("s"),
        t=st.sampled_from([0.0, 0.2, 0.5, 0.9]),
        distance=st.sampled_from(["equal", "ordered", "hierarchical"]),
    ),
)


def earth_mover(p, q, cost):
    """The transport problem itself, solved by linear programming."""
    from scipy.optimize import linprog

    n = len(p)
    rows = np.zeros((2 * n, n * n))
    for i, j in itertools.product(range(n), repeat=2):
        rows[i, i * n + j] = rows[n + j, i * n + j] = 1
    done = linprog(np.asarray(cost, dtype=float).ravel(), A_eq=rows, b_eq=np.concatenate([p, q]), method="highs")
    assert done.status == 0
    return done.fun


def ground_distance(one, values):
    """How far two sensitive values are apart: over the values that occur, in their order, or in the tree ab | cd."""
    n = len(values)
    cost = np.zeros((n, n))
    for i, j in itertools.permutations(range(n), 2):
        if one.distance == "equal":
            cost[i, j] = 1
        elif one.distance == "ordered":
            cost[i, j] = abs(i - j) / (n - 1)
        else:
            cost[i, j] = 0.5 if (values[i] < 2) == (values[j] < 2) else 1.0
    return cost


def exact_distance(one, members, everybody):
    """The distances in fractions, so that a limit is met or missed without rounding."""
    values = sorted(set(everybody))
    gaps = {v: Fraction(members.count(v), len(members)) - Fraction(everybody.count(v), len(everybody)) for v in values}
    if len(values) == 1:
        return Fraction(0)
    if one.distance == "equal":
        return sum(map(abs, gaps.values())) / 2
    if one.distance == "ordered":
        return sum(abs(sum(gaps[w] for w in values if w <= v)) for v in values) / (len(values) - 1)
    halves = [[gap for v, gap in gaps.items() if (v < 2) == low] for low in (True, False)]
    inside = sum(min(sum(g for g in half if g > 0), -sum(g for g in half if g < 0)) for half in halves)
    return inside / 2 + abs(sum(halves[0]))


def naive_passes(one, members, everybody):
    """Whether a class is good enough."""
    if isinstance(one, Closeness):
        return exact_distance(one, members, everybody) <= Fraction(str(one.t))
    return one.passes(naive_measure(one, members, everybody))


def naive_measure(one, members, everybody):
    """One class, from a list of its sensitive values."""
    counts = sorted(Counter(members).values(), reverse=True)
    n = len(members)
    if isinstance(one, DistinctDiversity):
        return len(counts)
    if isinstance(one, EntropyDiversity):
        return math.exp(-math.fsum(c / n * math.log(c / n) for c in counts))
    if isinstance(one, RecursiveDiversity):
        tail = sum(counts[one.l - 1 :])
        return counts[0] / tail if tail else math.inf
    values = sorted(set(everybody))
    if len(values) == 1:
        return 0.0
    p = np.array([members.count(value) / n for value in values])
    q = np.array([everybody.count(value) / len(everybody) for value in values])
    return earth_mover(p, q, ground_distance(one, values))


def naive_outcome(names, trees, rows, node, k, asked, allowed, delete):
    """Suppressed rows of a node, None where it is not allowed: by the words of the documentation."""
    classes = defaultdict(list)
    for number, row in enumerate(rows):
        key = tuple(int(trees[name].maps[height][code]) for name, height, code in zip(names, node, row, strict=False))
        classes[key].append(number)
    sensitive = [row[-1] for row in rows]

    def passes(members, everybody):
        values = [sensitive[number] for number in members]
        return len(members) >= k and all(naive_passes(one, values, everybody) for one in asked)

    out = {key for key, members in classes.items() if not passes(members, sensitive)}
    while True:
        gone = [number for key in out for number in classes[key]]
        if len(gone) > allowed:
            return None
        if not gone or (not delete and passes(gone, sensitive)):
            return gone
        kept = [sensitive[number] for number in range(len(rows)) if number not in set(gone)]
        if not kept:
            return None
        again = out | {key for key, members in classes.items() if key not in out and not passes(members, kept)}
        if again == out:
            return gone
        out = again


def naive_loss(name, names, trees, rows, node, gone):
    """The three losses, row by row."""
    if name == "height":
        return float(sum(node))
    n = len(rows)
    groups = [
        tuple(int(trees[column].maps[height][code]) for column, height, code in zip(names, node, row, strict=False))
        for row in rows
    ]
    if name == "discernibility":
        sizes = Counter(groups[number] for number in range(n) if number not in set(gone))
        return float(sum(size * size for size in sizes.values()) + len(gone) * n)
    total = 0.0
    for number, row in enumerate(rows):
        for place in range(len(names)):
            own = sum(other[place] == row[place] for other in rows)
            shared = n if number in set(gone) else sum(other[place] == groups[number][place] for other in groups)
            total += math.log2(shared / own)
    return total
