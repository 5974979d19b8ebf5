"""The plane of risk and utility: where each method stands at each epsilon, and which points a board accepts.

Utility is the share of pairs of columns that stay right: no share of two levels is off by more than the board allows.
Risk is what the best attack gains on people in the data over people left out. A point is judged by the upper end of the
interval of its risk, or by what its epsilon proves where that is less.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from statistics import fmean
from typing import Any

from understudy.evaluate.board import Board
from understudy.evaluate.risk.intervals import Z95
from understudy.evaluate.rumap.aside import GAIN
from understudy.evaluate.rumap.pair_errors import kept
from understudy.pages.numbers import number
from understudy.privacy.guarantees import Neighbours


@dataclass(frozen=True, kw_only=True)
class Spot:
    """One method at one epsilon: means over the repeats."""

    method: str
    epsilon: float | None
    total: float | None
    """The epsilon that a published file would promise; None without a promise."""
    utility: float
    risk: float
    risk_high: float
    """Of all attacks: one that gains little on average may be known badly."""
    attack: str
    """The attack that gained most."""
    proven: float | None
    """What no attack can gain, by the promise of the file."""
    runs: int

    @property
    def risk_at_most(self) -> float:
        """What the point is judged by."""
        return self.risk_high if self.proven is None else min(self.risk_high, self.proven)

    @property
    def label(self) -> str:
        """As a person says it."""
        return self.method if self.epsilon is None else f"{self.method} at epsilon {number(self.epsilon)}"

    def faults(self, board: Board) -> list[tuple[float, str]]:
        """What the board does not accept: by how much it is missed, and the words for it."""
        found = []
        if self.utility < board.usable_pairs:
            words = f"{_share(self.utility)} % of the pairs stay right where {_share(board.usable_pairs)} % must"
            found.append((board.usable_pairs - self.utility, words))
        if self.risk_at_most > board.attack_gain:
            words = f"attacks may gain {_share(self.risk_at_most)} points where {_share(board.attack_gain)} are allowed"
            found.append((self.risk_at_most - board.attack_gain, words))
        if self.total is None:
            found.append((1.0, "it promises nothing"))
        elif self.total > board.most_epsilon:
            words = f"the file promises epsilon {number(self.total)} where {number(board.most_epsilon)} is allowed"
            found.append((1 - board.most_epsilon / self.total, words))
        return found


def proven_gain(epsilon: float | None, delta: float | None, neighbours: str | None) -> float | None:
    """What any attack can gain on people in the data over people held out, by the promise of the file.

    Held out and kept people have changed places by chance, so that what is compared is a person with another in their
    place: one step where a promise is about replacing a record, two where it is about adding or removing one (2 eps and
    delta (1 + e^eps)). A guess is computed from the release, so that its chances obey the promise, and differ by at
    most (e^eps - 1 + 2 delta) / (e^eps + 1) (Kairouz, Oh, Viswanath 2015). Records are held out, not persons: a promise
    about persons says nothing of that.

    >>> proven_gain(0.0, 0.0, "add-remove"), round(proven_gain(1.0, 0.0, "replace-one"), 3)
    (0.0, 0.462)
    >>> round(proven_gain(1.0, 0.0, "add-remove"), 3), proven_gain(1.0, 0.0, "add-remove-person")
    (0.762, None)
    """
    if epsilon is None or neighbours not in (Neighbours.ADD_REMOVE, Neighbours.REPLACE):
        return None
    slack = delta or 0.0
    epsilon = min(epsilon, 300.0)
    if neighbours == Neighbours.ADD_REMOVE:
        epsilon, slack = 2 * epsilon, slack * (1 + math.exp(epsilon))
    return min(math.tanh(epsilon / 2) + 2 * slack / (math.exp(epsilon) + 1), 1.0)


def spots(doc: Mapping[str, Any], board: Board) -> list[Spot]:
    """The points of a map, by method and epsilon; none where no record was set aside."""
    grouped: dict[tuple[str, float | None], list[Mapping[str, Any]]] = {}
    for run in doc["runs"]:
        if run["refused"] is None and any(name.startswith(GAIN) for name in run["measures"]):
            grouped.setdefault((run["method"], run["epsilon"]), []).append(run)
    order = {method: place for place, method in enumerate(doc["methods"])}
    return [_spot(*key, grouped[key], board) for key in sorted(grouped, key=lambda key: (order[key[0]], key[1] or 0.0))]


def _spot(method: str, epsilon: float | None, runs: Sequence[Mapping[str, Any]], board: Board) -> Spot:
    values = [run["measures"] for run in runs]
    attacks = [name for name in values[0] if name.startswith(GAIN) and not name.endswith(")")]
    gains = {attack: fmean(value[attack] for value in values) for attack in attacks}
    errors = {attack: _mean_error([value[f"{attack} (error)"] for value in values]) for attack in attacks}
    worst = max(gains, key=lambda attack: gains[attack])
    return Spot(
        method=method,
        epsilon=epsilon,
        total=runs[0]["total_epsilon"],
        utility=fmean(kept(run["pair_errors"], board.share_error) for run in runs),
        risk=gains[worst],
        risk_high=max(0.0, *(gain + Z95 * errors[attack] for attack, gain in gains.items())),
        attack=worst.removeprefix(GAIN),
        proven=proven_gain(runs[0]["total_epsilon"], runs[0]["total_delta"], runs[0].get("total_neighbours")),
        runs=len(runs),
    )


def _mean_error(errors: Sequence[float]) -> float:
    """Of a mean over repeats, each of which set other records aside."""
    return math.sqrt(fmean(error**2 for error in errors) / len(errors))


def frontier(points: Sequence[Spot]) -> list[Spot]:
    """Points that no other beats in utility and risk at once, by rising utility."""
    best: list[Spot] = []
    for spot in sorted(points, key=lambda spot: (-spot.utility, spot.risk_at_most)):
        if not best or spot.risk_at_most < best[-1].risk_at_most:
            best.append(spot)
    return best[::-1]


def advice(points: Sequence[Spot], board: Board) -> str:
    """One sentence: what the board accepts, or what comes nearest."""
    if not points:
        return "Risk was not measured, so there is no advice."
    methods = dict.fromkeys(spot.method for spot in points)
    accepted = [words for method in methods if (words := _stretches(method, points, board))]
    if accepted:
        return f"At these thresholds: {'; '.join(accepted)}."
    nearest = min(points, key=lambda spot: (sum(by for by, _ in spot.faults(board)), spot.risk_at_most))
    why = ", and ".join(words for _, words in nearest.faults(board))
    return f"No method here is acceptable: nearest is {nearest.label}, but {why}."


def _stretches(method: str, points: Sequence[Spot], board: Board) -> str:
    """The parts of a method's path that are accepted, or nothing."""
    parts: list[list[Spot]] = []
    before = False
    for spot in (spot for spot in points if spot.method == method):
        now = not spot.faults(board)
        if now and before:
            parts[-1].append(spot)
        elif now:
            parts.append([spot])
        before = now
    ends = [(number(part[0].epsilon), number(part[-1].epsilon)) for part in parts]
    said = " and ".join(low if low == high else f"{low} to {high}" for low, high in ends)
    return f"{method} at epsilon {said}" if said else ""


def _share(share: float) -> str:
    """A share in hundredths, to a tenth.

    >>> _share(0.0512), _share(0.9)
    ('5.1', '90')
    """
    return f"{100 * share:.1f}".removesuffix(".0")


def plane(doc: Mapping[str, Any], board: Board) -> dict[str, Any]:
    """The plane as plain data: points, board and advice; the page draws nothing else."""
    points = spots(doc, board)
    best = frontier(points)
    return {
        "points": [
            {
                **asdict(spot),
                "risk_at_most": spot.risk_at_most,
                "faults": [words for _, words in spot.faults(board)],
                "frontier": spot in best,
            }
            for spot in points
        ],
        "board": board.to_dict(),
        "best_utility": kept(doc["best_errors"], board.share_error),
        "advice": advice(points, board),
    }
