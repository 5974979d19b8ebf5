"""The public page of an answer: its figures beside those of a release, the promise, and how to cite it."""

from understudy.answers.product import Answer, matched
from understudy.infer.inference import Figure
from understudy.pages import figures as drawn
from understudy.pages.drawings import Dot, interval_axis
from understudy.pages.numbers import moment, number, percent
from understudy.pages.shell import PUBLIC_MARKER

HEADER = ("figure", "answer", "low", "high", "privacy", "release", "release low", "release high", "gap")


def rows_of(answer: Answer) -> list[tuple[str, ...]]:
    """Every figure as a line of a table."""
    others = matched(answer.figures, answer.synthetic)
    return [_cells(*line) for line in zip(answer.figures, others, answer.gaps, strict=True)]


def _cells(figure: Figure, other: Figure | None, gap: float | None) -> tuple[str, ...]:
    own = ("not told", "", "", "")
    if figure.estimate is not None:
        own = (number(figure.estimate), number(figure.low), number(figure.high), percent(figure.privacy))
    told = ("", "", "")
    if other is not None and other.estimate is not None:
        told = (number(other.estimate), number(other.low), number(other.high))
    return (figure.name, *own, *told, "" if gap is None else number(gap))


def answer_page(answer: Answer) -> str:
    """The page."""
    whom = "the population: sampling and noise" if answer.target == "population" else "the table: noise alone"
    compared = (
        ""
        if answer.synthetic is None
        else " The second mark is what the release had said, and the gap is the answer minus that."
    )
    return drawn.figures_page(
        "summary.html",
        package="understudy.pages",
        marker=PUBLIC_MARKER,
        figures=_pictures(answer),
        title=f"Answer: {answer.question}",
        flag="Answer.",
        banner=answer.statement,
        sub=f"Answer {answer.answer_id}, {moment(answer.created)}; {percent(answer.level)} intervals for {whom}.",
        lead=f"Computed once on the confidential table, with noise, at epsilon {number(answer.epsilon)}.{compared}",
        tables=[{"caption": answer.question, "header": HEADER, "rows": rows_of(answer)}],
        notes=[
            *answer.warnings,
            *(str(one.refused) for one in answer.figures if one.refused),
            f"To cite it: answer {answer.answer_id} to {answer.question!r}, understudy, {answer.created[:10]}.",
        ],
    )


def _pictures(answer: Answer) -> list[drawn.Figure]:
    lines, rows = [], rows_of(answer)
    for figure, other in zip(answer.figures, matched(answer.figures, answer.synthetic), strict=True):
        if figure.estimate is None:
            continue
        marks = [Dot(value=figure.estimate, low=figure.low, high=figure.high)]
        if other is not None and other.estimate is not None:
            marks.append(Dot(value=other.estimate, low=other.low, high=other.high, series=1))
        lines.append((figure.name, marks))
    if not lines:
        return []
    caption = f"Estimates with {percent(answer.level)} intervals."
    series = ("answer",) if answer.synthetic is None else ("answer", "release")
    drawing = interval_axis(lines, title=answer.question, spoken=caption, series=series, zero=None, name="estimate")
    return [
        drawn.Figure(
            key="intervals",
            title=answer.question,
            drawing=drawing,
            caption=caption,
            header=HEADER,
            rows=rows,
            wide=True,
        )
    ]
