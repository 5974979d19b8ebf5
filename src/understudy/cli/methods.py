"""`methods`: what can be made, and what each can promise."""

from collections.abc import Iterable, Mapping
from dataclasses import fields
from typing import Annotated, Any

from rich.table import Table
from rich.text import Text

from understudy.cli import options as o
from understudy.cli.console import note, table, tell
from understudy.cli.shared import option
from understudy.facade import methods as facade


def methods(
    every: Annotated[
        bool, option("Every method of every room: what its paper claimed, what is true, its proof.", "--all")
    ] = False,
    json: o.Json = False,
) -> None:
    """List the methods, what they promise and what they need."""
    note(facade.unusable_methods())
    if every:
        rooms = facade.method_facts()
        hint = "Use instead of an unsound one: --json, or docs/methods/index.md, says what."
        tell(rooms, [_facts_table(rooms), hint], json=json)
        return
    recipes = list(facade.synthesis_methods().values())
    document = [
        {
            "name": cls.name,
            "route": cls.route,
            "promise": cls.facts.guarantee,
            "package": facade.method_package(cls.name),
            "summary": cls.summary,
            "options": [field.name for field in fields(cls)],
            "facts": cls.facts,
        }
        for cls in recipes
    ]
    rows = ((cls.name, cls.route, cls.facts.guarantee, _summary(cls)) for cls in recipes)
    routes = "Route N: counts are noised once, rows are free. Route S: every drawn row costs."
    tell(document, [table(("method", "route", "promise", "what it does"), rows), routes], json=json)


def _summary(recipe: Any) -> str:
    package = facade.method_package(recipe.name)
    return f"{recipe.summary} (from the package {package})" if package else str(recipe.summary)


def _facts_table(rooms: Mapping[str, Iterable[Any]]) -> Table:
    shown = table(("method", "route", "promise", "paper's claim", "what is true", "proof"), ())
    for room, facts in rooms.items():
        shown.add_row(Text(room, style="bold"))
        for method in facts:
            proofs = ", ".join(name.removesuffix(".md") for name in method.proofs) or "none"
            cells = (method.name, method.route, method.guarantee, method.sound, method.truth, proofs)
            shown.add_row(*map(Text, cells))
    return shown
