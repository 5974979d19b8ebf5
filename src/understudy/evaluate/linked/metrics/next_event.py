"""A task that people have: from one stay, predict whether the next one comes soon (readmission), or a declared label.

Trained on synthetic rows, tested on real people who were set aside before synthesis.
"""

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from understudy.codebook.linked import LinkedCodebook, LinkedTable
from understudy.errors import CodebookError, ParameterError
from understudy.evaluate.linked.metrics.gaps import gap_days
from understudy.evaluate.linked.rows import NONE, LinkedRows
from understudy.evaluate.linked.shares import coarse
from understudy.evaluate.metric import Metric, Score
from understudy.evaluate.risk.intervals import Z95, Rate
from understudy.evaluate.utility.dummies import MOST_LEVELS, Design, auc, logistic_newton
from understudy.evaluate.utility.measure import measures
from understudy.evaluate.utility.train_on_synthetic import auc_error

NEXT_EVENT = Metric(
    name="next_event",
    title="Predict the next event",
    of_models=True,
    goal="maximize",
    says="Area under the ROC curve, on real people set aside before synthesis, of a model that was trained on the "
    "synthetic tables to tell what follows a row.",
)


@dataclass(frozen=True, kw_only=True)
class Task:
    """What is predicted, from the columns of a row and of the rows above it."""

    table: str
    says: str
    features: tuple[str, ...]
    label: tuple[str, int] | None = None
    """Spelled column and code; without it, that another row follows in time."""
    within: float = 30.0


@measures(NEXT_EVENT, "holdout", "label", "within", place=80)
def next_event(
    real: LinkedRows, synthetic: LinkedRows, *, holdout: LinkedRows, label: str | None = None, within: float = 30.0
) -> Score:
    """Area of the model trained on synthetic rows; the breakdown has that of the one trained on the real rows."""
    task = find_task(real.book, label=label, within=within)
    if task is None:
        return NEXT_EVENT.undefined("No table has dates that order its rows; declare a label (TABLE.COLUMN=LEVEL).")
    if not task.features:
        return NEXT_EVENT.undefined(f"No column is left that could tell the answer to {task.says!r}.")
    test = examples(holdout, task)
    if test is None or not 0 < test[1].sum() < len(test[1]):
        return NEXT_EVENT.undefined(f"Among the people set aside the answer to {task.says!r} is always the same.")
    parts: dict[str, float] = {}
    for name, side in (("real", real), ("synthetic", synthetic)):
        parts[f"trained on {name} rows"] = _area(side, test, task)
    area, yes = parts["trained on synthetic rows"], int(test[1].sum())
    parts["share of yes among the people set aside"] = yes / len(test[1])
    half = Z95 * auc_error(area, yes, len(test[1]) - yes)
    rate = Rate(value=area, low=max(area - half, 0.0), high=min(area + half, 1.0))
    return NEXT_EVENT.score(rate, parts, note=f"Question: {task.says}, from the row itself and the rows above it.")


def find_task(book: LinkedCodebook, *, label: str | None, within: float) -> Task | None:
    """The declared label, or what follows in the first table that is ordered by a date; None without either."""
    if label is not None:
        spelled, equals, level = label.rpartition("=")
        table, _, own = spelled.partition(".")
        try:
            column = book.table(table).book.column(own)
        except CodebookError as reason:
            raise ParameterError(f"`label` is {label!r}; write TABLE.COLUMN=LEVEL. {reason}") from None
        if not equals or level not in column.labels:
            raise ParameterError(
                f"`label` is {label!r}; {level!r} is no level of {spelled}, which has {column.shown_labels(12)}."
            )
        features = tuple(name for name in _features(book, table) if name != spelled)
        return Task(
            table=table, says=f"{spelled} is {level}", features=features, label=(spelled, column.labels.index(level))
        )
    for one in book.tables:
        if (
            one.parent is not None
            and one.order in one.book.names
            and book.column(one.spelled(one.order)).kind == "date"
        ):
            features = tuple(name for name in _features(book, one.name) if name != one.spelled(one.order))
            says = f"another of the {one.name} begins within {within:g} days"
            return Task(table=one.name, says=says, features=features, within=within)
    return None


def examples(rows: LinkedRows, task: Task) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.bool_]] | None:
    """Codes of the features and the answer, for every row whose answer is known.

    What follows the last row that a cap leaves is unknown, so that row is no example.
    """
    table = rows.tables[task.table]
    codes = np.stack(
        [coarse(rows.book.column(name), rows.codes(name, task.table))[0] for name in task.features], axis=1
    )
    asked: npt.NDArray[np.bool_] = np.asarray((codes >= 0).all(axis=1))
    if task.label is not None:
        spelled, code = task.label
        answers = rows.codes(spelled, task.table)
        return codes[asked & (answers >= 0)], (answers == code)[asked & (answers >= 0)]
    days = gap_days(rows, task.table)
    if days is None:
        return None
    soon = np.zeros(table.rows, dtype=bool)
    follows = table.before != NONE
    soon[table.before[follows]] = days[follows] <= task.within
    asked[~_followed(rows, task.table) & (rows.children(task.table) >= _cap(table.table))[table.above]] = False
    return codes[asked], soon[asked]


def _followed(rows: LinkedRows, name: str) -> npt.NDArray[np.bool_]:
    table = rows.tables[name]
    followed = np.zeros(table.rows, dtype=bool)
    followed[table.before[table.before != NONE]] = True
    return followed


def _cap(table: LinkedTable) -> float:
    return math.inf if table.cap is None or table.cap == 1 else table.cap


def _features(book: LinkedCodebook, table: str) -> list[str]:
    """Columns of the row and of those above it that a model can have an indicator for each level of."""
    kept, levels = [], 0
    for one in book.path(table):
        for name in one.book.names:
            column = book.column(one.spelled(name))
            size = coarse(column, np.zeros(0, dtype=np.int64))[1]
            if levels + size <= MOST_LEVELS:
                kept.append(one.spelled(name))
                levels += size
    return kept


def _area(train: LinkedRows, test: tuple[npt.NDArray[np.int64], npt.NDArray[np.bool_]], task: Task) -> float:
    known = examples(train, task)
    if known is None or not 0 < known[1].sum() < len(known[1]):
        return 0.5  # one class teaches nothing
    sizes = [coarse(train.book.column(name), np.zeros(0, dtype=np.int64))[1] for name in task.features]
    design = Design.every_level(sizes)
    codes, answers = np.ascontiguousarray(known[0]), known[1].astype(np.float64)
    beta = logistic_newton(design, codes, np.ones(len(answers)), answers, ridge=1.0)
    score = design.scores(np.ascontiguousarray(test[0]), beta)
    yes = test[1].astype(np.float64)
    return auc(score, yes, 1 - yes)
