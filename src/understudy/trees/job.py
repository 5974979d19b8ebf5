"""Train a score from a private table, and write its file if asked. The price is reserved before any noise is drawn."""

from pathlib import Path
from typing import Any

from understudy.codebook import Codebook
from understudy.mechanisms.stream import Stream
from understudy.privacy.account import Account
from understudy.release.folders import check_target
from understudy.sources import open_source
from understudy.sources.base import Report
from understudy.trees.model import ScoreModel
from understudy.trees.model_file import model_key
from understudy.trees.recipe import RiskScore
from understudy.trees.train import ScoreMethod


def train_to_file(
    data: Any,
    book: Codebook,
    training: ScoreMethod,
    *,
    out: Path | None,
    key: bytes | str | Path | None = None,
    account: Account | None = None,
    table: str | None = None,
    seed: int | None = None,
    report: Report | None = None,
    **score: Any,
) -> ScoreModel:
    """Refuse what can be refused, read, pay, train, and write if ``out`` is given.

    ``score`` are the options of a :class:`RiskScore`.
    """
    recipe = RiskScore(training=training, **score)
    if out is not None:
        check_target(out)
        if training.is_sealed:
            model_key(key)
    recipe.public_inputs(data)
    source = open_source(data, book, unknown=recipe.unknown, table=table, account=account)
    fitted = recipe.fit(source, stream=Stream.of_seed(seed), report=report)
    return fitted.sample() if out is None else fitted.write(out, key=key)
