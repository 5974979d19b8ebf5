"""The first three screens without a browser: a file becomes an attested codebook, and the command line agrees."""

import html
import os
import re
import signal
import subprocess
import sys
import time
from dataclasses import replace
from importlib import resources
from pathlib import Path

import pytest
from studio_visitor import Visitor

from understudy.codebook import Codebook
from understudy.errors import ParameterError
from understudy.facade.book_edits import edit_column, remove_rule, set_person
from understudy.facade.codebooks import load_codebook
from understudy.facade.peeks import first_rows
from understudy.studio.books import lines_of, progress_of
from understudy.studio.guard import Form
from understudy.studio.looking import look
from understudy.studio.looks import (
    find_look,
    is_looking,
    is_writing,
    keep_look,
    key_of,
    looking_for,
    start_look,
    stop_looks,
)
from understudy.studio.screens.review import answers_of
from understudy.studio.workspace import Root, new_dataset, private_folder, write_private

BOOK = """format = 1  # ours

[[columns]]
name = "id"
kind = "text"
role = "identifier"

[[columns]]
name = "sex"  # as registered
kind = "categorical"
levels = ["F", "M"]
origin = "drafted"

[[columns]]
name = "age"
kind = "integer"
edges = [0, 18, 65, 120]

[columns.attestation]
by = "A. Meyer"
source = "form 7"
on = 2024-05-01
"""


@pytest.fixture
def own(tmp_path):
    made = new_dataset(Root.at(tmp_path), "stays", title="Stays 2024", data="../stays.csv")
    rows = [f"{number // 2},{'FM'[number % 2]},{number % 90}" for number in range(240)]
    (tmp_path / "stays.csv").write_text("\n".join(["id,sex,age", *rows, ""]))
    made.path("codebook.toml").write_text(BOOK)
    return made


def test_a_file_becomes_an_attested_codebook(tmp_path):
    """The whole path of these screens; every look is a process of its own."""
    rows = [f"{number // 2},{'FM'[number % 2]},{number % 90},W{number % 4}" for number in range(240)]
    (tmp_path / "stays.csv").write_text("\n".join(["patient_id,sex,age,ward", *rows, ""]))
    visitor = Visitor(tmp_path)
    visitor.done("/new", {"file": "stays.csv", "title": "Stays 2024"})
    visitor.wait("stays")
    assert "<td>W3</td>" in visitor.get("/d/stays/data").text
    visitor.done("/d/stays/data/draft")
    visitor.wait("stays")
    own = visitor.root.dataset("stays")
    assert {line.name: line.state for line in lines_of(own)}["patient_id"] == "dangerous"
    questions = find_look(own, "columns").seen["questions"]
    fields = {f"panel-{place}": question["proposed"] for place, question in enumerate(questions) if question["columns"]}
    answers = {"by": "A. Meyer", "who": "column", "column": "patient_id", "cap": "2", **fields}
    visitor.done("/d/stays/codebook/review", answers)
    visitor.wait("stays")
    book = load_codebook(own.codebook)
    assert book.unit.id == "patient_id" and book.unit.cap == 2 and not book.unreviewed
    assert "Attest" in visitor.get("/d/stays/codebook").text
    waiting = [("column", name) for name in book.unattested]
    text = visitor.done("/d/stays/codebook/attest", [("by", "A. Meyer"), ("source", "form 7"), *waiting]).text
    assert load_codebook(own.codebook).is_public and "You can choose a budget now" in text
    assert "A. Meyer: 3 columns, from form 7" in visitor.get("/").text
    visitor.done("/d/stays/codebook/undo")
    assert not load_codebook(own.codebook).is_public


def test_an_edit_keeps_the_text_and_asks_for_a_new_attestation(own):
    visitor = Visitor(own.root.folder)
    fields = {"kind": "integer", "edges": "0, 21, 65, 120", "missing": "", "more_missing": "", "role": "sensitive"}
    visitor.done("/d/stays/codebook/column/2", fields)
    book = load_codebook(own.codebook)
    age = book.column("age")
    assert [int(edge) for edge in age.edges] == [0, 21, 65, 120] and age.role.value == "sensitive"
    assert age.attestation is None and not age.is_public, "nobody has attested these edges"
    text = own.codebook.read_text()
    assert "# ours" in text and "# as registered" in text
    visitor.done("/d/stays/codebook/column/2/attest", {"by": "A. Meyer", "source": "form 8"})
    assert load_codebook(own.codebook).column("age").is_attested
    visitor.done("/d/stays/codebook/undo")
    visitor.done("/d/stays/codebook/undo")
    assert own.codebook.read_text() == BOOK
    assert "there is no change to take back" in visitor.done("/d/stays/codebook/undo").text


def test_an_edit_of_words_alone_keeps_the_attestation(own):
    edit_column(own.codebook, "age", {"description": "in years", "role": "quasi-identifier"})
    assert load_codebook(own.codebook).column("age").is_attested


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        ({"kind": "categorical", "levels": ""}, "has no level"),
        ({"kind": "categorical", "levels": "F\nF"}, "twice"),
        ({"kind": "integer", "edges": "1, x"}, "is not a number"),
        ({"kind": "integer", "edges": "3, 2"}, "edges"),
        ({"kind": "date", "start": "yesterday"}, "is not a day"),
        ({"kind": "nonsense"}, "nonsense"),
    ],
)
def test_a_wrong_edit_is_told_and_changes_nothing(own, fields, sentence):
    visitor = Visitor(own.root.folder)
    text = visitor.done("/d/stays/codebook/column/1", {"missing": "", "more_missing": "", **fields}).text
    assert sentence in text and own.codebook.read_text() == BOOK


