"""The page itself, from the manifest and the files of a release."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow.parquet

from understudy.codebook import Codebook, Publication
from understudy.pages.drawings.shares import Share, share_bars
from understudy.pages.numbers import moment, number, plain
from understudy.privacy.guarantees import Guarantee, Neighbours
from understudy.privacy.ledger import Ledger
from understudy.privacy.provenance import Made
from understudy.privacy.spelling import short_promise
from understudy.privacy.statement import grounds
from understudy.release.face.citing import check, cite
from understudy.release.face.columns import Noise, column_figures, sample_rows
from understudy.release.face.markup import document, listed, paragraph, table, text
from understudy.release.face.promise import Card, card_of, not_covered, of_100
from understudy.release.face.uses import measured_counts, uses_of
from understudy.release.manifest import read_quote
from understudy.release.measurements import MEASUREMENTS, Measurements, read_measurements

FACE = "index.html"
"""The name of the page in the folder of a release."""
_MOST_COUNTS, _MOST_ENTRIES = 40, 30
_TITLES = {Made.COUNTS: "Noisy counts", Made.ANONYMIZED: "Anonymised records", Made.COMPLETED: "Completed records"}
_MEASURED = "gaussian-measurements"
"""The event of measurements that lie in the folder with their noise."""


@dataclass(frozen=True, kw_only=True)
class ShownTable:
    """One table of a release: a file, or the parts that it is spread over."""

    title: str
    files: tuple[Path, ...]
    book: Codebook


def face_of(facts: Mapping[str, Any], tables: Sequence[ShownTable]) -> str:
    """The page of a release; ``facts`` is its manifest as plain data, with all files but the page itself."""
    book, made = tables[0].book, Made(facts["holds"])
    declared: dict[str, Any] = facts.get("publication", {})
    lists: dict[str, Any] = {name: tuple(value) for name, value in declared.items() if isinstance(value, list)}
    published = Publication(**{**declared, **lists})
    quote = read_quote(facts)
    total = quote.total
    title = published.title or book.title or f"{_TITLES.get(made, 'Synthetic rows')} by {facts['method']}"
    measured = [_measurements(each) for each in tables]
    uses = uses_of(facts, made, total, book, measured[0])
    shown = total.is_formal and not facts["real_records"] and made is not Made.COMPLETED
    commuting = getattr(total, "neighbours", None) is Neighbours.ORIGIN
    granted = [*_sentences(facts["assumptions"]), *grounds(quote.inputs, False, commuting=commuting)]
    sections = [
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
        *_contents(facts, tables, measured, made, shown=shown),
        ("price", "What was read, and at what price", _price(quote.ledger)),
        ("cite", "How to cite it", cite(facts, title, published)),
        ("verify", "How to verify it", check(facts)),
    ]
    about = published.description or book.description
    sub = f"{what_is(facts, made)}, {moment(str(facts['created']))}." + (f" {about}" if about else "")
    return document(title, sub[0].upper() + sub[1:], _banner(made, total), sections)


def what_is(facts: Mapping[str, Any], made: Made) -> str:
    """The kind of release in a few words."""
    kinds = {
        Made.COUNTS: "a table of {:,} noisy counts",
        Made.ANONYMIZED: "an anonymised table of {:,} real records",
        Made.COMPLETED: "a completed table of {:,} real records (confidential)",
    }
    number_of_rows, method = facts.get("rows", {}).get("number", 0), facts.get("method")
    if facts.get("tables") is not None:
        names = ", ".join(facts["tables"])
        return f"synthetic linked tables ({names}) about {number_of_rows:,} people by {method}"
    return f"{kinds.get(made, 'a synthetic table of {:,} rows').format(number_of_rows)} by {method}"


def stated_promise(facts: Mapping[str, Any]) -> str:
    """The statement of a manifest as the page has it."""
    return text(str(facts["statement"]))


def _banner(made: Made, total: Guarantee) -> str:
    if made is Made.COMPLETED:
        return "Confidential: the table holds real records. This folder must not be published."
    if not total.is_formal:
        return "No formal privacy promise covers this release."
    return ""


def _measurements(shown: ShownTable) -> Measurements | None:
    path = shown.files[0].parent / MEASUREMENTS
    return read_measurements(pyarrow.parquet.read_table(path), shown.book) if path.is_file() else None


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


def _contents(
    facts: Mapping[str, Any],
    tables: Sequence[ShownTable],
    measured: Sequence[Measurements | None],
    made: Made,
    *,
    shown: bool,
) -> list[tuple[str, str, str]]:
    if not shown:
        kept_back = "the table holds real records" if facts["real_records"] else "no promise covers its rows"
        rows = [
            (column.name, column.description, f"{column.size:,}") for each in tables for column in each.book.released
        ]
        told = paragraph(f"Neither rows nor shares are shown here: {kept_back}.")
        return [("columns", "Columns", told + table("Columns", ("column", "what it is", "levels"), rows))]
    if made is Made.COUNTS:
        return [("columns", "The counts", _counts(tables[0].files[0]))]
    parts = []
    for each, known in zip(tables, measured, strict=True):
        heading = f"<h3>{text(each.title)}</h3>" if len(tables) > 1 else ""
        parts.append(heading + column_figures(each.files, each.book, Noise.of(known)))
    lead = "Shares of the levels in the released rows. No real record was looked at to draw them."
    if any(known is not None for known in measured):
        lead += (
            " Lines at the ends of bars show the size of the noise that was added to what was measured; sampling and "
            "modelling come on top."
        )
    first = "".join(sample_rows(each.files, each.title) for each in tables)
    return [
        ("columns", "Columns", paragraph(lead, style="lead") + "".join(parts)),
        ("rows", "Sample rows", paragraph("These rows belong to nobody.", style="lead") + first),
    ]


def _counts(path: Path) -> str:
    counts = pyarrow.parquet.read_table(path)
    names = [name for name in counts.column_names if name not in ("count", "low", "high")]
    lines = counts.slice(0, _MOST_COUNTS).to_pylist()
    rows = [
        Share(
            label=", ".join(str(line[name]) for name in names), value=line["count"], low=line["low"], high=line["high"]
        )
        for line in lines
    ]
    left_out = counts.num_rows - len(lines)
    more = f" The first {len(lines)} of them; {left_out:,} more are in the table." if left_out else ""
    spoken = "; ".join(f"{row.label}: {number(row.value)}" for row in rows)
    chart = share_bars(rows, title="Counts with their intervals", spoken=spoken, show=number)
    header = (*names, "count", "low", "high")
    cells = [[line[name] if name in names else number(line[name]) for name in header] for line in lines]
    return (
        paragraph(f"Counts of {', '.join(names)}, each with its interval.{more}", style="lead")
        + chart
        + table("The counts", header, cells)
    )


def _price(ledger: Ledger) -> str:
    noise = {item.reads: item for item in measured_counts(ledger)}
    rows = []
    for entry in list(ledger)[:_MOST_ENTRIES]:
        item = noise.get(entry.reads)
        told = "" if item is None else f"{item.noise:,} records either way"
        told = f"by column: see above and {MEASUREMENTS}" if entry.event.inner.kind == _MEASURED else told
        if item is not None and item.threshold is not None:
            told += f", shown from {item.threshold:,} on"
        rows.append((plain(entry.reads), told, plain(short_promise(entry.guarantee))))
    left_out = len(ledger) - len(rows)
    more = paragraph(f"{left_out:,} further lines are in manifest.json.") if left_out else ""
    return table("The ledger", ("what was read", "noise of a count (95 times of 100)", "price"), rows) + more
