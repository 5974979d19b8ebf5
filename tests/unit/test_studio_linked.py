"""Linked tables in the studio without a browser: edited table by table, split from one table, and priced."""

import re
import shutil

import pytest
from studio_visitor import Visitor

from understudy.codebook import LinkedCodebook
from understudy.facade import demo
from understudy.facade.book_edits import edit_column, set_cap
from understudy.studio.books import lines_of
from understudy.studio.looks import find_look
from understudy.studio.workspace import Root, new_dataset

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
