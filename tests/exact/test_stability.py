"""Hockey-stick sums of the stability histogram, enumerated without any tail error.

Above the larger of two counts the ratio of their probabilities is constant in the released value, so all
values from ``max(count, T)`` on may be lumped into one atom: the sums are exact to 60 digits.
"""

import itertools
import math
from decimal import Context, Decimal, localcontext
from fractions import Fraction

import pytest

from understudy.errors import ParameterError
from understudy.mechanisms.discrete_laplace import scale_for
from understudy.mechanisms.stability import (
    StabilityHistogram,
    stability_delta,
    stability_threshold,
    stable_histogram_event,
)
from understudy.privacy import Neighbours
from understudy.privacy.events import event_from_dict

TOP = 3  # counts 0 .. TOP in every cell
TINY = Decimal("1e-50")
AR, RO = Neighbours.ADD_REMOVE, Neighbours.REPLACE


@pytest.fixture(autouse=True)
def _sixty_digits():
    with localcontext(Context(prec=60)):
        yield


def q_of(scale):
    return (-Decimal(scale.denominator) / Decimal(scale.numerator)).exp()


def one_cell(count, threshold, q):
    """Law of one cell: index 0 is 'not released', then T, T + 1, ..., and the lump from max(TOP, T) on."""
    if count == 0:
        return [Decimal(1)] + [Decimal(0)] * (max(TOP, threshold) - threshold + 1)
    lump_from = max(TOP, threshold)
    points = [(1 - q) / (1 + q) * q ** abs(value - count) for value in range(threshold, lump_from)]
    lump = q ** (lump_from - count) / (1 + q)
    return [1 - sum(points) - lump, *points, lump]


def hockey_stick(left, right, threshold, q, factor):
    """sup_S P(S) - factor Q(S), by enumeration of all outputs of all cells."""
    laws = [(one_cell(a, threshold, q), one_cell(b, threshold, q)) for a, b in zip(left, right, strict=True)]
    total = Decimal(0)
    for output in itertools.product(range(len(laws[0][0])), repeat=len(laws)):
        p = math.prod((law[0][o] for law, o in zip(laws, output, strict=True)), start=Decimal(1))
        r = math.prod((law[1][o] for law, o in zip(laws, output, strict=True)), start=Decimal(1))
        total += max(Decimal(0), p - factor * r)
    return total


def neighbour_pairs(cells, relation):
    for counts in itertools.product(range(TOP + 1), repeat=cells):
        for i in range(cells):
            if relation is AR and counts[i] < TOP:
                more = (*counts[:i], counts[i] + 1, *counts[i + 1 :])
                yield counts, more
                yield more, counts
            for j in range(cells) if relation is RO else ():
                if i != j and counts[i] > 0 and counts[j] < TOP:
                    moved = list(counts)
                    moved[i], moved[j] = moved[i] - 1, moved[j] + 1
                    yield counts, tuple(moved)


def sweep(cells, scale, threshold, relation):
    """Largest hockey-stick divergence over all neighbours, at the epsilon of the event."""
    q = q_of(scale)
    factor = q ** (-1 if relation is AR else -2)
    pairs = set(neighbour_pairs(cells, relation))
    return max(hockey_stick(a, b, threshold, q, factor) for a, b in pairs)


@pytest.mark.parametrize("relation", [AR, RO])
@pytest.mark.parametrize("cells", [2, 3])
@pytest.mark.parametrize("scale", [Fraction(1, 2), Fraction(1), Fraction(2), Fraction(10)])
@pytest.mark.parametrize("threshold", [1, 2, 3, 6])
def test_delta_is_exactly_as_claimed(relation, cells, scale, threshold):
    worst = sweep(cells, scale, threshold, relation)
    q = q_of(scale)
    assert abs(worst - q ** (threshold - 1) / (1 + q)) < TINY
    stated = StabilityHistogram(scale=scale, threshold=threshold, neighbours=relation).guarantee()
    assert Decimal(stated.delta) >= worst
    assert stated.delta <= float(worst) * (1 + 1e-15)
    assert stated.epsilon == float((1 if relation is AR else 2) / scale)


