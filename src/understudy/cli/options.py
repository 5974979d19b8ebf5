"""Options that several commands take, written once."""

from pathlib import Path
from typing import Annotated, Any

import typer

from understudy.cli.numbers import number, whole_number

__all__ = [
    "RECIPE_OPTIONS",
    "Account",
    "Alpha",
    "AtRisk",
    "Bands",
    "BlockSize",
    "Cap",
    "CodebookPath",
    "Columns",
    "Data",
    "Delta",
    "DetailDelta",
    "DetailEpsilon",
    "Engines",
    "Epsilon",
    "EpsilonPerRecord",
    "Floor",
    "Hashes",
    "Json",
    "Key",
    "KeySpace",
    "L",
    "Method",
    "NeighbourRelation",
    "Order",
    "Parent",
    "ParentCount",
    "Parents",
    "Partitions",
    "Prior",
    "Processes",
    "Proper",
    "PublicRows",
    "Rows",
    "Seeds",
    "SelectionEpsilon",
    "SelectionShare",
    "Sweeps",
    "Synthesis",
    "Table",
    "Unknown",
    "Usefulness",
    "Workload",
    "number",
    "recipe_options",
    "whole_number",
]

_PRIVACY, _MODEL, _INPUT = "Privacy", "Model", "Input and output"

