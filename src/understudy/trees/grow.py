"""Growing trees on records that nobody protects: the alpha-tree (algorithm 4) and the 0-DiffStructure (algorithm 5)."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from understudy.mechanisms.labelled import Cells
from understudy.parameters import Declared, Whole, option
from understudy.trees.gains import ALPHA, alpha_gain, gain_bounds
from understudy.trees.questions import Question, answers
from understudy.trees.tree import Tree

Counts = npt.NDArray[np.int64]
MAX_DEPTH = Whole(least=0, tried=4)
MIN_RECORDS = Whole(least=1, tried=20)
_EQUAL = 1e-12  # gains closer than this are ties, which go to the question that comes first


@dataclass(frozen=True, kw_only=True)
class Stopping(Declared):
    """When a node becomes a leaf: pure nodes and nodes where nothing can be gained always do."""

    max_depth: int | None = option(None, rule=MAX_DEPTH, help="Most questions on the way to a leaf.")
    min_records: int = option(2, rule=MIN_RECORDS, help="Fewest records of a node that is split.")


@dataclass
class Builder:
    """A tree under construction."""

    feature: list[int] = field(default_factory=lambda: [-1])
    yes_codes: list[tuple[int, ...]] = field(default_factory=lambda: [()])
    no: list[int] = field(default_factory=lambda: [-1])
    yes: list[int] = field(default_factory=lambda: [-1])
    gain: list[float | None] = field(default_factory=lambda: [None])

    def split(self, node: int, question: Question, gain: float | None) -> tuple[int, int]:
        """Turn a leaf into a split; returns its two new leaves, no and yes."""
        children = len(self.feature), len(self.feature) + 1
        self.feature[node], self.yes_codes[node] = question.feature, question.yes_codes
        self.no[node], self.yes[node] = children
        self.gain[node] = gain
        for _ in children:
            self.feature.append(-1)
            self.yes_codes.append(())
            self.no.append(-1)
            self.yes.append(-1)
            self.gain.append(None)
        return children

    def tree(self) -> Tree:
        """As it stands."""
        return Tree(
            feature=tuple(self.feature),
            yes_codes=tuple(self.yes_codes),
            no=tuple(self.no),
            yes=tuple(self.yes),
            gain=tuple(self.gain),
        )


def node_tables(asked: npt.NDArray[np.bool_], counts: Counts) -> Counts:
    """2 x 2 counts ``[question, x, y]`` of the cells of one node."""
    yes = asked.T.astype(np.int64) @ counts
    return np.stack([counts.sum(axis=0) - yes, yes], axis=1)


Choose = Callable[[Counts], int | None]


def _grow(
    cells: Cells,
    questions: Sequence[Question],
    stopping: Stopping,
    choose: Choose,
    gain: Callable[[Counts, int], float],
) -> Tree:
    """Depth first; ``choose`` names the question for the tables of a node, or None to stop."""
    asked = answers(questions, cells.codes)
    builder = Builder()
    waiting = [(0, 0, np.arange(len(cells.codes)))]
    while waiting:
        node, depth, inside = waiting.pop()
        counts = cells.counts[inside]
        if stopping.max_depth is not None and depth >= stopping.max_depth:
            continue
        if counts.sum() < stopping.min_records or (counts.sum(axis=0) == 0).any():
            continue
        tables = node_tables(asked[inside], counts)
        chosen = choose(tables)
        if chosen is None or (tables[chosen].sum(axis=1) == 0).any():
            continue
        children = builder.split(node, questions[chosen], gain(tables, chosen))
        yes = asked[inside, chosen]
        waiting.append((children[1], depth + 1, inside[yes]))
        waiting.append((children[0], depth + 1, inside[~yes]))
    return builder.tree()


def alpha_tree(cells: Cells, questions: Sequence[Question], *, alpha: float, stopping: Stopping) -> Tree:
    """Algorithm 4: split by the largest alpha-gain until a stopping rule holds."""
    ALPHA.check("alpha", alpha)

    def choose(tables: Counts) -> int | None:
        gains = alpha_gain(tables, alpha)
        best = _first_best(gains)
        return best if gains[best] > _EQUAL else None

    return _grow(cells, questions, stopping, choose, lambda t, c: float(alpha_gain(t[c], alpha)))


def diff_structure(cells: Cells, questions: Sequence[Question], *, alpha: float, stopping: Stopping) -> Tree:
    """Algorithm 5: split only where no single record could have changed the choice (equation 5.9).

    The chapter calls the result 0-differentially private. It is not: whether a node passes the test depends on the
    data, and two neighbouring tables can differ in it.
    """
    ALPHA.check("alpha", alpha)

    def choose(tables: Counts) -> int | None:
        low, high = gain_bounds(tables, alpha)
        best = _first_best(low)
        others = np.delete(high, best)
        return best if low[best] > _EQUAL and (len(others) == 0 or low[best] >= others.max()) else None

    return _grow(cells, questions, stopping, choose, lambda t, c: float(alpha_gain(t[c], alpha)))


def _first_best(values: npt.NDArray[np.float64]) -> int:
    best = values.max()
    return int(np.flatnonzero(values >= best - _EQUAL if np.isfinite(best) else values == best)[0])


def leaf_totals(tree: Tree, cells: Cells) -> Counts:
    """(negative, positive) counts of every leaf."""
    totals = np.zeros((tree.leaves, 2), dtype=np.int64)
    if len(cells.codes):
        np.add.at(totals, tree.leaf_of(cells.codes), cells.counts)
    return totals
