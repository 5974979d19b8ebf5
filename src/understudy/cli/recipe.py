"""`recipe`: the choices behind a release, as a file that makes another one like it."""

from pathlib import Path
from typing import Annotated

import typer

from understudy.cli import options as o
from understudy.cli.console import tell
from understudy.cli.shared import option
from understudy.facade import tables


def recipe(
    release: Annotated[Path, typer.Argument(help="Release folder, or its manifest.json.")],
    output: Annotated[Path | None, option("Write it to a new file.", "--out", "-o")] = None,
    json: o.Json = False,
) -> None:
    """Print the recipe of a release: give it to `synth --recipe` to repeat it."""
    choices = tables.read_recipe(release)
    text = tables.recipe_text(release, choices)
    if output is not None:
        tables.save_recipe(text, output)
    document = {"method": choices.method, "rows": choices.rows, "options": dict(choices.options)}
    tell(document, [text.removesuffix("\n") if output is None else f"wrote {output}"], json=json)
