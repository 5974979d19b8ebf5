"""Certificates: what one record moves, and the price of numbers, verdict and selection, by enumeration."""

import itertools
from decimal import Context, Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from understudy.mechanisms.certificate import (
    STEPS,
    CertifiedNumbers,
    SelectedTry,
    certified_event,
    measure_moves,
    measure_records,
    measure_sums,
    moves,
    until_passed,
)
from understudy.mechanisms.discrete_laplace import half_width
from understudy.mechanisms.stream import Stream
from understudy.privacy import Neighbours, Secret
from understudy.sources.tables import CountTable

AR, RO = Neighbours.ADD_REMOVE, Neighbours.REPLACE
EXACT = Context(prec=60)


def neighbours_of(counts, relation):
    """All tables with one record more, or with one record in another cell."""
    for cell in range(len(counts)):
        more = [count + (place == cell) for place, count in enumerate(counts)]
        if relation is AR:
            yield tuple(more)
        else:
            yield from (
                tuple(count - (place == left) for place, count in enumerate(more))
                for left in range(len(counts))
                if counts[left] and left != cell
            )


def tables(cells, most):
    return [counts for counts in itertools.product(range(most + 1), repeat=cells) if sum(counts) <= most]


def noise(scale, reach):
    """The law of the noise from -reach to reach; what lies beyond is in the two ends."""
    q = (-Decimal(scale.denominator) / Decimal(scale.numerator)).exp()
    inside = {k: (1 - q) / (1 + q) * q ** abs(k) for k in range(-reach + 1, reach)}
    return {-reach: q**reach / (1 + q), **inside, reach: q**reach / (1 + q)}


@pytest.mark.parametrize("relation", [AR, RO])
@pytest.mark.parametrize("released", [(1, 1), (5, 2), (0, 3), (1, 0, 4), (3, 3, 1), (0, 0, 1)])
def test_no_record_moves_the_number_by_more_than_one(relation, released):
    changes = {
        moves(np.array(other), np.array(released)) - moves(np.array(counts), np.array(released))
        for counts in tables(len(released), 7)
        for other in neighbours_of(counts, relation)
    }
    assert changes <= {-1, 0, 1}
    assert changes & {-1, 1}  # reached, so that less noise would not do


@given(
    st.lists(st.integers(0, 10**6), min_size=2, max_size=6),
    st.lists(st.integers(0, 10**12), min_size=6, max_size=6),
    st.integers(0, 5),
)
def test_large_tables_move_by_one_too(counts, released, cell):
    released = released[: len(counts)]
    released[0] += 1
    counts, released = np.array(counts), np.array(released)
    more = counts.copy()
    more[cell % len(counts)] += 1
    assert abs(moves(more, released) - moves(counts, released)) <= 1
    share = Fraction(int(counts.sum()), int(released.sum()))
    beyond = [int(count) - share * int(row) for count, row in zip(counts, released, strict=True)]
    assert moves(counts, released) == sum(max(x, 0) for x in beyond) // 1


@pytest.mark.parametrize("relation", [AR, RO])
@pytest.mark.parametrize("scale", [Fraction(1, 2), Fraction(3)])
def test_numbers_and_verdict_cost_what_is_stated(relation, scale):
    """The law of the noisy number, and that of "at most t", for every table of up to 4 records and its neighbours."""
    released, reach = np.array([2, 1]), 12
    claim = CertifiedNumbers(scale=scale, moved=1, neighbours=relation).guarantee()
    with localcontext(EXACT):
        law, worst, worst_verdict = noise(scale, 40), Decimal(0), Decimal(0)
        below = {t: sum(chance for k, chance in law.items() if k <= t) for t in range(-reach, reach)}
        for counts in tables(2, 4):
            for other in neighbours_of(counts, relation):
                a, b = (moves(np.array(table), released) for table in (counts, other))
                for y in range(-reach, reach):
                    worst = max(worst, abs((law[y - a] / law[y - b]).ln()))
                    passed, theirs = below.get(y - a, 0), below.get(y - b, 0)
                    if passed and theirs:
                        for mine, yours in ((passed, theirs), (1 - passed, 1 - theirs)):
                            worst_verdict = max(worst_verdict, abs((mine / yours).ln()))
        stated = Decimal(claim.epsilon)
        assert max(worst_verdict, worst) <= stated * (1 + Decimal("1e-40"))
        assert worst >= stated * (1 - Decimal("1e-15"))  # attained


