"""`train`: a risk score from a private table."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from understudy.cli import options as o
from understudy.cli.console import progress, tell, warn
from understudy.cli.declared import chosen_method, declared_command
from understudy.cli.shared import option
from understudy.errors import ParameterError
from understudy.facade import scores

_PRIVACY = "Privacy"
_SHOWN = 15
"""Groves that the screen shows; the file and `--json` have all."""
ScoreCommand = declared_command(scores.score_options)


def train(
    context: typer.Context,
    data: o.Data,
    codebook: o.CodebookPath,
    output: Annotated[Path, option("New model file, for example model.us.", "--out", "-o")],
    method: Annotated[
        str | None,
        option(
            "additive (default), forest, tree, bag, per-call-tree; for study: dpat, edpat, alpha-tree.",
            "--method",
            "-m",
        ),
    ] = None,
    recipe: o.OptionsFile = None,
    account: o.Account = None,
    key: Annotated[
        Path | None,
        option("Key file for the confidential part of per-call models; else UNDERSTUDY_MODEL_KEY.", panel=_PRIVACY),
    ] = None,
    new_key: Annotated[Path | None, option("Make a key file first, and use it.", panel=_PRIVACY)] = None,
    reliability: Annotated[
        Path | None, option("Draw scores against what happened, as SVG; needs a quality report.")
    ] = None,
    shapes: Annotated[
        Path | None, option("Draw what each value adds to the log-odds, as SVG; of additive and forest.")
    ] = None,
    table: o.Table = None,
    seed: o.Seed = None,
    json: o.Json = False,
) -> None:
    """Train a risk score on DATA: one checked file and its page. `understudy serve` offers it over HTTP."""
    method, words = chosen_method(context, method, recipe, default="additive")
    if reliability is not None and words.get("quality_epsilon") is None and words.get("quality_data") is None:
        raise ParameterError("--reliability draws a quality report; give --quality-epsilon or --quality-data too.")
    if shapes is not None and not scores.has_shapes(method):
        raise ParameterError(f"--shapes draws additive scores, and {method} has none; use additive or forest.")
    with progress(quiet=json) as report:
        model = scores.train(
            data,
            codebook,
            method=method,
            out=output,
            key=key,
            new_key=new_key,
            account=account,
            table=table,
            seed=seed,
            report=report,
            **words,
        )
    if reliability is not None:
        scores.draw_reliability(model, reliability)
    if shapes is not None:
        scores.draw_shapes(model, shapes)
    if not json and not model.guarantee.is_formal:
        warn(["this model promises nothing; see below why."])
    tell({"file": output, "card": model.card()}, _lines(model, output), json=json)


def _lines(model: Any, output: Path) -> Iterator[str]:
    yield from scores.score_text(model, most=_SHOWN)
    if model.quality is not None:
        measures = model.quality.measures
        yield from _figures("", measures)
        for column, groups in measures.get("subgroups", {}).items():
            for level, group in groups.items():
                yield from _figures(f"{column} {level}, ", group)
        yield f"quality was {model.quality.paid}"
    yield model.statement
    yield f"wrote {output} and its page {output}.html; `understudy serve {output}` offers it as {model.name!r}"


def _figures(lead: str, measures: Mapping[str, Any]) -> Iterator[str]:
    for name in ("auroc", "brier"):
        if figure := measures.get(name):
            yield f"{lead}{name}: {figure['value']:.3f} ({figure['low']:.3f} to {figure['high']:.3f})"
