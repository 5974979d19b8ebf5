"""An inference as a page: a picture of its intervals, and the tables behind it."""

from collections.abc import Sequence
from itertools import groupby

from understudy.infer.inference import Figure, Inference
from understudy.pages import figures as drawn
from understudy.pages.drawings import Dot, interval_axis
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
    caption = f"Estimates with {percent(inference.level)} intervals; the second mark is what the rows say as they are."
    lines = []
    for one in told:
        marks = [Dot(value=one.estimate or 0.0, low=one.low, high=one.high)]
        marks += [] if one.in_rows is None else [Dot(value=one.in_rows, series=1)]
        lines.append((one.name, marks))
    return drawn.Figure(
        key=f"intervals-{place}",
        title=group,
        drawing=interval_axis(
            lines, title=group, spoken=caption, series=("estimate", "in the rows"), zero=None, name="estimate"
        ),
        caption=caption,
        header=HEADER,
        rows=[cells(figure) for figure in told],
        wide=True,
    )
