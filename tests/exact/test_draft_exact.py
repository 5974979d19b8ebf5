"""A priced draft, enumerated on tiny tables: private quantiles, thresholded levels, and the budget that pays."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from understudy.codebook import PersonUnit
from understudy.errors import ParameterError, RefusalError, ReleaseError
from understudy.mechanisms import drafting
from understudy.mechanisms.drafting import (
    DraftBudget,
    PricedDraft,
    cell_scores,
    private_splits,
    quantile_scores,
    shown_levels,
)
from understudy.mechanisms.exponential import penalties, selection_event
from understudy.mechanisms.group import GroupOf
from understudy.mechanisms.stability import StabilityHistogram, stability_delta, stable_histogram_event
from understudy.mechanisms.stream import Stream
from understudy.privacy import Neighbours, Secret, UnpricedRead
from understudy.privacy.events import event_from_dict
from understudy.sources.looks import Levels, Numbers
from understudy.synth.paid_draft import PaidPlan

AR = Neighbours.ADD_REMOVE
VALUES = (0.0, 1.0, 2.0, 3.5, 9.0)


def numbers(values):
    found, counts = np.unique(np.array(values, dtype=np.float64), return_counts=True)
    return Numbers(values=found, counts=counts.astype(np.int64))


def tables(most=4):
    for size in range(most + 1):
        yield from itertools.combinations_with_replacement(VALUES, size)


def law(scores, epsilon, sensitivity):
    """The exact law of the choice, from the penalties that are really drawn with."""
    gaps = penalties(list(scores), epsilon=epsilon, sensitivity=sensitivity, monotone=False)
    weights = [math.exp(-gap) for gap in gaps]
    return [w / math.fsum(weights) for w in weights]


@pytest.mark.parametrize("scores_of", [quantile_scores, cell_scores])
@pytest.mark.parametrize("share", [0.005, 0.25, 0.5, 0.995])
def test_quantile_scores_have_the_sensitivity_that_is_claimed(share, scores_of):
    grid = np.array([-1.0, 0.0, 1.0, 2.0, 3.0, 4.0])
    worst = 0.0
    for table in tables():
        for value in VALUES:
            change = scores_of(numbers((*table, value)), grid, share) - scores_of(numbers(table), grid, share)
            worst = max(worst, float(abs(change).max()))
    assert worst == pytest.approx(max(share, 1 - share))


@pytest.mark.parametrize(("share", "epsilon"), [(0.1, 0.5), (0.5, 2.0), (0.9, 1.0)])
def test_a_private_quantile_has_range_epsilon(share, epsilon):
    """Every neighbour, every point of the grid; and some ratio is above a third of epsilon, so that this can fail."""
    grid = np.array([-1.0, 0.5, 1.5, 3.0, 4.0])
    worst = 0.0
    for table in tables():
        for value in VALUES:
            p = law(cell_scores(numbers(table), grid, share), epsilon, 1.0)
            q = law(cell_scores(numbers((*table, value)), grid, share), epsilon, 1.0)
            worst = max(worst, *(abs(math.log(a / b)) for a, b in zip(p, q, strict=True)))
    assert epsilon / 3 < worst <= epsilon * (1 + 1e-9)


def splits_law(table, grid, depth, epsilon):
    """Joint law of all cuts, by the recursion of the mechanism itself."""
    found = {(0, len(grid) - 1): 1.0}
    for _ in range(depth):
        step = {}
        for cuts, probability in found.items():
            choices = []
            for low, high in itertools.pairwise(cuts):
                if high - low < 2:
                    choices.append([(None, 1.0)])
                    continue
                inside = [v for v in table if grid[low] <= v < grid[high]]
                scores = quantile_scores(numbers(inside), np.array(grid[low + 1 : high]), 0.5)
                choices.append([(low + 1 + i, p) for i, p in enumerate(law(scores, epsilon, 0.5))])
            for outcome in itertools.product(*choices):
                after = tuple(sorted([*cuts, *(place for place, _ in outcome if place is not None)]))
                step[after] = step.get(after, 0.0) + probability * math.prod(p for _, p in outcome)
        found = step
    return found


def test_medians_of_disjoint_ranges_cost_one_choice_a_round():
    """Two rounds have up to three choices, and cost two: the worst ratio lies above one and is at most two."""
    grid, epsilon = [0.0, 1.0, 2.0, 3.0, 4.0, 10.0], 1.0
    bound = selection_event(epsilon=epsilon, selections=2, neighbours=AR).guarantee().epsilon
    worst = 0.0
    for table in tables(3):
        p = splits_law(table, grid, 2, epsilon)
        for value in VALUES:
            q = splits_law((*table, value), grid, 2, epsilon)
            assert set(p) == set(q)
            worst = max(worst, *(abs(math.log(p[cuts] / q[cuts])) for cuts in p))
    assert 1.0 < worst <= bound * (1 + 1e-9)


def test_drawn_cuts_have_the_enumerated_law():
    """2,000 draws; each frequency within z = 7 standard errors."""
    grid, table, stream = [0.0, 1.0, 2.0, 3.0, 4.0, 10.0], (0.0, 1.0, 1.0, 3.5), Stream.seeded(2)
    expected = splits_law(table, grid, 2, 2.0)
    secret = Secret(numbers(table))
    seen = {}
    for _ in range(2000):
        cuts = tuple(grid.index(c) for c in private_splits(secret, grid=grid, depth=2, epsilon=2.0, stream=stream))
        seen[cuts] = seen.get(cuts, 0) + 1
    assert set(seen) <= set(expected)
    for cuts, p in expected.items():
        assert abs(seen.get(cuts, 0) - 2000 * p) < 7 * math.sqrt(2000 * p * (1 - p)) + 1


def test_unlisted_levels_show_with_probability_delta():
    """A text that one record has is a cell of count 1: it shows iff its noise reaches T - 1, with exactly delta."""
    event = StabilityHistogram(scale=Fraction(1), threshold=3, neighbours=AR)
    secret = Secret(Levels(texts=("rare",), counts=np.array([1])))
    stream = Stream.seeded(5)
    shown = sum(bool(shown_levels(secret, event=event, stream=stream)) for _ in range(4000))
    p = stability_delta(event.scale, event.threshold)
    assert abs(shown - 4000 * p) < 7 * math.sqrt(4000 * p * (1 - p))


def test_shown_levels_are_those_that_reach_the_threshold(monkeypatch):
    """With known noise: order by the alphabet, counts with their noise, nothing below the threshold."""
    monkeypatch.setattr(
        drafting, "discrete_laplace", lambda counts, *, scale, stream: counts + [-1, 0, 2][: len(counts)]
    )
    event = StabilityHistogram(scale=Fraction(1), threshold=5, neighbours=AR)
    levels = Secret(Levels(texts=("z", "a", "m"), counts=np.array([3, 6, 4])))
    assert shown_levels(levels, event=event, stream=Stream.seeded(1)) == [("a", 5), ("z", 5)]
    assert shown_levels(Secret(Levels(texts=(), counts=np.array([], int))), event=event, stream=Stream.seeded(1)) == []
    twice = Secret(Levels(texts=("a", "a"), counts=np.array([3, 6])))
    with pytest.raises(ParameterError, match="listed twice"):
        shown_levels(twice, event=event, stream=Stream.seeded(1))


def test_a_budget_is_never_overdrawn():
    budget = DraftBudget(PricedDraft(epsilon=1.0, delta=1e-6, neighbours=AR))
    half = selection_event(epsilon=0.5, selections=1, neighbours=AR)
    budget.pay(half)
    budget.pay(half)
    for step in (half, selection_event(epsilon=1e-9, selections=1, neighbours=AR)):
        with pytest.raises(RefusalError, match="cannot pay"):
            budget.pay(step)
    rich = DraftBudget(PricedDraft(epsilon=9.0, delta=1e-6, neighbours=AR))
    with pytest.raises(RefusalError, match="cannot pay"):  # delta .1
        rich.pay(StabilityHistogram(scale=Fraction(1), threshold=3, neighbours=AR))
    with pytest.raises(RefusalError, match="no price"):
        rich.pay(UnpricedRead(why="a peek"))


def test_a_draft_event_is_read_back_and_checked():
    event = PricedDraft(epsilon=0.5, delta=1e-7, neighbours=AR)
    assert event_from_dict(event.to_dict()) == event and event.renyi(np.array([2.0])) is None
    for bad in ({"epsilon": 0.0}, {"delta": 0.0}, {"neighbours": Neighbours.REPLACE}):
        with pytest.raises(ParameterError):
            PricedDraft(**{"epsilon": 1.0, "delta": 1e-6, "neighbours": AR, **bad})
    with pytest.raises(ReleaseError, match="cannot be read"):
        event_from_dict({"kind": "priced-draft", "epsilon": 1.0})


CAP = 2
PERSON_VALUES = (0.0, 1.0, 3.5)


def persons(most=3):
    for size in range(1, most + 1):
        yield from itertools.combinations_with_replacement(PERSON_VALUES, size)


def kept_law(person):
    """Each pair of three records is as likely; one or two are kept whole."""
    choices = list(itertools.combinations(person, min(CAP, len(person))))
    return [(choice, 1 / len(choices)) for choice in choices]


def people_law(people, law_of):
    """The law of a mechanism on the capped table: the mixture over what is kept of each person."""
    found = {}
    for kept in itertools.product(*[kept_law(person) for person in people]):
        weight = math.prod(p for _, p in kept)
        table = [value for records, _ in kept for value in records]
        for outcome, p in law_of(table).items():
            found[outcome] = found.get(outcome, 0.0) + weight * p
    return found


def worst_ratio(law_of, most=3):
    """Over all tables of one other person, and every person who is added to it."""
    worst = 0.0
    for other in [(), *((person,) for person in persons())]:
        p = people_law(other, law_of)
        for person in persons(most):
            q = people_law((*other, person), law_of)
            assert set(p) == set(q)
            worst = max(worst, *(abs(math.log(p[outcome] / q[outcome])) for outcome in p))
    return worst


def test_quantiles_and_splits_of_people_with_a_cap_of_two():
    """A bound, then edges inside it, for a plan of epsilon 2 per person: within 2, and far above one record's worst."""
    plan = PaidPlan(epsilon=2.0, delta=1e-6, unit=PersonUnit(id="who", cap=CAP))
    assert plan.budget.epsilon == 1.0 and plan.event.guarantee().neighbours is Neighbours.ADD_REMOVE_PERSON
    grid, each = [0.0, 1.0, 2.0, 4.0], plan.budget.epsilon / 2

    def steps(table):
        bound = law(cell_scores(numbers(table), np.array(grid), 0.9), each, 1.0)
        cuts = splits_law(table, grid, 1, each)
        return {(place, cut): p * r for place, p in enumerate(bound) for cut, r in cuts.items()}

    worst = worst_ratio(steps)
    assert 1.5 * worst_ratio(steps, most=1) < worst <= plan.event.guarantee().epsilon * (1 + 1e-9)
    assert plan.event.guarantee().delta <= 1e-6


