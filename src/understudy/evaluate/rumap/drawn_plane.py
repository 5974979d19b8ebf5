"""The plane as a figure, and the words around it."""

from collections.abc import Mapping, Sequence
from typing import Any

from understudy.evaluate.rumap.aside import GAIN
from understudy.pages.drawings import Series, xy_chart
from understudy.pages.figures import Figure
from understudy.pages.numbers import number, percent

_MARGIN = 2.0
"""Points of empty plane around what is drawn."""


def plane_figure(doc: Mapping[str, Any]) -> Figure | None:
    """Risk (upright, in points) against utility (across, in per cent): a path for every method; None without points."""
    plane = doc["plane"]
    points, (least, most) = plane["points"], _corner(doc)
    if not points:
        return None
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
            names=("utility: pairs of columns that stay right, in %", "risk: gained at most, in points"),
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
            "no" if point["faults"] else "yes",
        )
        for point in sorted(points, key=lambda point: -point["utility"])
    ]


def _corner(doc: Mapping[str, Any]) -> tuple[float, float]:
    """The least utility in per cent, and the largest risk in points."""
    return tuple(100 * _limit(doc, name) for name in ("usable_pairs", "attack_gain"))  # type: ignore[return-value]


def _limit(doc: Mapping[str, Any], name: str) -> float:
    return float(doc["plane"]["board"]["limits"][name]["value"])


def thresholds(doc: Mapping[str, Any]) -> str:
    """What the board accepts, in words."""
    least, most = _corner(doc)
    board = doc["plane"]["board"]
    who = f"set by {board['decided_by']}" if board["decided_by"] else "the public defaults; a board.toml sets others"
    return (
        f"Acceptable ({who}): at least {number(least)} % of the pairs of columns stay right, attacks gain at most "
        f"{number(most)} points, and the file promises an epsilon of at most {number(_limit(doc, 'most_epsilon'))}."
    )


def axes_in_words(doc: Mapping[str, Any]) -> list[tuple[str, str]]:
    """What both axes are, and what was not measured."""
    utility = (
        "How many pairs of columns stay right: no share of two levels together is off by more than "
        f"{number(100 * _limit(doc, 'share_error'))} points. As many rows drawn from the table itself, without any "
        f"privacy, would reach {percent(doc['plane']['best_utility'])}."
    )
    if doc["plane"]["why_not"]:
        return [("Utility", utility), ("Risk", f"Not measured: {doc['plane']['why_not']}.")]
    attacks = [name.removeprefix(GAIN) for name in doc["measures"] if name.startswith(GAIN) and not name.endswith(")")]
    alone = " No column is declared sensitive, so nobody tried to guess one." if len(attacks) == 1 else ""
    risk = (
        "How much more often an attack succeeds on people in the data than on people left out, in points. Tried: "
        f"{'; '.join(attacks)}.{alone} In every repeat {number(100 * doc['set_aside'])} % of the records were left "
        "out, and each release was made of the others."
    )
    most = (
        "The upper end of the 95 % interval of the risk, over all attacks, or what epsilon proves where that is less. "
        "Points are drawn and judged by it. More records, or more repeats, make it smaller."
    )
    return [("Utility", utility), ("Risk", risk), ("At most", most)]
