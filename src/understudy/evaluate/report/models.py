"""Figures of models and attacks."""

from collections.abc import Mapping, Sequence
from typing import Any

from understudy.evaluate.report.glossary import metric_named, title_of
from understudy.pages.charts import DEEP_BLUE, DEEP_ORANGE, HATCHED, INK, REAL
from understudy.pages.figures import Figure, axis, bars, figure, level_line, listed_axis, scatter, text, whiskers
from understudy.pages.numbers import number

_PATHS = {"lasso_auc": "area under the ROC curve", "lasso_mse": "mean squared error"}
REACH = (-2.0, 4.0)
"""Multiples beyond these are not shown: they say only that the real coefficient is close to 0."""
_MARKS = {
    "synthetic": ("diamond", DEEP_BLUE, "this table"),
    "bootstrap": ("line-ns", INK, "bootstrap"),
    "marginal": ("x-thin", "#555555", "shares alone"),
    "control": ("circle-open", DEEP_ORANGE, "people held out"),
    "chance": ("triangle-up-open", "#555555", "a coin"),
}


def is_model(metric: str) -> bool:
    """Whether a metric belongs to the section about models."""
    known = metric_named(metric)
    return known is not None and known.of_models


def model_figures(doc: Mapping[str, Any]) -> list[Figure]:
    """Coefficients, classifiers and Lasso paths."""
    figures = [_coefficients(k, model) for k, model in enumerate(doc["models"])]
    for item in doc["utility"]:
        if item["metric"] == "train_on_synthetic" and item["value"] is not None:
            figures.append(_classifier(item))
        elif item["metric"] in _PATHS and item["value"] is not None:
            figures.append(_path(item))
    return figures


def _coefficients(number_of: int, model: Mapping[str, Any]) -> Figure:
    """Estimates with their 95 % intervals, one line per coefficient and table, as multiples of the real estimate."""
    names = model["names"]
    # coefficients have no unit in common, so each is shown as a multiple of its own real estimate
    unit = [value or 1.0 for value in model["real"]["estimates"]]
    data = []
    outside = 0
    for which, colour, symbol, shift in (
        ("real", REAL, "circle", -0.16),
        ("synthetic", DEEP_ORANGE, "diamond-open", 0.16),
    ):
        side = model[which]
        ends = [sorted((low / u, high / u)) for low, high, u in zip(side["low"], side["high"], unit, strict=True)]
        middle = [value / u for value, u in zip(side["estimates"], unit, strict=True)]
        outside += sum(not REACH[0] <= value <= REACH[1] for value in middle)
        numbers = zip(names, side["estimates"], side["low"], side["high"], strict=True)
        data.append(
            scatter(
                "confidential" if which == "real" else "synthetic",
                middle,
                [k + shift for k in range(len(names))],
                colour=colour,
                symbol=symbol,
                size=9,
                edge=2,
                error_x=whiskers(
                    [end[1] - value for end, value in zip(ends, middle, strict=True)],
                    [value - end[0] for end, value in zip(ends, middle, strict=True)],
                ),
                customdata=[[text(name), *map(number, estimate)] for name, *estimate in numbers],
                hovertemplate="%{customdata[0]}: %{customdata[1]} (%{customdata[2]} to %{customdata[3]})"
                "<extra>%{fullData.name}</extra>",
            )
        )
    rows = [
        (
            name,
            number(model["real"]["estimates"][k]),
            f"{number(model['real']['low'][k])} to {number(model['real']['high'][k])}",
            number(model["synthetic"]["estimates"][k]),
            f"{number(model['synthetic']['low'][k])} to {number(model['synthetic']['high'][k])}",
        )
        for k, name in enumerate(names)
    ]
    meet = sum(
        model["real"]["low"][k] <= model["synthetic"]["high"][k]
        and model["synthetic"]["low"][k] <= model["real"]["high"][k]
        for k in range(len(names))
    )
    sentence = f"{meet} of {len(names)} pairs of intervals overlap."
    if outside:
        sentence += f" {outside} synthetic estimate{'s lie' if outside > 1 else ' lies'} beyond the ends of the axis."
    return figure(
        f"coefficients-{number_of}",
        f"{model['formula']} ({model['kind']})",
        f"{sentence} 1: the same coefficient; 0: the effect is lost; below 0: its sign is turned. "
        f"{model['note']}".strip(),
        data,
        spoken=f"Coefficients of a {model['kind']} model with 95 % intervals in both tables. {sentence}",
        header=("coefficient", "confidential", "95 % interval", "synthetic", "95 % interval"),
        rows=rows,
        wide=True,
        height=120 + 34 * len(names),
        xaxis=axis("multiple of the confidential estimate", zeroline=True, range=_axis(data)),
        yaxis=listed_axis(names, autorange="reversed", showgrid=True),
    )


