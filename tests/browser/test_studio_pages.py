"""One studio over a fresh root, as `make studio` opens it: counted clicks, the keyboard alone, and an unknown file.

The tests follow each other on one shelf: first it is empty.
"""

import fcntl
import json
import secrets
import shutil
import time

import pytest
from studio_stage import Person, choose_the_cap, running_studio

from understudy.codebook import LinkedCodebook
from understudy.facade import demo, releases
from understudy.studio import jobs
from understudy.studio.kept import keep
from understudy.studio.looking import look
from understudy.studio.workspace import Root, new_dataset

pytestmark = pytest.mark.browser

COUNTING = """
addEventListener("pointerdown", (event) => event.isTrusted && window.pressed("click", event.target.tagName), true);
addEventListener("keydown", (event) => event.isTrusted && window.pressed("key", event.key), true);
"""
MOST_CLICKS = 15


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    return tmp_path_factory.mktemp("fresh")


@pytest.fixture(scope="module")
def person(root, chromium):
    from playwright.sync_api import sync_playwright

    with running_studio(root) as addresses, sync_playwright() as driver:
        opened = driver.chromium.launch(executable_path=str(chromium), args=["--no-sandbox", "--disable-gpu"])
        person = Person(opened, addresses[""])
        yield person
        person.leave()
        opened.close()


def test_a_novice_releases_the_example_in_few_clicks(root, person):
    """From the empty shelf to a signed release in a zip file; the browser itself counts what is pressed."""
    pressed = []
    person.context.expose_binding("pressed", lambda _, kind, what: pressed.append((kind, what)))
    person.context.add_init_script(COUNTING)
    page = person.page
    person.goto("/")
    person.click("Try it with an example")
    person.click("Go to budget and quote", role="link")
    choose_the_cap(person)
    person.click("Open the account")
    person.wait("The account is open")
    person.click("Keep this plan and go on")
    page.get_by_label("to confirm").click()
    page.keyboard.type("example")
    person.click("Pay epsilon")
    person.wait("Was it charged?")
    released = sum(kind == "click" for kind, _ in pressed)
    assert releases.verify(root / "example" / "releases" / "1").is_valid
    person.click("See it as outsiders will", role="link")
    person.wait("Everything that the release states")
    person.click("Write the passport and sign")
    person.wait("is signed with the key")
    with page.expect_download() as taken:
        person.click("Download as zip", role="link")
    assert taken.value.suggested_filename == "example-1.zip"
    clicks = sum(kind == "click" for kind, _ in pressed)
    typed = "".join(what for kind, what in pressed if kind == "key")
    assert (released, clicks) == (7, 10) and clicks <= MOST_CLICKS and typed == "example"


FOCUSED = """() => {
  const here = document.activeElement;
  const label = here.labels?.[0]?.innerText ?? "";
  return {
    names: [here.innerText, here.ariaLabel, label, here.name].filter(Boolean).map((words) => words.trim()),
    ring: getComputedStyle(here).outlineStyle,
  };
}"""
"""What a person who tabs is told of the place where they are, and whether they can see it."""


def tab_to(page, name):
    """To what is called so, or begins so, by Tab alone."""
    met = []
    for _ in range(150):
        page.keyboard.press("Tab")
        focused = page.evaluate(FOCUSED)
        met += focused["names"][:1]
        if any(words.startswith(name) for words in focused["names"]):
            assert focused["ring"] != "none", f"{name} has no ring when it is focused"
            return
    pytest.fail(f"the keyboard does not reach {name!r}, only {met}")


def press(page, name):
    tab_to(page, name)
    page.keyboard.press("Enter")


def test_the_keyboard_is_enough(root, person):
    """Tab and Enter alone: the example, its codebook, a column and its undo."""
    page = person.page
    person.goto("/")
    tab_to(page, "Skip to the screen")
    press(page, "Codebook")
    page.wait_for_url("**/d/example/codebook")
    press(page, "sex")
    page.wait_for_url("**/column/2")
    tab_to(page, "description")
    page.keyboard.press("Control+A")
    page.keyboard.type("As registered")
    page.keyboard.press("Enter")
    person.wait("is saved in the codebook")
    assert "As registered" in (root / "example" / "codebook.toml").read_text()
    page.go_back()
    person.goto("/d/example/codebook")
    press(page, "Undo the last change (1)")
    person.wait("The last change is taken back.")
    assert "As registered" not in (root / "example" / "codebook.toml").read_text()


