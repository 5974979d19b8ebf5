"""`rumap`: what an epsilon buys, method by method."""

from pathlib import Path
from typing import Annotated

import typer

from understudy.cli import options as o
from understudy.cli.console import progress, tell, warn, wrote
from understudy.cli.declared import chosen_options, declared_command
from understudy.cli.shared import option
from understudy.facade import looks

MapCommand = declared_command(
    lambda _method: looks.passed_options(),
    common=looks.map_options,
    hint="Options of the methods can be given too (`understudy synth --method NAME --help` shows them): each goes to "
    "the methods that know it.",
)


def rumap(
    context: typer.Context,
    data: o.Data,
    codebook: o.CodebookPath,
    rows: o.RequiredRows,
    output: Annotated[Path, option("Folder of the map; run again to go on with it.", "--out", "-o")],
    stand_in: Annotated[
        str | None, option("Public table of the same shape, used instead of DATA: DATA is then not read.")
    ] = None,
    board: Annotated[
        Path | None, option("Limits of a board (board.toml) that the advice is held against; else the defaults.")
    ] = None,
    recipe: o.OptionsFile = None,
    seed: o.RunSeed = None,
    unknown: o.Unknown = "error",
    table: o.Table = None,
    account: o.AccountToTell = None,
    json: o.Json = False,
) -> None:
    """Map risk against utility: many releases, measured and never published. The map is confidential."""
    if stand_in is None:
        warn(
            [
                "choosing epsilon by looking at the confidential data is itself not covered by the guarantee; "
                "--stand-in FILE makes the map on a public table instead."
            ]
        )
    with progress(quiet=json) as report:
        made = looks.rumap(
            data,
            codebook,
            rows,
            out=output,
            stand_in=stand_in,
            board=board,
            unknown=unknown,
            table=table,
            account=account,
            seed=seed,
            report=report,
            **chosen_options(context, recipe),
        )
    document, refused = made.document, len(made.document["refused"])
    lines = [
        f"{document['finished']} of {document['planned']} runs are in {output}.",
        document["plane"]["advice"],
        *([f"{refused} runs were refused by their method; the page says why."] if refused else []),
        *wrote(made.files),
    ]
    tell(document, lines, json=json)
