"""Bin edges that a person would have written."""

from collections.abc import Sequence
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Decimal
from fractions import Fraction
from itertools import pairwise

_MOST_STEPS = 10**15


def pleasant_edges(cuts: Sequence[Decimal], precision: int) -> tuple[Fraction, ...] | None:
    """Round quantiles to short numbers, each as coarsely as its neighbours allow; the ends are rounded outwards.

    None when the numbers are too long for exact comparison (see ``Number.faults``) or too close for two bins.

    >>> [float(edge) for edge in pleasant_edges([Decimal(x) for x in ("0.3", "18.7", "41.2", "97.9")], 1)]
    [0.0, 20.0, 40.0, 100.0]
    """
    finest = Decimal(1).scaleb(-precision)
    if max(abs(cut) for cut in cuts) / finest >= _MOST_STEPS // 10:
        return None
    low, high = cuts[0], cuts[-1]
    inner = sorted({cut for cut in cuts[1:-1] if low < cut < high})
    if len(inner) < 2:  # nearly all rows share one value: quantiles say nothing about the rest
        inner = sorted({*inner, *((low * (8 - k) + high * k) / 8 for k in range(1, 8))})
    points = [low, *inner, high]
    first_unit = _unit(points[1] - points[0], finest)
    last_unit = _unit(points[-1] - points[-2], finest)
    edges = {_rounded(low, first_unit, ROUND_FLOOR), _rounded(high, last_unit, ROUND_CEILING)}
    bottom, top = min(edges), max(edges)
    gaps = [after - before for before, after in pairwise(points)]
    for cut, before, after in zip(inner, gaps, gaps[1:], strict=False):
        edge = _rounded(cut, _unit(min(before, after), finest), ROUND_HALF_EVEN)
        if bottom < edge < top:
            edges.add(edge)
    return tuple(Fraction(edge) for edge in sorted(edges)) if len(edges) > 2 else None


def _unit(gap: Decimal, finest: Decimal) -> Decimal:
    """The largest of 1, 2, 5, 10, ... that is at most half the gap, so that neighbours stay apart."""
    if gap <= 0:
        return finest
    decade = Decimal(1).scaleb((gap / 2).adjusted())
    largest = max(step * decade for step in (1, 2, 5) if step * decade <= gap / 2)
    return max(largest, finest)


def _rounded(value: Decimal, unit: Decimal, how: str) -> Decimal:
    return (value / unit).to_integral_value(rounding=how) * unit
