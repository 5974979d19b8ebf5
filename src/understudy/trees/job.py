"""One use case: a private table in, a model file out, its price reserved before any noise is drawn."""

import uuid
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

from understudy.codebook import Codebook
from understudy.errors import ParameterError, ReleaseError
from understudy.mechanisms.discrete_laplace import scale_for
from understudy.mechanisms.labelled import leaf_counts_entry, set_aside
from understudy.mechanisms.stream import Stream
from understudy.privacy.account import Account
from understudy.privacy.ledger import Entry, Ledger
from understudy.sources import open_source
from understudy.sources.ancestry import refuse_anonymized
from understudy.sources.base import Report
from understudy.sources.same import refuse_same
from understudy.synth.paid_books import owed, with_draft
from understudy.trees.features import features_of
from understudy.trees.model import Quality, ScoreModel, check_name, save_model
from understudy.trees.model_file import model_key
from understudy.trees.quality import measure_private, measure_public, quality_entry_count, subgroup_places
from understudy.trees.train import (
    Grown,
    Training,
    cells_of,
    check_price,
    codebook_entries,
    grow,
    made_model,
    no_cells,
    positive_level,
    refuse_people,
)

__all__ = ["SET_ASIDE", "quote", "train_to_file"]

SET_ASIDE = 4
"""One record in so many, at random, is kept from training where quality is paid for."""


def quote(
    book: Codebook,
    training: Training,
    *,
    target: str,
    quality_epsilon: float | None = None,
    subgroups: Sequence[str] = (),
) -> Ledger:
    """What training will pay; reads no data: the same steps on an empty table, whose noise nobody sees."""
    refuse_people(book)
    features = features_of(book, target)
    subgroup_places(features, subgroups)
    grown = grow(no_cells(len(features)), features, training, Stream.seeded(0))
    entries = [*codebook_entries(book), *grown.entries]
    if quality_epsilon is not None:
        check_price("quality_epsilon", quality_epsilon)
        count = quality_entry_count(subgroups)
        scale = scale_for(quality_epsilon / count, 1)
        entries.extend([leaf_counts_entry(scale, reads="class counts of score bands, for the quality report")] * count)
    return Ledger.of(entries)


def train_to_file(
    data: Any,
    book: Codebook,
    training: Training,
    *,
    target: str,
    out: Path,
    positive: str | None = None,
    name: str | None = None,
    version: int = 1,
    key: bytes | str | Path | None = None,
    account: Account | None = None,
    quality_epsilon: float | None = None,
    quality_data: Any = None,
    subgroups: Sequence[str] = (),
    unknown: str = "error",
    table: str | None = None,
    seed: int | None = None,
    report: Report | None = None,
) -> ScoreModel:
    """Quote, reserve, train, write, commit. Nothing is charged when nothing could be written."""
    _check(training, out, key, quality_epsilon, quality_data, subgroups)
    check_name(name or _name_of(target), version)
    level, code = positive_level(book, target, positive)
    features = features_of(book, target)
    price = quote(book, training, target=target, quality_epsilon=quality_epsilon, subgroups=subgroups)
    refuse_anonymized(data, "a risk score")
    if quality_data is not None:
        refuse_same(data, quality_data, "public records to measure quality on")
    source = open_source(data, book, unknown=unknown, table=table)
    test = None if quality_data is None else open_source(quality_data, book, unknown=unknown)
    cells = cells_of(source, target, code, report)  # a fault of the data ends here, before anything is charged
    stream = Stream.from_system() if seed is None else Stream.seeded(seed)
    label = f"score model {name or target!r} by {training.method}"
    owing, delta = (price, training.delta)
    if account is not None:
        owing, delta = owed(price, with_draft(training.delta, book), book, account)
    paying = nullcontext() if account is None else account.reserve(owing, label=label, delta=delta)
    with paying as reservation:
        quality: Quality | None = None
        paid: tuple[Entry, ...] = ()
        kept = None
        if quality_epsilon is not None:
            cells, kept = set_aside(cells, one_in=SET_ASIDE, stream=stream)
        _tell(report, 0)
        grown: Grown = grow(cells, features, training, stream)
        if kept is not None and quality_epsilon is not None:
            quality, paid = measure_private(
                grown.scorer, features, kept, epsilon=quality_epsilon, subgroups=subgroups, stream=stream
            )
        model = made_model(
            grown,
            book,
            training,
            target=target,
            positive=level,
            name=name or _name_of(target),
            version=version,
            extra=paid,
            quality=quality,
            secure=stream.is_secure,
        )
        if test is not None:
            found = measure_public(model, test, subgroups=subgroups, label=Path(str(quality_data)).name)
            model = replace(model, quality=found)
        _tell(report, 1)
        if reservation is not None:
            reservation.output_begins()
        save_model(model, out, key)
        if reservation is not None:
            reservation.commit(f"{model.name}-{model.version}-{uuid.uuid4()}")
    return model


def _tell(report: Report | None, done: int) -> None:
    if report:
        report("growing", done, 1)


def _name_of(target: str) -> str:
    kept = "".join(letter if letter.isascii() and letter.isalnum() else "-" for letter in target.lower())
    return kept.strip("-")[:64] or "score"


def _check(
    training: Training, out: Path, key: Any, quality_epsilon: float | None, quality_data: Any, subgroups: Sequence[str]
) -> None:
    """Refuse before any row is read, and so before anything is charged."""
    if out.exists():
        raise ReleaseError(f"{str(out)!r} exists already; a model never overwrites. Choose another name.")
    if not out.absolute().parent.is_dir():
        raise ReleaseError(f"the folder {str(out.absolute().parent)!r} does not exist; make it first, then run again.")
    if training.method in ("per-call-tree", "dpat", "edpat", "alpha-tree"):
        model_key(key)  # its file has a confidential part
    if quality_epsilon is not None and quality_data is not None:
        raise ParameterError("quality is measured once: give an epsilon to pay for it, or public records, not both.")
    if quality_epsilon is not None and training.method in ("per-call-tree", "dpat", "edpat"):
        raise ParameterError(
            f"the quality of {training.method!r} would cost a call for each record; leave the quality epsilon out."
        )
    if subgroups and quality_epsilon is None and quality_data is None:
        raise ParameterError(
            "subgroups are named and no quality is measured; give an epsilon for it, or public records."
        )
