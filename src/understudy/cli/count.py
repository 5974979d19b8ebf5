"""`count`: a table of noisy counts, weighted by a survey weight if asked for."""

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer

from understudy.cli import options as o
from understudy.cli.console import progress, tell, wrote
from understudy.cli.console import table as plain_table
from understudy.cli.declared import chosen_options, declared_command
from understudy.cli.shared import option
from understudy.errors import ParameterError
from understudy.facade import tables

_SHOWN = 20


CountCommand = declared_command(lambda _method: tables.count_options())


def count(
    context: typer.Context,
    data: o.Data,
    codebook: o.CodebookPath,
    output: Annotated[Path | None, option("New folder for the table.", "--out", "-o")] = None,
    quote: Annotated[
        bool, option("Only say what it would cost and how wide the intervals would be.", "--quote")
    ] = False,
    page: Annotated[
        Path | None, option("HTML page beside the table: loss, risk and what other epsilons would give. Public.")
    ] = None,
    recipe: o.OptionsFile = None,
    account: o.Account = None,
    unknown: o.Unknown = "error",
    table: o.Table = None,
    csv: Annotated[bool, option("Write counts.csv too.", "--csv")] = False,
    formats: o.Formats = None,
    seed: o.Seed = None,
    json: o.Json = False,
) -> None:
    """Release noisy counts, each with an interval; --weighted counts the population that the records stand for."""
    plan = chosen_options(context, recipe)
    if quote:
        price = tables.quote_count(data, codebook, **plan)
        tell(price, _price_lines(price), json=json)
        return
    if output is None:
        raise ParameterError("the table needs a place: give --out FOLDER, or --quote to see the price only.")
    with progress(quiet=json) as report:
        release = tables.count(
            data,
            codebook,
            **plan,
            out=output,
            csv=csv,
            formats=formats or (),
            page=page,
            account=account,
            unknown=unknown,
            table=table,
            seed=seed,
            report=report,
        )
    document = {"folder": output, "manifest": release.manifest, "counts": release.table.to_pylist() if json else None}
    lines = [
        *_count_lines(release.table),
        release.statement,
        *wrote([*sorted(output.iterdir()), *([] if page is None else [page])]),
    ]
    tell(document, lines, json=json)


def _price_lines(price: Any) -> Iterator[str]:
    total = price.quote.total
    cost = f"epsilon {total.epsilon:.6g}" if total.is_formal else f"no formal promise: {total.why}"
    yield f"{price.cells:,} counts for {cost}."
    yield (
        f"Each would be within {price.half_width:,.6g} of what the table holds, at {price.confidence:.4g} confidence."
    )


def _count_lines(counts: Any) -> Iterator[Any]:
    rows = (
        [f"{value:,.6g}" if isinstance(value, float) else str(value) for value in row.values()]
        for row in counts.slice(0, _SHOWN).to_pylist()
    )
    yield plain_table(counts.column_names, rows, right={"count", "low", "high"})
    if counts.num_rows > _SHOWN:
        yield f"... and {counts.num_rows - _SHOWN:,} more"
