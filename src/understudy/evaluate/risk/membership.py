"""Whether somebody who knows the method can tell that a person was in the data (shadow models, for small tables).

As Stadler et al. (2022) and Houssiau et al. (2022, targeted counting queries): the recipe is run many times with and
without one target record; a linear rule learns from one half of the runs which synthetic files had the target, from
the numbers of rows that agree with the target on every one or two columns; the other half of the runs tests it.
"""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from understudy.codebook import Codebook, Column
from understudy.errors import RefusalError, UnderstudyError
from understudy.evaluate.checks import count_rows
from understudy.evaluate.metric import Metric, Score
from understudy.evaluate.risk.attack import attacks
from understudy.evaluate.risk.cells import Ints, open_cells
from understudy.evaluate.risk.intervals import wilson
from understudy.evaluate.shadows import repeated
from understudy.evaluate.values import codes_of
from understudy.mechanisms.stream import Stream
from understudy.parameters import Whole
from understudy.sources.base import Report, Source
from understudy.sources.encoded import EncodedSource
from understudy.sources.tables import code_type
from understudy.synth.recipe import Fitted, Recipe

MEMBERSHIP = Metric(
    name="membership",
    title="Membership inference",
    room="risk",
    says="How often an attacker who can rerun the method tells rightly whether one person was in the data; one half is "
    "guessing.",
    best=0.5,
)
RUNS = 100
UNASKED = 600.0
"""Seconds that a report spends on shadow models without being asked for them."""
MOST_RECORDS = 5_000
SHADOW_RUNS = Whole(least=8, most=2_000, tried=100)
"""Fewer runs would prove nothing, more would take for ever."""
Floats = npt.NDArray[np.float64]


