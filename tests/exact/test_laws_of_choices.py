"""Choices, scores and tables of weights against their definitions, whatever the numbers are (decision 0178)."""

import itertools
import math
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest

from understudy.errors import DataError, ParameterError, RefusalError
from understudy.mechanisms import drafting, split_choice
from understudy.mechanisms.dirichlet import (
    DirichletResetBlocks,
    _tilt_renyi,
    alpha_for,
    draw_epsilon,
    draw_renyi,
    rational_alpha,
)
from understudy.mechanisms.drafting import cell_scores, quantile_scores
from understudy.mechanisms.exponential import ExponentialSelection, penalties
from understudy.mechanisms.histogram import _among
from understudy.mechanisms.l_diversity import diverse_tables, diversified, largest_probability
from understudy.mechanisms.labelled import Cells, labelled_cells
from understudy.mechanisms.origin_draws import (
    KEEP_ALL,
    Certificate,
    Destinations,
    OriginDraws,
    certified_alphas,
    deltas_at,
    exact_alphas,
    parsed_groups,
)
from understudy.mechanisms.selection_scores import (
    conditional_entropy_score,
    conditional_entropy_sensitivity,
    fixed_size,
    information_of_all,
    mutual_information,
    score_tables,
)
from understudy.mechanisms.split_choice import (
    TreeSplits,
    choose_splits,
    choose_stable_splits,
    measured_splits,
    score_sensitivity,
    split_scores,
    stable_threshold,
)
from understudy.mechanisms.stability import stability_delta, stability_threshold
from understudy.mechanisms.stream import Stream
from understudy.privacy import Neighbours, Secret
from understudy.sources.looks import Numbers
from understudy.sources.tables import CountTable

AR, RO = Neighbours.ADD_REMOVE, Neighbours.REPLACE


# ---- Dirichlet draws


@pytest.mark.parametrize("eta", [0.003, 0.2, 1.0, 4.0, 12.0])
@pytest.mark.parametrize("reach", [1e-4, 0.05, 0.5, 0.98, 1.0])
def test_a_tilt_costs_what_its_worst_probability_does(eta, reach):
    """Every p on a fine grid, both directions, in long floats; the closed forms must find the worst and no more."""
    orders = np.array([1.02, 1.5, 2.0, 4.0, 30.0])
    p = np.concatenate([np.geomspace(reach * 1e-9, reach, 6_000), np.linspace(reach * 1e-4, reach, 6_000)])
    p, order = p.astype(np.longdouble)[:, None], orders.astype(np.longdouble)[None, :]

    def mixed(exponent):  # ln(1 - p + p e^exponent)
        with np.errstate(divide="ignore"):
            return np.where(p < 1, np.log1p(p * np.expm1(np.longdouble(1) * exponent)), exponent)

    forward = (mixed(order * eta) - order * mixed(eta)) / (order - 1)
    backward = mixed((1 - order) * eta) / (order - 1) + mixed(eta)
    due = np.maximum(forward, backward).max(axis=0).astype(np.float64)
    stated = _tilt_renyi(np.array([[eta]]), np.array([[reach]]), orders[None, :])[0]
    assert (stated >= due * (1 - 1e-13)).all()
    lost = 2.0**-45 * orders * eta / (orders - 1)  # by rounding of a difference
    assert (stated <= due * (1 + 1e-4) + lost).all()
    assert (stated <= np.minimum(eta, orders * eta**2 / 8)).all()


@pytest.mark.parametrize("alpha", [1e-12, 0.3, 1.0, 7.3, 1e6 + 0.1, 2.0**40 + 0.5])
def test_an_alpha_is_the_next_rational_of_few_bits(alpha):
    exact = rational_alpha(alpha)
    assert exact >= Fraction(alpha) and exact.denominator <= 1 << 30
    finest = Fraction(1, 1 << 30)
    assert exact - Fraction(alpha) < max(finest, Fraction(alpha) * finest), "and not much more than was asked for"
    with pytest.raises(ParameterError, match="alpha"):
        rational_alpha(0.0)


