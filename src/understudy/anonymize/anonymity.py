"""The two steps that make a table k-anonymous, by whole columns or by boxes."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from understudy.anonymize.cells import Cells, star_map, with_star
from understudy.anonymize.criteria import Closeness, Criterion, check_k
from understudy.anonymize.hierarchy import Hierarchy, build
from understudy.anonymize.lattice import Found, search
from understudy.anonymize.losses import LOSSES, make_loss
from understudy.anonymize.mondrian import apply_partition, partition
from understudy.anonymize.problem import Problem, check_quasi, check_share, pose
from understudy.anonymize.state import State, Step
from understudy.errors import ParameterError


@dataclass(frozen=True, kw_only=True)
class _Anonymity(Step):
    k: int
    criteria: tuple[Criterion, ...] = ()
    is_record_wise = False

    def __post_init__(self) -> None:
        check_k(self.k)

    def _hierarchies(self, state: State) -> dict[str, Hierarchy]:
        check_quasi(state.quasi)
        for one in self.criteria:
            state.cells.place(one.column)
        names = dict.fromkeys([*state.quasi, *(one.column for one in self.criteria if _needs_tree(one))])
        return {name: state.hierarchy(name) for name in names}

    def _asked(self, state: State, hierarchies: Mapping[str, Hierarchy]) -> State:
        trees = {one.column: hierarchies[one.column] for one in self.criteria if _needs_tree(one)}
        return replace(
            state,
            k=max(self.k, state.k or 0),
            criteria=(*state.criteria, *self.criteria),
            trees={**state.trees, **trees},
        )


def _needs_tree(one: Criterion) -> bool:
    return isinstance(one, Closeness) and one.distance == "hierarchical"


@dataclass(frozen=True, kw_only=True)
class FullDomain(_Anonymity):
    """Every quasi-identifier to one step of its hierarchy, the same for all rows, at the smallest loss."""

    do: ClassVar[str] = "full-domain"
    says: ClassVar[str] = "k-anonymity by generalising whole columns, optimal on the lattice"
    suppression: float
    """Largest share of the rows that may be suppressed; no default."""
    loss: str = "entropy"
    suppressed: str = "star"
    """``star`` keeps suppressed rows with stars, if they can form a class; ``delete`` never keeps them."""
    at_most: Mapping[str, Any] = field(default_factory=dict)
    """The coarsest step allowed for a column, by name or number."""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_share(self.suppression)
        if self.loss not in LOSSES:
            raise ParameterError(f"`loss` is {self.loss!r}; it must be one of {', '.join(LOSSES)}.")
        if self.suppressed not in ("star", "delete"):
            raise ParameterError(f"`suppressed` is {self.suppressed!r}; it must be star or delete.")

    def apply(self, state: State) -> State:
        """Search, recode, suppress."""
        hierarchies = self._hierarchies(state)
        for name, step in self.at_most.items():
            if name not in state.quasi:
                raise ParameterError(f"`at_most` names {name!r}; quasi-identifiers are {', '.join(state.quasi)}.")
            hierarchies[name] = _lowered(hierarchies[name], hierarchies[name].find(step))
        problem = pose(
            state.cells,
            quasi=state.quasi,
            hierarchies=hierarchies,
            k=self.k,
            criteria=self.criteria,
            suppression=self.suppression,
            delete=self.suppressed == "delete",
        )
        found = search(problem, make_loss(self.loss, problem), report=state.report)
        cells = apply_node(state.cells, problem, found)
        facts = {
            "do": self.do,
            "loss": self.loss,
            "loss_value": found.loss,
            "steps": {
                name: hierarchy.names[height]
                for name, hierarchy, height in zip(problem.quasi, problem.hierarchies, found.outcome.node, strict=True)
            },
            "nodes": found.nodes,
            "visited": found.visited,
            "suppressed": found.outcome.suppressed,
            "deleted": found.outcome.deleted,
            "allowed": problem.allowed,
        }
        return self._asked(replace(state, cells=cells), hierarchies).told(**facts)


def _lowered(hierarchy: Hierarchy, height: int) -> Hierarchy:
    if height == 0:
        return build(hierarchy.column, (), top=False)
    return replace(
        hierarchy,
        names=hierarchy.names[: height + 1],
        labels=hierarchy.labels[: height + 1],
        maps=hierarchy.maps[: height + 1],
    )


def apply_node(cells: Cells, problem: Problem, found: Found) -> Cells:
    """The table at the chosen heights, with the suppressed rows starred or gone."""
    node, outcome = found.outcome.node, found.outcome
    places = [cells.place(name) for name in problem.quasi]
    stacked = np.vstack([problem.codes, cells.codes[:, places]]).astype(np.int32)
    keys = problem.keys(node, stacked)
    out: npt.NDArray[np.bool_] = np.isin(keys[len(problem.codes) :], keys[: len(problem.codes)][outcome.cells])
    columns, codes = list(cells.columns), cells.codes.copy()
    for place, hierarchy, height in zip(places, problem.hierarchies, node, strict=True):
        codes[:, place] = hierarchy.maps[height][codes[:, place]]
        columns[place] = hierarchy.at(height)
    if outcome.deleted:
        kept = ~out
        return Cells(columns=tuple(columns), codes=codes[kept], counts=cells.counts[kept]).merged()
    if out.any():
        for place in places:
            starred, star = with_star(columns[place])
            codes[:, place] = np.where(out, star, star_map(columns[place], starred)[codes[:, place]])
            columns[place] = starred
    return Cells(columns=tuple(columns), codes=codes, counts=cells.counts).merged()


@dataclass(frozen=True, kw_only=True)
class Mondrian(_Anonymity):
    """Boxes of at least k rows, cut at the median; every box is released as its ranges and sets."""

    do: ClassVar[str] = "mondrian"
    says: ClassVar[str] = "k-anonymity by boxes, cut at medians"

    def apply(self, state: State) -> State:
        """Cut and recode; nothing is suppressed."""
        hierarchies = self._hierarchies(state)
        cut = partition(state.cells, quasi=state.quasi, hierarchies=hierarchies, k=self.k, criteria=self.criteria)
        cells = apply_partition(state.cells, cut)
        return self._asked(replace(state, cells=cells), hierarchies).told(do=self.do, boxes=cut.boxes, suppressed=0)
