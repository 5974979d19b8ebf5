"""What holds by structure: rows are opened in the confidential phase alone, and arguments are what schemas say."""

import ast
import json
from pathlib import Path

import jsonschema
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import understudy
from understudy.agents.arguments import Amount, Choice, Count, Name, Settings, Several, Words, YesNo, checked, schema_of
from understudy.agents.log import UNWRITTEN, HolderLog
from understudy.agents.phases import CLOSED, EMPTY, REFUSED, Told, confidential_phase, public_phase
from understudy.agents.run import open_desk
from understudy.agents.server import called
from understudy.agents.tools import TOOLS
from understudy.errors import (
    AccountError,
    BudgetError,
    CodebookError,
    DataError,
    EmptyDraftError,
    ParameterError,
    RefusalError,
    ReleaseError,
)

ROOM = Path(understudy.__file__).parent / "agents"
READING_ROWS = {"answers.answer", "codebooks.draft", "about.check_rows", "about.header_of"}
"""Functions of the facade that open rows."""
ELSEWHERE = {
    ("desk.py", "draft_from_document"): "a document, whose rows there are none",
    ("desk.py", "draft_for_holder"): "its reply is the same whatever comes of it",
    ("run.py", "open_desk"): "before anybody is served; errors go to the log",
}


def test_rows_are_opened_in_the_confidential_phase_alone():
    found = []
    for path in sorted(ROOM.glob("*.py")):
        for function in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(function, ast.FunctionDef):
                continue
            phases = [
                node
                for node in ast.walk(function)
                if isinstance(node, ast.With)
                and any("confidential_phase(" in ast.unparse(item.context_expr) for item in node.items)
            ]
            inside = {id(node) for phase in phases for node in ast.walk(phase)}
            for node in ast.walk(function):
                if isinstance(node, ast.Call) and ast.unparse(node.func) in READING_ROWS:
                    where = (path.name, function.name)
                    found.append(ast.unparse(node.func))
                    assert id(node) in inside or where in ELSEWHERE, where
    assert set(found) == READING_ROWS, "the walk sees nothing any more"


def test_rows_are_open_for_whole_seconds_when_a_server_starts():
    """A client may start it as often as it likes, and time it."""
    (start,) = [
        node
        for node in ast.walk(ast.parse((ROOM / "run.py").read_text(encoding="utf-8")))
        if isinstance(node, ast.FunctionDef) and node.name == "open_desk"
    ]
    blocks = [
        node
        for node in ast.walk(start)
        if isinstance(node, ast.With) and any("paced()" in ast.unparse(item) for item in node.items)
    ]
    paced = {id(node) for block in blocks for node in ast.walk(block)}
    reading = [
        node for node in ast.walk(start) if isinstance(node, ast.Call) and ast.unparse(node.func) in READING_ROWS
    ]
    assert len(reading) == 2 and all(id(node) in paced for node in reading)


SECRET = "row 77 holds QZX"


@pytest.mark.parametrize(
    ("error", "sentence", "closed"),
    [
        (DataError(SECRET), CLOSED, True),
        (ParameterError(SECRET), CLOSED, True),
        (RefusalError(SECRET), CLOSED, True),
        (CodebookError(SECRET), CLOSED, True),
        (MemoryError(SECRET), CLOSED, True),
        (IndexError(SECRET), CLOSED, True),
        (EmptyDraftError(SECRET), EMPTY, False),
        (BudgetError(SECRET), REFUSED, False),
        (AccountError(SECRET), None, False),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Exception) else "",
)
def test_nothing_of_an_error_leaves_the_confidential_phase(tmp_path, error, sentence, closed):
    log, calls = HolderLog(path=tmp_path / "log"), []
    with pytest.raises(Told) as told, confidential_phase("x", log, lambda: calls.append(1)):
        raise error
    assert SECRET not in str(told.value) and (sentence is None or str(told.value) == sentence)
    assert told.value.__cause__ is None and bool(calls) == closed
    assert json.loads(log.path.read_text())["words"] == SECRET and log.path.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize(
    ("error", "quoted"),
    [
        (ParameterError("your words"), True),
        (RefusalError("your words"), True),
        (DataError("your words"), False),
        (ReleaseError("your words"), False),
        (CodebookError("your words"), False),
        (BudgetError("your words"), False),
        (KeyError("your words"), False),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Exception) else "",
)
def test_the_public_phase_quotes_what_the_agent_sent_and_no_file(tmp_path, error, quoted):
    log = HolderLog(path=tmp_path / "log")
    with pytest.raises(Told) as told, public_phase("x", log):
        raise error
    assert ("your words" in str(told.value)) == quoted
    assert log.path.exists() != quoted


