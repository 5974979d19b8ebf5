"""Linked tables in the studio without a browser: edited table by table, split from one table, and priced."""

import re
import shutil
import time

import pytest
from studio_visitor import Visitor

from understudy.codebook import LinkedCodebook
from understudy.facade import demo, releases, tables
from understudy.facade.book_edits import edit_column, remove_rule, set_cap
from understudy.facade.linked import declare_tables
from understudy.facade.linked_looks import evaluate_linked
from understudy.studio import jobs
from understudy.studio.books import lines_of
from understudy.studio.jobs import JobState
from understudy.studio.looking import look
from understudy.studio.looks import find_look
from understudy.studio.workspace import Root, new_dataset, private_folder

BOOK = """format = 1  # ours

[tables.patients]
key = "patient_id"

[[tables.patients.columns]]
name = "sex"  # as registered
kind = "categorical"
levels = ["F", "M"]

[tables.stays]
parent = "patients"
parent_key = "patient_id"
cap = 3

# the wards of the house
[[tables.stays.columns]]
name = "ward"
kind = "categorical"
levels = ["A", "B"]
"""


@pytest.fixture
def book(tmp_path):
    place = tmp_path / "codebook.toml"
    place.write_text(BOOK)
    return place


def test_an_edit_of_a_linked_table_keeps_the_text_and_asks_for_a_new_attestation(book):
    edit_column(book, "ward", {"levels": ["A", "B", "C"]}, table="stays")
    changed = LinkedCodebook.load(book)
    assert changed.table("stays").book.column("ward").levels == ("A", "B", "C")
    assert changed.unattested == ("stays.ward",)
    text = book.read_text()
    assert "# ours" in text and "# as registered" in text and "# the wards of the house" in text
    edit_column(book, "ward", {"description": "of the house"}, table="stays")
    assert LinkedCodebook.load(book).unattested == ("stays.ward",)


def test_a_cap_that_changes_has_to_be_attested_again(book):
    set_cap(book, "stays", 3)
    assert book.read_text() == BOOK, "nothing has changed"
    set_cap(book, "stays", 5)
    changed = LinkedCodebook.load(book)
    assert changed.table("stays").cap == 5 and changed.unattested == ("[stays]",)
    assert "# the wards of the house" in book.read_text()


RULES = """
# of one table
[[tables.patients.constraints]]
kind = "impossible"
cells = { sex = "F", born = "A" }

[[tables.stays.constraints]]
kind = "impossible"
cells = { ward = "A", from = "A" }

# across
[[rules]]
kind = "impossible"
[rules.cells]
"patients.sex" = ["M"]
"stays.ward" = ["B"]
"""
MORE = '\n[[tables.{0}.columns]]\nname = "{1}"\nkind = "categorical"\nlevels = ["A", "B"]\n'


def test_a_rule_of_linked_tables_is_taken_back_where_it_stands(tmp_path):
    """Those that one table has for itself, and those across tables."""
    own = new_dataset(Root.at(tmp_path), "linked", title="Linked", data="files")
    own.codebook.write_text(BOOK + MORE.format("patients", "born") + MORE.format("stays", "from") + RULES)
    before, visitor, here = own.codebook.read_text(), Visitor(tmp_path), "/d/linked/codebook/rules"
    taken = (
        r'name="shown" value="(\w+)"><input type="hidden" name="table" value="(\w*)">'
        r'<button name="rule" value="([^"]+)"'
    )
    forms = re.findall(taken, visitor.get(here).text)
    assert [table for _, table, _ in forms] == ["patients", "stays", ""]
    for number, (_, table, rule) in enumerate(forms):
        shown = re.search(r'name="shown" value="(\w+)"', visitor.get(here).text)[1]
        visitor.done(f"{here}/back", {"shown": shown, "table": table, "rule": rule})
        book = LinkedCodebook.load(own.codebook)
        kept = [*(len(one.book.constraints) for one in book.tables), len(book.rules)]
        assert kept == [int(place > number) for place in range(3)]
        text = own.codebook.read_text()
        assert "# the wards of the house" in text and ("# across" in text) == (number < 2) and "# of one" not in text
    for _ in forms:
        visitor.done("/d/linked/codebook/undo")
    assert own.codebook.read_text() == before
    assert remove_rule(own.codebook, LinkedCodebook.load(own.codebook).rules[0].title).rules == ()


