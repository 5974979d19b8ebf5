"""A refused form comes back as it was typed, with the sentence beside its field: every form of every screen."""

import re
from html.parser import HTMLParser

import pytest
from studio_visitor import Visitor
from test_studio_paying import small

from understudy.studio.forms import Refused, refilled
from understudy.studio.looks import keep_look, key_of
from understudy.studio.workspace import Root, new_dataset

LINKED = """format = 1

[tables.patients]
key = "id"

[[tables.patients.columns]]
name = "sex"
kind = "categorical"
levels = ["F", "M"]

[tables.stays]
parent = "patients"
parent_key = "id"
cap = 3

[[tables.stays.columns]]
name = "ward"
kind = "categorical"
levels = ["A", "B"]
"""
QUESTION = {
    "id": "levels", "asks": "", "columns": ["sex", "age"], "sees": {"sex": ["2 levels"], "age": ["3 bins"]},
    "proposed": "yes", "suggested": {}, "answers": ["yes", "drop", "missing=CODE"],
}  # fmt: skip
PERSON = {"id": "person", "asks": "", "columns": [], "sees": {}, "proposed": "no", "suggested": {}, "answers": ["no"]}
PROPOSAL = {
    "id": "r1", "form": "", "words": "a rule", "columns": [], "support": 3, "exceptions": 0, "expected_without_it": 1.0,
    "needs_map": False, "if_wrong": "",
}  # fmt: skip


@pytest.fixture(scope="module")
def visitor(tmp_path_factory):
    root = tmp_path_factory.mktemp("forms")
    own = small(root)
    drafted = own.codebook.read_text().replace('levels = ["F", "M"]', 'levels = ["F", "M"]\norigin = "drafted"')
    own.codebook.write_text(drafted)
    keep_look(own, "columns", key_of(own, "columns"), seen={"questions": [PERSON, QUESTION], "counts": {}})
    keep_look(own, "rules", key_of(own, "rules"), seen={"proposals": [PROPOSAL], "packs": []})
    unit = '[unit]\nid = "id"\ncap = 2\n\n[[columns]]\nname = "id"\nkind = "text"\nrole = "identifier"\n'
    people = new_dataset(Root.at(root), "people", data="../small/rows.csv")
    people.path("codebook.toml").write_text(drafted.replace("\n[[columns]]", f"\n{unit}\n[[columns]]", 1))
    keep_look(people, "persons", key_of(people, "persons"), seen={
        "people": 9, "several": 4, "differing": {"sex": 0, "age": 2}, "constant": ["sex"],
    })  # fmt: skip
    linked = new_dataset(Root.at(root), "linked", data="../small")
    linked.path("codebook.toml").write_text(LINKED)
    return Visitor(root)


class Fields(HTMLParser):
    """What the fields of one form hold, as a browser would send them."""

    def __init__(self, page, action):
        super().__init__()
        self._action, self._inside, self._name, self._option, self._area = action, False, None, None, None
        self.held, self.wrong, self._words = [], [], False
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        known = dict(attrs)
        if tag == "form":
            self._inside = known.get("action", "").partition("?")[0] == self._action
        if not self._inside:
            return
        if known.get("aria-invalid"):
            self.wrong.append(known["name"])
        if tag == "input" and known.get("type") in ("checkbox", "radio"):
            self.held += [(known["name"], known.get("value"))] if "checked" in known else []
        elif tag == "input" and known.get("type") != "hidden":
            self.held.append((known["name"], known.get("value", "")))
        elif tag == "select":
            self._name = known["name"]
        elif tag == "option" and "selected" in known:
            self._option = known.get("value")
            self.held += [(self._name, self._option)] if self._option is not None else []
            self._words = self._option is None
        elif tag == "textarea":
            self._area = known["name"]

    def handle_data(self, data):
        if self._words:
            self.held.append((self._name, data))
            self._words = False
        if self._area:
            self.held.append((self._area, data.removeprefix("\n")))
            self._area = None

    def handle_endtag(self, tag):
        if tag == "form":
            self._inside = False


