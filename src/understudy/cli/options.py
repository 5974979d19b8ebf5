"""Options that several commands take, written once."""

from pathlib import Path
from typing import Annotated

import typer

from understudy.cli.numbers import number, whole_number
from understudy.cli.shared import number_option, option, whole_option

__all__ = ["number", "whole_number"]  # used from here too

_PRIVACY, _MODEL, _INPUT = "Privacy", "Model", "Input and output"
_ROWS = whole_option("Synthetic rows to draw; a public number.", "--rows", "-n")

Data = Annotated[
    str,
    typer.Argument(
        help="CSV (also .gz) or Parquet file, a glob of them, or duckdb:///FILE?table=T, "
        "postgresql://USER@HOST/DB?table=SCHEMA.TABLE, spark://HOST:PORT?table=T."
    ),
]
CodebookPath = Annotated[Path, option("Codebook in TOML.", "--codebook", "-c", panel=_INPUT)]
Unknown = Annotated[
    str, option("Values outside the codebook: error, missing, other or other-or-missing.", panel=_INPUT)
]
Table = Annotated[str | None, option("Table in a database.", panel=_INPUT)]
Recipe = Annotated[
    Path | None,
    option(
        "TOML file with `method`, `rows` and the options of the method, or the manifest.json of a release to repeat. "
        "Flags win over it.",
        panel=_INPUT,
    ),
]
OptionsFile = Annotated[
    Path | None, option("TOML file with the options, one per line. Flags win over it.", "--recipe", panel=_INPUT)
]
Json = Annotated[bool, option("Print one JSON document for machines.", "--json")]
RequiredRows = Annotated[int, _ROWS]
Rows = Annotated[int | None, _ROWS]
Method = Annotated[
    str | None, option("See `understudy methods`; marginals by default.", "--method", "-m", panel=_MODEL)
]
Account = Annotated[Path | None, option("Budget account to charge (see `understudy account`).", panel=_PRIVACY)]
NeighbourRelation = Annotated[
    str | None, option("add-remove (default) or replace-one.", "--neighbours", panel=_PRIVACY)
]
Delta = Annotated[float | None, number_option("Slack of the whole-file total, far below 1/records.", panel=_PRIVACY)]
DetailEpsilon = Annotated[
    float | None, number_option("Epsilon of all tables of details and measured numbers.", panel=_PRIVACY)
]
DetailDelta = Annotated[
    float | None, number_option("Delta of the tables of all detail columns together.", panel=_PRIVACY)
]
PublicRows = Annotated[
    int | None, whole_option("Publicly known size of the table; an upper bound under add-remove.", panel=_PRIVACY)
]
Parents = Annotated[
    str | None,
    option(
        "declared, private, random, full, or mutual-information (reads raw data: no formal guarantee). A number is "
        "short for --parent-count.",
        panel=_MODEL,
    ),
]
ParentCount = Annotated[
    int | None, whole_option("R: parents per column, for choices that take a number.", panel=_MODEL)
]
Sweeps = Annotated[int | None, whole_option("Gibbs sweeps per row; each costs on pegs.", panel=_MODEL)]
BlockSize = Annotated[int | None, whole_option("Rows per chain of pegs-rs.", panel=_MODEL)]
