"""`train`: a risk score from a private table."""

from pathlib import Path
from typing import Annotated, Any

import typer

from understudy.cli import options as o
from understudy.cli.console import errors_to, out, print_json, progress

_PRIVACY, _TREES, _QUALITY = "Privacy", "Trees", "Quality"


def train(
    data: o.Data,
    codebook: o.CodebookPath,
    target: Annotated[str, typer.Option(help="Column to score.")],
    method: Annotated[str, typer.Option(help="forest, tree, bag, per-call-tree; for study: dpat, edpat, alpha-tree.")],
    output: Annotated[Path, typer.Option("--out", "-o", help="New model file, for example model.us.")],
    positive: Annotated[
        str | None,
        typer.Option(help="Level whose chance is the score; by default the last of two.", show_default=False),
    ] = None,
    name: Annotated[
        str | None, typer.Option(help="Name of the model in web addresses; by default the target.", show_default=False)
    ] = None,
    version: Annotated[
        int, typer.Option("--model-version", help="Version of the model.", parser=o.whole_number, metavar="NUMBER")
    ] = 1,
    epsilon: Annotated[
        float | None,
        typer.Option(
            help="Whole price of training.",
            parser=o.number,
            metavar="NUMBER",
            rich_help_panel=_PRIVACY,
            show_default=False,
        ),
    ] = None,
    call_epsilon: Annotated[
        float | None,
        typer.Option(
            help="Price of each answer of a per-call model.",
            parser=o.number,
            metavar="NUMBER",
            rich_help_panel=_PRIVACY,
            show_default=False,
        ),
    ] = None,
    delta: Annotated[
        float | None,
        typer.Option(
            help="Slack of the promise; measured and stable structures need it.",
            parser=o.number,
            metavar="NUMBER",
            rich_help_panel=_PRIVACY,
            show_default=False,
        ),
    ] = None,
    account: o.Account = None,
    key: Annotated[
        Path | None,
        typer.Option(
            help="Key file for the confidential part of per-call models; else UNDERSTUDY_MODEL_KEY.",
            rich_help_panel=_PRIVACY,
            show_default=False,
        ),
    ] = None,
    new_key: Annotated[
        Path | None,
        typer.Option(help="Make a key file first, and use it.", rich_help_panel=_PRIVACY, show_default=False),
    ] = None,
    structure: Annotated[
        str | None,
        typer.Option(
            help="How questions are chosen: exponential, random, measured, stable.",
            rich_help_panel=_TREES,
            show_default=False,
        ),
    ] = None,
    alpha: Annotated[
        float | None,
        typer.Option(
            help="Alpha of the gain.", parser=o.number, metavar="NUMBER", rich_help_panel=_TREES, show_default=False
        ),
    ] = None,
    depth: Annotated[
        int | None,
        typer.Option(
            help="Questions on the way to a leaf.",
            parser=o.whole_number,
            metavar="NUMBER",
            rich_help_panel=_TREES,
            show_default=False,
        ),
    ] = None,
    trees: Annotated[
        int, typer.Option(help="Trees of a bag.", parser=o.whole_number, metavar="NUMBER", rich_help_panel=_TREES)
    ] = 5,
    sharing: Annotated[
        str, typer.Option(help="Records of a bag's trees: shared or disjoint.", rich_help_panel=_TREES)
    ] = "shared",
    public_rows: Annotated[
        int | None,
        typer.Option(
            help="Public upper bound on the number of records, for alpha 1.",
            parser=o.whole_number,
            metavar="NUMBER",
            rich_help_panel=_TREES,
            show_default=False,
        ),
    ] = None,
    quality_epsilon: Annotated[
        float | None,
        typer.Option(
            help="Pay so much for a quality report on a quarter of the records, set aside at random.",
            parser=o.number,
            metavar="NUMBER",
            rich_help_panel=_QUALITY,
            show_default=False,
        ),
    ] = None,
    quality_data: Annotated[
        str | None,
        typer.Option(help="Public table to measure quality on.", rich_help_panel=_QUALITY, show_default=False),
    ] = None,
    subgroup: Annotated[
        list[str] | None,
        typer.Option(
            help="Report quality by this column too; may be repeated.", rich_help_panel=_QUALITY, show_default=False
        ),
    ] = None,
    reliability: Annotated[
        Path | None,
        typer.Option(
            help="Draw scores against what happened, as SVG; needs a quality report.",
            rich_help_panel=_QUALITY,
            show_default=False,
        ),
    ] = None,
    unknown: o.Unknown = "error",
    table: o.Table = None,
    seed: Annotated[
        int | None,
        typer.Option(
            help="Reproducible, for simulation: the model is then not private.", parser=o.whole_number, metavar="NUMBER"
        ),
    ] = None,
    json: o.Json = False,
) -> None:
    """Train a risk score on DATA and write it as one checked file; `understudy serve` offers it over HTTP."""
    from understudy.codebook import Codebook
    from understudy.errors import ParameterError
    from understudy.privacy.account import account_at
    from understudy.trees.job import train_to_file
    from understudy.trees.model_file import new_key_file
    from understudy.trees.train import Training

    book = Codebook.load(codebook)
    training = Training(
        method=method,
        epsilon=epsilon,
        call_epsilon=call_epsilon,
        alpha=alpha,
        depth=depth,
        structure=structure,
        delta=delta,
        trees=trees,
        sharing=sharing,
        public_rows=public_rows,
    )
    if key is not None and new_key is not None:
        raise ParameterError("--key names a key that exists and --new-key makes one; give one of the two.")
    if reliability is not None and quality_epsilon is None and quality_data is None:
        raise ParameterError("--reliability draws a quality report; give --quality-epsilon or --quality-data too.")
    if new_key is not None:
        new_key_file(new_key)
    with progress(quiet=json) as report:
        model = train_to_file(
            data,
            book,
            training,
            target=target,
            out=output,
            positive=positive,
            name=name,
            version=version,
            key=key or new_key,
            account=account_at(account),
            quality_epsilon=quality_epsilon,
            quality_data=quality_data,
            subgroups=subgroup or (),
            unknown=unknown,
            table=table,
            seed=seed,
            report=report,
        )
    if reliability is not None:
        _draw(model, reliability)
    if json:
        print_json({"file": str(output), "card": model.card()})
        return
    _tell(model, output)


