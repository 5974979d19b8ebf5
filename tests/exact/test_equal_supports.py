"""Releases in floats: what is possible under one of two neighbours is possible under the other, bit for bit.

The noise source of each mechanism is replaced by chosen whole numbers. If a table's whole numbers are moved by a record
and the noise is moved the other way, every byte of the release must stay: then the release is a function of the noisy
whole numbers alone, which have equal supports. Arithmetic in floats before the noise would show here.
"""

import ast
import importlib
import itertools
import math
import types
import typing
from dataclasses import fields, is_dataclass
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from understudy.errors import RefusalError
from understudy.mechanisms import discrete_gaussian, discrete_laplace, drafting, gaussian_measurements, labelled
from understudy.mechanisms.bounded_sums import GroupValues, noisy_means
from understudy.mechanisms.drafting import cell_scores, private_splits, quantile_scores
from understudy.mechanisms.exponential import penalties
from understudy.mechanisms.flow_measurements import FlowMeasurements, FlowMeter
from understudy.mechanisms.gaussian_measurements import (
    MOST_COPIES,
    GaussianMeasurements,
    Meter,
    gaussian_sums_event,
)
from understudy.mechanisms.labelled import UNIT, Grove, grove_sums, pooled
from understudy.mechanisms.record_sums import LEAN, RecordSums
from understudy.mechanisms.stream import Stream
from understudy.mechanisms.vector_sums import Lengths, VectorSums, noisy_vector_sums, vector_sums_event
from understudy.privacy import Neighbours, Secret
from understudy.privacy.events import Event
from understudy.privacy.ledger import Entry, Ledger
from understudy.sources.flows import GroupCells, Histograms
from understudy.sources.looks import Numbers
from understudy.sources.tables import CountTable
from understudy.trees.forest import _Additive

AR, RO = Neighbours.ADD_REMOVE, Neighbours.REPLACE
COUNTS = (0, 7, 4_099, (1 << 33) + 1)
"""Small ones, and large ones at which a float of a third has fewer bits to spare."""


class Noise:
    """Hands out the numbers that a test has laid ready, and nothing else."""

    def __init__(self):
        self.ready = []

    def draw(self, size, **_):
        values = self.ready.pop(0)
        assert len(values) == size
        return list(values)

    def array(self, size, **more):
        return np.array(self.draw(size, **more), dtype=np.int64)

    def of(self, release, *batches):
        """What is released when the noise is exactly this."""
        self.ready = [list(batch) for batch in batches]
        found = release()
        assert self.ready == [], "the mechanism asked for less noise than it should"
        return found


@pytest.fixture
def noise(monkeypatch):
    source = Noise()
    monkeypatch.setattr(discrete_laplace, "exact_noise", source.array)
    monkeypatch.setattr(discrete_gaussian, "exact_gaussian", source.array)
    monkeypatch.setattr(gaussian_measurements, "exact_gaussian", source.array)
    monkeypatch.setattr(labelled, "max_norm_noise", source.draw)
    return source


def moved(values, by):
    return [value - step for value, step in zip(values, by, strict=True)]


# --- measured tables --------------------------------------------------------------------------------------------------


def meter(relation, units=1_000):
    return Meter(
        GaussianMeasurements(variance=Fraction(4), units=units, delta=1e-6, neighbours=relation), Stream.seeded(1)
    )


def some_noise(copies, cells):
    """Every sum from -12 to 12 in the first cell, spread over the copies in two ways, the other cells busy too."""
    for total, spread in itertools.product(range(-12, 13), range(2)):
        rows = [[spread * (copy % 3) + cell - 1 for cell in range(cells)] for copy in range(copies)]
        rows[0][0] += total - sum(row[0] for row in rows)
        yield list(itertools.chain(*rows))


@pytest.mark.parametrize("copies", [1, 3, 49])
@pytest.mark.parametrize(("relation", "change"), [(AR, (1, 0)), (AR, (0, 1)), (RO, (1, -1)), (RO, (-1, 1))])
def test_a_measured_table_depends_on_noisy_whole_numbers_alone(noise, relation, change, copies):
    for count in COUNTS:
        before = np.array([count + 1, 5], dtype=np.int64)
        tables = [Secret(CountTable.dense(("a",), table)) for table in (before, before + np.array(change))]
        for numbers in some_noise(copies, 2):
            found = [
                noise.of(lambda table=table: meter(relation).table(table, copies=copies), drawn).tobytes()
                for table, drawn in zip(tables, (numbers, moved(numbers, change * copies)), strict=True)
            ]
            assert found[0] == found[1]


