"""`combine`: one estimate from several released files."""

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer

from understudy.cli import options as o
from understudy.cli.console import tell
from understudy.cli.shared import number_option, option
from understudy.errors import ParameterError
from understudy.facade import releases

_WHAT = "What is estimated"


def combine(
    files: Annotated[
        list[Path] | None,
        typer.Argument(help="Releases: folders, a folder of numbered ones (`synth --files`), or tables."),
    ] = None,
    kind: Annotated[
        str | None,
        option(
            "How the files were made: full, partial, complete, plug-in (pegs and all of route N), or missing (values "
            "that were filled). Required."
        ),
    ] = None,
    share: Annotated[str | None, option("COLUMN=VALUE: the share of rows with this value.", panel=_WHAT)] = None,
    mean: Annotated[str | None, option("COLUMN: its mean.", panel=_WHAT)] = None,
    estimate: Annotated[
        list[float] | None,
        number_option("Instead of FILES: the estimate from one of them; repeat in their order.", panel=_WHAT),
    ] = None,
    variance: Annotated[
        list[float] | None, number_option("The variance of each estimate; repeat in the same order.", panel=_WHAT)
    ] = None,
    rows_ratio: Annotated[float, number_option("Rows of one synthetic file per confidential record.")] = 1.0,
    noise: Annotated[
        float, number_option("Known variance that the noise of the released tables brings to every file.")
    ] = 0.0,
    level: Annotated[float, number_option("Confidence of the interval.")] = 0.95,
    json: o.Json = False,
) -> None:
    """Combine an estimate from several released files: its standard error and interval, by the rule of their KIND."""
    if kind is None:
        raise ParameterError(
            "`kind` is missing; it says how the files were made, and every kind has its own rule for the variance: "
            "full, partial, complete, plug-in or missing. Try --kind plug-in for files of pegs or of route N."
        )
    rule: dict[str, Any] = {"kind": kind, "rows_ratio": rows_ratio, "noise": noise}
    if files and (estimate or variance):
        raise ParameterError("FILES and --estimate are two ways to say the same; leave one of them out.")
    if files:
        combined = releases.combine_files(files, share=share, mean=mean, **rule)
    elif share is not None or mean is not None:
        raise ParameterError("--share and --mean are computed from released files; name the files too.")
    else:
        combined = releases.combine_numbers(estimate or (), variance or (), **rule)
    document = combined.to_dict(level)
    tell(document, _lines(combined, document), json=json)


def _lines(combined: Any, document: dict[str, Any]) -> Iterator[str]:
    freedom = document["degrees_of_freedom"]
    law = "normal law" if freedom is None else f"{freedom:.4g} degrees of freedom"
    yield f"{combined.estimate:.6g} with standard error {combined.error:.4g}, from {combined.files} files ({law})"
    yield f"{document['level']:.4g} interval: {document['low']:.6g} to {document['high']:.6g}"
    if combined.adjusted:
        yield "The variance of the rule was not positive; Reiter's replacement stands in for it."
    yield f"Note: {combined.note}."
