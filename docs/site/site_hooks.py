"""What MkDocs cannot do alone: pages made at build time, links out of docs/, and the Markdown that GitHub reads too.

Nothing here writes into the repository. Generated pages: the proofs, the changelog, contributing, benchmark results,
the index of the decisions, and the Python reference from docstrings (`api_pages.py`).
"""

import os
import posixpath
import re
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))  # MkDocs loads this file by its place

from api_pages import api_pages
from gallery import MARK, gallery
from mended_html import mathml, mended_content, mended_page

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
DOCS = ROOT / "docs"
DEPLOY = ROOT / "deploy"
PROOFS = ROOT / "src" / "understudy" / "mechanisms" / "proofs"

COPIES = {
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
    "benchmarks/RESULTS.md": "benchmarks.md",
    "README.md": "index.md",
}
"""Files of the repository and the pages that show them; the README's page is the home page."""

FENCE = re.compile(r"^(\s*)(`{3,}|~{3,})(\S*)")
LIST_ITEM = re.compile(r"^\s*([-*+]|\d+[.)])\s")
INTERRUPTING = re.compile(r"^([-*+]|1[.)])\s")
TEST_LINK = re.compile(r"\[([^\]]+)\]\((?:\.\./)*tests/[^)\s]+\.py\)")
LINK = re.compile(r"(\]\()([^)\s]+)(\))")
PROOF_IN_CODE = re.compile(r"(?<!\[)`(?:src/understudy/)?(?:mechanisms/)?proofs/([a-z_]+\.md)`(?!\])")


def generated() -> dict[str, str]:
    """Every page made at build time, by its place under docs/."""
    pages = {f"proofs/{path.name}": path.read_text(encoding="utf-8") for path in sorted(PROOFS.glob("*.md"))}
    pages["proofs/index.md"] = proof_index()
    pages["decisions/index.md"] = decision_index()
    for origin, page in COPIES.items():
        if page != "index.md":
            pages[page] = (ROOT / origin).read_text(encoding="utf-8")
    return pages | api_pages(ROOT / "src" / "understudy")


def title_of(text: str) -> str:
    """The first heading."""
    return next((line[2:].strip() for line in text.splitlines() if line.startswith("# ")), "")


def proof_index() -> str:
    """All proofs, each with what its own sections say of neighbours and unit."""
    lines = [
        "# Proofs",
        "",
        "One file per claim, beside the code that rests on it (`src/understudy/mechanisms/proofs/`). A ledger entry",
        "names its proof; an entry without one totals as *no formal guarantee*. Each file states the claim, its",
        "neighbours, its unit, what it assumes, and the tests that check it, most of them by enumeration.",
        "",
        "| proof | neighbours | tests named |",
        "| --- | --- | --- |",
    ]
    for path in sorted(PROOFS.glob("*.md")):
        text = path.read_text(encoding="utf-8")
        tests = set(re.findall(r"::(test_\w+)", text))
        lines.append(f"| [{title_of(text)}]({path.name}) | {_neighbours(text)} | {len(tests)} |")
    return "\n".join([*lines, ""])


def _neighbours(text: str) -> str:
    found = re.search(r"^## Neighbours\s+(.*?)(?=^## )", text, re.MULTILINE | re.DOTALL)
    words = found.group(1).lower() if found else ""
    known = [name for name in ("add-remove", "replace-one", "origin-in-destination") if name in words]
    return ", ".join(known) or "see the proof"


def decision_index() -> str:
    """All decisions, by number."""
    lines = [
        "# Decisions",
        "",
        "What was decided, why, and what follows. Numbers are those of the files.",
        "",
        "| | |",
        "| --- | --- |",
    ]
    for path in sorted((DOCS / "decisions").glob("0*.md")):
        title = re.sub(r"^\d+\.?\s*[:.]?\s*", "", title_of(path.read_text(encoding="utf-8")))
        lines.append(f"| {int(path.name[:4])} | [{title}]({path.name}) |")
    return "\n".join([*lines, ""])


