"""What was promised, in words a disclosure board can read. Nothing here is looser than the proof behind it.

One writer for tables, counts, commutes, scores and anonymised tables.
"""

import math
from collections.abc import Mapping
from enum import StrEnum

from understudy.privacy.guarantees import ApproxDP, Guarantee, KAnonymous, LDiverse, Neighbours, NoFormal, PureDP
from understudy.privacy.ledger import Ledger
from understudy.privacy.provenance import InputRole, Provenance
from understudy.privacy.spelling import at_least, at_most, short_promise

_WEAK_EPSILON = 10.0
_WEAK_DELTA = 1e-3


class Subject(StrEnum):
    """What a statement speaks of, and how a sentence about it begins."""

    _value_: str
    beginning: str

    def __new__(cls, value: str, beginning: str = "") -> "Subject":
        """A word with its sentence."""
        member = str.__new__(cls, value)
        member._value_, member.beginning = value, beginning
        return member

    ROWS = "rows", "This file of {rows:,} rows"
    COUNTS = "counts", "This table of {rows:,} counts"
    SCORE = "score", "This risk score"
    ANSWER = "figures", "This answer of {rows:,} figures"
    PEOPLE = "people", "This release of linked tables about {rows:,} people"


def statement(
    ledger: Ledger,
    total: Guarantee,
    *,
    rows: int,
    route: str,
    paper: str | None,
    subject: Subject = Subject.ROWS,
    inputs: Mapping[InputRole, Provenance] | None = None,
    looked: bool = False,
    call: Guarantee | None = None,
) -> str:
    """The promise of what was made, its limits, and what it takes for granted."""
    if isinstance(total, NoFormal):
        return _informal(total, subject.beginning.format(rows=rows), subject)
    if isinstance(total, LDiverse):
        return " ".join([_diverse(ledger, total, rows, paper), *grounds(inputs or {}, looked)])
    if isinstance(total, KAnonymous):
        return " ".join([_anonymous(ledger, total, rows), *grounds({}, looked)])
    assert isinstance(total, PureDP | ApproxDP)
    commuting = total.neighbours is Neighbours.ORIGIN
    scoring = subject is Subject.SCORE
    # of a score only the training: answers may cost more
    called = "The training of this risk score" if scoring else subject.beginning.format(rows=rows)
    delta = "" if total.delta == 0 else f", delta = {at_most(total.delta)}"
    lines = [
        f"{called} is (epsilon = {at_most(total.epsilon)}{delta})-differentially private for {total.neighbours.plain}.",
        _meaning(total, total.neighbours.unit),
    ]
    if total.epsilon > _WEAK_EPSILON:
        lines.append(
            f"An epsilon of {at_most(total.epsilon)} is a weak promise: take it as bookkeeping, not as protection."
        )
    if total.delta >= _WEAK_DELTA:
        lines.append(
            f"A delta of {at_most(total.delta)} is a weak promise: with that probability nothing at all is promised, "
            "and one record in so many could be shown whole."
        )
    if route == "N":
        lines.append("The perturbed tables were released once; the rows are drawn from them and cost nothing more.")
    elif route == "counts":
        lines.append("Every count has noise of its own; to count again is to pay again.")
    elif route == "answer":
        lines.append("Every figure rests on noisy sums that were measured once; to ask again is to pay again.")
    elif route == "score":
        lines += _answers(ledger, call)
    else:
        lines.append("The price covers all rows together; drawing again from the same data pays again.")
    if paper:
        lines.append(paper if commuting else f"{paper} That per-row figure alone is not the cost of this file.")
    lines += _assumed(ledger)
    lines += grounds(inputs or {}, looked, commuting=commuting)
    chosen = "method and settings" if scoring else "method, settings and number of rows"
    figures = "quality figures that no line above pays for, " if scoring else ""
    lines.append(
        f"It covers this file as it is: {chosen} must have been chosen without looking at the data, and figures "
        f"computed from the data ({figures}an evaluation, a risk-utility map, an audit) are not in the price."
    )
    lines.append("It says nothing about what the data as a whole teach about groups of people.")
    if scoring:
        lines.append(
            "It protects the people in the training data; it hides no caller's own input from whoever sees the score."
        )
    return " ".join(lines)


def _assumed(ledger: Ledger) -> list[str]:
    assumptions = ledger.assumptions
    return [f"It holds given that: {'; '.join(assumptions)}."] if assumptions else []


