"""One person with at most two records, enumerated: the price of a group of records is that of the person.

Every law here is exact: discrete Laplace noise in 60 digits with its tails in one atom, draws with fractions.
"""

import itertools
import math
from collections import Counter
from decimal import Context, Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest
from capping_by_hand import kept_records_of
from hypothesis import given
from hypothesis import strategies as st

from tests.exact.test_stability import hockey_stick, q_of
from understudy.errors import ParameterError, ReleaseError
from understudy.mechanisms import GaussianMeasurements, GeometricHistogram, PeopleHistogram, StabilityHistogram
from understudy.mechanisms.dirichlet import DirichletDraws
from understudy.mechanisms.gaussian_measurements import gaussian_measurements_event
from understudy.mechanisms.group import GroupOf, group_factor, kept_records, share_of_group
from understudy.mechanisms.stream import Stream
from understudy.privacy import ApproxDP, Neighbours, NoFormal, PureDP, UnpricedRead
from understudy.privacy.events import event_from_dict

AR, RO = Neighbours.ADD_REMOVE, Neighbours.REPLACE
CAP = 2
CELLS = 2


@pytest.fixture(autouse=True)
def _sixty_digits():
    with localcontext(Context(prec=60)):
        yield


def tables(most):
    """Every person has 0 to 3 records in two cells; three people, so caps matter."""
    persons = [person for size in range(4) for person in itertools.combinations_with_replacement(range(CELLS), size)]
    return list(itertools.combinations_with_replacement(persons, most))


def kept_law(person):
    """Law of the kept counts of one person: a uniform choice of CAP of their records."""
    choices = list(itertools.combinations(range(len(person)), min(CAP, len(person))))
    law = Counter()
    for choice in choices:
        counts = [0] * CELLS
        for place in choice:
            counts[person[place]] += 1
        law[tuple(counts)] += Fraction(1, len(choices))
    return law


def table_law(table):
    """Law of the counts of the whole table after capping every person by themselves."""
    law = Counter({(0,) * CELLS: Fraction(1)})
    for person in table:
        step = Counter()
        for (have, p), (more, r) in itertools.product(law.items(), kept_law(person).items()):
            step[tuple(a + b for a, b in zip(have, more, strict=True))] += p * r
        law = step
    return law


def laplace_atoms(count, q, low=-3, high=8):
    """Law of count + noise, with both tails as one atom each: outside all counts the ratios are constant."""
    inside = [(1 - q) / (1 + q) * q ** abs(value - count) for value in range(low + 1, high)]
    return [q ** (count - low) / (1 + q), *inside, q ** (high - count) / (1 + q)]


def mixture(law, cell_law):
    """Law of the noisy cells, as one array over all outputs."""
    total = None
    for counts, weight in law.items():
        atoms = [Decimal(1)]
        for count in counts:
            atoms = [a * b for a in atoms for b in cell_law(count)]
        share = Decimal(weight.numerator) / Decimal(weight.denominator)
        scaled = [share * a for a in atoms]
        total = scaled if total is None else [a + b for a, b in zip(total, scaled, strict=True)]
    return total


def person_pairs(people):
    """Tables that differ in one person, who is there or not."""
    persons = [p for size in range(1, 4) for p in itertools.combinations_with_replacement(range(CELLS), size)]
    for rest in tables(people):
        for person in persons:
            yield rest, (*rest, person)


def test_person_level_ratios_with_a_cap_of_two():
    """Noise on the counts of capped tables: no ratio above e^(2 epsilon), and some pair of tables reaches it."""
    event = GeometricHistogram(scale=Fraction(2), neighbours=AR)
    claim = GroupOf(event=event, records=CAP).guarantee()
    assert claim == PureDP(epsilon=1.0, neighbours=Neighbours.ADD_REMOVE_PERSON)
    q = q_of(event.scale)
    worst = Decimal(0)
    for without, with_person in person_pairs(1):
        p, r = (mixture(table_law(t), lambda c: laplace_atoms(c, q)) for t in (without, with_person))
        worst = max(worst, *(max(a / b, b / a) for a, b in zip(p, r, strict=True)))
    bound = Decimal(claim.epsilon).exp()
    assert bound * (1 - Decimal("1e-15")) <= worst <= bound * (1 + Decimal("1e-50"))


