"""`example`: a folder of simulated patients to try the other commands on."""

from pathlib import Path
from typing import Annotated

import typer

from understudy.cli import options as o
from understudy.cli.console import out, print_json


def example(
    output: Annotated[
        Path, typer.Option("--out", "-o", help="New folder for patients.csv, held-out.csv and patients.toml.")
    ],
    rows: Annotated[int, typer.Option("--rows", "-n", help="Simulated patients.")] = 5_000,
    seed: Annotated[int, typer.Option(help="Of the simulation.")] = 1,
    json: o.Json = False,
) -> None:
    """Write simulated patients and their codebook, to try the other commands on. No real patient is in them."""
    from understudy.datasets.example import write_patients

    paths = write_patients(output, rows=rows, seed=seed)
    if json:
        print_json({"files": [str(path) for path in paths]})
        return
    for path in paths:
        out.print(f"wrote {path}", markup=False)