@pytest.mark.parametrize("relation", [AR, RO])
def test_sums_cost_what_is_stated(relation):
    steps = np.array([[2, -1], [0, 3], [-3, 0]])  # at most 3 in each cell
    claim = CertifiedNumbers(scale=Fraction(5), moved=3 * (2 if relation is RO else 1), neighbours=relation).guarantee()
    worst = 0
    for counts in tables(3, 3):
        for other in neighbours_of(counts, relation):
            worst = max(worst, int(np.abs(np.array(counts) @ steps - np.array(other) @ steps).sum()))
    assert worst == 3 * (2 if relation is RO else 1)  # the L1 distance is the log-ratio times the scale
    assert Fraction(claim.epsilon) >= Fraction(worst, 5) and claim.epsilon == pytest.approx(worst / 5, rel=1e-15)


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 3.0])
@pytest.mark.parametrize("tries", [1, 2, 10, 1000])
def test_the_selection_costs_what_is_stated_and_no_less(epsilon, tries):
    """Over all two-outcome mechanisms of this epsilon on a fine grid, with the worst ones among them."""
    claim = SelectedTry(epsilon=epsilon, tries=tries, neighbours=AR).guarantee()
    with localcontext(EXACT):
        stop, e = Decimal(1) / tries, Decimal(epsilon).exp()
        worst = Decimal(0)
        chances = [Decimal(k) / 200 for k in range(1, 200)] + [1 / (1 + e), e / (1 + e)]
        for p in chances:
            for q in {min(e * p, 1 - (1 - p) / e), max(p / e, 1 - e * (1 - p)), p}:
                z, other = p + (1 - p) * stop, q + (1 - q) * stop
                worst = max(worst, abs((p / z / (q / other)).ln()), abs(((1 - p) / z / ((1 - q) / other)).ln()))
        assert worst <= Decimal(claim.epsilon) * (1 + Decimal("1e-40"))
        assert worst >= Decimal(claim.epsilon) * (1 - Decimal("1e-9"))
    assert claim.epsilon <= 2 * epsilon
    if tries == 1:
        assert claim.epsilon == pytest.approx(epsilon, rel=1e-11)


@pytest.mark.parametrize("tries", [2, 5])
def test_selected_rows_with_measured_distances_stay_within_the_price(tries):
    """Public rows of three kinds, a measured distance each: the law of what comes out, rejected tries among them."""
    rows, limit, reach = [(2, 0), (1, 1), (0, 2)], 0, 25
    event = certified_event(epsilon=0.8, moved=1, neighbours=AR)
    stated = SelectedTry(epsilon=event.guarantee().epsilon, tries=tries, neighbours=AR).guarantee().epsilon
    with localcontext(EXACT):
        law = noise(event.scale, 60)

        def selected(counts):
            tried = {}
            for kind, drawn in enumerate(rows):
                exact = moves(np.array(counts), np.array(drawn))
                for y in range(-reach, reach + 1):
                    tried[kind, y] = law[y - exact] / len(rows)
            weight = {key: chance * (1 if key[1] <= limit else Decimal(1) / tries) for key, chance in tried.items()}
            whole = sum(weight.values())
            return {key: chance / whole for key, chance in weight.items()}

        worst = Decimal(0)
        for counts in tables(2, 4):
            mine = selected(counts)
            for other in neighbours_of(counts, AR):
                theirs = selected(other)
                worst = max([worst, *(abs((mine[key] / theirs[key]).ln()) for key in mine)])
        assert Decimal(event.guarantee().epsilon) < worst <= Decimal(stated)


def test_the_loop_has_the_law_of_the_proof():
    """The chance that a passing try comes out is p / (p + (1 - p) / tries); five standard errors of 20,000 loops."""
    stream, tries, runs = Stream.from_system(), 4, 20_000
    passed = sum(
        until_passed(lambda: stream.below(10), lambda y: y < 3, tries=tries, stream=stream) < 3 for _ in range(runs)
    )
    expected = 0.3 / (0.3 + 0.7 / tries)
    assert abs(passed / runs - expected) < 5 * (expected * (1 - expected) / runs) ** 0.5


def test_measured_numbers_lie_around_the_true_ones():
    table = CountTable.dense(("a",), np.array([60, 40]))
    event = certified_event(epsilon=5.0, moved=1, neighbours=AR)
    far = half_width(event.scale, miss=1e-12)
    shared = {"event": event, "stream": Stream.from_system()}
    assert abs(measure_records(Secret(table), **shared) - 100) <= far
    assert abs(measure_moves(Secret(table), np.array([1, 1]), **shared) - 10) <= far
    sums = measure_sums(Secret(table), np.array([[3, 0], [-1, STEPS - 1]]), **shared)
    assert np.abs(sums - [180 - 40, 40 * (STEPS - 1)]).max() <= far
    with pytest.raises(ValueError, match="add up"):
        measure_sums(Secret(table), np.array([[STEPS, 1], [0, 0]]), **shared)
