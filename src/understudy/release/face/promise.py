"""The promise as odds: how often an intruder is right at most, with this release and without it.

Of two possibilities that are equally likely beforehand, (epsilon, delta)-differential privacy lets nobody tell the
right one more often than in (e^epsilon + delta) / (1 + e^epsilon) of all cases: the total variation distance between
the outcomes is at most (e^epsilon - 1 + 2 delta) / (e^epsilon + 1), and the best guess is right in half of 1 + that.
Whoever wrongly suspects a share f of people is right about at most min(e^epsilon f + delta, 1 - e^-epsilon (1 - f -
delta)) of the others. Both hold for any test whatever [KOV15].
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from understudy.privacy.guarantees import ApproxDP, Guarantee, KAnonymous, LDiverse, Neighbours, NoFormal, PureDP
from understudy.privacy.spelling import at_least, at_most, short_promise

WRONGLY = 0.05
"""Share of people whom the intruder of the second sentence suspects wrongly."""
_WEAK = 10.0
_ASKED = {
    Neighbours.ADD_REMOVE: "whether one record is in the data or not",
    Neighbours.REPLACE: "which of two contents one record has",
    Neighbours.ORIGIN: "in which of two places one worker lives",
    Neighbours.ADD_REMOVE_PERSON: "whether one person is in the data, with all their records, or not",
    Neighbours.REPLACE_PERSON: "which of two histories one person has",
}


@dataclass(frozen=True, kw_only=True)
class Card:
    """What the promise comes to."""

    title: str
    lead: str
    """The sentence that everybody reads."""
    lines: tuple[str, ...] = ()
    right: float | None = None
    """How often the best guess between two possibilities is right at most, of 1; None where nothing bounds it."""


def best_guess(epsilon: float, delta: float) -> float:
    """How often an intruder is right at most who would be right in half of all cases without the release.

    >>> best_guess(0, 0), round(best_guess(1, 0), 4), best_guess(800, 0)
    (0.5, 0.7311, 1.0)
    """
    return min(1.0, (1 + delta * math.exp(-epsilon)) / (1 + math.exp(-epsilon)))


def rightly_suspected(epsilon: float, delta: float, wrongly: float = WRONGLY) -> float:
    """The largest share of people in the data who can be recognised by whoever suspects so many others wrongly.

    >>> round(rightly_suspected(1, 0), 4), rightly_suspected(0, 0), rightly_suspected(800, 0)
    (0.1359, 0.05, 1.0)
    """
    by_ratio = math.inf if epsilon > 700 else math.exp(epsilon) * wrongly + delta
    return min(1.0, by_ratio, 1 - math.exp(-epsilon) * (1 - wrongly - delta))


def card_of(total: Guarantee, quasi_identifiers: Sequence[str] = ()) -> Card:
    """The promise in odds and words."""
    if isinstance(total, PureDP | ApproxDP):
        return _private(total)
    if isinstance(total, KAnonymous):
        return _anonymous(total, quasi_identifiers)
    if isinstance(total, LDiverse):
        return Card(
            title="A promise about guessing values, not about taking part",
            lead="How well somebody can find out that a person is in the data is not bounded.",
            lines=(
                f"Every value was drawn from a spread of values at least as wide as {at_least(total.l)} equally likely "
                "ones (entropy l-diversity). This is not differential privacy.",
            ),
        )
    why = total.why if isinstance(total, NoFormal) else total.kind
    return Card(
        title="No formal privacy promise",
        lead="Nothing here limits what an intruder can learn about a person.",
        lines=(f"Why: {why}.", "Treat it as you would treat the confidential data."),
    )


def _private(total: PureDP | ApproxDP) -> Card:
    if total.epsilon == 0 and total.delta == 0:
        return Card(title="Nothing here depends on the data", lead="Nobody can learn anything from it about anybody.")
    right, found = best_guess(total.epsilon, total.delta), rightly_suspected(total.epsilon, total.delta)
    lines = [
        f"Whoever wrongly suspects 5 of 100 people finds at most {of_100(found)} of 100 of those of whom it is true.",
        "This holds for every computation, now and later, also for an intruder who knows all other records.",
        f"In the words of the field: differential privacy, {short_promise(total)}, for {total.neighbours.plain}.",
    ]
    if total.delta:
        lines.append("Delta, the small probability with which the limit may fail, is counted in these odds.")
    if total.epsilon > _WEAK:
        lines.insert(0, "That is hardly a limit: take the figure as bookkeeping, not as protection.")
    return Card(
        title="What an intruder can learn at most",
        lead=f"Asked {_ASKED[total.neighbours]}, a coin is right 50 times of 100. Whoever has this release is right at "
        f"most {of_100(right)} times of 100.",
        lines=tuple(lines),
        right=right,
    )


def _anonymous(total: KAnonymous, names: Sequence[str]) -> Card:
    known = ", ".join(names) or "the quasi-identifiers"
    return Card(
        title=f"{total.k} rows or more look alike",
        lead=f"Somebody who knows of a person {known}, and nothing else, finds at least {total.k} rows that fit.",
        lines=(
            f"Picking one of them, they are right at most once in {total.k} times; what all of them have in common "
            "they learn for certain.",
            "This is not differential privacy: whoever knows more, or has another table about the same people, may "
            "learn more, and nothing bounds how much.",
        ),
    )


def not_covered(total: Guarantee, *, looked: bool, account: str) -> list[str]:
    """What the promise leaves out, in sentences."""
    lines = []
    if isinstance(total, PureDP | ApproxDP):
        if total.neighbours.unit == "record":
            two = best_guess(2 * total.epsilon, min(1.0, total.delta * (1 + math.exp(min(total.epsilon, 700.0)))))
            lines.append(
                f"People with several records: the odds are those of one record. About somebody with two, whoever has "
                f"this release is right at most {of_100(two)} times of 100."
            )
        lines.append(
            "What the data teach about groups: somebody may learn something about a person from what is true of people "
            "like them, whether or not that person is in the data."
        )
        lines.append("Figures computed from the confidential data elsewhere: an evaluation, an audit, another table.")
    lines.append(f"Other releases about the same people; they add up. This one was {_paid_by(account)}.")
    if looked:
        lines.append("What was seen in a confidential look at the data before this release was chosen or approved.")
    return lines


def _paid_by(account: str) -> str:
    return "charged to no account" if account.startswith("none") else account


def of_100(share: float) -> str:
    """A share as so many of 100, never less than it is."""
    return at_most(min(100.0, 100 * share), 3)
