"""Whole journeys through the studio in a real browser: several data sets, two people, one studio.

Every screen that is passed is checked by axe-core in light and dark and measured on a phone. Nothing is asked of
anybody outside, and the console stays empty.
"""

import os
import re
import shutil
import signal
import time
from contextlib import suppress

import pandas as pd
import pytest
from studio_stage import Person, choose_the_cap, running_studio

from understudy.codebook import Codebook
from understudy.facade import demo, releases
from understudy.studio import jobs
from understudy.studio.jobs import JobState
from understudy.studio.workspace import Root, new_dataset

pytestmark = pytest.mark.browser

SURVEY = """format = 1
title = "Survey"

[[columns]]
name = "vote"
kind = "categorical"
levels = ["1", "2", "3"]
value_labels = { 1 = "left", 2 = "right", 3 = "none" }

[[columns]]
name = "age"
kind = "integer"
edges = [18, 30, 50, 90]

[[columns]]
name = "w"
kind = "continuous"
edges = [0.5, 1.0, 2.0]
precision = 1
"""


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    """Stays of people with codes and rules, a survey with weights, and a table to anonymise."""
    place = tmp_path_factory.mktemp("studio")
    (place / "studio.toml").write_text('people = ["A. Meyer", "B. Kuhn"]\napprovals = 2\n')
    made = Root.at(place)
    demo.example_histories(place / "stays", patients=150, one_file=True)
    shutil.move(place / "stays" / "stays.toml", place / "stays" / "codebook.toml")
    new_dataset(made, "stays", title="Hospital stays", data="stays.csv", holdout="held-out.csv")
    demo.example_patients(place / "patients", rows=300)
    shutil.move(place / "patients" / "patients.toml", place / "patients" / "codebook.toml")
    new_dataset(made, "patients", title="Patients", data="patients.csv", holdout="held-out.csv")
    own = new_dataset(made, "survey", title="Survey", data="survey.sav")
    own.path("codebook.toml").write_text(SURVEY)
    import pyreadstat

    rows = [(n % 3 + 1, 18 + n % 70, 0.6 + n % 2) for n in range(200)]
    frame = pd.DataFrame(rows, columns=["vote", "age", "w"])
    labels = {"vote": {1: "left", 2: "right", 3: "none"}}
    pyreadstat.write_sav(frame, str(own.path("survey.sav")), variable_value_labels=labels)
    return made


@pytest.fixture(scope="module")
def people(root, chromium):
    from playwright.sync_api import sync_playwright

    with running_studio(root.folder) as addresses, sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=str(chromium), args=["--no-sandbox", "--disable-gpu"])
        both = [Person(browser, address) for address in addresses.values()]
        yield both
        for person in both:
            person.leave()
        browser.close()


def plan(person, name, *, rows):
    """Open the account and keep a plan."""
    person.goto(f"/d/{name}/quote?epsilon=1&rows={rows}&rows_about={rows}")
    choose_the_cap(person)
    person.click("Open the account")
    person.wait("The account is open")
    person.click("Keep this plan and go on")
    person.wait("The plan is kept")


def pay(person, name, page=None):
    page = page or person.page
    page.fill("#confirm", name)
    page.get_by_role("button", name="Pay epsilon").click()
    page.wait_for_url("**/job/**")
    return re.search(r"/job/([0-9a-f]{32})", page.url)[1]


def clean(person):
    faults = person.faults()
    assert faults == [], f"{person.page.url}: {faults}"


def test_from_one_click_to_a_signed_release(root, people):
    """The example is released and verified; two names before it leaves the house."""
    first, second = people
    first.goto("/")
    first.page.get_by_role("button", name=re.compile("example", re.IGNORECASE)).first.click()
    first.page.wait_for_url("**/d/example/**")
    first.goto("/d/example/quote?rows=500&rows_about=500")
    clean(first)
    what_was_chosen_stays(first.page)
    first.click("Open the account")
    first.wait("The account is open")
    clean(first)
    account = releases.open_account(root.path("example", "example.account"))
    assert account.epsilon == 10, "the cap that was chosen, although the slider moved"
    first.page.locator("#epsilon").focus()
    first.page.keyboard.press("ArrowRight")
    first.page.wait_for_url("**epsilon=1.05**")
    first.wait("2.86 times at most")
    first.click("Keep this plan and go on")
    first.wait("The plan is kept")
    clean(first)
    nonce = pay(first, "example")
    first.wait("Was it charged?")
    assert "Everything that the release states" in first.page.content()
    clean(first)
    account = releases.open_account(root.path("example", "example.account"))
    assert [charge.state.value for charge in account.history()] == ["committed"]
    assert releases.verify(root.path("example", "releases", "1")).is_valid
    assert jobs.find(root.folder, nonce).state is JobState.DONE
    first.goto("/d/example/report")
    clean(first)
    first.goto("/d/example/publish/1")
    first.wait("Everything that the release states")
    clean(first)
    first.click("I have looked at it and approve")
    first.wait("Waiting for another person")
    second.goto("/d/example/publish/1")
    second.click("I have looked at it and approve")
    second.wait("Two people have approved it.")
    second.click("Write the passport and sign")
    second.wait("is signed with the key")
    with second.page.expect_download() as taken:
        second.click("Download as zip", role="link")
    assert taken.value.suggested_filename == "example-1.zip"
    second.goto("/d/example/publish")
    second.wait("charged")
    clean(second)


