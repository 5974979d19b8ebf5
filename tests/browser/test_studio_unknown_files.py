"""Files that the studio has never seen, from the first look to a release: an encounter register and a survey.

Each screen on the way is checked by axe-core in light and dark, measured on a phone, and answers from what it says:
nothing is prepared beside it.
"""

import random
import re

import pyarrow.parquet as pq
import pytest
from studio_stage import Person, choose_the_cap, running_studio

from understudy.codebook import Codebook
from understudy.facade import releases
from understudy.studio.workspace import Root

pytestmark = pytest.mark.browser

DRUGS = [f"drug_{number}" for number in range(1, 24)]
MEASURES = [f"lab_{number}" for number in range(1, 14)]


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


def encounters(place):
    """50 columns as in diabetes130: people with several encounters, codes of diagnoses, `?` for missing, and a law."""
    drawn = random.Random(1)
    lines = [",".join(["encounter_id", "patient_nbr", "race", "gender", "age", "admission", "days", "diag_1", "diag_2",
                       "diag_3", *DRUGS, *MEASURES, "insulin", "change", "diabetesMed", "readmitted"])]  # fmt: skip
    for number in range(420):
        treated = drawn.random() < 0.6
        fields = [
            100_000 + 7 * number,
            5_000 + number // 2,
            drawn.choice(("Caucasian", "AfricanAmerican", "Asian", "?")),
            "FM"[number // 2 % 2],
            f"[{10 * (number % 9)}-{10 * (number % 9) + 10})",
            drawn.randint(1, 4),
            drawn.randint(1, 14),
            *(drawn.choice(("250", "401", "414", "428", "486", "V58", "?")) for _ in range(3)),
            *(drawn.choice(("No", "No", "Steady")) for _ in DRUGS),
            *(drawn.randint(0, 60) for _ in MEASURES),
            drawn.choice(("Steady", "Up", "Down")) if treated else "No",
            drawn.choice(("Ch", "No")),
            "Yes" if treated else "No",
            drawn.choice(("NO", "<30", ">30")),
        ]
        lines.append(",".join(map(str, fields)))
    place.write_text("\n".join([*lines, ""]))


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
    choose_the_cap(person)
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


def test_an_encounter_register_with_persons_codes_and_rules(root, person):
    encounters(root / "encounters.csv")
    (root / "lists").mkdir()
    (root / "lists" / "insulin.csv").write_text("insulin,diabetesMed\nNo,No\nSteady,Yes\nUp,Yes\nDown,Yes\n")
    page = person.page
    here = described(person, "encounters.csv")
    own = Root.at(root).dataset("encounters")
    assert page.locator("tr.column").count() == 50
    for name in ("diag_1", "diag_2", "diag_3"):
        person.goto(f"{here}/codebook")
        page.get_by_role("link", name=name, exact=True).click()
        person.wait(f"Column {name}")
        page.get_by_label("Kind").select_option("icd9")
        page.get_by_label("Word for missing").fill("?")
        person.click("Save this column")
        person.wait("is saved in the codebook")
        assert person.faults() == []
    page.go_back()
    person.wait("Column diag_3")
    person.goto(f"{here}/codebook")
    person.click("Look at the data again")
    page.get_by_role("link", name="Review the columns").wait_for()
    person.goto(f"{here}/codebook/review")
    page.get_by_label("Yes, and this column tells people apart").check()
    page.get_by_label("Column that tells people apart").fill("patient_nbr")
    page.get_by_label("At most so many rows of one person").fill("2")
    page.get_by_label("Your name").fill("A. Meyer")
    assert person.faults() == []
    person.click("Write my answers into the codebook")
    page.get_by_role("link", name="Attest", exact=True).nth(1).wait_for()
    assert page.locator(".light.bad, .light.open").count() == 0, "no column is left without an answer"

    person.goto(f"{here}/codebook/rules")
    person.click("Look for rules")
    law = page.locator("tr", has=page.locator("input[name=accept]")).filter(has_text="insulin determines diabetesMed")
    law.wait_for()
    assert person.faults() == []
    law.locator("input[name=accept]").check()
    law.get_by_role("combobox", name="Public table for").fill("lists/insulin.csv")
    page.get_by_label("Where it is publicly known from").fill("coding manual of the register")
    person.click("Say yes to the chosen rules")
    person.click("Take back")  # by mistake
    person.wait("The rule is out of the codebook again.")
    person.goto(f"{here}/codebook")
    person.click("Undo the last change")
    person.wait("The last change is taken back.")
    attested(person, here, "coding manual of the register")
    book = Codebook.load(own.codebook)
    assert book.is_public and book.unit.id == "patient_nbr" and book.unit.cap == 2
    assert {each.kind for each in book.written if each.name.startswith("diag")} == {"icd9"}
    (rule,) = book.constraints
    assert "coding manual" in str(rule.attestation or rule.source) and "A. Meyer" in own.codebook.read_text()

    paid(person, here, rows=400)
    folder = own.releases / "1"
    assert releases.verify(folder).is_valid
    (charge,) = releases.open_account(own.account).history()
    assert charge.guarantee.neighbours.value == "add-remove-person"
    rows = pq.read_table(folder / "synthetic.parquet", columns=["insulin", "diabetesMed"]).to_pylist()
    assert len(rows) == 400
    assert all((row["insulin"] == "No") == (row["diabetesMed"] == "No") for row in rows), "the rule holds in every row"


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
