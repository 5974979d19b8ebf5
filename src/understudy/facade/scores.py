"""Risk scores: train them, draw them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from understudy.errors import ParameterError, ReleaseError
from understudy.facade.codebooks import load_codebook

if TYPE_CHECKING:
    from understudy.codebook import Codebook
    from understudy.privacy.account import Account
    from understudy.sources.base import Report
    from understudy.trees.model import ScoreModel


def train(
    data: Any,
    book: Codebook | str | Path,
    target: str,
    method: str = "forest",
    *,
    out: str | Path | None = None,
    positive: str | None = None,
    name: str | None = None,
    version: int = 1,
    key: bytes | str | Path | None = None,
    new_key: str | Path | None = None,
    quality_epsilon: float | None = None,
    quality_data: Any = None,
    subgroups: Sequence[str] = (),
    account: Account | str | Path | None = None,
    unknown: str = "error",
    table: str | None = None,
    seed: int | None = None,
    report: Report | None = None,
    **options: Any,
) -> ScoreModel:
    """Train a risk score on data; ``understudy serve`` offers it over HTTP.

    Parameters
    ----------
    data
        Path, address or table.
    book
        Codebook, or the path of one.
    target
        Column to score.
    method
        ``forest``, ``tree``, ``bag`` or ``per-call-tree``; for study ``dpat``, ``edpat``, ``alpha-tree``.
    out
        New model file; without it nothing is written.
    positive
        Level whose chance is the score; by default the last of two.
    name, version
        Name of the model in web addresses (by default the target), and its version.
    key, new_key
        Key of the confidential part of per-call models, or a key file to make first.
    quality_epsilon
        Pay so much for a quality report on a quarter of the records, set aside at random.
    quality_data
        Public table to measure quality on instead.
    subgroups
        Report quality by these columns too.
    account
        Charged before trees grow.
    unknown
        Values outside the codebook: ``error``, ``missing``, ``other`` or ``other-or-missing``.
    table
        Table in a database.
    seed
        Reproducible, for simulation: the model is then not private.
    report
        Called with step, done and total.
    **options
        Further fields of :class:`~understudy.trees.train.Training`: ``epsilon``, ``call_epsilon``, ``delta``,
        ``structure``, ``alpha``, ``depth``, ``trees``, ``sharing`` and ``public_rows``.

    Returns
    -------
    ScoreModel
        ``.score(codes)``, ``.statement`` and ``.card()``.
    """
    from understudy.privacy.account import account_at
    from understudy.trees.job import train_to_file
    from understudy.trees.model_file import new_key_file
    from understudy.trees.train import Training

    book = load_codebook(book)
    training = Training(method=method, **options)
    if key is not None and new_key is not None:
        raise ParameterError("`key` names a key that exists and `new_key` makes one; give one of the two.")
    if new_key is not None:
        new_key_file(Path(new_key))
    return train_to_file(
        data,
        book,
        training,
        target=target,
        out=None if out is None else Path(out),
        positive=positive,
        name=name,
        version=version,
        key=key or new_key,
        account=account_at(account),
        quality_epsilon=quality_epsilon,
        quality_data=quality_data,
        subgroups=subgroups,
        unknown=unknown,
        table=table,
        seed=seed,
        report=report,
    )


def draw_reliability(model: ScoreModel, out: str | Path) -> None:
    """Draw scores against what happened, as SVG; the model needs a quality report."""
    from understudy.trees.show import reliability_picture

    bins = () if model.quality is None else model.quality.measures.get("reliability", [])
    try:
        picture = reliability_picture(bins, title=f"{model.name}: reliability")
        Path(out).write_text(picture, encoding="utf-8")
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
