"""The documentation builds without a warning, and asks no other host for anything."""

import re
from html.parser import HTMLParser
from pathlib import Path

ROOT = Path(__file__).parents[2]
ELSEWHERE = re.compile(r"^\s*(https?:)?//", re.IGNORECASE)
LOADING = {
    "script": ("src",),
    "img": ("src", "srcset"),
    "source": ("src", "srcset"),
    "iframe": ("src",),
    "video": ("src", "poster"),
    "audio": ("src",),
    "embed": ("src",),
    "object": ("data",),
    "link": ("href",),
    "form": ("action",),
    "image": ("href", "xlink:href"),
    "use": ("href", "xlink:href"),
}
"""What a browser fetches by itself; an ordinary link is followed by a person."""


class Loads(HTMLParser):
    """Addresses on other hosts that a page would load."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag, attrs):
        for name, value in attrs:
            wanted = name in LOADING.get(tag, ()) and ELSEWHERE.match(value or "")
            styled = name == "style" and re.search(r"url\(\s*['\"]?(https?:)?//", value or "")
            if wanted or styled:
                self.found.append(f"<{tag} {name}={value}>")


def loads(text: str) -> list[str]:
    reader = Loads()
    reader.feed(text)
    return reader.found


def test_every_page_is_built(site):
    pages = {path.relative_to(site).with_suffix("").as_posix() for path in site.rglob("*.html")}
    written = {path.relative_to(ROOT / "docs").with_suffix("").as_posix() for path in (ROOT / "docs").rglob("*.md")}
    proofs = {f"proofs/{path.stem}" for path in (ROOT / "src" / "understudy" / "mechanisms" / "proofs").glob("*.md")}
    assert (
        written | proofs | {"changelog", "contributing", "benchmarks", "decisions/index", "reference/api/synth"}
        <= pages
    )


def test_no_page_loads_anything_from_elsewhere(site):
    found = {str(path.relative_to(site)): loads(path.read_text(encoding="utf-8")) for path in site.rglob("*.html")}
    assert not {page: faults for page, faults in found.items() if faults}
    assert (site / "search" / "search_index.js").exists(), "what the search reads when there is no server"
    for path in [*site.rglob("*.css"), *site.rglob("*.svg")]:
        text = path.read_text(encoding="utf-8")
        assert not re.search(r"@import|url\(\s*['\"]?(https?:)?//|<image[^>]+href=.(https?:)?//", text), path.name


def test_the_search_for_foreign_addresses_finds_them():
    assert loads(
        '<img src="https://example.org/a.png"><script src="//example.org/x.js"></script><a href="https://x.y">z</a>'
    ) == [
        "<img src=https://example.org/a.png>",
        "<script src=//example.org/x.js>",
    ]
    assert loads('<p style="background: url(http://example.org/b.png)">')
    assert not loads('<img src="../a.png"><link href="assets/site.css">')


def test_our_markdown_is_read_as_github_reads_it(site):
    """No list or table that was left as running text, and no link out of the site."""
    for path in site.rglob("*.html"):
        text = re.sub(r"<(pre|code)\b.*?</\1>", "", path.read_text(encoding="utf-8"), flags=re.DOTALL)
        assert not re.search(r"<p>[^<]*\n- ", text), f"{path.name}: a list in a paragraph"
        assert not re.search(r"<p>(?:[^<]*\n)?\| ?---", text), f"{path.name}: a table in a paragraph"
        assert not re.search(r'href="[^"]*\.(md|py)(#[^"]*)?"', text), (
            f"{path.name}: a link to a file of the repository"
        )


def test_formulas_are_mathml(site):
    """Every formula that a page has between two double dollars, and none left as it was written."""
    for path in sorted((ROOT / "docs" / "methods").glob("*.md")):
        written = len(re.findall(r"^\$\$.+\$\$$", path.read_text(encoding="utf-8"), re.MULTILINE))
        shown = (site / "methods" / f"{path.stem}.html").read_text(encoding="utf-8")
        assert shown.count('<math xmlns="http://www.w3.org/1998/Math/MathML" display="block"') == written, path.name
        assert "$$" not in shown and "merror" not in shown, path.name


def skipped(text: str) -> list[str]:
    """Headings more than one step below the one before: whoever listens to a page goes from heading to heading."""
    headings = re.findall(r"^(#+) (.+)$", re.sub(r"^(```|~~~).*?^\1", "", text, flags=re.MULTILINE | re.DOTALL), re.M)
    depths = [0, *(len(marks) for marks, _ in headings)]
    return [words for (marks, words), before in zip(headings, depths, strict=False) if len(marks) > before + 1]


def test_headings_skip_no_step():
    """The long test asks axe about every built page; this finds the commonest fault while one writes."""
    assert skipped("# a\n### b\n## c\n```\n#### d\n```\n") == ["b"]
    found = {path.name: skipped(path.read_text(encoding="utf-8")) for path in (ROOT / "docs").rglob("*.md")}
    assert len(found) > 100 and not {page: words for page, words in found.items() if words}
