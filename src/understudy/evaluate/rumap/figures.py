"""Risk-utility maps as figures: a measure against epsilon, one line per method, with error bars over the repeats."""

import math
import statistics
from collections.abc import Mapping, Sequence
from typing import Any

from understudy.evaluate.report.facts import plain_term
from understudy.evaluate.report.glossary import metric_named, title_of
from understudy.evaluate.rumap.aside import GAIN
from understudy.pages.drawings import Dot, Series, interval_axis, xy_chart
from understudy.pages.figures import Figure
from understudy.pages.numbers import number

_REACH = (-2.0, 4.0)
"""Multiples beyond these are not shown: they say only that the real coefficient is close to 0."""
_SAID = {"marginal": "shares alone", "bootstrap": "bootstrap", "independent columns": "independent columns"}
_FIGURES = {
    "marginal": "6",
    "conditional": "7",
    "kendall_marginal": "8",
    "spearman_marginal": "8",
    "kendall_conditional": "9",
    "spearman_conditional": "9",
    "coefficient_distance": "10",
    "mode_attack": "12",
    "mean_attack": "12",
}


def map_figures(doc: Mapping[str, Any]) -> list[Figure]:
    """One figure per measure, then the coefficients."""
    others = ("coefficient: ", GAIN)  # drawn by other figures
    measures = [name for name in doc["measures"] if not name.startswith(others) and not name.endswith(")")]
    figures = [_map(k, doc, name) for k, name in enumerate(measures)]
    return figures + _coefficients(doc)


def points(doc: Mapping[str, Any], method: str, measure: str) -> list[tuple[float | None, float, float, int]]:
    """(epsilon, mean, standard deviation, runs) of one method."""
    values_at: dict[float | None, list[float]] = {}
    for run in doc["runs"]:
        value = run["measures"].get(measure)
        if run["method"] == method and value is not None:
            values_at.setdefault(run["epsilon"], []).append(value)
    return [
        (epsilon, statistics.fmean(values), statistics.stdev(values) if len(values) > 1 else 0.0, len(values))
        for epsilon, values in sorted(values_at.items(), key=lambda item: item[0] or 0.0)
    ]


def _map(number_of: int, doc: Mapping[str, Any], measure: str) -> Figure:
    title = _title(measure)
    series: list[Series] = []
    rows: list[tuple[str, ...]] = []
    levels = [(_SAID[name], value) for name, value in _levels(doc, measure).items()]
    for place, method in enumerate(doc["methods"]):
        means = points(doc, method, measure)
        rows += [
            (method, "none" if epsilon is None else number(epsilon), number(mean), number(spread), str(runs))
            for epsilon, mean, spread, runs in means
        ]
        if means and means[0][0] is None:  # a baseline without an epsilon
            levels.append((method, means[0][1]))
        elif means:
            x, y, spread = ([float(point[k] or 0) for point in means] for k in range(3))
            series.append(Series(name=method, x=x, y=y, spread=spread, look=place))
    rows += [(name, "", number(value), "", "") for name, value in levels if name in _SAID.values()]
    best, axis = _best(doc, measure), _axis(measure)
    return Figure(
        key=f"map-{number_of}",
        title=title,
        drawing=xy_chart(
            series,
            title=title,
            spoken=f"{title} against epsilon, one line per method. {best}",
            names=("epsilon", axis),
            log=(True, False),
            ticks=(_epsilons(doc), None),
            levels=levels,
            from_zero="error" in axis,
        ),
        caption=best + _origin(measure),
        header=("method", "epsilon", "mean", "standard deviation", "runs"),
        rows=rows,
    )


def _epsilons(doc: Mapping[str, Any]) -> dict[float, str]:
    """At most six of the epsilons, as ticks of an axis."""
    values = doc["epsilons"]
    return {value: number(value) for value in values[:: max(1, math.ceil(len(values) / 6))]}


def _levels(doc: Mapping[str, Any], measure: str) -> dict[str, float]:
    """Lines that do not depend on epsilon."""
    known: dict[str, float] = dict(doc["references"].get(measure, {}))
    for line in ("bootstrap", "marginal"):
        values = [run["measures"].get(f"{measure} ({line})") for run in doc["runs"]]
        present = [value for value in values if value is not None]
        if present:
            known[line] = statistics.fmean(present)
    return known


def _best(doc: Mapping[str, Any], measure: str) -> str:
    """Which method comes first at the ends of the range."""
    metric = metric_named(measure)
    upward = metric is not None and metric.goal == "maximize"
    ends = []
    for epsilon in dict.fromkeys((min(doc["epsilons"]), max(doc["epsilons"]))):
        at = {
            method: mean
            for method in doc["methods"]
            for where, mean, *_ in points(doc, method, measure)
            if where == epsilon
        }
        if at:
            best = (max if upward else min)(at, key=lambda method: at[method])
            ends.append(f"{best} at epsilon {number(epsilon)} ({number(at[best])})")
    word = "Highest" if upward else "Smallest"
    if len(doc["methods"]) == 1:
        word = "Ends of the line"  # nothing to compare with
    return f"{word}: {'; '.join(ends)}." if ends else "No run gave this measure."


