"""The page itself, from the manifest and the files of a release."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow.parquet

from understudy.codebook import Codebook
from understudy.pages.drawings.shares import Share, share_bars
from understudy.pages.numbers import moment, number
from understudy.privacy.guarantees import Guarantee
from understudy.privacy.provenance import Made
from understudy.release.face.answer import answer_section
from understudy.release.face.citing import check, cite
from understudy.release.face.columns import Noise, column_figures, sample_rows
from understudy.release.face.markup import document, paragraph, table, text
from understudy.release.face.sections import price_section, publication_of, sections_on_use
from understudy.release.face.uses import uses_of
from understudy.release.manifest import read_quote
from understudy.release.measurements import MEASUREMENTS, Measurements, bounded_table, read_measurements

FACE = "index.html"
"""The name of the page in the folder of a release."""
_MOST_COUNTS = 40
_TITLES = {
    Made.COUNTS: "Noisy counts",
    Made.ANONYMIZED: "Anonymised records",
    Made.COMPLETED: "Completed records",
}


@dataclass(frozen=True, kw_only=True)
class ShownTable:
    """One table of a release: a file, or the parts that it is spread over."""

    title: str
    files: tuple[Path, ...]
    book: Codebook


def face_of(facts: Mapping[str, Any], tables: Sequence[ShownTable]) -> str:
    """The page of a release; ``facts`` is its manifest as plain data, with all files but the page itself."""
    book, made = tables[0].book, Made(facts["holds"])
    published = publication_of(facts)
    quote = read_quote(facts)
    total = quote.total
    title = published.title or book.title or f"{_TITLES.get(made, 'Synthetic rows')} by {facts['method']}"
    if made is Made.ANSWER:  # several of one table differ by what was asked
        title = f"Answer: {facts['parameters']['question']}"
    folder = tables[0].files[0].parent
    folder = folder if facts.get("parts") is None else folder.parent
    measured = [_measurements(folder, each.book) for each in tables]
    uses = uses_of(facts, made, total, book, measured[0])
    shown = total.is_formal and not facts["real_records"] and made is not Made.COMPLETED
    sections = [
        *sections_on_use(facts, quote, uses),
        *_contents(facts, tables, measured, made, shown=shown),
        price_section(quote.ledger),
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
        Made.ANSWER: "an answer of {:,} figures",
        Made.ANONYMIZED: "an anonymised table of {:,} real records",
        Made.COMPLETED: "a completed table of {:,} real records (confidential)",
    }
    number_of_rows, method = facts.get("rows", {}).get("number", 0), facts.get("method")
    if facts.get("tables") is not None:
        names = ", ".join(facts["tables"])
        return f"synthetic linked tables ({names}) about {number_of_rows:,} people by {method}"
    return f"{kinds.get(made, 'a synthetic table of {:,} rows').format(number_of_rows)} by {method}"


def _banner(made: Made, total: Guarantee) -> str:
    if made is Made.COMPLETED:
        return "Confidential: the table holds real records. This folder must not be published."
    if not total.is_formal:
        return "No formal privacy promise covers this release."
    return ""


def _measurements(folder: Path, book: Codebook) -> Measurements | None:
    path = folder / MEASUREMENTS
    return read_measurements(bounded_table(path, book), book) if path.is_file() else None


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
    if made is Made.ANSWER:
        return [("columns", "The answer", answer_section(tables[0].files[0], facts["parameters"]))]
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
