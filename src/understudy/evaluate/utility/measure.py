"""How a metric of two tables is declared: one decorator on the function that measures it.

A new metric is one file in this folder; nothing lists it::

    MINE = Metric(name="mine", title="Mine", says="What it says, in one sentence.")

    @measures(MINE)
    def mine(real: Source, synthetic: Source) -> Score: ...
"""

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, TypeVar

from understudy.evaluate.declared import find_declared
from understudy.evaluate.metric import Metric, Score
from understudy.sources.base import Clique, Source

Kind = Literal["logistic", "linear"]
Function = TypeVar("Function", bound=Callable[..., Score | None])


@dataclass(frozen=True, kw_only=True)
class Options:
    """What the metrics may be told besides the two tables."""

    conditional_on: str | None = None
    """The given column of conditional distances and ranks; every column in turn if none is named."""
    target: str | None = None
    """What the models explain; models are left out without one."""
    positive: str | None = None
    """The level of the target that classifiers look for."""
    holdout: Source | None = None
    """Real rows set aside before synthesis; classifiers are left out without them."""
    formula: str | None = None
    kind: Kind | None = None
    """A regression model of the caller's; otherwise the target on the columns that say most about it."""
    tables: Sequence[Clique] | None = None
    """Three-way tables to compare; otherwise up to 64 of them."""


@dataclass(frozen=True, kw_only=True)
class Measure:
    """A metric as the report calls it."""

    metric: Metric
    function: Callable[..., Score | None]
    options: tuple[str, ...]
    where: Callable[[Source, Options], bool]
    place: int
    """Where it stands in a report: those with smaller numbers come first."""

    @cached_property
    def needs(self) -> tuple[str, ...]:
        """Options that the function has no default for."""
        known = inspect.signature(self.function).parameters
        return tuple(name for name in self.options if known[name].default is inspect.Parameter.empty)

    def __call__(self, real: Source, synthetic: Source, options: Options) -> Score | None:
        """The score; None where the options do not ask for it, or the table has nothing to measure."""
        if any(getattr(options, name) is None for name in self.needs) or not self.where(real, options):
            return None
        return self.function(real, synthetic, **{name: getattr(options, name) for name in self.options})


def measures(
    metric: Metric,
    *options: str,
    where: Callable[[Source, Options], bool] = lambda real, options: True,
    place: int = 1000,
) -> Callable[[Function], Function]:
    """Say that a function of two tables, and of these options, measures the metric."""

    def declare(function: Function) -> Function:
        measure = Measure(metric=metric, function=function, options=options, where=where, place=place)
        function.measure = measure  # type: ignore[attr-defined]
        return function

    return declare


def find_measures(package: str, paths: Sequence[str]) -> dict[str, Measure]:
    """Every measure of the modules of a package, by name, in the order of a report."""
    found = find_declared(package, paths, "measure", Measure)
    return {one.metric.name: one for one in sorted(found, key=lambda one: (one.place, one.metric.name))}
