"""Growing trees on records without protection: the alpha-tree (algorithm 4) and the 0-DiffStructure (algorithm 5)."""

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from understudy.mechanisms.labelled import Cells
from understudy.trees.gains import ALPHA, alpha_gain, gain_bounds
from understudy.trees.questions import Question, answers
from understudy.trees.tree import Tree

Counts = npt.NDArray[np.int64]
_EQUAL = 1e-12  # gains closer than this are ties, which go to the question that comes first


_LEAF = (-1, (), -1, -1, None)


class Builder:
    """A tree under construction."""

    def __init__(self) -> None:
        self._nodes: list[tuple[int, tuple[int, ...], int, int, float | None]] = [_LEAF]

    def split(self, node: int, question: Question, gain: float | None) -> tuple[int, int]:
        """Turn a leaf into a split; returns its two new leaves, no and yes."""
        no, yes = len(self._nodes), len(self._nodes) + 1
        self._nodes[node] = (question.feature, question.yes_codes, no, yes, gain)
        self._nodes += [_LEAF, _LEAF]
        return no, yes

    def tree(self) -> Tree:
        """The tree as built so far."""
        feature, yes_codes, no, yes, gain = zip(*self._nodes, strict=True)
        return Tree(feature=feature, yes_codes=yes_codes, no=no, yes=yes, gain=gain)


def node_tables(asked: npt.NDArray[np.bool_], counts: Counts) -> Counts:
    """2 x 2 counts ``[question, x, y]`` of the cells of one node."""
    yes = asked.T.astype(np.int64) @ counts
    return np.stack([counts.sum(axis=0) - yes, yes], axis=1)


def alpha_tree(
    cells: Cells, questions: Sequence[Question], *, alpha: float, max_depth: int | None = None, min_records: int = 2
) -> Tree:
    """Algorithm 4: split by the largest alpha-gain until a stopping rule holds."""
    return _grow(cells, questions, _largest_gain, alpha=alpha, max_depth=max_depth, min_records=min_records)


def diff_structure(
    cells: Cells, questions: Sequence[Question], *, alpha: float, max_depth: int | None = None, min_records: int = 2
) -> Tree:
    """Algorithm 5: split only where no single record could have changed the choice (equation 5.9).

    The chapter calls the result 0-differentially private. It is not: whether a node passes the test depends on the
    data, and two neighbouring tables can differ in it.
    """
    return _grow(cells, questions, _unmoved_gain, alpha=alpha, max_depth=max_depth, min_records=min_records)


def _grow(
    cells: Cells,
    questions: Sequence[Question],
    choose: Callable[[Counts, float], int | None],
    *,
    alpha: float,
    max_depth: int | None,
    min_records: int,
) -> Tree:
    """Depth first; ``choose`` names the question for the tables of a node, or None to stop.

    Pure nodes, and nodes where nothing can be gained, always become leaves.
    """
    ALPHA.check("alpha", alpha)
    cell_answers = answers(questions, cells.codes)
    builder = Builder()
    waiting = [(0, 0, np.arange(len(cells.codes)))]
    while waiting:
        node, depth, inside = waiting.pop()
        counts = cells.counts[inside]
        if max_depth is not None and depth >= max_depth:
            continue
        if counts.sum() < min_records or (counts.sum(axis=0) == 0).any():
            continue
        tables = node_tables(cell_answers[inside], counts)
        chosen = choose(tables, alpha)
        if chosen is None or (tables[chosen].sum(axis=1) == 0).any():
            continue
        no, yes = builder.split(node, questions[chosen], float(alpha_gain(tables[chosen], alpha)))
        says_yes = cell_answers[inside, chosen]
        waiting.append((yes, depth + 1, inside[says_yes]))
        waiting.append((no, depth + 1, inside[~says_yes]))
    return builder.tree()


def _largest_gain(tables: Counts, alpha: float) -> int | None:
    gains = alpha_gain(tables, alpha)
    best = _first_best(gains)
    return best if gains[best] > _EQUAL else None


def _unmoved_gain(tables: Counts, alpha: float) -> int | None:
    """The question whose smallest gain over all neighbours is no less than the largest of any other."""
    low, high = gain_bounds(tables, alpha)
    best = _first_best(low)
    others = np.delete(high, best)
    return best if low[best] > _EQUAL and (len(others) == 0 or low[best] >= others.max()) else None


def _first_best(values: npt.NDArray[np.float64]) -> int:
    best = values.max()
    return int(np.flatnonzero(values >= best - _EQUAL if np.isfinite(best) else values == best)[0])


def leaf_totals(tree: Tree, cells: Cells) -> Counts:
    """(negative, positive) counts of every leaf."""
    totals = np.zeros((tree.leaves, 2), dtype=np.int64)
    if len(cells.codes):
        np.add.at(totals, tree.leaf_of(cells.codes), cells.counts)
    return totals