def grounds(inputs: Mapping[InputRole, Provenance], looked: bool, *, commuting: bool = False) -> list[str]:
    """What was declared about the tables that went in, and which earlier releases are in the price."""
    lines = []
    if InputRole.DATA in inputs and not inputs[InputRole.DATA].is_release:
        rows = (
            "workers, each counted once"
            if commuting
            else "records of people as they were collected, each row a record of its own"
        )
        lines.append(f"The table it was made from is taken as declared: {rows}.")
    public = [role for role, table in inputs.items() if role.is_public and not table.is_release]
    if public:
        lines.append(f"Declared public, and taken as such: {', '.join(role.value for role in public)}.")
    lines += [
        f"The release {table.release}, used as {role.value}, is in the price."
        for role, table in inputs.items()
        if role.is_public and table.is_release
    ]
    if looked:
        lines.append("It was chosen or approved after a confidential look at the data, which is not in the price.")
    return lines


def _answers(ledger: Ledger, call: Guarantee | None) -> list[str]:
    """What training showed, and what answers cost."""
    parts = "; ".join(f"{entry.reads}: {short_promise(entry.guarantee)}" for entry in ledger)
    lines = [f"Training paid for: {parts}."] if parts else []
    if call is None:
        lines.append("All numbers of the model were released once: answers are post-processing and free.")
    elif isinstance(call, PureDP):
        lines.append(
            f"Leaf counts stay secret: every new question costs another epsilon = {at_most(call.epsilon)}, and the "
            "total is training plus all answers."
        )
    return lines


def _meaning(total: PureDP | ApproxDP, unit: str) -> str:
    if total.epsilon == 0 and total.delta == 0:
        return "In words: nothing that is seen here depends on the data."
    slack = "" if total.delta == 0 else f", except with probability {at_most(total.delta)}"
    factor = math.exp(total.epsilon) if total.epsilon < 700 else math.inf
    size = at_most(factor, 3) if math.isfinite(factor) else f"e^{at_most(total.epsilon)}"
    return f"In words: no {unit} can make anything that is seen here more than {size} times likelier or rarer{slack}."


def _informal(total: NoFormal, called: str, subject: Subject) -> str:
    if subject is Subject.SCORE:
        treat = "it, and every answer of it, as you would treat the confidential data"
    else:
        treat = "it as you would treat the confidential data, unless an evaluation of its risk says otherwise"
    return f"{called} has no formal privacy guarantee. Why: {total.why}. Treat {treat}."


def _diverse(ledger: Ledger, total: LDiverse, rows: int, paper: str | None) -> str:
    """The words of PRIVACY section 4, and what they do not cover."""
    lines = [
        "Synthetic entropy l-diversity of the sampling distributions. This is not differential privacy and gives no "
        "bound on membership inference.",
        f"In words: each value in this file of {rows:,} rows was drawn from a distribution whose entropy, given all "
        f"that was drawn before it, is at least log l = {at_least(math.log(total.l))} nats (l = {at_least(total.l)}).",
    ]
    if total.l <= 1:
        lines.append("An l of 1 asks for nothing: as it stands this file promises nothing.")
    if paper:
        lines.append(paper)
    lines.append(
        "Whoever links the file to another table on columns that both have learns more: the link gain, how much "
        "likelier the right value becomes, is bounded only by 1 / Pr(right value | those columns), which l does not "
        "make small. Further files drawn from the same data show the distributions themselves more and more closely."
    )
    lines += _assumed(ledger)
    return " ".join(lines)


def _anonymous(ledger: Ledger, total: KAnonymous, rows: int) -> str:
    """PRIVACY section 10: what k rows alike mean, and all that they do not."""
    event = ledger.entries[0].event
    names = ", ".join(getattr(event, "quasi_identifiers", ()))
    lines = [
        f"This table of {rows:,} rows is {total.k}-anonymous for the quasi-identifiers {names}: every combination "
        f"of their values that occurs is shared by at least {total.k} rows."
    ]
    if criteria := getattr(event, "criteria", ()):
        lines.append(f"Every such class of rows also has {', '.join(criteria)}.")
    lines.append(
        "This is a property of this table alone. It is not differential privacy and gives no bound against other "
        "releases about the same people, against an intruder who knows more than the quasi-identifiers, or on what "
        "all rows of one class have in common. The rows are records of real people, made vaguer."
    )
    lines += _assumed(ledger)
    return " ".join(lines)
