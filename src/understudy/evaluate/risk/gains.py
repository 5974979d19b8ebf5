"""What attacks gain about the people in the data over people held out, all in one unit: percentage points of success.

0 means that somebody whose record was never used would be guessed as well. Membership by looking a record up and
attribute inference are counted here; attacks that draw at random (Giomi et al.) and shadow models bring their rates.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from understudy.evaluate.metric import Score
from understudy.evaluate.risk.cells import open_cells
from understudy.evaluate.risk.copies import copied
from understudy.evaluate.risk.guesses import misses
from understudy.evaluate.risk.intervals import Rate, wilson
from understudy.sources.base import Source


@dataclass(frozen=True, kw_only=True)
class Gain:
    """Extra success of one attack, with its 95 % interval; fractions, so 0.05 is 5 points."""

    attack: str
    says: str
    """How the attack goes."""
    inside: float
    """How often it succeeds on people in the data."""
    outside: float
    """How often it succeeds on people whose records were not used."""
    value: float
    low: float
    high: float


def difference(inside: Rate, outside: Rate) -> Rate:
    """The interval of a difference of two shares (Newcombe 1998, method 10).

    >>> found = difference(wilson(56, 70), wilson(48, 80))
    >>> round(found.value, 4), round(found.low, 4), round(found.high, 4)
    (0.2, 0.0524, 0.3339)
    """
    value = inside.value - outside.value
    below = math.hypot(inside.value - inside.low, outside.high - outside.value)
    above = math.hypot(inside.high - inside.value, outside.value - outside.low)
    return Rate(value=value, low=value - below, high=value + above)


def counted_gains(
    real: Source, synthetic: Source, holdout: Source, *, quasi: Sequence[str], sensitive: Sequence[str]
) -> list[Gain]:
    """Membership by looking a whole record up and, with quasi-identifiers, guesses of each sensitive value."""
    names = real.codebook.names
    people, copy, others = (open_cells(source, names) for source in (real, synthetic, holdout))
    gains = [
        _gain(
            "membership",
            "Is this person in the data? Yes, if a synthetic row equals their record.",
            wilson(copied(people, copy), people.rows),
            wilson(copied(others, copy), others.rows),
        )
    ]
    for name in sensitive if quasi else ():
        columns = (*quasi, name)
        people, copy, others = (open_cells(source, columns) for source in (real, synthetic, holdout))
        right = [wilson((1 - misses(table, copy)) * table.rows, table.rows) for table in (people, others)]
        gains.append(
            _gain(
                f"{name} guessed",
                f"{name} of somebody whose {', '.join(quasi)} are known: the commonest value among the synthetic rows "
                "like them.",
                *right,
            )
        )
    return gains


_OF_SCORES = {
    "membership": ("membership, method rerun", "Is this person in the data? By rerunning the method with and without."),
    "inference": ("{about}, from the nearest row", "All other columns are known; the value of the nearest row."),
    "singling_out": ("singling out", "A description that fits one synthetic row fits exactly one person."),
    "linkability": ("linking two files", "Two halves of what is known lead to the same synthetic row."),
}


def gains_of(scores: Iterable[Score]) -> list[Gain]:
    """The gains of attacks that a report with ``risk="full"`` carried out, where there were people held out."""
    gains = []
    for score in scores:
        name, _, about = score.metric.partition(": ")
        parts = score.breakdown
        if name not in _OF_SCORES or math.isnan(score.value):
            continue
        title, says = _OF_SCORES[name][0].format(about=about), _OF_SCORES[name][1]
        if name == "membership" and score.low is not None and score.high is not None:
            # accuracy on equally many runs with and without: the difference of both rates is 2 accuracy - 1
            value, low, high = (2 * x - 1 for x in (score.value, score.low, score.high))
            rates = (parts["true positives"], parts["false positives"])
            gains.append(
                Gain(attack=title, says=says, inside=rates[0], outside=rates[1], value=value, low=low, high=high)
            )
        elif "control" in parts and parts.get("tried", 0) > 0:
            attack = parts.get("attack at the control's size", parts["attack"])
            inside = wilson(attack * parts["tried"], parts["tried"])
            gains.append(
                _gain(
                    title, says, inside, wilson(parts["control"] * parts["tried, held out"], parts["tried, held out"])
                )
            )
    return gains


def _gain(attack: str, says: str, inside: Rate, outside: Rate) -> Gain:
    gap = difference(inside, outside)
    return Gain(
        attack=attack,
        says=says,
        inside=inside.value,
        outside=outside.value,
        value=gap.value,
        low=gap.low,
        high=gap.high,
    )
