"""Alpha-gains, questions, plain and private trees, and the forest."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.tree_tables import FEATURES, auroc, boxed, simulated
from understudy.codebook import Categorical, Codebook
from understudy.codec import from_plain, to_plain
from understudy.errors import ParameterError
from understudy.mechanisms.labelled import UNIT, pooled, set_aside, split_apart
from understudy.mechanisms.stream import Stream
from understudy.trees.features import features_of
from understudy.trees.forest import groves_of, grow_forest
from understudy.trees.gains import alpha_gain
from understudy.trees.grow import alpha_tree, leaf_totals
from understudy.trees.private_tree import TreePlan, grow_private_forest
from understudy.trees.questions import questions_of
from understudy.trees.scorers import _band, count_probability
from understudy.trees.show import tree_text, votes_text
from understudy.trees.train import make_training
from understudy.trees.tree import Tree

TABLE = [[30, 10], [5, 55]]


# --- gains ---------------------------------------------------------------------------------------------------------


def test_gains_are_those_computed_before():
    """PRIVACY section 7."""
    wanted = {-1: 0.4499394, 0: 0.3090302, 0.5: 0.2728195, 1: 0.2504110, 2: 0.2344322}
    for alpha, value in wanted.items():
        assert float(alpha_gain(TABLE, alpha)) == pytest.approx(value, abs=5e-8)


def test_special_alphas_are_their_own_formulas():
    """Equations 5.3, 5.5 and 5.7, written out."""
    p = np.array(TABLE) / 100
    q = p.sum(axis=1, keepdims=True) * p.sum(axis=0, keepdims=True)
    assert float(alpha_gain(TABLE, -1)) == pytest.approx(float(((q - p) ** 2 / p).sum() / 2))
    assert float(alpha_gain(TABLE, 0.5)) == pytest.approx(float(2 * ((np.sqrt(p) - np.sqrt(q)) ** 2).sum()))
    assert float(alpha_gain(TABLE, 2)) == pytest.approx(float(((p - q) ** 2 / q).sum() / 2))


@given(st.lists(st.integers(0, 40), min_size=4, max_size=4), st.floats(-3, 4).filter(lambda a: abs(a) > 1e-3))
def test_a_gain_is_never_negative_and_near_limits_continuous(cells, alpha):
    table = np.array(cells).reshape(2, 2)
    gain = float(alpha_gain(table, alpha))
    assert gain >= 0
    if min(cells) > 0:
        assert math.isfinite(gain)
        assert float(alpha_gain(table, 1 + 1e-6)) == pytest.approx(float(alpha_gain(table, 1)), abs=1e-4)
        assert float(alpha_gain(table, 1e-6)) == pytest.approx(float(alpha_gain(table, 0)), abs=1e-4)
    if not np.array(table).sum(axis=0).all() or not np.array(table).sum(axis=1).all():
        assert gain == 0


def test_a_zero_cell_is_infinitely_far_below_alpha_zero():
    assert float(alpha_gain([[5, 0], [2, 4]], -1)) == math.inf
    assert float(alpha_gain([[5, 0], [2, 4]], 0)) == math.inf
    assert math.isfinite(float(alpha_gain([[5, 0], [2, 4]], 0.1)))
    assert float(alpha_gain([[0, 0], [0, 0]], 2)) == 0.0


# --- questions and plain trees -------------------------------------------------------------------------------------


def test_questions_come_from_the_codebook_alone():
    words = [question.words for question in questions_of(FEATURES)]
    assert words == [
        "dose >= 10",
        "dose >= 20",
        "dose >= 30",
        "dose is missing",
        "stage from II on",
        "stage = III",
        "ward = a",
        "ward = b",
        "ward = c",
        "sex = M",
    ]


def test_a_plain_tree_finds_an_exclusive_or():
    """Two features whose exclusive or is the label, unequal margins: depth 2 separates them."""
    codes = np.array([[0, 0], [0, 1], [1, 0], [1, 1]], dtype=np.uint8)
    counts = np.array([[9, 0], [0, 4], [0, 5], [7, 0]], dtype=np.int64)
    columns = [Categorical(name=name, levels=("0", "1")) for name in ("a", "b", "y")]
    features = features_of(Codebook(columns=tuple(columns)), "y")
    cells = pooled(codes, counts)
    for alpha in (0.5, 1.0, 2.0):
        tree = alpha_tree(cells, questions_of(features), alpha=alpha)
        assert tree.leaves == 4
        assert (leaf_totals(tree, cells).min(axis=1) == 0).all()
    assert alpha_tree(cells, questions_of(features), alpha=1.0, max_depth=1).leaves == 2
    assert alpha_tree(cells, questions_of(features), alpha=1.0, min_records=26).leaves == 1


def test_trees_walk_and_read_back():
    tree = Tree(
        feature=(0, -1, 1, -1, -1), yes_codes=((2, 3), (), (1,), (), ()), no=(1, -1, 3, -1, -1), yes=(2, -1, 4, -1, -1)
    )
    codes = np.array([[0, 1], [2, 0], [3, 1]], dtype=np.uint8)
    assert tree.leaf_of(codes).tolist() == [0, 1, 2]
    assert from_plain(Tree, to_plain(tree)) == tree
    assert (tree.depth, tree.leaves) == (2, 3)
    for broken in (
        {"feature": (0, -1)},
        {"no": (0, -1, 3, -1, -1)},
        {"yes": (1, -1, 4, -1, -1)},
        {"yes_codes": ((999,), (), (1,), (), ())},
    ):
        with pytest.raises(ValueError, match="tree"):
            Tree(**{**{"feature": tree.feature, "yes_codes": tree.yes_codes, "no": tree.no, "yes": tree.yes}, **broken})


def test_words_show_the_tree():
    codes, labels = simulated(400)
    cells = pooled(codes, np.eye(2, dtype=np.int64)[labels])
    questions = questions_of(FEATURES)
    tree = alpha_tree(cells, questions, alpha=1.0, max_depth=2)
    counts = leaf_totals(tree, cells).tolist()
    text = tree_text(tree, FEATURES, counts=counts)
    assert text.startswith("dose >= ") and "% of " in text


# --- private trees -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("plan", "wanted"),
    [
        (TreePlan(epsilon=2.0), 2.0),
        (TreePlan(epsilon=2.0, alpha=0.5), 2.0),
        (TreePlan(epsilon=2.0, alpha=1.0, public_rows=1000), 2.0),
        (TreePlan(epsilon=2.0, structure="random"), 2.0),
        (TreePlan(epsilon=2.0, depth=0), 2.0),
    ],
)
def test_a_private_tree_costs_its_epsilon(plan, wanted):
    codes, labels = simulated(300)
    forest, entries = grow_private_forest(
        boxed(codes, labels), questions_of(FEATURES), [plan], sharing="shared", stream=Stream.from_system()
    )
    total = sum(entry.guarantee.epsilon for entry in entries)
    assert wanted * (1 - 1e-6) <= total <= wanted * (1 + 1e-12)
    assert forest.trees[0].depth == plan.depth
    middle, low, high = forest.score(codes)
    assert ((low <= middle) & (middle <= high) & (low > 0) & (high < 1)).all()


@pytest.mark.parametrize("structure", ["measured", "stable"])
def test_structures_with_delta_state_it(structure):
    codes, labels = simulated(2000)
    plan = TreePlan(
        epsilon=4.0, structure=structure, delta=1e-6, alpha=-1.0 if structure == "measured" else 2.0, depth=2
    )
    forest, entries = grow_private_forest(
        boxed(codes, labels), questions_of(FEATURES), [plan], sharing="shared", stream=Stream.from_system()
    )
    assert sum(entry.guarantee.epsilon for entry in entries) <= 4.0 * (1 + 1e-9)
    assert 0 < sum(entry.guarantee.delta for entry in entries) <= 1e-6 * (1 + 1e-9)
    assert forest.trees[0].feature[0] == 0 or structure == "stable"  # dose matters most


def test_shared_trees_add_up_and_disjoint_ones_do_not():
    codes, labels = simulated(300)
    plan = TreePlan(epsilon=0.5, depth=1)
    shared = grow_private_forest(
        boxed(codes, labels), questions_of(FEATURES), [plan] * 4, sharing="shared", stream=Stream.from_system()
    )[1]
    apart = grow_private_forest(
        boxed(codes, labels), questions_of(FEATURES), [plan] * 4, sharing="disjoint", stream=Stream.from_system()
    )[1]
    assert sum(entry.guarantee.epsilon for entry in shared) == pytest.approx(2.0)
    assert sum(entry.guarantee.epsilon for entry in apart) == pytest.approx(0.5)
    assert "disjoint" in apart[0].reads
    with pytest.raises(ParameterError, match="same price"):
        grow_private_forest(
            boxed(codes, labels),
            questions_of(FEATURES),
            [plan, TreePlan(epsilon=1.0, depth=1)],
            sharing="disjoint",
            stream=Stream.from_system(),
        )


def test_records_go_to_one_part_each():
    """Parts add up to the whole; each record's part is uniform (z = 6.5 of a binomial)."""
    codes, labels = simulated(4000)
    parts = [part.open() for part in split_apart(boxed(codes, labels), 4, Stream.from_system())]
    whole = pooled(codes, np.eye(2, dtype=np.int64)[labels])
    again = pooled(np.concatenate([p.codes for p in parts]), np.concatenate([p.counts for p in parts]))
    assert (again.codes == whole.codes).all() and (again.counts == whole.counts).all()
    for part in parts:
        assert abs(part.counts.sum() - 1000) <= 6.5 * math.sqrt(4000 * 0.25 * 0.75)
    most, kept = set_aside(boxed(codes, labels), one_in=4, stream=Stream.from_system())
    assert most.open().counts.sum() + kept.open().counts.sum() == 4000
    assert kept.open().counts.sum() < most.open().counts.sum()


