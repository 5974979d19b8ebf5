"""The analyst's path in a browser: tried on the release, quoted, sent, reviewed, answered beside the release."""

import json
import re
import sys
from pathlib import Path

import httpx
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


def asked_of(server, key, method, path, body=None):
    headers = {"Authorization": f"Bearer {key}"}
    return httpx.request(method, server.url + path, headers=headers, json=body, timeout=60).json()


@pytest.mark.browser
def test_to_look_up_what_was_approved_costs_nothing(browser, server, office):
    """Only who sends it pays: the page shows the price and waits."""
    key, body = office.analyst.text, {"question": "count by sex", "epsilon": 1.25}
    asked = asked_of(server, key, "POST", "/v1/data/stays/answer", body)
    assert asked["status"] == "asked" and asked["paid"] == 0
    asked_of(server, office.steward.text, "POST", f"/v1/review/{asked['id']}/approve", {})
    page = opened(browser, server.url + "/ask", key)
    sent = []
    page.on("request", lambda request: sent.append(request.url) if request.method == "POST" else None)
    page.get_by_label("Look up").fill(asked["id"])
    page.get_by_role("button", name="Look up").click()
    button = page.get_by_role("button", name="Send it, for epsilon 1.25")
    button.wait_for()
    page.wait_for_timeout(3_000)
    assert sent == [] and asked_of(server, key, "GET", f"/v1/answers/{asked['id']}")["paid"] == 0
    button.click()
    page.locator("#answer table").wait_for()
    assert "It cost epsilon 1.25" in page.locator("#answer").inner_text() and len(sent) == 1
    assert asked_of(server, key, "GET", f"/v1/answers/{asked['id']}")["paid"] == 1
    page.get_by_role("button", name="Look up").click()
    page.get_by_text("count by sex: answered").wait_for()
    assert page.complaints == []
    page.close()


@pytest.mark.browser
def test_a_page_left_open_pays_for_no_lost_answer_again(browser, server, office):
    """An attempt that nobody answers may be replaced by whoever asks again: never by a page that only waits."""
    page = opened(browser, server.url + "/ask", office.analyst.text)
    record = {
        "id": "abc", "data": "stays", "project": "p", "question": "count by region", "terms": {"epsilon": 0.5},
        "price": {"epsilon": 0.5, "delta": 0.0}, "status": "approved", "words": "it is being answered", "asked": "",
        "synthetic": [], "answer": None, "page": None, "charged": False, "paid": 1, "remaining": None,
    }  # fmt: skip
    looked, sent = [], []

    def lost(route):
        looked.append(route.request.url)
        route.fulfill(status=200, content_type="application/json", body=json.dumps(record))

    page.route("**/v1/answers/abc", lost)
    page.on("request", lambda request: sent.append(request.url) if request.method == "POST" else None)
    page.get_by_label("Look up").fill("abc")
    page.get_by_role("button", name="Look up").click()
    page.get_by_text("it is being answered").wait_for()
    page.wait_for_timeout(5_000)
    assert len(looked) >= 2 and sent == [], "it goes on looking, and sends nothing"
    page.close()


@pytest.mark.browser
def test_a_price_is_of_what_was_quoted(browser, server, office):
    """What changes while the price is on its way is not sent for it; an answer that is no JSON is a sentence."""
    page = opened(browser, server.url + "/ask", office.analyst.text)
    page.get_by_label("Question", exact=True).fill("count by region")
    page.get_by_label("Epsilon").fill("0.25")

    def slow(route):
        page.get_by_label("Epsilon").evaluate(
            "(field) => { field.value = '0.75'; field.dispatchEvent(new Event('input')); }"
        )
        route.continue_()

    page.route("**/quote", slow)
    with page.expect_response("**/quote"):
        page.get_by_role("button", name="Quote").click()
    page.wait_for_timeout(500)
    assert page.locator("#quoted").inner_text() == "" and page.get_by_role("button", name="Send").is_disabled()
    page.unroute("**/quote")
    page.get_by_role("button", name="Quote").click()
    page.get_by_text("Price: epsilon 0.75").wait_for()
    page.get_by_text("Left: epsilon").wait_for()
    assert page.get_by_role("button", name="Send").is_enabled()
    page.get_by_label("Epsilon").fill("0.5")
    assert page.locator("#quoted").inner_text() == "" and page.get_by_role("button", name="Send").is_disabled()
    page.route("**/quote", lambda route: route.fulfill(status=502, content_type="text/html", body="<p>Bad gateway"))
    page.get_by_role("button", name="Quote").click()
    page.get_by_text("The server did not answer").wait_for()
    page.close()


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