def test_a_column_can_become_another_kind(own):
    edit_column(own.codebook, "sex", {"kind": "text"})
    assert not load_codebook(own.codebook).column("sex").is_modelled
    edit_column(own.codebook, "sex", {"kind": "ordinal", "levels": ["M", "F"]})
    column = load_codebook(own.codebook).column("sex")
    assert column.levels == ("M", "F") and column.is_modelled and not column.is_public


def test_codes_of_a_public_list_are_taken_in(tmp_path):
    """A draft leaves such columns out and names the pack; one click takes all of them in, as the data write them."""
    codes = ("250", "401", "428", "V58", "?")
    rows = [f"{codes[number % 5]},{codes[number % 4]},{'FM'[number % 2]}" for number in range(200)]
    (tmp_path / "stays.csv").write_text("\n".join(["first,second,sex", *rows, ""]))
    own = new_dataset(Root.at(tmp_path), "stays", data="../stays.csv")
    left_out = '[[columns]]\nname = "{}"\nkind = "text"\nrole = "identifier"\n'
    sex = '[[columns]]\nname = "sex"\nkind = "categorical"\nlevels = ["F", "M"]\n'
    own.codebook.write_text("format = 1\n" + left_out.format("first") + left_out.format("second") + sex)
    why = "many texts: draft it with `--kind {}=icd9`"
    reasons = {name: why.format(name) for name in ("first", "second")}
    keep_look(own, "draft", "", seen={"left_out": reasons, "guesses": []})
    visitor = Visitor(tmp_path)
    screen = visitor.get("/d/stays/codebook").text
    assert "Take first in, as codes of icd9" in screen and "Take all 2 in, as codes of icd9" in screen
    assert "no column that was left out" in visitor.done("/d/stays/codebook/take", {"pack": "icd10"}).text
    visitor.done("/d/stays/codebook/take", {"pack": "icd9"})
    visitor.wait("stays")
    first, second, _ = lines_of(own)
    assert (first.kind, first.state, first.missing) == ("icd9", "open", "?") and first.size > 500
    assert (second.kind, second.missing) == ("icd9", "")
    look = find_look(own, "columns")
    assert look.seen["fits"] and not look.is_stale, "the questions know the columns"
    told = [said["first"][0] for said in (question["sees"] for question in look.seen["questions"]) if "first" in said]
    assert "codes of the list icd9" in told[0] and told[0].startswith("1,")
    screen = visitor.get("/d/stays/codebook").text
    assert "Columns that were left out" not in screen and "ICD-9-CM diagnoses" in screen


def test_questions_that_were_written_for_another_codebook_say_so(own):
    assert look(own, "columns")
    visitor = Visitor(own.root.folder)
    assert "since these questions were written" not in visitor.get("/d/stays/codebook/review").text
    visitor.done("/d/stays/codebook/column/2", {"kind": "integer", "edges": "0, 20, 120"})
    assert "since these questions were written" in visitor.get("/d/stays/codebook/review").text


def test_a_public_pack_of_rules_needs_no_source_of_ours(own):
    book = BOOK.replace('levels = ["F", "M"]', 'levels = ["Female", "Male"]')
    diagnosis = '\n[[columns]]\nname = "diagnosis"\nkind = "icd9"\n'
    own.codebook.write_text(book + diagnosis)
    visitor = Visitor(own.root.folder)
    said = visitor.done("/d/stays/codebook/rules", {"pack": "pregnancy"}).text
    assert "is missing" not in said
    assert [rule.source for rule in load_codebook(own.codebook).constraints if "ICD-9-CM" in rule.source]
    refused = visitor.done("/d/stays/codebook/rules", {"accept": "r1"}).text
    assert "name or source is missing" in refused


def test_whoever_waits_is_told_for_how_long(own):
    marker = private_folder(own.looks) / "rules.running"
    assert looking_for(own) == 0
    write_private(marker, f"0 {time.time() - 70:.0f}")
    assert 65 < looking_for(own) < 600
    assert "Under way for " in Visitor(own.root.folder).get("/d/stays/codebook/state").text


def test_who_is_a_person_can_be_said_and_taken_back(own):
    assert set_person(own.codebook, "id", 2).unit.cap == 2
    book = set_person(own.codebook, None)
    assert book.unit is None and load_codebook(own.codebook).unit is None and "# ours" in own.codebook.read_text()
    text = Visitor(own.root.folder).done("/d/stays/data/person", {"who": "column", "column": "id", "cap": "many"}).text
    assert "number of rows is missing" in text


def test_the_weight_of_a_survey_is_named_and_taken_back(own):
    """It stands above the columns, where the file keeps what else was written; a column that is none is refused."""
    more = '\n[[columns]]\nname = "w"\nkind = "continuous"\nedges = [0.5, 1.0, 2.0]\nprecision = 1\n'
    own.codebook.write_text(BOOK + more)
    visitor, here = Visitor(own.root.folder), f"/d/{own.name}/data"
    assert "Column with the weights" in visitor.get(here).text
    visitor.done(f"{here}/weight", {"weight": "w"})
    text = own.codebook.read_text()
    assert Codebook.load(own.codebook).weight == "w" and text.startswith('format = 1  # ours\nweight = "w"\n')
    assert 'value="w" selected' in visitor.get(here).text
    assert "understudy count" in (others := visitor.get(f"/d/{own.name}/others").text) and "--weighted" in others
    for wrong, sentence in (("age", "above 0"), ("sex", "is a number"), ("gone", "not a column")):
        refused = visitor.post(f"{here}/weight", {"weight": wrong}, came_from=here)
        assert refused.status_code == 303 and sentence in visitor.get(here).text, wrong
        assert own.codebook.read_text() == text
    visitor.done(f"{here}/weight", {"weight": ""})
    assert own.codebook.read_text() == BOOK + more


