"""A worksheet for the people who decide: the three tests of WP216, and an expert determination under HIPAA.

Facts are filled in from the findings of an evaluation; every judgement is left open. It is computed on confidential
data, lies beside the report and never in a release.
"""

import math
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from understudy.codebook import Column, Role
from understudy.errors import ReleaseError
from understudy.evaluate.report.findings import BANNER, Findings, Measured
from understudy.evaluate.risk.scores import METRICS
from understudy.files import Access, write_file

_JUDGEMENT = (
    "Judgement (to be filled in by people):",
    "",
    "- [ ] the risk is acceptable",
    "- [ ] it is not",
    "- [ ] more must be measured",
    "- Reasons:",
    "- Name, role, date:",
)


@dataclass(frozen=True, kw_only=True)
class Question:
    """One question, and the metrics whose scores are facts about it."""

    title: str
    asks: str
    metrics: tuple[str, ...]
    """Names; where two ask the same of different columns, with a bar between."""
    consider: tuple[str, ...]
    """What no figure of ours answers."""


WP216 = (
    Question(
        title="Singling out",
        asks="Can some or all records that identify one person be isolated in the release?",
        metrics=("singling_out", "uniqueness", "exact_copies", "closest_record", "membership"),
        consider=("Which combinations of columns would a neighbour, an employer or a journalist know?",),
    ),
    Question(
        title="Linkability",
        asks="Can records about one person or one group be linked, within the release or with other files?",
        metrics=("linkability", "linkage", "link_gain"),
        consider=(
            "Which files about the same people exist, now and for as long as the release will be available?",
            "Are other releases about the same people public already?",
        ),
    ),
    Question(
        title="Inference",
        asks="Can a value of a person be deduced, with significant probability, from the other values?",
        metrics=("inference", "mode_attack|mean_attack", "match_probability", "membership"),
        consider=("Which deductions would harm people, whether or not they are in the data?",),
    ),
)
"""The three criteria of the Article 29 Working Party's Opinion 05/2014 on anonymisation techniques (WP216)."""


def check_worksheet_target(path: Path) -> None:
    """Find out before anything is computed whether it can be written; one that was filled in is never replaced."""
    parent = path.absolute().parent
    if path.exists() or path.is_symlink():  # a link that leads nowhere too
        raise ReleaseError(
            f"{str(path)!r} exists already, and a worksheet may hold judgements; choose another name or remove it."
        )
    if any((folder / "manifest.json").is_file() for folder in (parent, parent.parent)):
        raise ReleaseError(
            f"{str(parent)!r} belongs to a release, and the worksheet is made from the confidential table: it must not "
            "go out with it. Name a file beside the folder."
        )
    if not parent.is_dir() or not os.access(parent, os.W_OK):
        raise ReleaseError(f"nothing can be written in {str(parent)!r}; choose a folder you may write to.")


def write_worksheet(path: Path, findings: Findings) -> None:
    """A Markdown file that only its owner may read."""
    check_worksheet_target(path)
    try:
        write_file(path, worksheet(findings), Access.OWNER, new=True)
    except OSError as reason:
        raise ReleaseError(f"the worksheet {str(path)!r} cannot be written ({reason.strerror}).") from None


def worksheet(findings: Findings) -> str:
    """The whole text."""
    lines = ["# Worksheet of a disclosure review", "", f"**{BANNER}**", ""]
    lines += ["Facts are filled in. No line of it is a judgement: those are for people to write.", ""]
    lines += _listed("What was compared", _compared(findings))
    lines += ["## Part 1: the three tests of WP216 (GDPR, recital 26)", ""]
    for number, question in enumerate(WP216, start=1):
        lines += _question(f"1.{number}", question, findings)
    lines += _hipaa(findings)
    return "\n".join(lines)


def _plain(text: object) -> str:
    return " ".join(str(text).split()).replace("|", "\\|").replace("<", "&lt;")


def _listed(title: str, items: Iterable[str]) -> list[str]:
    return [f"## {title}", "", *(f"- {_plain(item)}" for item in items), ""]


def _compared(findings: Findings) -> Iterator[str]:
    yield f"Confidential table: {findings.real_label}, {findings.real_rows:,} records"
    yield f"Release: {findings.synthetic_label}, {findings.synthetic_rows:,} records"
    held = "none; attacks could not be repeated on people who were not in the data"
    if findings.holdout_rows is not None:
        held = f"{findings.holdout_rows:,} records that were set aside before"
    yield f"Hold-out: {held}"
    yield f"Level of the attacks: {findings.risk_level}"
    if findings.release is None:
        yield "Promise: unknown, because the table is not a release with a manifest"
    else:
        yield f"Promise: {findings.release.statement}"
        yield from (f"The release does not verify: {problem}" for problem in findings.release.problems)
    for role in (Role.QUASI_IDENTIFIER, Role.SENSITIVE):
        names = findings.codebook.with_role(role)
        yield f"Declared as {role.value}: {', '.join(names) or 'no column'}"
    yield from findings.notes


