"""What holds for every kind of page, in a real browser.

Accessible by axe-core in light and dark, nothing asked of anybody, not a word on the console, nothing wider than a
phone, every figure there on paper and without script.
"""

import pytest
from kinds_of_pages import KINDS, Workshop

pytestmark = pytest.mark.browser

PHONE = 390
RULES = {
    "runOnly": {"type": "tag", "values": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]}
}
_ALL = "() => document.querySelectorAll('main svg, main canvas').length"
_SEEN = """() => [...document.querySelectorAll('main svg, main canvas')].filter(node => {
  const box = node.getBoundingClientRect();
  return node.checkVisibility() && box.width > 0 && box.height > 0;
}).length"""
"""Also those in folded parts count, where paper unfolds them."""
_BARE = """() => [...document.querySelectorAll('figure')].filter(
  figure => !figure.querySelector('svg, canvas, img, table') && !figure.hidden).length"""


@pytest.fixture(scope="module")
def shop(tmp_path_factory):
    made = Workshop(folder=tmp_path_factory.mktemp("pages"))
    with made.stack:
        yield made


@pytest.fixture(scope="module")
def addresses(shop):
    """Each page is made when it is first asked for."""
    known = {}

    def address(name):
        if name not in known:
            place = KINDS[name].make(shop)
            known[name] = place if isinstance(place, str) else place.as_uri()
        return known[name]

    return address


@pytest.fixture(scope="module")
def browser(chromium):
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver:
        started = driver.chromium.launch(executable_path=str(chromium), args=["--no-sandbox", "--disable-gpu"])
        yield started
        started.close()


class Sight:
    """A page as one reader sees it, with everything that it said and asked for."""

    def __init__(self, browser, address, *, width=1200, scheme="light", script=True):
        self.context = browser.new_context(
            viewport={"width": width, "height": 900}, color_scheme=scheme, java_script_enabled=script
        )
        self.page = self.context.new_page()
        self.said, self.asked = [], []
        self.page.on("console", lambda message: self.said.append(message.text))
        self.page.on("pageerror", lambda error: self.said.append(str(error)))
        self.page.on("request", lambda request: self.asked.append(request.url))
        self.page.goto(address)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.context.close()


def check_loading(browser, address):
    """Nothing but the page itself is asked for, and the console stays empty."""
    with Sight(browser, address) as sight:
        own = address.partition("#")[0].rstrip("/")
        beyond = [url for url in sight.asked if url.rstrip("/") != own and not url.startswith("data:")]
        yield from (f"asked for {url}" for url in beyond)
        yield from (f"said {words}" for words in sight.said)


def check_access(browser, address, scheme):
    """No violation of axe-core's rules."""
    from axe_playwright_python.sync_playwright import Axe

    with Sight(browser, address, scheme=scheme) as sight:
        for found in Axe().run(sight.page, options=RULES).response["violations"]:
            where = "; ".join(str(node["target"]) for node in found["nodes"][:3])
            yield f"{scheme}: {found['id']} ({found['help']}) at {where}"


def check_width(browser, address):
    """Nothing sticks out on a phone."""
    with Sight(browser, address, width=PHONE) as sight:
        wide = sight.page.evaluate("document.documentElement.scrollWidth")
        if wide > PHONE:
            yield f"{wide} pixels wide on a phone of {PHONE}"


def check_figures(browser, address, *, script):
    """Every figure is on paper, none is empty, and without script there are as many."""
    with Sight(browser, address) as sight:
        drawn = sight.page.evaluate(_ALL)
        if not sight.page.evaluate(_SEEN):
            yield "no figure is drawn"
        if bare := sight.page.evaluate(_BARE):
            yield f"{bare} figures hold no drawing"
        yield from _printed(sight, drawn, "figures are printed")
    if not script:
        with Sight(browser, address, script=False) as sight:
            yield from _printed(sight, drawn, "figures without script")


def _printed(sight, drawn, words):
    sight.page.emulate_media(media="print")
    if (seen := sight.page.evaluate(_SEEN)) < drawn:
        yield f"{seen} of {drawn} {words}"


def check_without_script(browser, address):
    """An instrument that needs script says so."""
    with Sight(browser, address, script=False) as sight:
        if "JavaScript" not in sight.page.locator("body").inner_text():
            yield "it does not say that it needs JavaScript"


@pytest.mark.parametrize("name", KINDS)
def test_every_page_is_for_everybody(name, browser, addresses):
    kind, address = KINDS[name], addresses(name)
    faults = [*check_loading(browser, address), *check_width(browser, address)]
    for scheme in ("light", "dark"):
        faults += check_access(browser, address, scheme)
    if kind.figures:
        faults += check_figures(browser, address, script=kind.script)
    if kind.script:
        faults += check_without_script(browser, address)
    assert not faults, "\n".join(faults)


@pytest.mark.parametrize(
    ("body", "fault"),
    [
        ('<main><h1>x</h1><p style="color:#ccc;background:#fff">pale</p></main>', "color-contrast"),
        ('<main><h1>x</h1><img src="data:image/gif;base64,R0lGODlhAQABAAAAACw="></main>', "image-alt"),
        ('<main><h1>x</h1><div style="width:900px">wide</div></main>', "pixels wide"),
        ("<main><h1>x</h1></main><script>nothing()</script>", "nothing is not defined"),
        ('<main><h1>x</h1></main><link rel="stylesheet" href="http://nowhere.invalid/x.css">', "nowhere.invalid"),
        ("<main><h1>x</h1><figure>empty</figure></main>", "no figure is drawn"),
        ('<style media="print">svg{display:none}</style><main><h1>x</h1><svg role="img" aria-label="x"></svg></main>',
         "0 of 1 figures are printed"),
        ("<main><h1>x</h1></main><script>document.querySelector('main').append("
         "document.createElementNS('http://www.w3.org/2000/svg','svg'))</script>", "0 of 1 figures without script"),
        ("<main><h1>x</h1></main>", "does not say that it needs JavaScript"),
    ],
)  # fmt: skip
def test_the_checks_see_planted_faults(browser, tmp_path, body, fault):
    page = tmp_path / "bad.html"
    page.write_text(f'<!doctype html><html lang="en"><head><title>x</title></head><body>{body}</body></html>')
    address = page.as_uri()
    faults = [
        *check_loading(browser, address),
        *check_width(browser, address),
        *check_access(browser, address, "light"),
        *check_figures(browser, address, script=False),
        *check_without_script(browser, address),
    ]
    assert any(fault in words for words in faults), faults