def test_merged_levels_depend_on_noisy_whole_numbers_alone(noise):
    """Three levels of which the last two are measured together; the record joins the second."""
    tables = [Secret(CountTable.dense(("a",), np.array(t, dtype=np.int64))) for t in ((9, 4_099, 2), (9, 4_100, 2))]
    groups = (np.array([0, 1, 1]),)
    for numbers in some_noise(3, 2):
        found = [
            noise.of(lambda table=table: meter(AR).table(table, copies=3, groups=groups), drawn).tobytes()
            for table, drawn in zip(tables, (numbers, moved(numbers, (0, 1) * 3)), strict=True)
        ]
        assert found[0] == found[1]


@pytest.mark.parametrize("change", [(1, 0, 0, 0, 0, 0), (0, 0, 0, 0, 1, 0), (1, 0, 0, 0, -1, 0)])
def test_a_measured_interaction_depends_on_noisy_whole_numbers_alone(noise, change):
    """Two rows and three columns: noise that makes up for the record's contrasts gives the very same floats."""
    event = GaussianMeasurements(variance=Fraction(1024), units=100, delta=1e-6, neighbours=RO)
    grid = np.array(change, dtype=np.int64).reshape(2, 3)
    contrasts = 6 * grid - 3 * grid.sum(axis=0) - 2 * grid.sum(axis=1, keepdims=True) + grid.sum()
    for count in COUNTS[:3]:
        before = np.array([[count + 1, 5, 0], [2, 7, count]], dtype=np.int64)
        tables = [Secret(CountTable.dense(("a", "b"), table)) for table in (before, before + grid)]
        for shift in range(-9, 10):
            numbers = [shift * (place % 3) - place for place in range(6)]
            found = [
                noise.of(lambda t=t: Meter(event, Stream.seeded(1)).interaction(t, copies=3), drawn)[0].tobytes()
                for t, drawn in zip(tables, (numbers, moved(numbers, contrasts.ravel().tolist())), strict=True)
            ]
            assert found[0] == found[1]


@pytest.mark.parametrize("copies", [1, 3, 49])
@pytest.mark.parametrize(
    ("relation", "change", "step"),
    [(AR, (1, 0), 1), (AR, (0, -1), -1), (RO, (1, -1), 1), (RO, (-1, 1), -1)],
)
def test_a_measured_dependence_depends_on_noisy_whole_numbers_alone(noise, relation, change, step, copies):
    """The first cell is above its expected count; the second is below where a record is replaced, else above too."""
    expected = np.array([1, 9 if relation is RO else 1])
    for count in COUNTS:
        before = np.array([count + 8, 5], dtype=np.int64)
        tables = [Secret(CountTable.dense(("a",), table)) for table in (before, before + np.array(change))]
        for numbers in some_noise(copies, 1):
            found = [
                noise.of(lambda t=t: meter(relation).dependences([t], [expected], copies=copies)[0], drawn).hex()
                for t, drawn in zip(tables, (numbers, moved(numbers, (step,) * copies)), strict=True)
            ]
            assert found[0] == found[1]


def test_noisy_copies_are_added_up_within_64_bits(noise):
    """The largest sum that the clamp allows, in whole numbers; one copy more is refused before it is paid."""
    table = Secret(CountTable.dense(("a",), np.array([1 << 40], dtype=np.int64)))
    paid = meter(AR, units=MOST_COPIES + 1)
    noisy = noise.of(lambda: paid.table(table, copies=MOST_COPIES), [1 << 41] * MOST_COPIES)
    assert noisy.tolist() == [float(1 << 41)]
    far = np.array([1 << 42])  # the distance is cut, so that it tells nothing by a refusal
    assert noise.of(lambda: meter(AR).dependences([table], [far], copies=1)[0], [0]) == float(1 << 40)
    with pytest.raises(RefusalError, match="at most"):
        meter(AR, units=MOST_COPIES + 1).table(table, copies=MOST_COPIES + 1)


# --- sums and means ---------------------------------------------------------------------------------------------------

MEANS = {"groups": 2, "group": "g", "value": "x", "lower": 0.1, "upper": 0.7, "epsilon": 1.0, "reach": 3}


