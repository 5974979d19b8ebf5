"""Figures of models: coefficients with intervals, classifiers, Lasso paths, chains."""

from collections.abc import Mapping
from typing import Any

from understudy.evaluate.report.facts import plain_formula, plain_term
from understudy.evaluate.report.glossary import metric_named
from understudy.pages.drawings import Difference, Dot, Series, difference_bars, interval_axis, xy_chart
from understudy.pages.figures import Figure
from understudy.pages.numbers import number

_PATHS = {"lasso_auc": "area under the ROC curve", "lasso_mse": "mean squared error"}
_REACH = (-2.0, 4.0)
"""Multiples beyond these are drawn as arrowheads: they say only that the real coefficient is close to 0."""


def is_model(metric: str) -> bool:
    """Whether a metric belongs to the section about models."""
    known = metric_named(metric)
    return known is not None and known.of_models


def model_figures(doc: Mapping[str, Any]) -> list[Figure]:
    """Coefficients, and classifiers tested on people held out."""
    figures = [
        _coefficients(k, model, doc["honest"].get(model["formula"], ())) for k, model in enumerate(doc["models"])
    ]
    tested = [item for item in doc["utility"] if item["metric"] == "train_on_synthetic" and item["value"] is not None]
    return figures + [_classifier(item) for item in tested]


def path_figures(doc: Mapping[str, Any]) -> list[Figure]:
    """Lasso paths, for the appendix."""
    return [_path(item) for item in doc["utility"] if item["metric"] in _PATHS and item["value"] is not None]


def _coefficients(place: int, model: Mapping[str, Any], honest: Any) -> Figure:
    """One line per coefficient; coefficients have no unit in common, so each is a multiple of its own real estimate."""
    told = {item["name"]: item for item in honest}
    lines, rows, covered, turned = [], [], 0, 0
    for k, name in enumerate(model["names"]):
        unit = model["real"]["estimates"][k] or 1.0
        sides = [{key: model[which][key][k] for key in ("estimates", "low", "high")} for which in ("real", "synthetic")]
        dots = [_dot(side["estimates"], side["low"], side["high"], unit, series) for series, side in enumerate(sides)]
        own = told.get(name)
        if own is not None:
            dots.append(_dot(own["estimate"], own["low"], own["high"], unit, 2))
            covered += own["low"] <= model["real"]["estimates"][k] <= own["high"]
        turned += sides[0]["estimates"] * sides[1]["estimates"] < 0
        lines.append((plain_term(name), dots))
        cells = [text for side in sides for text in (number(side["estimates"]), _span(side["low"], side["high"]))]
        extra = (
            [] if not told else ["–", "–"] if own is None else [number(own["estimate"]), _span(own["low"], own["high"])]
        )
        rows.append((plain_term(name), *cells, *extra))
    sentence = f"{turned} of {len(lines)} signs turned."
    series, header = (
        ["confidential", "synthetic rows"],
        ["coefficient", "confidential", "95 %", "synthetic rows", "95 %"],
    )
    if told:
        series.append("measurements of the release")
        header += ["measurements", "95 %"]
        sentence += (
            f" {covered} of {len(told)} intervals from the measurements of the release (understudy infer), which "
            "cover its noise, hold the confidential estimate; those of the rows do not cover it."
        )
    title = f"{plain_formula(model['formula'])} ({model['kind']})"
    values = [dot.value for _, dots in lines for dot in dots if _REACH[0] <= dot.value <= _REACH[1]]
    return Figure(
        key=f"coefficients-{place}",
        title=title,
        drawing=interval_axis(
            lines,
            title=title,
            spoken=f"Coefficients with 95 % intervals. {sentence}",
            series=series,
            span=(min([*values, 0.0]) - 0.2, max([*values, 1.5]) + 0.2),
            limit=1.0,
            name="multiple of the confidential estimate",
        ),
        caption=f"1 (dashed): the same coefficient; 0: the effect is lost; below 0: its sign is turned. {sentence} "
        f"{model['note']}".strip(),
        header=header,
        rows=rows,
    )