def test_one_table_is_split_edited_attested_and_priced(tmp_path):
    demo.example_histories(tmp_path / "stays", patients=60, one_file=True)
    shutil.move(tmp_path / "stays" / "stays.toml", tmp_path / "stays" / "codebook.toml")
    own = new_dataset(Root.at(tmp_path), "stays", title="Stays", data="stays.csv")
    one = own.codebook.read_text()
    visitor = Visitor(tmp_path)
    visitor.done("/d/stays/split/look")
    visitor.wait("stays")
    page = visitor.get("/d/stays/split").text
    seen = find_look(own, "persons").seen
    assert "sex" in seen["constant"] and "people have several rows" in page
    fields = {f"constant-{n}": "1" for n, name in enumerate(seen["differing"]) if name in seen["constant"]}
    rules = {f"rule-{n}": "most frequent" for n, people in enumerate(seen["differing"].values()) if people}
    tables = {"upper": "patients", "lower": "stays", "cap": "4", "key": "", "order": ""}
    refused = visitor.post("/d/stays/split", {**fields, **rules, **tables, "cap": "many"}, came_from="/d/stays/split")
    again = visitor.get(refused.headers["location"]).text
    assert 'name="cap" min="1" step="1" required value="many" aria-invalid="true"' in again
    visitor.done("/d/stays/split", {**fields, **rules, **tables})
    visitor.wait("stays")
    assert find_look(own, "parted").problem == ""
    lines = lines_of(own)
    assert {line.table for line in lines} == {"patients", "stays"}
    assert any(line.bars for line in lines if line.table == "patients")
    page = visitor.get("/d/stays/codebook").text
    assert "Table patients" in page and "At most 4 rows of each take part" in page
    assert "Table stays:" in visitor.get("/d/stays/codebook/review").text
    visitor.done("/d/stays/data/caps", {"cap-1": "3"})
    number = next(line.number for line in lines if line.spelled == "patients.sex")
    shown = visitor.get(f"/d/stays/codebook/column/{number}").text
    assert "Column patients.sex" in shown and "Rows of each level of sex" in shown
    visitor.done(f"/d/stays/codebook/column/{number}", {"kind": "categorical", "levels": "F\nM\nX", "role": "other"})
    waiting = LinkedCodebook.load(own.codebook).unattested
    assert "patients.sex" in waiting and "[stays]" in waiting and "patients.sex is constant" in waiting
    page = visitor.get("/d/stays/codebook/attest").text
    assert "Keys, parent and cap of the table stays" in page and "patients.sex is the same in all rows" in page
    named = [("column", name) for name in waiting]
    visitor.done("/d/stays/codebook/attest", [("by", "A. Meyer"), ("source", "form 7"), *named])
    assert LinkedCodebook.load(own.codebook).is_public

    low, high = (visitor.get(f"/d/stays/quote/price?epsilon={e}&rows=40").text for e in ("1", "2"))
    assert "There is no forecast for linked tables" in low and "2.72 times at most" in low and "7.39" in high
    assert "person" in re.search(r'name="neighbours" value="([^"]+)"', low)[1]
    for _ in range(4):
        visitor.done("/d/stays/codebook/undo")
    assert own.codebook.read_text() == one, "undo goes back to one table"


def waited(own, nonce, patience=300):
    """A job that has ended."""
    job, until = jobs.find(own.root.folder, nonce), time.monotonic() + patience
    while job.state is JobState.RUNNING and time.monotonic() < until:
        time.sleep(0.05)
    return job