def _draw(model: Any, path: Path) -> None:
    from understudy.errors import ReleaseError
    from understudy.trees.show import reliability_picture

    bins = model.quality.measures.get("reliability", [])
    try:
        path.write_text(reliability_picture(bins, title=f"{model.name}: reliability"), encoding="utf-8")
    except OSError as reason:
        raise ReleaseError(
            f"the picture {str(path)!r} cannot be written ({reason.strerror}); the model was written all the same."
        ) from None


_SHOWN = 15
"""Groves that the screen shows; the file and `--json` have all."""


def _tell(model: Any, output: Path) -> None:
    from understudy.trees.scorers import LeafForest, VoteForest
    from understudy.trees.show import tree_text, votes_text

    if not model.guarantee.is_formal:
        errors_to.print("[bold yellow]warning:[/] ", end="")
        errors_to.print("this model promises nothing; see below why.", markup=False)
    if isinstance(model.scorer, VoteForest):
        out.print(votes_text(model.scorer, model.features, most=_SHOWN), markup=False)
    elif isinstance(model.scorer, LeafForest) and not model.scorer.confidential:
        for tree, counts in zip(model.scorer.trees, model.scorer.counts, strict=True):
            out.print(tree_text(tree, model.features, counts=counts), markup=False)
    if model.quality is not None:
        found = model.quality.measures
        _figures("", found)
        for column, groups in found.get("subgroups", {}).items():
            for level, group in groups.items():
                _figures(f"{column} {level}, ", group)
        out.print(f"quality was {model.quality.paid}", markup=False)
    out.print(model.statement, markup=False)
    out.print(f"wrote {output}; `understudy serve {output}` offers it as {model.name!r}", markup=False)


def _figures(lead: str, found: Any) -> None:
    for name in ("auroc", "brier"):
        if found.get(name):
            one = found[name]
            out.print(f"{lead}{name}: {one['value']:.3f} ({one['low']:.3f} to {one['high']:.3f})", markup=False)
