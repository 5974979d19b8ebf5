"""The frame and the first three screens of the studio in a browser: a journey, by mouse and by keyboard alone."""

import pytest
from studio_stage import Person, running_studio

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def browser(chromium):
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver:
        opened = driver.chromium.launch(executable_path=str(chromium), args=["--no-sandbox", "--disable-gpu"])
        yield opened
        opened.close()


def encounters(place):
    """A table like that of an encounter register: people with several rows, codes, a note, a code for missing."""
    codes = ("250", "401", "428", "V58")
    lines = ["patient_nbr,gender,age,diag_1,discharge,notes"]
    for number in range(360):
        fields = (
            number // 2,
            "FM"[number % 2],
            20 + number % 60,
            codes[number % 4],
            1 + number % 3,
            f"note <b>{number}",
        )
        lines.append(",".join(map(str, fields)))
    place.write_text("\n".join([*lines, ""]))


def test_from_a_file_to_an_attested_codebook(browser, tmp_path):
    encounters(tmp_path / "encounters <i>.csv")
    with running_studio(tmp_path) as addresses:
        person = Person(browser, addresses[""])
        page = person.page
        assert person.faults() == []
        person.click("Add a data set", role="link")
        assert person.faults() == []
        person.click("Look at the first rows")
        page.get_by_role("region", name="First rows").wait_for()
        assert page.get_by_text("note <b>0", exact=True).count() == 1, "a tag in a value is text"
        assert person.faults() == []
        person.click("Draft the codebook")
        page.get_by_role("link", name="Review the columns").wait_for()
        assert person.faults() == []

        person.goto("/d/encounters--i/codebook/column/3")
        page.get_by_label("Kind").select_option("icd9")
        person.click("Save this column")
        person.wait("is saved in the codebook")
        assert person.faults() == []
        page.go_back()
        person.goto("/d/encounters--i/codebook/column/2")
        assert page.get_by_label("Edges of the bins").is_visible() and not page.get_by_label("First day").is_visible()
        page.get_by_label("Edges of the bins").fill("0, 40, x")
        person.click("Save this column")
        person.wait("is not a number")
        page.get_by_label("Edges of the bins").fill("0, 40, 120")
        person.click("Save this column")
        person.wait("is saved in the codebook")

        person.goto("/d/encounters--i/codebook")
        person.click("Review the columns", role="link")
        page.get_by_label("At most so many rows of one person").fill("3")
        page.get_by_label("Your name").fill("A. Meyer")
        assert person.faults() == []
        person.click("Write my answers into the codebook")
        page.get_by_role("link", name="Attest", exact=True).nth(1).wait_for()
        assert page.locator(".light.bad").count() == 0
        person.goto("/d/encounters--i/codebook/attest")
        assert page.get_by_label("Your name").input_value() == "A. Meyer"
        page.get_by_label("Where it is publicly known from").fill("registration form 7")
        assert person.faults() == []
        person.click("Attest the ticked columns")
        page.get_by_role("link", name="Go to budget and quote").wait_for()
        person.goto("/d/encounters--i/codebook/difference")
        assert person.faults() == []
        person.goto("/")
        person.wait("A. Meyer: ")
        assert person.faults() == []
        person.leave()


def test_the_keyboard_is_enough(browser, tmp_path):
    """Tab and Enter alone: the example, its codebook, a column and its undo."""
    with running_studio(tmp_path) as addresses:
        person = Person(browser, addresses[""])
        page = person.page

        def tab_to(name):
            for _ in range(80):
                page.keyboard.press("Tab")
                focused = page.evaluate(
                    "(document.activeElement.innerText || document.activeElement.name || '').trim()"
                )
                if focused == name:
                    outline = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
                    assert outline != "none", f"{name} has no ring when it is focused"
                    return
            pytest.fail(f"the keyboard does not reach {name!r}")

        tab_to("Skip to the screen")
        tab_to("Try it with an example")
        page.keyboard.press("Enter")
        page.wait_for_url("**/d/example/codebook")
        tab_to("sex")
        page.keyboard.press("Enter")
        page.wait_for_url("**/column/2")
        tab_to("description")
        page.keyboard.press("Control+A")
        page.keyboard.type("As registered")
        page.keyboard.press("Enter")
        person.wait("is saved in the codebook")
        assert "As registered" in (tmp_path / "example" / "codebook.toml").read_text()
        page.go_back()
        person.goto("/d/example/codebook")
        tab_to("Undo the last change (1)")
        page.keyboard.press("Enter")
        person.wait("The last change is taken back.")
        assert "As registered" not in (tmp_path / "example" / "codebook.toml").read_text()
        person.leave()