def test_the_keyboard_opens_pays_reads_and_signs(root, person):
    """Account, payment, report and signature without a mouse, from the codebook to the zip file."""
    pressed = []
    demo.example_patients(root / "keys", rows=300)
    shutil.move(root / "keys" / "patients.toml", root / "keys" / "codebook.toml")
    own = new_dataset(Root.at(root), "keys", data="patients.csv", holdout="held-out.csv")
    page = person.page
    page.context.expose_binding("by_keys", lambda _, kind: pressed.append(kind))
    page.context.add_init_script('addEventListener("pointerdown", () => window.by_keys("pointer"), true);')
    person.goto("/d/keys/quote?epsilon=1&rows=200&rows_about=300")
    tab_to(page, "epsilon 1")
    assert page.locator("input[name=epsilon][type=radio]:checked").count() == 0, "reaching it chooses nothing"
    page.keyboard.press("ArrowDown")
    assert page.get_by_label("epsilon 3", exact=True).is_checked()
    tab_to(page, "Delta of all releases together")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    assert page.locator("#cap-delta").input_value() == "1e-05"
    press(page, "Open the account")
    person.wait("The account is open")
    assert releases.open_account(own.account).epsilon == 3
    tab_to(page, "Epsilon")
    page.keyboard.press("ArrowRight")
    page.wait_for_url("**epsilon=1.05**")
    person.wait("2.86 times at most")
    press(page, "Keep this plan and go on")
    person.wait("The plan is kept")
    tab_to(page, "Type the name of the data set")
    page.keyboard.type("keys")
    press(page, "Pay epsilon")
    person.wait("Was it charged?")
    (charge,) = releases.open_account(own.account).history()
    assert charge.state.value == "committed" and releases.verify(own.releases / "1").is_valid
    press(page, "Go on to the report")
    person.wait("Fix the limits above first.")
    tab_to(page, "Who sets them")
    page.keyboard.type("Data access board")
    press(page, "Fix these limits")
    person.wait("The limits are fixed")
    press(page, "Open the report")
    press_when_there(person, "Read the report")
    page.frame_locator("iframe").locator("h1").wait_for()
    assert len(releases.open_account(own.account).looks()) == 1
    press(page, "Go on to publishing")
    person.wait("Everything that the release states")
    press(page, "Write the passport and sign")
    person.wait("is signed with the key")
    assert (own.releases / "1" / "signature.json").is_file()
    with page.expect_download() as taken:
        press_when_there(person, "Download as zip")
    assert taken.value.suggested_filename == "keys-1.zip"
    assert pressed == [], "nothing of it was done with a pointer"


def press_when_there(person, name):
    """What the work leaves behind when it has ended; the screen before is loaded anew then."""
    person.page.get_by_role("link", name=name).first.wait_for()
    press(person.page, name)


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


def slow_loads(page, address):
    """From now on this screen takes longer than the time after which it is asked whether the work has ended."""
    loads = []

    def slow(route):
        loads.append(route.request.url)
        time.sleep(1.5)
        route.continue_()

    page.route(address, slow)
    return loads


def test_from_a_file_over_linked_tables_to_a_verified_release(root, person):
    """Reviewed, attested, split into persons and records, released, looked at and shown as outsiders see it."""
    encounters(root / "encounters <i>.csv")
    page = person.page
    person.goto("/")
    assert person.faults() == []
    person.click("Add a data set", role="link")
    assert person.faults() == []
    person.click("Look at the first rows")
    page.get_by_role("region", name="First rows").wait_for()
    assert page.get_by_text("note <b>0", exact=True).count() == 1, "a tag in a value is text"
    assert person.faults() == []
    loads = slow_loads(page, "**/d/encounters--i/codebook")
    person.click("Draft the codebook")
    page.get_by_role("link", name="Review the columns").wait_for()
    # where the draft is ready before the screen first comes, there is nothing to wait for
    assert len(loads) in (1, 2), "a screen that waits is loaded anew once, however long that takes"
    page.unroute("**/d/encounters--i/codebook")
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
    person.refused("is not a number", "Edges of the bins")
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
    split(person, root / "encounters--i" / "codebook.toml")
    release(person, root / "encounters--i")


