"""What analysts would still learn: all metrics of two tables in one call.

Everything here is computed on confidential data and is not covered by the guarantee of the release.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from understudy.evaluate.checks import check_column, check_comparable, check_rows, check_same_columns
from understudy.evaluate.holdout import check_holdout
from understudy.evaluate.metric import Metric, Score
from understudy.evaluate.remembered import Remembered
from understudy.evaluate.utility import association, columns, distances, lasso, ranks, regression
from understudy.evaluate.utility.pmse import PMSE, pmse
from understudy.evaluate.utility.references import Reference, reference_lines
from understudy.evaluate.utility.regression import Comparison, Kind, compare_models, default_formula, kind_of
from understudy.evaluate.utility.survey import WEIGHTED_MEANS, WEIGHTED_TVD, weighted_means, weighted_tvd
from understudy.evaluate.utility.train_on_synthetic import TRAIN_ON_SYNTHETIC, train_on_synthetic
from understudy.evaluate.values import event_of, is_ordered
from understudy.sources.base import Clique, Report, Source


@dataclass(frozen=True, kw_only=True)
class Options:
    """What the metrics may be told besides the two tables."""

    conditional_on: str | None = None
    """The given column of conditional distances and ranks; every column in turn if none is named."""
    target: str | None = None
    """What the models explain; models are left out without one."""
    positive: str | None = None
    """The level of the target that classifiers look for."""
    holdout: Source | None = None
    """Real rows set aside before synthesis; classifiers are left out without them."""
    formula: str | None = None
    kind: Kind | None = None
    """A regression model of the caller's; otherwise the target on the columns that say most about it."""
    tables: Sequence[Clique] | None = None
    """Three-way tables to compare; otherwise up to 64 of them."""


Measure = Callable[[Source, Source, Options], Score | None]
"""A metric as the report calls it; None where the options do not ask for it."""


def _model(real: Source, options: Options) -> tuple[str, Kind] | None:
    if options.formula is not None:
        return options.formula, options.kind or kind_of(options.formula)
    return default_formula(real, options.target) if options.target is not None else None


def _plain(measure: Callable[[Source, Source], Score]) -> Measure:
    return lambda real, synthetic, _: measure(real, synthetic)


def _given(measure: Callable[..., Score]) -> Measure:
    return lambda real, synthetic, options: measure(real, synthetic, conditional_on=options.conditional_on)


def _fitted(measure: Callable[[Comparison], Score]) -> Measure:
    def measured(real: Source, synthetic: Source, options: Options) -> Score | None:
        model = _model(real, options)
        return None if model is None else measure(compare_models(real, synthetic, formula=model[0], kind=model[1]))

    return measured


def _lasso_mse(real: Source, synthetic: Source, options: Options) -> Score | None:
    if options.target is None or not is_ordered(real.codebook.column(options.target)):
        return None
    return lasso.lasso_mse(real, synthetic, target=options.target)


def _lasso_auc(real: Source, synthetic: Source, options: Options) -> Score | None:
    if options.target is None:
        return None
    return lasso.lasso_auc(real, synthetic, target=options.target, positive=options.positive)


def _classifier(real: Source, synthetic: Source, options: Options) -> Score | None:
    if options.target is None or options.holdout is None:
        return None
    return train_on_synthetic(
        real, synthetic, holdout=options.holdout, target=options.target, positive=options.positive
    )


def _three_way(real: Source, synthetic: Source, options: Options) -> Score:
    return distances.tvd_three_way(real, synthetic, tables=options.tables)


_MEASURED: tuple[tuple[Metric, Measure], ...] = (
    (distances.TVD_ONE_WAY, _plain(distances.tvd_one_way)),
    (distances.TVD_TWO_WAY, _plain(distances.tvd_two_way)),
    (distances.TVD_THREE_WAY, _three_way),
    (distances.JOINT_L1, _plain(distances.joint_l1_score)),
    (distances.MARGINAL_MAE, _plain(distances.marginal_mae)),
    (distances.MARGINAL_MSE, _plain(distances.marginal_mse)),
    (columns.ORDER_DISTANCE, _plain(columns.order_distance)),
    (distances.CONDITIONAL_MAE, _given(distances.conditional_mae)),
    (distances.CONDITIONAL_MSE, _given(distances.conditional_mse)),
    (ranks.KENDALL_MARGINAL, _plain(ranks.kendall_marginal)),
    (ranks.SPEARMAN_MARGINAL, _plain(ranks.spearman_marginal)),
    (ranks.KENDALL_CONDITIONAL, _given(ranks.kendall_conditional)),
    (ranks.SPEARMAN_CONDITIONAL, _given(ranks.spearman_conditional)),
    (PMSE, _plain(pmse)),
    (columns.MEAN_UTILITY, _plain(columns.mean_utility)),
    (association.CHI_SQUARE, _plain(association.chi_square_difference)),
    (association.INFORMATION, _plain(association.information)),
    (columns.MISSING_RATIO, _plain(columns.missing_ratio)),
    (distances.ARTIFICIAL_SHARE, _plain(distances.artificial_share)),
    (regression.COEFFICIENT_DISTANCE, _fitted(regression.distance_of_coefficients)),
    (regression.COEFFICIENT_UTILITY, _fitted(regression.utility_of_coefficients)),
    (regression.INTERVAL_OVERLAP, _fitted(regression.overlap_of_intervals)),
    (lasso.LASSO_MSE, _lasso_mse),
    (lasso.LASSO_AUC, _lasso_auc),
    (TRAIN_ON_SYNTHETIC, _classifier),
)
UTILITY: dict[str, Measure] = {metric.name: measure for metric, measure in _MEASURED}
"""Every metric of two tables by name, in the order of a report."""
METRICS: dict[str, Metric] = {
    metric.name: metric
    for metric in (*(metric for metric, _ in _MEASURED), WEIGHTED_TVD, WEIGHTED_MEANS, distances.DETAIL_TVD)
}
"""What each of them says, with those that need a survey weight or detailed codes."""


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
    if truth.codebook.weight is not None:
        scores += [weighted_tvd(truth, copy), weighted_means(truth, copy)]
    if truth.codebook.details:
        scores.append(distances.detail_tvd(truth, copy))
    if report:
        report("utility", len(UTILITY), len(UTILITY))
    return scores


def utility_references(
    real: Source, synthetic: Source, *, conditional_on: str | None = None, tables: Sequence[Clique] | None = None
) -> dict[str, Reference]:
    """What a bootstrap and independent columns of the size of the synthetic table would score, by metric."""
    _, rows = check_comparable(real, synthetic)
    return reference_lines(real, rows=rows, conditional_on=conditional_on, three_way=tables)


def utility_models(
    real: Source, synthetic: Source, *, target: str | None = None, formula: str | None = None, kind: Kind | None = None
) -> Comparison | None:
    """The regression model that the scores are about, coefficient by coefficient, for a plot."""
    model = _model(real, Options(target=target, formula=formula, kind=kind))
    return None if model is None else compare_models(real, synthetic, formula=model[0], kind=model[1])


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
