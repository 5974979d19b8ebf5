"""`verify`: is a release what it says it is?"""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from understudy.cli import options as o
from understudy.cli.console import out, print_json

if TYPE_CHECKING:
    from understudy.release.verify import Verdict


def verify(
    folder: Annotated[Path, typer.Argument(help="Folder of a release, or the file of a risk score.")],
    json: o.Json = False,
) -> None:
    """Say what a release is, and recompute its digests, fit to the codebook, inputs, price and statement."""
    from understudy import jobs

    tell_verdict(jobs.verify(folder), json=json)


def tell_verdict(verdict: "Verdict", *, json: bool, **more: Any) -> None:
    """Print what was looked at and what was wrong; exit with 1 if anything was."""
    if json:
        total = None if verdict.total is None else verdict.total.to_dict()
        print_json(
            {
                "what": verdict.what,
                "valid": verdict.is_valid,
                "passed": list(verdict.passed),
                "problems": list(verdict.problems),
                "total": total,
                **more,
            }
        )
    else:
        out.print(f"This is {verdict.what}.", markup=False)
        for line in verdict.passed:
            out.print(f"[green]ok[/]      {line}")
        for line in verdict.problems:
            out.print("[bold red]problem[/] ", end="")
            out.print(line, markup=False)
    if not verdict.is_valid:
        raise typer.Exit(1)
