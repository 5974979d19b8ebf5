"""What was paid for a codebook that was drafted from data at a price."""

import json
from dataclasses import dataclass
from typing import Any

__all__ = ["PaidDraft", "paid_lines", "read_paid"]

_KEYS = ("draft", "entries")


@dataclass(frozen=True, kw_only=True)
class PaidDraft:
    """The draft's name in its account, and its ledger as JSON text; releases made with the codebook repeat it."""

    draft: str
    entries: str


def read_paid(value: Any) -> tuple[PaidDraft | None, list[str]]:
    """The ``[paid]`` table of a codebook, and what is wrong with it."""
    if value is None:
        return None, []
    if not isinstance(value, dict) or set(value) != set(_KEYS) or not all(isinstance(v, str) for v in value.values()):
        return None, ["[paid] holds the texts draft and entries, as `understudy codebook draft --epsilon` wrote them."]
    try:
        listed = json.loads(value["entries"])
    except ValueError:
        listed = None
    if not isinstance(listed, list) or not all(isinstance(item, dict) for item in listed) or not listed:
        return None, ["[paid] has entries that are no ledger in JSON; take the codebook from its original."]
    return PaidDraft(draft=value["draft"], entries=value["entries"]), []


def paid_lines(paid: PaidDraft) -> list[str]:
    """The table as canonical TOML."""
    from understudy.codebook.toml_text import quoted

    return ["", "[paid]", f"draft = {quoted(paid.draft)}", f"entries = {quoted(paid.entries)}"]
