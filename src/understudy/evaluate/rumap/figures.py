"""Risk-utility maps as figures: a measure against epsilon, one line per method, with error bars over the repeats."""

import math
import re
import statistics
from collections.abc import Mapping, Sequence
from typing import Any

from understudy.evaluate.report.glossary import metric_named, title_of
from understudy.evaluate.report.models import REACH
from understudy.pages.figures import Figure, axis, figure, level_line, scatter, style, text, whiskers
from understudy.pages.numbers import number

_MARGIN = {"l": 60, "r": 12, "t": 30, "b": 50}
_LINES = {"bootstrap": "dot", "independent columns": "dash", "marginal": "dash"}
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
    measures = [name for name in doc["measures"] if not name.startswith("coefficient: ") and not name.endswith(")")]
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
    data: list[dict[str, Any]] = []
    rows: list[tuple[str, ...]] = []
    ends = [min(doc["epsilons"]), max(doc["epsilons"])]
    for place, method in enumerate(doc["methods"]):
        means = points(doc, method, measure)
        rows += [
            (method, "none" if epsilon is None else number(epsilon), number(mean), number(spread), str(runs))
            for epsilon, mean, spread, runs in means
        ]
        if means:
            data.append(_trace(place, method, means, ends))
    data += [_level(name, value, ends) for name, value in _levels(doc, measure).items()]
    rows += [(_SAID[name], "", number(value), "", "") for name, value in _levels(doc, measure).items()]
    best = _best(doc, measure)
    return figure(
        f"map-{number_of}",
        title,
        best + _origin(measure),
        data,
        spoken=f"{title} against epsilon, one line per method. {best}",
        header=("method", "epsilon", "mean", "standard deviation", "runs"),
        rows=rows,
        height=340,
        xaxis=_epsilon_axis(doc["epsilons"]),
        yaxis=axis(_axis(measure), rangemode="tozero" if "error" in _axis(measure) else "normal"),
        margin=_MARGIN,
    )


def _epsilon_axis(epsilons: Sequence[float]) -> dict[str, Any]:
    ticks = [f"{value:g}" for value in epsilons]
    return axis("epsilon", type="log", tickvals=epsilons, ticktext=ticks)


def _trace(place: int, method: str, means: Sequence[tuple[Any, ...]], ends: Sequence[float]) -> dict[str, Any]:
    colour, dash, symbol = style(place)
    if means[0][0] is None:  # a baseline without an epsilon
        return {**_level(method, means[0][1], ends), "line": {"color": colour, "dash": dash, "width": 1.5}}
    return scatter(
        method,
        [epsilon for epsilon, *_ in means],
        [mean for _, mean, *_ in means],
        colour=colour,
        dash=dash,
        symbol=symbol,
        error_y=whiskers([spread for *_, spread, _ in means], width=3),
        hovertemplate="epsilon %{x}: %{y:.4g}<extra>%{fullData.name}</extra>",
    )


def _level(name: str, value: float, ends: Sequence[float]) -> dict[str, Any]:
    wide = list(ends) if ends[0] < ends[1] else [ends[0] / 1.5, ends[0] * 1.5]
    hover = "%{y:.4g}<extra>%{fullData.name}</extra>"
    return level_line(_SAID.get(name, name), wide, value, dash=_LINES.get(name, "dot"), hovertemplate=hover)


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
    return [figure for figure in figures if figure.data]


def _multiples(key: str, doc: Mapping[str, Any], formula: str, epsilon: float) -> Figure:
    start = f"coefficient: {formula}: "
    real = {name.removeprefix(start): value for name, value in doc["coefficients"].items() if name.startswith(start)}
    data, rows = [], []
    for place, method in enumerate(doc["methods"]):
        colour, _, symbol = style(place)
        values: list[float | None] = []
        spreads: list[float | None] = []
        for term, unit in real.items():
            at = [point for point in points(doc, method, start + term) if point[0] == epsilon]
            values.append(at[0][1] / unit if at and unit else None)
            spreads.append(at[0][2] / abs(unit) if at and unit else None)
        if any(value is not None for value in values):
            terms = [text(_plain(term)) for term in real]
            spread = whiskers(spreads)
            data.append(scatter(method, values, terms, colour=colour, symbol=symbol, size=9, error_x=spread))
            rows += [(method, term, number(value)) for term, value in zip(real, values, strict=True)]
    inside, remark = _within(data)
    return figure(
        key,
        f"{formula}, epsilon {number(epsilon)}",
        f"Multiples of the coefficient of the table itself: 1 is the same, 0 means lost.{remark} (As PeGS figure 11.)",
        data,
        spoken=f"Coefficients of {formula} at epsilon {number(epsilon)} as multiples of the real ones.",
        header=("method", "coefficient", "multiple"),
        rows=rows,
        height=130 + 24 * max(len(real), 4),
        xaxis=axis("multiple of the real coefficient", zeroline=True, range=inside),
        yaxis=axis(type="category", autorange="reversed"),
        margin=_MARGIN,
    )


def _plain(term: str) -> str:
    """A term of a model as a person would say it.

    >>> _plain("pay[T.self pay]"), _plain("age")
    ('pay = self pay', 'age')
    """
    return re.sub(r"\[T\.(.*?)\](?=:|$)", r" = \1", term)


def _within(data: Sequence[Mapping[str, Any]]) -> tuple[list[float], str]:
    """Where the axis ends, and how many points lie beyond: they say only that the real coefficient is close to 0."""
    shown = [x for trace in data for x in trace["x"] if x is not None]
    near = [x for x in shown if REACH[0] <= x <= REACH[1]]
    beyond = len(shown) - len(near)
    remark = f" {beyond} of {len(shown)} points lie beyond the ends of the axis; the table has them." if beyond else ""
    return [min([*near, 0.0]) - 0.2, max([*near, 1.0]) + 0.2], remark


def _middle(epsilons: Sequence[float]) -> float:
    """The one nearest to 10 on the scale of the axis, as in the paper."""
    return min(epsilons, key=lambda value: abs(math.log10(value) - 1))


def price_figure(doc: Mapping[str, Any]) -> Figure:
    """What the epsilon on the axes costs for the whole file."""
    data, rows = [], []
    for place, method in enumerate(doc["methods"]):
        totals = {run["epsilon"]: run["total_epsilon"] for run in doc["runs"] if run["method"] == method}
        known = sorted((e, t) for e, t in totals.items() if e is not None and t is not None)
        rows += [(method, doc["meaning"][method], number(e), number(t)) for e, t in known]
        if known:
            colour, dash, symbol = style(place)
            data.append(
                scatter(
                    f"{method} ({doc['meaning'][method]})",
                    [e for e, _ in known],
                    [t for _, t in known],
                    colour=colour,
                    dash=dash,
                    symbol=symbol,
                    hovertemplate="epsilon %{x} costs %{y:.4g}<extra>%{fullData.name}</extra>",
                )
            )
    meanings = "; ".join(f"{method}: {doc['meaning'][method]}" for method in doc["methods"])
    return figure(
        "price",
        "What epsilon on these maps costs for the whole file",
        f"Meaning of epsilon, by method: {meanings}. "
        "The vertical axis is the promise that a published file would carry.",
        data,
        spoken=f"Whole-file epsilon against the epsilon of the maps. {meanings}.",
        header=("method", "meaning", "epsilon", "whole-file epsilon"),
        rows=rows,
        wide=True,
        height=340,
        xaxis=_epsilon_axis(doc["epsilons"]),
        yaxis=axis("whole-file epsilon", type="log", dtick=1),
        margin=_MARGIN,
    )
