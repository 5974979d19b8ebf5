"""`count`: a table of noisy counts, weighted by a survey weight if asked for."""

from pathlib import Path
from typing import Annotated, Any

import typer

from understudy.cli import options as o
from understudy.cli.console import out, print_json, progress
from understudy.errors import ParameterError

_SHOWN = 20


def count(
    data: o.Data,
    codebook: o.CodebookPath,
    by: Annotated[str, typer.Option(help="Columns between commas; every combination of their levels is counted.")],
    epsilon: Annotated[
        float, typer.Option(help="Price of the table.", parser=o.number, metavar="NUMBER", show_default=False)
    ],
    output: Annotated[
        Path | None, typer.Option("--out", "-o", help="New folder for the table.", show_default=False)
    ] = None,
    weighted: Annotated[
        bool, typer.Option("--weighted", help="Weigh each record by the codebook's survey weight.")
    ] = False,
    quote: Annotated[
        bool, typer.Option("--quote", help="Only say what it would cost and how wide the intervals would be.")
    ] = False,
    confidence: Annotated[
        float, typer.Option(help="Of the interval around each count.", parser=o.number, metavar="NUMBER")
    ] = 0.95,
    neighbours: o.NeighbourRelation = None,
    account: o.Account = None,
    unknown: o.Unknown = "error",
    table: o.Table = None,
    csv: Annotated[bool, typer.Option("--csv", help="Write counts.csv too.")] = False,
    seed: Annotated[
        int | None, typer.Option(help="Reproducible, hence not private: for simulation.", show_default=False)
    ] = None,
    json: o.Json = False,
) -> None:
    """Release noisy counts, each with an interval; --weighted counts the population that the records stand for."""
    from understudy import jobs
    from understudy.codebook import Codebook
    from understudy.privacy.guarantees import Neighbours
    from understudy.sources.inputs import find_provenance
    from understudy.synth.choices import relation_of
    from understudy.synth.counts import Counts

    plan = Counts(
        book=Codebook.load(codebook),
        columns=tuple(word.strip() for word in by.split(",") if word.strip()),
        epsilon=epsilon,
        weighted=weighted,
        confidence=confidence,
        neighbours=Neighbours.ADD_REMOVE if neighbours is None else relation_of(neighbours),
    )
    if quote:
        find_provenance(data).refuse_as_data("a table of counts")  # what will be refused has no price
        _quote(plan, json=json)
        return
    if output is None:
        raise ParameterError("the table needs a place: give --out FOLDER, or --quote to see the price only.")
    with progress(quiet=json) as report:
        release = jobs.count(
            plan, data, out=output, csv=csv, account=account, unknown=unknown, table=table, seed=seed, report=report
        )
    if json:
        rows = release.table.to_pylist()
        print_json({"folder": str(output), "manifest": release.manifest.to_dict(), "counts": rows})
        return
    _show(release.table, plan)
    out.print(release.statement, markup=False)
    for path in sorted(output.iterdir()):
        out.print(f"wrote {path}", markup=False)


def _quote(plan: Any, *, json: bool) -> None:
    priced = plan.quote()
    total = priced.total
    found = {
        "cells": plan.cells,
        "half_width": plan.reach,
        "confidence": plan.confidence,
        "total": total.to_dict(),
        "entries": priced.ledger.to_list(),
    }
    if json:
        print_json(found)
        return
    said = f"epsilon {total.epsilon:.6g}" if total.is_formal else f"no formal promise: {total.why}"
    out.print(f"{plan.cells:,} counts for {said}.", markup=False)
    out.print(
        f"Each would be within {plan.reach:,.6g} of what the table holds, at {plan.confidence:.4g} confidence.",
        markup=False,
    )


def _show(counts: Any, plan: Any) -> None:
    from rich.table import Table

    shown = Table(box=None, pad_edge=False)
    for name in counts.column_names:
        numeric = name in ("count", "low", "high") and name not in plan.columns
        shown.add_column(name, justify="right" if numeric else "left", overflow="fold")
    for row in counts.slice(0, _SHOWN).to_pylist():
        shown.add_row(*(f"{value:,.6g}" if isinstance(value, float) else str(value) for value in row.values()))
    out.print(shown)
    if counts.num_rows > _SHOWN:
        out.print(f"... and {counts.num_rows - _SHOWN:,} more", markup=False)
