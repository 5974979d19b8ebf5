"""Caps over everybody, and the account of the data set that they come out of.

All answers together cost the people in the training data what was spent; they may cost the cap. So the cap, and every
rise of it, is charged to the data set's account as a whole before it takes effect. What was charged is never given
back: a lower cap later does not undo the promise that was possible meanwhile.

What was paid for is read from the account itself, never from the service's database: an account that was restored from
a back-up, or a second one of the same data set, has not paid. Answers of a model are numbered, and each charge pays for
a range of them. The charge is committed before the cap is set, so that no cap is ever live without it. A run that dies
on the way leaves a charge, held or committed, and no cap; the next run settles it and charges only what is missing.

The answers on a data set have prices of their own, so a charge pays for a range of epsilon and of delta instead
(:class:`~understudy.mechanisms.capped_answers.CappedAnswers`).

A charge counts in the one database that it was made for, since each database counts for itself what was spent. Charges
for models of earlier versions named none; they count where a cap was set on them.
"""

import json
from collections.abc import Callable
from fractions import Fraction
from typing import Any

from understudy.errors import RefusalError
from understudy.mechanisms.capped_answers import CappedAnswers
from understudy.privacy.account import Account, ChargeState
from understudy.privacy.ledger import Entry, Ledger
from understudy.privacy.quote import Quote
from understudy.privacy.statement import Subject
from understudy.privacy.transaction import Claim, paying
from understudy.release.folders import digest_of_bytes
from understudy.service.amounts import PER_DELTA, PER_EPSILON, Amount, cap_of
from understudy.service.budgets import Budgets
from understudy.service.projects import Projects
from understudy.service.served import Served
from understudy.trees.model import score_quote
from understudy.trees.scorers import CallForest

MOST_CALLS = 100_000
"""Answers that one charge may cover: an account lists each of them."""


def set_cap(budgets: Budgets, served: Served, epsilon: float, *, account: Account) -> None:
    """Set the cap over all keys, after charging the answers that it newly allows to the account of the data set."""
    price = served.model.price_per_call
    assert price is not None and served.price is not None
    budgets.register(served.model_id, name=served.name, price=price)
    call = _call_ledger(served)
    budgets.check_cap(served.model_id, epsilon)  # what is refused is refused before it is charged
    paid_as = _paid_as(budgets, served, account)
    what = paid_as[0]

    def quote(ledger: Ledger) -> Quote:
        return score_quote(served.model.method, ledger, answers=len(ledger))

    for each in paid_as:
        _settle(account, each, quote)
    allowed_answers, answers_paid = cap_of(epsilon) // served.price, paid_answers(budgets, served, account)
    if allowed_answers - answers_paid > MOST_CALLS:
        raise RefusalError(
            f"the cap would allow {allowed_answers - answers_paid:,} further answers; one charge covers at most "
            f"{MOST_CALLS:,}. Set a smaller cap, or train a one-shot model, whose answers are free."
        )
    if allowed_answers > answers_paid:
        score = f"the score {served.name}, version {served.model.version} ({served.model_id[:16]})"
        ledger = Ledger(call.entries * (allowed_answers - answers_paid))
        label = f"answers {answers_paid + 1:,} to {allowed_answers:,} of {score} (service {budgets.database[:12]})"
        _charge(account, what, quote(ledger), label=label)
    budgets.set_cap(served.model_id, epsilon, charged_to=account.identity)


def paid_answers(budgets: Budgets, served: Served, account: Account) -> int:
    """How many answers of this very model, given by the service of this database, the account has paid for.

    A charge that is held may still be given back.
    """
    call = _call_ledger(served).to_list()
    paid = [entry for what in _paid_as(budgets, served, account) for entry in _committed(account, what)]
    return paid.count(call[0]) // len(call)


