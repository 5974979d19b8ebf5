"""`demo`: the whole path in one command, on simulated data."""

from pathlib import Path
from typing import Annotated, Any

import typer

from understudy.cli import options as o
from understudy.cli.console import out, print_json, progress


def demo(
    output: Annotated[Path, typer.Option("--out", "-o", help="New folder for the release.")],
    json: o.Json = False,
) -> None:
    """Simulate 50,000 hospital discharges, synthesize them, and show errors, promise, files and a report."""
    from understudy import jobs

    with progress(quiet=json) as report:
        result = jobs.demo(output, report=report)
    if json:
        print_json(
            {
                "errors": {
                    "synthetic": _errors(result.synthetic),
                    "independent_columns": _errors(result.independent),
                },
                "manifest": result.release.manifest.to_dict(),
                "files": [str(path) for path in result.files],
                "left_out": result.left_out,
            }
        )
        return
    _show(result)


def _errors(comparison: Any) -> dict[str, float]:
    return {"marginal_mae": comparison.marginal_mae, "conditional_mae": comparison.conditional_mae}


def _show(result: Any) -> None:
    from rich.table import Table

    from understudy.jobs import DEMO_DATA_ROWS, DEMO_ROWS

    out.print(
        f"{DEMO_DATA_ROWS:,} simulated hospital discharges in, {DEMO_ROWS:,} synthetic ones out "
        f"(method {result.release.manifest.method}).\n"
    )
    table = Table(box=None, pad_edge=False)
    for heading in ("mean absolute error of", "synthetic", "independent columns"):
        table.add_column(heading, justify="left" if heading.startswith("mean") else "right")
    for label, name in (
        ("shares of levels", "marginal_mae"),
        ("shares given another column", "conditional_mae"),
    ):
        table.add_row(label, f"{getattr(result.synthetic, name):.4f}", f"{getattr(result.independent, name):.4f}")
    out.print(table)
    out.print("(computed on the data themselves; the promise below does not cover these errors)\n")
    out.print("[bold]The promise[/]")
    out.print(result.release.statement, markup=False)
    out.print()
    for path in result.files:
        out.print(f"wrote {path}", markup=False)
    if result.left_out:
        out.print(f"\nThe report page is left out: {result.left_out}", markup=False)
        return
    out.print(f"\nOpen {result.files[-1]} in a browser: what a disclosure board would look at.", markup=False)
