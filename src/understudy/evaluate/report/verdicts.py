"""One verdict per question that a board asks, in words, from facts and limits alone.

The rules are written down for readers in docs/guide/evaluate.md. They have no constants but the limits of the board.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from understudy.evaluate.board import Board
from understudy.evaluate.report.facts import Fact, Use
from understudy.evaluate.report.intruder import Attacks, risk_facts
from understudy.evaluate.report.release_facts import ReleaseFacts
from understudy.pages.numbers import number
from understudy.privacy.guarantees import ApproxDP, PureDP, guarantee_from_dict
from understudy.privacy.spelling import at_most

Status = Literal["good", "bad", "open"]
NOT_MEASURED = "Risk was not measured: no quasi-identifier is declared."
_WORST = 3


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """The answer to one question."""

    question: str
    status: Status
    answer: str
    points: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Judgement:
    """Everything on the first screen of a report."""

    decision: str
    status: Status
    promise: Verdict
    may: Verdict
    must_not: Verdict
    intruder: Verdict
    worst: tuple[str, ...]
    uses: tuple[Use, ...]

    @property
    def verdicts(self) -> tuple[Verdict, ...]:
        """In the order in which a board asks."""
        return (self.promise, self.may, self.must_not, self.intruder)


def judge(
    *,
    release: ReleaseFacts | None,
    records: int,
    uses: Sequence[Use],
    attacks: Attacks,
    board: Board,
    untested: Sequence[str] = (),
) -> Judgement:
    """Answer the four questions. ``untested`` says what was not compared, and why."""
    promise, intruder = _promise(release, records, board), _intruder(attacks, board)
    may, must_not = _may(uses), _must_not(uses, untested)
    decision, status = _decision(promise, intruder, may)
    return Judgement(
        decision=decision,
        status=status,
        promise=promise,
        may=may,
        must_not=must_not,
        intruder=intruder,
        worst=_worst(uses, risk_facts(attacks, board)),
        uses=tuple(uses),
    )


def _decision(promise: Verdict, intruder: Verdict, may: Verdict) -> tuple[str, Status]:
    """The weakest link decides; usefulness comes after safety."""
    if "bad" in (promise.status, intruder.status):
        why = " ".join(verdict.answer for verdict in (promise, intruder) if verdict.status == "bad")
        return f"At these limits: do not publish. {why}", "bad"
    if "open" in (promise.status, intruder.status):
        open_one = intruder if intruder.status == "open" else promise
        return f"At these limits: not yet to be decided. {open_one.answer}", "open"
    if may.status == "bad":
        return "At these limits: of no use. It might be published, but nothing that was measured is right.", "bad"
    return "At these limits: may be published, for the uses below and no others.", "good"


def _promise(release: ReleaseFacts | None, records: int, board: Board) -> Verdict:
    question = "What was promised?"
    if release is None:
        answer = "Nothing is known: the table came without a manifest. Treat it as confidential."
        return Verdict(question=question, status="bad", answer=answer)
    if release.problems:
        answer = "Nothing to rely on: the release does not verify."
        return Verdict(question=question, status="bad", answer=answer, points=release.problems)
    total = guarantee_from_dict(release.guarantee)
    points = [f"Method {release.method}, made {release.created[:10]}."]
    if board.day is not None and board.day > release.created[:10]:
        points.append(f"The limits are dated {board.day}, after the release was made.")
    if isinstance(total, PureDP | ApproxDP):
        return _differential(question, total, records, board, points)
    if not total.is_formal:
        answer = f"Nothing: {getattr(total, 'why', 'no formal promise').rstrip('.')}."
        return Verdict(question=question, status="bad", answer=answer, points=tuple(points))
    answer = "A promise of another kind than differential privacy, to which the limit on epsilon does not apply."
    return Verdict(question=question, status="open", answer=answer, points=tuple(points))


def _differential(question: str, total: PureDP | ApproxDP, records: int, board: Board, points: list[str]) -> Verdict:
    unit = total.neighbours.unit
    times = f"e to the power {_at_most(total.epsilon)}" if total.epsilon >= 30 else _at_most(math.exp(total.epsilon), 3)
    slack = f", but for a chance of {one_in(total.delta)}" if total.delta else ""
    answer = (
        f"Epsilon {_at_most(total.epsilon)} for each {unit} (limit {number(board.most_epsilon)}): no {unit} makes "
        f"anything that is seen more than {times} times likelier or rarer{slack}."
    )
    status: Status = "good" if total.epsilon <= board.most_epsilon else "bad"
    if status == "bad":
        answer = f"Too little. {answer}"
    if total.delta * records >= 1:
        status = "bad"
        shown = f"Delta is {one_in(total.delta)} and there are {records:,} records: one could be shown whole."
        answer = f"{shown} {answer}"
    return Verdict(question=question, status=status, answer=answer, points=tuple(points))


def _at_most(value: float, digits: int = 4) -> str:
    """Rounded up, without an exponent."""
    return number(float(at_most(value, digits)))


def one_in(probability: float) -> str:
    """A small probability as people say it, never a smaller one.

    >>> one_in(1e-6), one_in(0.3)
    ('1 in 1,000,000', '1 in 3')
    """
    return f"1 in {math.floor(1 / probability * (1 + 1e-12)):,}"


def _may(uses: Sequence[Use]) -> Verdict:
    question = "What may analysts use it for?"
    allowed = tuple(use.sentence for use in uses if use.allowed)
    if not allowed:
        return Verdict(question=question, status="bad", answer="Nothing that was measured is within the limits.")
    answer = f"{len(allowed)} of {len(uses)} uses that were measured are within all limits."
    return Verdict(question=question, status="good", answer=answer, points=allowed)


def _must_not(uses: Sequence[Use], untested: Sequence[str]) -> Verdict:
    question = "What must they not use it for?"
    refused = tuple(use.sentence for use in uses if not use.allowed)
    always = (*untested, "Statements about one person, and about groups too small to be counted here.")
    if refused:
        answer = f"{len(refused)} of {len(uses)} uses that were measured are beyond a limit."
        return Verdict(question=question, status="bad", answer=answer, points=(*refused, *always))
    return Verdict(
        question=question, status="good", answer="Nothing that was measured is beyond its limit.", points=always
    )


def _intruder(attacks: Attacks, board: Board) -> Verdict:
    question = "What does an intruder gain?"
    facts = risk_facts(attacks, board)
    points = tuple(f"{fact.says}." for fact in facts)
    limit = f"the limit of {number(100 * board.attack_gain)} points"
    if any(fact.held == "beyond" for fact in facts):
        points = (*points, NOT_MEASURED) if not attacks.quasi else points
        lead = "Too many rows copy one person, beyond" if attacks.gains is None else "An intruder gains more than"
        answer = f"{lead} {limit}. {facts[0].says[:1].upper()}{facts[0].says[1:]}."
        return Verdict(question=question, status="bad", answer=answer, points=points)
    if attacks.level == "none":
        return Verdict(question=question, status="open", answer="Risk was not measured: it was asked to be left out.")
    if not attacks.quasi:
        return Verdict(question=question, status="open", answer=NOT_MEASURED, points=points)
    if attacks.gains is None:
        answer = "Gains were not measured: nobody was held out to compare with (--holdout)."
        return Verdict(question=question, status="open", answer=answer, points=points)
    if not facts:
        answer = "No attack could be tried: a table of people is empty."
        return Verdict(question=question, status="open", answer=answer, points=points)
    if not attacks.sensitive:
        points = (*points, "No column is declared sensitive, so nobody guessed at one.")
    if any(fact.held == "open" for fact in facts):
        answer = f"It cannot be told: an interval reaches beyond {limit}. Hold out more records."
        return Verdict(question=question, status="open", answer=answer, points=points)
    answer = f"No attack that was tried gained more than {limit}. Attacks show danger; only the promise shows safety."
    return Verdict(question=question, status="good", answer=answer, points=points)


def _worst(uses: Sequence[Use], risks: Sequence[Fact]) -> tuple[str, ...]:
    """The worst fact of each kind, the worst kinds first; more of the same kinds where there are few."""
    kinds = [[(use.title, fact) for fact in use.facts] for use in uses] + [[("An intruder", fact) for fact in risks]]

    def rank(item: tuple[str, Fact]) -> tuple[int, float]:
        return (("beyond", "open", "within").index(item[1].held), -item[1].severity)

    first = sorted((kind[0] for kind in kinds if kind), key=rank)
    rest = sorted((item for kind in kinds for item in kind[1:]), key=rank)
    return tuple(f"{title}: {fact.says}." for title, fact in [*first, *rest][:_WORST])


def judgement_dict(judgement: Judgement) -> dict[str, Any]:
    """As plain data for the JSON document and the page."""
    return {
        "decision": judgement.decision,
        "status": judgement.status,
        "verdicts": [vars(verdict) for verdict in judgement.verdicts],
        "worst": list(judgement.worst),
        "uses": [
            {**vars(use), "allowed": use.allowed, "facts": [vars(fact) for fact in use.facts]} for use in judgement.uses
        ],
    }