def test_without_a_cap_the_price_of_two_records_is_not_enough():
    """The same with all three records of a person: the ratio passes e^(2 epsilon), so this test can fail."""
    event = GeometricHistogram(scale=Fraction(2), neighbours=AR)
    bound = Decimal(GroupOf(event=event, records=CAP).guarantee().epsilon).exp()
    q = q_of(event.scale)
    p, r = laplace_atoms(0, q), laplace_atoms(3, q)
    assert max(b / a for a, b in zip(p, r, strict=True)) > bound * Decimal("1.5")


def test_thresholded_counts_of_people():
    """Stability thresholds: the hockey-stick sum of every pair stays within the delta of the group."""
    for threshold in (3, 4, 6):
        event = StabilityHistogram(scale=Fraction(1), threshold=threshold, neighbours=AR)
        claim = GroupOf(event=event, records=CAP).guarantee()
        assert isinstance(claim, ApproxDP) and claim.epsilon == 2.0
        q = q_of(event.scale)
        factor = Decimal(claim.epsilon).exp()
        worst = Decimal(0)
        for counts in itertools.product(range(2), repeat=CELLS):
            for more in ((2, 0), (1, 1), (0, 2), (1, 0), (0, 1)):
                after = tuple(a + b for a, b in zip(counts, more, strict=True))
                worst = max(worst, hockey_stick(counts, after, threshold, q, factor))
                worst = max(worst, hockey_stick(after, counts, threshold, q, factor))
        lone = q ** (threshold - CAP) / (1 + q)  # a person alone in a cell with two records
        assert lone <= worst <= Decimal(claim.delta)
        assert Decimal(claim.delta) <= lone / (1 - q) * (1 + Decimal("1e-9"))  # what the proof says is lost


def test_replaced_people_keep_their_number_of_records():
    """Two records of one person move: four counts change by one each, at most e^(2 * 2h)."""
    event = GeometricHistogram(scale=Fraction(2), neighbours=RO)
    claim = GroupOf(event=event, records=CAP).guarantee()
    assert claim == PureDP(epsilon=2.0, neighbours=Neighbours.REPLACE_PERSON)
    q = q_of(event.scale)
    worst = Decimal(0)
    for before, after in itertools.product([(2, 0), (1, 1), (0, 2)], repeat=2):
        p, r = (mixture(Counter({c: Fraction(1)}), lambda n: laplace_atoms(n, q)) for c in (before, after))
        worst = max(worst, *(a / b for a, b in zip(p, r, strict=True)))
    bound = Decimal(claim.epsilon).exp()
    assert bound * (1 - Decimal("1e-15")) <= worst <= bound * (1 + Decimal("1e-50"))


def renyi_of(p, r, order):
    return math.log(sum(float(a) ** order * float(b) ** (1 - order) for a, b in zip(p, r, strict=True))) / (order - 1)


@pytest.mark.parametrize("order", [1.5, 2.0, 4.0, 16.0])
def test_person_level_renyi_divergences(order):
    """Of noise on one cell that two records of a person enter, and of the mixture over which two of three are kept."""
    event = GeometricHistogram(scale=Fraction(2), neighbours=AR)
    bound = float(GroupOf(event=event, records=CAP).renyi(np.array([order]))[0])
    q = q_of(event.scale)
    found = []
    for person in [(0, 0), (0, 1), (0, 0, 1), (0, 0, 0)]:
        p, r = (mixture(table_law(t), lambda c: laplace_atoms(c, q)) for t in ((), (person,)))
        found += [renyi_of(p, r, order), renyi_of(r, p, order)]
    assert max(found) <= bound
    assert bound <= 1.0  # the pure price of the person