def _axis(data: Sequence[Mapping[str, Any]]) -> list[float]:
    values = [x for trace in data for x in trace["x"] if REACH[0] <= x <= REACH[1]]
    return [min([*values, 0.0]) - 0.15, max([*values, 1.5]) + 0.15]


def _classifier(item: Mapping[str, Any]) -> Figure:
    parts = item["breakdown"]
    both = {
        which: [parts.get(f"{measure}, trained on {which} rows") for measure in ("auc", "accuracy")]
        for which in ("real", "synthetic")
    }
    common = parts.get("accuracy of the more common answer")
    sentence = (
        f"Area under the curve {number(both['synthetic'][0])} when trained on synthetic rows, "
        f"{number(both['real'][0])} on real ones; accuracy {number(both['synthetic'][1])} and "
        f"{number(both['real'][1])}, {number(common)} for always giving the more common answer."
    )
    data = [
        bars(
            f"trained on {name} rows",
            ["area under the ROC curve", "accuracy"],
            both[which],
            marker,
            "%{x}: %{y:.4f}",
            text=[number(value) for value in both[which]],
            textposition="outside",
            cliponaxis=False,
        )
        for which, name, marker in (("real", "confidential", {"color": REAL}), ("synthetic", "synthetic", HATCHED))
    ]
    return figure(
        "classifier",
        "A classifier tested on records held out",
        sentence,
        data,
        header=("measure", "value"),
        rows=[(name, number(value)) for name, value in parts.items()],
        barmode="group",
        height=320,
        yaxis=axis(range=[0, 1.08]),
        xaxis=axis(showgrid=False),
    )


def _path(item: Mapping[str, Any]) -> Figure:
    """Both curves of a Lasso path."""
    points: dict[str, list[tuple[float, float]]] = {"real": [], "synthetic": []}
    for name, value in item["breakdown"].items():
        penalty, _, which = name.removeprefix("penalty ").partition(": ")
        if which in points and value is not None:
            points[which].append((float(penalty), value))
    data = [
        scatter(
            f"trained on {name} rows",
            [x for x, _ in points[which]],
            [y for _, y in points[which]],
            colour=colour,
            dash=dash,
            symbol=symbol,
            hovertemplate="penalty %{x}: %{y:.4f}<extra>%{fullData.name}</extra>",
        )
        for which, name, colour, dash, symbol in (
            ("real", "confidential", REAL, "solid", "circle"),
            ("synthetic", "synthetic", DEEP_ORANGE, "dash", "diamond-open"),
        )
    ]
    what = _PATHS[item["metric"]]
    return figure(
        item["metric"],
        f"Lasso path: {what}",
        f"Tested on the confidential table. {item['note']}",
        data,
        spoken=f"{what} on real rows along the Lasso path, of models trained on each table. {item['note']}",
        header=("point", "value"),
        rows=[(name, number(value)) for name, value in item["breakdown"].items()],
        height=320,
        xaxis=axis("penalty", type="log", dtick=1, autorange="reversed", showgrid=False),
        yaxis=axis(what),
    )


def risk_figures(doc: Mapping[str, Any]) -> list[Figure]:
    """Rates beside what the same attack does elsewhere, and gains, which have people held out subtracted already."""
    known = [item for item in doc["risk"]["scores"] if item["value"] is not None and 0 <= item["value"] <= 1]
    rates = [item for item in known if "attack" not in item["breakdown"]]
    gains = [item for item in known if "attack" in item["breakdown"]]
    figures = []
    if rates:
        sentence = (
            "Which direction is safer differs: the table below says what each measure means. What matters is the "
            "distance between this table and people held out."
        )
        figures.append(_rates("risk-rates", "Attacks at a glance", sentence, rates, tuple(_MARKS)))
    if gains:
        sentence = (
            "What an attack gains over the same attack on people held out: 0 is no gain, 1 (100%) is certainty; mind "
            "the axis. Without a hold-out it is the plain rate of success."
        )
        figures.append(
            _rates("risk-gains", "What attacks gain about the people in the data", sentence, gains, ("synthetic",))
        )
    return figures


