"""Every price has a proof beside it, which says what it claims, for whom, and what it takes for granted."""

import ast
import importlib
import pkgutil
import re
from pathlib import Path

import pytest

import understudy
from understudy import mechanisms, privacy
from understudy.privacy.events import Event, UnpricedRead

SRC = Path(understudy.__file__).parent
PROOFS = SRC / "mechanisms" / "proofs"
TESTS = Path(__file__).parents[1]
HEADINGS = ["Claim", "Neighbours", "Unit", "Assumptions", "Proof", "Checked by"]


def our_events():
    """Subclasses of Event that the package defines; tests define some of their own."""
    for room in (mechanisms, privacy):
        for module in pkgutil.iter_modules(room.__path__):
            importlib.import_module(f"{room.__name__}.{module.name}")
    waiting, found = [Event], []
    while waiting:
        for cls in waiting.pop().__subclasses__():
            waiting.append(cls)
            if cls.__module__.startswith("understudy."):
                found.append(cls)
    return sorted(found, key=lambda cls: cls.__name__)


def sections_of(name):
    text = (PROOFS / name).read_text(encoding="utf-8")
    parts = re.split(r"^## (.+)$", text, flags=re.MULTILINE)
    return parts[0], dict(zip(parts[1::2], (part.strip() for part in parts[2::2]), strict=True)), parts[1::2]


def test_events_are_defined_only_in_rooms_that_hold_proofs():
    for path in SRC.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef) and "Event" in map(ast.unparse, node.bases):
                assert path.relative_to(SRC).parts[0] in ("mechanisms", "privacy"), node.name


@pytest.mark.parametrize("event", our_events(), ids=lambda cls: cls.__name__)
def test_every_event_has_a_proof_file(event):
    assert event.kind
    if event is UnpricedRead:
        assert event.proof is None
        return
    assert isinstance(event.proof, str)
    assert (PROOFS / event.proof).is_file()


def test_every_event_has_a_kind_of_its_own():
    kinds = [event.kind for event in our_events()]
    assert len(kinds) == len(set(kinds)) >= 6


@pytest.mark.parametrize("name", sorted(path.name for path in PROOFS.glob("*.md")))
def test_a_proof_names_what_it_must(name):
    title, sections, order = sections_of(name)
    assert re.match(r"# \S", title)
    assert order == HEADINGS
    assert all(sections.values()), "a section is empty"
    assert "add-remove" in sections["Neighbours"]
    assert "record" in sections["Unit"]


@pytest.mark.parametrize("name", sorted(path.name for path in PROOFS.glob("*.md")))
def test_a_proof_is_that_of_some_event_and_its_tests_exist(name):
    assert name in {event.proof for event in our_events()}
    cited = re.findall(r"`tests/(\S+?\.py)::(\w+)`", sections_of(name)[1]["Checked by"])
    assert cited
    for file, test in cited:
        defined = {
            node.name
            for node in ast.walk(ast.parse((TESTS / file).read_text(encoding="utf-8")))
            if isinstance(node, ast.FunctionDef)
        }
        assert test in defined, f"{file} has no {test}"