def linked_release(tmp_path):
    """A data set of linked tables with people kept back, and one release of it that the account paid."""
    demo.example_histories(tmp_path / "hospital", patients=80)
    own = new_dataset(Root.at(tmp_path), "hospital", title="Hospital", data=".", holdout="held-out")
    shutil.move(tmp_path / "hospital" / "hospital.toml", own.path("codebook.toml"))
    releases.create_account(own.account, dataset="hospital", epsilon=3.0, delta=1e-5, neighbours="add-remove-person")
    tables.synthesize(
        own.data, own.codebook, 60, epsilon=2.0, delta=1e-6, account=own.account, out=private_folder(own.releases) / "1"
    )
    return own


def test_the_report_of_linked_tables_waits_for_limits_and_is_held_against_them(tmp_path):
    own = linked_release(tmp_path)
    visitor = Visitor(tmp_path)
    here = "/d/hospital/report"
    screen = visitor.get(here).text
    assert (
        "Fix the limits above first" in screen and 'name="nonce"' not in screen and 'name="limit-share_error"' in screen
    )
    early = visitor.post(f"{here}/1", {"nonce": "1" * 32}, came_from=here)
    assert early.status_code == 303 and "limits of the board first" in visitor.get(here).text
    assert jobs.all_jobs(own.root.folder) == [] and releases.open_account(own.account).looks() == []
    fixed = visitor.done(
        f"{here}/board", {"limit-share_error": "0.07", "limit-most_epsilon": "1", "by": "Access board"}
    )
    assert "--board hospital/board.toml" in fixed.text and "us.evaluate_linked(" in fixed.text
    assert "board=&#34;hospital/board.toml&#34;" in fixed.text
    nonce = re.search(r'name="nonce" value="([0-9a-f]{32})"', visitor.get(here).text)[1]
    visitor.post(f"{here}/1", {"nonce": nonce})
    job = waited(own, nonce)
    assert job.state is JobState.DONE, job.result
    assert [what for _, what in releases.open_account(own.account).looks()] == ["evaluation of hospital/releases/1"]
    page = visitor.get(f"{here}/1/page").text
    assert "Access board" in page and "At these limits: do not publish. Too little." in page
    assert "Limits that the verdicts are held against" in page and "limit 7)" in page
    later = visitor.post(f"{here}/board", {"limit-share_error": "0.5", "by": "B"}, came_from=here)
    assert later.status_code == 303 and "its limits stand" in visitor.get(here).text


def test_a_map_of_linked_tables_has_a_place_for_its_public_table(tmp_path):
    """As for one table: it is named beside the proposal, and the data themselves are refused as one."""
    own = new_dataset(Root.at(tmp_path), "linked", title="Linked", data="files")
    own.path("files").mkdir()
    own.codebook.write_text(BOOK + MORE.format("stays", "from"))
    own.path("files", "patients.csv").write_text("patient_id,sex\n" + "".join(f"{n},F\n" for n in range(200)))
    own.path("files", "stays.csv").write_text(
        "patient_id,ward,from\n" + "".join(f"{n % 200},{'AB'[n % 2]},{'BA'[n % 2]}\n" for n in range(400))
    )
    (tmp_path / "wards.csv").write_text("ward,from\nA,B\nB,A\n")
    assert look(own, "rules")
    (fixes, *_) = [one for one in find_look(own, "rules").seen["proposals"] if one["needs_map"]]
    assert set(fixes["columns"]) == {"stays.ward", "stays.from"}
    visitor, here, field = Visitor(tmp_path), "/d/linked/codebook/rules", f"map-{fixes['id']}"
    shown = visitor.get(here).text
    assert f'name="{field}"' in shown and "--map stays." in shown
    signed = {"accept": fixes["id"], "by": "A. Meyer", "source": "the house"}
    assert "name the public table" in visitor.done(here, {**signed, field: ""}).text
    visitor.done(here, {**signed, field: "linked/files/stays.csv"})
    visitor.wait("linked")
    assert find_look(own, "accepted").problem and "constraints" not in own.codebook.read_text()
    visitor.done(here, {**signed, field: "wards.csv"})
    visitor.wait("linked")
    assert find_look(own, "accepted").problem == ""
    book = LinkedCodebook.load(own.codebook)
    (rule,) = book.table("stays").book.constraints
    assert rule.kind == "determines" and rule.attestation.by == "A. Meyer" and book.is_public