def _rates(key: str, title: str, sentence: str, shown: Sequence[Mapping[str, Any]], lines: Sequence[str]) -> Figure:
    labels = [title_of(item["metric"]) for item in shown]
    data = [_intervals(shown)]
    for line in lines:
        symbol, colour, name = _MARKS[line]
        marks = [_mark(item, line) for item in shown]
        points = [(k, value) for k, value in enumerate(marks) if value is not None]
        if points:
            data.append(
                scatter(
                    name,
                    [value for _, value in points],
                    [k for k, _ in points],
                    colour=colour,
                    symbol=symbol,
                    size=11,
                    edge=2.5,
                    customdata=[text(labels[k]) for k, _ in points],
                    hovertemplate="%{customdata}: %{x:.4f}<extra>%{fullData.name}</extra>",
                )
            )
    others = [line for line in lines if line != "synthetic"]
    ends = [end for item in shown for end in (item["value"], item["high"]) if end is not None]
    far = 1.0 if others else min(1.0, 1.1 * max([0.04, *ends]))  # gains are small: the axis ends where they do
    return figure(
        key,
        title,
        sentence,
        data,
        spoken=f"{title}: dots with 95 % intervals; the numbers are in the table below. {sentence}",
        header=("attack", "this table", *(_MARKS[line][2] for line in others)),
        rows=[
            (label, number(item["value"]), *(_or_dash(_mark(item, line)) for line in others))
            for label, item in zip(labels, shown, strict=True)
        ],
        wide=True,
        height=110 + 30 * len(shown),
        xaxis=axis(range=[-0.02 * far, 1.02 * far], tickformat=".0%" if far > 0.1 else ".1%"),
        yaxis=listed_axis(labels, range=[len(shown) - 0.4, -0.6]),
    )


def _or_dash(value: float | None) -> str:
    return "–" if value is None else number(value)


def _mark(item: Mapping[str, Any], line: str) -> float | None:
    """Where a mark stands; a coin is what an attack that tells two cases apart should not beat."""
    if line == "chance":
        return 0.5 if item["perfect"] == 0.5 else None
    return item["value"] if line == "synthetic" else item["breakdown"].get(line)  # type: ignore[no-any-return]


def _intervals(shown: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    x: list[float | None] = []
    y: list[float | None] = []
    for k, item in enumerate(shown):
        if item["low"] is not None and item["high"] is not None:
            x += [item["low"], item["high"], None]
            y += [k, k, None]
    marks = scatter("95 % interval", x, y, colour=DEEP_BLUE, dash="solid", width=5)
    return {**marks, "opacity": 0.45, "hoverinfo": "skip"}


def chain_figures(doc: Mapping[str, Any]) -> list[Figure]:
    """How the rows of a block drift away from their start (pegs.txt figure 5)."""
    chain = doc["chain"]
    if chain is None:
        return []
    places = list(range(1, len(chain["distance"]) + 1))
    sentence = (
        f"Distance {number(chain['distance'][0])} in the first row of a block, {number(chain['distance'][-1])} in "
        f"the last; chance alone would give {number(chain['bootstrap'])}."
    )
    return [
        figure(
            "chain-drift",
            "Rows by their place in a block",
            sentence,
            [
                scatter("this table", places, chain["distance"], colour=DEEP_BLUE, dash="solid", symbol="diamond"),
                level_line("bootstrap", [places[0], places[-1]], chain["bootstrap"]),
            ],
            spoken=f"Mean total variation distance of all columns by place in the block. {sentence}",
            header=("place in the block, or column", "distance", "correlation of neighbours"),
            rows=[(f"row {place}", number(value), "") for place, value in zip(places, chain["distance"], strict=True)]
            + [(name, "", number(value)) for name, value in chain["lag_one"].items()],
            wide=True,
            xaxis=axis("place in the block"),
            yaxis=axis("total variation distance", rangemode="tozero"),
        )
    ]
