"""Rooms import only from rooms above them, and no file grows out of one reader's head."""

import ast
from pathlib import Path

import pytest

import understudy

SRC = Path(understudy.__file__).parent

ORDER = [
    ("version", "errors", "extras", "compiled", "interrupts", "codec"),
    ("parameters",),
    ("codebook",),
    ("privacy",),
    ("sources",),
    ("mechanisms",),
    ("blocks",),
    ("samplers",),
    ("release",),
    ("synth",),
    ("datasets",),
    ("evaluate",),
    ("anonymize",),
    ("commute",),
    ("reconstruct",),
    ("trees",),
    ("service",),
    ("jobs", "facts"),
    ("cli",),
]
LEVEL = {room: level for level, rooms in enumerate(ORDER) for room in rooms}
NARROWER = {"datasets": {"codebook", "errors"}}
"""Rooms that may use less than what lies above them."""

FILES = sorted(SRC.rglob("*.py"))


def room_of(path: Path) -> str:
    first = path.relative_to(SRC).parts[0]
    return first.removesuffix(".py")


def imported_rooms(path: Path) -> set[str]:
    """Rooms of our own that a file imports, at its top or inside a function."""
    package = ["understudy", *path.relative_to(SRC).parent.parts]
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        names = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            start = package[: len(package) - node.level + 1] if node.level else []
            module = ".".join([*start, *([node.module] if node.module else [])])
            names = [f"{module}.{alias.name}" for alias in node.names]
        found |= {name.split(".")[1] for name in names if name.startswith("understudy.")}
    return found


def strangers(path: Path) -> set[str]:
    """Rooms that a file imports and may not."""
    room = room_of(path)
    if room in {"__init__", "__main__"}:  # the front doors: everything is imported there, lazily
        return set()
    assert room in LEVEL, f"{room} is a new room; give it its place in ORDER"
    above = {other for other in LEVEL if LEVEL[other] < LEVEL[room]}
    if LEVEL[room] == 0:
        above = set(ORDER[0]) - {room}
    allowed = NARROWER.get(room, above) | {room}
    return imported_rooms(path) - {"__version__"} - allowed


def test_a_room_imports_only_from_rooms_above_it():
    found = {str(path.relative_to(SRC)): strangers(path) for path in FILES}
    assert {path: rooms for path, rooms in found.items() if rooms} == {}


def test_the_walk_sees_what_it_should():
    assert imported_rooms(SRC / "mechanisms" / "dirichlet.py") >= {"errors", "privacy"}
    assert "datasets" in imported_rooms(SRC / "jobs.py")  # `from understudy import datasets`, inside a function


def test_every_public_name_exists():
    assert sorted(understudy.__all__, key=str.lower) == sorted(set(understudy.__all__), key=str.lower)
    for name in understudy.__all__:
        assert getattr(understudy, name) is not None
    with pytest.raises(AttributeError, match="nothing_here"):
        understudy.nothing_here  # noqa: B018 - the access is the test
