"""The steps of a recipe applied to a source, and the table that comes out counted again."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import pyarrow as pa

from understudy.anonymize.cells import Cells, base_texts, cells_of
from understudy.anonymize.criteria import Criterion, uses_distance
from understudy.anonymize.hierarchy import Hierarchy
from understudy.anonymize.measure import Measured, measure
from understudy.anonymize.problem import check_quasi
from understudy.anonymize.released import released
from understudy.anonymize.state import State
from understudy.codebook import Codebook, Role
from understudy.errors import ParameterError, RefusalError
from understudy.mechanisms.stream import Stream
from understudy.privacy.provenance import Made
from understudy.sources.base import Report, Source
from understudy.sources.inputs import refuse_as_rule

if TYPE_CHECKING:
    from understudy.anonymize.recipe import Recipe


@dataclass(frozen=True, kw_only=True, eq=False)
class Outcome:
    """What the steps came to; everything but the table and its codebook is confidential."""

    table: pa.Table
    book: Codebook
    state: State
    before: Cells
    """The table as it was read."""
    measured: Measured
    trees: Mapping[str, Mapping[str, Sequence[str]]]
    """For each hierarchical distance, the groups of every value: what `verify` needs to count again."""


def outcome_of(
    recipe: "Recipe", source: Source, *, quasi: Sequence[str] | None, stream: Stream, report: Report | None
) -> Outcome:
    """Apply the steps and measure what came out. A table that falls short of what was asked is refused."""
    _refuse_input(recipe, source)
    before = cells_of(source, report=report)
    named = quasi if quasi is not None else recipe.quasi
    names = before.with_roles(Role.QUASI_IDENTIFIER) if named is None else tuple(named)
    check_quasi(names)
    for name in (*names, *recipe.hierarchies):
        before.place(name)
    state = State(cells=with_role(before, names), quasi=names, rules=recipe.hierarchies, stream=stream, report=report)
    for number, step in enumerate(recipe.steps, start=1):
        if report:
            report("recipe", number - 1, len(recipe.steps))
        state = step.apply(state)
        if state.cells.rows == 0:
            raise RefusalError(f"step {number} ({step.do}) left no row; there is nothing to release. Ask for less.")
    check_quasi(state.quasi)
    if report:
        report("recipe", len(recipe.steps), len(recipe.steps))
    table, book = released(state.cells, drawn=state.drawn, below_each=stream.below_each, book=source.codebook)
    trees = {name: tree_words(hierarchy) for name, hierarchy in state.trees.items()}
    measured = measure(
        table, quasi=state.quasi, criteria=state.criteria, orders=orders_of(book, state.criteria), trees=trees
    )
    _refuse_less(state, measured)
    return Outcome(table=table, book=book, state=state, before=before, measured=measured, trees=trees)


def _refuse_input(recipe: "Recipe", source: Source) -> None:
    """What cannot be anonymised, and files that are no public rule."""
    if source.provenance.made is Made.ANONYMIZED:
        raise ParameterError(
            f"the input is itself {source.provenance.called}; anonymise the confidential table again instead, with one "
            "recipe for all that is asked."
        )
    if source.provenance.made in (Made.COUNTS, Made.ANSWER, Made.SYNTHETIC):
        raise ParameterError(
            f"the input is {source.provenance.called}, whose rows are no records of people, so that how many of them "
            "are alike protects nobody. Anonymise the confidential table; what this release promises, it promises as "
            "it is."
        )
    if source.provenance.several:
        raise ParameterError(
            f"the input is put together from several tables, among them {source.provenance.called}: the same people "
            "may stand in more than one, so that rows that are alike need not be as many people. Anonymise one of them."
        )
    if source.codebook.purchases:
        raise ParameterError(
            "the codebook was bought by a priced draft, and an anonymised release carries no epsilon that could repeat "
            "its price. Declare the levels from public documents, or synthesize instead."
        )
    for name, rule in recipe.hierarchies.items():
        if rule.arx is None:
            continue
        refuse_as_rule(rule.arx, f"hierarchy of {name!r}", confidential=source.address)


def with_role(cells: Cells, quasi: Sequence[str]) -> Cells:
    """The roles as they are meant in this release."""
    columns = []
    for column in cells.columns:
        role = Role.QUASI_IDENTIFIER if column.name in quasi else column.role
        if column.name not in quasi and role is Role.QUASI_IDENTIFIER:
            role = Role.OTHER
        columns.append(replace(column, role=role))
    return replace(cells, columns=tuple(columns))


def orders_of(book: Codebook, criteria: Sequence[Criterion]) -> dict[str, list[str]]:
    """Values of the columns that an ordered distance is about, from low to high, as a released table spells them."""
    columns = [book.column(criterion.column) for criterion in criteria if uses_distance(criterion, "ordered")]
    return {column.name: list(base_texts(column)) if column.is_modelled else [] for column in columns}


def tree_words(hierarchy: Hierarchy) -> dict[str, list[str]]:
    """The names of the groups of every value, finest first."""
    return {
        text: [hierarchy.labels[height][int(hierarchy.maps[height][code])] for height in range(1, hierarchy.height + 1)]
        for code, text in enumerate(base_texts(hierarchy.column))
    }


def _refuse_less(state: State, measured: Measured) -> None:
    """A later step, or rounding of some label, may undo what an earlier one achieved: then nothing is released."""
    if state.k is not None and measured.k < state.k:
        raise RefusalError(
            f"the recipe asks for {state.k}-anonymity, but the released table would be {measured.k}-anonymous: a step "
            "after the k-anonymous one changed its quasi-identifiers or its rows. Put that step before it."
        )
    if measured.broken:
        criterion, value = measured.broken[0]
        raise RefusalError(
            f"the recipe asks for {criterion.label}, but the released table would measure {value:.4g}: a step after it "
            "changed the rows or the column. Put that step before it."
        )