@pytest.mark.parametrize("relation", [AR, RO])
def test_no_relation_between_delta_and_epsilon_is_needed(relation):
    scale, threshold = Fraction(10), 1
    delta = stability_delta(scale, threshold)
    assert delta > 1 - math.exp(-1 / scale)  # the condition that a one-sided proof would ask for is violated
    assert abs(sweep(2, scale, threshold, relation) - Decimal(delta)) < Decimal("1e-15")


@pytest.mark.parametrize("relation", [AR, RO])
def test_epsilon_is_used_up(relation):
    """With persistent cells there is no divergence at epsilon, and some just below it."""
    q = q_of(Fraction(1))
    left, right = ((2, 2), (3, 2)) if relation is AR else ((3, 2), (2, 3))
    used = -1 if relation is AR else -2
    assert hockey_stick(left, right, 2, q, q**used) < TINY
    assert hockey_stick(left, right, 2, q, q**used * Decimal("0.999")) > Decimal("1e-6")


# PRIVACY.md section 6 and privacy_vectors.json, key "sba": (epsilon, delta, relation, T, exact delta).
VECTORS = [
    (1.0, 1e-6, AR, 15, 6.078962034778832e-07),
    (1.0, 1e-6, RO, 28, 8.533662760157428e-07),
    (0.1, 1e-6, AR, 133, 9.715271130540948e-07),
    (0.1, 1e-6, RO, 264, 9.970552542454272e-07),
    (0.5, 1e-4, AR, 19, 7.681758411554645e-05),
    (0.5, 1e-4, RO, 36, 8.908323327929992e-05),
    (1.0, 0.01, AR, 6, 0.004925833956035729),
    (1.0, 0.01, RO, 10, 0.006914898555518023),
]


@pytest.mark.parametrize(("epsilon", "delta", "relation", "threshold", "exact"), VECTORS)
def test_thresholds_of_the_privacy_contract(epsilon, delta, relation, threshold, exact):
    scale, found = stability_threshold(epsilon=epsilon, delta=delta, neighbours=relation)
    assert found == threshold
    # The vectors were computed in floats: T - 1 <= 263 multiplications, each off by 2^-53 relative.
    assert stability_delta(scale, found) == pytest.approx(exact, rel=300 * 2**-52, abs=0)


@pytest.mark.parametrize("relation", [AR, RO])
@pytest.mark.parametrize("epsilon", [1e-6, 0.01, 0.3, 1.0, 7.0, 1e5])
@pytest.mark.parametrize("delta", [1e-300, 1e-9, 0.3, 0.5, 0.999])
def test_threshold_is_valid_and_smallest(epsilon, delta, relation):
    scale, threshold = stability_threshold(epsilon=epsilon, delta=delta, neighbours=relation)
    event = stable_histogram_event(epsilon=epsilon, delta=delta, neighbours=relation)
    assert (event.scale, event.threshold) == (scale, threshold)
    paid = event.guarantee()
    assert paid.epsilon <= epsilon
    assert paid.delta <= delta
    assert threshold == 1 or stability_delta(scale, threshold - 1) > delta


def test_event_survives_a_manifest():
    event = StabilityHistogram(scale=scale_for(0.3, 2), threshold=40, neighbours=RO)
    assert event_from_dict(event.to_dict()) == event
    assert event.slack == event.guarantee().delta  # its Renyi curve holds outside the event that a lone cell shows


@pytest.mark.parametrize("delta", [0.0, 1.0, -1e-6, math.nan, math.inf, True, "small"])
def test_bad_delta(delta):
    with pytest.raises(ParameterError, match="`delta` is"):
        stability_threshold(epsilon=1.0, delta=delta, neighbours=AR)


@pytest.mark.parametrize("threshold", [0, -3, 2.0, True, 1 << 60])
def test_bad_threshold(threshold):
    with pytest.raises(ParameterError, match="`threshold` is"):
        StabilityHistogram(scale=Fraction(1), threshold=threshold, neighbours=AR)


def test_a_bare_word_is_no_relation():
    with pytest.raises(ParameterError, match="`neighbours` is"):
        stability_threshold(epsilon=1.0, delta=1e-6, neighbours="add-remove")
