"""`demo` and `example`: simulated data, and the whole path in one command."""

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

from understudy.cli import options as o
from understudy.cli.console import progress, table, tell, wrote
from understudy.cli.shared import option, whole_option
from understudy.errors import ParameterError
from understudy.facade import demo as facade

_ERRORS = {"marginal_mae": "shares of levels", "conditional_mae": "shares given another column"}


def demo(output: o.OutFolder, json: o.Json = False) -> None:
    """Simulate 50,000 hospital discharges, synthesize them, and show errors, promise, files and a report."""
    with progress(quiet=json) as report:
        result = facade.demo(output, report=report)
    tables = {"synthetic": result.synthetic, "independent_columns": result.independent}
    document = {
        "errors": {
            name: {error: getattr(comparison, error) for error in _ERRORS} for name, comparison in tables.items()
        },
        "manifest": result.release.manifest,
        "files": result.files,
        "left_out": result.left_out,
    }
    tell(document, _lines(result), json=json)


def _lines(result: Any) -> Iterator[Any]:
    from rich.text import Text

    yield (
        f"{facade.DEMO_DATA_ROWS:,} simulated hospital discharges in, {facade.DEMO_ROWS:,} synthetic ones out "
        f"(method {result.release.manifest.method}).\n"
    )
    headings = ("mean absolute error of", "synthetic", "independent columns")
    rows = (
        (label, f"{getattr(result.synthetic, error):.4f}", f"{getattr(result.independent, error):.4f}")
        for error, label in _ERRORS.items()
    )
    yield table(headings, rows, right=headings[1:])
    yield "(computed on the data themselves; the promise below does not cover these errors)\n"
    yield Text("The promise", style="bold")
    yield result.release.statement + "\n"
    yield from wrote(result.files)
    if result.left_out:
        yield f"\nThe report page is left out: {result.left_out}"
        return
    yield f"\nOpen {result.files[-1]} in a browser: what a disclosure board would look at."


def example(
    output: Annotated[Path, option("New folder for the tables, others kept back, and the codebook.", "--out", "-o")],
    rows: Annotated[int, whole_option("Simulated patients.", "--rows", "-n")] = 5_000,
    seed: Annotated[int, whole_option("Of the simulation.")] = 1,
    linked: Annotated[
        bool, option("People with histories: patients, their stays, their diagnoses.", "--linked")
    ] = False,
    one_file: Annotated[bool, option("With --linked: one table of stays that repeats people.", "--one-file")] = False,
    json: o.Json = False,
) -> None:
    """Write simulated patients and their codebook, to try the other commands on. No real patient is in them."""
    if one_file and not linked:
        raise ParameterError("--one-file is about people with histories; write --linked --one-file, or leave it out.")
    if linked:
        paths = facade.example_histories(output, patients=rows, seed=seed, one_file=one_file)
    else:
        paths = facade.example_patients(output, rows=rows, seed=seed)
    tell({"files": paths}, wrote(paths), json=json)