def test_codes_are_shown_with_what_they_mean(own):
    """As a file of SPSS, Stata or SAS says it: nobody can vouch for a bare 1 and 2."""
    text = BOOK.replace('levels = ["F", "M"]', 'levels = ["1", "2"]\nvalue_labels = { 1 = "woman", 2 = "<man>" }')
    own.codebook.write_text(text)
    visitor = Visitor(own.root.folder)
    for screen in ("codebook", "codebook/attest", "codebook/column/1"):
        shown = visitor.get(f"/d/{own.name}/{screen}").text
        assert "1 = woman" in shown and "2 = &lt;man&gt;" in shown, screen


def test_no_screen_reads_the_rows(own, monkeypatch):
    """A screen answers from files that a look left behind: how large the table is does not matter."""
    seen = {"faults": [], "counts": {"sex": [120, 120]}, "rows": 240, "questions": []}
    keep_look(own, "columns", key_of(own, "columns"), seen=seen)
    monkeypatch.setattr("understudy.sources.files.open_table", lambda *_, **__: pytest.fail("the rows were read"))
    visitor = Visitor(own.root.folder)
    for path in ("", "d/stays/data", "d/stays/codebook", "d/stays/codebook/column/1", "d/stays/codebook/review",
                 "d/stays/codebook/rules", "d/stays/codebook/attest", "d/stays/codebook/difference"):  # fmt: skip
        assert visitor.get(f"/{path}").status_code == 200, path
    text = visitor.get("/d/stays/codebook/column/1").text
    assert "Rows of each level of sex" in text
    own.codebook.write_text(BOOK.replace('"M"]', '"M", "X"]'))
    assert "Rows of each level of sex" not in visitor.get("/d/stays/codebook/column/1").text, "it is of other levels"


def test_lights_tell_what_a_column_needs(own):
    assert [(line.name, line.light, line.state) for line in lines_of(own)] == [
        ("id", "good", "left_out"),
        ("sex", "open", "open"),
        ("age", "good", "attested"),
    ]
    progress = progress_of(own)
    assert (progress.state, progress.columns, progress.attested) == ("open", 2, 1)
    question = {"id": "names", "columns": ["sex"], "sees": {"sex": ["2 levels", "names? [drop]"]}, "asks": "?"}
    keep_look(own, "columns", key_of(own, "columns"), seen={"questions": [question], "counts": {}, "faults": []})
    assert lines_of(own)[1].state == "dangerous"


def test_answers_carry_no_names_of_columns_in_their_fields():
    questions = [
        {"id": "person", "columns": []},
        {"id": "levels", "columns": ["a", 'b"<x>']},
        {"id": "numbers", "columns": ["c"]},
    ]
    form = Form(
        [("who", "row"), ("panel-1", "yes"), ("column-1-1", "missing=CODE"), ("missing-1-1", "9"), ("panel-2", "")]
    )
    answers = answers_of(questions, form)
    assert answers == {"panels": {"levels": "yes"}, "columns": {'b"<x>': "missing=9"}, "person": "no"}


def test_linked_tables_are_shown_and_attested(tmp_path):
    """A codebook of linked tables has its lines too, each with a screen of its own."""
    from understudy.facade.linked import template

    own = new_dataset(Root.at(tmp_path), "hospital", data="tables")
    own.path("tables").mkdir()
    template("encounters", own.codebook)
    visitor = Visitor(tmp_path)
    for path in ("codebook", "codebook/review", "codebook/rules", "codebook/attest", "data"):
        assert visitor.get(f"/d/hospital/{path}").status_code == 200, path
    assert "Column patients." in visitor.get("/d/hospital/codebook/column/0").text
    assert visitor.get("/d/hospital/codebook/column/999").status_code == 404


def test_the_first_rows_by_other_reading_options(tmp_path):

    own = new_dataset(Root.at(tmp_path), "odd", data="../odd.txt?delimiter=;")
    (tmp_path / "odd.txt").write_text("a;b\n1;2\n")
    assert look(own, "rows") and find_look(own, "rows").seen["tables"][0]["header"] == ["a", "b"]
    own = own.declare(data="../nowhere.csv")
    assert not look(own, "rows") and "nowhere.csv" in find_look(own, "rows").problem
    assert (own.looks / "rows.json").stat().st_mode & 0o777 == 0o600


PAGES = Path(str(resources.files("understudy.studio"))) / "pages"


@pytest.mark.parametrize("page", sorted(PAGES.glob("*.html")), ids=lambda page: page.name)
def test_all_words_stand_in_one_place(page):
    """A template has no words of its own, so that a translation is one folder."""
    text = page.read_text(encoding="utf-8").replace("same-origin", "")
    text = re.sub(r"\{#.*?#\}|\{%.*?%\}|\{\{.*?\}\}", " ", text, flags=re.DOTALL)
    assert re.findall(r"[^\W\d_]{2,}", re.sub(r"<[^>]*>", " ", text)) == []
    spoken = re.findall(r'(?:aria-label|placeholder|title|alt)="([^"{]*)', text)
    assert [words for words in spoken if re.search(r"[^\W\d_]{2,}", words)] == []


