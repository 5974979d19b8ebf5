"""No command and no address is left without a hostile case, and no case is there twice."""

import re

import typer
from cases_routes import ROUTE_CASES
from test_hostile_commands import COMMAND_CASES

from understudy.cli.app import app


def commands(node, lead: tuple[str, ...] = ()) -> set[tuple[str, ...]]:
    inner = getattr(node, "commands", None)
    if not inner:
        return {lead}
    return {found for name, command in inner.items() for found in commands(command, (*lead, name))}


def test_no_case_twice_and_none_that_asks_for_nothing():
    names = [case.name for case in (*COMMAND_CASES, *ROUTE_CASES)]
    assert len(names) == len(set(names))
    asked = {(case.words, str(sorted(case.files.items(), key=str)), str(case.env)) for case in COMMAND_CASES}
    assert len(asked) == len(COMMAND_CASES)
    assert all(case.says for case in (*COMMAND_CASES, *ROUTE_CASES)), "every case says what the sentence must hold"


def test_every_command_is_there():
    tried = set()
    known = commands(typer.main.get_command(app))
    for case in COMMAND_CASES:
        words = tuple(
            "files" if (case.words[0], place) == ("reconstruct", 1) and word != "risk" else word
            for place, word in enumerate(case.words)
        )
        tried |= {name for name in known if words[: len(name)] == name}
    assert tried == known


def test_every_address_is_there(tmp_path):
    from test_hostile_routes import Service

    from understudy.service import Store

    store = Store.open(f"sqlite:///{tmp_path / 's.db'}")
    try:
        paths = {route.path for route in Service(store).app.routes}
    finally:
        store.close()
    for path in paths:
        pattern = re.compile(re.sub(r"\{[^}]+\}", "[^/]+", path))
        assert any(pattern.fullmatch(case.path) for case in ROUTE_CASES), path
