"""An inference as a page: a picture of its intervals, and the tables behind it."""

from collections.abc import Sequence
from itertools import groupby

from understudy.infer.inference import Figure, Inference
from understudy.pages import figures as drawn
from understudy.pages.charts import DEEP_BLUE, DEEP_ORANGE
from understudy.pages.numbers import number, percent

HEADER = ("figure", "estimate", "error", "low", "high", "privacy", "in rows")
"""The share of the variance that privacy adds, and what the released rows say as they are, come last."""


def cells(figure: Figure) -> tuple[str, ...]:
    """A figure as a line of a table."""
    if figure.refused is not None:
        return (figure.name, "not told", *[""] * 5)
    numbers = (figure.estimate, figure.error, figure.low, figure.high)
    return (figure.name, *map(number, numbers), percent(figure.privacy), number(figure.in_rows))


def inference_page(inference: Inference) -> str:
    """The page."""
    whom = "the population" if inference.target == "population" else "the confidential table"
    groups = [(group, list(own)) for group, own in groupby(inference.figures, key=lambda figure: figure.group)]
    return drawn.figures_page(
        "summary.html",
        package="understudy.pages",
        figures=[_picture(place, group, own, inference) for place, (group, own) in enumerate(groups) if _told(own)],
        title="What may be concluded from a release",
        flag="Inference.",
        banner=inference.statement,
        sub=f"Release {inference.release}; {percent(inference.level)} intervals for {whom}.",
        lead="Estimates are those of the released rows, calibrated to the noisy measurements that the release carries. "
        "Intervals cover the noise of these"
        + (", and that the confidential records are a sample." if inference.target == "population" else "."),
        tables=[{"caption": group, "header": HEADER, "rows": [cells(one) for one in own]} for group, own in groups],
        notes=[*inference.warnings, *(f"{one.name}: {one.refused}" for one in inference if one.refused)],
    )


def _told(figures: Sequence[Figure]) -> list[Figure]:
    return [figure for figure in figures if figure.estimate is not None]


def _picture(place: int, group: str, figures: Sequence[Figure], inference: Inference) -> drawn.Figure:
    told = _told(figures)
    names, at = [figure.name for figure in told], list(range(len(told)))
    middle = [figure.estimate or 0.0 for figure in told]
    above = [(figure.high or 0.0) - value for figure, value in zip(told, middle, strict=True)]
    below = [value - (figure.low or 0.0) for figure, value in zip(told, middle, strict=True)]
    hover = "%{customdata}: %{x:.4g}<extra>%{fullData.name}</extra>"
    labels = [drawn.text(name) for name in names]
    return drawn.figure(
        f"intervals-{place}",
        group,
        f"Estimates with {percent(inference.level)} intervals; diamonds are what the rows say as they are.",
        [
            drawn.scatter(
                "estimate",
                middle,
                at,
                colour=DEEP_BLUE,
                symbol="circle",
                error_x=drawn.whiskers(above, below),
                customdata=labels,
                hovertemplate=hover,
            ),
            drawn.scatter(
                "in the rows",
                [figure.in_rows for figure in told],
                at,
                colour=DEEP_ORANGE,
                symbol="diamond",
                customdata=labels,
                hovertemplate=hover,
            ),
        ],
        header=HEADER,
        rows=[cells(figure) for figure in told],
        wide=True,
        height=120 + 26 * len(told),
        xaxis=drawn.axis("estimate"),
        yaxis=drawn.listed_axis(names, autorange="reversed"),
    )
