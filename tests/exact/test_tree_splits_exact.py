"""Private questions by enumeration: sensitivities, exact laws of tiny trees, and the counterexamples of the chapter."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from understudy.errors import ParameterError, RefusalError
from understudy.mechanisms import split_choice
from understudy.mechanisms.exponential import penalties
from understudy.mechanisms.labelled import Cells, pooled
from understudy.mechanisms.leaf_answers import neighbouring_means
from understudy.mechanisms.split_choice import (
    StableSplits,
    TreeSplits,
    choose_splits,
    choose_stable_splits,
    score_sensitivity,
    split_scores,
    stable_distance,
    stable_threshold,
)
from understudy.mechanisms.stream import Stream
from understudy.privacy import Neighbours, NoFormal, PureDP, Secret
from understudy.trees.gains import alpha_gain, gain_bounds
from understudy.trees.grow import diff_structure
from understudy.trees.questions import Question

AR = Neighbours.ADD_REMOVE
QUESTIONS = (
    Question(feature=0, yes_codes=(1,), words="X1"),
    Question(feature=1, yes_codes=(1,), words="X2"),
)


def cells_of(records):
    """Records (X1, X2, Y) as cells."""
    rows = np.array(records, dtype=np.int64).reshape(len(records), 3)
    counts = np.zeros((len(rows), 2), dtype=np.int64)
    counts[np.arange(len(rows)), rows[:, 2]] = 1
    return pooled(rows[:, :2].astype(np.uint8), counts)


def two_by_two(most):
    for cells in itertools.product(range(most + 1), repeat=4):
        yield np.array(cells, dtype=np.int64).reshape(2, 2)


@pytest.mark.parametrize("alpha", [0.5, 1.0, 2.0])
def test_split_scores_move_by_at_most_their_sensitivity(alpha):
    """All 2 x 2 tables of up to 7 records a cell, and some large ones; every added record."""
    bound, monotone = score_sensitivity(alpha, 5000)
    tables = [
        *two_by_two(6),
        *(np.array(t).reshape(2, 2) for t in ((1000, 0, 0, 1), (900, 1, 0, 0), (3000, 0, 0, 999))),
    ]
    stacked = np.stack(tables)
    before = split_scores(stacked, alpha)
    changes = []
    for x, y in itertools.product(range(2), repeat=2):
        after = stacked.copy()
        after[:, x, y] += 1
        changes.append(split_scores(after, alpha) - before)
    moved = np.concatenate(changes)
    assert np.abs(moved).max() <= bound
    if monotone:
        assert moved.max() <= 1e-9  # every score falls, or stays, when a record comes
    else:
        assert moved.max() > 0.1 and moved.min() < -0.1
    if alpha == 2:
        assert moved.min() < -1.99  # the bound of 2 is nearly attained


@pytest.mark.parametrize("alpha", [0.5, 1.0, 2.0])
def test_scores_rank_as_the_gains_do(alpha):
    """Questions of one node share the class counts; given those, score and gain order tables alike."""
    rows = [np.array([[a, b], [6 - a, 5 - b]], dtype=np.int64) for a, b in itertools.product(range(7), range(6))]
    tables = np.stack(rows)
    score, gain = split_scores(tables, alpha), alpha_gain(tables, alpha)
    for i, j in itertools.combinations(range(len(tables)), 2):
        if abs(gain[i] - gain[j]) > 1e-9:
            assert (score[i] - score[j]) * (gain[i] - gain[j]) > 0


def stump_law(records, epsilon, alpha):
    """Exact law of the first question, from the very penalties that are drawn."""
    held = cells_of(records)
    tables = split_choice._tables(held, ask(held.codes), everybody, 1)
    sensitivity, monotone = score_sensitivity(alpha, 50)
    gaps = penalties(
        split_scores(tables, alpha)[0].tolist(), epsilon=epsilon, sensitivity=sensitivity, monotone=monotone
    )
    weights = np.exp([-float(gap) for gap in gaps])
    return weights / weights.sum()


def ask(codes):
    return codes.astype(np.bool_)


def everybody(codes):
    return np.zeros(len(codes), dtype=np.intp)


@pytest.mark.parametrize("alpha", [0.5, 1.0, 2.0])
def test_a_private_stump_costs_at_most_epsilon(alpha):
    """All tables of up to three records of two features and a label, and every record more."""
    epsilon = 1.5
    records = list(itertools.product(range(2), repeat=3))
    worst = 0.0
    for size in range(4):
        for table in itertools.combinations_with_replacement(records, size):
            before = stump_law(table, epsilon, alpha)
            for record in records:
                after = stump_law((*table, record), epsilon, alpha)
                worst = max(worst, np.abs(np.log(before / after)).max())
    assert worst <= epsilon
    assert worst > 0.04  # the data do matter
    event = TreeSplits(epsilon=Fraction(epsilon), levels=2, neighbours=AR)
    assert event.guarantee().epsilon == 3.0
    assert TreeSplits(epsilon=Fraction(0), levels=2, neighbours=AR).guarantee().epsilon == 0.0


def test_questions_at_epsilon_0_do_not_depend_on_the_records():
    """The same stream draws the same questions, whatever the table; that line of the ledger says epsilon 0."""
    from understudy.trees.examples import septic_shock_example
    from understudy.trees.train import make_training

    features = septic_shock_example().features
    training = make_training("per-call-tree", structure="random", call_epsilon=1.0, depth=3)
    codes = np.array([[0, 0, 0, 0], [4, 4, 1, 1], [2, 1, 0, 1]], dtype=np.uint8)
    found = []
    for size in range(4):
        cells = Secret(Cells(codes=codes[:size], counts=np.array([[9, 1], [2, 8], [0, 5]])[:size]))
        grown = training.grow(cells, features, Stream.seeded(3))
        found.append(grown.scorer.trees)
        (entry,) = grown.entries
        assert isinstance(entry.event, TreeSplits) and entry.guarantee == PureDP(epsilon=0.0, neighbours=AR)
    assert all(trees == found[0] for trees in found)


def test_a_choice_follows_its_law():
    """1,200 choices against the exact law; z = 6.5 of a binomial: false alarm below 1e-10."""
    table = [(0, 0, 0), (0, 0, 0), (0, 1, 1), (1, 1, 1), (1, 0, 0)]
    law = stump_law(table, 6.0, 2.0)
    stream, cells = Stream.from_system(), Secret(cells_of(table))
    found = [
        choose_splits(cells, ask, everybody, 1, alpha=2.0, epsilon=6.0, public_rows=None, stream=stream)[0]
        for _ in range(1200)
    ]
    assert abs(sum(found) - 1200 * law[1]) <= 6.5 * math.sqrt(1200 * law[0] * law[1])


@pytest.mark.parametrize("alpha", [0.5, 1.0, 2.0])
def test_distance_moves_by_at_most_one(alpha):
    """Over all tables of up to four records: d is 1-Lipschitz, and 1 where a neighbour's best differs."""
    records = list(itertools.product(range(2), repeat=3))

    def look(table):
        held = cells_of(table)
        scores = split_scores(split_choice._tables(held, ask(held.codes), everybody, 1), alpha)[0].tolist()
        return stable_distance(scores, alpha, 5), int(np.argmax(scores))

    differing = 0
    for size in range(5):
        for table in itertools.combinations_with_replacement(records, size):
            before, best = look(table)
            for record in records:
                after, other = look((*table, record))
                assert abs(before - after) <= 1
                if best != other:
                    differing += 1
                    assert before == after == 1
    assert differing > 100


