"""Regression models by formula, fitted to both tables with statsmodels (pegs.txt section 4.3, dissertation 2.4).

A model sees the distinct records of the columns that it names, weighted by how often they occur; estimates, standard
errors and intervals are those of the rows themselves. Numbers stand at the middle of their bins, ordinal levels at
their rank; records with a missing value among the named columns are left out, as statistical software does.
"""

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from understudy.errors import DataError
from understudy.evaluate.checks import check_comparable
from understudy.evaluate.formulas import estimable, first_line, left_side, mentioned_in, right_side, sides_of
from understudy.evaluate.metric import Metric, Score
from understudy.evaluate.opened import open_grids
from understudy.evaluate.risk.intervals import Z95
from understudy.evaluate.utility.measure import Kind, measures
from understudy.evaluate.utility.tables import grids, tables_of_width
from understudy.evaluate.values import Event, event_of, is_ordered, numbers_of, quoted, records, weights_by_code
from understudy.extras import need
from understudy.mechanisms.selection_scores import mutual_information
from understudy.parameters import OneOf
from understudy.sources.base import Source

Floats = npt.NDArray[np.float64]

COEFFICIENT_DISTANCE = Metric(
    name="coefficient_distance",
    of_models=True,
    title="Regression coefficients (relative distance)",
    highest=float("inf"),
    says="How far the coefficients of a regression model lie from the real ones, relative to them and summed.",
)
COEFFICIENT_UTILITY = Metric(
    name="coefficient_utility",
    of_models=True,
    title="Regression coefficients (closeness)",
    goal="maximize",
    says="Closeness of the coefficients of a regression model in their own units: 1 if equal, 0 if far.",
)
INTERVAL_OVERLAP = Metric(
    name="interval_overlap",
    of_models=True,
    title="Overlap of confidence intervals",
    goal="maximize",
    says="How much of the two 95% confidence intervals of a coefficient is common, averaged over coefficients.",
)
_LEVEL = 0.95
_MOST_LEVELS = 12
"""Columns without an order and with more levels are not chosen unasked: each level costs a coefficient."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Coefficients:
    """One fitted model."""

    rows: int
    estimates: Floats
    low: Floats
    high: Floats
    """Ends of the 95% confidence intervals (normal reference)."""
    errors: Floats


@dataclass(frozen=True, kw_only=True, eq=False)
class Comparison:
    """One model fitted to both tables, coefficient by coefficient: what a coefficient plot draws."""

    formula: str
    kind: Kind
    names: tuple[str, ...]
    real: Coefficients
    synthetic: Coefficients
    note: str

    @property
    def sentence(self) -> str:
        """Which model it is, and what had to be left out."""
        return ". ".join(filter(None, [f"Model: {self.formula} ({self.kind})", self.note]))


def kind_of(formula: str) -> Kind:
    """A comparison at the left has two answers, and makes a logistic model."""
    return "logistic" if any(sign in formula.partition("~")[0] for sign in "<>=") else "linear"


def default_formula(real: Source, target: str, *, most: int = 4) -> tuple[str, Kind]:
    """A model of the target on the columns that say most about it in the real table, and its kind."""
    event = event_of(real, target)
    book = real.codebook
    column = book.column(target)
    pairs = tables_of_width(book, 2)
    near = [name for name in book.names if (name, target) in pairs or (target, name) in pairs]
    others = [name for name in near if is_ordered(book.column(name)) or book.column(name).size <= _MOST_LEVELS]
    tables = dict(zip(others, open_grids(real, [(name, target) for name in others]), strict=True))
    # records without a value of a column are left out: they must not be all that give one of the answers
    left = [name for name in others if _both(tables[name][: book.column(name).proper_levels].sum(axis=0), event)]
    shared = {name: mutual_information(tables[name]) for name in left}
    picked = sorted(left, key=lambda name: (-shared[name], name))[:most]
    if not picked:
        raise DataError(
            f"no column is left to explain the target {target!r}; a model needs one with an order or at most 12 levels."
        )
    linear = is_ordered(column) and column.proper_levels > 2
    response = quoted(target) if linear else event.says
    return f"{response} ~ {' + '.join(quoted(name) for name in sorted(picked))}", "linear" if linear else "logistic"


def _both(counts: npt.NDArray[np.int64], event: Event) -> bool:
    """Whether records with these codes of the target give both answers."""
    return bool(counts[event.yes].any() and counts[event.asked & ~event.yes].any())


def compare_models(real: Source, synthetic: Source, *, formula: str, kind: Kind) -> Comparison:
    """Fit ``formula`` to both tables.

    The left side is a column or, for a logistic model, a comparison: ``charge > 25000 ~ age + sev + cat + los``. The
    right side is patsy's, with some of NumPy as np (see ``formulas``); levels must occur in both tables to have a
    coefficient. Where the codebook names a survey weight, records count by it and the errors are those of the sandwich
    [Binder83].
    """
    check_comparable(real, synthetic)
    OneOf(("logistic", "linear")).check("kind", kind)
    left, right = sides_of(formula, real.codebook.names)
    used = mentioned_in(real.codebook, formula)
    shared = {name: (a > 0) & (b > 0) for (name,), a, b in grids(real, synthetic, [(name,) for name in used])}
    survey = weights_by_code(real.codebook)
    frames = [_frame(source, used, shared, survey) for source in (real, synthetic)]
    notes = []
    fits = []
    for (frame, weights, dropped, each), called in zip(frames, ("real", "synthetic"), strict=True):
        if dropped:
            notes.append(f"{dropped:,} {called} rows left out (a missing value, or a level that only one table has)")
        response = left_side(frame, left, kind=kind, called=called, formula=formula)
        fits.append(_fit(frame, weights, response, right, kind=kind, called=called, notes=notes, each=each))
    names = [name for name in fits[0] if name in fits[1]]
    if not names:
        raise DataError(f"the model {formula!r} has no coefficient that both tables can estimate; use other columns.")
    sides = [
        Coefficients(
            estimates=np.array([fit[name][0] for name in names]),
            errors=np.array([fit[name][1] for name in names]),
            low=np.array([fit[name][2] for name in names]),
            high=np.array([fit[name][3] for name in names]),
            rows=int(frame[1].sum()),
        )
        for fit, frame in zip(fits, frames, strict=True)
    ]
    return Comparison(
        formula=formula, kind=kind, names=tuple(names), real=sides[0], synthetic=sides[1], note="; ".join(notes)
    )


def _frame(
    source: Source,
    used: tuple[str, ...],
    shared: dict[str, npt.NDArray[np.bool_]],
    survey: tuple[str, Floats] | None = None,
) -> tuple[Any, Floats, int, Floats | None]:
    """Named columns as values, how often each record occurs, how many rows were left out, and survey weights."""
    need("pandas", "patsy", "statsmodels", extra="report", what="the comparison of regressions")
    import pandas as pd

    table = records(source, used if survey is None or survey[0] in used else (*used, survey[0]))
    kept = np.ones(len(table.weights), dtype=np.bool_)
    for name in used:
        column, codes = source.codebook.column(name), table.codes_of(name)
        usable = np.ones(column.size, dtype=np.bool_) if is_ordered(column) else shared[name].copy()
        usable[column.proper_levels :] = False  # missing, or special codes that are no number
        kept &= usable[codes]
    chosen = table.where(kept)
    data: dict[str, Any] = {}
    for name in used:
        column, codes = source.codebook.column(name), chosen.codes_of(name)
        if is_ordered(column):
            data[name] = numbers_of(column)[codes]
        else:
            levels = [label for label, both in zip(column.labels, shared[name], strict=True) if both]
            data[name] = pd.Categorical(np.array(column.labels, dtype=object)[codes], categories=levels)
    each = None if survey is None else survey[1][chosen.codes_of(survey[0])]
    return pd.DataFrame(data), chosen.weights, int(table.rows - chosen.rows), each


def _fit(
    frame: Any,
    weights: Floats,
    response: Floats,
    right: str,
    *,
    kind: Kind,
    called: str,
    notes: list[str],
    each: Floats | None = None,
) -> dict[str, tuple[float, float, float, float]]:
    need("statsmodels", "patsy", extra="report", what="the comparison of regressions")
    import statsmodels.api as sm

    design = right_side(frame, right)
    matrix = np.asarray(design, dtype=np.float64)
    free = estimable(matrix)
    if not free.all():
        lost = [str(name) for name, ok in zip(design.columns, free, strict=True) if not ok]
        notes.append(f"the {called} table cannot estimate {', '.join(lost)}")
    family = sm.families.Binomial() if kind == "logistic" else sm.families.Gaussian()
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        counted = weights if each is None else weights * each
        fitted = sm.GLM(response, matrix[:, free], family=family, freq_weights=counted).fit()
        errors, ends = fitted.bse, fitted.conf_int(alpha=1 - _LEVEL)
        if each is not None:
            errors = _sandwich(matrix[:, free], response, fitted.mu, weights, each, kind)
            ends = np.column_stack([fitted.params - Z95 * errors, fitted.params + Z95 * errors])
    notes.extend(sorted({f"{called}: {first_line(word.message)}" for word in heard}))
    names = [str(name) for name, ok in zip(design.columns, free, strict=True) if ok]
    values = zip(names, fitted.params, errors, ends[:, 0], ends[:, 1], strict=True)
    return {name: (float(a), float(b), float(c), float(d)) for name, a, b, c, d in values}


def _sandwich(matrix: Floats, response: Floats, mean: Floats, counts: Floats, each: Floats, kind: Kind) -> Floats:
    """Standard errors of weighted estimating equations: A^-1 B A^-1 with A = sum w v x x', B = sum w^2 r^2 x x'."""
    slope = mean * (1 - mean) if kind == "logistic" else np.ones_like(mean)
    bread = np.linalg.pinv((matrix * (counts * each * slope)[:, None]).T @ matrix)
    meat = (matrix * (counts * each**2 * (response - mean) ** 2)[:, None]).T @ matrix
    errors: Floats = np.sqrt(np.maximum(np.diag(bread @ meat @ bread), 0.0))
    return errors


def distance_of_coefficients(fitted: Comparison) -> Score:
    """Sum of |(synthetic - real) / real| (pegs.txt section 4.3); a real coefficient of 0 has no relative distance."""
    real, synthetic = fitted.real.estimates, fitted.synthetic.estimates
    usable = real != 0
    terms = np.abs(synthetic[usable] - real[usable]) / np.abs(real[usable])
    names = [name for name, ok in zip(fitted.names, usable, strict=True) if ok]
    parts = dict(zip(names, terms.tolist(), strict=True))
    return COEFFICIENT_DISTANCE.score(float(terms.sum()), parts, note=fitted.sentence)


def utility_of_coefficients(fitted: Comparison) -> Score:
    """exp(-||real beta - synthetic beta||^2) (dissertation.txt section 2.4); the breakdown has the differences."""
    gaps = fitted.synthetic.estimates - fitted.real.estimates
    parts = dict(zip(fitted.names, gaps.tolist(), strict=True))
    return COEFFICIENT_UTILITY.score(float(np.exp(-(gaps**2).sum())), parts, note=fitted.sentence)


def overlap_of_intervals(fitted: Comparison) -> Score:
    """Mean overlap of the intervals of the coefficients (Karr, Kohnen, Oganian, Reiter and Sanil 2006).

    0 where two intervals are disjoint, which other software may show as negative.
    """
    a, b = fitted.real, fitted.synthetic
    common = np.maximum(np.minimum(a.high, b.high) - np.maximum(a.low, b.low), 0.0)
    widths = (a.high - a.low, b.high - b.low)
    with np.errstate(divide="ignore", invalid="ignore"):
        shares = sum(np.where(width > 0, common / width, np.nan) for width in widths) / 2
    same = (a.low == b.low) & (a.high == b.high)
    shares = np.where(same, 1.0, np.nan_to_num(shares, nan=0.0))  # an exact fit has an interval without width
    parts = dict(zip(fitted.names, shares.tolist(), strict=True))
    return INTERVAL_OVERLAP.score(float(shares.mean()), parts, note=fitted.sentence)


def model_of(
    real: Source, synthetic: Source, *, target: str | None = None, formula: str | None = None, kind: Kind | None = None
) -> Comparison | None:
    """The model that was asked for, or one of the target; None without either."""
    if formula is not None:
        return compare_models(real, synthetic, formula=formula, kind=kind or kind_of(formula))
    if target is None:
        return None
    formula, kind = default_formula(real, target)
    return compare_models(real, synthetic, formula=formula, kind=kind)


def _of_model(measure: Callable[[Comparison], Score]) -> Callable[..., Score | None]:
    def measured(
        real: Source, synthetic: Source, target: str | None = None, formula: str | None = None, kind: Kind | None = None
    ) -> Score | None:
        fitted = model_of(real, synthetic, target=target, formula=formula, kind=kind)
        return None if fitted is None else measure(fitted)

    return measured


_ASKED = ("target", "formula", "kind")
coefficient_distance = measures(COEFFICIENT_DISTANCE, *_ASKED, place=20)(_of_model(distance_of_coefficients))
coefficient_utility = measures(COEFFICIENT_UTILITY, *_ASKED, place=21)(_of_model(utility_of_coefficients))
interval_overlap = measures(INTERVAL_OVERLAP, *_ASKED, place=22)(_of_model(overlap_of_intervals))