def test_vendored_files_are_those_of_the_record():
    import hashlib

    folder = PAGES.parent / "static"
    record = (folder / "THIRD-PARTY.md").read_text()
    for name in ("htmx.min.js", "sse.min.js"):
        assert hashlib.sha256((folder / name).read_bytes()).hexdigest() in record


def test_edits_leave_paid_and_declared_columns_to_their_word(own):
    """A declared column whose levels change in the studio counts as drafted: whoever edits has seen the data."""
    text = BOOK.replace('origin = "drafted"\n', "")
    own.codebook.write_text(text)
    assert Codebook.load(own.codebook).column("sex").is_public
    book = edit_column(own.codebook, "sex", {"levels": ["F", "M", "X"]})
    assert not book.is_public and replace(book.column("sex"), origin="declared").is_public


def test_a_folder_of_linked_tables_is_looked_at_and_drafted(tmp_path):
    import pyarrow.csv

    import understudy as us

    (tmp_path / "tables").mkdir()
    for name, table in us.datasets.histories(60, seed=1)._asdict().items():
        pyarrow.csv.write_csv(table, tmp_path / "tables" / f"{name}.csv")
    visitor = Visitor(tmp_path)
    assert 'value="tables"' in visitor.get("/new").text, "the folder is offered as linked tables"
    own = new_dataset(visitor.root, "hospital", data="../tables")
    assert look(own, "rows") and len(find_look(own, "rows").seen["tables"]) == 3
    assert look(own, "draft"), find_look(own, "draft").problem
    assert {line.table for line in lines_of(own)} == {"patients", "stays", "diagnoses"}
    names = [("column", name) for name in us.LinkedCodebook.load(own.codebook).unattested]
    visitor.done("/d/hospital/codebook/attest", [("by", "A. Meyer"), ("source", "form 7"), *names])
    assert us.LinkedCodebook.load(own.codebook).is_public and progress_of(own).state == "ready"


def test_a_database_below_the_root(tmp_path):
    import duckdb

    with duckdb.connect(str(tmp_path / "study.duckdb")) as connection:
        connection.execute("CREATE TABLE visits AS SELECT 'F' AS sex, 3 AS age")
    own = new_dataset(Root.at(tmp_path), "visits", data="duckdb:///../study.duckdb", table="visits")
    assert look(own, "rows") and find_look(own, "rows").seen["tables"][0]["rows"] == [["F", "3"]]


def test_an_sqlite_file_by_its_address(tmp_path, monkeypatch):
    import sqlite3
    from contextlib import closing

    with closing(sqlite3.connect(tmp_path / "study.db")) as database, database:
        database.execute("CREATE TABLE visits (sex TEXT, age INTEGER)")
        database.execute("INSERT INTO visits VALUES ('F', 3)")
    visitor = Visitor(tmp_path)
    assert "begins with" not in visitor.done("/new", {"other": "sqlite:///study.db", "table": "visits"}).text
    visitor.wait("study")
    own = Root.at(tmp_path).dataset("study")
    assert own.declared["data"] == "sqlite:///../study.db"
    assert find_look(own, "rows").seen["tables"][0]["rows"] == [["F", "3"]] and not find_look(own, "rows").is_stale
    assert look(own, "rows") and key_of(own, "rows") != key_of(own.declare(data="sqlite:///../other.db"), "rows")
    own.declare(data="sqlite:///../study.db")
    monkeypatch.chdir(tmp_path)  # where the lines are run that screens show
    assert first_rows(own.root.spelled(own.data), table="visits").rows == (("F", "3"),)


def test_commands_on_a_screen_are_safe_to_copy(tmp_path):
    """Whatever a file is called; and a password of a database is not shown."""
    import shlex

    from understudy.studio.screens.data import _same

    own = new_dataset(Root.at(tmp_path), "t", data="../it's; rm -rf $HOME.csv", table="a b")
    for line in _same(own).commands:
        words = shlex.split(line)
        assert words[3] == "it's; rm -rf $HOME.csv" and words[-1] == "a b"
    for line in _same(own).python[1:]:
        compile(line, "screen", "exec")
    secret = new_dataset(Root.at(tmp_path), "db", data="postgresql://anna:hunter2@db.example/x", table="t")
    assert "hunter2" not in str(_same(secret)) and "anna:***@db.example" in str(_same(secret))


def test_every_screen_shows_the_same_by_command_and_in_python(tmp_path, own):
    """Also where there is nothing to show yet; and commands name files from the root on."""
    bare = new_dataset(own.root, "bare", data="../stays.csv")
    visitor = Visitor(own.root.folder)
    steps = ("data", "codebook", "codebook/review", "codebook/rules", "codebook/attest", "codebook/difference",
             "release", "report", "publish", "others")  # fmt: skip
    for path in ["/", "/new", *(f"/d/{name}/{step}" for name in (own.name, bare.name) for step in steps)]:
        answer = visitor.get(path)
        shown = re.search(r'<section class="same">.*?</section>', answer.text, flags=re.DOTALL)[0]
        command, python, *_ = re.findall(r"<pre[^>]*>(.*?)</pre>", shown, flags=re.DOTALL)
        assert answer.status_code == 200 and command.strip() and "import" in python, path


