"""Flows on several levels: what one worker moves, what that costs, and least squares, all by enumeration."""

import itertools
import math

import numpy as np
import pytest

from understudy.commute.estimates import Estimates, downwards, row_variances, together, tree_estimates, upwards
from understudy.commute.levels import pieces_of
from understudy.errors import RefusalError
from understudy.mechanisms.flow_measurements import TIMES, FlowMeasurements, FlowMeter, flow_event, measured_deviation
from understudy.mechanisms.gaussian_measurements import Meter
from understudy.mechanisms.stream import Stream
from understudy.privacy import Neighbours, Secret
from understudy.privacy.guarantees import ApproxDP
from understudy.sources.flows import GroupCells, Histograms

HOMES, WORK = np.array([0, 0, 1]), np.array([0, 1])  # three origins in two units, two destinations in two
EPSILON, DELTA = 1.0, 1e-3


def meter_of(origins: tuple[int, ...], groups: tuple[int, ...], record: list) -> FlowMeter:
    """Workers with these origins: the first two at one destination, the others at the next."""
    rows = np.array([0, 0, 1, 1][: len(origins)])
    units, ones = np.array(origins), np.ones(len(origins), dtype=np.int64)
    kinds = np.eye(2, dtype=np.int64)[list(groups)]
    event = flow_event(epsilon=EPSILON, delta=DELTA)
    meter = FlowMeter(
        cells=Secret(Histograms.of(rows, units, ones, number=2)),
        meter=Meter(event, Stream.seeded(1)),
        groups={"age": Secret(GroupCells(rows=rows, units=units, counts=kinds))},
    )
    sums = meter.meter.sums

    def noted(exact, *, squared, units):
        record.append((exact.copy(), squared, units))
        return sums(exact, squared=squared, units=units)

    meter.meter.sums = noted
    return meter


def measure_all(meter: FlowMeter) -> None:
    meter.pairs(np.zeros(3, dtype=np.int64), np.zeros(2, dtype=np.int64), (1, 1), units=100)
    meter.pairs(HOMES, WORK, (2, 2), units=300)
    meter.pairs(np.arange(3), WORK, (3, 2), units=200)
    meter.pairs(np.zeros(3, dtype=np.int64), WORK, (1, 2), units=60)
    meter.pairs(HOMES, np.zeros(2, dtype=np.int64), (2, 1), units=60)
    meter.homes(HOMES, 2, units=50)
    meter.homes(np.arange(3), 3, units=70)
    meter.listed(np.arange(3), WORK, np.array([1, 2, 5]), 2, units=80)
    meter.listed(np.arange(3), WORK, np.array([], dtype=np.int64), 2, units=10)
    meter.characteristic("age", HOMES, 2, by_home=True, units=40)
    meter.characteristic("age", WORK, 2, by_home=False, units=40)


def tables(origins: tuple[int, ...], groups: tuple[int, ...]) -> list:
    record: list = []
    measure_all(meter_of(origins, groups, record))
    return record


def test_no_neighbour_moves_a_table_by_more_than_is_paid_for():
    """Every table of three workers, every change of one worker's origin and group: lengths, and the whole price."""
    event = flow_event(epsilon=EPSILON, delta=DELTA)
    largest = np.zeros(11)
    for origins in itertools.product(range(3), repeat=3):
        for groups in ((0, 0, 1), (1, 0, 0)):
            first = tables(origins, groups)
            for worker, (origin, group) in itertools.product(range(3), itertools.product(range(3), range(2))):
                moved = (*origins[:worker], origin, *origins[worker + 1 :])
                other = (*groups[:worker], group, *groups[worker + 1 :])
                second = tables(moved, other)
                lengths = [int(((a - b) ** 2).sum()) for (a, _, _), (b, _, _) in zip(first, second, strict=True)]
                largest = np.maximum(largest, lengths)
                for length, (_, squared, _) in zip(lengths, first, strict=True):
                    assert length <= squared == 2 * TIMES**2
                # Gaussian noise of these variances costs no more than all units together
                total = sum(
                    length / (measured_deviation(event, units) * TIMES) ** 2
                    for length, (_, _, units) in zip(lengths, first, strict=True)
                )
                spent = sum(units for _, _, units in first)
                assert total <= spent / float(event.variance)
    two = 2 * TIMES**2
    assert largest.tolist() == [0, two, two, 0, two, two, two, two, 0, two, two]  # and it is not loose