def set_data_cap(projects: Projects, data: str, cap: Amount, *, account: Account, database: str) -> None:
    """Set the cap of a data set over all projects, after charging what it newly allows to the account."""
    projects.check_data_cap(data, cap, account=account.identity)  # what is refused is refused before it is charged
    what = _what_data(data, database)
    _settle(account, what, _cap_quote)
    paid = paid_amount(account, data, database)
    missing = Amount(epsilon=max(0, cap.epsilon - paid.epsilon), delta=max(0, cap.delta - paid.delta))
    if missing.epsilon or missing.delta:
        event = CappedAnswers(
            epsilon=Fraction(missing.epsilon, PER_EPSILON),
            delta=Fraction(missing.delta, PER_DELTA),
            neighbours=account.neighbours,
        )
        entry = Entry(
            stage="answers", reads=f"answers on {data}, each priced and charged before it is drawn", event=event
        )
        label = f"answers on {data} beyond {paid.digits}, up to {cap.digits} (service {database[:12]})"
        _charge(account, what, _cap_quote(Ledger((entry,))), label=label)
    projects.set_data_cap(data, cap, account=account.identity)


def check_paid(projects: Projects, data: str, *, account: Account, database: str) -> None:
    """Refuse to answer on a data set under a cap that its account has not paid for, as after a restored back-up."""
    budget = projects.budget_of(data)
    projects.check_data_cap(data, budget.cap, account=account.identity)
    paid = paid_amount(account, data, database)
    if not paid.covers(budget.cap):
        raise RefusalError(
            f"the cap of {data!r} is {budget.cap.words}, and its account has paid for {paid.words}; set the cap again "
            "with `understudy projects cap`, which charges what is missing."
        )


def paid_amount(account: Account, data: str, database: str) -> Amount:
    """What the account has paid for answers on a data set, given by the service of one database."""
    entries = Ledger.from_list(_committed(account, _what_data(data, database)))
    paid = [entry.event for entry in entries if isinstance(entry.event, CappedAnswers)]
    return Amount(
        epsilon=int(sum(event.epsilon for event in paid) * PER_EPSILON),
        delta=int(sum(event.delta for event in paid) * PER_DELTA),
    )


def _committed(account: Account, what: str) -> list[dict[str, Any]]:
    """Entries of all charges that paid for one thing, as plain data."""
    paid = [charge for charge in account.paid_for(what) if charge.state is ChargeState.COMMITTED]
    return [entry for charge in paid for entry in json.loads(charge.ledger)]


def _settle(account: Account, what: str, quote: Callable[[Ledger], Quote]) -> None:
    """Finish charges that an earlier run left held."""
    for charge in account.paid_for(what):
        if charge.state is ChargeState.HELD:
            _charge(account, what, quote(Ledger.from_list(json.loads(charge.ledger))), label=charge.label)


def _charge(account: Account, what: str, quote: Quote, *, label: str) -> None:
    """Pay for a range of answers, or settle the charge that another run made for it and did not settle.

    A range is the same whoever pays for it: name, ledger and digest follow from it, so that it is charged once.
    """
    anybody = Claim(held=(what,), fresh=what)
    with paying(account, quote, label=label, release_id=label, pays_for=what, resuming=anybody) as payment:
        payment.commit(digest_of_bytes(f"{what}: {label}".encode()))


def _call_ledger(served: Served) -> Ledger:
    scorer = served.model.scorer
    if not isinstance(scorer, CallForest) or not served.promises:
        raise RefusalError(f"an answer of the model {served.name!r} has no proved price, so no account can cover it.")
    return scorer.call_ledger()


def _paid_as(budgets: Budgets, served: Served, account: Account) -> list[str]:
    """What charges for a model are for: this database; and any, where one of an earlier version was set on it here."""
    model = f"score {served.model_id}"
    earlier = [model] if budgets.was_charged_to(served.model_id, (account.identity, account.dataset)) else []
    return [f"{model} of service {budgets.database}", *earlier]


def _what_data(data: str, database: str) -> str:
    return f"answers on {data} of service {database}"


def _cap_quote(ledger: Ledger) -> Quote:
    return Quote(method="answers", route="counts", own=ledger, own_delta=None, rows=0, subject=Subject.COUNTS)
