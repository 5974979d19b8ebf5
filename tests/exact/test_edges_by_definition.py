"""Prices and scores against their definitions, worked out the slow way where the cases are few (decision 0178)."""

import itertools
import math
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest

from understudy.errors import ParameterError, RefusalError
from understudy.mechanisms import gaussian_measurements
from understudy.mechanisms.certificate import SelectedTry
from understudy.mechanisms.dirichlet import (
    DirichletDraws,
    DirichletResetBlocks,
    draw_epsilon,
    draw_renyi,
    rational_alpha,
    smallest_alpha,
)
from understudy.mechanisms.discrete_gaussian import gaussian_delta
from understudy.mechanisms.discrete_laplace import pure_renyi
from understudy.mechanisms.exact_binomial import exp_minus
from understudy.mechanisms.gaussian_measurements import GaussianMeasurements, Meter, centred, squared_sensitivity
from understudy.mechanisms.prediction import _worst_pair
from understudy.mechanisms.selection_scores import mutual_information_sensitivity
from understudy.mechanisms.split_choice import StableSplits, TreeSplits, split_scores, stable_distance
from understudy.mechanisms.stability import stability_delta
from understudy.mechanisms.stream import Stream
from understudy.privacy import Neighbours, Secret
from understudy.sources.tables import CountTable

AR, RO = Neighbours.ADD_REMOVE, Neighbours.REPLACE
ORDERS = np.array([1.01, 1.5, 2.0, 5.0, 50.0, 1e4])


def divergences(p, q):
    """Renyi divergences of two laws, in both directions, at every order: the larger."""
    with np.errstate(divide="ignore"):
        p, q = np.log(np.asarray(p, dtype=np.float64)), np.log(np.asarray(q, dtype=np.float64))
    both = [
        np.logaddexp.reduce(ORDERS[:, None] * a + (1 - ORDERS[:, None]) * b, axis=1) / (ORDERS - 1)
        for a, b in ((p, q), (q, p))
    ]
    return np.maximum(*both)


# ---- prices


@pytest.mark.parametrize("epsilon", [0.01, 0.5, 3.0])
def test_a_pure_promise_is_worth_at_least_what_randomised_response_is(epsilon):
    yes = 1 / (1 + math.exp(-epsilon))
    curve = pure_renyi(ORDERS, epsilon)
    assert (curve >= divergences([yes, 1 - yes], [1 - yes, yes]) * (1 - 1e-12)).all()
    assert curve == pytest.approx(np.minimum(ORDERS * epsilon**2 / 2, epsilon), rel=1e-9)


@pytest.mark.parametrize("alpha", [Fraction(1, 3), Fraction(4)])
def test_the_curve_of_a_draw_is_that_of_the_worst_counts(alpha):
    """Two levels with ``alpha`` virtual records each; a record more in the first of them."""
    curve, worst, each = draw_renyi(((alpha, 2),), ORDERS), np.zeros(len(ORDERS)), float(alpha)
    for first, rest in itertools.product(range(12), range(60)):
        before = np.array([first + each, rest + each])
        after = before + np.array([1, 0])
        worst = np.maximum(worst, divergences(before / before.sum(), after / after.sum()))
    price = draw_epsilon(((alpha, 2),))
    assert math.log1p(1 / each) <= price <= math.log1p(1 / each) * (1 + 1e-9)
    assert (curve >= worst * (1 - 1e-9)).all() and (
        curve <= np.minimum(price, ORDERS * price**2 / 8) * (1 + 1e-9)
    ).all()
    assert (curve[[0, -1]] <= 1.1 * worst[[0, -1]]).all(), "and not much more"


def test_draws_and_blocks_cost_so_many_times_their_columns():
    one, two = ((Fraction(1), 3),), ((Fraction(1, 2), 2), (Fraction(2), 1))
    each = draw_epsilon(one) + draw_epsilon(two)
    for relation in (AR, RO):
        draws = DirichletDraws(priors=(one, two), draws=7, neighbours=relation)
        assert draws.guarantee().epsilon == pytest.approx(7 * each, rel=1e-12)
        blocks = DirichletResetBlocks(priors=(one, two), blocks=5, neighbours=relation)
        mass = (math.log1p(1 / 3) + math.log1p(1 / 3)) if relation is RO else 0.0
        assert blocks.guarantee().epsilon == pytest.approx(5 * (each + mass), rel=1e-9)
        for event, many in ((draws, 7), (blocks, 5)):
            curve, single = event.renyi(ORDERS), sum(draw_renyi(prior, ORDERS) for prior in (one, two))
            assert (curve <= event.guarantee().epsilon * (1 + 1e-9)).all()
            if relation is AR:
                assert curve == pytest.approx(many * single, rel=1e-12)
            else:
                assert (curve >= many * single * (1 - 1e-12)).all(), "who is replaced leaves and comes"