def untidy(own):
    """The files as another house writes them, and a codebook that says how they are read; and a tidy copy of them."""
    tidy = own.path("tidy")
    tidy.mkdir()
    for name in ("patients", "stays", "diagnoses"):
        for folder in ("", "held-out"):
            place = own.path(folder, f"{name}.csv") if folder else own.path(f"{name}.csv")
            text = place.read_text().replace('"home"', '"?"')
            (tidy / folder).mkdir(exist_ok=True)
            (tidy / folder / place.name).write_text(text)
            text = text.replace('"F"', '"F  "').replace('"M"', '"M  "').replace('"?"', '"99"')
            text = re.sub(r"(\d{4})-(\d\d)-(\d\d)", r"\3.\2.\1", text)
            place.write_text(text.replace(",", ";") if name == "stays" else text)
    plain = own.codebook.read_text().replace('levels = ["home", "care"', 'missing = "?"\nlevels = ["care"')
    (tidy / "codebook.toml").write_text(plain)
    assert 'missing = "?"' in plain
    for line, reading in (
        ('levels = ["F", "M"]\n', "[tables.patients.columns.reading]\nstrip = true"),
        ('levels = ["care", "died"]\n', '[tables.stays.columns.reading]\nmissing = ["99"]'),
        ("end = 2019-12-31\n", '[tables.stays.columns.reading]\ndates = ["DD.MM.YYYY"]'),
    ):
        assert plain.count(line) == 1
        plain = plain.replace(line, f"{line}\n{reading}\n")
    own.codebook.write_text(f'{plain}\n[tables.stays.file]\ndelimiter = ";"\n')
    return tidy


def test_a_report_on_linked_tables_reads_the_data_as_the_codebook_says(tmp_path):
    """Blanks behind values, codes for missing, other days: the release's own codebook knows its own rows only."""
    demo.example_histories(tmp_path / "hospital", patients=80)
    own = new_dataset(Root.at(tmp_path), "hospital", title="Hospital", data=".", holdout="held-out")
    shutil.move(tmp_path / "hospital" / "hospital.toml", own.path("codebook.toml"))
    tidy = untidy(own)
    release = private_folder(own.releases) / "1"
    tables.synthesize(own.data, own.codebook, 60, epsilon=2.0, delta=1e-6, out=release)

    wanted = evaluate_linked(tidy, release, holdout=tidy / "held-out").headlines
    assert evaluate_linked(own.data, release, own.codebook, holdout=own.holdout).headlines == wanted

    visitor = Visitor(tmp_path)
    visitor.done("/d/hospital/report/board", {"limit-share_error": "0.05", "by": "Access board"})
    shown = visitor.get("/d/hospital/report").text
    assert "--codebook hospital/codebook.toml" in shown and "book=&#34;hospital/codebook.toml&#34;" in shown
    nonce = re.search(r'name="nonce" value="([0-9a-f]{32})"', shown)[1]
    visitor.post("/d/hospital/report/1", {"nonce": nonce})
    job = waited(own, nonce)
    assert job.state is JobState.DONE, job.result
    page = visitor.get("/d/hospital/report/1/page").text
    by_hand = tmp_path / "by-hand.html"
    evaluate_linked(tidy, release, holdout=tidy / "held-out", board=own.path("board.toml"), out=by_hand)
    told = [re.findall(r"\d+(?:\.\d+)? ?%", re.sub("<[^>]+>", " ", text)) for text in (page, by_hand.read_text())]
    assert told[0] == told[1] and told[0]
    own.codebook.write_text(own.codebook.read_text().replace('"north", ', ""))
    assert "--codebook" not in visitor.get("/d/hospital/report").text, "edited since: it is about another release"


