"""Full-domain generalisation: the node of the lattice with the smallest loss, found without visiting most of them.

The lattice of heights is one array; the nodes finer than a node are a slice of it, and so are the coarser ones. Nodes
are taken in the order of their lower bounds. From each a path is climbed and searched by halving (Flash): a node
that fails closes all finer ones (Incognito, OLA), and a node whose bound is no better than the best found closes
itself and all coarser ones. What is left when nothing open lies below the best is the optimum.
"""

import math
from dataclasses import dataclass

import numpy as np

from understudy.anonymize.losses import Loss
from understudy.anonymize.problem import Node, NodeOutcome, Problem
from understudy.errors import RefusalError
from understudy.sources.base import Report

MOST_NODES = 1 << 24
"""Lattices beyond this are refused: their bounds alone would not fit."""
MOST_RUNNERS = 3


@dataclass(frozen=True, kw_only=True, eq=False)
class Optimum:
    """The optimum, and what it took to find it."""

    outcome: NodeOutcome
    loss: float
    visited: int
    nodes: int
    runners: tuple[NodeOutcome, ...] = ()
    """The next best of the feasible nodes that were visited; not every node was."""


def search(problem: Problem, loss: Loss, *, report: Report | None = None) -> Optimum:
    """The feasible node of smallest loss; among equals the first one met."""
    nodes = math.prod(problem.dims)
    if nodes > MOST_NODES:
        raise RefusalError(
            f"the hierarchies of {', '.join(problem.quasi)} make a lattice of {nodes:,} nodes; at most {MOST_NODES:,} "
            "are searched. Use fewer steps or fewer quasi-identifiers, or Mondrian."
        )
    lattice = _Lattice(problem, loss)
    while (start := lattice.next_open()) is not None:
        path = lattice.climb(start)
        low, high = 0, len(path)
        while low < high:
            middle = (low + high) // 2
            if lattice.is_hopeless(path[middle]):
                low = middle + 1
            else:
                high = middle
        if report:
            report("searching the lattice", lattice.closed, nodes)
    if lattice.best is None:
        raise RefusalError(_how_close(problem, lattice.closest))
    runners = tuple(outcome for _, _, outcome in lattice.feasible if outcome is not lattice.best)[:MOST_RUNNERS]
    return Optimum(outcome=lattice.best, loss=lattice.best_loss, visited=lattice.visited, nodes=nodes, runners=runners)


class _Lattice:
    """Lower bounds of the open nodes; a closed node's is infinite."""

    def __init__(self, problem: Problem, loss: Loss) -> None:
        self.problem, self.loss = problem, loss
        self.bounds = loss.known()
        self.best: NodeOutcome | None = None
        self.best_loss = math.inf
        self.visited = 0
        self.closest: NodeOutcome | None = None
        self.feasible: list[tuple[float, Node, NodeOutcome]] = []
        """The best few of the visited nodes that may be released, best first."""

    @property
    def closed(self) -> int:
        """Number of nodes that need no further look."""
        return int(np.isinf(self.bounds).sum())

    def next_open(self) -> Node | None:
        """The open node of smallest bound, unless it cannot beat the best."""
        flat = int(self.bounds.argmin())
        node = tuple(int(place) for place in np.unravel_index(flat, self.bounds.shape))
        bound = float(self.bounds[node])
        return None if math.isinf(bound) or bound >= self.best_loss * (1 - 1e-12) else node

    def climb(self, node: Node) -> list[Node]:
        """A chain of open nodes from here upwards, each one step coarser, by smallest bound."""
        path = [node]
        while True:
            steps = [
                (float(self.bounds[above]), above)
                for place in range(len(node))
                if path[-1][place] + 1 < self.bounds.shape[place]
                and not math.isinf(self.bounds[above := _raised(path[-1], place)])
            ]
            if not steps:
                return path
            path.append(min(steps)[1])

    def is_hopeless(self, node: Node) -> bool:
        """Visit a node; True closes every finer one with it."""
        outcome = self.problem.evaluate(node)
        self.visited += 1
        if self.closest is None or outcome.suppressed < self.closest.suppressed:
            self.closest = outcome
        if self.problem.is_hopeless(outcome):
            self.bounds[tuple(slice(None, height + 1) for height in node)] = math.inf
            return True
        above = tuple(slice(height, None) for height in node)
        np.maximum(self.bounds[above], self.loss.lower(outcome), out=self.bounds[above])
        self.bounds[node] = math.inf
        if outcome.feasible:
            value = self.loss.of(outcome)
            if value < self.best_loss:
                self.best, self.best_loss = outcome, value
            self.feasible.append((value, node, outcome))
            self.feasible = sorted(self.feasible, key=lambda entry: entry[:2])[: MOST_RUNNERS + 1]
        return False


def _raised(node: Node, place: int) -> Node:
    return (*node[:place], node[place] + 1, *node[place + 1 :])


def _how_close(problem: Problem, closest: NodeOutcome | None) -> str:
    asked = ", ".join([f"{problem.k}-anonymity", *(criterion.label for criterion in problem.criteria)])
    n = problem.rows
    sentence = (
        f"no generalisation reaches {asked} while suppressing at most {problem.share:.4g} of the {n:,} rows "
        f"({problem.allowed:,})"
    )
    if closest is not None:
        heights = ", ".join(f"{name}: {step}" for name, step in problem.steps_at(closest.node).items())
        sentence += (
            f"; the closest would suppress {closest.suppressed:,} rows ({closest.suppressed / n:.4g}), at {heights}"
        )
    return sentence + ". Raise the suppression limit, add coarser steps, or ask for less."
