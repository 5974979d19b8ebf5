"""What was paid for a codebook that was drafted from data at a price."""

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from understudy.codebook.columns import Column

_KEYS = ("draft", "entries")
_MAY = ("found",)


@dataclass(frozen=True, kw_only=True)
class PaidDraft:
    """The draft's name in its account, and its ledger as JSON text; releases made with the codebook repeat it."""

    draft: str
    entries: str
    found: str | None = None
    """Digests of the columns as they were found, as JSON text: one changed since was not paid for as it stands."""

    def covers(self, column: "Column") -> bool:
        """Whether the column is as the draft found it."""
        return self.found is None or json.loads(self.found).get(column.name) == column.content


def read_paid(value: Any) -> tuple[PaidDraft | None, list[str]]:
    """The ``[paid]`` table of a codebook, and what is wrong with it."""
    if value is None:
        return None, []
    if (
        not isinstance(value, dict)
        or not set(_KEYS) <= set(value) <= {*_KEYS, *_MAY}
        or not all(isinstance(v, str) for v in value.values())
    ):
        return None, ["[paid] holds the texts draft and entries, as `understudy codebook draft --epsilon` wrote them."]
    try:
        listed, found = json.loads(value["entries"]), json.loads(value.get("found", "{}"))
    except ValueError:
        listed = found = None
    if not isinstance(found, dict):
        return None, ["[paid] has a found that is no table of digests in JSON; take the codebook from its original."]
    if not isinstance(listed, list) or not all(isinstance(item, dict) for item in listed) or not listed:
        return None, ["[paid] has entries that are no ledger in JSON; take the codebook from its original."]
    return PaidDraft(draft=value["draft"], entries=value["entries"], found=value.get("found")), []


def paid_lines(paid: PaidDraft) -> list[str]:
    """The table as canonical TOML."""
    from understudy.codebook.toml_text import quoted

    lines = ["", "[paid]", f"draft = {quoted(paid.draft)}", f"entries = {quoted(paid.entries)}"]
    return lines if paid.found is None else [*lines, f"found = {quoted(paid.found)}"]