def test_a_whole_database_is_drafted_as_linked_tables_or_one_of_them_alone(tmp_path):
    duckdb = pytest.importorskip("duckdb")
    demo.example_histories(tmp_path / "source", patients=60)
    with duckdb.connect(str(tmp_path / "clinic.duckdb")) as database:
        for name in ("patients", "stays", "diagnoses"):
            database.execute(f"CREATE TABLE {name} AS SELECT * FROM read_csv('{tmp_path / 'source' / name}.csv')")
    visitor = Visitor(tmp_path)
    assert "clinic.duckdb" in visitor.get("/new").text
    visitor.done("/new", {"file": "clinic.duckdb"})
    visitor.wait("clinic")
    own = Root.at(tmp_path).dataset("clinic")
    shown = visitor.get("/d/clinic/data").text
    assert "One table, or all of them?" in shown and "all tables together, as linked tables" in shown
    assert [table["name"] for table in find_look(own, "rows").seen["tables"]] == ["diagnoses", "patients", "stays"]
    visitor.done("/d/clinic/data/reading", {"table": "stays"})
    visitor.wait("clinic")
    alone = visitor.get("/d/clinic/data").text
    assert "One table, or all of them?" not in alone and "How the file is read" in alone
    visitor.done("/d/clinic/data/reading", {"table": ""})
    visitor.wait("clinic")
    visitor.done("/d/clinic/data/draft")
    visitor.wait("clinic")
    book = LinkedCodebook.load(own.codebook)
    assert {table.name: table.parent for table in book.tables} == {
        "patients": None,
        "stays": "patients",
        "diagnoses": "stays",
    }
    look = find_look(own, "columns")
    assert look.problem == "" and look.seen["counts"]["stays.ward"] and look.seen["questions"]
    assert "At most 5 rows of each take part" in visitor.get("/d/clinic/codebook").text
    assert "one for each person" in visitor.get("/d/clinic/data").text
    assert "Table stays:" in visitor.get("/d/clinic/codebook/review").text
    assert "2.72 times at most" not in visitor.get("/d/clinic/quote/price?epsilon=1&rows=40").text, "drafted"
    declare_tables(own.codebook, everything=True, by="A. Meyer", source="form 7")
    shown = visitor.get("/d/clinic/quote/price?epsilon=1&rows=40").text
    assert "2.72 times at most" in shown
    relation = re.search(r'name="neighbours" value="([^"]+)"', shown)[1]
    visitor.done("/d/clinic/quote/account", {"epsilon": "2", "delta": "1e-5", "neighbours": relation})
    visitor.done("/d/clinic/quote", {"epsilon": "1", "delta": "1e-6", "rows": "40"})
    nonce = re.search(r'name="nonce" value="([0-9a-f]{32})"', visitor.get("/d/clinic/release").text)[1]
    visitor.post("/d/clinic/release", {"nonce": nonce, "confirm": "clinic"})
    assert waited(own, nonce).state is JobState.DONE
    assert releases.verify(own.releases / "1").is_valid


def test_a_view_in_a_database_cannot_read_other_files(tmp_path):
    duckdb = pytest.importorskip("duckdb")
    (tmp_path / "outside.csv").write_text("a,b\nsecret,1\n")
    root = tmp_path / "root"
    root.mkdir()
    with duckdb.connect(str(root / "odd.duckdb")) as database:
        database.execute("CREATE TABLE people AS SELECT 1 AS id, 'F' AS sex")
        database.execute(f"CREATE VIEW spy AS SELECT * FROM read_csv('{tmp_path / 'outside.csv'}')")
    visitor = Visitor(root)
    visitor.done("/new", {"file": "odd.duckdb"})
    visitor.wait("odd")
    shown = visitor.get("/d/odd/data").text
    assert "secret" not in shown and find_look(Root.at(root).dataset("odd"), "rows").problem