KINDS = {
    "words": Words(help="h", most=10),
    "name": Name(help="h"),
    "amount": Amount(help="h", most=1.0, is_open_above=True),
    "level": Amount(help="h", least=0.5, most=0.9, is_open=False),
    "count": Count(help="h", most=9),
    "choice": Choice(help="h", choices=("a", "b")),
    "yes": YesNo(help="h"),
    "several": Several(help="h"),
    "settings": Settings(help="h"),
}
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-20, 20) | st.floats(-2, 2) | st.text("ab-/.\0 ", max_size=12)
    | st.sampled_from([0.5, 0.9, 1.0, 1e400, 10**400]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("ab", max_size=2), inner, max_size=3),
    max_leaves=6,
)  # fmt: skip


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.dictionaries(st.sampled_from([*KINDS, "stranger"]), VALUES, max_size=3))
def test_what_is_admitted_fits_the_schema(sent):
    """The check may be stricter than the schema (control characters), never laxer."""
    try:
        taken = checked(KINDS, sent)
    except Told as reason:
        assert len(str(reason)) < 600
        return
    jsonschema.validate(taken, schema_of(KINDS))
    assert taken == {name: value for name, value in sent.items() if value is not None}


@pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool.name)
def test_every_text_list_and_number_is_bounded(tool):
    for name, schema in tool.input_schema["properties"].items():
        bounded = {
            "string": {"maxLength", "pattern", "enum"},
            "number": {"maximum", "exclusiveMaximum"},
            "integer": {"maximum"},
            "array": {"maxItems"},
            "object": {"maxProperties"},
            "boolean": set(schema),
        }[schema["type"]]
        assert bounded & set(schema), name
    assert tool.input_schema["additionalProperties"] is False
    assert not tool.costs or "quote" in tool.description


@pytest.mark.parametrize(
    "given",
    [
        ("offers", {}),
        ("answer", {"question": "count", "epsilon": 0.1}),
        ("draft_for_holder", {"name": "mine"}),
        ("verify", {"release": "nowhere"}),
    ],
    ids=lambda given: given[0],
)
def test_a_log_that_cannot_be_written_is_one_sentence_without_a_path(house, given):
    """Whether rows were open or not, and whatever was to be written: the disk may be full."""
    desk = open_desk(house.root, account="a.account", cap_epsilon=1, data="people.csv", codebooks=["book.toml"])
    desk.log.path.rename(house.root / "kept")
    desk.log.path.mkdir()  # a folder in its place: root may write anywhere else
    name, arguments = given
    (tool,) = [tool for tool in TOOLS if tool.name == name]
    charged = desk.account.history()
    told = called(desk, tool, arguments)
    assert told.is_error and told.structured_content is None
    sentence = told.content[0].text
    assert sentence == (
        UNWRITTEN if name != "verify" else "there is no release 'nowhere'; the holder offers no release."
    )
    if name == "answer":  # nothing was charged for a reply that could not be sent
        assert not desk.is_closed and desk.account.history() == charged
        desk.log.path.rmdir()
        assert called(desk, tool, arguments).structured_content["charged"]["epsilon"] == 0.1


def test_an_error_while_rows_are_open_closes_the_data_set_though_no_log_can_be_written(house, monkeypatch):
    desk = open_desk(house.root, account="a.account", cap_epsilon=1, data="people.csv", codebooks=["book.toml"])

    def failing(*_, **__):
        desk.log.path.rename(house.root / "kept")
        desk.log.path.mkdir()
        raise DataError(SECRET)

    monkeypatch.setattr("understudy.facade.answers.answer", failing)
    (answer,) = [tool for tool in TOOLS if tool.name == "answer"]
    told = called(desk, answer, {"question": "count", "epsilon": 0.1})
    assert told.content[0].text == UNWRITTEN and desk.is_closed


def test_words_that_are_no_text_can_be_written_down(tmp_path):
    """Names of files may hold any bytes, and errors quote them."""
    log = HolderLog(path=tmp_path / "log")
    log.failed("x", DataError("a file named \udcff"))
    assert "\\udcff" in log.path.read_text(encoding="utf-8")