@given(st.integers(1, 30), st.floats(1.01, 500))
def test_the_curve_of_gaussian_noise_is_that_of_noise_scaled_to_the_person(records, order):
    """k^2 rho a: no loss against a sensitivity that is k times as large."""
    event = gaussian_measurements_event(epsilon=1.0, delta=1e-6, units=4, neighbours=AR)
    assert isinstance(event, GaussianMeasurements)
    single = float(event.renyi(np.array([order]))[0])
    group = float(GroupOf(event=event, records=records).renyi(np.array([order]))[0])
    assert group == pytest.approx(records**2 * single, rel=1e-9)


def test_draws_from_smoothed_counts():
    """Route S: (n + alpha) / (N + 2 alpha) with up to two records more; the worst ratio is within the group's price."""
    alpha = Fraction(1)
    event = DirichletDraws(priors=(((alpha, 2),),), draws=1, neighbours=AR)
    claim = GroupOf(event=event, records=CAP).guarantee()
    worst = Fraction(1)
    for a, b in itertools.product(range(4), repeat=2):
        for x, y in ((2, 0), (1, 1), (0, 2)):
            p = Fraction(a + alpha, a + b + 2 * alpha)
            r = Fraction(a + x + alpha, a + b + x + y + 2 * alpha)
            worst = max(worst, p / r, r / p, (1 - p) / (1 - r), (1 - r) / (1 - p))
    assert math.log(worst) <= claim.epsilon
    assert math.log(worst) > event.guarantee().epsilon  # one record's price would not do


def test_kept_records_are_a_uniform_choice_for_each_person():
    """6,000 persons of three records under a cap of two: each pair is kept by a third; z = 7 of a binomial."""
    people = np.repeat(np.arange(6000), 3)
    kept = kept_records(people, cap=2, stream=Stream.seeded(1)).reshape(6000, 3)
    assert (kept.sum(axis=1) == 2).all()
    dropped = np.bincount((~kept).argmax(axis=1), minlength=3)
    assert abs(dropped - 2000).max() < 7 * math.sqrt(6000 * 2 / 9)
    few = kept_records(np.array([4, 4, 9, 1]), cap=2, stream=Stream.seeded(1))
    assert few.all()
    assert len(kept_records(np.empty(0, np.int64), cap=1, stream=Stream.seeded(1))) == 0


def test_which_records_are_kept_does_not_hang_on_the_order_of_the_file():
    people = np.tile(np.arange(500), 4)
    kept = kept_records(people, cap=1, stream=Stream.seeded(3)).reshape(4, 500)
    assert (kept.sum(axis=0) == 1).all()
    assert (kept.sum(axis=1) > 60).all()  # 125 each, z = 6.7


@given(st.floats(1e-3, 20), st.floats(1e-12, 1e-2), st.integers(1, 50))
def test_a_share_of_the_group_stays_within_the_group(epsilon, delta, records):
    each, slack = share_of_group(epsilon=epsilon, delta=delta, records=records)
    assert 0 < each <= epsilon and each * records == pytest.approx(epsilon)
    assert Fraction(each) * records <= Fraction(epsilon)
    assert slack * group_factor(each, records) <= delta


def test_a_group_is_read_back_and_refuses_what_it_cannot_price():
    group = GroupOf(event=StabilityHistogram(scale=Fraction(3, 2), threshold=9, neighbours=AR), records=3)
    assert event_from_dict(group.to_dict()) == group
    assert group.inner == group.event and group.renyi(np.array([2.0])) is None  # its curve leaves something out
    huge = GroupOf(event=StabilityHistogram(scale=Fraction(1), threshold=2, neighbours=AR), records=9)
    assert isinstance(huge.guarantee(), NoFormal) and "9 records" in huge.guarantee().why
    for event, records in ((UnpricedRead(why="a peek"), 2), (group, 2), (group.event, 0), (group.event, True)):
        with pytest.raises(ParameterError):
            GroupOf(event=event, records=records)
    with pytest.raises(ReleaseError, match="cannot be read"):
        event_from_dict({"kind": "group-of-records", "records": 2})