def split(person, book):
    """One table becomes patients and their encounters, and one of its columns is edited."""
    page = person.page
    person.goto("/d/encounters--i/data")
    person.click("Look how the rows of one")
    page.get_by_role("button", name="Split the table").wait_for()
    assert person.faults() == []
    page.get_by_label("age stays the same within a person").check()
    page.get_by_label("What counts where age differs").select_option("most frequent")
    person.click("Split the table")
    page.get_by_role("heading", name="Table encounters").wait_for()
    page.get_by_role("link", name="Attest", exact=True).nth(1).wait_for()
    assert person.faults() == []
    person.click("gender", role="link")
    person.wait("Column encounters.gender")
    page.locator("textarea[name=levels]").fill("F\nM\nX")
    person.click("Save this column")
    person.wait("is saved in the codebook")
    assert person.faults() == []
    person.goto("/d/encounters--i/data")
    page.get_by_label("Rows of encounters for each row above").fill("2")
    person.click("Save the caps")
    person.wait("The caps are in the codebook")
    assert person.faults() == []
    person.goto("/d/encounters--i/codebook/attest")
    for box in page.locator("input[name=column]").all():
        box.check()
    page.get_by_label("Where it is publicly known from").fill("registration form 7")
    person.click("Attest the ticked columns")
    page.get_by_role("link", name="Go to budget and quote").wait_for()
    assert LinkedCodebook.load(book).is_public


def release(person, folder):
    """Priced for people, paid once, verified; the report and the page of outsiders."""
    page = person.page
    person.goto("/d/encounters--i/quote?epsilon=1&rows=60")
    person.wait("There is no forecast for linked tables")
    assert "any one person" in page.content()
    assert person.faults() == []
    choose_the_cap(person)
    person.click("Open the account")
    person.wait("The account is open")
    page.locator("#epsilon").focus()
    page.keyboard.press("ArrowRight")
    page.wait_for_url("**epsilon=1.05**")
    person.wait("2.86 times at most")
    page.get_by_text("The same by command line and in Python").click()
    assert "--epsilon 1.05" in page.locator("#same-words pre").first.inner_text()
    person.click("Keep this plan and go on")
    page.fill("#confirm", "encounters--i")
    assert person.faults() == []
    person.click("Pay epsilon")
    person.wait("Was it charged?")
    assert page.locator(".charge").inner_text().startswith("Yes.")
    assert person.faults() == []
    assert releases.verify(folder / "releases" / "1").is_valid
    (charge,) = releases.open_account(folder / "encounters--i.account").history()
    assert charge.state.value == "committed" and "person" in charge.guarantee.neighbours.value
    person.click("Go on to the report", role="link")
    person.wait("Fix the limits above first.")
    assert page.get_by_role("button", name="Open the report").count() == 0, "limits come first, of linked tables too"
    assert person.faults() == []
    page.get_by_label("The largest epsilon that a release may promise.").fill("1")
    page.fill("#by", "Data access board")
    person.click("Fix these limits")
    person.wait("The limits are fixed")
    assert releases.open_account(folder / "encounters--i.account").looks() == []
    person.click("Open the report")
    person.click("Read the report", role="link")
    report = page.frame_locator("iframe")
    report.get_by_role("heading", name="do not publish. Too little.").wait_for()
    report.get_by_text("set by Data access board").wait_for()
    assert person.faults() == []
    assert len(releases.open_account(folder / "encounters--i.account").looks()) == 1
    person.click("Go on to publishing", role="link")
    person.wait("Everything that the release states")
    assert page.locator(".audience.public.inside strong").inner_text().lower() == "public"
    page.frame_locator("iframe").locator("h1").wait_for()
    assert person.faults() == []


def test_a_whole_database_becomes_linked_tables(root, person):
    """Its tables are shown one by one, taken together, and drafted with persons on top."""
    duckdb = pytest.importorskip("duckdb")
    demo.example_histories(root / "loose", patients=40)
    with duckdb.connect(str(root / "clinic.duckdb")) as database:
        for name in ("patients", "stays", "diagnoses"):
            database.execute(f"CREATE TABLE {name} AS SELECT * FROM read_csv('{root / 'loose' / name}.csv')")
    page = person.page
    person.goto("/new")
    page.get_by_label("clinic.duckdb").check()
    person.click("Look at the first rows")
    page.get_by_role("region", name="First rows diagnoses").wait_for()
    person.wait("One table, or all of them?")
    assert person.faults() == []
    person.click("Draft the codebook")
    page.get_by_role("heading", name="Table diagnoses").wait_for()
    page.get_by_role("link", name="Review the columns").wait_for()
    assert person.faults() == []
    tables = LinkedCodebook.load(root / "clinic" / "codebook.toml").tables
    assert [table.parent for table in tables if table.name in ("patients", "diagnoses")] == [None, "stays"]