def membership(
    recipe: Recipe,
    real: Source,
    *,
    rows: int,
    runs: int = RUNS,
    target: Sequence[int] | None = None,
    stream: Stream | None = None,
    processes: int = 1,
    seconds: float | None = None,
    report: Report | None = None,
) -> Score:
    """Fit ``recipe`` ``runs`` times with the target record and ``runs`` times without it; test on half of them.

    ``target`` is a record as codes; by default the record of the table whose values are rarest. If all runs would take
    longer than ``seconds``, they are refused.
    """
    SHADOW_RUNS.check("runs", runs)
    book = real.codebook
    cells = open_cells(real, [column.name for column in real.counted])
    if cells.rows > MOST_RECORDS:
        raise RefusalError(
            f"the table has more than {MOST_RECORDS:,} records; shadow models refit it many times. Attack a sample."
        )
    records = cells.records()
    person = rarest_record(records) if target is None else np.asarray(target, dtype=np.int64)
    same = np.flatnonzero((records == person).all(axis=1))
    without = records if not len(same) else np.delete(records, same[0], axis=0)
    seen = repeated(
        recipe,
        [source_of(book, table) for table in (without, np.vstack([without, person]))],
        rows=rows,
        runs=runs,
        see=_Look(book=book, person=person),
        stream=Stream.checked(stream),
        processes=processes,
        seconds=seconds,
        label="shadow models",
        report=report,
    )
    features, labels = np.concatenate(seen), np.repeat([False, True], runs)
    if (features[:, 0] == 1).all():
        raise RefusalError(f"{recipe.name} drew nothing in any run on this table, so there is nothing to attack.")
    learn = np.tile(np.arange(runs) < runs // 2, 2)
    rule = LinearRule(features[learn], labels[learn])
    guesses = rule(features[~learn]) > 0
    right = int((guesses == labels[~learn]).sum())
    rate = wilson(right, int((~learn).sum()))
    hits, alarms = guesses[labels[~learn]].mean(), guesses[~labels[~learn]].mean()
    return MEMBERSHIP.score(
        rate,
        {"accuracy": rate.value, "true positives": float(hits), "false positives": float(alarms)},
        note=f"{2 * runs} runs of {recipe.name} with {rows:,} rows each, half of them for testing, one target record: "
        f"{'the one whose values are rarest' if target is None else 'as given'}. A low number is no proof of privacy: "
        "another attacker may do better.",
    )


@dataclass(frozen=True, kw_only=True)
class Shadows:
    """How to rerun the method that made a table, for the attack in a report."""

    recipe: Recipe | None
    why_not: str = ""
    """Why there is no recipe."""
    runs: int | None = None
    """On each of two tables; without a number, 100 if they take no more than ten minutes."""
    processes: int = 1

    def attack(self, real: Source, copy: Source, *, stream: Stream, report: Report | None = None) -> Score:
        """With as many rows as the synthetic table has; where it cannot be done, a score that says why."""
        if self.runs is not None:
            SHADOW_RUNS.check("runs", self.runs)
        if self.recipe is None:
            return MEMBERSHIP.undefined(f"Not tried: {self.why_not}")
        try:
            return membership(
                self.recipe,
                real,
                rows=count_rows(copy),
                runs=RUNS if self.runs is None else self.runs,
                stream=stream,
                processes=self.processes,
                seconds=UNASKED if self.runs is None else None,
                report=report,
            )
        except UnderstudyError as reason:
            return MEMBERSHIP.undefined(f"Not tried: {reason}")


@attacks(
    MEMBERSHIP,
    "shadows",
    "stream",
    "report",
    full=True,
    where=lambda scene, about: scene.shadows is not None,
    place=110,
)
def rerun(real: Source, synthetic: Source, *, shadows: Shadows, stream: Stream, report: Report | None = None) -> Score:
    """Shadow models of the method that the caller names."""
    return shadows.attack(real, synthetic, stream=stream, report=report)


@dataclass(frozen=True, kw_only=True, eq=False)
class _Look:
    """What the attacker looks at: whether there were rows, and how many of them agree with the person."""

    book: Codebook
    person: Ints

    def __call__(self, fitted: Fitted, rows: int) -> Floats:
        """One run as numbers."""
        try:
            drawn = encode_rows(self.book.counted[: len(self.person)], fitted.sample(rows).table)
        except RefusalError:
            return np.concatenate([[1.0], 0 * agreements(self.person[None, :], self.person)])
        return np.concatenate([[0.0], agreements(drawn, self.person)])


def rarest_record(records: Ints) -> Ints:
    """The record whose values are rarest, column by column: the one that stands out most."""
    score = np.zeros(len(records))
    for column in records.T:
        score += np.log(np.bincount(column)[column])
    return np.asarray(records[int(score.argmin())], dtype=np.int64)


def source_of(book: Codebook, records: Ints, *, last_of_one: int = 1) -> EncodedSource:
    """A table of codes as a source without an account; where people are the unit, the last records are one person's.

    The codes are those of all columns that a source counts: of the model, details, and pieces of measured numbers.
    """
    columns = [
        np.ascontiguousarray(records[:, place].astype(code_type(column.size + 1)))
        for place, column in enumerate(book.counted[: records.shape[1]])
    ]
    people = np.minimum(np.arange(len(records)), max(0, len(records) - last_of_one))
    return EncodedSource(codebook=book, columns=columns, people=None if book.unit is None else people)


def encode_rows(columns: Sequence[Column], table: Any) -> Ints:
    """Codes of a small synthetic table, as a source counts them."""
    return np.stack([codes_of(table.column(column.reads), column) for column in columns], axis=1)


def agreements(rows: Ints, person: Ints) -> Floats:
    """How many rows agree with a record in each column, each pair of columns, in all, and in all but one.

    >>> agreements(np.array([[0, 1], [0, 0]]), np.array([0, 1])).tolist()
    [2.0, 1.0, 1.0, 1.0, 2.0]
    """
    same = rows == person
    width = same.shape[1]
    pairs = list(itertools.combinations(range(width), 2))
    both = (same.T.astype(np.int64) @ same)[tuple(np.array(pairs).T)] if pairs else np.empty(0)
    count = same.sum(axis=1)
    return np.concatenate([same.sum(axis=0), both, [(count == width).sum(), (count >= width - 1).sum()]]).astype(float)


class LinearRule:
    """Ridge regression on the labels, standardised; positive means "the target was in"."""

    def __init__(self, features: Floats, labels: npt.NDArray[np.bool_]) -> None:
        self._centre = features.mean(axis=0)
        spread = features.std(axis=0)
        self._spread = np.where(spread > 0, spread, 1.0)
        z = (features - self._centre) / self._spread
        wanted = np.where(labels, 1.0, -1.0)
        self._offset = float(wanted.mean())
        penalty = z.shape[1] + 1.0
        self._weights = np.linalg.solve(z.T @ z + penalty * np.eye(z.shape[1]), z.T @ (wanted - self._offset))

    def __call__(self, features: Floats) -> Floats:
        """Scores of new runs."""
        return np.asarray((features - self._centre) / self._spread @ self._weights + self._offset)
