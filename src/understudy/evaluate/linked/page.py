"""The page about synthetic linked tables, for the people who decide. It is confidential."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from importlib import resources
from typing import Any

from understudy.evaluate.linked.compare import LinkedFindings
from understudy.evaluate.linked.metrics import MUST_BE_PERFECT, metric_of
from understudy.evaluate.linked.metrics.cross_pairs import alone_by_pair
from understudy.evaluate.linked.pictures import (
    gap_picture,
    number_picture,
    pair_picture,
    pictured_columns,
    transition_picture,
)
from understudy.evaluate.metric import Score
from understudy.evaluate.report.figures import gains_figure
from understudy.evaluate.report.page import ANSWERS, STATUS
from understudy.evaluate.report.verdicts import judgement_dict
from understudy.pages.figures import Figure
from understudy.pages.numbers import number, percent
from understudy.pages.shell import MARKER, html_page

BANNER = (
    "This page was computed on the confidential tables and shows exact figures of them. The promise of the release "
    "does not cover it: do not publish it with the release."
)
_WORST = 15
_STYLE = "th .says { font-weight: 400; } .one { max-width: 760px; }"
_SECTIONS = (
    ("verdict", "Decision"),
    ("promise", "Promise and limits"),
    ("checks", "What must hold"),
    ("numbers", "Numbers of rows"),
    ("pairs", "Across tables"),
    ("time", "From one event to the next"),
    ("task", "Predict the next event"),
    ("risk", "What an intruder gains"),
    ("all", "All measures"),
)


def linked_page(
    findings: LinkedFindings, *, name: str, statement: str = "", problems: Sequence[str] = (), verified: str = ""
) -> str:
    """The page as text."""
    real, synthetic = findings.real, findings.synthetic
    below = [table.name for table in real.book.tables if table.parent is not None]
    scores = {score.metric: score for score in findings.scores}
    timed = [one for one in below if f"gaps in {one}" in scores["gaps"].breakdown]
    steps = [
        transition_picture(real, synthetic, one, column)
        for one in below
        for column in pictured_columns(real, one)
        if f"{one}.{column}" in scores["transitions"].breakdown
    ]
    return html_page(
        "linked.html",
        packages=("understudy.evaluate.linked", "understudy.evaluate.report"),
        title="People with histories: synthetic against confidential tables",
        sub=name,
        marker=MARKER,
        style=_STYLE + resources.files("understudy.pages").joinpath("figures.css").read_text(encoding="utf-8"),
        banner=BANNER,
        sections=[one for one in _SECTIONS if one[0] != "task" or "next_event" in scores],
        judgement=judgement_dict(findings.judgement),
        board=findings.board.to_dict(),
        status=STATUS,
        answers=ANSWERS,
        knows=bool(findings.attacks.quasi),
        copies="" if findings.attacks.copies is None else findings.attacks.copies.sentence,
        statement=statement,
        problems=problems,
        verified=verified,
        sizes=[
            (one.name, *(f"{side.tables[one.name].rows:,}" for side in (real, synthetic))) for one in real.book.tables
        ],
        checks=[_check(scores[metric]) for metric in MUST_BE_PERFECT],
        numbers=[number_picture(real, synthetic, one) for one in below],
        children=_explained(scores["children_by_group"]),
        pair_picture=pair_picture(_worst_pairs(findings)),
        pairs=_explained(scores["cross_table_pairs"]),
        gap_pictures=[gap_picture(real, synthetic, one) for one in timed],
        step_pictures=steps,
        gaps=_explained(scores["gaps"]),
        transitions=_explained(scores["transitions"]),
        task=_task(scores.get("next_event")),
        codes=_explained(scores["detailed_codes"]) if "detailed_codes" in scores else None,
        attacks=_attacks(findings),
        tried=findings.gains is not None,
        says=[gain.says for gain in findings.gains or ()],
        measures=[
            (metric_of(score).title, number(score.value), number(metric_of(score).perfect)) for score in findings.scores
        ],
        details=[_details(score) for score in findings.scores if score.breakdown],
    )


def _attacks(findings: LinkedFindings) -> Figure | None:
    """Every attack on the one axis of a report about one table, with the limit of the board."""
    gains = [asdict(gain) for gain in findings.gains or ()]
    return gains_figure(gains, limit=findings.board.attack_gain) if gains else None


def _check(score: Score) -> Mapping[str, Any]:
    metric = metric_of(score)
    held = score.value == metric.perfect
    faults = {name: value for name, value in score.breakdown.items() if value != metric.perfect}
    word = "holds" if held else "does not hold" if score.breakdown else "nothing to check"
    told = "; ".join(f"{name}: {number(value)}" for name, value in faults.items())
    return {
        "title": metric.title,
        "says": metric.says,
        "word": word,
        "bad": bool(faults),
        "told": told,
        "note": score.note,
    }


def _explained(score: Score) -> Mapping[str, str]:
    return {"says": metric_of(score).says, "value": number(score.value), "note": score.note}


def _worst_pairs(findings: LinkedFindings) -> list[tuple[str, float, float]]:
    score = findings.score("cross_table_pairs")
    worst = sorted(score.breakdown, key=lambda pair: -score.breakdown[pair])[:_WORST]
    alone = alone_by_pair(findings.real, map(_two, worst))
    return [(pair.replace(" x ", " × "), score.breakdown[pair], alone[pair]) for pair in worst]


def _two(pair: str) -> tuple[str, str]:
    above, _, below = pair.partition(" x ")
    return above, below


def _task(score: Score | None) -> Mapping[str, Any] | None:
    if score is None:
        return None
    rows = [
        (name, percent(value) if name.startswith("share") else number(value)) for name, value in score.breakdown.items()
    ]
    interval = "" if score.low is None else f"95% interval {number(score.low)} to {number(score.high)}"
    return {**_explained(score), "rows": rows, "interval": interval}


def _details(score: Score) -> Mapping[str, Any]:
    metric = metric_of(score)
    best = metric.perfect
    rows = sorted(score.breakdown.items(), key=lambda item: -abs(item[1] - best))
    return {"title": metric.title, "rows": [(name.replace(" x ", " × "), number(value)) for name, value in rows]}