@pytest.mark.parametrize("epsilon", [0.01, 1.0, 10.0])
@pytest.mark.parametrize("columns", [1, 7])
def test_a_sweep_with_its_alpha_costs_what_was_asked_for(epsilon, columns):
    alpha = alpha_for(epsilon_per_record=epsilon, columns=columns)
    assert columns * draw_epsilon(((alpha, 2),)) <= epsilon
    assert columns * math.log1p(1 / float(alpha)) == pytest.approx(epsilon, rel=1e-5), "up to the grid of alphas"
    for wrong in (0.0, -1.0, 701.0 * columns):
        with pytest.raises(ParameterError, match="epsilon_per_record"):
            alpha_for(epsilon_per_record=wrong, columns=columns)
    alpha_for(epsilon_per_record=700.0 * columns, columns=columns)


@pytest.mark.parametrize("alpha", [Fraction(1, 50), Fraction(1, 2), Fraction(6)])
def test_whoever_is_replaced_moves_one_cell_twice_or_two_cells_once(alpha):
    prior = ((alpha, 3), (2 * alpha, 1))
    orders = np.array([1.01, 1.5, 3.0, 20.0, 500.0])
    event = DirichletResetBlocks(priors=(prior, prior), blocks=4, neighbours=RO)
    one, most = draw_epsilon(prior), event.guarantee().epsilon / 8
    twice = np.minimum(orders * one**2 / 2, one)
    due = np.minimum(np.maximum(twice, 2 * draw_renyi(prior, orders)), most)
    assert event.renyi(orders) == pytest.approx(8 * due, rel=1e-9)
    assert most == pytest.approx(math.log1p(1 / float(alpha)) + math.log1p(1 / float(5 * alpha)), rel=1e-12)
    assert event.scaled(Fraction(3)).priors == (((3 * alpha, 3), (6 * alpha, 1)),) * 2


# ---- choices by a score


@pytest.mark.parametrize("monotone", [True, False])
@pytest.mark.parametrize("epsilon", [0.01, 1.0, 20.0])
@pytest.mark.parametrize("sensitivity", [1.0, 0.3, 8.5])
def test_no_choice_is_likelier_by_more_than_its_epsilon_between_neighbours(monotone, epsilon, sensitivity):
    rng = np.random.default_rng(1)

    def chances(scores):
        gaps = penalties(scores.tolist(), epsilon=epsilon, sensitivity=sensitivity, monotone=monotone)
        assert min(gaps) == 0 == gaps[int(np.argmax(scores))]
        logs = -np.array([float(gap) for gap in gaps])
        return logs - np.logaddexp.reduce(logs)

    worst = 0.0
    for _ in range(60):
        scores = rng.uniform(-6, 6, size=4) * sensitivity
        corner = rng.choice([0.0, 1.0] if monotone else [-1.0, 1.0], size=4) * (1 + rng.uniform(-1, 1, 4) * 2.0**-15)
        moved = np.abs(chances(scores) - chances(scores + corner * sensitivity)).max()
        worst = max(worst, float(moved))
    assert epsilon * 0.3 < worst <= epsilon
    for wrong in ({"epsilon": 0.0}, {"sensitivity": 0.0}, {"monotone": 1}, {"scores": []}, {"scores": [math.nan]}):
        asked = {"scores": [1.0], "epsilon": epsilon, "sensitivity": sensitivity, "monotone": monotone, **wrong}
        with pytest.raises((ParameterError, DataError)):
            penalties(asked.pop("scores"), **asked)


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9])
def test_scores_of_quantiles_are_counts_of_records_on_the_wrong_side(share):
    rng = np.random.default_rng(2)
    grid = np.array([0.0, 1.0, 2.0, 2.5, 7.0])

    def scores(records):
        values, counts = np.unique(records, return_counts=True)
        numbers = Numbers(values=values.astype(np.float64), counts=counts.astype(np.int64))
        return quantile_scores(numbers, grid, share), cell_scores(numbers, grid, share)

    for size in (0, 1, 2, 9, 30):
        records = rng.choice([-1.0, 0.0, 0.5, 1.0, 2.0, 2.2, 6.0, 7.0, 9.0], size=size)
        points, cells = scores(records)
        below = np.array([(records < point).sum() for point in grid])
        assert points == pytest.approx(-np.abs((1 - share) * below - share * (size - below)))
        ends = np.concatenate([[0], below[1:-1], [size]])
        outside = np.maximum(ends[:-1] - share * size, share * size - ends[1:])
        assert cells == pytest.approx(-np.maximum(outside, 0))
        for more in (-1.0, 0.0, 1.0, 2.2, 7.0, 9.0):
            for before, after in zip((points, cells), scores(np.append(records, more)), strict=True):
                assert np.abs(before - after).max() <= max(share, 1 - share) + 1e-9


