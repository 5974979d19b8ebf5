"""A model's cap over all keys, and the account of the data set that it comes out of.

All answers together cost the people in the training data what was spent; they may cost the cap. So the cap, and every
rise of it, is charged to the data set's account as a whole before it takes effect. What was charged is never given
back: a lower cap later does not undo the promise that was possible meanwhile.

What was paid for is read from the account itself, never from the service's database: an account that was restored from
a back-up, or a second one of the same data set, has not paid. Answers of a model are numbered, and each charge pays for
a range of them. The charge is committed before the cap is set, so that no cap is ever live without it. A run that dies
on the way leaves a charge, held or committed, and no cap; the next run settles it and charges only what is missing.
"""

import json

from understudy.errors import RefusalError
from understudy.privacy.account import Account, ChargeState
from understudy.privacy.ledger import Ledger
from understudy.privacy.transaction import Claim, paying
from understudy.release.folders import digest_of_bytes
from understudy.service.amounts import cap_of
from understudy.service.budgets import Budgets
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
    for charge in account.paid_for(_what(served)):
        if charge.state is ChargeState.HELD:
            _charge(account, served, Ledger.from_list(json.loads(charge.ledger)), label=charge.label)
    allowed_answers, answers_paid = cap_of(epsilon) // served.price, paid_answers(account, served)
    if allowed_answers - answers_paid > MOST_CALLS:
        raise RefusalError(
            f"the cap would allow {allowed_answers - answers_paid:,} further answers; one charge covers at most "
            f"{MOST_CALLS:,}. Set a smaller cap, or train a one-shot model, whose answers are free."
        )
    if allowed_answers > answers_paid:
        score = f"the score {served.name}, version {served.model.version} ({served.model_id[:16]})"
        ledger = Ledger(call.entries * (allowed_answers - answers_paid))
        _charge(account, served, ledger, label=f"answers {answers_paid + 1:,} to {allowed_answers:,} of {score}")
    budgets.set_cap(served.model_id, epsilon, charged_to=account.identity)


def paid_answers(account: Account, served: Served) -> int:
    """How many answers of this very model the account has paid for; a charge that is held may still be given back."""
    call = _call_ledger(served).to_list()
    paid = [charge for charge in account.paid_for(_what(served)) if charge.state is ChargeState.COMMITTED]
    entries = [entry for charge in paid for entry in json.loads(charge.ledger)]
    return entries.count(call[0]) // len(call)


def _charge(account: Account, served: Served, ledger: Ledger, *, label: str) -> None:
    """Pay for a range of answers, or settle the charge that another run made for it and did not settle.

    A range is the same whoever pays for it: name, ledger and digest follow from it, so that it is charged once.
    """
    what = _what(served)
    quote = score_quote(served.model.method, ledger, answers=len(ledger))
    anybody = Claim(held=(what,), fresh=what)
    with paying(account, quote, label=label, release_id=label, pays_for=what, resuming=anybody) as payment:
        payment.commit(digest_of_bytes(f"{what}: {label}".encode()))


def _call_ledger(served: Served) -> Ledger:
    scorer = served.model.scorer
    if not isinstance(scorer, CallForest) or not served.promises:
        raise RefusalError(f"an answer of the model {served.name!r} has no proved price, so no account can cover it.")
    return scorer.call_ledger()


def _what(served: Served) -> str:
    return f"score {served.model_id}"
