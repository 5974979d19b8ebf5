"""`methods`: what can be made, and what each can promise."""

from understudy.cli import options as o
from understudy.cli.console import out, print_json

__all__ = ["methods"]


def methods(json: o.Json = False) -> None:
    """List the methods, what they promise and what they need."""
    from dataclasses import fields

    from rich.table import Table

    from understudy.synth.registry import METHODS

    if json:
        print_json(
            [
                {
                    "name": cls.name,
                    "route": cls.route,
                    "promise": cls.promise,
                    "summary": cls.summary,
                    "options": [field.name for field in fields(cls)],
                }
                for cls in METHODS.values()
            ]
        )
        return
    table = Table(box=None, pad_edge=False)
    for heading in ("method", "route", "promise", "what it does"):
        table.add_column(heading, overflow="fold")
    for cls in METHODS.values():
        table.add_row(cls.name, cls.route, cls.promise, cls.summary)
    out.print(table)
    out.print("Route N: counts are noised once, rows are free. Route S: every drawn row costs.", markup=False)
