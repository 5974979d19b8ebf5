"""The two steps that make a table k-anonymous, by whole columns or by boxes."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np

from understudy.anonymize.cells import Cells
from understudy.anonymize.criteria import CRITERIA, Criterion, uses_distance
from understudy.anonymize.hierarchy import Hierarchy
from understudy.anonymize.lattice import Optimum, search
from understudy.anonymize.losses import LOSSES
from understudy.anonymize.mondrian import apply_partition, partition
from understudy.anonymize.problem import Problem, check_quasi, pose
from understudy.anonymize.state import State, Step
from understudy.errors import ParameterError
from understudy.parameters import Number, OneOf, Panel, Text, Whole, option

_AT_MOST = option(
    rule=Text(
        words="a table of columns and steps", example="{ age = 2 }", admitted=lambda value: isinstance(value, Mapping)
    ),
    help="The coarsest step allowed for a column, by name or number.",
)


@dataclass(frozen=True, kw_only=True)
class _Anonymity(Step):
    is_record_wise = False
    k: int = option(
        rule=Whole(least=2, tried=5),
        help="Rows that must share every combination of quasi-identifiers.",
        panel=Panel.PRIVACY,
    )
    criteria: tuple[Criterion, ...] = option(
        (), rule=CRITERIA, help="What every class must satisfy besides.", panel=Panel.PRIVACY
    )

    def _hierarchies(self, state: State) -> dict[str, Hierarchy]:
        check_quasi(state.quasi)
        for criterion in self.criteria:
            state.cells.place(criterion.column)
        return {name: state.hierarchy(name) for name in dict.fromkeys([*state.quasi, *self._tree_columns])}

    @property
    def _tree_columns(self) -> list[str]:
        return [criterion.column for criterion in self.criteria if uses_distance(criterion, "hierarchical")]

    def _after(self, state: State, cells: Cells, hierarchies: Mapping[str, Hierarchy], **facts: Any) -> State:
        """The state with what was asked, so that it is counted in the released table."""
        asked = replace(
            state,
            k=max(self.k, state.k or 0),
            criteria=(*state.criteria, *self.criteria),
            trees={**state.trees, **{name: hierarchies[name] for name in self._tree_columns}},
        )
        return asked.after(cells, do=self.do, **facts)


@dataclass(frozen=True, kw_only=True)
class FullDomain(_Anonymity):
    """Every quasi-identifier to one step of its hierarchy, the same for all rows, at the smallest loss."""

    do: ClassVar[str] = "full-domain"
    suppression: float = option(
        rule=Number(least=0, most=1, tried=0.01),
        help="Largest share of the rows that may be suppressed; not for Mondrian.",
        panel=Panel.PRIVACY,
    )
    loss: str = option(
        "entropy", rule=OneOf.of(LOSSES), help=f"What is made as small as possible: {', '.join(LOSSES)}."
    )
    suppressed: str = option(
        "star",
        rule=OneOf(("star", "delete")),
        help="star: suppressed rows stay with stars, if they can form a class; delete: they never stay.",
    )
    at_most: Mapping[str, Any] = field(default_factory=dict, metadata=_AT_MOST.metadata)

    def apply(self, state: State) -> State:
        """Search, recode, suppress."""
        hierarchies = self._hierarchies(state)
        problem, optimum = self.searched(state, hierarchies)
        return self._after(
            state,
            apply_node(state.cells, problem, optimum),
            hierarchies,
            loss=self.loss,
            loss_value=optimum.loss,
            steps=problem.steps_at(optimum.outcome.node),
            nodes=optimum.nodes,
            visited=optimum.visited,
            suppressed=optimum.outcome.suppressed,
            deleted=optimum.outcome.deleted,
            allowed=problem.allowed,
        )

    def searched(self, state: State, hierarchies: dict[str, Hierarchy] | None = None) -> tuple[Problem, Optimum]:
        """The problem that the table poses, and its solution with the runners-up."""
        hierarchies = self._hierarchies(state) if hierarchies is None else hierarchies
        for name, step in self.at_most.items():
            if name not in state.quasi:
                raise ParameterError(f"`at_most` names {name!r}; quasi-identifiers are {', '.join(state.quasi)}.")
            hierarchies[name] = hierarchies[name].up_to(step)
        problem = pose(
            state.cells,
            quasi=state.quasi,
            hierarchies=hierarchies,
            k=self.k,
            criteria=self.criteria,
            suppression=self.suppression,
            delete=self.suppressed == "delete",
        )
        return problem, search(problem, LOSSES[self.loss](problem), report=state.report)


def apply_node(cells: Cells, problem: Problem, optimum: Optimum) -> Cells:
    """The table at the chosen heights, with the suppressed rows starred or gone."""
    node, outcome = optimum.outcome.node, optimum.outcome
    known, asked = problem.keys_beside(node, cells)
    suppressed = np.isin(asked, known[outcome.cells])
    columns, codes = list(cells.columns), cells.codes.copy()
    for name, hierarchy, height in zip(problem.quasi, problem.hierarchies, node, strict=True):
        place = cells.place(name)
        codes[:, place] = hierarchy.maps[height][codes[:, place]]
        columns[place] = hierarchy.at(height)
    recoded = replace(cells, columns=tuple(columns), codes=codes)
    if outcome.deleted:
        return recoded.filtered(~suppressed).merged()
    return recoded.starred(dict.fromkeys(problem.quasi, suppressed)) if suppressed.any() else recoded.merged()


@dataclass(frozen=True, kw_only=True)
class Mondrian(_Anonymity):
    """Boxes of at least k rows, cut at the median; every box is released as its ranges and sets."""

    do: ClassVar[str] = "mondrian"

    def apply(self, state: State) -> State:
        """Cut and recode; nothing is suppressed."""
        hierarchies = self._hierarchies(state)
        cut = partition(state.cells, quasi=state.quasi, hierarchies=hierarchies, k=self.k, criteria=self.criteria)
        return self._after(state, apply_partition(state.cells, cut), hierarchies, boxes=cut.boxes, suppressed=0)
