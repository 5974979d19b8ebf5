"""The four analyses of a made-up region without Census columns, by keyboard and by mouse, with what they may show."""

import csv
import json
import re

import commute_zones as zones
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import understudy as us
from understudy.facade.commutes import map_commute

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    return zones.release(tmp_path_factory.mktemp("zones") / "release")


@pytest.fixture(scope="module")
def table(made):
    return pq.read_table(made / "synthetic.parquet")


@pytest.fixture(scope="module")
def address(made, tmp_path_factory):
    path = tmp_path_factory.mktemp("page") / "map.html"
    map_commute(made, path, title="Four towns")
    return path.as_uri()


@pytest.fixture(scope="module")
def browser(chromium):
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver:
        started = driver.chromium.launch(executable_path=str(chromium), args=["--no-sandbox", "--disable-gpu"])
        yield started
        started.close()


@pytest.fixture
def page(browser, address):
    """The page, which must ask for nothing and say nothing."""
    context = browser.new_context(viewport={"width": 1300, "height": 900}, accept_downloads=True)
    page, said, asked = context.new_page(), [], []
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.on("request", lambda request: asked.append(request.url))
    page.goto(address)
    page.wait_for_selector("html[data-ready]", timeout=60_000)
    yield page
    assert said == []
    assert [url for url in asked if not url.startswith(("blob:", address))] == []
    context.close()


def numbers(text):
    return [int(word.replace(",", "")) for word in re.findall(r"\b\d[\d,]*\b", text)]


def find(page, words):
    page.fill("#search", words)
    page.keyboard.press("Enter")


def rows(page, caption):
    body = page.locator("#panel table", has=page.locator("caption", has_text=caption)).locator("tbody tr")
    return [row.split("\t") for row in body.all_inner_texts()]


def canvas_spot(page, right, down):
    box = page.locator("#map-synthetic canvas").bounding_box()
    return box["x"] + right * box["width"], box["y"] + down * box["height"]


def test_areas_are_found_by_name_code_and_postal_code(page, table):
    page.fill("#search", "bühl")
    assert page.locator("#results button").first.inner_text().startswith("Bühl")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    assert page.inner_text("#chosen") == "Bühl"
    assert page.inner_text("#summary") == f"{zones.between(table, '', 'Z1'):,} synthetic workers work in Bühl."
    find(page, "77003")
    assert page.inner_text("#chosen") == "zip 77003"
    find(page, "003")
    assert page.inner_text("#chosen") == "Celle", "by the code of the town"
    page.fill("#search", "nowhere")
    assert page.inner_text("#results") == "no area of that name"


def test_the_four_analyses_by_keyboard(page, table):
    find(page, "achern")
    page.focus("#tab-profile")
    profile = rows(page, "At work and at home")
    assert numbers(profile[0][1]) == [zones.between(table, "", "Z0")] and profile[0][2] == "public total"
    assert numbers(profile[1][1]) == [zones.between(table, "Z0", "")]
    assert page.locator("#panel h4").all_inner_texts() == ["age of those who work here", "age of those who live here"]
    page.keyboard.press("ArrowRight")
    inner = zones.between(table, "Z0", "Z0")
    balance = rows(page, "Inflow and outflow")
    assert [numbers(row[1]) for row in balance] == [
        [zones.between(table, "", "Z0") - inner], [inner], [zones.between(table, "Z0", "") - inner],
    ]  # fmt: skip
    low, high = numbers(balance[1][2])
    assert 0 < low <= inner <= high
    page.check("#unsure")
    page.focus("#tab-balance")
    page.keyboard.press("ArrowRight")
    assert sum(numbers(row[1])[0] for row in rows(page, "By distance")) == zones.between(table, "", "Z0")
    winds = {row[0]: row[1] for row in rows(page, "By direction")}
    assert set(winds) == {"N", "NE", "E", "SE", "S", "SW", "W", "NW"} and page.locator("#histogram rect.bar").count()
    page.focus("#tab-distance")
    page.keyboard.press("ArrowRight")
    ranked = rows(page, "Homes by town")
    assert ranked[0][0] == "Achern" and numbers(ranked[0][1]) == [inner]
    page.uncheck("#unsure")
    page.check("input[value=from]")
    work = rows(page, "Workplaces by town")
    assert "Düren" not in [row[0] for row in work], "nobody goes there, and an interval with 0 is not listed"
    assert "not listed" in page.inner_text("#panel") or len(work) + 1 == len(zones.TOWNS)


