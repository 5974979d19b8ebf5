"""How a release is cited, licensed and verified."""

from collections.abc import Mapping
from html import escape
from typing import Any

from understudy.codebook import Publication
from understudy.pages.numbers import moment
from understudy.release.face.markup import listed, paragraph, table, text

_MOST_FILES = 30


def citation_of(facts: Mapping[str, Any], title: str, published: Publication) -> str:
    """The publisher's own words, or what is known in the usual order."""
    if published.citation:
        return published.citation
    who = published.publisher or "Publisher not stated"
    version = f", version {published.version}" if published.version else ""
    where = f" {published.url}" if published.url else ""
    year = str(facts["created"])[:4]
    return f"{who} ({year}): {title}{version}. Made with Understudy; release {facts['release']}.{where}"


def cite(facts: Mapping[str, Any], title: str, published: Publication) -> str:
    """Citation, licence and who answers questions."""
    licence = published.licence
    if not licence:
        terms = paragraph("No licence was stated: ask the publisher before you use it or pass it on.")
    elif address := published.licence_address:
        linked = f'<a href="{escape(address)}" rel="noreferrer">{text(licence)}</a>'
        terms = f"<p>Licence: {linked}.</p>"
    else:
        terms = paragraph(f"Licence: {licence}.")
    known = {
        "Publisher": published.publisher,
        "Contact": published.contact,
        "About": ", ".join(filter(None, (published.spatial, published.temporal))),
        "Published for": published.intended_use,
        "Access": "" if published.access == "public" else published.access,
        "Keywords": ", ".join(published.keywords),
        "Supersedes": f"release {published.supersedes}" if published.supersedes else "",
        "Created": moment(str(facts["created"])),
    }
    lines = [f"{name}: {value}" for name, value in known.items() if value]
    return f"<pre>{text(citation_of(facts, title, published))}</pre>{terms}{listed(lines)}"


def check(facts: Mapping[str, Any]) -> str:
    """How anybody finds out whether the folder is what it says."""
    files = list(facts["files"].items())
    shown = [(name, str(digest).removeprefix("sha256:")) for name, digest in files[:_MOST_FILES]]
    more = f" {len(files) - _MOST_FILES:,} further files are in manifest.json." if len(files) > _MOST_FILES else ""
    return (
        paragraph(
            "With Understudy installed, this command says what the release is and recomputes digests, codebook, price, "
            "statement and this page, without any confidential data:"
        )
        + "<pre>understudy verify FOLDER</pre>"
        + paragraph(f"manifest.json states everything for machines, and the SHA-256 of every file.{more}")
        + table("Files and their SHA-256", ("file", "SHA-256"), shown)
    )