@pytest.mark.parametrize("target", [1e-4, 0.3, 5.0])
def test_the_smallest_alpha_meets_its_target_and_one_below_does_not(target):
    def price(alpha):
        return float(draw_epsilon(((alpha, 2),)))

    alpha = smallest_alpha(price, target)
    assert price(alpha) <= target < price(alpha * Fraction(999_998, 1_000_000))
    assert 1e-6 <= smallest_alpha(lambda _alpha: 0.0, target) <= 1.001e-6
    with pytest.raises(RefusalError, match="no alpha"):
        smallest_alpha(lambda _alpha: 1e9, target)


def bisected(price, target):
    """The alpha that releases have stated since version 0.1.0."""
    low, high = math.log(1e-6), math.log(1e9)
    while high - low >= 1e-6:
        middle = (low + high) / 2
        low, high = (low, middle) if price(rational_alpha(math.exp(middle))) <= target else (middle, high)
    return rational_alpha(math.exp(high))


PRICES = {
    "of a draw": lambda alpha: math.log1p(1 / float(alpha)),
    "of many draws": lambda alpha: 1e6 * math.log1p(1 / float(alpha)),
    "by a root": lambda alpha: 3 / math.sqrt(alpha),
    "in steps": lambda alpha: 2.0 ** -math.floor(math.log2(alpha)),
    "in one step": lambda alpha: 1e9 if alpha < 5 else 1e-9,
    "infinite below": lambda alpha: math.inf if alpha < 3 else 1 / float(alpha),
    "nothing above": lambda alpha: 1 / float(alpha) if alpha < 3 else 0.0,
    "rounded": lambda alpha: float(f"{2 / float(alpha):.7g}"),  # as calibration is, here and there the wrong way
    "a step up": lambda alpha: (1 + 5e-4 * (alpha >= 0.75)) / float(alpha),  # as the scan over counts has them
    "up and down": lambda alpha: (1 + 1e-7 * (hash(alpha) % 3)) / float(alpha),
}


SMOOTH = ("of a draw", "of many draws", "by a root", "rounded", "up and down")


@pytest.mark.parametrize("kind", PRICES)
@pytest.mark.parametrize("target", [1e-3, 0.5, 1.0, 4.0, 30.0])
def test_the_alpha_is_that_of_a_bisection_at_fewer_prices(kind, target):
    seen = []

    def price(alpha):
        seen.append(alpha)
        return PRICES[kind](alpha)

    assert smallest_alpha(price, target) == bisected(PRICES[kind], target)
    assert len(seen) <= (20 if kind in SMOOTH else 40), "the bisection has 27"


@pytest.mark.parametrize("epsilon", [1e-6, 0.5, 4.0])
@pytest.mark.parametrize("tries", [1, 2, 10, 1000])
def test_what_is_selected_never_costs_less_than_it_says(epsilon, tries):
    price = SelectedTry(epsilon=epsilon, tries=tries, neighbours=AR).guarantee().epsilon
    with localcontext() as context:
        context.prec = 60
        g, e = 1 / Decimal(tries), Decimal(epsilon).exp()
        due = Decimal(epsilon) + ((g + e) / (1 + g * e)).ln()
        assert due * (1 - Decimal("1e-50")) <= Decimal(price) <= due * (1 + Decimal("1e-10"))
        assert price <= 2 * epsilon


@pytest.mark.parametrize("variance", [Fraction(1), Fraction(9, 4), Fraction(9)])
@pytest.mark.parametrize("cells", [1, 2])
def test_the_delta_of_gaussian_noise_is_that_of_its_laws(variance, cells):
    reach = np.arange(-80, 81)
    law = np.exp(-(reach.astype(np.float64) ** 2) / (2 * float(variance)))
    law /= law.sum()
    here, there = law, np.concatenate([[0.0], law[:-1]])
    for _ in range(cells - 1):
        here, there = np.outer(here, law).ravel(), np.outer(there, np.concatenate([[0.0], law[:-1]])).ravel()
    for epsilon in (Fraction(1, 10), Fraction(1), Fraction(2)):
        due = float(np.maximum(there - math.exp(epsilon) * here, 0.0).sum())
        stated = gaussian_delta(variance, cells, epsilon)
        assert due * (1 - 1e-9) <= stated
        if cells == 1 or variance >= 2:
            assert stated <= due * (1 + 1e-6) + 1e-15


