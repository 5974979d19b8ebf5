"""`rumap`: what an epsilon buys, method by method."""

from pathlib import Path
from typing import Annotated

import typer

from understudy.cli import options as o
from understudy.cli.account import AccountToTell
from understudy.cli.console import errors_to, out, print_json, progress
from understudy.errors import ParameterError


def numbers(text: str) -> tuple[float, ...]:
    """Numbers between commas."""
    return tuple(o.number(part.strip()) for part in text.split(",") if part.strip())


def words(text: str | None) -> tuple[str, ...]:
    """Words between commas."""
    return () if text is None else tuple(part.strip() for part in text.split(",") if part.strip())


def rumap(
    data: o.Data,
    codebook: o.CodebookPath,
    epsilons: Annotated[str, typer.Option(help="Epsilons between commas, for example 0.1,1,10.")],
    rows: o.RequiredRows,
    output: Annotated[Path, typer.Option("--out", "-o", help="Folder of the map; run again to go on with it.")],
    methods: Annotated[str, typer.Option(help="Methods between commas; see `understudy methods`.")] = "marginals",
    repeat: Annotated[
        int, typer.Option(help="Runs of each method and epsilon.", parser=o.whole_number, metavar="NUMBER")
    ] = 5,
    per_record: Annotated[
        bool,
        typer.Option(
            "--per-record", help="Epsilon per synthetic record for pegs and its kin, as in the paper; else whole file."
        ),
    ] = False,
    stand_in: Annotated[
        str | None,
        typer.Option(
            help="Public table of the same shape, used instead of DATA: DATA is then not read.", show_default=False
        ),
    ] = None,
    delta: o.Delta = None,
    detail_epsilon: o.DetailEpsilon = None,
    detail_delta: o.DetailDelta = None,
    public_rows: o.PublicRows = None,
    block_size: o.BlockSize = None,
    parents: o.Parents = None,
    parent_count: o.ParentCount = None,
    sweeps: o.Sweeps = None,
    given: Annotated[
        str | None, typer.Option(help="Columns between commas that conditional shares are given.", show_default=False)
    ] = None,
    target: Annotated[
        str | None, typer.Option(help="Column that regression models explain.", show_default=False)
    ] = None,
    formula: Annotated[
        list[str] | None,
        typer.Option(help="Model instead, as 'charge > 25 ~ age + sex'; may be repeated.", show_default=False),
    ] = None,
    quasi: Annotated[
        str | None, typer.Option(help="What the intruder knows; default: by role.", show_default=False)
    ] = None,
    sensitive: Annotated[
        str | None, typer.Option(help="What the intruder wants; default: by role.", show_default=False)
    ] = None,
    seed: Annotated[
        int | None, typer.Option(help="Reproducible runs.", show_default=False, parser=o.whole_number, metavar="NUMBER")
    ] = None,
    unknown: o.Unknown = "error",
    table: o.Table = None,
    account: AccountToTell = None,
    json: o.Json = False,
) -> None:
    """Map risk against utility: many releases, measured and never published. The map is confidential."""
    from understudy import jobs
    from understudy.codebook import Codebook

    book = Codebook.load(codebook)
    if book.unit is not None and book.unit.records_per_person == "counted":
        raise ParameterError(
            "a map does not vary what counting the records of each person costs; take records_per_person out of [unit]."
        )
    if stand_in is None:
        errors_to.print(
            "[bold yellow]warning:[/] choosing epsilon by looking at the confidential data is itself not covered by "
            "the guarantee; --stand-in FILE makes the map on a public table instead."
        )
    with progress(quiet=json) as report:
        made = jobs.risk_utility_map(
            data,
            book,
            jobs.Plan(
                methods=words(methods),
                epsilons=numbers(epsilons),
                rows=rows,
                repeat=repeat,
                per_record=per_record,
                options={
                    "delta": delta,
                    "detail_epsilon": detail_epsilon,
                    "detail_delta": detail_delta,
                    "public_rows": public_rows,
                    "block_size": block_size,
                    "parents": parents,
                    "parent_count": parent_count,
                    "sweeps": sweeps,
                },
            ),
            jobs.Questions(
                given=words(given),
                target=target,
                formulas=tuple(formula or ()),
                quasi=None if quasi is None else words(quasi),
                sensitive=None if sensitive is None else words(sensitive),
            ),
            out=output,
            stand_in=stand_in,
            seed=seed,
            unknown=unknown,
            table=table,
            account=account,
            report=report,
        )
    if json:
        print_json(made.document)
        return
    out.print(f"{made.document['finished']} of {made.document['planned']} runs are in {output}.", markup=False)
    if made.document["refused"]:
        out.print(f"{len(made.document['refused'])} runs were refused by their method; the page says why.")
    for path in made.files:
        out.print(f"wrote {path}", markup=False)
