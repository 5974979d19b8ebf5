"""All metrics of two sets of linked tables in one call.

Everything here is computed on confidential data and is not covered by the guarantee of the release.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, cast

from understudy.codebook.linked import LinkedCodebook
from understudy.confidential import Confidential
from understudy.evaluate.linked.attacks import person_gains
from understudy.evaluate.linked.metrics import LINKED, MUST_BE_PERFECT
from understudy.evaluate.linked.options import LinkedOptions
from understudy.evaluate.linked.rows import LinkedRows, read_rows
from understudy.evaluate.metric import Metric, Score
from understudy.evaluate.risk.gains import Gain
from understudy.sources.base import Report


@dataclass(frozen=True, kw_only=True, repr=False)
class LinkedFindings(Confidential):
    """Scores of one pair of linked tables, and the rows that they were computed from."""

    scores: tuple[Score, ...]
    real: LinkedRows
    synthetic: LinkedRows
    gains: tuple[Gain, ...] | None = None
    """What attacks gain about people in the data; None where nobody was set aside."""

    def score(self, name: str) -> Score:
        """The score of a metric."""
        return next(score for score in self.scores if score.metric == name)

    def metric(self, name: str) -> Metric:
        """What a metric says."""
        return LINKED[name].metric

    @property
    def wrong(self) -> tuple[str, ...]:
        """Metrics in which the synthetic tables must be perfect and are not."""
        return tuple(
            score.metric
            for score in self.scores
            if score.metric in MUST_BE_PERFECT
            and score.value != LINKED[score.metric].metric.perfect
            and score.breakdown
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            "rows": {
                side: {name: table.rows for name, table in rows.tables.items()}
                for side, rows in (("real", self.real), ("synthetic", self.synthetic))
            },
            "scores": [{**score.to_dict(), "says": LINKED[score.metric].metric.says} for score in self.scores],
            "wrong": list(self.wrong),
            "attacks": None if self.gains is None else [asdict(gain) for gain in self.gains],
        }


def linked_scores(
    real: LinkedRows, synthetic: LinkedRows, options: LinkedOptions, report: Report | None = None
) -> list[Score]:
    """Every metric that the tables and the options allow."""
    scores = []
    for done, (name, measure) in enumerate(LINKED.items()):
        if report:
            report(f"linked tables: {name.replace('_', ' ')}", done, len(LINKED))
        score = measure(*cast(Any, (real, synthetic, options)))  # a measure of linked rows instead of sources
        if score is not None:
            scores.append(score)
    if report:
        report("linked tables", len(LINKED), len(LINKED))
    return scores


def compare_linked(
    real: Mapping[str, Any],
    synthetic: Mapping[str, Any],
    book: LinkedCodebook,
    *,
    holdout: Mapping[str, Any] | None = None,
    label: str | None = None,
    within: float = 30.0,
    report: Report | None = None,
) -> LinkedFindings:
    """Compare tables in memory, by the names that the codebook gives them.

    ``holdout`` are real people set aside before synthesis, for the task: predict that the next row follows ``within``
    days, or ``label`` (TABLE.COLUMN=LEVEL).
    """
    sides = [read_rows(tables, book) for tables in (real, synthetic)]
    options = LinkedOptions(
        holdout=None if holdout is None else read_rows(holdout, book, capped=False), label=label, within=within
    )
    scores = linked_scores(sides[0], sides[1], options, report)
    gains = None if holdout is None else tuple(person_gains(sides[0], sides[1], read_rows(holdout, book)))
    return LinkedFindings(scores=tuple(scores), real=sides[0], synthetic=sides[1], gains=gains)