def test_records_that_were_kept_back_are_named_on_the_screen(tmp_path, own):
    visitor = Visitor(tmp_path)
    here = f"/d/{own.name}/data"
    (tmp_path / "kept back.csv").write_text("sex,age\nF,40\n")
    assert 'value="kept back.csv"' in visitor.get(here).text, "files below the root are proposed"
    shown = visitor.done(f"{here}/holdout", {"holdout": "kept back.csv"}).text
    assert "Reports compare with the records kept back in kept back.csv" in shown
    assert Root.at(tmp_path).dataset(own.name).holdout == str(tmp_path / "kept back.csv")
    assert "--holdout &#39;kept back.csv&#39;" in visitor.get(f"/d/{own.name}/report").text
    for words, sentence in (
        ("nowhere.csv", "there is no file"),
        ("../outside.csv", "outside"),
        (own.data.replace(f"{tmp_path}/", ""), "these are the data themselves"),
    ):
        refused = visitor.post(f"{here}/holdout", {"holdout": words}, came_from=here)
        assert refused.status_code == 303 and sentence in visitor.get(here).text
    assert "No records count as kept back now." in visitor.done(f"{here}/holdout", {"holdout": ""}).text
    assert Root.at(tmp_path).dataset(own.name).holdout is None


def test_nobody_vouches_for_what_the_screen_did_not_show(own):
    """Another tab, a command or an undo may have changed the codebook since; column 1 may be another one by now."""
    visitor = Visitor(own.root.folder)
    number = re.search(r'name="shown" value="(\w+)"', visitor.get("/d/stays/codebook/column/1").text)[1]
    pages = ("column/1", "attest", "rules", "", "../data")
    assert all(f'name="shown" value="{number}"' in visitor.get(f"/d/stays/codebook/{page}".rstrip("/")).text
               for page in pages[:3])  # fmt: skip
    changed = BOOK.replace('["F", "M"]', '["F", "M", "of these data alone"]')
    own.codebook.write_text(changed)
    signed = {"shown": number, "by": "A. Meyer", "source": "form 7"}
    forms = {
        "codebook/attest": signed | {"column": "sex"},
        "codebook/column/1/attest": signed,
        "codebook/column/1": {"shown": number, "kind": "categorical", "levels": "a\nb"},
        "codebook/undo": {"shown": number},
        "codebook/rules": signed | {"accept": "x"},
        "data/person": {"shown": number, "who": "column", "column": "id", "cap": "2"},
    }
    for path, fields in forms.items():
        refused = visitor.post(f"/d/stays/{path}", fields, came_from="/d/stays/codebook/column/1")
        text = visitor.get(refused.headers["location"]).text
        assert "has changed since this screen was shown" in text and own.codebook.read_text() == changed, path
        assert "a\nb" not in text, "what was typed for another column is not filled in"
    now = re.search(r'name="shown" value="(\w+)"', visitor.get("/d/stays/codebook/attest").text)[1]
    visitor.done("/d/stays/codebook/attest", signed | {"shown": now, "column": "sex"})
    assert load_codebook(own.codebook).column("sex").is_attested


@pytest.mark.parametrize("kind", ["answers", "accepted", "parted", "divided", "draft", "columns"])
def test_nothing_is_changed_beside_a_look_that_writes(own, kind):
    """It writes the codebook from what it was in the beginning, and would undo the change without a word."""
    visitor, here = Visitor(own.root.folder), "/d/stays"
    visitor.done(f"{here}/data/person", {"who": "column", "column": "id", "cap": "2"})
    before = own.codebook.read_text()
    own.looks.mkdir(exist_ok=True)
    marker = own.looks / f"{kind}.running"
    marker.write_text(f"0 {time.time():.0f}")
    writes = kind != "columns"
    for path, fields in {"data/person": {"who": "row"}, "codebook/undo": {}}.items():
        visitor.post(f"{here}/{path}", fields, came_from=f"{here}/codebook/difference")
        text = visitor.get(f"{here}/codebook/difference").text
        assert ("still looking" in text) == writes and (not writes or own.codebook.read_text() == before), path
    marker.unlink()
    visitor.post(f"{here}/data/person", {"who": "row"}, came_from=f"{here}/data")
    assert own.codebook.read_text() != before


@pytest.fixture
def somebody_looks(own):
    """A process that is called as those that look, and began two hours ago."""
    words = ["understudy.studio.looking", str(own.root.folder), own.name, "draft"]
    process = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)", *words], start_new_session=True)
    try:
        while not Path(f"/proc/{process.pid}/cmdline").read_bytes():  # it is not quite there yet
            time.sleep(0.01)
        marker = private_folder(own.looks) / "draft.running"
        marker.write_text(f"{process.pid} {time.time() - 7200:.0f}")
        yield process
    finally:
        process.kill()
        process.wait()


@pytest.mark.skipif(not Path("/proc/self/cmdline").exists(), reason="the system does not say what a process is")
def test_a_look_of_hours_is_known_as_long_as_it_runs(own, somebody_looks):
    assert is_looking(own) and is_writing(own) and looking_for(own) > 7000
    with pytest.raises(ParameterError, match="still looking"):
        start_look(own, "rows")
    stop_looks(own)
    assert somebody_looks.wait(30) == -signal.SIGKILL and not is_looking(own)


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="the system does not say what a process is")
@pytest.mark.parametrize("ended", [True, False])
def test_a_process_that_says_nothing_of_itself_has_ended_or_is_just_beginning(own, monkeypatch, ended):
    process = subprocess.Popen([sys.executable, "-c", "" if ended else "import time; time.sleep(600)"])
    try:
        if ended:
            os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)  # it waits to be noticed
        read = Path.read_bytes
        monkeypatch.setattr(Path, "read_bytes", lambda self: b"" if self.name == "cmdline" else read(self))
        (private_folder(own.looks) / "draft.running").write_text(f"{process.pid} {time.time():.0f}")
        assert is_looking(own) is not ended
    finally:
        process.kill()
        process.wait()


