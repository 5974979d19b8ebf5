"""`verify`: is a release what it says it is?"""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from understudy.cli import options as o
from understudy.cli.console import out, print_json

if TYPE_CHECKING:
    from understudy.release.verify import Verdict

__all__ = ["tell_verdict", "verify"]


def verify(
    folder: Annotated[Path, typer.Argument(help="Folder of a release.")],
    json: o.Json = False,
) -> None:
    """Recompute digests, fit to the codebook, price and statement of a release."""
    import understudy.synth.registry  # noqa: F401 - makes every event known, so that any ledger can be priced
    from understudy.anonymize.verify import is_anonymized, verify_anonymized
    from understudy.synth.recheck import recheck_release

    verdict = verify_anonymized(folder)[0] if is_anonymized(folder) else recheck_release(folder)
    tell_verdict(verdict, json=json)


def tell_verdict(verdict: "Verdict", *, json: bool, **more: Any) -> None:
    """Print what was looked at and what was wrong; exit with 1 if anything was."""
    if json:
        total = None if verdict.total is None else verdict.total.to_dict()
        print_json(
            {
                "valid": verdict.is_valid,
                "passed": list(verdict.passed),
                "problems": list(verdict.problems),
                "total": total,
                **more,
            }
        )
    else:
        for line in verdict.passed:
            out.print(f"[green]ok[/]      {line}")
        for line in verdict.problems:
            out.print("[bold red]problem[/] ", end="")
            out.print(line, markup=False)
    if not verdict.is_valid:
        raise typer.Exit(1)
