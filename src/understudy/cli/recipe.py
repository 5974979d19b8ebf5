"""`recipe`: the choices behind a release, as a file that makes another one like it."""

from pathlib import Path
from typing import Annotated

import typer

from understudy.cli import options as o
from understudy.cli.console import out, print_json
from understudy.errors import ReleaseError


def recipe(
    release: Annotated[Path, typer.Argument(help="Release folder, or its manifest.json.")],
    output: Annotated[
        Path | None, typer.Option("--out", "-o", help="Write it to a new file.", show_default=False)
    ] = None,
    json: o.Json = False,
) -> None:
    """Print the recipe of a release: give it to `synth --recipe` to repeat it."""
    from understudy.synth.choices import read_recipe

    choices = read_recipe(release)
    text = choices.to_toml()
    if output is not None:
        if output.exists():
            raise ReleaseError(f"{str(output)!r} exists already; a recipe never overwrites. Choose another name.")
        output.write_text(text, encoding="utf-8", newline="\n")
    if json:
        print_json({"method": choices.method, "rows": choices.rows, "options": dict(choices.options)})
    elif output is not None:
        out.print(f"wrote {output}", markup=False)
    else:
        out.print(text, markup=False, end="")
