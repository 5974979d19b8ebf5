"""The same question on a release: free, and with the intervals of :mod:`understudy.infer`."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from understudy.answers.design import design_of
from understudy.answers.question import Question, parse_question
from understudy.codebook import Codebook
from understudy.errors import ParameterError, RefusalError
from understudy.infer.asked import Asked
from understudy.infer.inference import Figure, Inference
from understudy.release import Release

_BY = "a release tells groups of one column at a time; ask for one of them."


def on_release(
    question: Question,
    release: Release | str | Path,
    *,
    book: Codebook | None = None,
    target: str = "population",
    level: float = 0.95,
) -> tuple[Figure, ...]:
    """The figures of the question as a release tells them; what it cannot tell is a figure that says why."""
    try:
        return inference_of(question, release, target=target, level=level).figures
    except RefusalError as reason:
        return (Figure(name=question.text, group=question.kind, refused=str(reason)),)


def inference_of(
    question: Question, release: Release | str | Path, *, target: str = "population", level: float = 0.95
) -> Inference:
    """The same with what it rests on."""
    from understudy.infer.opened import open_release

    opened = open_release(release)
    try:  # its codebook may have other bins and levels, and so other codes
        question = parse_question(question.text, opened.codebook)
    except ParameterError as reason:
        raise RefusalError(f"the release cannot be asked this: {reason}") from None
    labels = {name: [opened.column(name).labels[code] for code in codes] for name, codes in question.where}
    asked: dict[str, Any] = {"where": labels, "level": level, "target": target}
    if question.by:
        if len(question.by) > 1 and question.kind != "table":
            raise RefusalError(_BY)
        asked["by"] = question.by[0]
    if question.kind in ("count", "table", "sum"):
        return _totals(question, opened, asked, release)
    if question.kind == "mean" or (question.is_difference and question.level is None):
        asked["mean"] = (question.of,)
    elif question.level is not None:
        asked["share"] = (f"{question.of}={opened.column(question.of).labels[question.level]}",)
    elif question.kind == "quantile":
        asked["quantile"] = (f"{question.of}:{question.quantile:g}",)
    else:
        asked[question.kind] = (question.formula,)
    told = Asked(**asked, difference=question.is_difference).answer(release)
    if question.is_difference:
        figures = tuple(figure for figure in told.figures if figure.group == "difference")
        return Inference(**{**vars(told), "figures": figures})
    return told


def _totals(question: Question, opened: Any, asked: dict[str, Any], release: Any) -> Inference:
    """Counts and sums are of the table, in both."""
    asked["target"] = "table"
    asked.pop("by", None)
    if question.kind == "sum":
        if question.by or question.where:
            raise RefusalError("a release tells the sum of a column for everybody only; ask for the mean of a group.")
        told = Asked(**asked, total=(question.of,)).answer(release)
        figures = tuple(_renamed(figure, figure.name.replace("total of mean of", "sum of")) for figure in told.figures)
        return Inference(**{**vars(told), "figures": figures})
    where = asked.pop("where")
    if any(len(labels) > 1 for labels in where.values()):
        raise RefusalError("a release tells counts of one level of each column; name one in `where`.")
    whom = [f"{name}={labels[0]}" for name, labels in where.items()]
    words = [[*whom]]
    for name in question.by:
        if name in where:
            continue
        column = opened.column(name)
        words = [[*one, f"{name}={label}"] for one in words for label in column.labels]
    if not words[0]:
        return _everybody(opened, asked)
    told = Asked(**asked, total=[",".join(one) for one in words]).answer(release)
    figures = tuple(
        _renamed(figure, f"count | {', '.join(one)}") for figure, one in zip(told.figures, words, strict=True)
    )
    return Inference(**{**vars(told), "figures": figures})


def _everybody(opened: Any, asked: dict[str, Any]) -> Inference:
    """The number of records, as the release measured it."""
    from understudy.answers.intervals import reach

    error = float(opened.measured.records.variance) ** 0.5
    far = reach(asked["level"], normal=error)
    figure = Figure(
        name="count",
        group="count",
        estimate=opened.records,
        error=error,
        low=max(opened.records - far, 0.0),
        high=opened.records + far,
        sampling=0.0,
    )
    return Inference(
        figures=(figure,),
        target="table",
        level=asked["level"],
        release=opened.release_id,
        statement=opened.statement,
        notes=opened.notes,
    )


def _renamed(figure: Figure, name: str) -> Figure:
    return Figure(**{**vars(figure), "name": name, "group": "sum" if name.startswith("sum") else "count"})


def coefficients_of(question: Question, book: Codebook, release: Any) -> Sequence[float] | None:
    """Scaled coefficients of a release, to start from; None where it cannot tell them."""
    design = design_of(question, book)
    told = {figure.name.split(" | ")[0]: figure.estimate for figure in on_release(question, release)}
    known = {name: value for name, value in told.items() if value is not None}
    if "Intercept" not in known:
        return None
    return [float(value) for value in design.to_scaled(known)]