@pytest.mark.parametrize(
    ("options", "word"),
    [
        ({"epsilon": 0}, "epsilon"),
        ({"epsilon": 1.0, "depth": 13}, "depth"),
        ({"epsilon": 1.0, "structure": "oak"}, "structure"),
        ({"epsilon": 1.0, "structure": "stable"}, "delta"),
        ({"epsilon": 1.0, "delta": 1e-6}, "delta"),
        ({"epsilon": 1.0, "alpha": 3.0}, "alpha"),
        ({"epsilon": 1.0, "split_share": 1.0}, "split_share"),
    ],
)
def test_odd_plans_are_refused(options, word):
    with pytest.raises(ParameterError, match=word):
        TreePlan(**options)


@pytest.mark.parametrize(
    ("options", "word"),
    [
        ({"method": "oak"}, "method"),
        ({"method": "forest"}, "epsilon"),
        ({"method": "forest", "epsilon": 1.0, "call_epsilon": 1.0}, "call_epsilon"),
        ({"method": "forest", "epsilon": 1.0, "alpha": 1.0}, "alpha"),
        ({"method": "dpat", "epsilon": 1.0}, "epsilon"),
        ({"method": "per-call-tree", "epsilon": 1.0}, "call_epsilon"),
        ({"method": "bag", "epsilon": 1.0, "trees": 0}, "trees"),
    ],
)
def test_odd_trainings_are_refused(options, word):
    with pytest.raises(ParameterError, match=word):
        make_training(**options)


