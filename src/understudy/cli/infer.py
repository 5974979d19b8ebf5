"""`infer`: figures of a release with honest intervals."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from understudy.cli import options as o
from understudy.cli.console import table as plain_table
from understudy.cli.console import tell, warn, wrote
from understudy.cli.shared import number_option, option
from understudy.errors import ParameterError
from understudy.facade import answers, inference

if TYPE_CHECKING:
    from understudy.infer.inference import Inference

_WHAT, _WHOM = "What is estimated (repeat for more)", "Whom it is about"
Words = list[str] | None


def infer(
    release: Annotated[Path, typer.Argument(help="Folder of a release that carries its measurements.")],
    question: Annotated[
        str | None,
        typer.Argument(help="A question as `answer` takes it, such as 'mean of charge by sex', instead of flags."),
    ] = None,
    share: Annotated[Words, option("COLUMN=VALUE, several with commas; or COLUMN for all levels.", panel=_WHAT)] = None,
    mean: Annotated[Words, option("COLUMN with an order.", panel=_WHAT)] = None,
    total: Annotated[Words, option("COLUMN=VALUE: how many; COLUMN: the sum of its values.", panel=_WHAT)] = None,
    quantile: Annotated[Words, option("COLUMN:SHARE, for example age:0.5.", panel=_WHAT)] = None,
    table: Annotated[Words, option("COLUMN,COLUMN: the shares of all cells.", panel=_WHAT)] = None,
    correlation: Annotated[Words, option("COLUMN,COLUMN with an order.", panel=_WHAT)] = None,
    linear: Annotated[Words, option("Formula of a linear model: 'charge ~ age + sex'.", panel=_WHAT)] = None,
    logistic: Annotated[Words, option("Formula of a logistic model: 'charge > 25 ~ age + sex'.", panel=_WHAT)] = None,
    poisson: Annotated[Words, option("Formula of a Poisson model.", panel=_WHAT)] = None,
    where: Annotated[Words, option("COLUMN=VALUE: only this sub-population; repeat for more.", panel=_WHOM)] = None,
    by: Annotated[str | None, option("COLUMN: each of its groups.", panel=_WHOM)] = None,
    difference: Annotated[bool, option("Compare each group with the first.", "--difference", panel=_WHOM)] = False,
    target: Annotated[
        str,
        option(
            "population: intervals cover sampling and noise; table: noise only, for the confidential table.",
            "--for",
            panel=_WHOM,
        ),
    ] = "population",
    population_size: Annotated[
        float | None, number_option("People in the population, for totals of it.", panel=_WHOM)
    ] = None,
    level: Annotated[float, number_option("Confidence of the intervals.")] = 0.95,
    output: o.Page = None,
    json: o.Json = False,
) -> None:
    """Estimate figures from a release, with intervals that cover its noise. Reads no confidential data."""
    asked: dict[str, Any] = {
        "share": share or (),
        "mean": mean or (),
        "total": total or (),
        "quantile": quantile or (),
        "table": table or (),
        "correlation": correlation or (),
        "linear": linear or (),
        "logistic": logistic or (),
        "poisson": poisson or (),
        "where": where or (),
    }
    if question is not None:
        if population_size is not None or by is not None or difference or any(asked.values()):
            raise ParameterError(
                f"{question!r} is a whole question: write groups and conditions into it, as in 'mean of charge by sex "
                "where region=North', and leave the flags away."
            )
        told = answers.ask_release(release, question, level=level, target=target, out=output)
        tell(told, _lines(told, output), json=json)
        if not json:
            warn(told.warnings)
        return
    result = inference.infer(
        release,
        by=by,
        difference=difference,
        target=target,
        level=level,
        population_size=population_size,
        out=output,
        **asked,
    )
    tell(result, _lines(result, output), json=json)
    if not json:
        warn(result.warnings)


def _lines(result: "Inference", output: Path | None) -> Iterator[Any]:
    header, rows = inference.listed_figures(result)
    yield plain_table(header, rows, right=header[1:])
    whom = "the population: sampling and noise" if result.target == "population" else "the confidential table: noise"
    yield f"{100 * result.level:.4g}% intervals for {whom}."
    for figure in result:
        if figure.refused is not None:
            yield f"not told: {figure.refused}"
    yield result.statement
    yield from wrote([output] if output is not None else [])
