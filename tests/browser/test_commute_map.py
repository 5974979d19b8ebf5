"""The map page in a real browser: real flows beside synthetic ones, and as many flows as a state has."""

import numpy as np
import pyarrow as pa
import pytest

from understudy.commute import CommuteRecipe
from understudy.commute.jobs import open_commutes, synthesize_commutes
from understudy.commute.mapping import map_page, write_map
from understudy.commute.released import read_release
from understudy.datasets import commutes
from understudy.sources.flows import read_flows

pytestmark = pytest.mark.browser

READY_MS = 6000


@pytest.fixture(scope="module")
def town():
    return commutes(4000, seed=3, homes=300, workplaces=40)


@pytest.fixture(scope="module")
def made(town, tmp_path_factory):
    folder = tmp_path_factory.mktemp("commute") / "release"
    given = open_commutes(town.flows, count="workers", places=town.places)
    recipe = CommuteRecipe(epsilon=4.6, delta=1e-6, certificate="exact")
    synthesize_commutes(recipe, given, out=folder)
    return read_release(folder)


class Watched:
    """A page with everything that it said and asked for."""

    def __init__(self, browser, path):
        self.page = browser.new_page(viewport={"width": 1300, "height": 850})
        self.said, self.asked = [], []
        self.page.on("console", lambda message: self.said.append((message.type, message.text)))
        self.page.on("pageerror", lambda error: self.said.append(("page error", str(error))))
        self.page.on("request", lambda request: self.asked.append(request.url))
        self.page.goto(path.as_uri())
        self.page.wait_for_selector("html[data-ready]", timeout=60_000)

    def summary(self):
        return self.page.inner_text("#summary")

    def check(self, path):
        assert self.said == []
        assert self.asked == [path.as_uri()], "the page itself and nothing else"


@pytest.fixture(scope="module")
def browser(chromium):
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver:
        started = driver.chromium.launch(executable_path=str(chromium), args=["--no-sandbox", "--disable-gpu"])
        yield started
        started.close()


def truth_of(town, place, column):
    rows = [row for row in town.flows.to_pylist() if row[column] == place]
    return sum(row["workers"] for row in rows), len(rows)


def test_a_map_with_the_original_says_that_it_is_confidential(browser, made, town, tmp_path):
    path = tmp_path / "confidential.html"
    real = read_flows(town.flows, count="workers", origins=list(made.origins))
    write_map(path, map_page(made, original=real, title="A <b>town</b> & more"), confidential=True)
    assert oct(path.stat().st_mode & 0o777) == "0o600"
    shown = Watched(browser, path)
    page = shown.page
    assert page.inner_text(".banner").startswith("Confidential.")
    assert page.inner_text("h1") == "A <b>town</b> & more"
    page.fill("#search", "W00005")
    page.keyboard.press("Enter")
    page.check("input[value=original]")
    workers, _ = truth_of(town, "W00005", "destination")
    assert shown.summary().startswith(f"{workers:,} original, confidential workers work in W00005")
    assert page.locator("#map-synthetic").is_hidden() and page.locator("#map-original").is_visible()
    page.click("#tab-balance")
    assert "exact" in page.inner_text("#panel"), "real flows have no interval"
    page.check("input[value=beside]")
    assert page.locator("#map-synthetic").is_visible() and page.locator("#map-original").is_visible()
    assert page.locator("#panel section.original").count() == page.locator("#panel section.synthetic").count() == 1
    assert "original, confidential" in page.inner_text("#panel")
    shown.check(path)


def test_four_hundred_thousand_flows_are_ready_within_six_seconds(browser, made, tmp_path):
    """As many places and flows as Rhode Island."""
    from dataclasses import replace

    from understudy.commute.places import Places
    from understudy.privacy import Secret
    from understudy.sources.flows import Flows, Histograms

    generator = np.random.default_rng(1)
    homes, work, flows = 17_127, 8_358, 400_000
    names = tuple(f"h{i:06d}" for i in range(homes)) + tuple(f"w{i:06d}" for i in range(work))
    places = Places(
        names=names,
        latitudes=generator.uniform(41.1, 42.0, homes + work),
        longitudes=generator.uniform(-71.9, -71.1, homes + work),
    )
    cells = Histograms.of(
        generator.integers(0, work, flows),
        generator.integers(0, homes, flows),
        np.ones(flows, dtype=np.int64),
        number=work,
    )
    big = Flows(
        destinations=names[homes:],
        totals=np.full(work, 1),
        origins=pa.array(names[:homes]),
        origins_from_data=False,
        cells=Secret(cells),
    )
    path = tmp_path / "big.html"
    write_map(path, map_page(replace(made, flows=big, places=places, origins=names[:homes])), confidential=False)
    shown = Watched(browser, path)
    assert int(shown.page.evaluate("document.documentElement.dataset.ready")) < READY_MS
    shown.page.fill("#search", "w000007")
    shown.page.keyboard.press("Enter")
    assert "synthetic workers work in w000007" in shown.summary()
    shown.check(path)
    assert path.stat().st_size < 4_000_000, "the size of a state"
