"""What analysts would still learn: all metrics of two tables in one call.

Everything here is computed on confidential data and is not covered by the guarantee of the release.
"""

from collections.abc import Sequence

from understudy.evaluate.checks import check_column, check_comparable, check_rows, check_same_columns
from understudy.evaluate.holdout import check_holdout
from understudy.evaluate.metric import Metric, Score
from understudy.evaluate.remembered import Remembered
from understudy.evaluate.utility.measure import Kind, Measure, Options, find_measures
from understudy.evaluate.utility.references import Reference, reference_lines
from understudy.evaluate.utility.regression import model_of as utility_models
from understudy.evaluate.values import event_of
from understudy.sources.base import Clique, Report, Source

__all__ = ["METRICS", "UTILITY", "Options", "utility_models", "utility_references", "utility_scores"]

UTILITY: dict[str, Measure] = find_measures(__name__, __path__)
"""Every metric of two tables by name, in the order of a report."""
METRICS: dict[str, Metric] = {name: measure.metric for name, measure in UTILITY.items()}
"""What each of them says."""


def utility_scores(
    real: Source,
    synthetic: Source,
    *,
    conditional_on: str | None = None,
    target: str | None = None,
    holdout: Source | None = None,
    report: Report | None = None,
    positive: str | None = None,
    formula: str | None = None,
    kind: Kind | None = None,
    tables: Sequence[Clique] | None = None,
) -> list[Score]:
    """Every utility metric that these inputs allow, each table counted once.

    Whatever is wrong with the input is said before anything is measured.
    """
    options = Options(
        conditional_on=conditional_on,
        target=target,
        positive=positive,
        holdout=None if holdout is None else Remembered(holdout),
        formula=formula,
        kind=kind,
        tables=tables,
    )
    truth, copy = (source if isinstance(source, Remembered) else Remembered(source) for source in (real, synthetic))
    _refuse(truth, copy, options)
    scores = []
    for done, (name, measure) in enumerate(UTILITY.items()):
        if report:
            report(f"utility: {name.replace('_', ' ')}", done, len(UTILITY))
        score = measure(truth, copy, options)
        if score is not None:
            scores.append(score)
    if report:
        report("utility", len(UTILITY), len(UTILITY))
    return scores


def utility_references(
    real: Source, synthetic: Source, *, conditional_on: str | None = None, tables: Sequence[Clique] | None = None
) -> dict[str, Reference]:
    """What a bootstrap and independent columns of the size of the synthetic table would score, by metric."""
    _, rows = check_comparable(real, synthetic)
    return reference_lines(real, rows=rows, conditional_on=conditional_on, three_way=tables)


def _refuse(real: Source, synthetic: Source, options: Options) -> None:
    check_comparable(real, synthetic)
    if options.conditional_on is not None:
        check_column(real, options.conditional_on, called="conditional_on")
    if options.holdout is not None:
        check_same_columns(real, options.holdout, called=("real", "hold-out"))
        check_rows(options.holdout, called="hold-out")
        check_holdout(real, options.holdout)
    if options.target is not None:
        event_of(real, options.target, positive=options.positive)
