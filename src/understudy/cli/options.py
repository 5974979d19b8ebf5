"""Options that several commands take, written once."""

from pathlib import Path
from typing import Annotated

import typer

from understudy.cli.shared import option, whole_option

_PRIVACY, _MODEL, _INPUT = "Privacy", "Model", "Input and output"
_ROWS = whole_option("Synthetic rows to draw; a public number.", "--rows", "-n")

Data = Annotated[
    str,
    typer.Argument(
        help="CSV (also .gz), Parquet, Excel, SPSS, Stata, SAS or JSON lines file, a zip of one, a glob of them, or "
        "FILE.xlsx?sheet=S, duckdb:///FILE?table=T, sqlite:///FILE?table=T, "
        "postgresql://USER@HOST/DB?table=SCHEMA.TABLE, mariadb://USER@HOST/DB?table=T, spark://HOST:PORT?table=T."
    ),
]
CodebookPath = Annotated[Path, option("Codebook in TOML.", "--codebook", "-c", panel=_INPUT)]
CodebookOfRelease = Annotated[
    Path | None, option("Codebook in TOML; a release has its own.", "--codebook", "-c", panel=_INPUT)
]
Unknown = Annotated[
    str,
    option(
        "Values outside the codebook: error, missing, other, other-or-missing, or clamp (numbers and dates "
        "beyond their bounds become the bound).",
        panel=_INPUT,
    ),
]
Table = Annotated[str | None, option("Table in a database, or sheet of a workbook.", panel=_INPUT)]
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
Formats = Annotated[
    list[str] | None,
    option(
        "Write the table too as xlsx, sav, dta, csv or guarded.csv (runs no formula), with labels and missing codes; "
        "may be repeated.",
        "--format",
    ),
]
Json = Annotated[bool, option("Print one JSON document for machines.", "--json")]
RequiredRows = Annotated[int, _ROWS]
Rows = Annotated[int | None, _ROWS]
Method = Annotated[
    str | None, option("See `understudy methods`; marginals by default.", "--method", "-m", panel=_MODEL)
]
Account = Annotated[Path | None, option("Budget account to charge (see `understudy account`).", panel=_PRIVACY)]
OutFolder = Annotated[Path, option("New folder for the release.", "--out", "-o")]
Page = Annotated[Path | None, option("HTML page; an earlier one is replaced.", "--out", "-o")]
Seed = Annotated[int | None, whole_option("Reproducible, for simulation: what is made is then not private.")]
RunSeed = Annotated[int | None, whole_option("Reproducible runs.")]
AccountToTell = Annotated[
    Path | None,
    option(
        "Account of the data: it remembers this confidential look, and later releases say so. Nothing is charged.",
        "--account",
    ),
]
AccountToFix = Annotated[
    Path | None,
    option(
        "Account of the data: these choices are written down there, so that no later look can have made them. Nothing "
        "is charged.",
        "--account",
    ),
]
