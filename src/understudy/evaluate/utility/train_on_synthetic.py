"""Train on synthetic, test on real: any scikit-learn classifier, scored on rows that no synthesizer has seen.

The hold-out must have been set aside **before** synthesis (:func:`understudy.evaluate.holdout.hold_out`); one that
overlaps the training rows is refused.
"""

import math
import warnings
from typing import Any

import numpy as np
import numpy.typing as npt

from understudy.errors import DataError, ParameterError
from understudy.evaluate.checks import check_comparable, check_rows, check_same_columns
from understudy.evaluate.holdout import check_holdout
from understudy.evaluate.metric import Metric, Score
from understudy.evaluate.risk.intervals import Z95, Rate
from understudy.evaluate.utility.dummies import MOST_LEVELS, Design, auc, logistic_newton
from understudy.evaluate.utility.measure import measures
from understudy.evaluate.values import Event, Records, event_of, records
from understudy.extras import need
from understudy.sources.base import Source

Floats = npt.NDArray[np.float64]

TRAIN_ON_SYNTHETIC = Metric(
    name="train_on_synthetic",
    of_models=True,
    title="Train on synthetic, test on real",
    goal="maximize",
    says="Area under the ROC curve, on real rows set aside before synthesis, of a classifier trained on the copy.",
)


@measures(TRAIN_ON_SYNTHETIC, "holdout", "target", "positive", place=25)
def train_on_synthetic(
    real: Source,
    synthetic: Source,
    *,
    holdout: Source,
    target: str,
    positive: str | None = None,
    classifier: Any = None,
) -> Score:
    """Area of the model trained on synthetic rows; the breakdown has that of the one trained on real rows.

    ``classifier`` is any scikit-learn classifier that takes sample weights and gives probabilities; logistic regression
    if not given. Its features are dummies of all other columns. The interval is Hanley and McNeil's, at 95%.
    """
    check_comparable(real, synthetic)
    check_same_columns(real, holdout, called=("real", "hold-out"))
    check_rows(holdout, called="hold-out")
    event = event_of(real, target, positive=positive)
    shared = check_holdout(real, holdout)
    features = tuple(name for name in real.codebook.names if name != target)
    if not features:
        raise DataError(f"there is no column beside the target {target!r}; a classifier needs one to learn from.")
    sizes = [real.codebook.column(name).size for name in features]
    tables = [_asked(records(source, (*features, target)), event) for source in (real, synthetic, holdout)]
    test = tables[2]
    yes = event.yes[test.codes_of(target)]
    ups, downs = test.weights * yes, test.weights * ~yes
    if not ups.sum() or not downs.sum():
        raise DataError(
            f"in the hold-out {event.says} has one answer; a classifier cannot be tested on it. Set more rows aside."
        )
    parts, notes = {}, [f"Question: {event.says}. {shared:.1%} of the hold-out records occur among the real rows too."]
    for name, table in (("real", tables[0]), ("synthetic", tables[1])):
        scores, heard = _scores(table, test, event, sizes, classifier)
        if heard:
            notes.append(f"Trained on {name} rows: {heard}.")
        parts[f"auc, trained on {name} rows"] = auc(scores, ups, downs)
        right = (scores > 0.5) == yes
        parts[f"accuracy, trained on {name} rows"] = float(test.weights[right].sum() / test.rows)
    parts["accuracy of the more common answer"] = float(max(ups.sum(), downs.sum()) / test.rows)
    area = parts["auc, trained on synthetic rows"]
    half = Z95 * auc_error(area, float(ups.sum()), float(downs.sum()))
    rate = Rate(value=area, low=max(area - half, 0.0), high=min(area + half, 1.0))
    return TRAIN_ON_SYNTHETIC.score(rate, parts, note=" ".join(notes))


def _asked(table: Records, event: Event) -> Records:
    return table.where(event.asked[table.codes[:, -1]])


def _scores(train: Records, test: Records, event: Event, sizes: list[int], classifier: Any) -> tuple[Floats, str]:
    """Chance of a yes for each test record, and what the training had to say."""
    need("sklearn", extra="report", what="training on synthetic rows")
    from sklearn.base import clone
    from sklearn.linear_model import LogisticRegression

    answers = event.yes[train.codes_of(event.column)]
    if len(np.unique(answers)) < 2:
        only = float(answers[0]) if len(answers) else 0.5
        return np.full(len(test.weights), only), "there is one class only, which teaches nothing"
    if classifier is None and sum(sizes) <= MOST_LEVELS:
        return _logistic(train, test, answers, sizes), ""
    model = LogisticRegression(max_iter=300) if classifier is None else clone(classifier)
    if not hasattr(model, "predict_proba"):
        raise ParameterError(
            f"`classifier` is {type(model).__name__}, which gives no probabilities; choose one that has predict_proba."
        )
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        try:
            model.fit(_dummies(train, sizes), answers, sample_weight=train.weights)
        except TypeError:  # no sample weights, as k nearest neighbours: spell the rows out
            repeated = np.repeat(np.arange(len(answers)), train.weights.astype(np.int64))
            model.fit(_dummies(train, sizes)[repeated], answers[repeated])
        chances = model.predict_proba(_dummies(test, sizes))[:, list(model.classes_).index(True)]
    warned = "; ".join(sorted({str(word.message).strip().splitlines()[0] for word in heard}))
    return np.asarray(chances, dtype=np.float64), warned


def _logistic(train: Records, test: Records, answers: npt.NDArray[np.bool_], sizes: list[int]) -> Floats:
    """What scikit-learn's LogisticRegression() converges to (a ridge of 1 on every level), from counts of records."""
    design = Design.every_level(sizes)
    codes, others = (np.ascontiguousarray(table.codes[:, :-1]) for table in (train, test))
    beta = logistic_newton(design, codes, train.weights, train.weights * answers, ridge=1.0)
    return np.asarray(1 / (1 + np.exp(-np.clip(design.scores(others, beta), -500, 500))))


def _dummies(table: Records, sizes: list[int]) -> Any:
    """One indicator per level of every feature, as a sparse matrix."""
    need("scipy", extra="report", what="training on synthetic rows")
    from scipy.sparse import csr_matrix

    rows, width = len(table.weights), len(sizes)
    starts = np.concatenate([[0], np.cumsum(sizes)[:-1]])
    columns = (table.codes[:, :-1].astype(np.int64) + starts).ravel()
    ones = np.ones(rows * width)
    return csr_matrix((ones, columns, np.arange(0, rows * width + 1, width)), shape=(rows, int(sum(sizes))))


def auc_error(area: float, ups: float, downs: float) -> float:
    """Standard error of an area under the curve (Hanley and McNeil 1982)."""
    q1, q2 = area / (2 - area), 2 * area**2 / (1 + area)
    spread = area * (1 - area) + (ups - 1) * (q1 - area**2) + (downs - 1) * (q2 - area**2)
    return math.sqrt(max(spread, 0.0) / (ups * downs))