def test_two_levels_of_a_tiny_table_keep_the_stated_price():
    """One worker moves between two origins in two units, measured on both levels: the exact sum over all results.

    Each level has a cell that loses one and a cell that gains one, four shifts by ``TIMES`` in all; the privacy loss is
    a function of the sum of the four noises, whose law is found by convolution.
    """
    event = flow_event(epsilon=EPSILON, delta=DELTA)
    deviation = measured_deviation(event, event.units // 2) * TIMES
    reach = math.ceil(10 * deviation)
    values = np.arange(-reach, reach + 1)
    law = np.exp(-(values**2) / (2 * deviation**2))
    law /= law.sum()
    two = np.convolve(law, law)
    four = np.convolve(two, two)
    sums = np.arange(len(four)) - 4 * reach
    losses = (4 * TIMES**2 - 2 * TIMES * sums) / (2 * deviation**2)
    delta = float((four * np.maximum(0.0, -np.expm1(EPSILON - losses))).sum())
    claim = event.guarantee()
    assert isinstance(claim, ApproxDP) and claim.neighbours is Neighbours.ORIGIN
    assert claim.epsilon <= EPSILON and claim.delta == DELTA
    assert 0.97 * DELTA < delta <= DELTA * (1 + 1e-6)  # kept, and not loose


def test_the_meter_pays_for_every_table():
    record: list = []
    meter = meter_of((0, 1, 2), (0, 0, 1), record)
    measure_all(meter)
    assert meter.meter.left == meter.meter.event.units - sum(units for _, _, units in record)
    with pytest.raises(RefusalError, match="paid for"):
        meter.homes(HOMES, 2, units=meter.meter.left + 1)


def test_another_price_pays_for_no_flow():
    from understudy.mechanisms.gaussian_measurements import gaussian_sums_event

    other = gaussian_sums_event(epsilon=1.0, delta=1e-6, neighbours=Neighbours.ADD_REMOVE)
    cells = Secret(Histograms.of(np.array([0]), np.array([0]), np.array([1]), number=1))
    with pytest.raises(RefusalError, match="price of flow measurements"):
        FlowMeter(cells=cells, meter=Meter(other, Stream.seeded(1)))
    with pytest.raises(Exception, match="only relation"):
        FlowMeasurements(variance=other.variance, units=8, delta=1e-6, neighbours=Neighbours.ADD_REMOVE)


@pytest.mark.parametrize("known", [True, False])
def test_estimates_are_least_squares_and_no_two_move_together(known):
    """Against weighted least squares by matrices, on a tree of three steps."""
    tree = pieces_of([np.array([0, 0, 0, 1, 1, 1, 1])[:7], np.array([0, 1, 1, 2, 2, 3, 3])], 7)
    parents = [np.zeros(2, dtype=np.int64), tree.parent[1], tree.parent[2]]
    variances = [4.0, 2.0, 1.5]
    designs = []
    for step in range(3):
        design = np.zeros((tree.sizes[step], 7))
        design[tree.of[step], np.arange(7)] = 1
        designs.append(design)
    design = np.concatenate(designs)
    weights = np.concatenate([np.full(size, 1 / v) for size, v in zip(tree.sizes, variances, strict=True)])
    rng = np.random.default_rng(5)
    noisy = [rng.normal(10, 5, size) for size in tree.sizes]
    total = 55.0
    normal = design.T @ (weights[:, None] * design)
    covariance = np.linalg.inv(normal)
    solution = covariance @ (design.T @ (weights * np.concatenate(noisy)))
    if known:  # conditioned on the sum
        ones = np.ones(7)
        gain = covariance @ ones / (ones @ covariance @ ones)
        solution = solution + gain * (total - solution.sum())
        covariance = covariance - np.outer(gain, ones @ covariance)
    estimates = tree_estimates(noisy, variances, parents, np.array([total]) if known else None)
    for step, design in enumerate(designs):
        exact = design @ covariance @ design.T
        assert estimates[step].values == pytest.approx(design @ solution)
        assert estimates[step].variances == pytest.approx(np.diag(exact))
        assert (exact - np.diag(np.diag(exact))).max() <= 1e-12


def _by_matrices(tree, steps, variances, known):
    """Covariance of least squares for the leaves of pairs, given known sums of columns; and the design of each step."""
    homes, work = tree
    leaves = len(homes.of[0]) * len(work.of[0])
    designs = []
    for step in range(steps):
        design = np.zeros((homes.sizes[step], work.sizes[step], leaves))
        for home, job in itertools.product(range(len(homes.of[0])), range(len(work.of[0]))):
            design[homes.of[step][home], work.of[step][job], home * len(work.of[0]) + job] = 1
        designs.append(design.reshape(-1, leaves))
    normal = sum(design.T @ design / v for design, v in zip(designs, variances, strict=True))
    covariance = np.linalg.inv(normal)
    if known is not None:
        gain = covariance @ known.T @ np.linalg.inv(known @ covariance @ known.T)
        covariance = covariance - gain @ known @ covariance
    return covariance, designs


def test_sums_of_rows_have_the_variance_of_least_squares():
    """Units of unequal sizes on both sides, so that shares differ from row to row and from column to column."""
    homes = pieces_of([np.array([0, 0, 0, 1, 1, 1])], 6)
    work = pieces_of([np.array([0, 0, 1, 1, 1])], 5)
    variances = [3.0, 1.5]
    columns = np.zeros((2, 30))
    for job in range(5):
        columns[work.of[0][job], job::5] = 1
    covariance, designs = _by_matrices((homes, work), 2, variances, columns)
    found = row_variances(variances, homes.parent, work.parent)
    for step, design in enumerate(designs):
        rows = design.reshape(homes.sizes[step], work.sizes[step], -1).sum(axis=1)
        assert found[step] == pytest.approx(np.diag(rows @ covariance @ rows.T))


def test_what_flows_say_of_a_unit_is_shared_out_among_its_places():
    """Residents of two units and their five places, known by themselves and by another estimate of the units."""
    parent = np.array([0, 0, 1, 1, 1])
    parents = [np.zeros(2, dtype=np.int64), parent]
    rng = np.random.default_rng(2)
    noisy, variances, total = [rng.normal(20, 5, 2), rng.normal(8, 3, 5)], [6.0, 2.0], 41.0
    flows, spread = rng.normal(20, 3, 2), np.array([4.0, 7.0])
    units = np.zeros((2, 5))
    units[parent, np.arange(5)] = 1
    design = np.concatenate([units, np.eye(5)])
    weights = np.array([1 / 6.0] * 2 + [0.5] * 5)
    covariance = np.linalg.inv(design.T @ (weights[:, None] * design))
    solution = covariance @ (design.T @ (weights * np.concatenate(noisy)))
    ones = np.ones(5)
    gain = covariance @ ones / (ones @ covariance @ ones)
    alone, known = solution + gain * (total - solution.sum()), covariance - np.outer(gain, ones @ covariance)
    joined = upwards(noisy, variances, parents)
    home = tree_estimates(noisy, variances, parents, np.array([total]))[0]
    assert home.values == pytest.approx(units @ alone)
    assert home.variances == pytest.approx(np.diag(units @ known @ units.T))
    both = together(home, Estimates(values=flows, variances=spread))
    (places,) = downwards(joined[1:], parents[1:], both)
    assert units @ places.values == pytest.approx(both.values)
    # every place is told by the linear rule that is written out here
    taken = both.values - units @ alone
    share = np.array([0.5, 0.5, 1 / 3, 1 / 3, 1 / 3])
    assert places.values == pytest.approx(alone + share * taken[parent])
    within = np.diag(known) - share**2 * home.variances[parent]  # independent of what is known of the unit
    assert places.variances == pytest.approx(within + share**2 * both.variances[parent])