@pytest.mark.parametrize("shape", [(2,), (3, 2), (2, 2, 4)])
def test_contrasts_move_by_what_one_record_moves_them(shape):
    cells, scale = list(np.ndindex(*shape)), math.prod(shape)
    moved = []
    for cell in cells:
        table = np.zeros(shape)
        table[cell] = scale
        moved.append(centred(table).ravel())
    alone = max(float(one @ one) for one in moved)
    both = max(float((one - other) @ (one - other)) for one in moved for other in moved)
    assert squared_sensitivity(shape, AR) == pytest.approx(alone) and squared_sensitivity(shape, RO) == pytest.approx(
        both
    )


@pytest.mark.parametrize("levels", [2, 5])
@pytest.mark.parametrize("epsilon", [0.2, 2.0])
def test_a_perturbed_prediction_costs_what_its_worst_pair_does(levels, epsilon):
    """One level has all of the prediction, or another has; ``alpha`` of the smallest weight is kept for each level."""
    alpha = 0.3
    with np.errstate(over="ignore"):
        curve = _worst_pair(alpha, levels, epsilon, ORDERS)
    bounds = np.minimum(epsilon, ORDERS * epsilon**2 / 2)
    assert (curve > 0).all() and (curve <= bounds).all() and (np.diff(curve) >= 0).all()
    assert (_worst_pair(alpha, 1, epsilon, ORDERS) == 0).all()
    assert (_worst_pair(alpha, levels, 2 * epsilon, ORDERS) > curve).all()


def test_trees_cost_their_levels():
    tree = TreeSplits(epsilon=Fraction(1, 10), levels=3, neighbours=AR)
    assert tree.guarantee().epsilon == pytest.approx(0.3)
    assert tree.renyi(ORDERS) == pytest.approx(3 * np.minimum(ORDERS * 0.01 / 8, 0.1))
    stable = StableSplits(scale=Fraction(2), threshold=9, levels=3, neighbours=AR)
    assert stable.guarantee().epsilon == 1.5
    assert stable.guarantee().delta == pytest.approx(3 * float(stability_delta(Fraction(2), 9)))
    loud = StableSplits(scale=Fraction(1000), threshold=2, levels=3, neighbours=AR).guarantee()
    assert loud.delta == 1.0, "a probability"


# ---- what a meter takes for what it is paid


class Scales:
    """In the place of the noise: what would have been measured, and under which variance."""

    def __init__(self, monkeypatch):
        self.draws, deviations = [], []
        monkeypatch.setattr(gaussian_measurements, "discrete_gaussian", self.plain)
        monkeypatch.setattr(
            gaussian_measurements, "exact_gaussian", lambda size, deviation, stream: deviations.append(deviation) or 0
        )
        monkeypatch.setattr(
            gaussian_measurements,
            "clamped_sum",
            lambda exact, noise: (noise(exact.shape), self.draws.append((exact, deviations.pop() ** 2)), exact)[-1],
        )

    def plain(self, counts, *, variance, stream):
        self.draws.append((counts, variance))
        return counts

    def taken(self):
        draws, self.draws = self.draws, []
        return draws


SMALL = np.array([[5, 0, 2], [7, 1, 30]])
METERS = [
    (relation, rows, variance, copies)
    for relation in (AR, RO)
    for rows, variance in ((1, Fraction(9)), (1, Fraction(4096)), (1, Fraction(10**6)), (3, Fraction(4096)))
    for copies in (1, 3, 70)
    if relation is AR or rows == 1
]