@pytest.mark.parametrize("sizes", [(2, 256), (256, 2), (2, 257), (257, 2), (300, 300)])
@pytest.mark.parametrize("target", ["first", "last"])
def test_features_of_a_tree_have_256_levels_at_most_and_its_label_any(sizes, target):
    """One more, in whatever column, would fold levels onto each other."""
    shape = (300, *sizes) if target == "first" else (*sizes, 300)
    names = ("label", "a", "b") if target == "first" else ("a", "b", "label")
    codes = np.array([[1] * 3, [size - 1 for size in shape], [0] * 3], dtype=np.uint16)
    table = CountTable.sparse(names, shape, codes, np.array([5, 7, 2]))
    if max(sizes) > 256:
        with pytest.raises(RefusalError, match="more than 256 levels"):
            labelled_cells(Secret(table), target="label", positive=1)
        return
    cells = labelled_cells(Secret(table), target="label", positive=1).open()
    found = {tuple(code): label for code, label in zip(cells.codes.tolist(), cells.counts.tolist(), strict=True)}
    assert found == {(0, 0): [2, 0], (1, 1): [0, 5], (sizes[0] - 1, sizes[1] - 1): [7, 0]}


@pytest.mark.parametrize("depth", [1, 2, 3])
def test_in_each_round_of_cuts_a_record_takes_part_in_one_choice(monkeypatch, depth):
    """Values that lie on a cut too: in two ranges a record would pay once and be asked twice."""
    grid, parts = [float(number) for number in range(9)], []
    values = np.array([-1.0, 0.0, 0.5, 1.0, 2.0, 3.0, 4.0, 4.5, 5.0, 6.0, 7.0, 8.0, 9.0])
    numbers = Numbers(values=values, counts=np.arange(1, len(values) + 1))

    def scores(part, points, share):
        assert share == 0.5 and set(points) <= set(grid[1:-1])
        parts.append((part, points))
        return quantile_scores(part, points, share)

    monkeypatch.setattr(drafting, "quantile_scores", scores)
    chosen = lambda scores, **how: (len(scores) // 2, how)  # noqa: E731
    monkeypatch.setattr(drafting, "select", chosen)
    cuts = drafting.private_splits(Secret(numbers), grid=grid, depth=depth, epsilon=1.0, stream=Stream.seeded(1))
    assert cuts == {1: [0, 4, 8], 2: [0, 2, 4, 6, 8], 3: [float(number) for number in range(9)]}[depth]
    for number in range(depth):
        of_round = parts[(1 << number) - 1 : (1 << number + 1) - 1]
        seen = np.concatenate([part.values for part, _ in of_round])
        assert sorted(seen) == [value for value in values if 0 <= value < 8], "each once"
        counts = np.concatenate([part.counts for part, _ in of_round])
        assert counts.sum() == numbers.counts[(values >= 0) & (values < 8)].sum()


@pytest.mark.parametrize("epsilon", [Fraction(1, 10), Fraction(1, 3), Fraction(7, 3)])
@pytest.mark.parametrize("times", [1, 3, 7])
def test_no_curve_of_choices_is_stated_below_its_own_formula(epsilon, times):
    """In exact numbers: the order times epsilon^2 / 8, and epsilon at most, for every choice."""
    orders = np.array([1.0 + 1 / 3, 2.0, 7.7, 123.4])
    event = ExponentialSelection(epsilon=epsilon, selections=times, neighbours=AR)
    tree = TreeSplits(epsilon=epsilon, levels=times, neighbours=AR)
    for curve, whole in ((event.renyi(orders), event.guarantee()), (tree.renyi(orders), tree.guarantee())):
        assert Fraction(whole.epsilon) >= times * epsilon
        for order, bound in zip(orders.tolist(), curve.tolist(), strict=True):
            due = times * min(Fraction(order) * epsilon**2 / 8, epsilon)
            assert due <= Fraction(bound) <= due * (1 + Fraction(1, 10**11))


# ---- scores of parents


def entropies(table):
    """n H of the last axis given the others, by its definition."""
    rows = table.reshape(-1, table.shape[-1])
    return sum(-c * math.log(c / row.sum()) for row in rows for c in row if c)


def test_scores_of_parents_are_their_definitions_in_every_shape():
    rng = np.random.default_rng(4)
    for shape in ((2, 2), (3, 4), (2, 2, 3), (1, 5), (4, 1)):
        for most in (2, 3, 40):
            table = rng.integers(0, most, size=shape)
            child = entropies(table.sum(axis=tuple(range(len(shape) - 1)))[None])
            given, n = entropies(table), int(table.sum())
            assert conditional_entropy_score(table) == pytest.approx(-given, abs=1e-9)
            assert mutual_information(table) * n == pytest.approx(child - given, abs=1e-9)
            assert information_of_all(table) == pytest.approx(child - given, abs=1e-9)
            assert mutual_information(table) >= 0 >= conditional_entropy_score(table)
    for wrong in (np.ones((2, 2)), np.ones(3, dtype=np.int64), np.array([[1, -1]]), np.full((2, 2), 1 << 30)):
        for score in (mutual_information, conditional_entropy_score):
            with pytest.raises(DataError):
                score(wrong)
    assert mutual_information(np.full((2, 2), 1 << 29)) == pytest.approx(0.0, abs=1e-12), (
        "as many as the error is proved for"
    )


@pytest.mark.parametrize("n", [1, 2, 4])
def test_a_new_record_lowers_a_conditional_entropy_score_by_its_bound_at_most(n):
    """Of tables with one record less than ``n``; it never rises."""
    bound = conditional_entropy_sensitivity(n)
    for cells in itertools.product(range(n + 1), repeat=4):
        if sum(cells) <= n:
            table = np.array(cells).reshape(2, 2)
            for place in range(4):
                more = table.ravel().copy()
                more[place] += 1
                moved = conditional_entropy_score(table) - conditional_entropy_score(more.reshape(2, 2))
                assert -1e-12 <= moved <= bound
    assert bound == math.log(n + 1) + 1


def counted(grid):
    names = tuple("abcd"[: grid.ndim])
    return Secret(CountTable.dense(names, grid))


def test_scores_are_refused_for_another_number_of_records_than_they_are_priced_for():
    grids = [np.array([[3, 1], [0, 2]]), np.array([[0, 0], [0, 6]]), np.array([[2, 1], [2, 1]])]
    tables = [counted(grid) for grid in grids]

    def scored(**how):
        return score_tables(tables, mutual_information, **how).open()

    due = [mutual_information(grid) for grid in grids]
    assert (
        scored(records=6, exactly=True) == scored(records=6, exactly=False) == scored(records=9, exactly=False) == due
    )
    assert scored(records=6, exactly=True, offsets=[1.0, 2.0, -3.0]) == [
        a - b for a, b in zip(due, (1, 2, -3), strict=True)
    ]
    for wrong in ({"records": 5, "exactly": True}, {"records": 5, "exactly": False}, {"records": 7, "exactly": True}):
        with pytest.raises(DataError, match="exactly" if wrong["exactly"] else "at most"):
            scored(**wrong)


def test_a_number_of_records_after_a_cap_is_that_of_the_tables():
    tables = [counted(np.array([[3, 1], [0, 2]]))]
    assert fixed_size(tables, 9, capped=False) == 9 == fixed_size([], 9, capped=True)
    assert fixed_size(tables, 9, capped=True) == fixed_size(tables, 6, capped=True) == 6
    for table, stated in ((tables, 5), ([counted(np.array([[1, 0], [0, 0]]))], 9)):
        with pytest.raises(DataError, match="after the cap"):
            fixed_size(table, stated, capped=True)


# ---- questions of trees

CODES = np.array([[0, 0], [0, 1], [1, 0], [1, 1], [2, 1]], dtype=np.uint8)
LABELS = np.array([[5, 1], [0, 7], [4, 4], [2, 0], [0, 3]])
CELLS = Secret(Cells(codes=CODES, counts=LABELS))


def ask(codes):
    return np.stack([codes[:, 0] > 0, codes[:, 0] > 1, codes[:, 1] > 0], axis=1)


def leaf_of(codes):
    return (codes[:, 1] > 0).astype(np.intp)


def tables_by_hand(leaves):
    out = np.zeros((leaves, 3, 2, 2), dtype=np.int64)
    for code, label in zip(CODES, LABELS, strict=True):
        for question, yes in enumerate(ask(code[None])[0]):
            out[leaf_of(code[None])[0], question, int(yes)] += label
    return out


@pytest.mark.parametrize("alpha", [0.5, 1.0, 2.0])
def test_the_best_question_of_every_leaf_is_chosen_where_epsilon_is_large(alpha):
    scores = split_scores(tables_by_hand(3), alpha)
    how = {"alpha": alpha, "public_rows": 26, "stream": Stream.seeded(1)}
    chosen = choose_splits(CELLS, ask, leaf_of, 3, epsilon=1e6, **how)
    assert [scores[leaf, place] for leaf, place in enumerate(chosen)] == pytest.approx(scores.max(axis=1).tolist())
    with pytest.raises(RefusalError, match="more records than the public bound of 25"):
        choose_splits(CELLS, ask, leaf_of, 3, epsilon=1.0, **{**how, "public_rows": 25})
    with pytest.raises(ParameterError, match="alpha"):
        choose_splits(CELLS, ask, leaf_of, 3, epsilon=1.0, **{**how, "alpha": 1.5})


def test_a_question_is_asked_where_its_noisy_lead_reaches_the_threshold(monkeypatch):
    noise = []
    monkeypatch.setattr(split_choice, "discrete_laplace", lambda leads, scale, stream: leads + noise)
    scores = split_scores(tables_by_hand(2), 2.0)
    leads = [split_choice.stable_distance(row.tolist(), 2.0, None) for row in scores]
    for wanted in itertools.product((4, 5), repeat=2):
        noise = np.array(wanted) - leads
        asked = choose_stable_splits(
            CELLS, ask, leaf_of, 2, alpha=2.0, scale=Fraction(1), threshold=5, public_rows=None, stream=Stream.seeded(1)
        )
        assert asked == [int(np.argmax(row)) if lead == 5 else None for row, lead in zip(scores, wanted, strict=True)]


def test_measured_questions_are_their_tables_and_too_many_records_are_refused(monkeypatch):
    monkeypatch.setattr(split_choice, "discrete_gaussian", lambda exact, variance, stream: exact)
    for leaves in (2, 3):
        seen = measured_splits(
            CELLS, ask, leaf_of, leaves, event=type("E", (), {"variance": 1}), stream=Stream.seeded(1)
        )
        assert (seen == tables_by_hand(leaves)).all()
    nobody = Secret(Cells(codes=CODES[:0], counts=LABELS[:0]))
    assert (measured_splits(nobody, ask, leaf_of, 2, event=type("E", (), {"variance": 1}), stream=None) == 0).all()
    one = np.zeros((1, 2), dtype=np.uint8)
    for more in (0, 1):
        many = Secret(Cells(codes=one, counts=np.array([[1 << 30, (1 << 30) + more]])))
        how = {"alpha": 2.0, "epsilon": 1.0, "public_rows": None, "stream": Stream.seeded(1)}
        single = lambda codes: ask(codes)[:, :1]  # noqa: E731
        if more:
            with pytest.raises(RefusalError, match="not be exact enough"):
                choose_splits(many, single, leaf_of, 1, **how)
        else:
            assert choose_splits(many, single, leaf_of, 1, **how) == [0]


@pytest.mark.parametrize("alpha", [0.5, 1.0, 2.0])
def test_a_record_more_moves_a_score_by_its_sensitivity_at_most(alpha):
    """Tables of up to six records; where all scores are said to move the same way they do."""
    bound, monotone = score_sensitivity(alpha, 6)
    moves = []
    for cells in itertools.product(range(4), repeat=4):
        if sum(cells) <= 5:
            table = np.array(cells).reshape(2, 2)
            for place in itertools.product((0, 1), repeat=2):
                more = table.copy()
                more[place] += 1
                moves.append(float(split_scores(more, alpha) - split_scores(table, alpha)))
    assert np.abs(moves).max() <= bound
    if monotone:
        assert max(moves) <= 1e-9 or min(moves) >= -1e-9
    with pytest.raises(ParameterError, match="`alpha` is 3"):
        score_sensitivity(3, 6)
    with pytest.raises(ParameterError, match="public_rows"):
        score_sensitivity(1, None)
    assert score_sensitivity(2, None)[0] == 2 and score_sensitivity(0.5, None)[0] == 8.5


@pytest.mark.parametrize("delta", [1e-9, 1e-3, 0.4])
@pytest.mark.parametrize("epsilon", [0.1, 2.0])
def test_a_stable_threshold_is_the_smallest_that_keeps_its_delta(epsilon, delta):
    scale, threshold = stable_threshold(epsilon=epsilon, delta=delta)
    assert 1 / scale <= Fraction(epsilon) and threshold >= 2
    assert float(stability_delta(scale, threshold)) <= delta
    assert threshold == 2 or float(stability_delta(scale, threshold - 1)) > delta


def test_a_threshold_is_found_on_both_sides_of_its_delta():
    """At the delta of a threshold, and one float below it, where logarithms cannot tell the two apart."""
    for epsilon in (4.0, 1.0, 0.25, 1 / 64):
        for threshold in range(2, 40, 3):
            delta = float(stability_delta(Fraction(1) / Fraction(epsilon), threshold))
            for near, due in ((delta, threshold), (math.nextafter(math.nextafter(delta, 0.0), 0.0), threshold + 1)):
                scale, found = stability_threshold(epsilon=epsilon, delta=near, neighbours=AR)
                assert (scale, found) == (Fraction(1) / Fraction(epsilon), due)


# ---- l-diversity


def power_of_entropy(weights):
    shares = np.array([float(weight) for weight in weights if weight])
    shares /= shares.sum()
    return math.exp(-(shares * np.log(shares)).sum())


@pytest.mark.parametrize("l", [1.0, 1.3, 2.0, 3.7])
@pytest.mark.parametrize("floor", [0.0, 0.02])
def test_blocks_are_their_counts_with_as_much_uniform_as_they_need(l, floor):  # noqa: E741
    """Of few and of millions of records: as counted where that is diverse enough, else just as diverse as asked."""
    rng = np.random.default_rng(7)
    grid = rng.integers(0, 9, size=(12, 4)) * rng.integers(0, 2, size=(12, 4)) * 10 ** rng.integers(0, 7, size=(12, 1))
    grid[0] = 0
    made = diversified(
        counted(grid), l=l, floor=floor, key_of=lambda columns: columns[0].astype(np.int64), key_space=12, dense=True
    ).open()
    weights = np.diff(made.cumulative.astype(object), axis=1, prepend=0)
    for row, drawn in zip(grid, weights, strict=False):
        shift = drawn[int(np.argmax(row))] - drawn[int(np.argmin(row))]
        if len(set(drawn.tolist())) == 1:  # uniform
            assert row.sum() == 0 or len(set(row.tolist())) == 1 or l > 3.6
            continue
        each = Fraction(int(shift), int(row.max() - row.min()))
        virtual = drawn[int(np.argmin(row))] - each * int(row.min())
        assert all(weight == virtual + each * int(count) for weight, count in zip(drawn, row, strict=True))
        assert power_of_entropy(drawn) >= l * (1 - 1e-12)
        needed = power_of_entropy(row) < l
        mixed = 4 * virtual / sum(drawn)  # what of the law is uniform
        assert mixed >= floor * (1 - 1e-9)
        if not needed:
            assert mixed <= floor * (1 + 1e-6)
        elif mixed > floor * (1 + 1e-6):
            assert power_of_entropy(drawn) <= l * (1 + 1e-6), "no more than it needs"


@pytest.mark.parametrize("threads", [1, 2])
def test_blocks_of_all_columns_are_those_of_their_records(threads):
    rng = np.random.default_rng(8)
    records = rng.integers(0, (3, 2, 4), size=(400, 3))
    records[:, 2] = np.where(records[:, 1] == 0, 1, records[:, 2])
    grid = np.zeros((3, 2, 4), dtype=np.int64)
    np.add.at(grid, tuple(records.T), 1)
    table = CountTable.dense(("a", "b", "c"), grid)
    reads, wanted = {0: (1,), 1: (2,), 2: (0, 1)}, (2.0, 1.5, 2.5)

    def keys_of(codes):
        codes = codes.astype(np.int32)
        return np.stack([codes[:, 1], codes[:, 2], codes[:, 0] * 2 + codes[:, 1]])

    def key(column, row):
        return [row[1], row[2], row[0] * 2 + row[1]][column]

    made = diverse_tables(table, keys_of=keys_of, key_space=7, ls=wanted, floor=0.01, threads=threads)
    assert made.sizes == (3, 2, 4) and len(reads) == 3
    seen = 0
    for column, size in enumerate(made.sizes):
        begin, end = made.block_range(column)
        by_key = {}
        for row in records:
            by_key.setdefault(key(column, row), []).append(row)
        assert {number for number in range(7) if made.slots[column][number] >= 0} == set(by_key)
        assert sorted(made.slots[column][number] for number in by_key) == list(range(begin, end))
        blocks = {int(made.slots[column][number]): rows for number, rows in by_key.items()}
        blocks[end] = list(records)  # the whole column, for what no block is near to
        for block, rows in blocks.items():
            u, total, first, packed = (int(word) for word in made.blocks[block])
            shift, cells = packed & 255, packed >> 8
            counts = np.diff(made.cumulative[first : first + cells], prepend=0).tolist()
            levels = made.levels[first : first + cells].tolist()
            assert dict(zip(levels, counts, strict=True)) == Counter(int(row[column]) for row in rows)
            scale = 0 if shift == 255 else 1 << shift
            weights = [u + scale * dict(zip(levels, counts, strict=True)).get(level, 0) for level in range(size)]
            assert total == sum(weights) and power_of_entropy(weights) >= wanted[column] * (1 - 1e-12)
            assert made.weights[block] == pytest.approx(size * u / total) and made.weights[block] >= 0.01 * (1 - 1e-9)
            if block < end:
                commonest = Counter(tuple(int(code) for code in row) for row in rows)
                assert commonest[tuple(made.modes[block].tolist())] == max(commonest.values())
            seen += cells
    assert seen == len(made.levels) == len(made.cumulative)
    assert made.first.tolist()[0] == 0 and made.first[-1] == len(made.blocks) == len(made.weights)


@pytest.mark.parametrize("levels", [2, 3, 100])
@pytest.mark.parametrize("l", [1.1, 1.9, 2.0])
def test_the_likeliest_level_is_as_likely_as_its_entropy_allows(l, levels):  # noqa: E741
    p = largest_probability(l=l, levels=levels)
    law = [p, *[(1 - p) / (levels - 1)] * (levels - 1)]
    assert power_of_entropy(law) == pytest.approx(l, rel=1e-9) and p >= 1 / levels
    assert largest_probability(l=1.0, levels=levels) == largest_probability(l=3.0, levels=1) == 1.0


def test_rows_are_found_in_a_sorted_table_and_others_are_not():
    every = np.array(list(itertools.product(range(3), repeat=3)), dtype=np.uint8)
    rng = np.random.default_rng(9)
    for size in (0, 1, 2, 3, 4, 7, 16, 27):
        kept = np.sort(rng.choice(27, size=size, replace=False))
        assert np.flatnonzero(_among(every, every[kept])).tolist() == kept.tolist()


# ---- origins


def some_places(seed, shrinks=False):
    rng = np.random.default_rng(seed)
    cells = rng.integers(0, 9, size=(6, 3))
    cells[:, 0] += 2
    weights = np.where(cells > 0, rng.integers(1, 5, size=(6, 3)), 1)
    keeps = rng.integers(KEEP_ALL // 3, KEEP_ALL, size=(6, 3)) if shrinks else np.full((6, 3), KEEP_ALL)
    workers = rng.integers(1, 30, size=6)
    return Destinations(workers=workers, draws=workers.copy(), cells=cells, weights=weights, keeps=keeps)


@pytest.mark.parametrize("shrinks", [False, True])
def test_destinations_are_read_from_a_price_as_they_were_put_in(shrinks):
    public, alphas = some_places(1, shrinks), [Fraction(number, 8) for number in range(1, 7)]
    how = {"certificate": Certificate.PROBABILISTIC, "epsilon": 3.0, "delta": 1e-3, "rejects": False}
    event = OriginDraws.of(public, alphas, **how)
    assert (event.lost > 0) is shrinks is public.shrinks and event.covers(public, alphas, rejects=False)
    assert not event.covers(public, alphas, rejects=True) and not event.covers(public, alphas[::-1], rejects=False)
    read, values = parsed_groups(event.groups)
    told = set()
    for row in range(len(read)):
        kinds = zip(read.cells[row], read.weights[row], read.keeps[row], strict=True)
        told.add((int(read.workers[row]), int(read.draws[row]), values[row], frozenset(k for k in kinds if k[0])))
    due = set()
    for row, alpha in enumerate(alphas):
        kinds = zip(public.cells[row], public.weights[row], public.keeps[row], strict=True)
        due.add((int(public.workers[row]), int(public.draws[row]), float(alpha), frozenset(k for k in kinds if k[0])))
    assert told == due
    one = OriginDraws.of(public.take([0, 0]), [alphas[0]] * 2, **how)
    assert len(one.groups) == len(one.public) == 1, "each kind once"
    assert (one.public.workers, one.public.draws) == (public.workers[:1], public.draws[:1])


@pytest.mark.parametrize(
    "text",
    ["0 5 1/2 1*1@9", "5 0 1/2 1*1@9", "5 5 0/2 1*1@9", "5 5 -1/2 1*1@9", "5 5 1/2", "5 5 1/2 0*1@9", "5 5 1/2 1*0@9",
     "5 5 1/2 1*1@0", f"5 5 1/2 1*1@{KEEP_ALL + 1}", "5 5 1/0 1*1@9", "5 5", "x 5 1/2 1*1@9", "5 5 1/2 1*1",
     "5 5 1/2 1"],
)  # fmt: skip
def test_a_destination_out_of_range_has_no_price(text):
    parsed_groups((f"1 1 1/2 1*1@{KEEP_ALL}", "1 1 1/2 1*1@1"))
    with pytest.raises(ParameterError, match="a kind of destination reads"):
        parsed_groups((text,))


@pytest.mark.parametrize("certificate", list(Certificate))
@pytest.mark.parametrize("seed", [1, 2])
def test_certified_alphas_keep_their_promise_and_never_exceed_theorem_41(certificate, seed):
    public = some_places(seed)
    epsilon, delta = 2.5, 1e-3
    alphas = certified_alphas(public, certificate=certificate, epsilon=epsilon, delta=delta)
    top = public.draws / math.expm1(epsilon)
    assert (alphas > 0).all() and (alphas <= top * (1 + 1e-10)).all()
    exact = exact_alphas(alphas)
    assert all(
        Fraction(value) <= alpha < Fraction(value) * (1 + Fraction(1, 10**6))
        for value, alpha in zip(alphas, exact, strict=True)
    )
    if certificate is Certificate.PURE:
        assert alphas == pytest.approx(top)
        event = OriginDraws.of(public, exact, certificate=certificate, epsilon=epsilon, delta=None, rejects=False)
        assert event.guarantee().epsilon <= epsilon and event.guarantee().delta == 0 and event.lost == 0
        return
    how = {"certificate": certificate, "epsilon": epsilon, "delta": delta}
    assert (deltas_at(public, exact, **how) <= delta).all()
    less = deltas_at(public, [alpha * Fraction(9, 10) for alpha in exact], **how)
    assert (less[alphas < top * 0.99] > delta).all(), "the search goes down in steps of three in a hundred"
    event = OriginDraws.of(public, exact, **how, rejects=False)
    stated = event.guarantee()
    assert stated.epsilon == epsilon and 0 < stated.delta <= delta
    assert stated.delta == pytest.approx(deltas_at(public, exact, **how).max())
    assert (event.probabilistic() is None) is (certificate is not Certificate.PROBABILISTIC)


def test_drawing_again_what_is_not_good_raises_every_ratio():
    public, alphas = some_places(3), [Fraction(2)] * 6
    how = {"certificate": Certificate.PROBABILISTIC, "epsilon": 1.5, "delta": 1e-3}
    plain = OriginDraws.of(public, alphas, **how, rejects=False)
    again = OriginDraws.of(public, alphas, **how, rejects=True)
    worst = deltas_at(public, alphas, **how).max()
    assert worst > 0.01 and plain.added == 0
    assert again.added == pytest.approx(-math.log1p(-worst), rel=1e-5)
    for epsilon in (1.5, 1.55, 1.6, 1.7, 2.0):
        event = OriginDraws.of(public, alphas, **{**how, "epsilon": epsilon}, rejects=True)
        stated, due = Fraction(event.guarantee().epsilon), Fraction(epsilon) + Fraction(event.added)
        assert due <= stated <= due * (1 + Fraction(1, 10**12)), "rounded up, and hardly"
    for other in (Certificate.PURE, Certificate.EXACT):
        with pytest.raises(ParameterError, match="rejection is proved"):
            OriginDraws.of(public, alphas, **{**how, "certificate": other}, rejects=True)
    shrunk = some_places(3, shrinks=True)
    with pytest.raises(ParameterError, match="`lost` is 0"):
        OriginDraws.of(shrunk, alphas, **{**how, "delta": None}, rejects=False)
    OriginDraws.of(shrunk, alphas, **{**how, "certificate": Certificate.PURE, "delta": None}, rejects=False)
    many = some_places(3)
    for name in ("workers", "draws"):
        getattr(many, name)[0] = 1_000_001
        with pytest.raises(ParameterError, match="1,000,001 workers"):
            certified_alphas(many, certificate=Certificate.EXACT, epsilon=1.0, delta=1e-3)
        certified_alphas(many, certificate=Certificate.PURE, epsilon=1.0, delta=1e-3)
        getattr(many, name)[0] = 1
