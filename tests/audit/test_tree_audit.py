"""Try to refute what trees and forests state, by training on neighbouring tables (Clopper-Pearson, as in the others).

Each test looks at a few events over some thousand trainings; a true claim is refuted with probability below 1e-6.
"""

import math

import numpy as np
import pytest
from scipy import stats

from understudy.codebook import Categorical, Codebook
from understudy.mechanisms.labelled import UNIT, grove_sums, pooled
from understudy.mechanisms.stream import Stream
from understudy.privacy import Secret
from understudy.trees.additive import grow_additive
from understudy.trees.features import features_of
from understudy.trees.forest import groves_of
from understudy.trees.private_tree import TreePlan, grow_private_forest
from understudy.trees.questions import questions_of

BOOK = Codebook(columns=tuple(Categorical(name=name, levels=("0", "1")) for name in ("a", "b", "y")))
FEATURES = features_of(BOOK, "y")
RUNS = 2500
CONFIDENCE = 1e-9


def cells(records):
    rows = np.array(records)
    return Secret(pooled(rows[:, :2].astype(np.uint8), np.eye(2, dtype=np.int64)[rows[:, 2]]))


BASE = [(0, 0, 0), (1, 0, 0), (0, 1, 1), (1, 1, 1)]
MORE = [*BASE, (1, 1, 1)]


def bound(left, right, delta=0.0):
    """Largest proven log-ratio over one-sided events of a number, but for ``delta``."""
    best = -math.inf
    for p, q in ((left, right), (right, left)):
        for cut in np.quantile(np.concatenate([p, q]), np.linspace(0.02, 0.98, 25)):
            for event in (lambda v, c=cut: v >= c, lambda v, c=cut: v < c):
                hits, others = int(event(p).sum()), int(event(q).sum())
                low = stats.beta.ppf(CONFIDENCE, hits, len(p) - hits + 1) if hits else 0.0
                high = stats.beta.isf(CONFIDENCE, others + 1, len(q) - others) if others < len(q) else 1.0
                if low > delta:
                    best = max(best, math.log((low - delta) / high))
    return best


@pytest.mark.parametrize("epsilon", [1.0, 3.0])
def test_the_votes_of_the_forest_are_not_refuted(epsilon):
    """Every vote, and their largest: a record with all leans on its side moves all of them at once."""
    stream = Stream.seeded(31)
    groves = groves_of(FEATURES)
    outs = []
    for records in (BASE, MORE):
        held = cells(records)
        options = {"limit": UNIT // 2, "epsilon": epsilon, "stream": stream, "reads": "votes"}
        votes = np.array([grove_sums(held, groves, even_odds, **options)[0] for _ in range(RUNS)])
        outs.append((votes[:, 0], votes[:, 1], votes.max(axis=1), votes.min(axis=1)))
    for left, right in zip(*outs, strict=True):
        assert bound(left, right) <= epsilon


def even_odds(codes):
    return np.full(len(codes), 0.5)


def test_a_private_tree_is_not_refuted():
    plan = TreePlan(epsilon=2.0, depth=1)
    questions = questions_of(FEATURES)
    stream = Stream.seeded(32)
    asked = np.array([[1, 1]], dtype=np.uint8)
    outs = []
    for records in (BASE, MORE):
        held = cells(records)
        scores = []
        for _ in range(900):
            tree, _ = grow_private_forest(held, questions, [plan], sharing="shared", stream=stream)
            scores.append(tree.score(asked)[0][0])
        outs.append(np.array(scores))
    assert bound(*outs) <= 2.0


def test_the_additive_score_is_not_refuted():
    """One record more among four is half of all that is known of its class."""
    epsilon, delta = 1.0, 1e-3
    stream = Stream.seeded(33)
    outs = []
    for records in (BASE, MORE):
        held = cells(records)
        forests = [
            grow_additive(held, FEATURES, epsilon=epsilon, delta=delta, stream=stream, replicates=0)[0]
            for _ in range(900)
        ]
        outs.append(np.array([[forest.intercept, forest.votes[0][1], forest.votes[1][1]] for forest in forests]).T)
    for left, right in zip(*outs, strict=True):
        # an event of chance p on one table has at most e^epsilon q + delta on the other
        assert bound(left, right, delta) <= epsilon


def test_the_audit_can_refute():
    """Noise that costs 2 does not pass for 0.7."""
    generator = np.random.default_rng(1)
    left, right = generator.laplace(0.0, 0.5, RUNS), generator.laplace(1.0, 0.5, RUNS)  # costs 2
    assert bound(left, right) > 0.7