def test_areas_are_picked_on_the_map_by_mouse(page):
    page.select_option("#level", "town")
    page.mouse.click(*canvas_spot(page, 0.4, 0.3))
    assert page.inner_text("#chosen") == "Achern"
    page.keyboard.down("Shift")
    page.mouse.click(*canvas_spot(page, 0.6, 0.3))
    page.keyboard.up("Shift")
    assert page.inner_text("#chosen") == "Achern + Bühl"
    page.mouse.move(*canvas_spot(page, 0.6, 0.7))
    assert page.locator("#tip strong").inner_text() == "Düren"
    page.click("#tab-ranking")
    page.locator("#panel tr.can", has_text="Celle").locator("td").nth(1).click()
    assert page.inner_text("#chosen") == "Celle", "a row of a table can be clicked"
    page.click("#compare")
    find(page, "düren")
    assert page.inner_text("#chosen") == "Celle, compared with Düren"
    for tab in ("profile", "balance", "distance", "ranking"):
        page.click(f"#tab-{tab}")
        assert page.locator("#panel h3").all_inner_texts() == ["Celle", "Düren"]
    page.click("#clear")
    assert page.inner_text("#chosen") == "Nothing selected"


def test_a_circle_and_a_polygon_are_drawn(page):
    page.select_option("#tool", "circle")
    page.mouse.move(*canvas_spot(page, 0.5, 0.5))
    page.mouse.down()
    page.mouse.move(*canvas_spot(page, 0.6, 0.5), steps=3)
    page.mouse.up()
    assert page.inner_text("#chosen").startswith("circle of ")
    page.select_option("#tool", "polygon")
    for right, down in ((0.3, 0.2), (0.5, 0.2), (0.5, 0.8), (0.3, 0.8)):
        page.mouse.click(*canvas_spot(page, right, down))
    page.click("#polygon-close")
    assert page.inner_text("#chosen").startswith("polygon of 4 corners, ")
    assert numbers(page.inner_text("#summary"))[0] > 0
    page.select_option("#tool", "circle")
    page.fill("#radius", "3")
    page.focus("#circle-here")
    page.keyboard.press("Enter")
    assert page.inner_text("#chosen").startswith("circle of 3.0 miles, ")
    page.select_option("#unit", "km")
    assert page.input_value("#radius") == "4.8" and page.inner_text("#chosen").startswith("circle of 4.8 km, ")
    page.click("#tab-distance")
    assert rows(page, "By distance")[0][0].startswith("below ") and " km on average" in page.inner_text("#panel")


def test_the_map_is_used_without_a_mouse(page):
    page.select_option("#level", "town")
    page.focus("#map-synthetic canvas")
    for key in ("+", "ArrowRight", "ArrowDown", "-"):
        page.keyboard.press(key)
    assert page.inner_text("#hint").startswith("Düren")
    page.keyboard.press("Enter")
    assert page.inner_text("#chosen") == "Düren"


def test_a_link_opens_the_same_selection(browser, page):
    find(page, "celle")
    page.click("#compare")
    find(page, "bühl")
    page.click("#tab-balance")
    page.select_option("#unit", "km")
    other = browser.new_page()
    other.goto(page.url)
    other.wait_for_selector("html[data-ready]")
    assert other.inner_text("#chosen") == "Celle, compared with Bühl"
    assert other.inner_text("#panel") == page.inner_text("#panel") and other.input_value("#unit") == "km"
    other.goto(page.url.split("#")[0] + "#a=town:999&tab=no&at=x")
    other.reload()
    other.wait_for_selector("html[data-ready]")
    assert other.inner_text("#chosen") == "Nothing selected", "a link that means nothing opens the start"
    other.close()


