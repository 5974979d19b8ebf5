"""`train`: a risk score from a private table."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any

from understudy.cli import options as o
from understudy.cli.console import progress, tell, warn
from understudy.cli.shared import Seed, number_option, option, takes, whole_option
from understudy.errors import ParameterError
from understudy.facade import scores

_PRIVACY, _TREES, _QUALITY = "Privacy", "Trees", "Quality"
_SHOWN = 15
"""Groves that the screen shows; the file and `--json` have all."""


def _training(
    epsilon: Annotated[float | None, number_option("Whole price of training.", panel=_PRIVACY)] = None,
    call_epsilon: Annotated[
        float | None, number_option("Price of each answer of a per-call model.", panel=_PRIVACY)
    ] = None,
    delta: Annotated[
        float | None,
        number_option(
            "Slack of each tree's promise, which measured and stable structures need; a shared bag adds them up.",
            panel=_PRIVACY,
        ),
    ] = None,
    structure: Annotated[
        str | None, option("How questions are chosen: exponential, random, measured, stable.", panel=_TREES)
    ] = None,
    alpha: Annotated[float | None, number_option("Alpha of the gain.", panel=_TREES)] = None,
    depth: Annotated[int | None, whole_option("Questions on the way to a leaf.", panel=_TREES)] = None,
    trees: Annotated[int, whole_option("Trees of a bag.", panel=_TREES)] = 5,
    sharing: Annotated[str, option("Records of a bag's trees: shared or disjoint.", panel=_TREES)] = "shared",
    public_rows: Annotated[
        int | None, whole_option("Public upper bound on the number of records, for alpha 1.", panel=_TREES)
    ] = None,
    quality_epsilon: Annotated[
        float | None,
        number_option(
            "Pay so much for a quality report on a quarter of the records, set aside at random.", panel=_QUALITY
        ),
    ] = None,
    quality_data: Annotated[str | None, option("Public table to measure quality on.", panel=_QUALITY)] = None,
    key: Annotated[
        Path | None,
        option("Key file for the confidential part of per-call models; else UNDERSTUDY_MODEL_KEY.", panel=_PRIVACY),
    ] = None,
    new_key: Annotated[Path | None, option("Make a key file first, and use it.", panel=_PRIVACY)] = None,
    positive: Annotated[str | None, option("Level whose chance is the score; by default the last of two.")] = None,
    name: Annotated[str | None, option("Name of the model in web addresses; by default the target.")] = None,
    version: Annotated[int, whole_option("Version of the model.", "--model-version")] = 1,
) -> None:
    """What is passed on as it is."""


@takes(_training)
def train(
    data: o.Data,
    codebook: o.CodebookPath,
    target: Annotated[str, option("Column to score.")],
    method: Annotated[str, option("forest, tree, bag, per-call-tree; for study: dpat, edpat, alpha-tree.")],
    output: Annotated[Path, option("New model file, for example model.us.", "--out", "-o")],
    account: o.Account = None,
    subgroup: Annotated[
        list[str] | None, option("Report quality by this column too; may be repeated.", panel=_QUALITY)
    ] = None,
    reliability: Annotated[
        Path | None,
        option("Draw scores against what happened, as SVG; needs a quality report.", panel=_QUALITY),
    ] = None,
    unknown: o.Unknown = "error",
    table: o.Table = None,
    seed: Seed = None,
    json: o.Json = False,
    **training: Any,
) -> None:
    """Train a risk score on DATA and write it as one checked file; `understudy serve` offers it over HTTP."""
    if reliability is not None and training["quality_epsilon"] is None and training["quality_data"] is None:
        raise ParameterError("--reliability draws a quality report; give --quality-epsilon or --quality-data too.")
    with progress(quiet=json) as report:
        model = scores.train(
            data,
            codebook,
            target,
            method,
            out=output,
            subgroups=subgroup or (),
            account=account,
            unknown=unknown,
            table=table,
            seed=seed,
            report=report,
            **training,
        )
    if reliability is not None:
        scores.draw_reliability(model, reliability)
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
    yield f"wrote {output}; `understudy serve {output}` offers it as {model.name!r}"


def _figures(lead: str, measures: Mapping[str, Any]) -> Iterator[str]:
    for name in ("auroc", "brier"):
        if figure := measures.get(name):
            yield f"{lead}{name}: {figure['value']:.3f} ({figure['low']:.3f} to {figure['high']:.3f})"
