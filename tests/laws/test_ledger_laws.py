"""Laws of the ledger: what adding entries may and may not do to the total."""

import itertools
import json
import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from event_strategies import (
    AR,
    RO,
    any_event,
    commuting,
    entries,
    ledgers,
    pairs_of_ledgers,
    priced,
    priced_under,
    relations,
    same_relation,
    unpriced,
    words,
)
from hypothesis import given, settings
from hypothesis import strategies as st

from understudy.mechanisms import (
    GroupOf,
    HistoryMeasurements,
    KAnonymousTable,
    LDiverseDraws,
    PeopleHistogram,
    PricedDraft,
)
from understudy.privacy import ApproxDP, Entry, Event, Guarantee, Ledger, NoFormal, PureDP, UnpricedRead
from understudy.privacy.events import event_from_dict

SEARCH = 4e-6
"""A total is always valid and minimal up to this relative error: the best Renyi order is searched on a grid that is
refined three times (below 1e-6), and a gain below 1e-6 over basic composition is not taken. So totals of different
ledgers can be compared only up to it."""

deltas = st.sampled_from([None, 1e-9, 1e-6, 1e-2])
few = settings(max_examples=40, deadline=None)
many = settings(max_examples=100, deadline=None)


def epsilon(guarantee: Guarantee) -> float:
    assert isinstance(guarantee, PureDP | ApproxDP)
    return guarantee.epsilon


def price_within(ledger: Ledger, delta: float | None) -> float:
    """Epsilon of the total; infinite where the deltas of the entries alone exceed the slack that was allowed."""
    total = ledger.total(delta=delta)
    assert isinstance(total, PureDP | ApproxDP)
    return total.epsilon if delta is None or total.delta <= delta else math.inf


@many
@given(ledgers(any_event), ledgers(any_event), ledgers(any_event))
def test_addition_is_associative_and_has_a_zero(a, b, c):
    assert (a + b) + c == a + (b + c)
    assert a + Ledger() == a == Ledger() + a
    assert len(a + b) == len(a) + len(b)
    assert list(a + b) == [*a, *b]


@few
@given(pairs_of_ledgers, deltas)
def test_the_total_never_falls_when_entries_are_added(pair, delta):
    first, second = pair
    alone, together = price_within(first, delta), price_within(first + second, delta)
    assert together >= alone * (1 - SEARCH) - 1e-12 or math.isinf(together)


@few
@given(same_relation, deltas)
def test_the_total_is_at_most_basic_composition(ledger, delta):
    basic, total = ledger.basic(), ledger.total(delta=delta)
    assert isinstance(basic, PureDP | ApproxDP)
    assert isinstance(total, PureDP | ApproxDP)
    assert total.neighbours is basic.neighbours
    if delta is None:
        assert total == basic
    elif basic.delta <= delta:
        assert total.epsilon <= basic.epsilon
        assert total.delta <= delta
    assert math.isclose(basic.epsilon, math.fsum(epsilon(entry.guarantee) for entry in ledger.entries), rel_tol=1e-12)


@few
@given(same_relation, st.randoms())
def test_the_total_does_not_depend_on_the_order(ledger, random):
    shuffled = list(ledger.entries)
    random.shuffle(shuffled)
    assert math.isclose(price_within(Ledger.of(shuffled), 1e-6), price_within(ledger, 1e-6), rel_tol=SEARCH)


@few
@given(same_relation)
def test_more_slack_never_costs_more(ledger):
    wide = [price_within(ledger, delta) for delta in (1e-12, 1e-9, 1e-6, 1e-3)]
    assert all(wider <= narrower * (1 + SEARCH) for narrower, wider in itertools.pairwise(wide))


@many
@given(any_event)
def test_events_survive_a_manifest(event):
    again = event_from_dict(json.loads(json.dumps(event.to_dict())))
    assert again == event
    assert type(again) is type(event)
    assert again.guarantee() == event.guarantee()


@many
@given(ledgers(any_event))
def test_ledgers_survive_a_manifest(ledger):
    again = Ledger.from_list(json.loads(json.dumps(ledger.to_list())))
    assert again == ledger
    assert again.basic() == ledger.basic()
    assert again.assumptions == ledger.assumptions


def test_every_kind_of_event_is_drawn_here():
    from understudy.privacy.events import _EVENTS

    ours = {cls for cls in _EVENTS.values() if cls.__module__.startswith("understudy.")}
    apart = {GroupOf, HistoryMeasurements, KAnonymousTable, LDiverseDraws, PeopleHistogram, PricedDraft, UnpricedRead}
    assert ours == {*priced(AR), *commuting, *apart}


@few
@given(relations.flatmap(priced_under))
def test_a_curve_rises_with_the_order_and_stays_below_the_pure_price(event):
    orders = 1 + np.geomspace(1e-3, 1e5, 25)
    curve = event.renyi(orders)
    if curve is None:
        return
    assert (np.diff(curve) >= -1e-9 * curve[1:]).all()
    assert (curve > 0).all()
    if isinstance(event.guarantee(), PureDP):
        assert (curve <= epsilon(event.guarantee()) * (1 + 1e-9)).all()


@few
@given(ledgers(any_event), st.lists(entries(unpriced), min_size=1, max_size=2), ledgers(any_event), deltas)
def test_an_unpriced_read_always_ends_the_guarantee_and_is_named(before, culprits, after, delta):
    total = (before + Ledger.of(culprits) + after).total(delta=delta)
    assert isinstance(total, NoFormal)
    for culprit in culprits:
        assert culprit.event.why in total.why


@dataclass(frozen=True, kw_only=True)
class Unproved(Event):
    """Claims a price that no file proves."""

    kind: ClassVar[str] = "test-laws-unproved"
    proof: ClassVar[str | None] = None

    def guarantee(self) -> Guarantee:
        return PureDP(epsilon=0.1, neighbours=AR)


@few
@given(ledgers(priced_under(AR)), words, deltas)
def test_a_missing_proof_downgrades(ledger, stage, delta):
    entry = Entry(stage=stage, reads="counts", event=Unproved())
    assert entry.guarantee == NoFormal(why=f"{stage}: no proof recorded")
    total = (ledger + Ledger.of([entry])).total(delta=delta)
    assert isinstance(total, NoFormal)
    assert f"{stage}: no proof recorded" in total.why


@few
@given(ledgers(priced_under(AR), least=1), ledgers(priced_under(RO), least=1), deltas)
def test_relations_are_listed_and_never_added_up(added, replaced, delta):
    total = (added + replaced).total(delta=delta)
    assert isinstance(total, NoFormal)
    assert AR.value in total.why
    assert RO.value in total.why


def test_an_empty_ledger_claims_nothing():
    assert isinstance(Ledger().total(delta=1e-6), NoFormal)
