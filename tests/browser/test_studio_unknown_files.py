"""A file that the studio has never seen, from the first look to what outsiders see of its release.

Each screen on the way is checked by axe-core in light and dark, measured on a phone, and answers from what it says:
nothing is prepared beside it.
"""

import random
import re

import pytest
from studio_stage import Person, running_studio

from understudy.codebook import Codebook
from understudy.facade import releases
from understudy.studio.workspace import Root

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    return tmp_path_factory.mktemp("unknown")


@pytest.fixture(scope="module")
def person(root, chromium):
    from playwright.sync_api import sync_playwright

    with running_studio(root) as addresses, sync_playwright() as driver:
        opened = driver.chromium.launch(executable_path=str(chromium), args=["--no-sandbox", "--disable-gpu"])
        person = Person(opened, addresses[""])
        yield person
        person.leave()
        opened.close()


def described(person, file):
    """Looked at and drafted; the address of the data set."""
    page = person.page
    person.goto("/new")
    page.get_by_label(file, exact=True).check()
    person.click("Look at the first rows")
    page.get_by_role("region", name="First rows").wait_for()
    assert person.faults() == []
    person.click("Draft the codebook")
    page.get_by_role("link", name="Review the columns").wait_for()
    assert person.faults() == []
    return re.search(r"/d/[^/]+", page.url)[0]


def reviewed(person, here):
    """Every question has its answer on the screen: the proposed ones are taken."""
    page = person.page
    person.goto(f"{here}/codebook/review")
    page.get_by_label("Your name").fill("A. Meyer")
    assert person.faults() == []
    person.click("Write my answers into the codebook")
    page.get_by_role("link", name="Attest", exact=True).nth(1).wait_for()
    assert page.locator(".light.bad, .light.open").count() == 0, "no column is left without an answer"


def attested(person, here, source):
    page = person.page
    person.goto(f"{here}/codebook/attest")
    for box in page.locator("input[name=column]").all():
        box.check()
    page.get_by_label("Where it is publicly known from").fill(source)
    assert person.faults() == []
    person.click("Attest the ticked columns")
    page.get_by_role("link", name="Go to budget and quote").wait_for()


def paid(person, here, *, rows, formats=()):
    """Account, plan, payment; the folder of the release."""
    page = person.page
    person.goto(f"{here}/quote?epsilon=1&rows={rows}&rows_about={rows}")
    person.click("Open the account")
    person.wait("The account is open")
    assert person.faults() == []
    person.click("Keep this plan and go on")
    person.wait("The plan is kept")
    for name in formats:
        page.get_by_label(name).check()
    page.fill("#confirm", here.removeprefix("/d/"))
    person.click("Pay epsilon")
    person.wait("Was it charged?")
    assert page.locator(".charge").inner_text().startswith("Yes.")
    assert person.faults() == []


def test_a_survey_with_weights_from_its_file(root, person):
    """An SPSS file with labels, from the first look to what the release says about its weights."""
    pd, pyreadstat = pytest.importorskip("pandas"), pytest.importorskip("pyreadstat")
    drawn = random.Random(2)
    rows = [(n % 3 + 1, 18 + n % 70, round(drawn.uniform(0.4, 2.6), 3)) for n in range(300)]
    labels = {"vote": {1: "left", 2: "right", 3: "none"}}
    frame = pd.DataFrame(rows, columns=["vote", "age", "w"])
    pyreadstat.write_sav(frame, str(root / "survey.sav"), variable_value_labels=labels)
    page = person.page
    here = described(person, "survey.sav")
    person.wait("1 = left")
    reviewed(person, here)
    person.goto(f"{here}/data")
    page.get_by_label("Column with the weights").select_option("w")
    assert person.faults() == []
    person.click("Save the weight")
    person.wait("is the weight now")
    attested(person, here, "questionnaire of 2024")
    own = Root.at(root).dataset("survey")
    assert Codebook.load(own.codebook).weight == "w" and Codebook.load(own.codebook).is_public
    paid(person, here, rows=150, formats=("sav",))
    folder = own.releases / "1"
    assert releases.verify(folder).is_valid and Codebook.load(folder / "codebook.toml").weight == "w"
    back, facts = pyreadstat.read_sav(str(folder / "synthetic.sav"))
    assert len(back) == 150 and facts.variable_value_labels["vote"][1.0] == "left"
    person.click("See it as outsiders will", role="link")
    person.wait("Everything that the release states")
    page.frame_locator("iframe").locator("h1").wait_for()
    assert person.faults() == []
