"""Support of pairs, enumerated: three binary columns, two pairs, all neighbours of tables of up to two records."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from understudy.errors import ParameterError
from understudy.mechanisms.group import GroupOf
from understudy.mechanisms.rule_support import RuleSupport, rule_support_event, supported
from understudy.mechanisms.stream import Stream
from understudy.privacy import Neighbours, Secret
from understudy.sources.tables import CountTable

AR, RO = Neighbours.ADD_REMOVE, Neighbours.REPLACE
RECORDS = list(itertools.product((0, 1), repeat=3))
PAIRS = ((0, 1), (1, 2))
SCALE, THRESHOLD, MOST = Fraction(1), 2, 6
HIDDEN = -1


def cell_law(count: int) -> dict[int, float]:
    """What one cell shows: nothing, a count, or "MOST or more" in one class, which only makes ratios smaller."""
    if count == 0:
        return {HIDDEN: 1.0}
    q = math.exp(-1 / SCALE)
    law = {}
    for shown in range(THRESHOLD, MOST):
        law[shown] = (1 - q) / (1 + q) * q ** abs(shown - count)
    law[MOST] = q ** (MOST - count) / (1 + q)
    law[HIDDEN] = 1 - math.fsum(law.values())
    return law


def laws(table: tuple[tuple[int, ...], ...]) -> list[dict[int, float]]:
    counts = [
        sum((r[a], r[b]) == cell for r in table) for a, b in PAIRS for cell in itertools.product((0, 1), repeat=2)
    ]
    return [cell_law(count) for count in counts]


def divergence(one: list[dict[int, float]], other: list[dict[int, float]], epsilon: float) -> float:
    """sup over sets of P(S) - e^epsilon Q(S): only cells whose laws differ matter."""
    differing = [(p, q) for p, q in zip(one, other, strict=True) if p != q]
    total = 0.0
    for outcome in itertools.product(*(sorted({*p, *q}) for p, q in differing)):
        p = math.prod(law[0].get(value, 0.0) for law, value in zip(differing, outcome, strict=True))
        q = math.prod(law[1].get(value, 0.0) for law, value in zip(differing, outcome, strict=True))
        total += max(0.0, p - math.exp(epsilon) * q)
    return total


def tables(most: int):
    for size in range(most + 1):
        yield from itertools.combinations_with_replacement(RECORDS, size)


def worst(neighbours: Neighbours, epsilon: float, records: int = 1) -> float:
    found = 0.0
    for table in tables(2):
        if neighbours is AR:
            others = [(*table, *more) for more in itertools.combinations_with_replacement(RECORDS, records)]
        else:
            others = [(*table[1:], record) for record in RECORDS] if table else []
        for other in others:
            p, q = laws(table), laws(other)
            found = max(found, divergence(p, q, epsilon), divergence(q, p, epsilon))
    return found


@pytest.mark.parametrize("neighbours", [AR, RO])
def test_two_pairs_cost_no_more_than_claimed(neighbours):
    claim = RuleSupport(scale=SCALE, threshold=THRESHOLD, pairs=2, neighbours=neighbours).guarantee()
    assert worst(neighbours, claim.epsilon) <= claim.delta * (1 + 1e-12)  # sums of floats


def test_the_claimed_delta_is_attained():
    """Two lone cells show with 1 - (1 - d)^2. A claim for one pair only would be false."""
    two = RuleSupport(scale=SCALE, threshold=THRESHOLD, pairs=2, neighbours=AR).guarantee()
    one = RuleSupport(scale=SCALE, threshold=THRESHOLD, pairs=1, neighbours=AR).guarantee()
    measured = worst(AR, two.epsilon)
    assert measured == pytest.approx(two.delta, rel=1e-12)
    assert measured > 1.5 * one.delta


def test_a_person_with_two_records():
    event = RuleSupport(scale=Fraction(4), threshold=20, pairs=2, neighbours=AR)
    claim = GroupOf(event=event, records=2).guarantee()
    assert claim.neighbours.unit == "person"
    assert claim.epsilon >= 2 * event.guarantee().epsilon
    small = RuleSupport(scale=SCALE, threshold=THRESHOLD, pairs=2, neighbours=AR).guarantee()
    factor = 1 + math.exp(small.epsilon)
    assert worst(AR, 2 * small.epsilon, records=2) <= small.delta * factor * (1 + 1e-12)


@pytest.mark.parametrize(("epsilon", "delta", "pairs"), [(1.0, 1e-6, 1), (0.3, 1e-7, 3), (2.0, 1e-5, 7)])
def test_an_event_never_costs_more_than_was_asked(epsilon, delta, pairs):
    claim = rule_support_event(epsilon=epsilon, delta=delta, pairs=pairs, neighbours=AR).guarantee()
    assert claim.epsilon <= epsilon
    assert claim.delta <= delta


def test_only_what_was_counted_and_paid_for_shows():
    event = RuleSupport(scale=Fraction(1), threshold=15, pairs=1, neighbours=AR)
    table = CountTable.dense(("a", "b"), np.array([[500, 0], [1, 400]], dtype=np.int64))
    (shown,) = supported([Secret(table)], event=event, stream=Stream.seeded(1))
    codes, counts = shown.occupied()
    assert codes.tolist() == [[0, 0], [1, 1]]  # a lone record shows with probability 6e-7
    assert (counts >= 15).all()
    with pytest.raises(ValueError, match="2 pairs were counted"):
        supported([Secret(table), Secret(table)], event=event, stream=Stream.seeded(1))


def test_more_pairs_than_a_price_is_worked_out_for_are_refused():
    """The exact power of delta has as many digits as there are pairs: a hostile manifest would keep `verify` busy."""
    with pytest.raises(ParameterError, match="pairs"):
        RuleSupport(scale=Fraction(1), threshold=700, pairs=1 << 20, neighbours=AR)
