"""A model's cap over all keys, and the account of the data set that it comes out of.

All answers together cost the people in the training data what was spent; they may cost the cap. So the cap, and every
rise of it, is charged to the data set's account as a whole before it holds. What was charged is never given back: a
lower cap later does not undo the promise that was possible meanwhile.
"""

from pathlib import Path

from understudy.errors import RefusalError
from understudy.privacy.account import Account
from understudy.privacy.ledger import Ledger
from understudy.service.amounts import cap_of
from understudy.service.budgets import Budgets
from understudy.service.served import Served
from understudy.trees.scorers import CallForest

__all__ = ["MOST_CALLS", "set_cap"]

MOST_CALLS = 100_000
"""Answers that one charge may cover: an account lists each of them."""


def set_cap(budgets: Budgets, served: Served, epsilon: float, *, account: Path | None) -> None:
    """Set the cap over all keys; with ``account``, charge the answers that it newly allows to the data set."""
    price = served.model.price_per_call
    assert price is not None and served.price is not None
    budgets.register(served.model_id, name=served.name, price=price)
    if account is None:
        budgets.set_cap(served.model_id, epsilon)
        return
    scorer = served.model.scorer
    if not isinstance(scorer, CallForest) or not served.promises:
        raise RefusalError(f"an answer of the model {served.name!r} has no proved price, so no account can cover it.")
    book = Account.open(account)
    paid = budgets.highest_cap(served.model_id, dataset=book.dataset)
    calls = cap_of(epsilon) // served.price - paid // served.price
    if calls > MOST_CALLS:
        raise RefusalError(
            f"the cap would allow {calls:,} further answers; one charge covers at most {MOST_CALLS:,}. Set a smaller "
            "cap, or train a one-shot model, whose answers are free."
        )
    if calls <= 0:
        budgets.set_cap(served.model_id, epsilon)
        return
    ledger = Ledger.of([entry for _ in range(calls) for entry in scorer.call_ledger()])
    label = f"up to {calls:,} answers of the score {served.name}, version {served.model.version}"
    with book.reserve(ledger, label=label, delta=None) as reservation:
        budgets.set_cap(served.model_id, epsilon, dataset=book.dataset)
        reservation.commit(f"score {served.model_id[:16]}")