def test_a_look_whose_process_is_another_one_or_never_began_is_forgotten(own):
    marker = private_folder(own.looks) / "draft.running"
    for words, expected in {
        f"0 {time.time():.0f}": True,
        f"0 {time.time() - 7200:.0f}": False,
        f"{os.getpid()} {time.time() - 7200:.0f}": False,  # the number of somebody else now
    }.items():
        marker.write_text(words)
        assert is_looking(own) is is_writing(own) is expected, words


def test_a_process_that_hides_what_it_is_counts_for_an_hour(own, monkeypatch):
    """Where the system does not tell, a number that lives is taken for the look, but not for ever."""
    from understudy.studio import looks

    monkeypatch.setattr(looks, "_is_ours", lambda own, pid: None)
    marker = private_folder(own.looks) / "draft.running"
    for age, expected in {10: True, 7200: False}.items():
        marker.write_text(f"{os.getpid()} {time.time() - age:.0f}")
        assert is_looking(own) is expected


def test_a_codebook_that_is_there_already_is_taken(tmp_path, own):
    """As it is, with its remarks and who attested what."""
    visitor = Visitor(tmp_path)
    own.codebook.rename(tmp_path / "ours.toml")
    shown = visitor.get("/d/stays/data").text
    assert "A codebook that is there already" in shown and '<option value="ours.toml">' in shown
    visitor.done("/d/stays/data/book", {"book": "ours.toml"})
    visitor.wait("stays")
    assert own.codebook.read_text() == BOOK and find_look(own, "columns").seen["rows"] == 240
    assert own.codebook.stat().st_mode & 0o077 == 0
    visitor.post("/d/stays/data/book", {"book": "ours.toml"}, came_from="/d/stays/data")
    assert "there is a codebook already" in visitor.get("/d/stays/data").text


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("format = 1\n[[columns]]\nname = 3\n", "kind"),
        (f'[[packs]]\nname = "own"\nfile = "../../secret.csv"\n{BOOK}', "outside the root"),
        (None, "no file"),
    ],
)
def test_a_codebook_that_cannot_be_taken_leaves_nothing(tmp_path, own, text, sentence):
    visitor = Visitor(tmp_path)
    own.codebook.unlink()
    if text is not None:
        (tmp_path / "theirs.toml").write_text(text)
    visitor.post("/d/stays/data/book", {"book": "theirs.toml"}, came_from="/d/stays/data")
    shown = visitor.get("/d/stays/data").text
    fault = re.search(r'id="fault">(.*?)</strong>', shown, flags=re.DOTALL)[1]
    assert sentence in fault and 'value="theirs.toml"' in shown and not own.path("codebook.toml").exists()


def test_a_codebook_is_drafted_from_another_file_than_the_data(tmp_path, own):
    visitor = Visitor(tmp_path)
    own.codebook.unlink()
    (tmp_path / "export.csv").write_text("id,sex,age\n" + "".join(f"x{n},{'FMX'[n % 3]},{n}\n" for n in range(60)))
    visitor.done("/d/stays/data/book", {"book": "export.csv"})
    visitor.wait("stays")
    assert find_look(own, "draft").problem == ""
    assert load_codebook(own.codebook).column("sex").levels == ("F", "M", "X"), "of the export; the data have no X"
    assert not list(own.looks.glob("*.given"))


def test_a_rule_is_accepted_from_what_was_found(own):
    """A list that somebody has looked at anew since: a rule that needs a public table would be taken without one."""
    visitor, here = Visitor(own.root.folder), "/d/stays/codebook/rules"
    signed = {"accept": "day-number", "by": "A. Meyer", "source": "the calendar"}
    assert "not among those that are proposed now" in visitor.done(here, signed).text
    assert not is_looking(own) and "constraints" not in own.codebook.read_text()


def test_answers_belong_to_the_questions_that_were_shown(own):
    question = {"id": "levels", "columns": ["sex"], "sees": {"sex": ["2 levels"]}, "asks": "Public?",
                "answers": ["yes", "drop"], "proposed": "yes", "suggested": {}}  # fmt: skip
    keep_look(own, "columns", key_of(own, "columns"), seen={"questions": [question], "counts": {}, "faults": []})
    visitor = Visitor(own.root.folder)
    number = re.search(r'name="shown" value="(\w+)"', visitor.get("/d/stays/codebook/review").text)[1]
    other = question | {"id": "ids", "asks": "An id?"}
    keep_look(own, "columns", key_of(own, "columns"), seen={"questions": [other], "counts": {}, "faults": []})
    given = {"shown": number, "by": "A. Meyer", "panel-0": "yes"}
    visitor.post("/d/stays/codebook/review", given, came_from="/d/stays/codebook/review")
    assert "has changed since this screen was shown" in visitor.get("/d/stays/codebook/review").text
    assert not (own.looks / "answers.given").exists() and own.codebook.read_text() == BOOK


def test_answers_that_cannot_be_written_come_back_as_they_were_given(own):
    question = {"id": "levels", "columns": ["sex"], "sees": {"sex": ["2 levels"]}, "asks": "Public?",
                "answers": ["yes", "drop", "missing=CODE"], "proposed": "yes", "suggested": {}}  # fmt: skip
    keep_look(own, "columns", key_of(own, "columns"), seen={"questions": [question], "counts": {}, "faults": []})
    visitor = Visitor(own.root.folder)
    given = {"by": "A. Meyer", "panel-0": "yes", "column-0-0": "missing=CODE", "missing-0-0": "nowhere"}
    visitor.done("/d/stays/codebook/review", given)
    visitor.wait("stays")
    assert "has no level" in visitor.get("/d/stays/codebook").text
    text = visitor.get("/d/stays/codebook/review").text
    assert 'value="nowhere"' in text and 'value="A. Meyer"' in text and "has no level" in text
    assert own.codebook.read_text() == BOOK