LAW = """
[[constraints]]
kind = "impossible"
source = "the calendar"
cells = { day = "Mon", number = "2" }
"""


def laws(root):
    """A table in which one column fixes another, with a rule in its codebook and proposals beside it."""
    days = ("Mon", "Tue", "Wed", "Thu")
    own = new_dataset(Root.at(root), "laws", title="Laws", data="days.csv")
    rows = [f"{days[number % 4]},{number % 4 + 1}" for number in range(400)]
    own.path("days.csv").write_text("\n".join(["day,number", *rows, ""]))
    column = '[[columns]]\nname = "{}"\nkind = "categorical"\nlevels = [{}]\n\n'
    levels = (", ".join(f'"{day}"' for day in days), '"1", "2", "3", "4"')
    own.path("codebook.toml").write_text(
        "format = 1\n\n" + "".join(map(column.format, ("day", "number"), levels)) + LAW
    )
    assert look(own, "rules")
    return own


def test_rules_are_proposed_and_one_is_taken_back(root, person):
    """Rules that are there, rules that need a public table, and packs that fit by name."""
    own = laws(root)
    demo.example_patients(root / "packed", rows=300)
    shutil.move(root / "packed" / "patients.toml", root / "packed" / "codebook.toml")
    assert look(new_dataset(Root.at(root), "packed", data="patients.csv"), "rules")
    person.goto("/d/packed/codebook/rules")
    person.wait("Public rules that fit by name")
    assert person.faults() == []
    person.goto("/d/laws/codebook/rules")
    person.wait("has to come from a public table")
    assert person.faults() == []
    person.click("Take back: never day = Mon and number = 2")
    person.wait("The rule is out of the codebook again.")
    person.wait("None yet.")
    assert "[[constraints]]" not in own.codebook.read_text() and person.faults() == []


def test_every_method_can_be_weighed_on_a_phone(root, person):
    """All methods with their reasons and numbers at once; the reasons move with the controls."""
    page = person.page
    demo.example_patients(root / "weighed", rows=300)
    shutil.move(root / "weighed" / "patients.toml", root / "weighed" / "codebook.toml")
    new_dataset(Root.at(root), "weighed", data="patients.csv")
    person.goto("/d/weighed/quote?epsilon=1&rows=300&rows_about=300")
    page.get_by_text("Other methods, for special needs").click()
    assert person.faults() == []
    page.fill("#rows", "77")
    page.locator("#why-pegs", has_text="77 rows share one epsilon of 1.").wait_for()
    page.get_by_label("privbayes").check()
    person.wait("There is no price for this")
    page.locator("#why-privbayes", has_text="It needs a public number first").wait_for()
    assert person.faults() == []


def test_work_shows_its_stages_while_it_goes_on(root, person):
    """A job goes on as long as its lock is held, here by the test."""
    new_dataset(Root.at(root), "working", data="rows.csv")
    job = jobs.Job(root=root, nonce=secrets.token_hex(16))
    job.folder.mkdir(parents=True)
    asked = {"account": "working/working.account", "out": "working/releases/1"}
    keep(job.folder / jobs.REQUEST, {"kind": "synthesize", "about": "working", "arguments": asked})
    told = [{"at": 10.0 + done, "step": "drawing rows", "done": done, "total": 400} for done in (100, 200)]
    with (job.folder / jobs.LOCK).open("wb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        (job.folder / jobs.PROGRESS).write_text(json.dumps(told[0]) + "\n")
        person.goto(f"/d/working/job/{job.nonce}")
        person.wait("25%")
        with (job.folder / jobs.PROGRESS).open("a") as progress:
            progress.write(json.dumps(told[1]) + "\n")
        person.wait("50%, about 4 minutes left")
        assert person.faults() == []
        keep(job.folder / jobs.RESULT, {"state": "cancelled"})
    person.wait("You asked for it.")
    assert person.faults() == []
