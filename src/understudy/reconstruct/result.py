"""What a reconstruction hands back: values marked as reconstructed, and how far the aggregates are met."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from understudy.errors import quoted
from understudy.reconstruct.grams import Floats
from understudy.reconstruct.heldout import HeldOut
from understudy.reconstruct.problem import Stack

MARK = "reconstructed"
"""What every reconstructed column carries in its name and every file in its metadata: these are estimates, not data."""
NO_PROTECTION = "Reconstruction attack tool: aggregate publication gives no formal protection."


@dataclass(frozen=True, kw_only=True)
class Met:
    """How far one published table is met."""

    target: str
    aggregate: str
    groups: int
    exact: int
    """Figures that were to be met as they stand."""
    largest_gap: float
    """Among those, in the unit of the target per person."""
    largest_gap_of_all: float
    typical_gap: float
    """Root mean square over all figures."""

    @property
    def sentence(self) -> str:
        """In words."""
        sentence = f"{self.aggregate}: "
        if self.exact:
            sentence += f"{self.exact:,} of {self.groups:,} averages met to {self.largest_gap:.2g}"
        else:
            sentence += f"{self.groups:,} averages guide and are not met by force"
        if self.exact < self.groups or self.largest_gap_of_all > 10 * max(self.largest_gap, 1e-12):
            sentence += f"; largest distance of all {self.largest_gap_of_all:.4g}, typical {self.typical_gap:.4g}"
        return sentence + "."


def how_far_met(stack: Stack, values: Floats) -> list[Met]:
    """Compare A y with what was published, level by level."""
    gaps = np.abs(stack.average(values) - stack.means)
    met = []
    for level, rows in zip(stack.levels, stack.rows, strict=True):
        exact = stack.exact[rows]
        met.append(
            Met(
                target=stack.target,
                aggregate=level.aggregate.name,
                groups=len(level.groups),
                exact=int(exact.sum()),
                largest_gap=float(gaps[rows][exact].max(initial=0.0)),
                largest_gap_of_all=float(gaps[rows].max()),
                typical_gap=float(np.sqrt((gaps[rows] ** 2).mean())),
            )
        )
    return met


@dataclass(frozen=True, kw_only=True, eq=False)
class Reconstruction:
    """Plausible individual values; never data."""

    method: str
    values: Mapping[str, Floats]
    """By target, one value per individual."""
    linked: Mapping[str, Floats]
    """The same on the scale of the link."""
    met: tuple[Met, ...]
    disclosed: Mapping[str, npt.NDArray[np.bool_]]
    """Individuals whose value follows from the exact aggregates alone (a group of one, or a difference of groups)."""
    notes: tuple[str, ...]
    parameters: Mapping[str, Any]
    draw: int | None = None
    """Which of several reconstructions, None for the single best guess."""
    held_out: tuple[HeldOut, ...] = ()
    """How methods that are judged so predict averages that they did not see, by target."""

    @property
    def statement(self) -> str:
        """What must stand beside the values."""
        means = [held.target for held in self.held_out if held.fell_back]
        by = f"{self.method}, which fell back to group means for {', '.join(means)}" if means else self.method
        sentence = f"Reconstructed by {by}: estimates of individual values from group averages, not data."
        return f"{sentence} {NO_PROTECTION}"

    def to_dict(self) -> dict[str, Any]:
        """Everything but the values, as plain data."""
        return {
            "kind": MARK,
            "statement": self.statement,
            "method": self.method,
            "parameters": dict(self.parameters),
            "targets": list(self.values),
            "individuals": len(next(iter(self.values.values()))),
            "aggregates_met": [vars(met) | {"sentence": met.sentence} for met in self.met],
            "disclosed": {target: int(flags.sum()) for target, flags in self.disclosed.items()},
            "held_out": [vars(held) | {"sentence": held.sentence} for held in self.held_out],
            "notes": list(self.notes),
        }


def disclosure_notes(stack: Stack) -> list[str]:
    """Say whose value is given away."""
    notes = []
    for level in stack.levels:
        alone = [group for group, count in zip(level.groups, level.counts, strict=True) if count == 1]
        if alone and level.aggregate.kind != "median":
            notes.append(
                f"{len(alone):,} groups of {level.aggregate.name} hold one person, whose value is disclosed: "
                f"{quoted(alone)}."
            )
    single = sum(int((level.counts == 1).sum()) for level in stack.levels)
    given_away = int(stack.disclosed.sum())
    if given_away > single:
        notes.append(
            f"{given_away:,} individuals' values of {stack.target!r} follow exactly from the aggregates, most of them "
            "by differences between overlapping groups."
        )
    return notes
