"""What experiments, benchmarks and the makers of the site take from the library exists.

Most of them run in `make long` only, or by hand: a name that was moved would be missed there for weeks.
"""

import ast
import importlib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PROGRAMS = sorted(path for folder in ("experiments", "benchmarks", "docs") for path in (ROOT / folder).rglob("*.py"))


def taken(path: Path) -> list[tuple[str, str]]:
    """The module and the name of every ``from understudy... import name`` of a program, also inside functions."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return [
        (node.module, alias.name)
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == "understudy"
        for alias in node.names
    ]


def there(module: str, name: str) -> bool:
    """Whether the module has this name, as a value or as a module in it."""
    if hasattr(importlib.import_module(module), name):
        return True
    try:
        importlib.import_module(f"{module}.{name}")
    except ModuleNotFoundError:
        return False
    return True


def test_there_are_programs_to_check():
    assert sum(bool(taken(path)) for path in PROGRAMS) > 50


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_what_a_program_takes_is_there(path):
    gone = [f"from {module} import {name}" for module, name in taken(path) if not there(module, name)]
    assert not gone, f"{path.name} asks for names that the library does not have: {gone}"


def test_a_name_that_was_moved_is_noticed(tmp_path):
    program = tmp_path / "old.py"
    program.write_text("def main():\n    from understudy.synth.seeds import seed_pool, PublicSeeds\n", encoding="utf-8")
    assert [there(*each) for each in taken(program)] == [False, True]
