"""`verify`: is a release what it says it is?"""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from understudy.cli import options as o
from understudy.cli.console import progress, tell
from understudy.cli.shared import option
from understudy.facade import releases

if TYPE_CHECKING:
    from understudy.release.verify import Verdict


def verify(
    folder: Annotated[Path, typer.Argument(help="Folder of a release, or the file of a risk score.")],
    key: Annotated[
        Path | None, option("Public key of the publisher: the release must be signed with it.", "--key")
    ] = None,
    json: o.Json = False,
) -> None:
    """Say what a release is, and recompute its digests, fit to the codebook, inputs, price and statement."""
    with progress(quiet=json) as report:
        verdict = releases.verify(folder, key=key, report=report)
    tell_verdict(verdict, json=json)


def tell_verdict(verdict: "Verdict", *, json: bool, **more: Any) -> None:
    """Print what was looked at and what was wrong; exit with 1 if anything was."""
    document = {
        "what": verdict.what,
        "valid": verdict.is_valid,
        "passed": verdict.passed,
        "problems": verdict.problems,
        "notices": verdict.notices,
        "total": verdict.total,
        "signed_by": verdict.signed_by or None,
        **more,
    }
    tell(document, _lines(verdict), json=json)
    if not verdict.is_valid:
        raise typer.Exit(1)


def _lines(verdict: "Verdict") -> Iterator[Any]:
    from rich.text import Text

    yield f"This is {verdict.what}."
    for line in verdict.notices:
        yield Text.assemble(("notice", "bold yellow"), f"  {line}")
    for line in verdict.passed:
        yield Text.assemble(("ok", "green"), f"      {line}")
    for line in verdict.problems:
        yield Text.assemble(("problem", "bold red"), f" {line}")
