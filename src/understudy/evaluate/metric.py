"""What a metric says about itself, and the number that one run of it gave.

Scores are computed on confidential data and are not covered by the guarantee of the release.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal


@dataclass(frozen=True, kw_only=True)
class Metric:
    """The description of one number that a report may show."""

    name: str
    goal: Literal["minimize", "maximize"]
    """Which direction is good."""
    lowest: float
    highest: float
    """The range that the number can take; infinite where it has no bound."""
    room: Literal["utility", "risk"]
    says: str
    """What it says, in one sentence."""
    best: float | None = None
    """The best value, where it is not an end of the range."""

    @property
    def perfect(self) -> float:
        """The best value that there is."""
        if self.best is not None:
            return self.best
        return self.lowest if self.goal == "minimize" else self.highest


@dataclass(frozen=True, kw_only=True)
class Score:
    """One value of one metric, with the parts that it was made of."""

    metric: str
    """Name of the metric."""
    value: float
    """NaN where the metric is not defined for these tables; the note then says why."""
    breakdown: Mapping[str, float] = field(default_factory=dict)
    """Its parts by name: columns, tables (names joined by ' x '), coefficients, or reference lines."""
    low: float | None = None
    high: float | None = None
    """Ends of a confidence interval, where there is one."""
    note: str = ""
    """What a reader must know to read the number."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "value", float(self.value))
        plain = {str(name): float(value) for name, value in self.breakdown.items()}
        object.__setattr__(self, "breakdown", plain)

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON; numbers that JSON cannot hold (NaN, infinities) become None."""
        return {
            "metric": self.metric,
            "value": _plain(self.value),
            "breakdown": {name: _plain(value) for name, value in self.breakdown.items()},
            "low": _plain(self.low),
            "high": _plain(self.high),
            "note": self.note,
        }


def _plain(value: float | None) -> float | None:
    return None if value is None or not math.isfinite(value) else float(value)
