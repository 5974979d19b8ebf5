"""A dataset card in Markdown, with the head that dataset hubs read."""

import re
from collections.abc import Iterable, Iterator

from understudy.codebook.publication import licence_id
from understudy.release.passport.description import Description, Field, Table, in_quotes

_SHOWN_LEVELS = 8
_SPECIAL = re.compile(r"([\\`*_\[\]<>|#~$])")
_SIZES = ((1_000, "n<1K"), (10_000, "1K<n<10K"), (100_000, "10K<n<100K"), (1_000_000, "100K<n<1M"))


def card(release: Description) -> str:
    """``README.md``."""
    lines = ["---", *_head(release), "---", "", f"# {plain(release.title)}", ""]
    if release.is_confidential:
        lines += ["**Confidential: this must not be published.**", ""]
    if release.description:
        lines += [plain(release.description), ""]
    lines += ["## What it is", "", f"This release holds {plain(release.kind)}.", ""]
    lines += ["## What is promised", "", plain(release.statement), ""]
    if release.is_seeded:
        lines += ["It was made with a seed, so that whoever knows the seed can make it again: it is not private.", ""]
    lines += _listed("What the promise takes for granted", release.assumptions)
    lines += _listed("What to know before using it", release.warnings)
    for table in release.tables:
        lines += _table(table)
    lines += _listed("How it was made", _origin(release))
    lines += ["## How to cite", "", plain(release.citation), "", "## How to verify", ""]
    lines += ["`understudy verify` on this folder recomputes digests, price and statement.", ""]
    return "\n".join(lines)


def plain(text: str) -> str:
    """A text that Markdown shows as it is, on one line.

    >>> plain("a_b <i>c</i> | d")
    'a\\\\_b \\\\<i\\\\>c\\\\</i\\\\> \\\\| d'
    """
    return _SPECIAL.sub(r"\\\1", " ".join(text.split()))


def _head(release: Description) -> Iterator[str]:
    publication = release.publication
    identifier = licence_id(publication.licence)
    yield f"pretty_name: {in_quotes(release.title)}"
    if identifier is not None and not identifier.startswith("LicenseRef-"):
        yield f"license: {identifier.lower()}"
    elif publication.licence:
        yield "license: other"
        yield f"license_name: {in_quotes(publication.licence)}"
    tags = ["risk-score" if release.is_score else release.made.value, *publication.keywords]
    yield "tags:"
    yield from (f"- {in_quotes(tag)}" for tag in tags)
    rows = [table.rows for table in release.tables if table.rows is not None]
    if rows:
        size = next((words for most, words in _SIZES if max(rows) < most), "n>1M")
        yield "size_categories:"
        yield f"- {size}"


def _listed(title: str, items: Iterable[str]) -> list[str]:
    entries = [f"- {plain(item)}" for item in items]
    return [f"## {title}", "", *entries, ""] if entries else []


def _origin(release: Description) -> Iterator[str]:
    publication = release.publication
    software = f"the method {release.method} of understudy {release.version}"
    yield f"Release {release.release}, made on {release.day} by {software}"
    yield from (f"Paid for: {words}" for words in release.mechanisms)
    for words, value in (
        ("Publisher", publication.publisher),
        ("Contact", publication.contact),
        ("Licence", publication.licence),
        ("Version", publication.version),
        ("Place", publication.spatial),
        ("Period", publication.temporal),
        ("Published at", publication.url),
        ("Published for", publication.intended_use),
    ):
        if value:
            yield f"{words}: {value}"


def _table(table: Table) -> list[str]:
    rows = "" if table.rows is None else f"{table.rows:,} rows, "
    lines = [f"## Table {plain(table.name)}", "", f"{rows}{len(table.fields)} columns.", ""]
    if table.key:
        lines += [f"Key: {plain(', '.join(table.key))}.", ""]
    if table.parent:
        lines += [f"{plain(', '.join(table.parent_key))} is the key of a row of {plain(table.parent)}.", ""]
    lines += ["| column | what | values |", "| --- | --- | --- |"]
    lines += [
        f"| {plain(field.name)} | {plain(field.description)} | {plain(_values(field))} |" for field in table.fields
    ]
    return [*lines, ""]


def _values(field: Field) -> str:
    words: str = field.kind.value
    if field.levels:
        shown = [f"{level} ({label})" if label else level for level, label in field.levels[:_SHOWN_LEVELS]]
        more = len(field.levels) - len(shown)
        words = ", ".join(shown) + (f" and {more:,} more" if more else "")
    elif field.low:
        words += f" from {field.low} to {field.high}{f' {field.units}' if field.units else ''}"
    return words if field.missing is None else f"{words}; may be missing"