def test_the_options_of_an_address_that_nobody_asks_about_stay(tmp_path):
    made = new_dataset(Root.at(tmp_path), "odd", data="../odd.txt?layout=l.toml&delimiter=;")
    (tmp_path / "odd.txt").write_text("a;b\n1;2\n")
    visitor = Visitor(tmp_path)
    visitor.done("/d/odd/data/reading", {"delimiter": "tab", "encoding": "", "table": ""})
    visitor.wait("odd")
    assert visitor.root.dataset("odd").declared["data"] == "../odd.txt?layout=l.toml&delimiter=%09"
    assert made.name == "odd"


def test_a_draft_is_headed_by_the_title_and_says_nothing_to_readers_about_drafting(own):

    own.codebook.unlink()
    assert look(own, "draft")
    book = load_codebook(own.codebook)
    assert (book.title, book.description) == ("Stays 2024", "") and own.draft.read_bytes() == own.codebook.read_bytes()


def test_rules_that_are_there_are_not_offered_again(own):
    words = "never sex = M and age = [0, 18)"
    pack = {"name": "p", "title": "A pack", "rules": [words], "source": "s", "notes": ["a note"]}
    one = {"support": 1, "exceptions": 0, "needs_map": False, "if_wrong": "", "expected_without_it": 1.0}
    seen = {"proposals": [one | {"id": str(n), "words": f"rule {n}"} for n in range(99)], "packs": [pack]}
    keep_look(own, "rules", key_of(own, "rules"), seen=seen)
    visitor = Visitor(own.root.folder)
    text = visitor.get("/d/stays/codebook/rules").text
    assert "A pack" in text and "The first 60 of 99 are shown" in text
    rule = '\n[[rules]]\nkind = "impossible"\nname = "r"\nsource = "s"\ncells = { sex = "M", age = "[0, 18)" }\n'
    own.codebook.write_text(BOOK + rule)
    assert "A pack" not in visitor.get("/d/stays/codebook/rules").text


def test_a_rule_by_which_one_column_fixes_another_needs_its_public_table(tmp_path):
    """A map that is read from the data takes the promise from every release, and nobody can vouch for it later."""
    days = ("Mon", "Tue", "Wed", "Thu")
    rows = [f"{days[number % 4]},{number % 4 + 1}" for number in range(400)]
    (tmp_path / "stays.csv").write_text("\n".join(["day,number", *rows, ""]))
    made = new_dataset(Root.at(tmp_path), "stays", data="../stays.csv")
    column = '[[columns]]\nname = "{}"\nkind = "categorical"\nlevels = [{}]\n'
    levels = (", ".join(f'"{day}"' for day in days), '"1", "2", "3", "4"')
    made.codebook.write_text("format = 1\n" + "".join(map(column.format, ("day", "number"), levels)))
    assert look(made, "rules")
    (fixes, *_) = [one for one in find_look(made, "rules").seen["proposals"] if one["needs_map"]]
    (tmp_path / "days.csv").write_text("a,b\n" + "".join(f"{day},{number}\n" for number, day in enumerate(days, 1)))
    visitor, here = Visitor(tmp_path), "/d/stays/codebook/rules"
    assert "--map" in visitor.get(here).text and f'name="map-{fixes["id"]}"' in visitor.get(here).text
    signed = {"accept": fixes["id"], "by": "A. Meyer", "source": "the calendar"}
    for file, sentence in (("", "name the public table"), ("../x.csv", "outside"), ("none.csv", "there is no file")):
        refused = visitor.done(here, {**signed, f"map-{fixes['id']}": file}).text
        assert sentence in refused and 'aria-invalid="true"' in refused and not is_looking(made)
    assert load_codebook(made.codebook).constraints == ()
    named = "days.csv" if fixes["columns"] == ["day", "number"] else "numbers.csv"
    (tmp_path / "numbers.csv").write_text("b,a\n" + "".join(f"{k},{day}\n" for k, day in enumerate(days, 1)))
    visitor.done(here, {**signed, f"map-{fixes['id']}": named})
    visitor.wait("stays")
    assert find_look(made, "accepted").problem == ""
    book = load_codebook(made.codebook)
    (rule,) = book.constraints
    assert rule.kind == "determines" and rule.attestation.by == "A. Meyer" and book.is_public


def test_words_for_a_codebook_in_which_only_a_rule_waits(own):
    """No column waits any more, so nobody is sent to vouch for columns."""
    vouched = '[columns.attestation]\nby = "A. Meyer"\nsource = "form 7"\non = 2024-05-01\n'
    rule = '\n[[constraints]]\nkind = "impossible"\norigin = "drafted"\ncells = { sex = "M", age = "[0, 18)" }\n'
    own.codebook.write_text(BOOK.replace('origin = "drafted"\n', 'origin = "drafted"\n' + vouched) + rule)
    visitor = Visitor(own.root.folder)
    attest = visitor.get("/d/stays/codebook/attest").text
    assert "Rules without a source" in attest and "0 entries" not in attest
    assert "Every column is vouched for; a rule" in visitor.get("/").text
    keep_look(own, "columns", key_of(own, "columns"), seen={"questions": [], "counts": {}, "faults": []})
    assert "Every column is vouched for. What remains" in visitor.get("/d/stays/codebook").text