def values_of(*records):
    groups, values = zip(*records, strict=True)
    return Secret(GroupValues(groups=np.array(groups), values=np.array(values)))


@pytest.mark.parametrize(("value", "steps"), [(0.7, 3), (0.1, -3), (0.42, 0), (99.0, 3), (0.52, 1)])
def test_noisy_means_depend_on_noisy_whole_numbers_alone(noise, value, steps):
    """Bounds that no float holds, a record more in group 1; the steps of its value are counted by hand."""
    before = [(0, 0.3), (1, 0.123), (1, 0.69)]
    tables = [values_of(*before), values_of(*before, (1, value))]
    for a, b, c in itertools.product(range(-5, 6), range(-5, 6), range(-2, 3)):
        found = [
            noise.of(lambda t=t: noisy_means(t, **MEANS, neighbours=AR, stream=Stream.seeded(1))[0], sums, counts)
            for t, sums, counts in ((tables[0], (a, b), (1, c)), (tables[1], (a, b - steps), (1, c - 1)))
        ]
        for field in fields(found[0]):
            left, right = (np.asarray(getattr(means, field.name)).tobytes() for means in found)
            assert left == right, field.name


GROVES = (Grove(feature=0, lean=(-UNIT, 0, UNIT)), Grove(feature=1, lean=(UNIT // 3, -7)))


def chances(codes):
    return 0.07 + 0.3 * codes[:, 0].astype(float) + 0.2 * codes[:, 1]


def labelled_of(*records):
    rows = np.array(records)
    return Secret(pooled(rows[:, :2].astype(np.uint8), np.stack([1 - rows[:, 2], rows[:, 2]], axis=1)))


@pytest.mark.parametrize("record", list(itertools.product(range(3), range(2), range(2))))
def test_noisy_votes_depend_on_noisy_whole_numbers_alone(noise, record):
    """A record more; what it adds to each grove is counted in fractions from the words of the proof."""
    limit = UNIT // 2
    chance = Fraction(float(chances(np.array([record]))[0]))
    pull = max(-limit, min(limit, math.floor((record[2] - chance) * UNIT + Fraction(1, 2))))
    added = [math.floor(Fraction(grove.lean[record[grove.feature]] * pull, UNIT) + Fraction(1, 2)) for grove in GROVES]
    before = [(0, 0, 0), (2, 1, 1), (1, 1, 0)]
    tables = [labelled_of(*before), labelled_of(*before, record)]
    options = {"limit": limit, "epsilon": 1.0, "stream": Stream.seeded(1), "reads": ""}
    beyond = range((1 << 60) + 100, (1 << 60) + 160, 7)  # more bits than a float has: only whole sums round alike
    for numbers in itertools.product([*range(-UNIT, UNIT, 409), *beyond], (-1, 0, 3, *beyond)):
        found = [
            noise.of(lambda t=t: grove_sums(t, GROVES, chances, **options)[0], drawn).tobytes()
            for t, drawn in zip(tables, (numbers, moved(numbers, added)), strict=True)
        ]
        assert found[0] == found[1]


def test_a_chance_does_not_depend_on_the_other_records():
    """What a record adds may be computed in floats, but from that record alone: alone, and at every place of a table.

    Arithmetic on several records at once may round the last ones of an array otherwise than those before them.
    """
    groves = (Grove(feature=0, lean=tuple(range(-128, 128))), Grove(feature=1, lean=tuple(range(256))))
    model = _Additive(0.37, np.array([0.731, -1.913]) * UNIT / 256, groves)
    codes = np.array(list(itertools.product(range(0, 256, 11), range(0, 256, 7))), dtype=np.uint8)
    whole = model.chance(codes)
    for at in range(len(codes)):
        assert model.chance(codes[at : at + 1]).tobytes() == whole[at : at + 1].tobytes()
    for cut in range(1, 40):
        assert model.chance(codes[cut:]).tobytes() == whole[cut:].tobytes()


# --- points of a public grid ------------------------------------------------------------------------------------------

GRID = (0.1, 0.2, 0.3, 0.5, 0.8, 1.3)


def numbers_of(*values):
    found, counts = np.unique(np.array(values, dtype=np.float64), return_counts=True)
    return Numbers(values=found, counts=counts.astype(np.int64))


NEIGHBOURS = [(numbers_of(0.25, 0.25, 0.9), numbers_of(0.25, 0.25, 0.9, x)) for x in (0.0, 0.1, 0.25, 1.3, 7.0)]


@pytest.mark.parametrize(("before", "after"), NEIGHBOURS)
def test_split_points_are_chosen_from_one_public_list(monkeypatch, before, after):
    """Whatever is chosen on the way, both tables offer the same number of candidates and so reach the same points."""

    def outcomes(table):
        found = set()
        for plan in itertools.product(range(4), repeat=3):
            left, offered = list(plan), []

            def choose(scores, left=left, offered=offered, **_):
                offered.append(len(scores))
                return left.pop(0) % len(scores), None

            monkeypatch.setattr(drafting, "select", choose)
            points = private_splits(Secret(table), grid=GRID, depth=2, epsilon=1.0, stream=Stream.seeded(1))
            found.add((plan, tuple(offered), np.array(points).tobytes()))
        return found

    assert outcomes(before) == outcomes(after)
    assert len({points for *_, points in outcomes(before)}) > 5


@pytest.mark.parametrize(("before", "after"), NEIGHBOURS)
@pytest.mark.parametrize("scores", [cell_scores, quantile_scores])
def test_every_point_has_a_chance_under_both(before, after, scores):
    for table in (before, after):
        found = scores(table, np.array(GRID), 0.5).tolist()
        gaps = penalties(found, epsilon=1.0, sensitivity=1.0, monotone=False)
        assert len(gaps) == len(GRID) - (scores is cell_scores)
        assert all(type(gap) is Fraction and gap >= 0 for gap in gaps)  # e^-gap is above 0, and drawn exactly


LEANS = (np.array([[-LEAN], [5], [LEAN]]), np.array([[LEAN], [-7]]))


def even_odds(codes):
    return np.full(len(codes), 0.5)


@pytest.mark.parametrize("record", list(itertools.product(range(3), range(2), range(2))))
def test_sums_of_records_depend_on_noisy_whole_numbers_alone(noise, record):
    """A record more; what it adds to every sum is written down from the words of the proof."""
    event = GaussianMeasurements(variance=Fraction(1024), units=100, delta=1e-6, neighbours=AR)
    before = [(0, 0, 0), (2, 1, 1), (1, 1, 0)]
    tables = [labelled_of(*before), labelled_of(*before, record)]
    bound = 4 * LEAN**2
    first, second = int(LEANS[0][record[0], 0]), int(LEANS[1][record[1], 0])
    pull = LEAN // 2 if record[2] else -LEAN // 2
    in_leaf = [16 * (leaf == record[0] and label == record[2]) for leaf in range(3) for label in range(2)]
    in_groups = [16 * (k == record[0]) for k in range(3)] + [16 * (k == record[1]) for k in range(2)]
    groups = [np.arange(3), np.arange(2)]
    releases = (
        (lambda sums: sums.class_counts(lambda codes: codes[:, 0].astype(np.intp), 3, units=7).values, in_leaf),
        (lambda sums: np.concatenate([part.values for part in sums.histograms([0, 1], groups, units=7)]), in_groups),
        (
            lambda sums: sums.residual_sums(LEANS, even_odds, bound=bound, units=7).values,
            [LEAN * pull, pull * first, pull * second],
        ),
        (
            lambda sums: np.concatenate(
                [part.ravel() for part in sums.second_moments(LEANS, bound=bound, units=7)[:2]]
            ),
            [LEAN * first, LEAN * second, first * first, first * second, second * second],
        ),
    )
    for release, added in releases:
        for shift in range(-9, 10):
            numbers = [shift * (place % 3) - place for place in range(len(added))]
            found = [
                noise.of(
                    lambda t=t, release=release: release(RecordSums(cells=t, meter=Meter(event, Stream.seeded(1)))),
                    drawn,
                ).tobytes()
                for t, drawn in zip(tables, (numbers, moved(numbers, added)), strict=True)
            ]
            assert found[0] == found[1]


# --- flows between units ----------------------------------------------------------------------------------------------

HOMES, WORK, PAIRS = np.array([0, 0, 1]), np.array([1, 0]), np.array([0, 3])


def flows_of(moving, group):
    """Five workers, of whom one has this origin and this group; all others stay."""
    workers = [(0, 0, 0), (0, 1, 1), (1, 2, 0), (1, 0, 1), (1, moving, group)]  # destination, origin, group
    destinations, origins, groups = (np.array(each) for each in zip(*workers, strict=True))
    cells = Histograms.of(destinations, origins, np.ones(5, dtype=np.int64), number=2)
    by_group = GroupCells(rows=destinations, units=origins, counts=np.eye(2, dtype=np.int64)[groups])
    return Secret(cells), {"age": Secret(by_group)}, workers


FLOW_RELEASES = {
    "pairs": (lambda m: m.pairs(HOMES, WORK, (2, 2), units=7)[0], 4, lambda d, o, g: 2 * HOMES[o] + WORK[d]),
    "homes": (lambda m: m.homes(HOMES, 2, units=7)[0], 2, lambda d, o, g: HOMES[o]),
    "listed": (
        lambda m: m.listed(HOMES, WORK, PAIRS, 2, units=7)[0],
        2,
        lambda d, o, g: {0: 0, 3: 1}.get(int(2 * HOMES[o] + WORK[d])),
    ),
    "characteristic": (
        lambda m: m.characteristic("age", HOMES, 2, by_home=True, units=7)[0],
        4,
        lambda d, o, g: 2 * HOMES[o] + g,
    ),
}


@pytest.mark.parametrize("name", FLOW_RELEASES)
@pytest.mark.parametrize(("moving", "group"), [(1, 0), (2, 1), (0, 1)])
def test_flows_depend_on_noisy_whole_numbers_alone(noise, name, moving, group):
    """One worker has another origin and group; the cell of a worker is written down from the words of the proof."""
    event = FlowMeasurements(variance=Fraction(1024), units=100, delta=1e-6, neighbours=Neighbours.ORIGIN)
    release, size, cell_of = FLOW_RELEASES[name]
    tables = [flows_of(0, 0), flows_of(moving, group)]

    def counted(workers):
        cells = [cell_of(*worker) for worker in workers]
        return np.array([64 * sum(cell == place for cell in cells) for place in range(size)])

    change = counted(tables[1][2]) - counted(tables[0][2])
    for shift in range(-9, 10):
        numbers = [shift * (place % 3) - place for place in range(size)]
        found = [
            noise.of(
                lambda cells=cells, groups=groups: release(
                    FlowMeter(cells=cells, groups=groups, meter=Meter(event, Stream.seeded(1)))
                ),
                drawn,
            ).tobytes()
            for (cells, groups, _), drawn in zip(tables, (numbers, moved(numbers, change)), strict=True)
        ]
        assert found[0] == found[1]


# --- sums of vectors --------------------------------------------------------------------------------------------------

VECTORS = np.array([[3, -1], [0, 4]])


@pytest.mark.parametrize("record", [0, 1])
@pytest.mark.parametrize("delta", [None, 1e-6], ids=["Laplace", "Gaussian"])
def test_sums_of_vectors_depend_on_noisy_whole_numbers_alone(noise, delta, record):
    """One record more, for whose vector the noise makes up."""
    pure = vector_sums_event(VectorSums, epsilon=1.0, moved=4, neighbours=AR)
    event = pure if delta is None else gaussian_sums_event(epsilon=1.0, delta=delta, neighbours=AR)

    def summed(table):
        return noisy_vector_sums(
            Secret(CountTable.dense(("a",), table)),
            lambda codes: (np.zeros(len(codes), dtype=np.int64), VECTORS[codes[:, 0].astype(np.int64)]),
            slots=1,
            width=2,
            lengths=Lengths(moved=4, squared=16),
            event=event,
            stream=Stream.seeded(1),
        ).values.tobytes()

    for count in COUNTS:
        before = np.array([count + 1, 5], dtype=np.int64)
        after = before + (np.arange(2) == record)
        for numbers in some_noise(1, 2):
            found = [
                noise.of(lambda table=table: summed(table), drawn)
                for table, drawn in zip((before, after), (numbers, moved(numbers, VECTORS[record])), strict=True)
            ]
            assert found[0] == found[1]


# --- no mechanism is forgotten ----------------------------------------------------------------------------------------

CHECKED = {
    "bounded_sums.noisy_means": "test_noisy_means_depend_on_noisy_whole_numbers_alone",
    "drafting.private_splits": "test_split_points_are_chosen_from_one_public_list",
    "gaussian_measurements.Meter.table": "test_a_measured_table_depends_on_noisy_whole_numbers_alone",
    "gaussian_measurements.Meter.interaction": "test_a_measured_interaction_depends_on_noisy_whole_numbers_alone",
    "gaussian_measurements.Meter.dependences": "test_a_measured_dependence_depends_on_noisy_whole_numbers_alone",
    **{
        f"record_sums.RecordSums.{name}": "test_sums_of_records_depend_on_noisy_whole_numbers_alone"
        for name in ("class_counts", "histograms", "residual_sums", "second_moments")
    },
    **{
        f"flow_measurements.FlowMeter.{name}": "test_flows_depend_on_noisy_whole_numbers_alone"
        for name in ("pairs", "homes", "listed", "characteristic")
    },
    "vector_sums.noisy_vector_sums": "test_sums_of_vectors_depend_on_noisy_whole_numbers_alone",
    "labelled.grove_sums": "test_noisy_votes_depend_on_noisy_whole_numbers_alone",
}
"""Mechanisms that return floats, and the test above that holds each."""
NOT_NOISE = {
    "leaf_answers.locally_noisy_mean": "the chapter's own answer: it promises nothing, and its ledger says so",
    "smoothing.open_for_draws": "hands weights or models to draws that return codes",
    "smoothing.exposed": "exact counts; the entry is an unpriced read",
    "smoothing.declared_public": "a file that the user names as public",
}
"""Others that open a secret and return floats, or what cannot be told from the annotation; and why that is right."""
HIDDEN_OR_PUBLIC = (Secret, Entry, Ledger, Event)
"""A secret stays in its box; prices do not depend on the data."""


def openers():
    """Every function or method of the mechanisms that opens a secret: "module.name" and the function itself."""
    room = Path(labelled.__file__).parent
    for path in sorted(room.glob("*.py")):
        module = importlib.import_module(f"understudy.mechanisms.{path.stem}") if path.stem != "__init__" else None
        waiting = [(node, ()) for node in ast.parse(path.read_text(encoding="utf-8")).body]
        while waiting:
            node, inside = waiting.pop()
            if isinstance(node, ast.ClassDef):
                waiting += [(child, (*inside, node.name)) for child in node.body]
            if isinstance(node, ast.FunctionDef) and any(map(_opens, ast.walk(node))):
                found = module
                for name in (*inside, node.name):
                    found = getattr(found, name)
                yield ".".join((path.stem, *inside, node.name)), found


def _opens(node):
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "open"


def may_hold_floats(kind):
    """Whether a value of this annotation may hold a float that depends on the data; also where nobody can tell."""
    origin, inside = typing.get_origin(kind), typing.get_args(kind)
    if isinstance(origin or kind, type) and issubclass(origin or kind, HIDDEN_OR_PUBLIC):
        return False
    if origin is np.ndarray:
        return may_hold_floats(typing.get_args(inside[1])[0])
    if inside:
        return any(may_hold_floats(each) for each in inside if each is not Ellipsis)
    if not isinstance(kind, type):
        return True  # Any, or a type variable
    if is_dataclass(kind):
        return any(may_hold_floats(each) for each in typing.get_type_hints(kind).values())
    if issubclass(kind, np.generic):
        return not issubclass(kind, np.integer | np.bool_)
    return not issubclass(kind, int | str | bytes | types.NoneType)


def test_every_mechanism_that_returns_floats_is_checked_here():
    """A new one that opens a secret and returns floats fails here until it has a test above, or a reason."""
    found = dict(openers())
    assert len(found) > 30
    floats = {name for name, function in found.items() if may_hold_floats(typing.get_type_hints(function)["return"])}
    assert floats == CHECKED.keys() | NOT_NOISE.keys()
    assert {name for name in globals() if name.startswith("test_")} >= set(CHECKED.values())


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        (int, False),
        (float, True),
        (tuple[int, float], True),
        (list[int | None], False),
        (typing.Any, True),
        (Secret[float], False),
        (np.ndarray[tuple[int], np.dtype[np.float64]], True),
        (np.ndarray[tuple[int], np.dtype[np.uint8]], False),
        (CountTable, False),
        (Fraction, True),
        (Numbers, True),
    ],
)
def test_floats_are_told_from_annotations(kind, expected):
    assert may_hold_floats(kind) is expected
