"""Quantiles: counts of the nodes of a public tree over the values, inverted (Woodruff 1952) with their noise."""

from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
import numpy.typing as npt

from understudy.answers.figures import Groups, named, untold
from understudy.answers.grid import Grid
from understudy.answers.intervals import reach
from understudy.answers.question import Question
from understudy.codebook import Number
from understudy.errors import ParameterError
from understudy.infer.inference import TABLE, Figure
from understudy.mechanisms.vector_sums import Lengths, Released
from understudy.sources.tables import Codes

Integers = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
_LEVELS = (1, 2, 3)
MOST_VALUES = 2_048
"""Of a column whose quantiles are asked for; time and memory grow with the square of their number and faster."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Tree:
    """Nodes above ordered cells: leaves first, then blocks of them, level by level."""

    nodes: Integers
    """Nodes x cells, 1 where a node holds a cell."""
    levels: int
    solve: Floats
    """Cells x nodes: counts of cells that agree best with all nodes (least squares)."""


@lru_cache(maxsize=16)
def tree_over(cells: int) -> Tree:
    """The tree of one, two or three levels whose sums from either end have the least noise; public."""
    trees = [_tree(cells, levels) for levels in _LEVELS if cells >= 4 ** (levels - 1)]
    return min(trees, key=_loudness)


def _tree(cells: int, levels: int) -> Tree:
    blocks = [np.eye(cells, dtype=np.int64)]
    for level in range(1, levels):
        size = max(2, round(cells ** (level / levels)))
        block = np.arange(cells) // size
        blocks.append((block == np.arange(block[-1] + 1)[:, None]).astype(np.int64))
    nodes = np.concatenate(blocks)
    counting = nodes.astype(np.float64)
    solve = np.linalg.solve(counting.T @ counting, counting.T)
    return Tree(nodes=nodes, levels=levels, solve=np.asarray(solve, dtype=np.float64))


def _loudness(tree: Tree) -> float:
    """Mean variance of half the records below a value minus half those above, in units of one level's noise."""
    cells = tree.nodes.shape[1]
    below = np.tri(cells)
    contrast = (below - 0.5) @ tree.solve
    return float((contrast**2).sum(axis=1).mean()) * tree.levels**2


@dataclass(frozen=True, kw_only=True)
class QuantileMethod:
    """A quantile by group."""

    question: Question
    grid: Grid
    target: str
    clustered: int = 1

    @cached_property
    def groups(self) -> Groups:
        """Of the question."""
        return Groups.of(self.question, self.grid)

    def check(self) -> None:
        """Refuse what would take too long, before anything is worked out."""
        if len(self.order) > MOST_VALUES:
            raise ParameterError(
                f"{self.question.of!r} may hold {len(self.order):,} values by its codebook; quantiles are told of at "
                f"most {MOST_VALUES:,}. Ask for its mean or for shares, or declare fewer."
            )

    @cached_property
    def order(self) -> Integers:
        """Codes that have a value, in its order."""
        values = self.grid.values(self.question.of)
        known = np.flatnonzero(~np.isnan(values))
        return np.asarray(known[np.argsort(values[known], kind="stable")], dtype=np.int64)

    @cached_property
    def tree(self) -> Tree:
        """Over these codes."""
        return tree_over(len(self.order))

    @property
    def number(self) -> int:
        """Of figures."""
        return sum(self.groups.possible)

    @property
    def width(self) -> int:
        """Nodes."""
        return len(self.tree.nodes)

    @property
    def lengths(self) -> Lengths:
        """A record is in one node of every level."""
        return Lengths(moved=self.tree.levels, squared=self.tree.levels)

    def rule(self, codes: Codes) -> tuple[Integers, Integers]:
        """Group and path of every cell."""
        size = self.grid.column(self.question.of).size
        paths = np.zeros((size, self.width), dtype=np.int64)
        paths[self.order] = self.tree.nodes.T
        own = codes[:, self.grid.columns.index(self.question.of)].astype(np.int64)
        return self.groups.slots(codes), paths[own]

    def figures(self, released: Released, level: float) -> list[Figure]:
        """One for each group."""
        return [
            self._figure(name, values, released, level)
            for name, values, possible in zip(self.groups.names, released.values, self.groups.possible, strict=True)
            if possible
        ]

    def _figure(self, group: str, values: Floats, released: Released, level: float) -> Figure:
        share = self.question.quantile
        assert share is not None
        name = named(f"quantile {share:g} of {self.question.of}", group)
        solve, cells = self.tree.solve, len(self.order)
        counts = solve @ values
        records = float(counts.sum())
        deviation = float(np.sqrt(released.variance) * np.linalg.norm(solve.sum(axis=0)))
        if records < 2 * deviation:
            return untold(name, "quantile", records, deviation)
        # T_k: (1 - q) records up to cell k minus q records after it; its mean is 0 where F = q
        contrast = np.tri(cells) - share
        measured = contrast @ counts
        weights = contrast @ solve
        sampled = 0.0 if self.target == TABLE else self.clustered * records * share * (1 - share)
        far = np.array(
            [
                reach(
                    level,
                    normal=float(np.sqrt(sampled + row @ row * released.normal**2)),
                    laplace=row * released.laplace if released.laplace else (),
                )
                for row in weights
            ]
        )
        low, high = self._crossing(measured + far), self._crossing(measured - far)
        estimate = float(np.clip(self._crossing(measured), low, high))
        noise = released.variance * float((weights[np.argmin(np.abs(measured))] ** 2).sum())
        error = (high - low) / (2 * reach(level, normal=1.0))
        return Figure(
            name=name,
            group="quantile",
            estimate=estimate,
            error=error,
            low=low,
            high=high,
            sampling=sampled / (sampled + noise),
        )

    @cached_property
    def _ends(self) -> tuple[Floats, Floats]:
        """The smallest and the largest value of every cell, in order."""
        column = self.grid.column(self.question.of)
        if not isinstance(column, Number):
            values = self.grid.values(self.question.of)[self.order]
            return values, values
        first = np.array([start for start, _ in column.grids], dtype=np.float64)
        width = np.array([count for _, count in column.grids], dtype=np.float64)
        step = float(column.step)
        return (first * step)[self.order], ((first + width - 1) * step)[self.order]

    def _crossing(self, line: Floats) -> float:
        """The value at which a line that should rise passes 0, inside its cell by proportion."""
        rising = np.maximum.accumulate(line)
        low, high = self._ends
        place = int(np.searchsorted(rising, 0.0))
        if place >= len(rising):
            return float(high[-1])
        before = rising[place - 1] if place > 0 else rising[0]
        part = float(np.clip(-before / max(rising[place] - before, 1e-12), 0.0, 1.0))
        return float(low[place] + (high[place] - low[place]) * part)