Data = Annotated[
    str,
    typer.Argument(
        help="CSV (also .gz) or Parquet file, a glob of them, or duckdb:///FILE?table=T, "
        "postgresql://USER@HOST/DB?table=SCHEMA.TABLE, spark://HOST:PORT?table=T."
    ),
]
CodebookPath = Annotated[Path, typer.Option("--codebook", "-c", help="Codebook in TOML.", rich_help_panel=_INPUT)]
Method = Annotated[str, typer.Option("--method", "-m", help="See `understudy methods`.", rich_help_panel=_MODEL)]
Rows = Annotated[
    int,
    typer.Option(
        "--rows", "-n", help="Synthetic rows to draw; a public number.", parser=whole_number, metavar="NUMBER"
    ),
]
Epsilon = Annotated[
    float | None,
    typer.Option(
        help="Privacy loss of the whole file.",
        rich_help_panel=_PRIVACY,
        show_default=False,
        parser=number,
        metavar="NUMBER",
    ),
]
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
EpsilonPerRecord = Annotated[
    float | None,
    typer.Option(
        help="The papers' figure: cost of one synthetic row.",
        rich_help_panel=_PRIVACY,
        show_default=False,
        parser=number,
        metavar="NUMBER",
    ),
]
Alpha = Annotated[
    float | None,
    typer.Option(
        help="Virtual records per level, instead of an epsilon.",
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
Parent = Annotated[
    list[str] | None,
    typer.Option(
        help="COLUMN=PARENT,PARENT; may be repeated; overrides the codebook.",
        rich_help_panel=_MODEL,
        show_default=False,
    ),
]
Workload = Annotated[
    list[str] | None,
    typer.Option(
        help="COLUMN=WEIGHT; may be repeated; columns that matter more to marginals.",
        rich_help_panel=_MODEL,
        show_default=False,
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
SelectionEpsilon = Annotated[
    float | None,
    typer.Option(
        help="Price of choosing parents privately (pegs).",
        rich_help_panel=_PRIVACY,
        show_default=False,
        parser=number,
        metavar="NUMBER",
    ),
]
SelectionShare = Annotated[
    float | None,
    typer.Option(
        help="Share of epsilon for choosing parents privately (sbhg, privbayes).",
        rich_help_panel=_PRIVACY,
        show_default=False,
        parser=number,
        metavar="NUMBER",
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
Usefulness = Annotated[
    float | None,
    typer.Option(
        help="theta of privbayes: average count over noise, at least.",
        rich_help_panel=_MODEL,
        show_default=False,
        parser=number,
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
Prior = Annotated[
    str | None,
    typer.Option(
        help="uniform (default), ordinal, or the path of a public table.",
        rich_help_panel=_MODEL,
        show_default=False,
    ),
]
Seeds = Annotated[
    str | None,
    typer.Option(
        help="uniform (default), the path of a public table, or data (real rows: no formal guarantee).",
        rich_help_panel=_MODEL,
        show_default=False,
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
L = Annotated[
    list[str] | None,
    typer.Option(
        "--l",
        help="l of lugs and plugs: entropy of every sampling distribution at least log l (not differential privacy); a "
        "number, or COLUMN=NUMBER for each column.",
        rich_help_panel=_PRIVACY,
        show_default=False,
    ),
]
Cap = Annotated[
    bool | None,
    typer.Option(
        "--cap",
        help="Give columns of fewer than l levels the l that they can have, instead of refusing.",
        rich_help_panel=_PRIVACY,
        show_default=False,
    ),
]
Floor = Annotated[
    float | None,
    typer.Option(
        help="Smallest mixing weight of a block of lugs; 0 allows unreachable states.",
        rich_help_panel=_PRIVACY,
        show_default=False,
        parser=number,
        metavar="NUMBER",
    ),
]
Hashes = Annotated[
    int | None,
    typer.Option(
        help="MinHash functions per key of lugs.",
        rich_help_panel=_MODEL,
        show_default=False,
        parser=whole_number,
        metavar="NUMBER",
    ),
]
Bands = Annotated[
    int | None,
    typer.Option(
        help="Hash tables in which lugs looks for the nearest block of an unseen state.",
        rich_help_panel=_MODEL,
        show_default=False,
        parser=whole_number,
        metavar="NUMBER",
    ),
]
Partitions = Annotated[
    int | None,
    typer.Option(
        help="Random parts of the table, for plugs.",
        rich_help_panel=_MODEL,
        show_default=False,
        parser=whole_number,
        metavar="NUMBER",
    ),
]
Processes = Annotated[
    int | None,
    typer.Option(
        help="Processes that plugs works with (default: one per core).",
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
Synthesis = Annotated[
    str | None,
    typer.Option(
        help="complete, full or partial, for imputation.",
        rich_help_panel=_MODEL,
        show_default=False,
    ),
]
Columns = Annotated[
    str | None,
    typer.Option(
        help="COLUMN,COLUMN: what a full or partial synthesis replaces; by default sensitive columns.",
        rich_help_panel=_MODEL,
        show_default=False,
    ),
]
AtRisk = Annotated[
    int | None,
    typer.Option(
        help="Replace (partial) only in records whose quasi-identifiers fewer than so many share.",
        rich_help_panel=_MODEL,
        show_default=False,
        parser=whole_number,
        metavar="NUMBER",
    ),
]
Proper = Annotated[
    bool | None,
    typer.Option(
        "--proper/--plug-in",
        help="Draw the parameters of imputation for every file, or plug the estimates in.",
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
Json = Annotated[bool, typer.Option("--json", help="Print one JSON document for machines.")]


RECIPE_OPTIONS = (
    "epsilon",
    "delta",
    "epsilon_per_record",
    "detail_epsilon",
    "detail_delta",
    "people_epsilon",
    "alpha",
    "neighbours",
    "parents",
    "parent",
    "parent_count",
    "selection_epsilon",
    "selection_share",
    "public_rows",
    "usefulness",
    "workload",
    "key",
    "key_space",
    "prior",
    "seeds",
    "sweeps",
    "block_size",
    "engines",
    "order",
    "synthesis",
    "columns",
    "at_risk",
    "proper",
    "l",
    "cap",
    "floor",
    "hashes",
    "bands",
    "partitions",
    "processes",
)


def recipe_options(context: typer.Context) -> dict[str, Any]:
    """The options of the method that were really given on the command line."""
    return {name: context.params[name] for name in RECIPE_OPTIONS if context.params.get(name) not in (None, [], ())}
