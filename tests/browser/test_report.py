"""The report and the maps as a browser shows them: every figure drawn, nothing loaded, nothing to complain about."""

import html
import json
import re
import subprocess
from pathlib import Path

import pytest

import understudy as us
from understudy.pages.numbers import number, plain

FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
    "--host-resolver-rules=MAP * ~NOTFOUND",
    "--enable-logging=stderr",
    "--virtual-time-budget=60000",
)
WATCH = """<script>
window.addEventListener("error", function (event) { console.error("page error: " + event.message); });
document.addEventListener("securitypolicyviolation", function (e) { console.error("blocked " + e.blockedURI); });
</script>"""


class Shown:
    """A page after its scripts have run, and what the browser said meanwhile."""

    def __init__(self, chromium: Path, page: Path, folder: Path) -> None:
        watched = folder / f"watched-{page.name}"
        watched.write_text(page.read_text().replace("<head>", f"<head>{WATCH}", 1))
        log = folder / "net.json"
        done = subprocess.run(
            [
                str(chromium),
                *FLAGS,
                f"--user-data-dir={folder / 'profile'}",
                f"--log-net-log={log}",
                "--dump-dom",
                watched.as_uri(),
            ],
            capture_output=True,
            text=True,
            timeout=240,
            check=True,
        )
        self.dom = done.stdout
        self.console = [line for line in done.stderr.splitlines() if "CONSOLE" in line]
        self.initiators = set(re.findall(r'"initiator":"([^"]*)"', log.read_text())) - {"not an origin"}
        """Who asked the network for something; the browser's own errands have no origin."""

    @property
    def text(self) -> str:
        body = re.sub(r"<(script|style|svg)\b.*?</\1>", " ", self.dom, flags=re.S)
        return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", body)).split())

    def check(self) -> None:
        """What holds for every page of ours."""
        assert self.console == []
        assert self.initiators == set(), "the page asked for nothing"
        figures = re.findall(r"<figure\b.*?</figure>", self.dom, flags=re.S)
        assert figures and self.dom.count('<svg class="drawing"') == len(figures), "every figure is drawn, by no script"
        for figure in figures:
            assert re.search(r"<title>[^<]+</title><desc>[^<]{10,}</desc>", figure), (
                "a screen reader has something to say"
            )
            own = "<details>" in figure and "<th scope=" in figure
            beside = 'id="plane"' in figure and "Every point, best utility first" in self.dom
            assert own or beside, "every figure has its table; that of the plane stands beside it"
        assert "<link" not in self.dom and not re.search(r'\ssrc="(?!data:)', self.dom)
        assert '<html lang="en"' in self.dom and "@media print" in self.dom


@pytest.fixture(scope="module")
def release(tmp_path_factory):
    folder = tmp_path_factory.mktemp("report")
    book = us.datasets.discharges_codebook()
    table = us.datasets.discharges(rows=1200, seed=3)
    us.PrivBayes(epsilon=5.0, public_rows=1200, parent_count=1).fit(us.open(table, book)).sample(900).save(
        folder / "made"
    )
    return folder, table, book


@pytest.mark.browser
def test_the_watch_sees_what_it_should(chromium, tmp_path):
    page = tmp_path / "bad.html"
    page.write_text('<!doctype html><head></head><img src="http://nowhere.invalid/x.png"><script>nothing();</script>')
    shown = Shown(chromium, page, tmp_path)
    assert any("nothing is not defined" in line for line in shown.console)
    assert shown.initiators


@pytest.mark.browser
def test_the_report(chromium, release, tmp_path):
    folder, table, book = release
    page = tmp_path / "report.html"
    findings = us.evaluate(
        table,
        folder / "made",
        book,
        out=page,
        risk="quick",
        target="cat",
        holdout=us.datasets.discharges(rows=500, seed=4),
    )
    shown = Shown(chromium, page, tmp_path)
    shown.check()
    doc = json.loads(json.dumps(findings.to_dict(), allow_nan=False))
    assert len(re.findall(r'id="column-\d+-title"', shown.dom)) == len(doc["columns"]) == 13
    for kind in ("attacks", "worst-shares", "worst-cells", "worst-associations", "association", "pair-0"):
        assert f'id="{kind}"' in shown.dom
    text = shown.text
    assert plain(doc["release"]["statement"]) in text and "does not cover it" in text
    assert all(fact in text for fact in (doc["judgement"]["decision"], *doc["judgement"]["worst"]))
    for line in doc["summary"]:
        assert f"{line['label']} {line['says']} {number(line['value'])}" in text
    for item in [*doc["utility"], *doc["risk"]["scores"]]:
        assert item["value"] is None or number(item["value"]) in text, item["metric"]
    for column in doc["columns"]:
        for label, count in zip(column["labels"], column["real"], strict=True):
            assert f"{label} {count:,}" in text, "the table of a figure holds its counts"
    for mosaic in doc["mosaics"]:
        assert f"{mosaic['labels'][0][0]}, {mosaic['labels'][1][0]} {mosaic['real'][0][0]:,}" in text


@pytest.mark.browser
def test_the_report_on_paper_and_on_a_phone(chromium, release, tmp_path):
    """About four pages before the appendix, every figure on paper, nothing wider than a phone, light and dark."""
    from playwright.sync_api import sync_playwright

    folder, table, book = release
    page = tmp_path / "report.html"
    held = us.datasets.discharges(rows=500, seed=4)
    us.evaluate(table, folder / "made", book, out=page, risk="quick", target="cat", holdout=held)
    assert "<script" not in page.read_text(), "what is seen below is seen without JavaScript"
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=str(chromium), args=["--no-sandbox", "--disable-gpu"])
        for width, scheme in ((390, "light"), (390, "dark"), (1280, "light")):
            seen = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)
            seen.goto(page.as_uri())
            assert seen.evaluate("document.documentElement.scrollWidth") <= width
            shown, first = seen.locator("#attacks svg"), seen.locator("#verdict .answer")
            assert shown.bounding_box()["height"] > 50 and first.count() == 4
            if width == 1280:
                assert seen.locator(".worst").bounding_box()["y"] < 450, "the three worst facts are on the first screen"
        seen.emulate_media(media="print")
        heights = seen.evaluate(
            "[...document.querySelectorAll('figure svg')].map(s => s.getBoundingClientRect().height)"
        )
        assert len(heights) == page.read_text().count("<figure ") and min(heights) > 5, "closed parts open on paper"
        everything = _pages(seen.pdf(prefer_css_page_size=True))
        seen.evaluate("document.getElementById('appendix').remove()")
        before = _pages(seen.pdf(prefer_css_page_size=True))
        browser.close()
    assert before <= 5 < everything, (before, everything)


def _pages(document: bytes) -> int:
    return len(re.findall(rb"/Type /Page\b(?!s)", document))


@pytest.mark.browser
def test_the_maps(chromium, release, tmp_path):
    _, table, book = release
    made = us.rumap(
        table, book, 50, (1.0, 10.0), tmp_path / "map", methods=("pegs", "laplace"), repeat=2, target="charge", seed=1
    )
    shown = Shown(chromium, tmp_path / "map" / "map.html", tmp_path)
    shown.check()
    assert made.document["warning"] in shown.text
    values = [
        run["measures"]["marginal_mae"]
        for run in made.document["runs"]
        if (run["method"], run["epsilon"]) == ("pegs", 10.0)
    ]
    assert f"pegs 10 {number(sum(values) / 2)}" in shown.text
