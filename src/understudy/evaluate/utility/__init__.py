"""What analysts would still learn: one metric per file, and all of them in one call.

Everything here is computed on confidential data and is not covered by the guarantee of the release.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from understudy.evaluate import checks
from understudy.evaluate.metric import Metric, Score
from understudy.evaluate.remembered import Remembered
from understudy.evaluate.utility import (
    artificial_share,
    chi_square,
    coefficient_distance,
    coefficient_utility,
    conditional_mae,
    conditional_mse,
    detail_tvd,
    gibbs,
    information,
    interval_overlap,
    joint_l1,
    kendall_conditional,
    kendall_marginal,
    lasso_auc,
    lasso_mse,
    marginal_mae,
    marginal_mse,
    mean_utility,
    missing_ratio,
    order_distance,
    pmse,
    spearman_conditional,
    spearman_marginal,
    survey,
    train_on_synthetic,
    tvd_one_way,
    tvd_three_way,
    tvd_two_way,
    weighted_means,
)
from understudy.evaluate.utility.references import Reference, reference_lines
from understudy.evaluate.utility.regression import Comparison, Kind, compare_models, default_formula
from understudy.evaluate.values import event_of, is_ordered
from understudy.sources.base import Clique, Report, Source

__all__ = ["METRICS", "UTILITY", "Options", "utility_models", "utility_references", "utility_scores"]


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
        return options.formula, options.kind or ("logistic" if _asks(options.formula) else "linear")
    return default_formula(real, options.target) if options.target is not None else None


def _asks(formula: str) -> bool:
    """Whether the left side is a comparison, which has two answers."""
    return any(sign in formula.split("~", maxsplit=1)[0] for sign in "<>=")


def _regression(measure: Callable[..., Score]) -> Measure:
    def measured(real: Source, synthetic: Source, options: Options) -> Score | None:
        model = _model(real, options)
        return None if model is None else measure(real, synthetic, formula=model[0], kind=model[1])

    return measured


def _plain(measure: Callable[[Source, Source], Score]) -> Measure:
    return lambda real, synthetic, _: measure(real, synthetic)


def _given(measure: Callable[..., Score]) -> Measure:
    return lambda real, synthetic, options: measure(real, synthetic, conditional_on=options.conditional_on)


def _lasso_mse(real: Source, synthetic: Source, options: Options) -> Score | None:
    if options.target is None or not is_ordered(real.codebook.column(options.target)):
        return None
    return lasso_mse.lasso_mse(real, synthetic, target=options.target)


def _lasso_auc(real: Source, synthetic: Source, options: Options) -> Score | None:
    if options.target is None:
        return None
    return lasso_auc.lasso_auc(real, synthetic, target=options.target, positive=options.positive)


def _classifier(real: Source, synthetic: Source, options: Options) -> Score | None:
    if options.target is None or options.holdout is None:
        return None
    return train_on_synthetic.train_on_synthetic(
        real, synthetic, holdout=options.holdout, target=options.target, positive=options.positive
    )


def _three_way(real: Source, synthetic: Source, options: Options) -> Score:
    return tvd_three_way.tvd_three_way(real, synthetic, tables=options.tables)


UTILITY: dict[str, Measure] = {
    tvd_one_way.METRIC.name: _plain(tvd_one_way.tvd_one_way),
    tvd_two_way.METRIC.name: _plain(tvd_two_way.tvd_two_way),
    tvd_three_way.METRIC.name: _three_way,
    joint_l1.METRIC.name: _plain(joint_l1.joint_l1_score),
    marginal_mae.METRIC.name: _plain(marginal_mae.marginal_mae),
    marginal_mse.METRIC.name: _plain(marginal_mse.marginal_mse),
    order_distance.METRIC.name: _plain(order_distance.order_distance),
    conditional_mae.METRIC.name: _given(conditional_mae.conditional_mae),
    conditional_mse.METRIC.name: _given(conditional_mse.conditional_mse),
    kendall_marginal.METRIC.name: _plain(kendall_marginal.kendall_marginal),
    spearman_marginal.METRIC.name: _plain(spearman_marginal.spearman_marginal),
    kendall_conditional.METRIC.name: _given(kendall_conditional.kendall_conditional),
    spearman_conditional.METRIC.name: _given(spearman_conditional.spearman_conditional),
    pmse.METRIC.name: _plain(pmse.pmse),
    mean_utility.METRIC.name: _plain(mean_utility.mean_utility),
    chi_square.METRIC.name: _plain(chi_square.chi_square_difference),
    information.METRIC.name: _plain(information.information),
    missing_ratio.METRIC.name: _plain(missing_ratio.missing_ratio),
    artificial_share.METRIC.name: _plain(artificial_share.artificial_share),
    coefficient_distance.METRIC.name: _regression(coefficient_distance.coefficient_distance),
    coefficient_utility.METRIC.name: _regression(coefficient_utility.coefficient_utility),
    interval_overlap.METRIC.name: _regression(interval_overlap.interval_overlap),
    lasso_mse.METRIC.name: _lasso_mse,
    lasso_auc.METRIC.name: _lasso_auc,
    train_on_synthetic.METRIC.name: _classifier,
}
"""Every metric of two tables by name, in the order of a report."""

METRICS: dict[str, Metric] = {
    module.METRIC.name: module.METRIC
    for module in (
        tvd_one_way,
        tvd_two_way,
        tvd_three_way,
        joint_l1,
        marginal_mae,
        marginal_mse,
        order_distance,
        conditional_mae,
        conditional_mse,
        kendall_marginal,
        spearman_marginal,
        kendall_conditional,
        spearman_conditional,
        pmse,
        mean_utility,
        chi_square,
        information,
        missing_ratio,
        artificial_share,
        coefficient_distance,
        coefficient_utility,
        interval_overlap,
        lasso_mse,
        lasso_auc,
        train_on_synthetic,
        gibbs,
        survey,
        weighted_means,
        detail_tvd,
    )
}
"""What each of them says; Gibbs diagnostics too, which need a chain, and those that need a weight or detailed codes."""


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
        scores += [survey.weighted_tvd(truth, copy), weighted_means.weighted_means(truth, copy)]
    if truth.codebook.details:
        scores.append(detail_tvd.detail_tvd(truth, copy))
    if report:
        report("utility", len(UTILITY), len(UTILITY))
    return scores


def utility_references(
    real: Source, synthetic: Source, *, conditional_on: str | None = None, tables: Sequence[Clique] | None = None
) -> dict[str, Reference]:
    """What a bootstrap and independent columns of the size of the synthetic table would score, by metric."""
    checks.check_same_columns(real, synthetic)
    checks.check_rows(real, called="real")
    rows = checks.check_rows(synthetic, called="synthetic")
    return reference_lines(real, rows=rows, conditional_on=conditional_on, three_way=tables)


def utility_models(
    real: Source, synthetic: Source, *, target: str | None = None, formula: str | None = None, kind: Kind | None = None
) -> Comparison | None:
    """The regression model that the scores are about, coefficient by coefficient, for a plot."""
    model = _model(real, Options(target=target, formula=formula, kind=kind))
    return None if model is None else compare_models(real, synthetic, formula=model[0], kind=model[1])


def _refuse(real: Source, synthetic: Source, options: Options) -> None:
    checks.check_same_columns(real, synthetic)
    checks.check_rows(real, called="real")
    checks.check_rows(synthetic, called="synthetic")
    if options.conditional_on is not None:
        checks.check_column(real, options.conditional_on, called="conditional_on")
    if options.holdout is not None:
        from understudy.evaluate.holdout import check_holdout

        checks.check_same_columns(real, options.holdout, called=("real", "hold-out"))
        checks.check_rows(options.holdout, called="hold-out")
        check_holdout(real, options.holdout)
    if options.target is not None:
        event_of(real, options.target, positive=options.positive)
