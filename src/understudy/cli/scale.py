"""Options for large releases, and what goes together with them."""

from typing import Annotated, Any

import typer

from understudy.cli.shared import option, whole_option
from understudy.errors import ParameterError

_SCALE = "Large releases"

Engine = Annotated[
    str | None,
    option(
        "Draw in parallel, straight to Parquet in parts: local (all cores) or spark. A run that was cut short goes on "
        "when the same command is given again.",
        panel=_SCALE,
    ),
]
WorkerCount = Annotated[
    int | None,
    whole_option("Parts that --engine local draws at a time (default: one per core).", "--workers", panel=_SCALE),
]
PartRows = Annotated[int | None, whole_option("Rows per part (default 1,000,000).", panel=_SCALE)]
Master = Annotated[
    str | None,
    option(
        "Spark master, for example spark://host:7077 (default: UNDERSTUDY_SPARK_MASTER, or Spark's settings).",
        panel=_SCALE,
    ),
]


def chosen(context: typer.Context) -> dict[str, Any]:
    """What these options were, by name."""
    return {name: context.params[name] for name in ("engine", "workers", "part_rows", "master")}


def refuse_with_engine(engine: str | None, given: dict[str, Any]) -> None:
    """Options that only make sense together."""
    if engine is None:
        alone = [name for name in ("workers", "part_rows", "master") if given.get(name) is not None]
        if alone:
            raise ParameterError(f"--{alone[0].replace('_', '-')} belongs to --engine local or --engine spark.")
        return
    for name, why in (
        ("csv", "a release in parts is Parquet"),
        ("formats", "a release in parts is Parquet"),
        ("files", "a release in parts is one table"),
        ("where", "rows of a sub-population are drawn as a whole"),
        ("save_model", "save the model with a small release, and draw from it with --engine"),
    ):
        if given.get(name):
            raise ParameterError(
                f"--{name.replace('_', '-').replace('formats', 'format')} cannot be had with --engine: {why}."
            )
