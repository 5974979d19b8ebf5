"""The analyst's path in a browser: tried on the release, quoted, sent, reviewed, answered beside the release."""

import re
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "service"))
from answer_bench import Office, Stays
from workbench import Server

SOURCE = str(Path(__file__).parents[2] / "src")


@pytest.fixture(scope="module")
def office(tmp_path_factory):
    return Office(Stays.made(tmp_path_factory.mktemp("stays")))


@pytest.fixture(scope="module")
def server(office):
    running = Server(office.words(), {"PYTHONPATH": SOURCE})
    yield running
    running.stop()
    for stream in (running.process.stdout, running.process.stderr):
        stream.close()


@pytest.fixture(scope="module")
def browser(chromium):
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver:
        opened = driver.chromium.launch(executable_path=str(chromium), args=["--no-sandbox", "--disable-gpu"])
        yield opened
        opened.close()


def opened(browser, address, key):
    page = browser.new_page(viewport={"width": 1100, "height": 900})
    page.set_default_timeout(60_000)
    page.complaints = []
    page.on("console", lambda message: page.complaints.append(message.text) if message.type != "log" else None)
    page.on("pageerror", lambda error: page.complaints.append(str(error)))
    page.goto(address)
    page.get_by_label("API key").fill(key)
    return page


@pytest.mark.browser
def test_an_analyst_gets_an_answer_and_a_steward_decides_the_exception(browser, server, office):
    page = opened(browser, server.url + "/ask", office.analyst.text)
    page.get_by_label("Question", exact=True).fill("mean of charge by sex")
    page.get_by_role("button", name="Try on the release").click()
    page.locator("#tried table").wait_for()
    assert "On the release, free" in page.locator("#tried").inner_text()
    assert page.get_by_role("button", name="Send").is_disabled(), "nothing is sent that was not quoted"
    page.get_by_label("Epsilon").fill("0.5")
    page.get_by_role("button", name="Quote").click()
    page.locator("#quoted .score").wait_for()
    assert "Price: epsilon 0.5" in page.locator("#quoted").inner_text()
    assert "The rules let it through" in page.locator("#quoted").inner_text()
    page.get_by_role("button", name="Send").click()
    page.locator("#answer table").wait_for()
    said = page.locator("#answer").inner_text()
    assert "answered" in said and "It cost epsilon 0.5" in said
    assert page.locator("#answer thead th").all_inner_texts() == [
        "Figure", "Answer", "Interval", "Release", "Interval", "Answer − release",
    ]  # fmt: skip
    cells = page.locator("#answer tbody tr").first.locator("td").all_inner_texts()
    assert all(re.search(r"\d", cell) for cell in cells), "both intervals and the gap"
    assert page.locator("#answer svg").get_attribute("role") == "img"

    page.get_by_label("Epsilon").fill("1.5")  # above the rule: a steward must decide
    page.get_by_role("button", name="Quote").click()
    page.get_by_text("A steward decides about it").wait_for()
    page.get_by_role("button", name="Send").click()
    page.get_by_text("mean of charge by sex: asked").wait_for()
    desk = opened(browser, server.url + "/review", office.steward.text)
    desk.get_by_role("button", name="Show the queue").click()
    desk.get_by_role("heading", name="mean of charge by sex").wait_for()
    waiting = desk.locator("#queue").inner_text()
    assert "Price: epsilon 1.5" in waiting and "Release" in waiting
    desk.get_by_role("button", name="Approve").click()
    desk.get_by_text("approved.").wait_for()
    page.locator("#answer table").wait_for()
    assert "It cost epsilon 1.5" in page.locator("#answer").inner_text()

    answer = browser.new_page()
    complaints = []
    answer.on("console", lambda message: complaints.append(message.text) if message.type != "log" else None)
    reply = answer.goto(server.url + page.get_by_role("link", name="Public page").get_attribute("href"))
    assert reply.status == 200 and "unsafe-inline" not in reply.headers["content-security-policy"]
    assert "mean of charge by sex" in answer.inner_text("body") and "readmission" not in answer.content()
    assert complaints == page.complaints == desk.complaints == []
    for each in (answer, page, desk):
        each.close()


@pytest.mark.browser
def test_faults_are_words_and_phones_fit(browser, server, office):
    page = opened(browser, server.url + "/ask", office.analyst.text)
    page.get_by_label("Question", exact=True).fill("mean of <img src=x onerror=alert(1)>")
    page.get_by_role("button", name="Try on the release").click()
    page.locator("#tried .fault").wait_for()
    assert "<img" in page.locator("#tried").inner_text() and page.locator("img").count() == 0
    page.set_viewport_size({"width": 390, "height": 800})
    assert page.evaluate("document.documentElement.scrollWidth <= 390")
    page.close()
