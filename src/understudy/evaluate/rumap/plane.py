"""The plane of risk and utility: where each method stands at each epsilon, and which points a board would accept.

Utility is the share of rows that fit the real tables of two columns: one minus their mean total variation distance.
Risk is what the best attack gains on people in the data over people set aside, as a share. A point is judged by the
upper end of its risk's interval, or by what its epsilon proves where that is less.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from statistics import fmean, stdev
from typing import Any

from understudy.evaluate.risk.intervals import Z95
from understudy.evaluate.rumap.aside import INFERENCE, MEMBERSHIP
from understudy.pages.numbers import number

UTILITY = ("tvd_two_way", "tvd_one_way")
"""The first that was measured: a table of one column has no pairs."""


@dataclass(frozen=True, kw_only=True)
class Corner:
    """What a board accepts, set beforehand."""

    utility_least: float
    risk_most: float


@dataclass(frozen=True, kw_only=True)
class Spot:
    """One method at one epsilon: means over the repeats."""

    method: str
    epsilon: float | None
    utility: float
    utility_error: float
    """Standard error of the mean; 0 where there is one run."""
    risk: float
    risk_low: float
    risk_high: float
    """Of all attacks: one that gains little on average may be known badly."""
    attack: str
    """The measure of the attack that gained most."""
    proven: float | None
    """What no attack can gain by the promise of the file; None without a promise."""
    runs: int

    @property
    def risk_at_most(self) -> float:
        """What the point is judged by."""
        return self.risk_high if self.proven is None else min(self.risk_high, self.proven)

    def misses(self, corner: Corner) -> tuple[float, float]:
        """By how much it misses the utility and the risk asked for; 0 where it meets them."""
        return max(corner.utility_least - self.utility, 0.0), max(self.risk_at_most - corner.risk_most, 0.0)

    def is_in(self, corner: Corner) -> bool:
        """Whether a board accepts it."""
        return self.misses(corner) == (0.0, 0.0)

    @property
    def label(self) -> str:
        """As a person says it."""
        return self.method if self.epsilon is None else f"{self.method} at epsilon {number(self.epsilon)}"


def proven_gain(epsilon: float | None, delta: float | None) -> float | None:
    """What any attack can gain on a person in the data over the same person outside: (e^eps - 1 + 2 delta)/(e^eps + 1).

    The guess is computed from the release, so its chances in both worlds obey the promise (Kairouz et al. 2015).

    >>> proven_gain(0.0, 0.0), round(proven_gain(1.0, 0.0), 3), proven_gain(None, None)
    (0.0, 0.462, None)
    """
    if epsilon is None:
        return None
    return min(math.tanh(epsilon / 2) + 2 * (delta or 0.0) / (math.exp(min(epsilon, 700.0)) + 1), 1.0)


def spots(doc: Mapping[str, Any]) -> list[Spot]:
    """The points of a map, by method and epsilon; none where no record was set aside."""
    grouped: dict[tuple[str, float | None], list[Mapping[str, Any]]] = {}
    for run in doc["runs"]:
        if run["refused"] is None and run["measures"].get(MEMBERSHIP) is not None:
            grouped.setdefault((run["method"], run["epsilon"]), []).append(run)
    order = {method: place for place, method in enumerate(doc["methods"])}
    keys = sorted(grouped, key=lambda key: (order[key[0]], key[1] or 0.0))
    found = (_spot(method, epsilon, grouped[method, epsilon]) for method, epsilon in keys)
    return [spot for spot in found if spot is not None]


def _spot(method: str, epsilon: float | None, runs: Sequence[Mapping[str, Any]]) -> Spot | None:
    values = [run["measures"] for run in runs]
    name = next((name for name in UTILITY if all(value.get(name) is not None for value in values)), None)
    if name is None:
        return None
    utilities = [1 - value[name] for value in values]
    attacks = [key for key in values[0] if key.split(": ")[0] in (MEMBERSHIP, INFERENCE) and not key.endswith(")")]
    gains = {attack: fmean(value[attack] for value in values) for attack in attacks}
    worst = max(gains, key=lambda attack: gains[attack])
    errors = {attack: _mean_error([value[f"{attack} (error)"] for value in values]) for attack in attacks}
    return Spot(
        method=method,
        epsilon=epsilon,
        utility=fmean(utilities),
        utility_error=stdev(utilities) / math.sqrt(len(utilities)) if len(utilities) > 1 else 0.0,
        risk=gains[worst],
        risk_low=gains[worst] - Z95 * errors[worst],
        risk_high=max(gain + Z95 * errors[attack] for attack, gain in gains.items()),
        attack=worst,
        proven=proven_gain(runs[0]["total_epsilon"], runs[0]["total_delta"]),
        runs=len(runs),
    )


def _mean_error(errors: Sequence[float]) -> float:
    """Of a mean over repeats, each of which set other records aside."""
    return math.sqrt(fmean(error**2 for error in errors) / len(errors))


def frontier(points: Sequence[Spot]) -> list[Spot]:
    """Points that no other beats in utility and risk at once, by rising utility."""
    best: list[Spot] = []
    for spot in sorted(points, key=lambda spot: (-spot.utility, spot.risk)):
        if not best or spot.risk < best[-1].risk:
            best.append(spot)
    return best[::-1]


def advice(points: Sequence[Spot], corner: Corner) -> str:
    """One sentence: what lies in the corner, or what comes nearest."""
    if not points:
        return "No point can be placed on the plane, so there is no advice."
    inside = [
        words for method in dict.fromkeys(spot.method for spot in points) if (words := _range(method, points, corner))
    ]
    if inside:
        return f"At these thresholds: {'; '.join(inside)}."
    nearest = min(points, key=lambda spot: (sum(spot.misses(corner)), spot.risk))
    short, over = nearest.misses(corner)
    reasons = []
    if short:
        reasons.append(
            f"its utility is {_points(nearest.utility)} % where {_points(corner.utility_least)} % are asked for"
        )
    if over:
        reasons.append(
            f"its risk may be as high as {_points(nearest.risk_at_most)} points where {_points(corner.risk_most)} are allowed"
        )
    return f"No method here is acceptable: nearest is {nearest.label}; {' and '.join(reasons)}."


def _range(method: str, points: Sequence[Spot], corner: Corner) -> str:
    """The stretches of a method's path that lie in the corner, or nothing."""
    path = [spot for spot in points if spot.method == method]
    stretches: list[list[Spot]] = []
    for before, spot in zip([None, *path], path, strict=False):
        if spot.is_in(corner):
            if before is not None and before.is_in(corner):
                stretches[-1].append(spot)
            else:
                stretches.append([spot])
    if not stretches:
        return ""
    if path[0].epsilon is None:
        return f"{method} (which promises nothing)"
    ends = [(number(run[0].epsilon), number(run[-1].epsilon)) for run in stretches]
    return f"{method} at epsilon " + " and ".join(low if low == high else f"{low} to {high}" for low, high in ends)


def _points(share: float) -> str:
    """A share in points, to a tenth.

    >>> _points(0.0512), _points(0.9)
    ('5.1', '90')
    """
    return f"{100 * share:.1f}".removesuffix(".0")


def plane(doc: Mapping[str, Any], corner: Corner) -> dict[str, Any]:
    """The plane as plain data: points, frontier, corner and advice; the page draws nothing else."""
    points = spots(doc)
    best = frontier(points)
    return {
        "points": [
            {
                **asdict(spot),
                "risk_at_most": spot.risk_at_most,
                "accepted": spot.is_in(corner),
                "frontier": spot in best,
            }
            for spot in points
        ],
        "corner": asdict(corner),
        "advice": advice(points, corner),
    }
