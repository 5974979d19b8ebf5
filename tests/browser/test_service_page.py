"""The service's own pages in a browser: asked, answered, explained; nothing loaded, nothing to complain about."""

import re
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "service"))
from workbench import Server

SOURCE = str(Path(__file__).parents[2] / "src")


@pytest.fixture(scope="module")
def server():
    running = Server(["--example"], {"PYTHONPATH": SOURCE})
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


@pytest.fixture
def page(browser, server):
    """A page that notes every complaint and every request."""
    made = browser.new_page(viewport={"width": 1100, "height": 900})
    made.complaints, made.asked = [], []
    made.on("console", lambda message: made.complaints.append(message.text) if message.type != "log" else None)
    made.on("pageerror", lambda error: made.complaints.append(str(error)))
    made.on("request", lambda request: made.asked.append(request.url))
    yield made
    made.close()


def model_form(page, name):
    return page.locator(f'form[data-model="{name}"]')


def ask(page, name):
    form = model_form(page, name)
    form.get_by_role("button", name=f"Ask {name}").click()
    page.wait_for_function(
        "name => !document.querySelector(`form[data-model='${name}'] button.main`).disabled", arg=name
    )
    return form.locator(".result").inner_text()


@pytest.mark.browser
def test_a_newcomer_asks_both_models(page, server):
    page.goto(server.url)
    assert page.locator("html").get_attribute("data-ready") == "true"
    text = page.inner_text("main")
    for words in ("Alice, who showed her score", "Dave, who was in the hospital", "No training promise covers this"):
        assert words in text
    form = model_form(page, "diabetes")
    form.get_by_role("button", name="Fill in an example").click()
    assert "An API key is needed" in ask(page, "diabetes"), "without a key"
    assert page.evaluate("document.activeElement.id") == "key"
    page.get_by_label("API key").fill(server.said["key"])
    said = ask(page, "diabetes")
    assert re.search(r"69 %\s+chance that diabetes is “yes”", said) and "This answer cost nothing" in said
    low, high = re.search(r"between ([\d.]+) % and ([\d.]+) %", said).groups()
    assert float(low) <= 69 <= float(high)
    drawn = form.locator("svg.scale")
    assert drawn.get_attribute("role") == "img" and "noise band" in drawn.get_attribute("aria-label")

    model_form(page, "septic-shock").get_by_role("button", name="Fill in an example").click()
    first = ask(page, "septic-shock")
    assert "cost epsilon 0.5" in first and "Left: epsilon 9.5 for this key, 49.5 for all keys together" in first
    again = ask(page, "septic-shock")
    assert "You asked this before: the stored answer, at no new cost" in again
    assert first.split(" %")[0] == again.split(" %")[0]
    expected = ["Failed to load resource: the server responded with a status of 401 (Unauthorized)"]
    assert page.complaints == expected, "the first question, without a key"
    asked = {url.removeprefix(server.url) for url in page.asked} - {"data:,"}
    assert asked == {"/", "/v1/models/diabetes/score", "/v1/models/septic-shock/score"}


@pytest.mark.browser
def test_faults_point_at_their_field(page, server):
    page.goto(server.url)
    page.get_by_label("API key").fill(server.said["key"])
    form = model_form(page, "diabetes")
    form.get_by_label("age").fill("<img src=x onerror=alert(1)>")
    said = ask(page, "diabetes")
    assert "A value is outside the codebook" in said and "<img src=x" in said, "shown as text"
    field = form.get_by_label("age")
    assert field.get_attribute("aria-invalid") == "true"
    assert field.evaluate("node => node === document.activeElement")
    assert page.locator("img").count() == 0
    field.fill("")
    assert "A feature is missing" in ask(page, "diabetes")


@pytest.mark.browser
def test_every_field_says_what_it_is(page, server):
    """Names for screen readers, one heading, landmarks, contrast, keyboard order, both colour schemes, a phone."""
    for path in ("/", "/docs"):
        page.goto(server.url + path)
        assert page.locator("html").get_attribute("lang") == "en" and page.locator("h1").count() == 1
        assert page.locator("main").count() == page.locator("header").count() == 1
        unnamed = page.evaluate(
            """() => [...document.querySelectorAll('input, select, textarea, button')].filter(
                 field => !(field.labels && field.labels.length) && !field.textContent.trim()).length"""
        )
        assert unnamed == 0
        ids = page.evaluate("() => [...document.querySelectorAll('[id]')].map(node => node.id)")
        assert len(ids) == len(set(ids))
        described = page.evaluate(
            """() => [...document.querySelectorAll('[aria-describedby]')].every(
                 node => document.getElementById(node.getAttribute('aria-describedby')))"""
        )
        assert described
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.className") == "skip"
        for scheme in ("light", "dark"):
            page.emulate_media(color_scheme=scheme)
            assert contrast(page, "main section p") >= 4.5 and contrast(page, "button.main") >= 4.5
            assert contrast(page, ".sub") >= 4.5
        page.set_viewport_size({"width": 360, "height": 700})
        assert page.evaluate("document.documentElement.scrollWidth <= 360"), "nothing sticks out on a phone"
        page.set_viewport_size({"width": 1100, "height": 900})
        assert page.complaints == []


def contrast(page, selector):
    """Smallest ratio of WCAG 2 between text and what lies behind it."""
    return page.evaluate(
        """selector => {
          const parts = colour => colour.match(/[\\d.]+/g).map(Number);
          const linear = v => v / 255 <= 0.03928 ? v / 255 / 12.92 : ((v / 255 + 0.055) / 1.055) ** 2.4;
          const light = ([r, g, b]) => 0.2126 * linear(r) + 0.7152 * linear(g) + 0.0722 * linear(b);
          const behind = node => {
            for (; node; node = node.parentElement) {
              const colour = parts(getComputedStyle(node).backgroundColor);
              if (colour.length < 4 || colour[3] > 0) return colour;
            }
            return [255, 255, 255];
          };
          return Math.min(...[...document.querySelectorAll(selector)].map(node => {
            const [a, b] = [light(parts(getComputedStyle(node).color)), light(behind(node))];
            return (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
          }));
        }""",
        selector,
    )


@pytest.mark.browser
def test_the_interface_page_sends_its_examples(page, server):
    page.goto(server.url + "/docs")
    page.get_by_label("API key for the examples below").fill(server.said["key"])
    parts = page.locator("[data-operation]")
    assert parts.count() == 10
    for number in range(parts.count()):
        part = parts.nth(number)
        part.get_by_role("button", name="Send").click()
        part.locator(".result p").wait_for()
        assert part.locator(".result p").inner_text() == "Status 200", part.locator(".path").inner_text()
    choice = page.locator("[data-parameter]").first
    choice.select_option("septic-shock")
    assert "systolicBP" in page.locator("textarea").first.input_value()
    curl = page.locator("[data-curl]").first.text_content()
    assert "/v1/models/septic-shock/score" in curl and "$KEY" in curl and server.said["key"] not in curl
    assert page.complaints == []
    assert all(url.startswith((server.url, "data:,")) for url in page.asked)


@pytest.mark.browser
def test_the_pages_obey_their_policy(page, server):
    """An injected script does not run."""
    answer = page.goto(server.url)
    policy = answer.headers["content-security-policy"]
    assert "default-src 'none'" in policy and "unsafe" not in policy
    page.evaluate(
        """() => {
          const added = document.createElement('script');
          added.textContent = 'window.ran = true';
          document.body.append(added);
        }"""
    )
    assert page.evaluate("window.ran") is None
    assert any("Content Security Policy" in words for words in page.complaints)