@pytest.mark.parametrize(("relation", "rows", "variance", "copies"), METERS)
@pytest.mark.parametrize("what", ["table", "grouped", "interaction", "dependences", "sums"])
def test_what_is_measured_moves_by_no_more_than_was_paid_for(monkeypatch, what, relation, rows, variance, copies):
    """Squared lengths in variances, added up: what one record, or a person's rows, move them by."""
    scales, spent = Scales(monkeypatch), set()
    event = GaussianMeasurements(variance=variance, units=10**6, delta=1e-9, neighbours=relation)
    groups = [np.array([0, 1]), np.array([0, 1, 1])]

    def measured(grid):
        meter = Meter(event, Stream.seeded(1))
        if rows > 1:
            meter = meter.apart(500_000, rows=rows)
        counts, before = Secret(CountTable.dense(["a", "b"], grid)), meter.left
        truth: tuple = (grid, None)
        if what == "table":
            got = (meter.table(counts, copies=copies), None)
        elif what == "grouped":
            truth = (np.stack([grid[:, 0], grid[:, 1:].sum(axis=1)], axis=1), None)
            got = (meter.table(counts, copies=copies, groups=groups), None)
        elif what == "interaction":
            truth, got = (centred(grid), None), meter.interaction(counts, copies=copies)
        elif what == "sums":
            got = meter.sums(grid, squared=2 if relation is RO else 1, units=copies)
        else:
            step = 2 if relation is RO else 1
            truth = (np.array([np.abs(grid - 4).sum() // step * step] * 2), None)
            got = (meter.dependences([counts, counts], [np.full(grid.shape, 4.2)] * 2, copies=copies), None)
        assert got[0] == pytest.approx(truth[0], abs=1e-9)
        spent.add(before - meter.left)
        draws = scales.taken()
        if got[1] is not None:  # the variance that is told
            [(drawn, under)] = draws
            whole = grid.size**2 if what == "interaction" else 1
            due = under / whole if drawn.shape == grid.shape else under / copies
            assert got[1] == pytest.approx(float(due))
        return draws

    if what == "sums" and (rows > 1 or variance < 1024):  # sums are joined, and of single records
        with pytest.raises(RefusalError, match="sums"):
            measured(SMALL)
        return
    here, dearest = measured(SMALL), 0.0
    cells = list(np.ndindex(*SMALL.shape))
    for comes, leaves in itertools.product(cells, cells if relation is RO else [None]):
        other = SMALL.copy()
        other[comes] += rows
        if leaves is not None:
            other[leaves] -= 1
            if other.min() < 0:
                continue
        cost = sum(
            Fraction(int(((one.astype(object) - two) ** 2).sum())) / under
            for (one, under), (two, _) in zip(here, measured(other), strict=True)
        )
        dearest = max(dearest, float(cost))
    [units] = spent
    assert 0.3 * units / variance <= dearest <= units / variance * (1 + 1e-12)


@pytest.mark.parametrize("rows", [1, 2, 3])
@pytest.mark.parametrize("copies", [1, 2])
def test_several_rows_of_a_person_are_measured_in_one_joined_draw(monkeypatch, rows, copies):
    """Proved is that (proofs/histories.md); single draws are added up for steps of 1 alone."""
    scales = Scales(monkeypatch)
    event = GaussianMeasurements(variance=Fraction(4096), units=10**6, delta=1e-9, neighbours=AR)
    meter = Meter(event, Stream.seeded(1)).apart(500_000, rows=rows)
    meter.table(Secret(CountTable.dense(["a", "b"], SMALL)), copies=copies)
    [(drawn, under)] = scales.taken()
    is_joined = under != event.variance
    assert is_joined is (rows > 1 or copies > 1)
    assert meter.left == 500_000 - copies * rows**2
    if is_joined:
        times = int(drawn[0, 0]) // int(SMALL[0, 0])
        assert (drawn == times * SMALL).all() and under >= times**2 * (event.variance + 8) / copies


def test_a_meter_gives_what_it_was_paid_and_no_more():
    event = GaussianMeasurements(variance=Fraction(4096), units=10, delta=1e-9, neighbours=AR)
    grid = Secret(CountTable.dense(["a", "b"], SMALL))
    for copies, left in ((10, 0), (9, 1)):
        meter = Meter(event, Stream.seeded(1))
        meter.table(grid, copies=copies)
        assert meter.left == left
    for wrong in (0, -1, 11):
        meter = Meter(event, Stream.seeded(1))
        for refusing in (
            lambda: meter.table(grid, copies=wrong),  # noqa: B023
            lambda: meter.interaction(grid, copies=wrong) if wrong else meter.apart(0, rows=1),  # noqa: B023
            lambda: meter.sums(SMALL, squared=1, units=wrong),  # noqa: B023
            lambda: meter.dependences([grid], [SMALL], copies=wrong),  # noqa: B023
            lambda: meter.apart(wrong, rows=1),  # noqa: B023
        ):
            with pytest.raises((RefusalError, ValueError)):
                refusing()
        assert meter.left == 10
    meter = Meter(event, Stream.seeded(1))
    part = meter.apart(4, rows=1)
    assert (meter.left, meter.units, part.left, part.units, part.rows) == (6, 10, 4, 4, 1)
    with pytest.raises(RefusalError):
        meter.apart(1, rows=0)
    quiet = GaussianMeasurements(variance=Fraction(9), units=10, delta=1e-9, neighbours=AR)
    with pytest.raises(RefusalError, match="so little noise"):
        Meter(quiet, Stream.seeded(1)).apart(1, rows=2)
    assert Meter(quiet, Stream.seeded(1)).apart(10, rows=1).left == 10


# ---- scores


def entropy(counts):
    counts = [count for count in counts if count]
    return sum(-count / sum(counts) * math.log(count / sum(counts)) for count in counts)


def test_scores_of_questions_are_their_definitions():
    tables = np.array([t for t in itertools.product(range(4), repeat=4) if sum(t)]).reshape(-1, 2, 2)
    gini, information, hellinger = (split_scores(tables, alpha) for alpha in (2, 1, 0.5))
    for place, table in enumerate(tables):
        n, sides, classes = table.sum(), table.sum(axis=1), table.sum(axis=0)
        impurity = sum(2 * table[x, 0] * table[x, 1] / sides[x] for x in (0, 1) if sides[x])
        assert gini[place] == pytest.approx(-impurity)
        assert information[place] == pytest.approx(-sum(sides[x] * entropy(table[x]) for x in (0, 1)), abs=1e-12)
        joint, product = table / n, np.outer(sides, classes) / n**2
        affinity = np.sqrt(joint * product).sum()
        assert hellinger[place] == pytest.approx(math.sqrt(n) * 4 * max(1 - affinity, 0), abs=1e-6)
    nobody = split_scores(np.zeros((1, 2, 2), dtype=np.int64), 0.5)
    assert nobody == split_scores(np.zeros((1, 2, 2), dtype=np.int64), 2) == 0.0


@pytest.mark.parametrize("alpha", [0.5, 1.0, 2.0])
def test_how_many_records_must_change_differs_by_one_between_neighbours(alpha):
    def distance(tables):
        return stable_distance(split_scores(tables, alpha).tolist(), alpha, 400)

    rng = np.random.default_rng(5)
    for _ in range(20):
        tables = rng.integers(0, 90, size=(3, 2, 2))
        tables[1:] = tables[0].sum(axis=0) // 2  # the same classes in every question, as of the same records
        tables[1:, 0] = tables[0].sum(axis=0) - tables[1:, 1]
        here = distance(tables)
        assert here >= 1
        for sides in itertools.product((0, 1), repeat=3):
            more = tables.copy()
            for question, side in enumerate(sides):
                more[question, side, 1] += 1
            assert abs(distance(more) - here) <= 1
    assert stable_distance([3.0], alpha, 400) > 1 << 30, "nothing else could be chosen"
    assert stable_distance([3.0, 3.0], alpha, 400) == 1
    assert stable_distance([0.0, 4.0], 2.0, None) == 2, (
        "two records move a lead of 4 in Gini by 4, and the third is spare"
    )


@pytest.mark.parametrize("n", [2, 3, 5, 8])
def test_mutual_information_moves_by_its_bound_and_no_more(n):
    def information(table):
        return entropy(table.sum(axis=0)) + entropy(table.sum(axis=1)) - entropy(table.ravel())

    most = 0.0
    for counts in (c for c in itertools.product(range(n + 1), repeat=4) if sum(c) == n):
        table = np.array(counts).reshape(2, 2)
        for leaves, comes in itertools.permutations(range(4), 2):
            if counts[leaves]:
                other = table.ravel().copy()
                other[leaves] -= 1
                other[comes] += 1
                most = max(most, abs(information(table) - information(other.reshape(2, 2))))
    assert mutual_information_sensitivity(n, binary=True) == pytest.approx(most, rel=1e-9)
    assert mutual_information_sensitivity(n, binary=False) >= most * (1 - 1e-12)


# ---- exact draws


@pytest.mark.parametrize("gap", [Fraction(1, 1000), Fraction(1, 3), Fraction(7), Fraction(100)])
@pytest.mark.parametrize("bits", [16, 64, 200])
def test_bounds_of_an_exponential_hold_it_and_are_close(gap, bits):
    low, high = exp_minus(gap, bits)
    with localcontext() as context:
        context.prec = 120
        due = (-Decimal(gap.numerator) / Decimal(gap.denominator)).exp() * (1 << bits)
        assert low <= due <= high and high - low <= 4


def test_a_key_that_is_sent_elsewhere_is_whole_and_its_own():
    stream = Stream.from_system()
    keys = [stream.fresh_key() for _ in range(2)]
    assert [len(key.bits) for key in keys] == [32, 32] and keys[0].bits != keys[1].bits
    assert all(key.is_secure for key in keys)
    with pytest.raises((ParameterError, RefusalError, TypeError)):
        stream.__reduce__()


def test_a_seed_draws_what_it_always_drew():
    stream = Stream.seeded(7)
    child = stream.spawn()
    assert [f"{int(word):016x}" for word in stream.words(2)] == ["7c4aff0c2da9cddc", "fa44f3482d6633cc"]
    assert [f"{int(word):016x}" for word in child.words(2)] == ["12fabab33ff904c5", "27abb226afa18841"]