def what_was_chosen_stays(page):
    """The price is put in place anew while the controls move; what somebody opened or chose in it is not lost."""
    page.get_by_text("How the price is split").click()
    page.locator("input[name=epsilon][type=radio][value='10']").check()
    page.select_option("#cap-delta", "1e-05")
    page.fill("#rows_about", "600")
    page.locator("#epsilon").focus()
    page.keyboard.press("ArrowRight")
    page.wait_for_url("**rows_about=600**epsilon=1.05**")
    page.get_by_text("2.86 times at most").first.wait_for()
    assert page.locator("details", has_text="How the price is split").get_attribute("open") is not None
    assert page.locator("input[name=epsilon][type=radio][value='10']").is_checked()
    assert page.locator("#error-fields input[name=rows_about]").get_attribute("value") == "600", "for the error named"
    page.keyboard.press("ArrowLeft")
    page.wait_for_url("**epsilon=1.0&**")
    page.get_by_text("2.72 times at most").first.wait_for()


def test_stays_of_people_two_tabs_pay_once_and_the_report(root, people):
    person = people[0]
    plan(person, "stays", rows=120)
    assert "any one person" in person.page.content()
    tab = person.tab(f"{person.home}/d/stays/release")
    first, second = pay(person, "stays"), pay(person, "stays", tab)
    assert first == second
    person.wait("Was it charged?")
    person.wait("Was it charged?", tab)
    tab.close()
    history = releases.open_account(root.path("stays", "stays.account")).history()
    assert [(charge.state.value, charge.guarantee.neighbours.value) for charge in history] == [
        ("committed", "add-remove-person")
    ]
    person.goto("/d/stays/report")
    person.page.fill("#by", "Data access board")
    person.click("Fix these limits")
    person.wait("The limits are fixed")
    clean(person)
    person.page.select_option("#risk", "none")
    person.click("Open the report")
    person.click("Read the report", role="link")
    person.page.frame_locator("iframe").locator("h1").wait_for()
    clean(person)


def test_a_survey_with_weights(root, people):
    person = people[0]
    person.goto("/d/survey/data")
    clean(person)
    person.page.get_by_label("Column with the weights").select_option("w")
    person.click("Save the weight")
    person.wait("is the weight now")
    assert Codebook.load(root.path("survey", "codebook.toml")).weight == "w"
    plan(person, "survey", rows=80)
    person.page.get_by_label("sav").check()
    pay(person, "survey")
    person.wait("Was it charged?")
    folder = root.path("survey", "releases", "1")
    assert (folder / "synthetic.sav").is_file() and releases.verify(folder).is_valid


def test_a_cancelled_and_a_killed_release_and_an_anonymised_table(root, people):
    person = people[0]
    plan(person, "patients", rows=300_000)
    nonce = pay(person, "patients")
    person.click("Cancel")
    person.wait("Was it charged?")
    job = jobs.find(root.folder, nonce)
    account = releases.open_account(root.path("patients", "patients.account"))
    counted = [charge for charge in account.history() if charge.state.value != "cancelled"]
    if job.state is JobState.CANCELLED:  # unless it had finished already
        assert counted == [] and "No." in person.page.locator(".charge").inner_text()
    else:
        assert job.state is JobState.DONE and len(counted) == 1
    before = len(counted)
    person.goto("/d/patients/release")
    nonce = pay(person, "patients")
    folder = root.folder / jobs.FOLDER / nonce
    deadline = time.monotonic() + 120
    while not (folder / jobs.CHARGE).exists() and time.monotonic() < deadline:
        time.sleep(0.01)
    with suppress(ProcessLookupError):  # done already
        os.kill(int((folder / jobs.PID).read_text()), signal.SIGKILL)
    person.wait("Was it charged?")
    assert "Ended without a result" in person.page.content() or "Done" in person.page.content()
    assert person.page.locator(".charge").inner_text().startswith("Yes.")
    assert len([one for one in account.history() if one.state.value != "cancelled"]) == before + 1
    clean(person)
    person.goto("/d/patients/anonymise")
    clean(person)
    person.click("Weigh candidates")
    person.click("Compare them", role="link")
    clean(person)
    person.click("Make this one")
    person.wait("Checked at once")
    person.goto("/d/patients/others")
    clean(person)
