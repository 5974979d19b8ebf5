"""Sections that every page of a release has: its promise, its uses, its limits and its price; and its publication."""

from collections.abc import Mapping, Sequence
from typing import Any

from understudy.codebook import Publication
from understudy.pages.drawings.shares import Share, share_bars
from understudy.pages.numbers import plain
from understudy.privacy.guarantees import Guarantee, Neighbours
from understudy.privacy.ledger import Ledger
from understudy.privacy.quote import Quote
from understudy.privacy.spelling import short_promise
from understudy.privacy.statement import grounds
from understudy.release.face.markup import listed, paragraph, table, text
from understudy.release.face.promise import Card, card_of, not_covered, of_100
from understudy.release.face.uses import Uses, measured_counts
from understudy.release.measurements import MEASUREMENTS

Section = tuple[str, str, str]
"""Key, heading and content."""
_MOST_ENTRIES = 30
_MEASURED = "gaussian-measurements"
"""The event of measurements that lie in the folder with their noise."""


def publication_of(facts: Mapping[str, Any]) -> Publication:
    """What the publisher declared."""
    declared: dict[str, Any] = facts.get("publication", {})
    lists: dict[str, Any] = {name: tuple(value) for name, value in declared.items() if isinstance(value, list)}
    return Publication(**{**declared, **lists})


def sections_on_use(facts: Mapping[str, Any], quote: Quote, uses: Uses) -> list[Section]:
    """What everybody reads first: the promise, what the release is good for, and what the promise rests on."""
    total = quote.total
    commuting = getattr(total, "neighbours", None) is Neighbours.ORIGIN
    granted = [*_sentences(facts["assumptions"]), *grounds(quote.inputs, False, commuting=commuting)]
    return [
        ("promise", "The promise", _promise(facts, total, quote.ledger)),
        (
            "uses",
            "What it is good for",
            f'<div class="two"><div><h3>Good for</h3>{listed(uses.good, style="yes")}</div>'
            f"<div><h3>Not for</h3>{listed(uses.bad, style='no')}</div></div>",
        ),
        (
            "limits",
            "What the promise rests on",
            '<div class="two"><div><h3>It takes for granted</h3>'
            + (listed(granted) or paragraph("Nothing is stated."))
            + "</div><div><h3>It does not cover</h3>"
            + listed(not_covered(total, looked=facts["confidential_look"], account=facts["account"]))
            + "</div></div>",
        ),
    ]


def stated_promise(facts: Mapping[str, Any]) -> str:
    """The statement of a manifest as the page has it."""
    return text(str(facts["statement"]))


def _sentences(lines: Sequence[str]) -> list[str]:
    return [f"{line[:1].upper()}{line[1:]}." for line in lines]


def _promise(facts: Mapping[str, Any], total: Guarantee, ledger: Ledger) -> str:
    names = next((getattr(entry.event.inner, "quasi_identifiers", ()) for entry in ledger), ())
    card = card_of(total, names)
    warnings = [f"{line[:1].upper()}{line[1:]}" for line in facts["warnings"]]
    more = f"<h3>Said when it was made</h3>{listed(warnings)}" if warnings else ""
    return (
        f"<h3>{text(card.title)}</h3>{paragraph(card.lead, style='odds')}{_odds(card)}{listed(card.lines)}"
        f"<h3>In full</h3><blockquote>{stated_promise(facts)}</blockquote>{more}"
    )


def _odds(card: Card) -> str:
    if card.right is None:
        return ""
    rows = (Share(label="by a coin", value=0.5), Share(label="with this release", value=card.right))
    spoken = f"Without it 50 times of 100, with it at most {of_100(card.right)} times."
    title, fills = "How often the best guess is right, at most", ("var(--edge)", "var(--made)")
    return share_bars(
        rows, title=title, spoken=spoken, show=lambda share: f"{of_100(share)} of 100", reach=1.0, fills=fills
    )


def price_section(ledger: Ledger, *, measured: bool = True) -> Section:
    """What was read, its noise and its price, line by line; ``measured``: a folder holds measurements of its own."""
    noise = {item.reads: item for item in measured_counts(ledger)}
    rows = []
    for entry in list(ledger)[:_MOST_ENTRIES]:
        item = noise.get(entry.reads)
        told = "" if item is None else f"{item.noise:,} records either way"
        if measured and entry.event.inner.kind == _MEASURED:
            told = f"by column: see above and {MEASUREMENTS}"
        if item is not None and item.threshold is not None:
            told += f", shown from {item.threshold:,} on"
        rows.append((plain(entry.reads), told, plain(short_promise(entry.guarantee))))
    left_out = len(ledger) - len(rows)
    more = paragraph(f"{left_out:,} further lines are in manifest.json.") if left_out else ""
    listing = table("The ledger", ("what was read", "noise of a count (95 times of 100)", "price"), rows)
    return "price", "What was read, and at what price", listing + more
