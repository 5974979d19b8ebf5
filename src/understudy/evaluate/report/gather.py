"""Measure everything that a report shows, cheap things first, so that bad input is refused before the long ones."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from understudy.codebook import Codebook, Role
from understudy.errors import DataError, ParameterError
from understudy.evaluate.board import Board
from understudy.evaluate.checks import check_column
from understudy.evaluate.holdout import check_holdout, check_people
from understudy.evaluate.impossible import ImpossibleRows, impossible_rows
from understudy.evaluate.metric import Score
from understudy.evaluate.opened import Counts, open_grids
from understudy.evaluate.remembered import Remembered
from understudy.evaluate.report.chain import chain_facts
from understudy.evaluate.report.columns import ColumnFacts, column_facts
from understudy.evaluate.report.facts import (
    Use,
    associations_use,
    model_use,
    pairs_use,
    prediction_use,
    rows_use,
    shares_use,
)
from understudy.evaluate.report.findings import Findings, HonestInterval, Measured
from understudy.evaluate.report.headlines import headlines_of
from understudy.evaluate.report.intruder import Attacks, lone_copies
from understudy.evaluate.report.pairs import PairFacts, mosaics, pair_facts
from understudy.evaluate.report.release_facts import ReleaseFacts
from understudy.evaluate.report.verdicts import judge
from understudy.evaluate.risk.gains import counted_gains, gains_of
from understudy.evaluate.risk.membership import Shadows
from understudy.evaluate.risk.scores import metric_of, risk_scores
from understudy.evaluate.utility import METRICS, utility_models, utility_references, utility_scores
from understudy.evaluate.utility.regression import Comparison
from understudy.parameters import OneOf
from understudy.sources.base import Report, Source

Honest = Callable[[str, str], Sequence[HonestInterval]]
RISK_LEVELS = OneOf(("none", "quick", "full"))
_NOT_COMPARED = (
    "Hold out whole people: their ids could not be compared, so nobody checked that no person is both in the data and "
    "held out, and where one is, attacks gain less than they should."
)
_MOSAICS = 4
_LEAST_ROWS = 2


def gather(
    real: Source,
    synthetic: Source,
    *,
    risk: str,
    holdout: Source | None = None,
    external: Source | None = None,
    target: str | None = None,
    given: str | None = None,
    release: ReleaseFacts | None = None,
    labels: tuple[str, str] = ("real", "synthetic"),
    board: Board | None = None,
    shadows: Callable[[int], Shadows] | None = None,
    honest: Honest | None = None,
    report: Report | None = None,
) -> Findings:
    """All findings. ``risk`` is "none", "quick" (attacks by counting) or "full" (repeated fits as well).

    ``shadows`` gives, for the number of synthetic rows, how to rerun the method that made them. ``honest`` gives, for a
    formula and its kind, the intervals that the measurements of the release allow.
    """
    board = Board() if board is None else board
    book = real.codebook
    RISK_LEVELS.check("risk", risk)
    for called, name in (("target", target), ("given", given)):
        if name is not None:
            check_column(real, name, called=called)
    truth = _one_way(real, role="the confidential table", report=report)
    copy = _one_way(synthetic, role="the synthetic table", report=report)
    if target is not None:
        _check_target(book, truth, target, role="the confidential table")
        _check_target(book, copy, target, role="the synthetic table")
    reruns = None if shadows is None or risk != "full" else shadows(_rows(copy))
    held = None if holdout is None else _one_way(holdout, role="the hold-out", report=report)
    twins = None if holdout is None else check_holdout(real, holdout)
    are_others = holdout is not None and check_people(real, holdout)
    real, synthetic = Remembered(real), Remembered(synthetic)
    holdout = None if holdout is None else Remembered(holdout)
    columns = [column_facts(book, name, truth[name], copy[name]) for name in book.names]
    notes = _notes(book, truth, copy, release)
    if book.unit is not None and holdout is not None:
        notes.append(
            "Attacks and their intervals count records, and a person may have several."
            + ("" if are_others else f" {_NOT_COMPARED}")
        )
    pairs = pair_facts(real, synthetic, report=report)
    if left_out := len(book.names) * (len(book.names) - 1) // 2 - len(pairs):
        notes.append(f"{left_out} pairs of columns have too many combinations to be compared cell by cell.")
    impossible = impossible_rows(real, synthetic)
    notes += impossible.sentences
    tiles = mosaics(real, synthetic, pairs, most=_MOSAICS)
    scores = utility_scores(
        real, synthetic, conditional_on=given, target=target, holdout=holdout, report=_whole(report, "utility")
    )
    utility = [Measured(metric=METRICS[score.metric], score=score) for score in scores]
    models = _models(real, synthetic, target, notes)
    lines = utility_references(real, synthetic, conditional_on=given)
    if risk != "none" and target is None and not book.with_role(Role.SENSITIVE):
        notes.append(
            "No attack guessed at anything, because no column is sensitive: set role = 'sensitive' and "
            "role = 'quasi-identifier' (what an intruder may know) in the codebook, or name a --target."
        )
    attacks: list[Measured] = []
    known, wanted = _intruder(book, target, external)
    if risk != "none":
        attacked = risk_scores(
            real,
            synthetic,
            quasi=known,
            sensitive=wanted,
            holdout=holdout,
            external=external,
            level=risk,
            shadows=reruns,
            report=_whole(report, "risk"),
        )
        attacks = [Measured(metric=metric_of(score), score=score) for score in attacked]
    tried = _attacks(real, synthetic, holdout, risk, known, wanted, attacks)
    uses = _uses(book, columns, pairs, models, scores, impossible, (_rows(truth), _rows(copy)), board)
    untested = () if models else ("Models: none was compared (--target).",)
    return Findings(
        codebook=book,
        real_label=labels[0],
        synthetic_label=labels[1],
        real_rows=_rows(truth),
        synthetic_rows=_rows(copy),
        holdout_rows=None if held is None else _rows(held),
        holdout_twins=twins,
        release=release,
        columns=columns,
        pairs=pairs,
        mosaics=tiles,
        models=models,
        utility=utility,
        risk=attacks,
        risk_level=risk,
        headlines=headlines_of(utility, attacks, lines, pairs, guessing=bool(known)),
        target=target,
        given=given,
        notes=notes,
        impossible=impossible,
        attacks=tried,
        board=board,
        judgement=judge(
            release=release, records=_rows(truth), uses=uses, attacks=tried, board=board, untested=untested
        ),
        honest={} if honest is None else {model.formula: honest(model.formula, model.kind) for model in models},
        chain=_chain(book, truth, release),
    )


def _uses(
    book: Codebook,
    columns: Sequence[ColumnFacts],
    pairs: Sequence[PairFacts],
    models: Sequence[Comparison],
    scores: Sequence[Score],
    impossible: ImpossibleRows,
    rows: tuple[int, int],
    board: Board,
) -> list[Use]:
    """What was measured of each use, in the order in which a report lists them."""
    uses = [
        shares_use(columns, board),
        pairs_use(pairs, board),
        associations_use(pairs, board),
        *(model_use(model, board) for model in models),
        prediction_use(scores, board),
        rows_use(book, impossible, rows, board),
    ]
    return [use for use in uses if use is not None]


def _attacks(
    real: Source,
    synthetic: Source,
    holdout: Source | None,
    risk: str,
    known: Sequence[str],
    wanted: Sequence[str],
    scores: Sequence[Measured],
) -> Attacks:
    """What was attacked, and what the attacks gained over people held out."""
    gains = None
    if risk != "none" and holdout is not None:
        counted = counted_gains(real, synthetic, holdout, quasi=known, sensitive=wanted)
        gains = [*counted, *gains_of(item.score for item in scores)]
    copies = None if risk == "none" else lone_copies(real, synthetic, holdout)
    return Attacks(level=risk, quasi=known, sensitive=wanted, gains=gains, copies=copies)


def _one_way(source: Source, *, role: str, report: Report | None = None) -> dict[str, Counts]:
    """Counts of every column; whatever is wrong with the file is said with its role."""
    names = source.codebook.names
    try:
        tables = open_grids(source, [[name] for name in names], report)
    except DataError as reason:
        raise DataError(f"{role}: {reason}") from None
    counts = dict(zip(names, tables, strict=True))
    if (rows := _rows(counts)) < _LEAST_ROWS:
        raise DataError(
            f"{role} has {rows} row{'' if rows == 1 else 's'}; shares and associations need at least {_LEAST_ROWS}. "
            "Give the whole table."
        )
    return counts


def _check_target(book: Codebook, counts: Mapping[str, Counts], target: str, *, role: str) -> None:
    """A classifier needs two classes to tell apart."""
    seen = np.flatnonzero(counts[target])
    if len(seen) < 2:
        only = book.column(target).labels[int(seen[0])]
        raise ParameterError(
            f"`target` is {target!r}, which is {only!r} in every row of {role}; a classifier needs at least two "
            "classes. Choose another column."
        )


def _rows(counts: Mapping[str, Counts]) -> int:
    return int(next(iter(counts.values())).sum())


def _notes(
    book: Codebook,
    truth: Mapping[str, Counts],
    copy: Mapping[str, Counts],
    release: ReleaseFacts | None,
) -> list[str]:
    notes = []
    for counts, which in ((truth, "confidential"), (copy, "synthetic")):
        constant = [name for name in book.names if np.count_nonzero(counts[name]) == 1]
        if constant:
            notes.append(
                f"{', '.join(constant)} {'takes' if len(constant) == 1 else 'take'} one value in the whole {which} "
                "table, so association with it is not defined there."
            )
    if release is not None and release.codebook != book.plain.digest:
        notes.append("The release was made with another codebook than the one used here.")
    return notes


def _chain(book: Codebook, real: dict[str, Counts], release: ReleaseFacts | None) -> dict[str, Any] | None:
    if release is None or release.block_size is None or release.codebook != book.plain.digest or release.problems:
        return None
    return chain_facts(release.table, book, real, release.block_size)


def _models(real: Source, synthetic: Source, target: str | None, notes: list[str]) -> list[Comparison]:
    try:
        fitted = utility_models(real, synthetic, target=target)
    except DataError as reason:  # a constant column in a small release, for example
        notes.append(f"No regression model of {target}: {reason}")
        return []
    return [] if fitted is None else [fitted]


def _whole(report: Report | None, label: str) -> Report | None:
    """One bar for all metrics of a room, instead of one bar for each."""
    own = "shadow models"  # the one step that takes long enough for a bar of its own
    return None if report is None else lambda step, done, total: report(own if step == own else label, done, total)


def _intruder(book: Codebook, target: str | None, external: Source | None) -> tuple[list[str], list[str]]:
    """What an intruder knows, and what they want to know."""
    wanted = list(book.with_role(Role.SENSITIVE))
    if target is not None and target not in wanted:
        wanted.append(target)
    known = [name for name in book.with_role(Role.QUASI_IDENTIFIER) if name not in wanted]
    if external is not None:  # the intruder knows what the external file tells
        known = [name for name in known if name in external.codebook.names]
    return known, wanted
