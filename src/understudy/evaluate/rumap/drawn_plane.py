"""The plane as a figure, and the words around it."""

from collections.abc import Mapping, Sequence
from typing import Any

from understudy.evaluate.rumap.aside import INFERENCE
from understudy.pages.drawings import Series, xy_chart
from understudy.pages.figures import Figure
from understudy.pages.numbers import number

_LINES = (("bootstrap", "Best possible with as many rows"), ("independent columns", "Independent columns"))
_MARGIN = 2.0
"""Points of empty plane around what is drawn."""


def plane_figure(doc: Mapping[str, Any]) -> Figure | None:
    """Risk (upright, in points) against utility (across, in per cent): a path for every method; None without points."""
    plane = doc["plane"]
    points, corner = plane["points"], plane["corner"]
    if not points:
        return None
    least, most = 100 * corner["utility_least"], 100 * corner["risk_most"]
    paths = [_path(place, method, points) for place, method in enumerate(doc["methods"])]
    best = sorted((point for point in points if point["frontier"]), key=lambda point: point["utility"])
    edge = Series(
        name="frontier",
        x=[100 * point["utility"] for point in best],
        y=[100 * point["risk_at_most"] for point in best],
        marked=False,
        look=len(doc["methods"]),
    )
    wide = _ends([least, *(100 * point["utility"] for point in points)])
    tall = (0.0, _ends([most, *(100 * point["risk_at_most"] for point in points)])[1])
    title = "Risk against utility"
    return Figure(
        key="plane",
        title=title,
        drawing=xy_chart(
            [*(path for path in paths if path.x), *([edge] if len(best) > 1 else [])],
            title=title,
            spoken=f"One path per method along epsilon. {plane['advice']}",
            names=("utility: rows that fit, in %", "risk: at most, in points"),
            ends=(wide, tall),
            shaded=(least, wide[1], 0.0, most),
            height=250,
        ),
        caption="Right and low is good: the shaded corner is what the board accepts. Numbers beside the marks are "
        "epsilons; the frontier joins the points that no other beats in both.",
        header=("method", "epsilon", "utility", "risk", "at most", "accepted"),
        rows=_rows(points),
    )


def _path(place: int, method: str, points: Sequence[Mapping[str, Any]]) -> Series:
    own = [point for point in points if point["method"] == method]
    return Series(
        name=method,
        x=[100 * point["utility"] for point in own],
        y=[100 * point["risk_at_most"] for point in own],
        labels=["" if point["epsilon"] is None else number(point["epsilon"]) for point in own],
        look=place,
    )


def _ends(values: Sequence[float]) -> tuple[float, float]:
    """Both ends of an axis in per cent, with a margin."""
    return max(min(values) - _MARGIN, 0.0), min(max(values) + _MARGIN, 100.0)


def _rows(points: Sequence[Mapping[str, Any]]) -> list[tuple[str, ...]]:
    return [
        (
            point["method"],
            "none" if point["epsilon"] is None else number(point["epsilon"]),
            f"{100 * point['utility']:.1f} %",
            f"{100 * point['risk']:+.1f}",
            f"{100 * point['risk_at_most']:.1f}",
            "yes" if point["accepted"] else "no",
        )
        for point in sorted(points, key=lambda point: -point["utility"])
    ]


def thresholds(doc: Mapping[str, Any]) -> str:
    """What the board accepts, in words."""
    corner = doc["plane"]["corner"]
    return (
        f"The board accepts a utility of at least {100 * corner['utility_least']:g} % and a risk of at most "
        f"{100 * corner['risk_most']:g} points."
    )


def axes_in_words(doc: Mapping[str, Any]) -> list[tuple[str, str]]:
    """What both axes are, and what was not measured."""
    measured = [name for name in doc["measures"] if not name.endswith(")")]
    references = doc["references"].get(next((name for name in measured if name.startswith("tvd_")), ""), {})
    pictured = "".join(
        f" {words}: {100 * (1 - references[name]):.0f} %." for name, words in _LINES if name in references
    )
    utility = f"How many of 100 rows fit the real tables of two columns, on average.{pictured}"
    if doc["plane"]["why_not"]:
        risk = f"Not measured: {doc['plane']['why_not']}. The appendix has utility by epsilon."
        return [("Utility", utility), ("Risk", risk)]
    guessed = [name.partition(": ")[2] for name in measured if name.startswith(f"{INFERENCE}: ")]
    about = f", or guessing {', '.join(guessed)} from the nearest synthetic record" if guessed else ""
    lacking = "" if guessed else " No column is declared sensitive, so guessing of values was not tried."
    risk = (
        "How much more often the best attack succeeds on people in the data than on people left out, in points: "
        f"finding the whole record in the release{about}. In every repeat {100 * doc['set_aside']:g} % of the records "
        f"were left out, and each release was made of the others.{lacking}"
    )
    most = (
        "The upper end of the 95 % interval of the risk, over all attacks, or what epsilon proves where that is less. "
        "Points are drawn and judged by it. More records, or more repeats, make it smaller."
    )
    return [("Utility", utility), ("Risk", risk), ("At most", most)]