def test_probabilities_from_noisy_counts_rise_with_the_positive_count():
    counts = np.array([[-4, -9], [5, -1], [5, 0], [5, 1], [5, 20]])
    found = count_probability(counts, 2.0)
    assert (np.diff(found[1:]) >= 0).all() and ((found > 0) & (found < 1)).all()
    assert found[0] == 0.5
    # the band reaches as far as the noise does with probability 0.9 on both counts at once
    q = math.exp(-1 / 3)
    reach = next(far for far in range(99) if 2 * q ** (far + 1) / (1 + q) <= 0.05)
    low, high = _band(np.array([[20, 30]]), 3.0, 2)
    assert low == count_probability(np.array([[20 + reach, 30 - reach]]), 3.0)
    assert high == count_probability(np.array([[20 - reach, 30 + reach]]), 3.0)


# --- the forest ----------------------------------------------------------------------------------------------------


def test_groves_lean_by_all_thresholds():
    groves = groves_of(FEATURES)
    assert len(groves) == 1 + 1 + 3 + 1
    assert groves[0].lean == (-UNIT, round(-UNIT / 3), round(UNIT / 3), UNIT, 0)  # missing leans to no side
    assert groves[1].lean == (-UNIT, 0, UNIT)
    assert groves[2].lean == (UNIT, 0, 0)
    assert groves[-1].lean == (-UNIT, UNIT)


@pytest.mark.parametrize("epsilon", [0.01, 1.0, 20.0])
def test_a_forest_costs_its_epsilon_whatever_the_data(epsilon):
    for rows in (0, 5, 400):
        codes, labels = simulated(rows)
        forest, entries = grow_forest(boxed(codes, labels), FEATURES, epsilon=epsilon, stream=Stream.from_system())
        total = sum(entry.guarantee.epsilon for entry in entries)
        assert epsilon * (1 - 1e-6) <= total <= epsilon * (1 + 1e-12)
        grid = np.array(np.meshgrid(range(5), range(3), range(3), range(2))).reshape(4, -1).T.astype(np.uint8)
        middle, low, high = forest.score(grid)
        assert ((low <= middle) & (middle <= high) & (low > 0) & (high < 1)).all()


def test_a_forest_with_much_data_ranks_as_the_truth_does():
    """4,000 records at epsilon 5: noise is negligible; the true odds have AUROC 0.79 on fresh records."""
    codes, labels = simulated(4000)
    forest, _ = grow_forest(boxed(codes, labels), FEATURES, epsilon=5.0, stream=Stream.from_system())
    fresh, truth = simulated(4000, seed=4)
    score, low, high = forest.score(fresh)
    dose = np.where(fresh[:, 0] == 4, 1.5, fresh[:, 0])
    best = auroc(-2.2 + 0.9 * dose + 0.5 * fresh[:, 1] + 0.8 * (fresh[:, 2] == 2), truth)
    assert auroc(score, truth) > best - 0.03
    assert abs(score.mean() - truth.mean()) < 0.05
    assert (high - low).mean() < 0.12
    text = votes_text(forest, FEATURES)
    assert text.splitlines()[1].split()[1] == "dose"
    short = votes_text(forest, FEATURES, most=2).splitlines()
    assert short[:3] == text.splitlines()[:3] and len(short) == 4
    assert f"and {len(text.splitlines()) - 3} groves" in short[3]


def test_bands_widen_as_epsilon_falls():
    codes, labels = simulated(1000)
    widths = []
    for epsilon in (0.1, 1.0, 10.0):
        forest, _ = grow_forest(boxed(codes, labels), FEATURES, epsilon=epsilon, stream=Stream.seeded(11))
        _, low, high = forest.score(codes)
        widths.append(float((high - low).mean()))
    assert widths == sorted(widths, reverse=True)