PERSON_RECORDS = st.lists(st.tuples(st.integers(0, 1), st.integers(0, 1)), min_size=1, max_size=5)


@given(st.lists(PERSON_RECORDS, max_size=4), PERSON_RECORDS, st.integers(0, 2**64), st.randoms())
def test_every_single_key_keeps_the_promise(others, added, key, shuffler):
    """A choice by a key: one person more changes nothing for the others, and the order of the rows nothing at all."""
    rest = [(f"p{place}", record) for place, own in enumerate(others) for record in own]
    more = [*rest, *(("new", record) for record in added)]
    shuffler.shuffle(more)
    before = kept_records_of(rest, cap=CAP, key=f"{key:064x}")
    after = kept_records_of(more, cap=CAP, key=f"{key:064x}")
    new = Counter({kept: count for kept, count in after.items() if kept[0] == "new"})
    assert after - new == before and not before - after
    assert new.total() == min(CAP, len(added)) and new <= Counter(("new", record) for record in added)
    assert all(
        sum(count for (who, _), count in before.items() if who == f"p{place}") == min(CAP, len(own))
        for place, own in enumerate(others)
    )


def test_rows_of_two_choices_cost_what_rows_of_one_cost():
    """Two rows of route S, each from a choice of its own, as after a crash: within the group price of two draws."""
    alpha = Fraction(1)
    price = {
        draws: GroupOf(event=DirichletDraws(priors=(((alpha, 2),),), draws=draws, neighbours=AR), records=CAP)
        .guarantee()
        .epsilon
        for draws in (1, 2)
    }

    def row_law(table):
        """Law of one row: the choice, then the draw."""
        law = [Fraction(0)] * CELLS
        for counts, weight in table_law(table).items():
            for cell in range(CELLS):
                law[cell] += weight * (counts[cell] + alpha) / (sum(counts) + CELLS * alpha)
        return law

    worst = Fraction(1)
    for without, with_person in person_pairs(1):
        p, r = row_law(without), row_law(with_person)
        for first, second in itertools.product(range(CELLS), repeat=2):
            ratio = p[first] * p[second] / (r[first] * r[second])
            worst = max(worst, ratio, 1 / ratio)
    assert price[1] / 2 < math.log(worst) <= price[2]


def test_the_numbers_of_records_of_people():
    """Every table of two people with up to three records, a third with one to four: at most 1/s, and it is reached."""
    event = PeopleHistogram(scale=Fraction(2), neighbours=Neighbours.ADD_REMOVE_PERSON)
    claim = event.guarantee()
    assert claim == PureDP(epsilon=0.5, neighbours=Neighbours.ADD_REMOVE_PERSON)
    q = q_of(event.scale)

    def law(records):
        cells = [sum(min(n, CAP) == size for n in records) for size in range(1, CAP + 1)]
        return mixture(Counter({tuple(cells): Fraction(1)}), lambda c: laplace_atoms(c, q))

    worst, divergence = Decimal(0), 0.0
    for rest in itertools.product(range(1, 4), repeat=2):
        for more in range(1, 5):
            p, r = law(rest), law((*rest, more))
            worst = max(worst, *(max(a / b, b / a) for a, b in zip(p, r, strict=True)))
            divergence = max(divergence, renyi_of(p, r, 2.0), renyi_of(r, p, 2.0))
    bound = Decimal(claim.epsilon).exp()
    assert bound * (1 - Decimal("1e-15")) <= worst <= bound * (1 + Decimal("1e-50"))
    assert divergence <= float(event.renyi(np.array([2.0]))[0]) * (1 + 1e-12)
    assert law((1, 3, 2)) == law((1, 2, 2))  # beyond the cap the number does not show
    for wrong in (Neighbours.ADD_REMOVE, "add-remove-person"):
        with pytest.raises(ParameterError, match="relation of people"):
            PeopleHistogram(scale=Fraction(2), neighbours=wrong)
    with pytest.raises(ReleaseError, match="cannot be read"):
        event_from_dict({"kind": "people-histogram", "scale": "2/1"})
