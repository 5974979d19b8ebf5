"""Links: the scale on which a method is linear, and how averages of the values themselves are met through it."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from understudy.errors import DataError, RefusalError
from understudy.reconstruct.aggregates import Codes
from understudy.reconstruct.grams import Floats
from understudy.reconstruct.problem import Stack


@dataclass(frozen=True, kw_only=True)
class Link:
    """A monotone map of a value to the scale of the model, and back."""

    name: str
    forth: Callable[[Floats], Floats]
    back: Callable[[Floats], Floats]
    slope: Callable[[Floats], Floats]
    """Derivative of ``back``."""
    low: float
    high: float

    def check(self, values: Floats, what: str) -> None:
        """Refuse figures outside the range of the link."""
        bad = values[~((values > self.low) & (values < self.high))]
        if bad.size:
            raise DataError(
                f"{what} holds {bad[0]:g}; with the link {self.name!r} every figure lies strictly between "
                f"{self.low:g} and {self.high:g}. Choose another link."
            )


def _sigmoid(values: Floats) -> Floats:
    return 0.5 * (1.0 + np.tanh(values / 2))


LINKS = {
    link.name: link
    for link in (
        Link(name="identity", forth=lambda y: y, back=lambda e: e, slope=np.ones_like, low=-np.inf, high=np.inf),
        Link(name="log", forth=np.log, back=np.exp, slope=np.exp, low=0.0, high=np.inf),
        Link(name="log1p", forth=np.log1p, back=np.expm1, slope=np.exp, low=-1.0, high=np.inf),
        Link(
            name="logit",
            forth=lambda y: np.log(y / (1 - y)),
            back=_sigmoid,
            slope=lambda e: _sigmoid(e) * (1 - _sigmoid(e)),
            low=0.0,
            high=1.0,
        ),
    )
}


def rake(stack: Stack, link: Link, linear: Floats, *, rounds: int = 500, tolerance: float = 1e-10) -> Floats:
    """Offsets per group, on the link's scale, after which the averages of the values are the published exact ones.

    Level by level, every exact group is shifted until its average is right (Newton; for ``log`` this is iterative
    proportional fitting), and so on until no level disturbs another.
    """
    offsets = np.zeros(len(stack.means))
    exact = stack.exact
    scale = max(float(np.abs(stack.means).max(initial=0.0)), 1e-300)
    gap = 0.0
    for _ in range(rounds):
        for level, rows in zip(stack.levels, stack.rows, strict=True):
            offsets[rows] += _shift(stack, level.members, rows, link, linear + spread_offsets(stack, offsets))
        averages = stack.average(link.back(linear + spread_offsets(stack, offsets)))
        gap = float(np.abs(averages - stack.means)[exact].max(initial=0.0))
        if gap <= tolerance * scale:
            return offsets
    raise RefusalError(
        f"the averages of {stack.target!r} could not be met through the link {link.name!r} (still {gap:.3g} apart "
        f"after {rounds} rounds): the levels may ask for values outside its range. Use fewer levels, or the identity."
    )


def spread_offsets(stack: Stack, offsets: Floats) -> Floats:
    """Offsets of an individual's groups, added up (A' would divide by the group's size)."""
    shifts = np.zeros(stack.matrix.shape[1])
    for level, rows in zip(stack.levels, stack.rows, strict=True):
        own = np.concatenate([offsets[rows], [0.0]])
        for codes in level.members:
            shifts += own[codes]
    return shifts


def _shift(stack: Stack, members: tuple[Codes, ...], rows: slice, link: Link, linear: Floats) -> Floats:
    """Newton steps for every group of a level at once; overlapping groups are taken as if alone."""
    exact = stack.exact[rows]
    wanted = stack.means[rows]
    matrix = stack.matrix[rows]
    if not exact.any():
        return np.zeros(len(wanted))
    if link.name in ("log", "log1p"):
        extra = 1.0 if link.name == "log1p" else 0.0
        held = np.asarray(matrix @ np.exp(linear))
        return np.where(exact, np.log((wanted + extra) / np.maximum(held, 1e-300)), 0.0)
    shift = np.zeros(len(wanted))
    for _ in range(60):
        moved = linear + _own(members, shift)
        gap = wanted - matrix @ link.back(moved)
        steep = np.maximum(matrix @ link.slope(moved), 1e-12)
        step = np.where(exact, np.clip(gap / steep, -2.0, 2.0) if link.name == "logit" else gap / steep, 0.0)
        shift += step
        if float(np.abs(step).max(initial=0.0)) < 1e-14 * (1 + float(np.abs(shift).max(initial=0.0))):
            break
    return shift if len(members) == 1 else shift / len(members)


def _own(members: tuple[Codes, ...], shift: Floats) -> Floats:
    own = np.concatenate([shift, [0.0]])
    shifts: Floats = sum((own[codes] for codes in members), np.zeros(len(members[0])))
    return shifts
