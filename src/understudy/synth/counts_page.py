"""A page about released counts: what was done, what the noise hides, the promise, and what other epsilons would give.

It is made from the release and from prices alone, so it is as public as the release.
"""

from collections.abc import Iterator
from dataclasses import replace
from importlib import resources

import numpy as np
import numpy.typing as npt

from understudy.extras import need
from understudy.pages.decision import SECTIONS, Compared, Decision, Fact
from understudy.pages.drawings import Dot, interval_axis
from understudy.pages.figures import Figure
from understudy.pages.numbers import number, percent, plain
from understudy.pages.shell import PUBLIC_MARKER, html_page, policy
from understudy.privacy.odds import odds_facts
from understudy.release import Release
from understudy.synth.counts import Counts

Values = npt.NDArray[np.float64]

_FACTORS = (0.25, 0.5, 1.0, 2.0, 4.0)
"""Of the epsilon: what is compared. The middle one is what was done."""
_SHOWN = 25


def counts_page(plan: Counts, release: Release) -> str:
    """The page."""
    need("jinja2", extra="report", what="the page")
    counts = np.asarray(release.table.column("count").to_numpy(), dtype=np.float64)
    return html_page(
        "decided.html",
        title=f"Counts by {', '.join(plan.by)}",
        sub=f"{plan.cells:,} released counts, each with its interval.",
        style=resources.files("understudy.pages").joinpath("figures.css").read_text(encoding="utf-8"),
        marker=PUBLIC_MARKER,
        security=policy(scripts=False),
        flag="Public.",
        banner="Made from the released counts and from prices alone: whoever may see the counts may see this page.",
        sections=[*SECTIONS, ("promise", "Promise"), ("details", "Details"), ("figures-section", "Figure")],
        decision=_decision(plan, release, counts),
        statement=release.statement,
        tables=[],
        notes=[plain(words) for words in release.manifest.to_dict()["warnings"]],
        figures=[_figure(plan, release, counts)],
    )


def _decision(plan: Counts, release: Release, counts: Values) -> Decision:
    what = f"weighted by {plan.used.weight}, " if plan.weighted else ""
    rows = [_at(replace(plan, epsilon=plan.epsilon * factor), counts) for factor in _FACTORS]
    hidden = percent(_hidden(counts, plan.reach))
    return Decision(
        done=f"All {plan.cells:,} combinations of {', '.join(plan.by)} were counted once, {what}and noise was added at "
        f"epsilon {number(plan.epsilon)}.",
        loss=[
            Fact(
                label="Each count is within",
                value=f"{number(plan.reach)} of the table's",
                says=f"In {percent(plan.confidence)} of all counts; the noise has this size whatever the count is.",
            ),
            Fact(label="Counts that the noise hides", value=hidden, says="They are released as less than that."),
            Fact(label="Relative error of a typical count", value=_relative(counts, plan.reach), says="The median."),
        ],
        risk=list(odds_facts(release.manifest.total, whose=_whose(plan))),
        compared=Compared(
            says="Other epsilons by the size of their noise, which their price alone decides, and how many of the "
            "counts as released it would hide. This costs nothing: no record is read for it.",
            header=("epsilon", "within", "counts hidden", "relative error of a typical count"),
            rows=rows,
            chosen=_FACTORS.index(1.0),
        ),
    )


def _whose(plan: Counts) -> str:
    return "one person" if plan.book.unit is not None else "one record"


def _at(plan: Counts, counts: Values) -> tuple[str, ...]:
    reach = plan.reach
    return number(plan.epsilon), number(reach), percent(_hidden(counts, reach)), _relative(counts, reach)


def _hidden(counts: Values, reach: float) -> float:
    """The share of counts that are smaller than the noise."""
    return float((counts < reach).mean())


def _relative(counts: Values, reach: float) -> str:
    typical = float(np.median(counts))
    return percent(reach / typical) if typical > reach else "over 100%"


def _figure(plan: Counts, release: Release, counts: Values) -> Figure:
    """The largest counts with their intervals."""
    order = np.argsort(-counts, kind="stable")[:_SHOWN]
    named = [(label, counts[place]) for place, label in zip(order, _labels(plan, release, order), strict=True)]
    lines = [(label, [Dot(value=value, low=value - plan.reach, high=value + plan.reach)]) for label, value in named]
    title = "Counts with their intervals" if len(counts) <= _SHOWN else f"The {_SHOWN} largest counts"
    caption = f"Lines are {percent(plan.confidence)} intervals for the noise alone."
    return Figure(
        key="counts",
        title=title,
        drawing=interval_axis(lines, title=title, spoken=caption, name="count"),
        caption=caption,
        header=(", ".join(plan.by), "count", "low", "high"),
        rows=[
            (label, *(number(float(each)) for each in (value, value - plan.reach, value + plan.reach)))
            for label, value in named
        ],
        wide=True,
    )


def _labels(plan: Counts, release: Release, order: npt.NDArray[np.int64]) -> Iterator[str]:
    columns = [release.table.column(name).take(order).to_pylist() for name in plan.by]
    return (", ".join(str(level) for level in row) for row in zip(*columns, strict=True))
