"""Options for large releases, and what `synth` and `draw` do with them."""

from typing import Annotated, Any

import typer

from understudy.cli.numbers import whole_number
from understudy.errors import ParameterError

_SCALE = "Large releases"

PeopleEpsilon = Annotated[
    float | None,
    typer.Option(
        help="Epsilon of counting how many records people have, where the codebook's [unit] asks for it.",
        rich_help_panel="Privacy",
        show_default=False,
    ),
]
Engine = Annotated[
    str | None,
    typer.Option(
        help="Draw in parallel, straight to Parquet in parts: local (all cores) or spark. A run that was cut short "
        "goes on when the same command is given again.",
        rich_help_panel=_SCALE,
        show_default=False,
    ),
]
WorkerCount = Annotated[
    int | None,
    typer.Option(
        "--workers",
        help="Parts that --engine local draws at a time (default: one per core).",
        rich_help_panel=_SCALE,
        show_default=False,
        parser=whole_number,
        metavar="NUMBER",
    ),
]
PartRows = Annotated[
    int | None,
    typer.Option(
        help="Rows per part (default 1,000,000).",
        rich_help_panel=_SCALE,
        show_default=False,
        parser=whole_number,
        metavar="NUMBER",
    ),
]
Master = Annotated[
    str | None,
    typer.Option(
        help="Spark master, for example spark://host:7077 (default: UNDERSTUDY_SPARK_MASTER, or Spark's settings).",
        rich_help_panel=_SCALE,
        show_default=False,
    ),
]


def refuse_with_engine(engine: str | None, given: dict[str, Any]) -> None:
    """Options that only make sense together."""
    if engine is None:
        alone = [name for name in ("workers", "part_rows", "master") if given.get(name) is not None]
        if alone:
            raise ParameterError(f"--{alone[0].replace('_', '-')} belongs to --engine local or --engine spark.")
        return
    for name, why in (
        ("csv", "a release in parts is Parquet"),
        ("files", "a release in parts is one table"),
        ("where", "rows of a sub-population are drawn as a whole"),
        ("save_model", "save the model with a small release, and draw from it with --engine"),
    ):
        if given.get(name):
            raise ParameterError(f"--{name.replace('_', '-')} cannot be had with --engine: {why}.")
