"""The one price of all measurements of linked tables, for a whole person.

A person adds one row to the view of persons and a few rows to the view of every other table. Rows of one person may
all lie in one cell, so a table to which a person adds k rows costs k² times what it costs for one
(``proofs/histories.md``).
"""

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import ClassVar

from understudy.errors import ParameterError, RefusalError
from understudy.mechanisms.discrete_gaussian import LEAST_DELTA, LEAST_VARIANCE
from understudy.mechanisms.gaussian_measurements import GaussianMeasurements, joining_event
from understudy.parameters import Several, Whole, option
from understudy.privacy.guarantees import ApproxDP, Guarantee, Neighbours

_LEAST_UNITS, _MOST_UNITS = 1 << 16, 1 << 36
"""The most let the most ``steps`` take part, which are a thousand."""


@dataclass(frozen=True, kw_only=True)
class HistoryMeasurements(GaussianMeasurements):
    """Discrete Gaussian measurements of views, to each of which a person adds at most so many ``rows``."""

    kind: ClassVar[str] = "history-measurements"
    proof: ClassVar[str | None] = "histories.md"
    rows: tuple[int, ...] = option(
        rule=Several(each=Whole(), words="a list of whole numbers", example="1,2"),
        help="most rows of one person, by view",
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.rows or min(self.rows) < 1:
            raise ParameterError(
                f"`rows` is {self.rows}; it names for every view how many rows a person adds, 1 or more."
            )
        if self.neighbours is not Neighbours.ADD_REMOVE:
            raise ParameterError(
                f"`neighbours` is {self.neighbours.value!r}; views are proved for people who come or go, add-remove."
            )
        if max(self.rows) > 1 and (self.variance < LEAST_VARIANCE or self.delta < LEAST_DELTA):
            raise ParameterError(
                f"`variance` is {float(self.variance):g} at delta {self.delta:g}; several rows of a person are proved "
                f"from a variance of {LEAST_VARIANCE} and a delta of {LEAST_DELTA:g} on. Use history_event(...)."
            )

    def guarantee(self) -> Guarantee:
        """That of the units, for a person."""
        claim = super().guarantee()
        assert isinstance(claim, ApproxDP)
        return replace(claim, neighbours=Neighbours.ADD_REMOVE_PERSON)


@lru_cache(maxsize=64)
def history_event(*, epsilon: float, delta: float, rows: tuple[int, ...]) -> HistoryMeasurements:
    """So many units that they can be split among the tables of all views, and joined into one draw; needs no data."""
    least = _LEAST_UNITS * max(rows) ** 2
    units = (least << bits for bits in range(0, 20, 2) if least << bits <= _MOST_UNITS)
    event = joining_event(epsilon=epsilon, delta=delta, neighbours=Neighbours.ADD_REMOVE, units=units)
    if event is not None:
        return HistoryMeasurements(
            variance=event.variance, units=event.units, delta=delta, neighbours=Neighbours.ADD_REMOVE, rows=rows
        )
    raise RefusalError(
        f"epsilon {epsilon:g} leaves hardly any noise to share out among {max(rows):,} rows of a person. Use a smaller "
        "epsilon or fewer `steps`."
    )