def on_config(config: Any) -> Any:
    """Fill `folder/*` in the navigation with the pages that are not named elsewhere in it."""
    have = {path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*.md")} | set(generated())
    config.nav = expand(config.nav, sorted(have), set(_named(config.nav)))
    return config


def _named(nav: Any) -> list[str]:
    if isinstance(nav, str):
        return [nav]
    if isinstance(nav, dict):
        return [name for value in nav.values() for name in _named(value)]
    return [name for value in nav for name in _named(value)]


def expand(nav: Any, have: list[str], named: set[str]) -> Any:
    """`nav` with every `folder/*` replaced by the pages of that folder which are not named."""
    if isinstance(nav, dict):
        return {title: expand(value, have, named) for title, value in nav.items()}
    if not isinstance(nav, list):
        return nav
    filled: list[Any] = []
    for entry in nav:
        if isinstance(entry, str) and entry.endswith("/*"):
            folder = entry[:-2]
            filled += [page for page in have if posixpath.dirname(page) == folder and page not in named]
        else:
            filled.append(expand(entry, have, named))
    return filled


def on_files(files: Any, config: Any) -> Any:
    """Add the generated pages."""
    from mkdocs.structure.files import File

    for place, text in generated().items():
        files.append(File.generated(config, place, content=text))
    for path in sorted(DEPLOY.iterdir()):  # to be taken from the site as they are
        if path.is_file():
            files.append(File.generated(config, f"deploy/{path.name}", content=path.read_bytes()))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Make of our Markdown what Python-Markdown reads the way GitHub does."""
    if page.file.src_uri == "methods/index.md":  # a table of eight columns needs the room
        page.meta["hide"] = ["toc", "navigation"]
    if page.file.src_uri == "index.md":
        page.meta["hide"] = ["navigation"]  # it would list this page alone
        markdown = markdown.replace(MARK, gallery())
    return rewrite(markdown, page.file.src_uri)


def on_page_content(html: str, **_: Any) -> str:
    """The text of a page."""
    return mended_content(html)


def on_post_page(output: str, **_: Any) -> str:
    """The whole page with the theme around it."""
    return mended_page(output)


def rewrite(markdown: str, place: str) -> str:
    """Links, lists, formulas and fences of one page at `place` under docs/."""
    out: list[str] = []
    lines = markdown.split("\n")
    inside = opening = ""
    for number, line in enumerate(lines):
        fence = FENCE.match(line)
        if inside:
            if fence and fence.group(2) == inside and not fence.group(3):
                inside = ""
                while out and not out[-1].strip():  # the blank line that ends a doctest
                    out.pop()
            out.append(line)
        elif fence:
            inside = fence.group(2)
            following = lines[number + 1] if number + 1 < len(lines) else ""
            out.append(f"{fence.group(1)}{inside}{_language(fence.group(3), following, place)}")
        else:
            before = out[-1] if out else ""
            opening = line if not before.strip() else opening
            if _needs_blank(before, opening, line):
                out.append("")
                opening = line
            out.append(mathml(_links(line, place)))
    return "\n".join(out)


def _language(named: str, following: str, place: str) -> str:
    if named == "python" and following.lstrip().startswith(">>>"):
        return "pycon"
    if not named:
        return "text" if place == "benchmarks.md" else "sh"
    return named


def _needs_blank(before: str, opening: str, line: str) -> bool:
    """Python-Markdown wants a blank line before a list or table after a paragraph (`opening` is its first line)."""
    if not before.strip() or before.lstrip().startswith(("#", "<!--")):
        return False
    if line.lstrip().startswith("|"):
        return not before.lstrip().startswith("|")
    return bool(INTERRUPTING.match(line)) and not LIST_ITEM.match(opening)


def _links(line: str, place: str) -> str:
    line = TEST_LINK.sub(r"`\1`", line)  # tests are in the repository, not on the site
    line = LINK.sub(lambda found: found.group(1) + target(found.group(2), place) + found.group(3), line)
    if place.startswith("proofs/"):
        return re.sub(r"(?<!\[)`([a-z_]+\.md)`(?!\])", lambda m: _proof_link(m.group(1), place), line)
    return PROOF_IN_CODE.sub(lambda m: _proof_link(m.group(1), place), line)


def _proof_link(name: str, place: str) -> str:
    if not (PROOFS / name).exists() or place == f"proofs/{name}":
        return f"`{name}`"
    return f"[`{name}`]({relative(f'proofs/{name}', place)})"


def relative(page: str, place: str) -> str:
    """The address of `page` as seen from `place`."""
    return posixpath.relpath(page, posixpath.dirname(place) or ".")


def target(link: str, place: str) -> str:
    """Where a link of the repository leads on the site."""
    if "://" in link or link.startswith(("#", "mailto:")):
        return link
    address, _, anchor = link.partition("#")
    home = next((origin for origin, page in COPIES.items() if page == place and place != "index.md"), f"docs/{place}")
    path = posixpath.normpath(posixpath.join(posixpath.dirname(home), address))
    if path.startswith("src/understudy/mechanisms/proofs/"):
        page = f"proofs/{posixpath.basename(path)}"
    elif path in COPIES:
        page = COPIES[path]
    elif path.startswith("deploy/"):
        page = path
    elif path in ("docs/decisions", "docs/decisions/"):
        page = "decisions/index.md"
    elif path.startswith("docs/") and (home != f"docs/{place}" or "docs/" in address):
        page = path.removeprefix("docs/")
    else:
        return link
    return relative(page, place) + (f"#{anchor}" if anchor else "")


def on_post_build(config: Any) -> None:
    """Remove what needs an address that the site does not have: a map for crawlers, a page for errors."""
    for name in ("sitemap.xml", "sitemap.xml.gz", "404.html"):
        place = Path(config.site_dir) / name
        if place.exists():
            os.unlink(place)  # noqa: PTH108
