"""Published aggregates as values, and what is wrong with them before anything is computed."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from understudy.errors import DataError, quoted
from understudy.extras import need
from understudy.parameters import OneOf
from understudy.reconstruct.grams import Floats

KINDS = ("mean", "sum", "median")
UNMATCHED = OneOf(("error", "ignore"))
Codes = npt.NDArray[np.int64]
Texts = npt.NDArray[np.object_]


@dataclass(frozen=True, kw_only=True, eq=False)
class Aggregate:
    """One column of a published table: a figure per group."""

    by: str | tuple[str, ...]
    """The individuals' column that names the group. ``"a+b"`` crosses two columns (groups are called ``"x+y"``); a
    tuple of columns makes overlapping groups: a person belongs to every group that one of the columns names."""
    target: str
    """What was averaged; aggregates of one target are stacked (algorithm 3)."""
    values: Mapping[str, float]
    kind: str = "mean"
    """``mean``, ``sum``, or ``median``, which stands in for the mean and is never met by force."""
    sizes: Mapping[str, float] | None = None
    """People behind each figure, where published; else those in the individuals' file are counted."""
    noise: float | Mapping[str, float] | None = None
    """Standard deviation of the error of each published figure (noise, rounding), in its own unit; None: exact."""
    label: str = ""
    """What messages call it."""

    def __post_init__(self) -> None:
        OneOf(KINDS).check("kind", self.kind)
        faults = [group for group, value in self.values.items() if not math.isfinite(value)]
        if faults:
            raise DataError(
                f"{self.name} has no number for {quoted(faults)}; remove the groups without a figure from the file."
            )
        if not self.values:
            raise DataError(f"{self.name} has no groups; give a table with a group and a figure in each row.")

    @property
    def columns(self) -> tuple[str, ...]:
        """The individuals' columns that name its groups."""
        parts = (self.by,) if isinstance(self.by, str) else self.by
        return tuple(name for part in parts for name in part.split("+"))

    @property
    def name(self) -> str:
        """What messages call it."""
        by = self.by if isinstance(self.by, str) else "/".join(self.by)
        return self.label or f"the {self.kind} of {self.target} by {by}"

    def spread_of(self, group: str) -> float:
        """Standard deviation of the published figure's error."""
        return float(self.noise[group] if isinstance(self.noise, Mapping) else self.noise or 0.0)


@dataclass(frozen=True, kw_only=True, eq=False)
class Level:
    """One aggregate matched with n individuals."""

    aggregate: Aggregate
    groups: tuple[str, ...]
    members: tuple[Codes, ...]
    """For each grouping column the group of every individual, -1 for none; nobody is twice in one group."""
    counts: Codes
    """Individuals in each group."""
    means: Floats
    """The figure as a mean per person."""
    deviations: Floats
    """Standard deviation of the error of those means; NaN: unknown, so the figure is never met by force."""
    notes: tuple[str, ...]

    @property
    def is_partition(self) -> bool:
        """Whether nobody is in two groups."""
        return len(self.members) == 1


def match(aggregate: Aggregate, columns: Sequence[Texts], *, unmatched: str) -> Level:
    """Find every individual's group. ``columns`` hold the labels, one array per grouping column, None for missing."""
    published = tuple(aggregate.values)
    members, unknown = group_members(columns, published)
    counts = sum(
        (np.bincount(codes[codes >= 0], minlength=len(published)) for codes in members),
        np.zeros(len(published), dtype=np.int64),
    )
    empty = [group for group, count in zip(published, counts, strict=True) if count == 0]
    notes = []
    if (unknown or empty) and unmatched == "error":
        faults = [f"{quoted(unknown)} only among the individuals"] if unknown else []
        faults += [f"{quoted(empty)} only in the aggregates"] if empty else []
        raise DataError(
            f"{aggregate.name} does not fit the individuals: {'; '.join(faults)}. Mend the labels, or ignore groups "
            "without a partner: unmatched = 'ignore'."
        )
    if unknown:
        notes.append(f"{len(unknown):,} groups of individuals have no figure in {aggregate.name}: {quoted(unknown)}.")
    if empty:
        notes.append(
            f"{len(empty):,} groups of {aggregate.name} have no individuals and are not used: {quoted(empty)}."
        )
    kept = np.flatnonzero(counts)
    if len(kept) == 0:
        raise DataError(f"{aggregate.name} shares no group with the individuals; is the grouping column the right one?")
    renumber = np.full(len(published) + 1, -1, dtype=np.int64)
    renumber[kept] = np.arange(len(kept))
    groups = [published[code] for code in kept]
    means, deviations, more_notes = _as_means(aggregate, groups, counts[kept])
    return Level(
        aggregate=aggregate,
        groups=tuple(groups),
        members=tuple(renumber[codes] for codes in members),  # -1 stays -1: it is the last entry
        counts=counts[kept],
        means=means,
        deviations=deviations,
        notes=(*notes, *more_notes),
    )


def group_members(columns: Sequence[Texts], groups: Sequence[str]) -> tuple[list[Codes], list[str]]:
    """Each individual's group by column of labels (-1 for none), and the labels that name no group."""
    need("pandas", extra="models", what="reconstruction")
    import pandas as pd

    known = {group: code for code, group in enumerate(groups)}
    members: list[Codes] = []
    unknown: set[str] = set()
    for labels in columns:
        place, distinct = pd.factorize(labels, use_na_sentinel=True)
        names = [str(label) for label in distinct]
        unknown.update(name for name in names if name not in known)
        codes = np.array([*(known.get(name, -1) for name in names), -1], dtype=np.int64)[place]
        for earlier in members:  # in one group once, however many columns say so
            codes = np.where(codes == earlier, -1, codes)
        members.append(codes)
    return members, sorted(unknown)


def _as_means(aggregate: Aggregate, groups: list[str], counts: Codes) -> tuple[Floats, Floats, list[str]]:
    values = np.array([aggregate.values[group] for group in groups], dtype=np.float64)
    spread = np.array([aggregate.spread_of(group) for group in groups], dtype=np.float64)
    if not (np.isfinite(spread).all() and (spread >= 0).all()):
        raise DataError(f"{aggregate.name} has a noise that is no number of 0 or more; it is a standard deviation.")
    notes = []
    sizes = counts.astype(np.float64)
    if aggregate.sizes is not None:
        lacking = [group for group in groups if not math.isfinite(aggregate.sizes.get(group, math.nan))]
        if lacking:
            raise DataError(
                f"{aggregate.name} has no size for {quoted(lacking)}; fill the column of sizes, or leave it out: "
                "people are then counted in the individuals' file."
            )
        sizes = np.array([aggregate.sizes[group] for group in groups], dtype=np.float64)
        small = [group for group, size, count in zip(groups, sizes, counts, strict=True) if size < count]
        if small:
            raise DataError(
                f"{aggregate.name} has fewer people than the individuals' file in {quoted(small)}; a figure covers at "
                "least the people listed. Mend the sizes, or leave the column of sizes out."
            )
    if aggregate.kind == "sum":
        values, spread = values / sizes, spread / sizes
    sampled = sizes > counts
    if aggregate.kind == "median":
        spread = np.full_like(spread, np.nan)
        notes.append(f"{aggregate.name} holds medians, which stand in for means: they guide, and are not met by force.")
    elif sampled.any():
        spread = np.where(sampled, np.nan, spread)
        notes.append(
            f"{int(sampled.sum()):,} figures of {aggregate.name} cover more people than the individuals' file lists: "
            "they guide, and are not met by force."
        )
    return values, spread, notes
