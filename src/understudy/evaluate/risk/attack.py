"""How an attack is declared: one decorator on the function that carries it out.

A new attack is one file in this folder; nothing lists it::

    MINE = Metric(name="mine", title="Mine", room="risk", says="What it says, in one sentence.")

    @attacks(MINE, "quasi", "stream")
    def mine(real: Source, synthetic: Source, *, quasi: Sequence[str], stream: Stream | None = None) -> Score: ...
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from understudy.codebook import Codebook
from understudy.evaluate.declared import find_declared
from understudy.evaluate.metric import Metric, Score
from understudy.mechanisms.stream import Stream
from understudy.sources.base import Report, Source

Function = TypeVar("Function", bound=Callable[..., Score])


@dataclass(frozen=True, kw_only=True)
class Scene:
    """What attacks may be told besides the two tables. An attack names what it takes; `stream` is a part of its own."""

    book: Codebook
    """The codebook of the real table."""
    quasi: tuple[str, ...]
    """What the intruder knows."""
    sensitive: tuple[str, ...]
    """What the intruder wants; one at a time where an attack is about each of them."""
    holdout: Source | None
    external: Source | None
    shadows: Any
    """How to rerun the method (`Shadows`); None where nobody asked for it."""
    report: Report | None

    @property
    def columns(self) -> tuple[str, ...]:
        """What records are compared on: what the intruder knows."""
        return self.quasi


@dataclass(frozen=True, kw_only=True)
class Attack:
    """A risk metric as the report calls it."""

    metric: Metric
    function: Callable[..., Score]
    told: tuple[str, ...]
    each: bool
    full: bool
    remembered: bool
    where: Callable[[Scene, str], bool]
    place: int
    """Where it stands in a report: those with smaller numbers come first."""

    def abouts(self, scene: Scene) -> Sequence[str]:
        """The sensitive columns that it is tried on, one by one; the empty name where it is about all of them."""
        return [name for name in (scene.sensitive if self.each else ("",)) if self.where(scene, name)]

    def __call__(self, real: Source, synthetic: Source, scene: Scene, about: str, stream: Stream | None) -> Score:
        """The score, named after the column that it is about."""
        told = {name: stream if name == "stream" else getattr(scene, name) for name in self.told}
        if not self.each:
            return self.function(real, synthetic, **told)
        score = self.function(real, synthetic, **told, sensitive=about)
        return replace(score, metric=f"{score.metric}: {about}")


def attacks(
    metric: Metric,
    *told: str,
    each: bool = False,
    full: bool = False,
    remembered: bool = True,
    where: Callable[[Scene, str], bool] = lambda scene, about: True,
    place: int = 1000,
) -> Callable[[Function], Function]:
    """Say that a function of two tables, told these parts of the `Scene`, is the attack of this metric.

    ``each``: once for every sensitive column, as `sensitive`. ``full``: not in a quick report. ``where``: only where
    this holds. Without ``remembered`` its tables are so large that they are forgotten at once.
    """

    def declare(function: Function) -> Function:
        attack = Attack(
            metric=metric,
            function=function,
            told=told,
            each=each,
            full=full,
            remembered=remembered,
            where=where,
            place=place,
        )
        function.attack = attack  # type: ignore[attr-defined]
        return function

    return declare


def find_attacks(package: str, paths: Sequence[str]) -> dict[str, Attack]:
    """Every attack of the modules of a package, by the name of its metric, in the order of a report."""
    found = find_declared(package, paths, "attack", Attack)
    return {one.metric.name: one for one in sorted(found, key=lambda one: (one.place, one.metric.name))}
