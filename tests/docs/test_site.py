"""The documentation builds without a warning, and asks no other host for anything."""

import os
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import pytest

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


@pytest.fixture(scope="module")
def site(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    built = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(folder)],
        cwd=ROOT,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
        timeout=180,
        check=False,
    )
    assert built.returncode == 0, built.stdout + built.stderr
    assert "WARNING" not in built.stdout + built.stderr
    return folder


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


@pytest.mark.browser
def test_a_browser_asks_for_nothing_and_no_page_is_wider_than_a_phone(site, chromium):
    from playwright.sync_api import sync_playwright

    with sync_playwright() as tool:
        browser = tool.chromium.launch(executable_path=str(chromium), args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 390, "height": 800})
        asked: list[str] = []
        page.on("request", lambda request: asked.append(request.url))
        for name in (
            "index",
            "methods/sbhg",
            "methods/concordance",
            "architecture",
            "reference/api/synth",
            "start/steward",
        ):
            page.goto((site / f"{name}.html").as_uri())
            assert page.evaluate("document.documentElement.scrollWidth - window.innerWidth") <= 0, name
        browser.close()
    assert asked and all(url.startswith(("file:", "data:", "blob:")) for url in asked)