def test_levels_of_people_with_a_cap_of_two():
    """A text of one person alone, with two records: it shows with more than one record's delta, within the person's."""
    plan = PaidPlan(epsilon=1.0, delta=1e-3, unit=PersonUnit(id="who", cap=CAP))
    event = stable_histogram_event(epsilon=plan.budget.epsilon, delta=plan.budget.delta, neighbours=AR)
    q = math.exp(-float(1 / event.scale))
    alone = q ** (event.threshold - CAP) / (1 + q)
    assert event.guarantee().delta < alone <= GroupOf(event=event, records=CAP).guarantee().delta
    assert alone <= plan.event.guarantee().delta <= 1e-3


def test_the_cell_that_holds_the_quantile_has_the_best_score():
    """Ten zeros and ninety others: no point has 5 % below it, and the cell of 0 is still the only one with score 0."""
    grid = np.array([-100.0, -10.0, 0.0, 1.0, 50.0, 100.0])
    spiked = numbers([0.0] * 10 + [float(k) for k in range(1, 91)])
    assert cell_scores(spiked, grid, 0.05).tolist() == [-5.0, -5.0, 0.0, -5.0, -54.0]
    assert cell_scores(spiked, grid, 0.95).tolist() == [-95.0, -95.0, -85.0, -36.0, 0.0]
    beyond = numbers([-1e6, 1e6])  # values outside the grid count in its end cells
    assert cell_scores(beyond, grid, 0.25)[0] == 0.0 and cell_scores(beyond, grid, 0.75)[-1] == 0.0
    assert cell_scores(numbers([]), grid, 0.5).tolist() == [0.0] * 5
