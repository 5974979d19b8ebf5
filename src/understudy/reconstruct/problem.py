"""Individuals and aggregates put together: the matrix A as sparse rows, the sketch, and the checks that need both."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from understudy.errors import DataError, quoted
from understudy.extras import need
from understudy.reconstruct.aggregates import Aggregate, Level, match
from understudy.reconstruct.grams import DenseGram, DiagonalGram, Floats, GroupGram
from understudy.reconstruct.sketch import Sketch

_CONTRADICTION = 1e-6
"""Aggregates that differ from any possible ones by less than this share of their size differ by rounding only."""


def group_labels(frame: Any, by: str | tuple[str, ...]) -> list[npt.NDArray[np.object_]]:
    """Labels of every individual, one array per grouping column; ``"a+b"`` crosses columns."""
    labels = []
    for part in (by,) if isinstance(by, str) else by:
        names = part.split("+")
        lacking = [name for name in names if name not in frame.columns]
        if lacking:
            columns = quoted(frame.columns)
            raise DataError(f"the individuals have no column {lacking[0]!r} to group by; they have {columns}.")
        texts = [_texts(frame[name]) for name in names]
        if len(texts) == 1:
            labels.append(texts[0])
            continue
        gaps = np.array([[text is None for text in column] for column in texts]).any(axis=0)
        joined = np.array(["+".join(map(str, parts)) for parts in zip(*texts, strict=True)], dtype=object)
        joined[gaps] = None
        labels.append(joined)
    return labels


def _texts(values: Any) -> npt.NDArray[np.object_]:
    """Labels as text; whole numbers lose the point that a gap elsewhere in the column gave them."""
    need("pandas", extra="models", what="reconstruction")
    import pandas as pd

    if pd.api.types.is_float_dtype(values):
        whole = bool((values.dropna() % 1 == 0).all())
        texts = values.map(lambda x: None if pd.isna(x) else str(int(x)) if whole else repr(float(x)))
    else:
        texts = values.astype(object).where(values.notna(), None).map(lambda x: None if x is None else str(x))
    array: npt.NDArray[np.object_] = texts.to_numpy(dtype=object).copy()
    array[pd.isna(array)] = None
    return array


@dataclass(frozen=True, kw_only=True, eq=False)
class Stack:
    """All levels of one target: A, K, and the published means."""

    target: str
    levels: tuple[Level, ...]
    matrix: Any
    """A, p x n, sparse: averages in its rows."""
    groups: GroupGram
    means: Floats
    deviations: Floats

    @classmethod
    def of(cls, target: str, levels: Sequence[Level], people: int) -> "Stack":
        """Stack the levels (algorithm 3)."""
        need("scipy", extra="models", what="reconstruction")
        from scipy import sparse

        rows, columns, data, above = [], [], [], 0
        for level in levels:
            for codes in level.members:
                inside = np.flatnonzero(codes >= 0)
                rows.append(codes[inside] + above)
                columns.append(inside)
                data.append(1.0 / level.counts[codes[inside]])
            above += len(level.groups)
        matrix = sparse.csr_matrix(
            (np.concatenate(data), (np.concatenate(rows), np.concatenate(columns))), shape=(above, people)
        )
        groups: GroupGram
        if len(levels) == 1 and levels[0].is_partition:
            groups = DiagonalGram(1.0 / levels[0].counts)
        else:
            groups = DenseGram((matrix @ matrix.T).toarray())
        return cls(
            target=target,
            levels=tuple(levels),
            matrix=matrix,
            groups=groups,
            means=np.concatenate([level.means for level in levels]),
            deviations=np.concatenate([level.deviations for level in levels]),
        )

    @property
    def is_partition(self) -> bool:
        """One level, nobody in two groups."""
        return isinstance(self.groups, DiagonalGram)

    @cached_property
    def rows(self) -> tuple[slice, ...]:
        """The rows of A that belong to each level."""
        ends = np.cumsum([0, *(len(level.groups) for level in self.levels)]).tolist()
        return tuple(slice(start, end) for start, end in pairwise(ends))

    @cached_property
    def labels(self) -> tuple[tuple[str, str], ...]:
        """Name of the aggregate and of the group, for every row of A."""
        return tuple((level.aggregate.name, group) for level in self.levels for group in level.groups)

    @property
    def exact(self) -> npt.NDArray[np.bool_]:
        """Which figures are to be met as they stand."""
        return np.asarray(self.deviations == 0.0)

    @property
    def known_noise(self) -> npt.NDArray[np.bool_]:
        """Which figures have an error of known size (none included)."""
        return ~np.isnan(self.deviations)

    def average(self, values: Floats) -> Floats:
        """A y."""
        return np.asarray(self.matrix @ values)

    def spread(self, lift: Floats) -> Floats:
        """A'l: to every individual what its groups were given."""
        return np.asarray(self.matrix.T @ lift)

    def check(self) -> None:
        """Refuse exact figures that no individuals could have."""
        exact = self.exact
        if self.is_partition or not exact.any():
            return
        part = self.groups.part(exact)
        wanted = self.means[exact]
        gap = np.abs(wanted - part.consistent(wanted))
        scale = float(np.abs(wanted - np.median(wanted)).max(initial=0.0)) or float(np.abs(wanted).max(initial=1.0))
        if float(gap.max(initial=0.0)) > _CONTRADICTION * max(scale, 1e-300):
            rows = np.flatnonzero(exact)[np.argsort(-gap)[:3]]
            worst = ", ".join(f"{self.labels[row][1]!r} of {self.labels[row][0]}" for row in rows)
            raise DataError(
                f"the aggregates of {self.target!r} contradict each other by up to {gap.max():.4g}: no individuals "
                f"have all of them (most at odds: {worst}). If they are rounded or noisy, say by how much (noise=SD)."
            )

    @cached_property
    def leverage(self) -> Floats:
        """(A+ A)_ii: 1 where the exact figures alone fix an individual's value, by themselves or by differences."""
        exact = self.exact
        if self.is_partition:
            codes = self.levels[0].members[0]
            inside = (codes >= 0) & np.concatenate([exact, [False]])[codes]
            return np.where(inside, 1.0 / np.concatenate([self.levels[0].counts, [1]])[codes], 0.0)
        if not exact.any():
            return np.zeros(self.matrix.shape[1])
        part = self.groups.part(exact)
        weights = part.pinv(np.eye(part.size))  # W of the exact figures
        place = np.full(len(exact) + 1, -1, dtype=np.int64)
        place[:-1][exact] = np.arange(part.size)
        own = []
        for level, span in zip(self.levels, self.rows, strict=True):
            shares = np.concatenate([1.0 / level.counts, [0.0]])
            for codes in level.members:
                rows = place[np.where(codes >= 0, codes + span.start, -1)]
                own.append((rows, np.where(rows >= 0, shares[codes], 0.0)))
        leverage: Floats = np.zeros(self.matrix.shape[1])
        for rows, shares in own:  # a_i'W a_i, with as many entries in a_i as there are grouping columns
            for others, theirs in own:
                leverage += shares * theirs * weights[rows, others]
        return leverage

    @property
    def disclosed(self) -> npt.NDArray[np.bool_]:
        """Individuals whose value the exact figures give away."""
        return self.leverage > 1.0 - 1e-9