def _title(measure: str) -> str:
    name, _, about = measure.partition(" | ")
    title = title_of(name)
    if about:
        title = title.replace("given another column", f"given {about}")
    return title


def _origin(measure: str) -> str:
    """The figure of the paper that this one repeats, for those who compare."""
    name = measure.partition(" | ")[0]
    figure = next((v for k, v in sorted(_FIGURES.items(), key=lambda item: -len(item[0])) if name.startswith(k)), "")
    return f" (As PeGS figure {figure}.)" if figure else ""


def _axis(measure: str) -> str:
    words = {
        "mae": "mean absolute error",
        "mse": "mean squared error",
        "kendall": "Kendall's tau",
        "spearman": "Spearman's rho",
        "coefficient": "relative error, summed",
        "mode": "share of wrong guesses",
        "mean_attack": "absolute error",
    }
    return next((label for key, label in words.items() if key in measure), measure)


def _coefficients(doc: Mapping[str, Any]) -> list[Figure]:
    """Coefficients as multiples of the real ones, at a small and at a large epsilon (figure 11)."""
    formulas = dict.fromkeys(name.split(": ")[1] for name in doc["coefficients"])
    chosen = dict.fromkeys((min(doc["epsilons"]), _middle(doc["epsilons"])))
    figures = [
        _multiples(f"coefficients-{k}-{place}", doc, formula, epsilon)
        for k, formula in enumerate(formulas)
        for place, epsilon in enumerate(chosen)
    ]
    return [figure for figure in figures if figure is not None]


def _multiples(key: str, doc: Mapping[str, Any], formula: str, epsilon: float) -> Figure | None:
    start = f"coefficient: {formula}: "
    real = {name.removeprefix(start): value for name, value in doc["coefficients"].items() if name.startswith(start)}
    dots: dict[str, list[Dot]] = {plain_term(term): [] for term in real}
    rows = []
    for place, method in enumerate(doc["methods"]):
        for term, unit in real.items():
            at = [point for point in points(doc, method, start + term) if point[0] == epsilon]
            if at and unit:
                middle, half = at[0][1] / unit, at[0][2] / abs(unit)
                dots[plain_term(term)].append(Dot(value=middle, low=middle - half, high=middle + half, series=place))
                rows.append((method, term, number(middle)))
    shown = [dot.value for own in dots.values() for dot in own]
    if not shown:
        return None
    ends, remark = _within(shown)
    title = f"{formula}, epsilon {number(epsilon)}"
    return Figure(
        key=key,
        title=title,
        drawing=interval_axis(
            list(dots.items()),
            title=title,
            spoken=f"Coefficients of {formula} at epsilon {number(epsilon)} as multiples of the real ones.",
            series=doc["methods"],
            span=ends,
            name="multiple of the real coefficient",
            limit=1.0,
        ),
        caption=f"Multiples of the coefficient of the table itself: 1 is the same, 0 means lost.{remark} (As PeGS "
        "figure 11.)",
        header=("method", "coefficient", "multiple"),
        rows=rows,
    )


def _within(shown: Sequence[float]) -> tuple[tuple[float, float], str]:
    """Where the axis ends, and how many points lie beyond: they say only that the real coefficient is close to 0."""
    near = [x for x in shown if _REACH[0] <= x <= _REACH[1]]
    beyond = len(shown) - len(near)
    remark = f" {beyond} of {len(shown)} points lie beyond the ends of the axis; the table has them." if beyond else ""
    return (min([*near, 0.0]) - 0.2, max([*near, 1.0]) + 0.2), remark


def _middle(epsilons: Sequence[float]) -> float:
    """The one nearest to 10 on the scale of the axis, as in the paper."""
    return min(epsilons, key=lambda value: abs(math.log10(value) - 1))


def price_figure(doc: Mapping[str, Any]) -> Figure:
    """What the epsilon on the axes costs for the whole file."""
    series, rows = [], []
    for place, method in enumerate(doc["methods"]):
        totals = {run["epsilon"]: run["total_epsilon"] for run in doc["runs"] if run["method"] == method}
        known = sorted((e, t) for e, t in totals.items() if e is not None and t is not None)
        rows += [(method, doc["meaning"][method], number(e), number(t)) for e, t in known]
        if known:
            name = f"{method} ({doc['meaning'][method]})"
            series.append(Series(name=name, x=[e for e, _ in known], y=[t for _, t in known], look=place))
    meanings = "; ".join(f"{method}: {doc['meaning'][method]}" for method in doc["methods"])
    title = "What epsilon on these maps costs for the whole file"
    return Figure(
        key="price",
        title=title,
        drawing=xy_chart(
            series,
            title=title,
            spoken=f"Whole-file epsilon against the epsilon of the maps. {meanings}.",
            names=("epsilon", "whole-file epsilon"),
            log=(True, True),
            ticks=(_epsilons(doc), None),
        ),
        caption=f"Meaning of epsilon, by method: {meanings}. The vertical axis is the promise that a published file "
        "would carry.",
        header=("method", "meaning", "epsilon", "whole-file epsilon"),
        rows=rows,
        wide=True,
    )