COLUMN = {"kind": "integer", "role": "sensitive", "description": 'of "years" <b>', "missing": "NA", "edges": "1, x"}
FORMS = [
    ("/new", "/new", {"other": "file:///etc/passwd", "table": "t", "title": "My <data>", "name": "x"}, "other"),
    ("/new", "/new", {"other": "../../x.csv", "title": "Mine"}, "other"),
    ("/new", "/new", {"other": "small/rows.csv", "title": "Mine", "name": "no blanks"}, "name"),
    ("/d/small/data", "/d/small/data/person", {"who": "column", "column": "age", "cap": "many"}, "cap"),
    ("/d/linked/data", "/d/linked/data/caps", {"cap-1": "0"}, "cap-1"),
    ("/d/people/split", "/d/people/split",
     {"constant-1": "1", "rule-1": "latest", "upper": "a", "lower": "a", "cap": "7", "order": "age"}, "upper"),
    ("/d/people/split", "/d/people/split", {"upper": "people", "lower": "b", "cap": "7"}, ""),
    ("/d/small/codebook/column/1", "/d/small/codebook/column/1", COLUMN, "edges"),
    ("/d/small/codebook/column/0", "/d/small/codebook/column/0",
     {"kind": "categorical", "levels": "F\n<F>\nF", "description": "d"}, "levels"),
    ("/d/small/codebook/column/1", "/d/small/codebook/column/1",
     {"kind": "date", "start": "2020-01-01", "end": "soon", "grain": "week"}, "end"),
    ("/d/linked/codebook/column/1", "/d/linked/codebook/column/1", {"kind": "integer", "edges": "1, x"}, "edges"),
    ("/d/small/codebook/column/0", "/d/small/codebook/column/0/attest", {"by": "", "source": "form 7"}, "by"),
    ("/d/small/codebook/attest", "/d/small/codebook/attest", {"by": "A. Meyer", "source": "form 7"}, ""),
    ("/d/small/codebook/attest", "/d/small/codebook/attest", {"by": "", "source": "form 7", "column": "sex"}, "by"),
    ("/d/small/codebook/review", "/d/small/codebook/review",
     {"who": "row", "panel-1": "drop", "column-1-1": "missing=CODE", "missing-1-1": "999", "by": ""}, "by"),
    ("/d/small/codebook/review", "/d/small/codebook/review",
     {"who": "column", "column": "sex", "cap": "x", "panel-1": "drop", "by": "A. Meyer"}, "cap"),
    ("/d/small/codebook/rules", "/d/small/codebook/rules", {"accept": "r1", "by": "A. Meyer", "source": ""}, "source"),
    ("/d/small/quote?epsilon=2.5", "/d/small/quote/account?epsilon=2.5",
     {"epsilon": "10", "delta": "1e-06", "composition": "renyi", "neighbours": "nonsense"}, ""),
    ("/d/small/quote?epsilon=2.5", "/d/small/quote/account?epsilon=2.5",
     {"delta": "1e-06", "composition": "renyi", "neighbours": "add-remove"}, ""),
    ("/d/small/quote?epsilon=2.5", "/d/small/quote/account?epsilon=2.5",
     {"epsilon": "10", "delta": "", "composition": "renyi", "neighbours": "add-remove"}, "delta"),
    ("/d/small/anonymise", "/d/small/anonymise/weigh", {"quasi": "age", "k": "few", "suppression": "0.1"}, "k"),
    ("/d/small/report", "/d/small/report/board", {"limit-share_error": "0.07", "by": ""}, "by"),
    ("/d/small/report", "/d/small/report/board", {"limit-share_error": "-1", "by": "Board"}, "limit-share_error"),
]  # fmt: skip


@pytest.mark.parametrize(("screen", "action", "typed", "field"), FORMS)
def test_a_refused_form_keeps_what_was_typed(visitor, screen, action, typed, field):
    answer = visitor.post(action, typed, came_from=screen)
    assert answer.status_code == 303 and answer.headers["location"] == screen
    page = visitor.get(screen).text
    form = Fields(page, action.partition("?")[0])
    held = dict(form.held)
    hidden = {"neighbours"}
    assert {name: held.get(name) for name in typed if name not in hidden} == {
        name: value for name, value in typed.items() if name not in hidden
    }
    assert form.wrong == ([field] if field else []) and page.count('id="fault"') == 1
    assert "<b>" not in page and "<F>" not in page
    again = visitor.get(screen).text
    assert 'id="fault"' not in again, "it is told once"


@pytest.mark.parametrize(
    ("asked", "field", "kept"),
    [
        ("/d/small/quote?rows=many&epsilon=3.0", "rows", {"rows": "many", "epsilon": "3.0"}),
        ("/d/small/quote/error?error=x&first=age&second=sex&rows=60", "error", {"error": "x", "second": "sex"}),
        ("/d/small/quote/error?error=0.05&first=age&second=&rows=60", "second", {"error": "0.05", "first": "age"}),
        ("/d/small/quote/error?error=0.0000001&rows=60&rows_about=200", "error", {"error": "0.0000001"}),
    ],
)
def test_questions_keep_what_was_typed_too(visitor, asked, field, kept):
    answer = visitor.get(asked)
    page = visitor.get(answer.headers["location"]).text if answer.status_code == 303 else answer.text
    form = Fields(page, asked.partition("?")[0])
    assert form.wrong == [field] and kept.items() <= dict(form.held).items()


def test_a_release_that_is_not_confirmed_keeps_its_formats(tmp_path):
    small(tmp_path)
    visitor = Visitor(tmp_path)
    visitor.done("/d/small/quote/account", {"epsilon": "3", "delta": "1e-5", "neighbours": "add-remove"})
    visitor.done("/d/small/quote", {"epsilon": "1", "delta": "1e-6", "rows": "50", "rows_about": "200"})
    nonce = re.search(r'name="nonce" value="([0-9a-f]{32})"', visitor.get("/d/small/release").text)[1]
    typed = {"nonce": nonce, "confirm": "smal", "format": "sav"}
    page = visitor.done("/d/small/release", typed).text
    form = Fields(page, "/d/small/release")
    assert form.wrong == ["confirm"] and set(form.held) == {("format", "sav"), ("confirm", "smal")}


def test_a_page_without_the_form_stays_as_it_is():
    form = Refused(action="/elsewhere", pairs=(("a", "1"),), sentence="no.", field="a")
    page = '<form method="post" action="/here"><input name="a" value="2"></form>'
    assert refilled(page, form) == page


def test_tokens_are_never_those_that_were_sent():
    form = Refused(action="/a", pairs=(("csrf", "old"),), sentence="no.", field="csrf")
    page = '<form method="post" action="/a"><input type="hidden" name="csrf" value="new"></form>'
    assert 'value="new"' in refilled(page, form) and "old" not in refilled(page, form)
