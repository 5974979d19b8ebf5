"""Take the pictures of the studio again, on simulated tables: `make gallery` (needs Chromium).

`python docs/site/make_studio_pictures.py release` takes only those from the price on, `describe` those before.
"""

import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

FOLDER = Path(__file__).parents[1] / "assets" / "studio"
LARGEST = 150_000
WIDTH, HEIGHT = 1100, 820
PATIENCE = 300_000


class Camera:
    """A browser in front of a running studio."""

    def __init__(self, browser, address: str, scale: float = 0.8) -> None:
        self.home = address.partition("/enter")[0]
        self.page = browser.new_context(
            viewport={"width": WIDTH, "height": HEIGHT}, device_scale_factor=scale
        ).new_page()
        self.page.set_default_timeout(PATIENCE)
        self.page.goto(address)

    def goto(self, path: str) -> None:
        """Another screen."""
        self.page.goto(self.home + path)

    def click(self, name: str, role: str = "button") -> None:
        """Press what is called so."""
        self.page.get_by_role(role, name=name).first.click()

    def wait(self, words: str) -> None:
        """Until the screen says so."""
        self.page.get_by_text(words).first.wait_for()

    def take(self, name: str, *, whole: bool = False) -> None:
        """The screen as it stands, or its top where ``whole`` is asked for and would be too long."""
        heights = (*((1800, 1400, 1000) if whole else ()), HEIGHT, 700, 600, 500)  # a dense screen is cut off earlier
        shots = (
            self.page.screenshot(full_page=whole, clip={"x": 0, "y": 0, "width": WIDTH, "height": height})
            for height in heights
        )
        image = next((shot for shot in shots if len(shot) <= LARGEST), b" " * (LARGEST + 1))
        assert len(image) <= LARGEST, f"{name} has {len(image):,} bytes"
        (FOLDER / f"{name}.png").write_bytes(image)


def describe(camera: Camera) -> None:
    """From a file to a codebook."""
    camera.take("welcome")
    camera.click("Add a data set", "link")
    camera.take("new")
    camera.click("Look at the first rows")
    camera.wait("Do these rows look right")
    camera.take("data")
    camera.click("Draft the codebook")
    camera.page.get_by_role("link", name="Review the columns").wait_for()
    camera.take("codebook")
    camera.goto("/d/stays/codebook/column/3")
    camera.take("column")
    camera.goto("/d/stays/codebook/review")
    camera.take("review")
    camera.goto("/d/stays/codebook/rules")
    camera.click("Look for rules")
    camera.page.locator("input[name=accept]").first.wait_for()
    camera.take("rules")
    camera.goto("/d/stays/codebook/attest")
    camera.take("attest")
    camera.goto("/d/stays/codebook/difference")
    camera.take("changes")
    link(camera)


def link(camera: Camera) -> None:
    """From one table that repeats people to linked ones."""
    camera.goto("/d/stays/data")
    camera.page.get_by_label("all rows with the same value").check()
    camera.page.locator("select[name=column]").select_option("patient_id")
    camera.page.locator("input[name=cap]").fill("4")
    camera.click("Save who is a person")
    camera.click("Look how the rows of one")
    camera.page.get_by_role("button", name="Split the table").wait_for()
    camera.take("split")
    camera.click("Split the table")
    camera.page.get_by_role("heading", name="Table encounters").wait_for()
    camera.page.get_by_role("link", name="Review the columns").wait_for()
    camera.page.locator(".of-table").first.scroll_into_view_if_needed()
    camera.take("linked", whole=True)


def release(camera: Camera) -> None:
    """The example, from its price to its signature."""
    camera.goto("/")
    camera.click("Try it with an example")
    camera.goto("/d/example/quote")
    camera.page.get_by_label("epsilon 3", exact=True).check()
    camera.page.select_option("#cap-delta", "1e-05")
    camera.click("Open the account")
    camera.wait("The account is open")
    camera.take("quote")
    camera.click("Keep this plan and go on")
    camera.wait("The plan is kept")
    camera.page.fill("#confirm", "example")
    camera.take("release")
    camera.page.get_by_role("button", name="Pay epsilon").click()
    camera.wait("Was it charged?")
    camera.take("job")
    camera.goto("/d/example/report")
    camera.take("report")
    camera.page.fill("#by", "Data access board")
    camera.click("Fix these limits")
    camera.wait("The limits are fixed")
    camera.page.select_option("#target", "charge")
    camera.click("Open the report")
    camera.click("Read the report", "link")
    camera.page.frame_locator("iframe").locator("h1").wait_for()
    camera.take("report-read")
    camera.goto("/d/example/publish/1")
    camera.click("Write the passport and sign")
    camera.wait("is signed with the key")
    camera.wait("Everything that the release states")
    camera.page.frame_locator("iframe").locator("h1").wait_for()
    camera.take("published")
    camera.goto("/d/example/anonymise")
    camera.click("Weigh candidates")
    camera.click("Compare them", "link")
    camera.page.locator("#candidates").scroll_into_view_if_needed()
    camera.take("anonymise")
    camera.goto("/d/example/others")
    camera.take("others")
    camera.goto("/d/example/publish")
    camera.take("publish")
    camera.goto("/")
    camera.take("shelf")


def main() -> None:
    """Start a studio over a folder of simulated stays, walk through it, and stop it."""
    from playwright.sync_api import sync_playwright

    FOLDER.mkdir(exist_ok=True)
    start = [sys.executable, "-c", "from understudy.cli.start import main; main()"]
    with tempfile.TemporaryDirectory() as folder:
        example = ["example", "--linked", "--one-file", "--rows", "600", "--out", f"{folder}/simulated"]
        subprocess.run([*start, *example], check=True, capture_output=True)
        root = Path(folder) / "studio"
        root.mkdir()
        shutil.move(f"{folder}/simulated/stays.csv", root / "stays.csv")
        server = subprocess.Popen([*start, "studio", "--root", str(root), "--json"], stdout=subprocess.PIPE, text=True)
        try:
            said = ""
            while said.count("}") < 2:
                said += server.stdout.readline()
            with sync_playwright() as tool:
                browser = tool.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
                camera = Camera(browser, next(iter(json.loads(said)["addresses"].values())))
                for walk in (describe, release):
                    if walk.__name__ in (sys.argv[1:] or [walk.__name__]):
                        walk(camera)
                browser.close()
        finally:
            server.terminate()
            server.wait()


if __name__ == "__main__":
    main()