def test_stable_choice_costs_what_it_says():
    """The exact law for a distance d: named with P(X >= T - d). Worst pairs give exactly the stated delta."""
    scale, threshold = stable_threshold(epsilon=1.0, delta=0.01)
    event = StableSplits(scale=scale, threshold=threshold, levels=1, neighbours=AR)
    claim = event.guarantee()
    q = math.exp(-1 / scale)

    def named(d):
        t = threshold - d
        return q**t / (1 + q) if t > 0 else 1 - q ** (1 - t) / (1 + q)

    def stays(d):
        t = d - threshold + 1
        return q**t / (1 + q) if t > 0 else 1 - q ** (1 - t) / (1 + q)

    assert threshold == 6  # 1 + ceil(ln(1 / (0.01 (1 + 1/e))))
    assert named(1) == pytest.approx(claim.delta, rel=1e-9)
    assert claim.delta <= 0.01
    # the same best question: only the distance differs, by one
    for d in range(-3, 40):
        for a, b in ((d, d + 1), (d + 1, d)):
            assert named(a) <= math.exp(claim.epsilon) * named(b) * (1 + 1e-12)
            assert stays(a) <= math.exp(claim.epsilon) * stays(b) * (1 + 1e-12)
    # another best question: naming anything at all has probability at most delta on both sides
    for a, b in itertools.product((0, 1), repeat=2):
        gap = max(named(a), 0) + max(stays(a) - math.exp(claim.epsilon) * stays(b), 0)
        assert gap <= claim.delta * (1 + 1e-12)
    assert stable_threshold(epsilon=1.0, delta=1e-6)[1] == 15  # PRIVACY section 6, T for (1, 1e-6)


def test_a_stable_choice_is_made_and_an_unstable_one_is_not():
    many = [(0, 0, 0)] * 400 + [(1, 1, 1)] * 400 + [(1, 0, 0)] * 200 + [(0, 1, 1)] * 200
    scale, threshold = stable_threshold(epsilon=2.0, delta=1e-9)
    options = {"alpha": 2.0, "scale": scale, "threshold": threshold, "public_rows": None, "stream": Stream.seeded(5)}
    assert choose_stable_splits(Secret(cells_of(many)), ask, everybody, 1, **options) == [1]
    even = [(0, 0, 0), (1, 1, 1)] * 300
    assert choose_stable_splits(Secret(cells_of(even)), ask, everybody, 1, **options) == [None]


