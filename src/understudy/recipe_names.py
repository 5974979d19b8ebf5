"""Where the recipe classes stand, read from the files: `dir(us)` and tab completion import no method."""

import ast
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path

ENTRY_POINTS = "understudy.methods"
"""The group under which other packages name their methods."""
_PACKAGE = "understudy.synth.methods"


@cache
def own_recipes() -> dict[str, str]:
    """Module of every recipe class of ours, by the name of the class: one whose body says ``facts``."""
    modules = sorted(Path(__file__).parent.joinpath(*_PACKAGE.split(".")[1:]).glob("*.py"))
    return {
        node.name: f"{_PACKAGE}.{path.stem}"
        for path in modules
        for node in ast.parse(path.read_bytes()).body
        if isinstance(node, ast.ClassDef) and any(map(_is_facts, node.body))
    }


def _is_facts(statement: ast.stmt) -> bool:
    targets = statement.targets if isinstance(statement, ast.Assign) else [getattr(statement, "target", None)]
    return any(isinstance(target, ast.Name) and target.id == "facts" for target in targets)


def foreign_recipes() -> tuple[EntryPoint, ...]:
    """What other packages register; nothing of them is loaded yet."""
    return tuple(entry_points(group=ENTRY_POINTS))
