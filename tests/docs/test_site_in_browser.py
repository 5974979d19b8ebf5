"""The site as a browser shows it from the disk: everybody can read it, and no other host is asked for anything."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

KINDS_OF_PAGE = ("index", "which", "legal", "start/index", "methods/index", "methods/pegs-rs", "decisions/index")
"""Pages that together hold everything that pages are made of: pictures, formulas, tables, code, lists of links."""
DARK_RULES = {"runOnly": ["color-contrast", "link-in-text-block"], "preload": False}
"""What can differ between the two schemes. (`preload` would ask for style sheets again, which the disk refuses.)"""

pytestmark = pytest.mark.browser


class Watched:
    """A page of a browser, and what it said and asked for since it was last asked."""

    def __init__(self, page) -> None:
        self.page = page
        self.console: list[str] = []
        self.asked: list[str] = []
        page.on("console", lambda message: self.console.append(message.text))
        page.on("pageerror", lambda error: self.console.append(str(error)))
        page.on("request", lambda request: self.asked.append(request.url))

    def faults(self) -> list[str]:
        """Messages and requests to other hosts."""
        outside = [address for address in self.asked if not address.startswith(("file:", "data:", "blob:"))]
        return [f"console: {text}" for text in self.console] + [f"asked for {address}" for address in outside]


@contextmanager
def opened(chromium: Path, width: int, scheme: str = "light") -> Iterator[Watched]:
    """A browser without a past: the site remembers which scheme somebody had."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as tool:
        browser = tool.chromium.launch(executable_path=str(chromium), args=["--no-sandbox"])
        yield Watched(browser.new_page(viewport={"width": width, "height": 800}, color_scheme=scheme))
        browser.close()


def violations(page, options: dict) -> list[str]:
    from axe_playwright_python.sync_playwright import Axe

    found = Axe().run(page, options={"resultTypes": ["violations"], "preload": False, **options}).response
    return [f"{rule['id']}: {node['html'][:200]}" for rule in found["violations"] for node in rule["nodes"]]


def faults_of(site: Path, chromium: Path, names: list[str], width: int = 390) -> dict[str, list[str]]:
    """What is wrong with each page on a telephone (or as wide as said), in the light and in the dark."""
    faults: dict[str, list[str]] = {}
    for scheme, rules in (("light", {}), ("dark", DARK_RULES)):
        with opened(chromium, width, scheme) as watched:
            for name in names:
                watched.console.clear()
                watched.asked.clear()
                watched.page.goto((site / f"{name}.html").as_uri())
                shown = watched.page.get_attribute("body", "data-md-color-scheme")
                assert shown == ("default" if scheme == "light" else "slate")
                wider = watched.page.evaluate("document.documentElement.scrollWidth - window.innerWidth")
                found = [f"{wider} pixels too wide"] if wider > 0 else []
                found += violations(watched.page, rules) + watched.faults()
                faults.setdefault(name, []).extend(f"{scheme}, {fault}" for fault in found)
    return {name: found for name, found in faults.items() if found}


@pytest.mark.long
def test_every_kind_of_page_can_be_read_by_everybody(site, chromium):
    assert not faults_of(site, chromium, list(KINDS_OF_PAGE))
    assert not faults_of(site, chromium, ["index", "methods/pegs-rs"], width=1300), "with tabs and lists of links"


@pytest.mark.long
def test_every_page_can_be_read_by_everybody(site, chromium):
    names = sorted(path.relative_to(site).with_suffix("").as_posix() for path in site.rglob("*.html"))
    assert len(names) > 100
    assert not faults_of(site, chromium, names)


def test_a_fault_would_be_found(chromium, tmp_path):
    """A page with everything wrong that the others may not have."""
    (tmp_path / "bad.html").write_text(
        "<html><body><script>document.body.dataset.mdColorScheme = "
        '(matchMedia("(prefers-color-scheme: dark)").matches ? "slate" : "default")</script><img src="http://127.0.0.1:9/a.png">'
        '<p style="width: 500px; color: #aaa; background: #bbb">pale</p><script>missing()</script>'
    )
    [faults] = faults_of(tmp_path, chromium, ["bad"]).values()
    for expected in ("too wide", "image-alt", "dark, color-contrast", "asked for http:", "console: missing is not"):
        assert any(expected in fault for fault in faults), expected


@pytest.mark.parametrize("name", ["index", "methods/marginals"])
def test_the_search_works_from_the_disk(site, chromium, name):
    with opened(chromium, 1200) as watched:
        page = watched.page
        page.goto((site / f"{name}.html").as_uri())
        page.locator(".md-search__input").click()
        page.keyboard.type("suppression")
        # the link itself: what is shown first may be what the first letters found
        page.wait_for_selector('.md-search-result__item a[href*="guide/anonymize.html"]', state="attached")
        links = page.locator(".md-search-result__item a").evaluate_all("links => links.map(link => link.href)")
        assert any("guide/anonymize.html" in link for link in links)
        assert all(link.startswith(site.as_uri()) for link in links)
        assert watched.faults() == []
