"""A studio that runs, and people in front of it with a real browser each."""

import json
import os
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

RULES = {
    "runOnly": {"type": "tag", "values": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]}
}
PHONE = 390
PATIENCE = 180_000
"""Milliseconds that a test waits for a screen; it goes on as soon as the screen is there."""


@contextmanager
def running_studio(root):
    """A studio in a process of its own; the one-time address of each person."""
    process = subprocess.Popen(
        [sys.executable, "-m", "understudy", "studio", "--root", str(root), "--json"],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    try:
        lines = ""
        while True:
            line = process.stdout.readline()
            assert line, "the studio ended"
            lines += line
            try:
                yield json.loads(lines)["addresses"]
                return
            except json.JSONDecodeError:
                continue
    finally:
        process.terminate()
        process.wait(30)
        process.stdout.close()


class Person:
    """Somebody at a browser, with everything that it said and asked for beyond the studio."""

    def __init__(self, browser, address, **look):
        self.home = address.partition("/enter")[0]
        self.context = browser.new_context(viewport={"width": 1200, "height": 900}, accept_downloads=True, **look)
        self.said, self.beyond, self.seen = [], [], {}
        self.page = self.tab(address)

    def tab(self, address):
        page = self.context.new_page()
        page.set_default_timeout(PATIENCE)
        page.on("console", lambda message: self.said.append(message.text))
        page.on("pageerror", lambda error: self.said.append(str(error)))
        page.on("request", self._asked)
        page.goto(address)
        return page

    def _asked(self, request):
        if not request.url.startswith((self.home, "data:", "blob:")):
            self.beyond.append(request.url)

    def goto(self, path):
        self.page.goto(f"{self.home}{path}")

    def click(self, name, *, role="button", page=None):
        (page or self.page).get_by_role(role, name=name).first.click()

    def wait(self, words, page=None):
        (page or self.page).get_by_text(words).first.wait_for()

    def refused(self, words, field):
        """The form as typed, and the person in the field that is wrong. The browser complains if they type before."""
        self.wait(words)
        self.page.wait_for_function(
            "field => document.activeElement.labels?.[0]?.innerText.startsWith(field)", arg=field
        )

    def faults(self):
        """What axe-core finds on the screen that is open, in light and dark, and whether it sticks out on a phone."""
        from axe_playwright_python.sync_playwright import Axe

        found = []
        for scheme in ("light", "dark"):
            self.page.emulate_media(color_scheme=scheme)
            for fault in Axe().run(self.page, options=RULES).response["violations"]:
                where = "; ".join(str(node["target"]) for node in fault["nodes"][:3])
                found.append(f"{scheme}: {fault['id']} ({fault['help']}) at {where}")
        self.page.emulate_media(color_scheme="light")
        self.page.set_viewport_size({"width": PHONE, "height": 844})
        wide = self.page.evaluate("document.documentElement.scrollWidth")
        if wide > PHONE:
            found.append(f"{wide} pixels wide on a phone of {PHONE}")
        self.page.set_viewport_size({"width": 1200, "height": 900})
        return found

    def leave(self):
        self.context.close()
        assert self.said == [], self.said
        assert self.beyond == [], self.beyond


def choose_the_cap(person, epsilon="3"):
    """A cap never changes, so none is chosen in advance: neither its epsilon nor its delta."""
    page = person.page
    assert page.locator("input[name=epsilon][type=radio]:checked").count() == 0
    assert page.locator("#cap-delta").input_value() == ""
    page.get_by_label(f"epsilon {epsilon}", exact=True).check()
    page.select_option("#cap-delta", "1e-05")


def picture(person, folder, name, *, scheme="light", width=1200):
    """A whole screen as a file."""
    person.page.emulate_media(color_scheme=scheme)
    person.page.set_viewport_size({"width": width, "height": 900})
    person.page.screenshot(path=str(Path(folder) / f"{name}.png"), full_page=True)
    person.page.emulate_media(color_scheme="light")
    person.page.set_viewport_size({"width": 1200, "height": 900})
