"""Options that several commands take, written once."""

from pathlib import Path
from typing import Annotated

import typer

from understudy.cli.numbers import number, whole_number

__all__ = ["number", "whole_number"]  # used from here too

_PRIVACY, _MODEL, _INPUT = "Privacy", "Model", "Input and output"

Data = Annotated[
    str,
    typer.Argument(
        help="CSV (also .gz) or Parquet file, a glob of them, or duckdb:///FILE?table=T, "
        "postgresql://USER@HOST/DB?table=SCHEMA.TABLE, spark://HOST:PORT?table=T."
    ),
]
CodebookPath = Annotated[Path, typer.Option("--codebook", "-c", help="Codebook in TOML.", rich_help_panel=_INPUT)]
Method = Annotated[
    str | None,
    typer.Option(
        "--method",
        "-m",
        help="See `understudy methods`; marginals by default.",
        rich_help_panel=_MODEL,
        show_default=False,
    ),
]
_ROWS = typer.Option(
    "--rows", "-n", help="Synthetic rows to draw; a public number.", parser=whole_number, metavar="NUMBER"
)
RequiredRows = Annotated[int, _ROWS]
Rows = Annotated[int | None, _ROWS]
Delta = Annotated[
    float | None,
    typer.Option(
        help="Slack of the whole-file total, far below 1/records.",
        rich_help_panel=_PRIVACY,
        show_default=False,
        parser=number,
        metavar="NUMBER",
    ),
]
NeighbourRelation = Annotated[
    str | None,
    typer.Option(
        "--neighbours",
        help="add-remove (default) or replace-one.",
        rich_help_panel=_PRIVACY,
        show_default=False,
    ),
]
Parents = Annotated[
    str | None,
    typer.Option(
        help="declared, private, random, full, or mutual-information (reads raw data: no formal guarantee). "
        "A number is short for --parent-count.",
        rich_help_panel=_MODEL,
        show_default=False,
    ),
]
PublicRows = Annotated[
    int | None,
    typer.Option(
        help="Publicly known size of the table; an upper bound under add-remove.",
        rich_help_panel=_PRIVACY,
        show_default=False,
        parser=whole_number,
        metavar="NUMBER",
    ),
]
Key = Annotated[
    str | None,
    typer.Option(help="columns (default), feature-hash or minhash.", rich_help_panel=_MODEL, show_default=False),
]
KeySpace = Annotated[
    int | None,
    typer.Option(
        help="Number of hashed keys.", rich_help_panel=_MODEL, show_default=False, parser=whole_number, metavar="NUMBER"
    ),
]
Sweeps = Annotated[
    int | None,
    typer.Option(
        help="Gibbs sweeps per row; each costs on pegs.",
        rich_help_panel=_MODEL,
        show_default=False,
        parser=whole_number,
        metavar="NUMBER",
    ),
]
Engines = Annotated[
    list[str] | None,
    typer.Option(
        help="auto, logistic, linear, cart or blocks (imputation, pmi); COLUMN=ENGINE for one column. Repeatable.",
        rich_help_panel=_MODEL,
        show_default=False,
    ),
]
Order = Annotated[
    str | None,
    typer.Option(
        help="COLUMN,COLUMN: the order in which imputation and pmi draw columns.",
        rich_help_panel=_MODEL,
        show_default=False,
    ),
]
Unknown = Annotated[
    str,
    typer.Option(
        help="Values outside the codebook: error, missing, other or other-or-missing.", rich_help_panel=_INPUT
    ),
]
Table = Annotated[str | None, typer.Option(help="Table in a database.", rich_help_panel=_INPUT, show_default=False)]
Account = Annotated[
    Path | None,
    typer.Option(
        help="Budget account to charge (see `understudy account`).",
        rich_help_panel=_PRIVACY,
        show_default=False,
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON document for machines.")]
Recipe = Annotated[
    Path | None,
    typer.Option(
        "--recipe",
        help="TOML file with `method`, `rows` and the options of the method, or the manifest.json of a release to "
        "repeat. Flags win over it.",
        rich_help_panel=_INPUT,
        show_default=False,
    ),
]
DetailEpsilon = Annotated[
    float | None,
    typer.Option(
        help="Epsilon of all tables of details and measured numbers.",
        rich_help_panel=_PRIVACY,
        show_default=False,
        parser=number,
        metavar="NUMBER",
    ),
]
DetailDelta = Annotated[
    float | None,
    typer.Option(
        help="Delta of the tables of all detail columns together.",
        rich_help_panel=_PRIVACY,
        show_default=False,
        parser=number,
        metavar="NUMBER",
    ),
]
BlockSize = Annotated[
    int | None,
    typer.Option(
        help="Rows per chain of pegs-rs.",
        rich_help_panel=_MODEL,
        show_default=False,
        parser=whole_number,
        metavar="NUMBER",
    ),
]
ParentCount = Annotated[
    int | None,
    typer.Option(
        help="R: parents per column, for choices that take a number.",
        rich_help_panel=_MODEL,
        show_default=False,
        parser=whole_number,
        metavar="NUMBER",
    ),
]
