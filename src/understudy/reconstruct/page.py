"""One reconstruction as a page."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from understudy.pages.decision import SECTIONS, Compared, Decision, Fact
from understudy.pages.figures import Figure, figures_page
from understudy.pages.numbers import number
from understudy.reconstruct.compare import Tried
from understudy.reconstruct.result import NO_PROTECTION, Reconstruction

Scores = Mapping[str, Mapping[str, float]]


def reconstruction_page(
    result: Reconstruction, figures: Sequence[Figure], scores: Scores, tried: Sequence[Tried]
) -> str:
    """The page; ``scores`` hold errors where the truth is known."""
    tables: list[dict[str, Any]] = [
        {
            "caption": "How far the published figures are met (per person)",
            "header": ("table", "groups", "to be met", "largest distance of those", "typical distance of all"),
            "rows": [
                (met.aggregate, f"{met.groups:,}", f"{met.exact:,}", _near(met.largest_gap), _near(met.typical_gap))
                for met in result.met
            ],
        }
    ]
    if scores:
        tables.append(
            {
                "caption": "Errors against the truth (averages of the group alone: Moore-Penrose)",
                "header": ("target", "mean absolute error", "root mean square", "average of the group alone"),
                "rows": [
                    (target, number(score["mae"]), number(score["rmse"]), number(score["mp"]))
                    for target, score in scores.items()
                ],
            }
        )
    people = len(next(iter(result.values.values())))
    return figures_page(
        "decided.html",
        package="understudy.pages",
        figures=figures,
        title=f"Reconstruction of {', '.join(result.values)}",
        flag="Reconstructed.",
        banner=f"Estimates of individual values from group averages, not data. {NO_PROTECTION}",
        sub=f"{people:,} individuals, method {result.method}.",
        sections=[*SECTIONS, ("details", "Details"), ("figures-section", "Figures")],
        decision=_decision(result, scores, tried),
        tables=tables,
        notes=list(result.notes),
    )


def _decision(result: Reconstruction, scores: Scores, tried: Sequence[Tried]) -> Decision:
    people, averages = len(next(iter(result.values.values()))), sum(met.groups for met in result.met)
    instead = "".join(f" {held.sentence}" for held in result.held_out if held.fell_back)
    rows = [(one.method, held) for one in tried for held in one.held_out]
    several = len(result.values) > 1
    means = {held.target: held.error_of_means for _, held in rows}
    table = [
        *((_titled(method, held.target, several), number(held.error), f"{held.ahead:+.1f}") for method, held in rows),
        *(
            (_titled("mp (average of the others)", target, several), number(error), "0")
            for target, error in means.items()
        ),
        *((f"{one.method}: not possible ({one.why_not})", "–", "–") for one in tried if one.why_not),
    ]
    chosen = next((place for place, (method, _) in enumerate(rows) if method == result.method), None)
    return Decision(
        done=f"The method {result.method} estimated {', '.join(result.values)} of {people:,} people from {averages:,} "
        f"published averages.{instead} An estimate may be wrong for every single person.",
        loss=list(_loss(result, scores, tried)),
        risk=list(_risk(result)),
        compared=Compared(
            says="Each method was fitted without some of the groups and asked for their averages: the error, and by "
            "how many standard errors it is ahead of the average of the other groups. Below 2 it is not clearly "
            "better. This reads published averages and no individual value."
            if table
            else "No other method could be tried by averages left out.",
            header=("method", "error of unseen averages", "standard errors ahead"),
            rows=table,
            chosen=chosen if chosen is not None or result.method != "mp" else len(rows),
        ),
    )


def _titled(method: str, target: str, several: bool) -> str:
    return f"{method}, {target}" if several else method


def _loss(result: Reconstruction, scores: Scores, tried: Sequence[Tried]) -> Iterator[Fact]:
    for held in next((one.held_out for one in tried if one.method == result.method), ()):
        sure = "clearly better than" if held.is_ahead else "not clearly better than"
        yield Fact(
            label=f"Error of unseen averages of {held.target}",
            value=number(held.error),
            says=f"It is {sure} the average of the other groups, whose error is {number(held.error_of_means)}.",
        )
    for target, score in scores.items():
        says = f"The average of the group alone: {number(score['mp'])}."
        yield Fact(label=f"Mean error of {target} against the truth", value=number(score["mae"]), says=says)
    for met in result.met:
        words = f"{met.exact:,} of {met.groups:,} averages were to be met as they stand."
        yield Fact(label=f"Distance from {met.aggregate}", value=_near(met.largest_gap_of_all), says=words)


def _risk(result: Reconstruction) -> Iterator[Fact]:
    for target, flags in result.disclosed.items():
        yield Fact(
            label=f"People whose {target} is given away",
            value=f"{int(flags.sum()):,}",
            says="Their value follows exactly from the averages: a group of one, or a difference of groups.",
        )
    yield Fact(label="Formal promise", value="none", says="Publishing averages protects nobody by itself.")


def _near(gap: float) -> str:
    """A distance; what rounding leaves is called nothing.

    >>> _near(3e-12), _near(0.25)
    ('0', '0.25')
    """
    return number(0.0 if abs(gap) < 1e-9 else gap)
