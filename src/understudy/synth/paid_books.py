"""Releases made with a codebook that was drafted at a price.

The codebook is part of what a reader sees, so the ledger of every release repeats the draft's entries, and the stated
total includes them. An account pays for the draft once: what it has charged under the draft's own name is not charged
again with each release.
"""

import json
import math

from understudy.codebook import Codebook
from understudy.errors import CodebookError, UnderstudyError
from understudy.privacy.account import Account
from understudy.privacy.ledger import Ledger

__all__ = ["owed", "paid_ledger", "with_draft"]


def paid_ledger(book: Codebook) -> Ledger:
    """What the draft of this codebook cost; nothing where it was not bought."""
    if book.paid is None:
        return Ledger()
    try:
        return Ledger.from_list(json.loads(book.paid.entries))
    except (UnderstudyError, KeyError, TypeError, ValueError) as reason:
        raise CodebookError(
            f"the [paid] table of the codebook cannot be priced ({reason}); take the codebook from its original."
        ) from None


def with_draft(delta: float | None, book: Codebook) -> float | None:
    """The delta at which the total is stated, that of the draft included."""
    spent = math.fsum(getattr(entry.guarantee, "delta", 0.0) for entry in paid_ledger(book))
    return delta if delta is None or spent == 0 else delta + spent


def owed(ledger: Ledger, delta: float | None, book: Codebook, account: Account) -> tuple[Ledger, float | None]:
    """What an account must still be charged for a release, and at which delta."""
    paid = paid_ledger(book)
    if book.paid is None or not account.has_paid(book.paid.draft, paid):
        return ledger, delta
    rest = list(ledger.entries)
    for entry in paid:
        rest.remove(entry)
    own = delta if delta is None else delta - math.fsum(getattr(entry.guarantee, "delta", 0.0) for entry in paid)
    return Ledger.of(rest), own