@dataclass(frozen=True, kw_only=True, eq=False)
class Problem:
    """A matrix of individuals and the stacks of all targets."""

    matrix: Floats
    intercept: bool
    stacks: tuple[Stack, ...]

    @classmethod
    def of(
        cls, frame: Any, matrix: Floats, aggregates: Sequence[Aggregate], *, intercept: bool, unmatched: str
    ) -> "Problem":
        """Match, stack and check."""
        if not aggregates:
            raise DataError("there are no aggregates; give at least one table of group averages.")
        by_target: dict[str, list[Level]] = {}
        for aggregate in aggregates:
            columns = group_labels(frame, aggregate.by)
            by_target.setdefault(aggregate.target, []).append(match(aggregate, columns, unmatched=unmatched))
        stacks = [Stack.of(target, levels, len(frame)) for target, levels in by_target.items()]
        for stack in stacks:
            stack.check()
        return cls(matrix=matrix, intercept=intercept, stacks=tuple(stacks))

    @cached_property
    def gram(self) -> Floats:
        """X'X."""
        return self.matrix.T @ self.matrix

    def together(self) -> list[list[Stack]]:
        """Targets with the same groups, to be reconstructed jointly."""
        together: list[list[Stack]] = []
        for stack in self.stacks:
            for others in together:
                first = others[0]
                same = len(first.levels) == len(stack.levels) and all(
                    a.aggregate.by == b.aggregate.by and a.groups == b.groups
                    for a, b in zip(first.levels, stack.levels, strict=True)
                )
                if same:
                    others.append(stack)
                    break
            else:
                together.append([stack])
        return together

    def sketch(self, stacks: Sequence[Stack], targets: Floats) -> Sketch:
        """Sufficient statistics of some targets with the same groups."""
        return Sketch(
            gram=self.gram,
            means=stacks[0].average(self.matrix),
            groups=stacks[0].groups,
            targets=targets,
            intercept=self.matrix.shape[1] - 1 if self.intercept else None,
        )
