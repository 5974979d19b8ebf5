"""Rooms import only from rooms above them, and no file grows out of one reader's head."""

import ast
import importlib
import inspect
from pathlib import Path

import pytest

import understudy

SRC = Path(understudy.__file__).parent

ORDER = [
    (
        "version",
        "errors",
        "extras",
        "callable_rooms",
        "recipe_names",
        "compiled",
        "confidential",
        "interrupts",
        "codec",
        "texts",
        "files",
        "loading",
    ),
    ("parameters",),
    ("pages",),
    ("front",),
    ("codebook",),
    ("privacy",),
    ("sources",),
    ("mechanisms",),
    ("blocks",),
    ("samplers",),
    ("release",),
    ("synth",),
    ("histories",),
    ("datasets",),
    ("evaluate",),
    ("infer",),
    ("answers",),
    ("anonymize",),
    ("commute",),
    ("reconstruct",),
    ("trees",),
    ("service",),
    ("facade",),
    ("studio",),
    ("agents",),
    ("cli",),
]
LEVEL = {room: level for level, rooms in enumerate(ORDER) for room in rooms}
NARROWER = {"datasets": {"codebook", "errors", "parameters", "files"}}
"""Rooms that may use less than what lies above them."""

FILES = sorted(SRC.rglob("*.py"))


def room_of(path: Path) -> str:
    first = path.relative_to(SRC).parts[0]
    return first.removesuffix(".py")


def imported_rooms(path: Path) -> set[str]:
    """Rooms of our own that a file imports, at its top or inside a function."""
    return rooms_in(ast.parse(path.read_text(encoding="utf-8")), path)


def rooms_in(tree: ast.Module, path: Path) -> set[str]:
    package = ["understudy", *path.relative_to(SRC).parent.parts]
    found = set()
    for node in ast.walk(tree):
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
    assert "datasets" in imported_rooms(SRC / "facade" / "demo.py")  # `from understudy import datasets`, in a function


FRONT = {"cli", "facade", "errors", "parameters", "codec", "interrupts", "version"}
"""What a command may use: it asks the facade, and nothing else knows how anything is done."""


STUDIO = (FRONT - {"cli"}) | {"studio", "pages", "extras", "front", "files", "loading", "texts"}
"""What a screen may use: the facade too, and the pages it is drawn with."""


AGENTS = (FRONT - {"cli"}) | {"agents", "extras", "files"}
"""What the server for agents may use: the facade too, and no other way to reach rows."""


def run_time_rooms(path: Path) -> set[str]:
    """As :func:`imported_rooms`, without what only a type checker reads."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    typing_only = [node for node in tree.body if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)]
    tree.body = [node for node in tree.body if node not in typing_only]
    return rooms_in(tree, path)


@pytest.mark.parametrize("path", sorted((SRC / "cli").glob("*.py")), ids=lambda path: path.name)
def test_commands_call_only_the_facade(path):
    assert run_time_rooms(path) <= FRONT | {"studio.py": {"studio"}, "mcp.py": {"agents"}}.get(path.name, set())


@pytest.mark.parametrize("path", sorted((SRC / "studio").rglob("*.py")), ids=lambda path: path.name)
def test_screens_call_only_the_facade(path):
    assert run_time_rooms(path) <= STUDIO


@pytest.mark.parametrize("path", sorted((SRC / "agents").rglob("*.py")), ids=lambda path: path.name)
def test_the_server_for_agents_calls_only_the_facade(path):
    assert run_time_rooms(path) <= AGENTS


def test_the_facade_imports_nothing_heavy():
    """Functions bring what they need: `import understudy`, `--help` and tab completion of arguments come at once."""
    for path in sorted((SRC / "facade").glob("*.py")):
        top = ast.parse(path.read_text(encoding="utf-8"))
        top.body = [node for node in top.body if isinstance(node, ast.Import | ast.ImportFrom)]
        assert rooms_in(top, path) <= {"facade", "confidential", "errors", "extras"}, path.name


def test_every_public_name_exists():
    assert list(understudy.__all__) == sorted(set(understudy.__all__)) == dir(understudy)
    for name in understudy.__all__:
        assert getattr(understudy, name) is not None
    with pytest.raises(AttributeError, match="nothing_here"):
        understudy.nothing_here  # noqa: B018 - the access is the test


def test_editors_see_the_names_that_are_there():
    """The imports for type checkers and the table for Python say the same."""
    tree = ast.parse((SRC / "__init__.py").read_text(encoding="utf-8"))
    (block,) = [node for node in tree.body if isinstance(node, ast.If)]
    imports = [node for node in block.body if isinstance(node, ast.ImportFrom)]
    seen = {alias.asname: f"{node.module}.{alias.name}" for node in imports for alias in node.names}
    renamed = [node for node in block.body if isinstance(node, ast.Assign)]
    seen |= {node.targets[0].id: seen.pop(node.value.id) for node in renamed}
    called = understudy._CALLED
    assert seen == {name: f"{home}.{called.get(name, name)}" for name, home in understudy._HOME.items()}
    assert {cls.__name__ for cls in understudy.METHODS.values()} == set(dir(understudy)) - {*seen, "__version__"}


@pytest.mark.parametrize(
    "name",
    ["anonymize", "audit", "check", "commute", "count", "draft", "evaluate", "forecast", "quote",
     "reconstruct", "rumap", "synthesize", "train", "verify"],
)  # fmt: skip
def test_help_explains_every_argument(name):
    """Also where a room of the same name has been imported meanwhile."""
    importlib.import_module(f"understudy.{name}") if (SRC / name).is_dir() else None
    function = getattr(understudy, name)
    text = inspect.getdoc(function)
    named = {word.strip(" *") for line in text.splitlines() if not line.startswith(" ") for word in line.split(",")}
    assert "Parameters\n----------" in text and "Returns\n-------" in text
    assert set(inspect.signature(function).parameters) <= named