def test_what_is_uncertain_is_hatched_only_on_request(page):
    find(page, "achern")
    page.check("input[value=from]")
    page.select_option("#level", "place")
    page.click("#tab-ranking")
    page.select_option("#by", "place")
    assert "not shown" in page.inner_text("#key") and page.locator("#panel tr.unsure").count() == 0
    assert "are not listed" in page.inner_text("#panel")
    page.check("#unsure")
    assert "uncertain" in page.inner_text("#key")
    page.locator("#panel button", has_text="more").click()
    assert page.locator("#panel tr.unsure").count() > 0
    told = page.inner_text("#invented")
    assert "single pairs of home and workplace, at most about" in told and "the real flows were not used" in told


def test_what_is_on_the_screen_can_be_taken_away(page, table):
    find(page, "achern")
    page.select_option("#level", "town")
    saved = {}
    for name in ("csv", "geojson", "png"):
        with page.expect_download() as download:
            page.click(f"#{name}")
        saved[name] = download.value.path()
    lines = {row["name"]: row for row in csv.DictReader(saved["csv"].read_text().splitlines())}
    assert list(lines) == list(zones.TOWNS)
    assert int(lines["Achern"]["flow"]) == zones.between(table, "Z0", "Z0")
    shapes = json.loads(saved["geojson"].read_text())["features"]
    assert [shape["properties"]["name"] for shape in shapes] == list(zones.TOWNS)
    ring = shapes[0]["geometry"]["coordinates"][0][0]
    assert all(7.8 < east < 8.3 and 47.7 < north < 48.1 for east, north in ring)
    assert saved["png"].read_bytes().startswith(b"\x89PNG")


def test_the_draws_of_the_paper_show_estimates_with_intervals(browser, tmp_path):
    path = tmp_path / "map.html"
    map_commute(zones.release(tmp_path / "release", certificate="exact"), path)
    page = browser.new_page()
    page.goto(path.as_uri())
    page.wait_for_selector("html[data-ready]")
    find(page, "celle")
    page.click("#tab-balance")
    stay = rows(page, "Inflow and outflow")[1]
    low, high = numbers(stay[2])
    assert low <= numbers(stay[1])[0] <= high
    assert "are expected to be invented" in page.inner_text("#invented")
    assert "virtual" in page.inner_text("#trust")
    page.close()


def test_a_region_without_coordinates_is_a_diagram_with_names(browser, tmp_path):
    """Names, counts and two levels, one of them with one area; names that several zones share."""
    bare = zones.zones().select(["place", "town", "town_name"])
    bare = bare.append_column("name", pa.array([f"Zone {i % 36}" for i in range(bare.num_rows)]))
    bare = bare.append_column("country", pa.array(["L"] * bare.num_rows))
    folder, path = tmp_path / "release", tmp_path / "map.html"
    us.commute(zones.flows(), 4.0, delta=1e-6, count="workers", places=bare, seed=3, out=folder)
    map_commute(folder, path)
    page = browser.new_page()
    said = []
    page.on("console", lambda message: said.append(message.text))
    page.goto(path.as_uri())
    page.wait_for_selector("html[data-ready]")
    page.fill("#search", "zone 7")
    found = page.locator("#results button").all_inner_texts()
    assert [name for name in found if name.startswith("Zone 7 ")] == [f"Zone 7 place, {town}" for town in zones.TOWNS]
    find(page, "celle")
    page.click("#tab-distance")
    assert "no distances" in page.inner_text("#panel") and "drawn as a diagram" in page.inner_text("#schematic")
    page.click("#tab-profile")
    assert "mile" not in page.inner_text("#panel")
    page.click("#tab-ranking")
    assert "Celle" in page.inner_text("#panel") and said == []
    page.close()