def test_other_alphas_and_missing_bounds_are_refused():
    with pytest.raises(ParameterError, match="alpha"):
        score_sensitivity(-1.0, None)
    with pytest.raises(ParameterError, match="public_rows"):
        score_sensitivity(1.0, None)
    cells = Secret(cells_of([(0, 0, 0)] * 9))
    with pytest.raises(RefusalError, match="public bound"):
        choose_splits(cells, ask, everybody, 1, alpha=1.0, epsilon=1.0, public_rows=8, stream=Stream.seeded(1))


# --- the chapter's own algorithms: why they are labelled NoFormal ----------------------------------------------------


def structure_of(records):
    return diff_structure(cells_of(records), QUESTIONS, alpha=1.0, min_records=1)


def test_the_zero_diff_structure_differs_between_neighbours():
    """PRIVACY section 7, the smallest case: 2 x (0,0,0) and 2 x (0,1,1) split on X2; one record less is a leaf."""
    whole = [(0, 0, 0), (0, 0, 0), (0, 1, 1), (0, 1, 1)]
    assert structure_of(whole).feature[0] == 1
    assert structure_of(whole[1:]).leaves == 1
    # a deterministic map with two values on neighbours: the ratio of probabilities is infinite


def test_local_laplace_tails_diverge():
    """PRIVACY section 7: (10, 5) against (11, 6) at epsilon 1 gives the ratio 36.8 at output 5."""
    spans = {}
    for total, positive in ((10, 5), (11, 6)):
        high, low = neighbouring_means(total - positive, positive)
        spans[total] = high - low
    assert spans == pytest.approx({10: 1 / 9, 11: 0.1})

    def density(output, share, span):
        return math.exp(-abs(output - share) / span) / (2 * span)

    # with the chapter's own spans, as quoted
    ratio = density(5.0, 0.5, 0.15556) / density(5.0, 6 / 11, 0.13636)
    assert ratio == pytest.approx(36.8, abs=0.2)
    # with the mended spans the tails diverge as well: no finite epsilon covers all outputs
    ratios = [density(out, 0.5, spans[10]) / density(out, 6 / 11, spans[11]) for out in (2.0, 5.0, 20.0)]
    assert ratios == sorted(ratios) and ratios[-1] > math.exp(5)


def test_neighbouring_shares_are_the_four_real_ones():
    """Where the chapter divides by zero or leaves [0, 1]; its (10, 5) is [.444, .6], the truth [.444, .556]."""
    assert neighbouring_means(5, 5) == pytest.approx((5 / 9, 4 / 9))
    assert neighbouring_means(0, 1) == (1.0, 0.5)
    assert neighbouring_means(0, 0) == (1.0, 0.0)
    assert neighbouring_means(2, 0) == pytest.approx((1 / 3, 0.0))
    high, low = neighbouring_means(0, 10)
    assert (high, low) == (1.0, 10 / 11)
    for negative, positive in itertools.product(range(8), repeat=2):
        shares = []
        for dn, dp in ((1, 0), (0, 1), (-1, 0), (0, -1)):
            n, p = negative + dn, positive + dp
            if n >= 0 and p >= 0 and n + p > 0:
                shares.append(p / (n + p))
        assert neighbouring_means(negative, positive) == pytest.approx((max(shares), min(shares)))


def test_gain_bounds_are_those_of_the_eight_cases():
    table = np.array([[3, 0], [1, 4]])
    low, high = gain_bounds(table, 1.0)
    gains = []
    for x, y, step in itertools.product(range(2), range(2), (1, -1)):
        moved = table.copy()
        moved[x, y] += step
        if moved.min() >= 0:
            gains.append(float(alpha_gain(moved, 1.0)))
    assert len(gains) == 7
    assert (float(low), float(high)) == (min(gains), max(gains))


def test_faithful_models_are_labelled_with_the_reason():
    from understudy.trees.examples import septic_shock_example
    from understudy.trees.train import WHY_FAITHFUL, make_training

    features = septic_shock_example().features[:2]
    cells = Secret(Cells(codes=np.array([[0, 0], [4, 4]], dtype=np.uint8), counts=np.array([[9, 1], [2, 8]])))
    for method in ("dpat", "edpat"):
        training = make_training(method, call_epsilon=1.0)
        grown = training.grow(cells, features, Stream.from_system())
        assert isinstance(training.call, NoFormal)
        assert grown.entries[0].guarantee == NoFormal(why=WHY_FAITHFUL)
        assert "deterministic" in WHY_FAITHFUL and "tails" in WHY_FAITHFUL
