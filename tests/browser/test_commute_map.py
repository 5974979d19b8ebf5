"""The map page in a real browser: search, click, switch, and not a word on the console or to the network."""

import re

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


def test_a_public_map_is_searched_clicked_and_turned_round(browser, made, town, tmp_path):
    path = tmp_path / "map.html"
    write_map(path, map_page(made), confidential=False)
    assert "Confidential" not in path.read_text() and "original" not in made.manifest
    shown = Watched(browser, path)
    page = shown.page
    page.fill("#search", "w0000")
    assert page.locator("#results button").count() == 10
    page.click("#results button >> nth=2")
    assert page.inner_text("#chosen") == "W00002"
    workers, _ = truth_of(town, "W00002", "destination")
    assert shown.summary().startswith(f"{workers:,} synthetic workers come from"), "destination totals are public"
    assert page.locator("#histogram rect.bar").count() >= 1
    assert page.locator("#tables tr").count() >= 2
    before = page.evaluate("document.querySelector('#map-synthetic canvas').toDataURL().length")
    page.check("input[value=from]")
    page.fill("#search", "H00001")
    page.keyboard.press("Enter")
    assert page.inner_text("#chosen") == "H00001"
    assert re.match(r"[\d,]+ synthetic workers go to", shown.summary())
    page.check("input[value=to]")
    page.click("#all")
    box = page.locator("#map-synthetic canvas").bounding_box()
    page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    chosen = page.inner_text("#chosen")
    assert chosen.startswith("W")
    workers, _ = truth_of(town, chosen, "destination")
    assert shown.summary().startswith(f"{workers:,} synthetic workers come from")
    page.mouse.wheel(0, -300)
    page.click("#in")
    page.keyboard.press("Tab")
    assert page.evaluate("document.querySelector('#map-synthetic canvas').toDataURL().length") != before
    page.fill("#search", "nowhere")
    assert "no workplace of that name" in page.inner_text("#results")
    shown.check(path)
    assert page.locator("#mode").count() == 0, "there is nothing to switch to"


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
    workers, pairs = truth_of(town, "W00005", "destination")
    assert shown.summary().startswith(f"{workers:,} original, confidential workers come from {pairs:,} places")
    assert page.locator("#map-synthetic").is_hidden() and page.locator("#map-original").is_visible()
    page.check("input[value=beside]")
    assert page.locator("#map-synthetic").is_visible() and page.locator("#map-original").is_visible()
    assert page.locator("#tables table").count() == 2
    assert "original, confidential" in page.inner_text("#tables")
    assert page.locator("#histogram rect.original").count() >= 1
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
    assert "synthetic workers come from" in shown.summary()
    shown.check(path)
