"""`methods`: what can be made, and what each can promise."""

from typing import Annotated

import typer

from understudy.cli import options as o
from understudy.cli.console import out, print_json


def methods(
    every: Annotated[
        bool, typer.Option("--all", help="Every method of every room: what its paper claimed, what is true, its proof.")
    ] = False,
    json: o.Json = False,
) -> None:
    """List the methods, what they promise and what they need."""
    if every:
        _all(json)
        return
    from dataclasses import fields

    from rich.table import Table

    from understudy.synth.facts import FACTS
    from understudy.synth.registry import METHODS

    if json:
        print_json(
            [
                {
                    "name": cls.name,
                    "route": cls.route,
                    "promise": cls.facts.guarantee,
                    "summary": cls.summary,
                    "options": [field.name for field in fields(cls)],
                    "facts": FACTS[cls.name].to_dict(),
                }
                for cls in METHODS.values()
            ]
        )
        return
    table = Table(box=None, pad_edge=False)
    for heading in ("method", "route", "promise", "what it does"):
        table.add_column(heading, overflow="fold")
    for cls in METHODS.values():
        table.add_row(cls.name, cls.route, cls.facts.guarantee, cls.summary)
    out.print(table)
    out.print("Route N: counts are noised once, rows are free. Route S: every drawn row costs.", markup=False)


def _all(json: bool) -> None:
    from rich.table import Table

    from understudy.facts import ALL

    if json:
        print_json({room: [one.to_dict() for one in some] for room, some in ALL.items()})
        return
    table = Table(box=None, pad_edge=False)
    for heading in ("method", "route", "promise", "paper's claim", "what is true", "proof"):
        table.add_column(heading, overflow="fold")
    for room, some in ALL.items():
        table.add_row(f"[bold]{room}[/]")
        for one in some:
            proofs = ", ".join(name.removesuffix(".md") for name in one.proofs) or "none"
            table.add_row(one.name, one.route, one.guarantee, one.sound, one.truth, proofs)
    out.print(table)
    out.print("Use instead of an unsound one: --json, or docs/methods/index.md, says what.", markup=False)