def _question(number: str, question: Question, findings: Findings) -> list[str]:
    wanted = {name for names in question.metrics for name in names.split("|")}
    measured = [one for one in findings.risk if _name(one) in wanted]
    lines = [f"### {number} {question.title}", "", question.asks, "", "Facts:", ""]
    lines += _facts(measured)
    done = {_name(one) for one in measured}
    if lacking := [METRICS[names.split("|")[0]].title for names in question.metrics if not done & {*names.split("|")}]:
        lines += [f"Not measured: {', '.join(lacking)}. {_how(findings)}".rstrip(), ""]
    lines += ["To consider, which no figure here answers:", "", *(f"- {words}" for words in question.consider), ""]
    return [*lines, *_JUDGEMENT, ""]


def _name(measured: Measured) -> str:
    """Of the metric, without the column that it is about."""
    return measured.score.metric.partition(": ")[0]


def _how(findings: Findings) -> str:
    hints = [] if findings.risk_level == "full" else ["--risk full runs every attack"]
    if findings.holdout_rows is None:
        hints.append("--holdout compares with people who were not in the data")
    if not findings.codebook.with_role(Role.QUASI_IDENTIFIER):
        hints.append('role = "quasi-identifier" in the codebook says what an intruder knows')
    if not findings.codebook.with_role(Role.SENSITIVE) and findings.target is None:
        hints.append('role = "sensitive" says what an intruder wants to know')
    return f"{'; '.join(hints)}." if hints else ""


def _facts(measured: Sequence[Measured]) -> list[str]:
    if not measured:
        return ["No attack was carried out.", ""]
    lines = [
        "| what | value | 95 % interval | perfect | references | meaning |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for one in measured:
        score = one.score
        ends = "" if score.low is None or score.high is None else f"{_figure(score.low)} to {_figure(score.high)}"
        beside = ", ".join(f"{name} {_figure(value)}" for name, value in list(score.breakdown.items())[:6])
        about = score.metric.partition(": ")[2]
        title = f"{one.metric.title}{f': {about}' if about else ''}"
        note = f" {score.note}" if score.note else ""
        cells = (title, _figure(score.value), ends, _figure(one.metric.perfect), beside, f"{one.metric.says}{note}")
        lines.append(f"| {' | '.join(map(_plain, cells))} |")
    return [*lines, ""]


def _figure(value: float) -> str:
    if math.isnan(value):
        return "not defined"
    if math.isinf(value):
        return "the more, the better"
    return f"{value:.4f}".rstrip("0").rstrip(".") if abs(value) < 1e6 else f"{value:,.0f}"


def _hipaa(findings: Findings) -> list[str]:
    """45 CFR 164.514(b)(1): what an expert must determine and document, with the facts that we have."""
    lines = ["## Part 2: expert determination under HIPAA (45 CFR 164.514(b)(1))", ""]
    lines += ["An expert determines that the risk is very small that an anticipated recipient could identify a person,"]
    lines += ["alone or with other reasonably available information, and documents methods and results.", ""]
    lines += ["| fact or question | filled in | to be judged |", "| --- | --- | --- |"]
    promise = "unknown" if findings.release is None else "see the promise under `What was compared`"
    unique = next((one.score for one in findings.risk if _name(one) == "uniqueness"), None)
    shares = "not measured: no quasi-identifier is declared, or no attack was carried out"
    if unique is not None:
        shares = ", ".join(f"{name} {_figure(value)}" for name, value in unique.breakdown.items())
    method = "unknown" if findings.release is None else findings.release.method
    rows = (
        ("Expert, with knowledge and experience", "", "name, qualification"),
        ("Anticipated recipients and their agreements", "", "who, under which terms, until when"),
        ("Method that made the release", method, "is it generally accepted for this purpose?"),
        ("Formal promise", promise, "does it cover the risk that is judged here?"),
        ("Shares of records that are unique on the quasi-identifiers", shares, "is the risk very small?"),
        ("Date on which the determination expires", "", ""),
    )
    lines += [f"| {' | '.join(map(_plain, row))} |" for row in rows]
    lines += ["", "### 2.1 Each column", ""]
    lines += ["Replicability: does the value stay the same over time? Availability: who else knows it? Distinguishing:"]
    lines += ["how far does it set a person apart?", ""]
    lines += ["| column | declared role | levels | replicable | available elsewhere | distinguishing |"]
    lines += ["| --- | --- | --- | --- | --- | --- |"]
    lines += [_column(column) for column in findings.codebook.released]
    lines += ["", "### 2.2 Result", "", *_JUDGEMENT, ""]
    return lines


def _column(column: Column) -> str:
    return f"| {_plain(column.name)} | {column.role.value} | {column.size:,} | | | |"
