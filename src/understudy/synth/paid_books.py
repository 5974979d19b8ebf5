"""Releases made with a codebook that was drafted at a price.

The codebook is part of what a reader sees, so the ledger of every release repeats the draft's entries, and the stated
total includes them. An account pays for the draft once: what it has charged under the draft's own name is not charged
again with each release.
"""

import json

from understudy.codebook import Codebook, LinkedCodebook, PaidDraft
from understudy.errors import CodebookError, UnderstudyError
from understudy.privacy.ledger import Entry, Ledger
from understudy.privacy.provenance import Bought


def bought_codebook(book: Codebook) -> tuple[Bought, ...]:
    """What the draft of this codebook and the rules learned for it cost; nothing where nothing was bought."""
    return tuple(_bought(purchase) for purchase in book.purchases)


def _bought(purchase: PaidDraft) -> Bought:
    try:
        ledger = Ledger.from_list(json.loads(purchase.entries))
    except (UnderstudyError, KeyError, TypeError, ValueError) as reason:
        raise CodebookError(
            f"the [paid] table of the codebook cannot be priced ({reason}); take the codebook from its original."
        ) from None
    return Bought(name=purchase.draft, ledger=ledger)


def drafted_entries(book: Codebook | LinkedCodebook) -> list[Entry]:
    """A plain draft is an unpriced read until a person attests that it is public."""
    if book.is_public:
        return []
    read = [f"levels and bounds of {', '.join(book.unattested)}"] if book.unattested else []
    read += [f"rules ({'; '.join(book.unsourced_rules)})"] if book.unsourced_rules else []
    reads = " and ".join(read)
    return [Entry.unpriced(stage="codebook", reads=reads, why=book.why_not_public)]
