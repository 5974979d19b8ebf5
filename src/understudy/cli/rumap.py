"""`rumap`: what an epsilon buys, method by method."""

from pathlib import Path
from typing import Annotated

import typer

from understudy.cli import options as o
from understudy.cli.console import progress, tell, warn, wrote
from understudy.cli.declared import declared_command, given_options
from understudy.cli.shared import AccountToTell, RunSeed, listed, option, whole_option
from understudy.facade import looks
from understudy.parameters import EPSILON, Several

_EPSILONS = Several(each=EPSILON, words="a list of numbers above 0", example="0.1,1,10", least=0)
MapCommand = declared_command(
    lambda _method: looks.map_options(),
    hint="Options of the methods can be given too (`understudy synth --method NAME --help` shows them): each goes to "
    "the methods that know it.",
)


def rumap(
    context: typer.Context,
    data: o.Data,
    codebook: o.CodebookPath,
    epsilons: Annotated[str, option("Epsilons between commas, for example 0.1,1,10.")],
    rows: o.RequiredRows,
    output: Annotated[Path, option("Folder of the map; run again to go on with it.", "--out", "-o")],
    methods: Annotated[str, option("Methods between commas; see `understudy methods`.")] = "marginals",
    repeat: Annotated[int, whole_option("Runs of each method and epsilon.")] = 5,
    per_record: Annotated[
        bool,
        option("Epsilon per synthetic record for pegs and its kin, as in the paper; else whole file.", "--per-record"),
    ] = False,
    stand_in: Annotated[
        str | None, option("Public table of the same shape, used instead of DATA: DATA is then not read.")
    ] = None,
    given: Annotated[str | None, option("Columns between commas that conditional shares are given.")] = None,
    target: Annotated[str | None, option("Column that regression models explain.")] = None,
    formula: Annotated[
        list[str] | None, option("Model instead, as 'charge > 25 ~ age + sex'; may be repeated.")
    ] = None,
    quasi: Annotated[str | None, option("What the intruder knows; default: by role.")] = None,
    sensitive: Annotated[str | None, option("What the intruder wants; default: by role.")] = None,
    seed: RunSeed = None,
    unknown: o.Unknown = "error",
    table: o.Table = None,
    account: AccountToTell = None,
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
            _EPSILONS.read("epsilons", epsilons),
            output,
            methods=listed(methods),
            repeat=repeat,
            per_record=per_record,
            stand_in=stand_in,
            given=listed(given),
            target=target,
            formulas=formula or (),
            quasi=None if quasi is None else listed(quasi),
            sensitive=None if sensitive is None else listed(sensitive),
            unknown=unknown,
            table=table,
            account=account,
            seed=seed,
            report=report,
            **given_options(context),
        )
    document, refused = made.document, len(made.document["refused"])
    lines = [
        f"{document['finished']} of {document['planned']} runs are in {output}.",
        *([f"{refused} runs were refused by their method; the page says why."] if refused else []),
        *wrote(made.files),
    ]
    tell(document, lines, json=json)
