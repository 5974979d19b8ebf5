"""Risk scores: train them, draw them."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

from understudy.errors import ParameterError, ReleaseError
from understudy.facade.codebooks import load_codebook
from understudy.facade.documented import documented

if TYPE_CHECKING:
    from understudy.codebook import Codebook
    from understudy.parameters import Option
    from understudy.privacy.account import Account
    from understudy.sources.base import Report
    from understudy.trees.model import ScoreModel
    from understudy.trees.train import ScoreMethod


def score_options(method: str | None) -> dict[str, Option]:
    """The options of :func:`train` by a method, or by all methods together."""
    from understudy.trees.recipe import score_options as declared

    return declared(method)


@documented
def train(
    data: Any,
    book: Codebook | str | Path,
    target: str,
    method: str | ScoreMethod = "additive",
    *,
    out: str | Path | None = None,
    key: bytes | str | Path | None = None,
    new_key: str | Path | None = None,
    account: Account | str | Path | None = None,
    table: str | None = None,
    seed: int | None = None,
    report: Report | None = None,
    **options: Any,
) -> ScoreModel:
    """Train a risk score on data; ``understudy serve`` offers it over HTTP.

    Parameters
    ----------
    target
        Column to score.
    method
        ``additive``, ``forest``, ``tree``, ``bag`` or ``per-call-tree``; for study ``dpat``, ``edpat``, ``alpha-tree``.
        Or a method that holds its own options, such as ``understudy.trees.Additive(epsilon=1.0, delta=1e-6)``.
    out
        New model file; its page appears beside it, as ``model.us.html``. Without it nothing is written.
    key, new_key
        Key of the confidential part of per-call models, or a key file to make first.
    account
        Charged before trees grow.
    **options
        Those of every score (:class:`~understudy.trees.recipe.RiskScore`): ``positive``, ``name``, ``version``,
        ``quality_epsilon``, ``quality_data``, ``subgroups`` and ``unknown``; and those of the method, such as
        ``epsilon`` or ``depth``.

    Returns
    -------
    ScoreModel
        ``.score(codes)``, ``.statement`` and ``.card()``.
    """
    from understudy.mechanisms.stream import Stream
    from understudy.release.folders import check_target
    from understudy.sources import open_source
    from understudy.trees.model_file import model_key, new_key_file
    from understudy.trees.page import score_page_path
    from understudy.trees.recipe import make_score

    book = load_codebook(book)
    recipe = make_score(method, target=target, **options)
    if key is not None and new_key is not None:
        raise ParameterError("`key` names a key that exists and `new_key` makes one; give one of the two.")
    if out is not None:
        check_target(Path(out))
        check_target(score_page_path(Path(out)))
        for path in (Path(out), score_page_path(Path(out))):
            if new_key is not None and Path(new_key).resolve() == path.resolve():
                raise ParameterError(f"`new_key` is {str(new_key)!r}, where the model goes; name another file for it.")
    recipe.public_inputs(data)
    with ExitStack() as undoing:
        if new_key is not None:
            recipe.quote(book)  # what the codebook rules out is refused before a key is made
            key = undoing.enter_context(new_key_file(Path(new_key), opens=None if out is None else Path(out)))
        if out is not None and recipe.training.is_sealed:
            model_key(key)
        source = open_source(data, book, unknown=recipe.unknown, table=table, account=account)
        fitted = recipe.fit(source, stream=Stream.of_seed(seed), report=report)
        return fitted.sample() if out is None else fitted.write(out, key=key)


def draw_reliability(model: ScoreModel, out: str | Path) -> None:
    """Draw scores against what happened, as SVG; the model needs a quality report."""
    from understudy.trees.show import reliability_picture

    bins = () if model.quality is None else model.quality.measures.get("reliability", [])
    _draw(reliability_picture(bins, title=f"{model.name}: reliability"), out)


def draw_shapes(model: ScoreModel, out: str | Path) -> None:
    """Draw what each value of each feature adds to the log-odds, as SVG; for `additive` and `forest`."""
    from understudy.trees.show import shapes_picture

    shapes = model.shapes()
    if not shapes:
        raise ParameterError(
            f"the score {model.name!r} by {model.method!r} has no shapes; only additive and forest do."
        )
    _draw(shapes_picture(shapes, title=model.name), out)


def has_shapes(method: str) -> bool:
    """Whether scores by a method can be drawn by :func:`draw_shapes`."""
    from understudy.trees.scorers import VoteForest
    from understudy.trees.train import find_training

    return find_training(method).body == VoteForest.body


def _draw(picture: str, out: str | Path) -> None:
    from understudy.files import write_file

    try:
        write_file(Path(out), picture)
    except OSError as reason:
        raise ReleaseError(
            f"the picture {str(out)!r} cannot be written ({reason.strerror}); the model was written all the same."
        ) from None


def score_text(model: ScoreModel, *, most: int) -> list[str]:
    """The trees of a model whose counts were released, for a screen; ``most`` groves of a forest."""
    from understudy.trees.scorers import LeafForest, VoteForest
    from understudy.trees.show import tree_text, votes_text

    if isinstance(model.scorer, VoteForest):
        return [votes_text(model.scorer, model.features, most=most)]
    if isinstance(model.scorer, LeafForest) and not model.scorer.confidential:
        pairs = zip(model.scorer.trees, model.scorer.counts, strict=True)
        return [tree_text(tree, model.features, counts=counts) for tree, counts in pairs]
    return []