def test_a_whole_path_below_the_root_is_taken_as_one_from_the_root_on(tmp_path, own):
    """It is what a file manager copies."""
    visitor = Visitor(tmp_path)
    visitor.done("/new", {"other": f"{tmp_path}/stays.csv", "name": "copied"})
    assert visitor.root.dataset("copied").declared["data"] == "../stays.csv"
    visitor.wait("copied")
    assert find_look(visitor.root.dataset("copied"), "rows").problem == ""
    visitor.done("/d/stays/data/holdout", {"holdout": f"{tmp_path}/none.csv"})
    assert own.root.dataset("stays").holdout is None


@pytest.mark.parametrize("broken", ["data = ", "format = 99\n", "x = " + "[" * 5000])
def test_a_broken_declaration_costs_its_card_only(tmp_path, own, broken):
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "dataset.toml").write_text(broken)
    visitor = Visitor(tmp_path)
    shelf = visitor.get("/")
    assert shelf.status_code == 200 and "Stays 2024" in shelf.text and "dataset.toml" in shelf.text
    answer = visitor.get("/d/other/data")
    assert answer.status_code == 422 and "dataset.toml" in answer.text


def test_a_folder_that_is_called_like_a_page_is_none(own):
    own.path("answer.html").mkdir()
    assert Visitor(own.root.folder).get("/d/stays/others").status_code == 200


def test_a_rule_that_was_taken_back_can_be_found_again(own):
    """The codebook had it when the data were looked at, so it is not among the proposals that are kept."""
    rule = '\n[[constraints]]\nkind = "impossible"\norigin = "drafted"\ncells = { sex = "M", age = "[0, 18)" }\n'
    own.codebook.write_text(BOOK + rule)
    keep_look(own, "rules", key_of(own, "rules"), seen={"proposals": [], "packs": []})
    visitor, here = Visitor(own.root.folder), "/d/stays/codebook/rules"
    assert "Look for rules" not in visitor.get(here).text
    own.codebook.write_text(BOOK)
    assert "Look for rules" in visitor.get(here).text


def rules_shown(page):
    """For each rule in the codebook: the fields of the form that takes it back."""
    forms = re.findall(r'action="[^"]*/codebook/rules/back">(.*?)</form>', page, flags=re.DOTALL)
    return [dict(re.findall(r'name="(shown|table|rule)" value="([^"]*)"', form)) for form in forms]


def test_one_rule_is_taken_back_alone(own):
    """Not by undoing all that came after it; the others, their remarks and later changes stay."""
    rules = [
        '\n# the first\n[[constraints]]\nkind = "impossible"\nname = "one"  # mine\nsource = "s"\n'
        'cells = { sex = "M", age = "[0, 18)" }\n',
        '\n# the second\n[[constraints]]\nkind = "impossible"\nsource = "s"\ncells = { sex = "F", age = "[0, 18)" }\n',
    ]
    own.codebook.write_text(BOOK + "".join(rules))
    visitor, here = Visitor(own.root.folder), "/d/stays/codebook/rules"
    edit = {"kind": "categorical", "levels": "F\nM", "role": "other", "description": "later"}
    visitor.done("/d/stays/codebook/column/1", edit)
    before = own.codebook.read_text()
    assert "later" in before
    first, second = rules_shown(visitor.get(here).text)
    stale = visitor.post(f"{here}/back", {**first, "shown": "0" * 32}, came_from=here)
    assert stale.status_code == 303 and "has changed since" in visitor.get(here).text
    assert own.codebook.read_text() == before
    page = visitor.done(f"{here}/back", first).text
    assert "out of the codebook again" in page and len(rules_shown(page)) == 1
    text = own.codebook.read_text()
    (left,) = load_codebook(own.codebook).constraints
    assert left.title == second["rule"] and "# the second" in text and "# as registered" in text and "later" in text
    assert "# mine" not in text and "# the first" not in text, "a remark that stayed would speak of the next rule"
    refused = visitor.post(f"{here}/back", {**first, "shown": rules_shown(page)[0]["shown"]}, came_from=here)
    assert refused.status_code == 303 and "there is no rule" in visitor.get(here).text
    page = visitor.done(f"{here}/back", rules_shown(visitor.get(here).text)[0]).text
    assert rules_shown(page) == [] and "[[constraints]]" not in own.codebook.read_text()
    visitor.done("/d/stays/codebook/undo")
    visitor.done("/d/stays/codebook/undo")
    assert own.codebook.read_text() == before, "undo brings them back"


def test_the_python_that_takes_a_rule_back_does_so(own, monkeypatch):
    rule = (
        '\n[[constraints]]\nkind = "impossible"\nname = "{0}\\"<"\nsource = "s"\n'
        'cells = {{ sex = "{0}", age = "[0, 18)" }}\n'
    )
    own.codebook.write_text(BOOK + rule.format("M") + rule.format("F"))
    shown = Visitor(own.root.folder).get("/d/stays/codebook/rules").text
    monkeypatch.chdir(own.root.folder)
    lines = [html.unescape(re.sub("<[^>]+>", "", line)) for line in shown.splitlines() if "remove_rule" in line]
    exec("\n".join(["import understudy as us", *lines]), {})
    (left,) = load_codebook(own.codebook).constraints
    assert left.words() == "never sex = F and age = [0, 18)"
    with pytest.raises(ParameterError, match="there is no rule 'gone'"):
        remove_rule(own.codebook, "gone")
