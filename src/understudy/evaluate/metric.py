"""What a metric says about itself, and the number that one run of it gave.

Scores are computed on confidential data and are not covered by the guarantee of the release.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from understudy.codec import to_plain
from understudy.evaluate.risk.intervals import Rate


@dataclass(frozen=True, kw_only=True)
class Metric:
    """The description of one number that a report may show."""

    name: str
    title: str
    """Its heading in a report."""
    says: str
    """What it says, in one sentence."""
    room: Literal["utility", "risk"] = "utility"
    goal: Literal["minimize", "maximize"] = "minimize"
    """Which direction is good."""
    lowest: float = 0.0
    highest: float = 1.0
    """The range that the number can take; infinite where it has no bound."""
    best: float | None = None
    """The best value, where it is not an end of the range."""
    of_models: bool = False
    """Whether it is about what models learn, and stands in their section of a report."""

    @property
    def perfect(self) -> float:
        """The best value that there is."""
        if self.best is not None:
            return self.best
        return self.lowest if self.goal == "minimize" else self.highest

    def score(self, value: float | Rate, parts: Mapping[str, float] | None = None, *, note: str = "") -> "Score":
        """A score of this metric; a rate brings its interval."""
        if isinstance(value, Rate):
            return Score(
                metric=self.name, value=value.value, breakdown=parts or {}, low=value.low, high=value.high, note=note
            )
        return Score(metric=self.name, value=value, breakdown=parts or {}, note=note)

    def mean(self, parts: Mapping[str, float], *, note: str = "", empty: str) -> "Score":
        """The mean of the parts; without any, the score is not defined and the note is ``empty``."""
        return self.score(float(np.mean(list(parts.values()))), parts, note=note) if parts else self.undefined(empty)

    def undefined(self, why: str) -> "Score":
        """A score without a value."""
        return self.score(math.nan, note=why)


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
        """Plain values for JSON."""
        plain: dict[str, Any] = json_ready(vars(self))
        return plain


def json_ready(value: Any) -> Any:
    """Plain data in which numbers that JSON cannot hold (NaN, infinities) are None.

    >>> json_ready({"a": float("nan"), "b": (1.5, float("inf"))})
    {'a': None, 'b': [1.5, None]}
    """
    plain = to_plain(value)
    if isinstance(plain, float):
        return plain if math.isfinite(plain) else None
    if isinstance(plain, dict):
        return {name: json_ready(item) for name, item in plain.items()}
    return [json_ready(item) for item in plain] if isinstance(plain, list) else plain