def _dot(value: float, low: float, high: float, unit: float, series: int) -> Dot:
    ends = sorted((low / unit, high / unit))
    return Dot(value=value / unit, low=ends[0], high=ends[1], series=series)


def _span(low: float, high: float) -> str:
    return f"{number(low)} to {number(high)}"


def _classifier(item: Mapping[str, Any]) -> Figure:
    parts = item["breakdown"]
    both = {
        measure: tuple(parts[f"{measure}, trained on {which} rows"] for which in ("real", "synthetic"))
        for measure in ("auc", "accuracy")
    }
    common = parts.get("accuracy of the more common answer")
    sentence = (
        f"Area under the curve {number(both['auc'][1])} when trained on synthetic rows, {number(both['auc'][0])} on "
        f"real ones; accuracy {number(both['accuracy'][1])} and {number(both['accuracy'][0])}, {number(common)} for "
        "always giving the more common answer."
    )
    words = {"auc": "area under the curve", "accuracy": "accuracy"}
    bars = [Difference(label=words[measure], value=b - a) for measure, (a, b) in both.items()]
    title = "A classifier tested on records held out"
    return Figure(
        key="classifier",
        title=title,
        drawing=difference_bars(bars, title=title, spoken=sentence, reach=0.1, show=lambda value: f"{value:+.3f}"),
        caption=sentence,
        header=("measure", "value"),
        rows=[(name, number(value)) for name, value in parts.items()],
    )


def _path(item: Mapping[str, Any]) -> Figure:
    """Both curves of a Lasso path."""
    curves: dict[str, list[tuple[float, float]]] = {"real": [], "synthetic": []}
    for name, value in item["breakdown"].items():
        penalty, _, which = name.removeprefix("penalty ").partition(": ")
        if which in curves and value is not None:
            curves[which].append((float(penalty), value))
    what = _PATHS[item["metric"]]
    title = f"Lasso path: {what}"
    return Figure(
        key=item["metric"],
        title=title,
        drawing=xy_chart(
            [
                Series(name=f"trained on {which} rows", x=[x for x, _ in own], y=[y for _, y in own])
                for which, own in curves.items()
            ],
            title=title,
            spoken=f"{what} on real rows along the Lasso path, of models trained on each table. {item['note']}",
            names=("penalty", what),
            log=(True, False),
        ),
        caption=f"Tested on the confidential table. {item['note']}",
        header=("point", "value"),
        rows=[(name, number(value)) for name, value in item["breakdown"].items()],
    )


def chain_figures(doc: Mapping[str, Any]) -> list[Figure]:
    """How the rows of a block drift away from their start (pegs.txt figure 5)."""
    chain = doc["chain"]
    if chain is None:
        return []
    places = [float(place) for place in range(1, len(chain["distance"]) + 1)]
    sentence = (
        f"Distance {number(chain['distance'][0])} in the first row of a block, {number(chain['distance'][-1])} in "
        f"the last; chance alone would give {number(chain['bootstrap'])}."
    )
    return [
        Figure(
            key="chain-drift",
            title="Rows by their place in a block",
            drawing=xy_chart(
                [Series(name="this table", x=places, y=chain["distance"])],
                title="Rows by their place in a block",
                spoken=f"Mean total variation distance of all columns by place in the block. {sentence}",
                names=("place in the block", "total variation distance"),
                levels=[("chance alone", chain["bootstrap"])],
                from_zero=True,
            ),
            caption=sentence,
            header=("place in the block, or column", "distance", "correlation of neighbours"),
            rows=[
                *((f"row {k + 1}", number(value), "") for k, value in enumerate(chain["distance"])),
                *((name, "", number(value)) for name, value in chain["lag_one"].items()),
            ],
        )
    ]
