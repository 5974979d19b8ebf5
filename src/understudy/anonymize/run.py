"""From a source and a recipe to a release: apply the steps, count again, and claim what was counted."""

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa

from understudy.anonymize.cells import Cells, base_texts, cells_of
from understudy.anonymize.criteria import Closeness, Criterion
from understudy.anonymize.hierarchy import Hierarchy
from understudy.anonymize.measure import Measured, measure
from understudy.anonymize.problem import check_quasi
from understudy.anonymize.recipe import Recipe
from understudy.anonymize.released import released
from understudy.anonymize.state import State
from understudy.codebook import Codebook, Column, Role
from understudy.errors import ParameterError, RefusalError
from understudy.mechanisms.k_anonymity import KAnonymousTable
from understudy.mechanisms.stream import Stream
from understudy.privacy.ledger import Entry, Ledger
from understudy.release import Manifest, Release
from understudy.sources.ancestry import Made, mark
from understudy.sources.base import Report, Source

__all__ = ["Anonymized", "anonymize"]

_PUBLIC = ("do", "column", "columns", "to", "steps", "loss", "nodes", "visited")
"""Facts of a step that can be seen in the released table or that the recipe fixed: no count among them."""
_ACCOUNT = "none: k-anonymity is no differential privacy, and no account can hold it against an epsilon"


@dataclass(frozen=True, kw_only=True, eq=False)
class Anonymized:
    """The release, and what it was made from; everything but the release is confidential."""

    release: Release
    before: Cells
    """The table as it was read."""
    facts: tuple[Mapping[str, Any], ...]
    """What each step did."""
    quasi: tuple[str, ...]
    measured: Measured


def anonymize(
    source: Source, recipe: Recipe, *, quasi: Sequence[str] | None = None, stream: Stream | None = None,
    report: Report | None = None,
) -> Anonymized:  # fmt: skip
    """Apply a recipe and measure what came out. A table that falls short of what was asked is refused."""
    if source.ancestor is not None and source.ancestor.made is Made.ANONYMIZED:
        raise ParameterError(
            f"the input is itself the anonymised release {source.ancestor.release}; anonymise the confidential table "
            "again instead, with one recipe for all that is asked."
        )
    stream = Stream.checked(stream)
    before = cells_of(source, report=report)
    named = quasi if quasi is not None else recipe.quasi
    names = before.with_roles(Role.QUASI_IDENTIFIER) if named is None else tuple(named)
    if source.codebook.paid is not None:
        raise ParameterError(
            "the codebook was bought by a priced draft, and an anonymised release carries no epsilon that could repeat "
            "its price. Declare the levels from public documents, or synthesize instead."
        )
    check_quasi(names)
    for name in names:
        before.place(name)
    for name in recipe.hierarchies:
        before.place(name)
    state = State(cells=_with_role(before, names), quasi=names, rules=recipe.hierarchies, stream=stream, report=report)
    for number, step in enumerate(recipe.steps, start=1):
        if report:
            report("recipe", number - 1, len(recipe.steps))
        state = step.apply(state)
        if state.cells.rows == 0:
            raise RefusalError(f"step {number} ({step.do}) left no row; there is nothing to release. Ask for less.")
    check_quasi(state.quasi)
    if report:
        report("recipe", len(recipe.steps), len(recipe.steps))
    table, book = released(state.cells, drawn=state.drawn, below_each=stream.below_each, title=source.codebook.title)
    measured = measure(
        table, quasi=state.quasi, criteria=state.criteria, orders=_orders(book, state.criteria), trees=_trees(state)
    )
    _refuse_less(state, measured)
    identity = str(uuid.uuid4())
    manifest = _manifest(source, recipe, state, book, measured, identity)
    marked = table.replace_schema_metadata(mark(release=identity, record_wise=recipe.is_record_wise))
    return Anonymized(
        release=Release(table=marked, manifest=manifest),
        before=before,
        facts=state.facts,
        quasi=state.quasi,
        measured=measured,
    )


def _with_role(cells: Cells, quasi: Sequence[str]) -> Cells:
    """The roles as they are meant in this release."""
    columns = []
    for column in cells.columns:
        role = Role.QUASI_IDENTIFIER if column.name in quasi else column.role
        if column.name not in quasi and role is Role.QUASI_IDENTIFIER:
            role = Role.OTHER
        columns.append(replace(column, role=role))
    return replace(cells, columns=tuple(columns))


def _orders(book: Codebook, criteria: Sequence[Criterion]) -> dict[str, list[str]]:
    """Values of the columns that an ordered distance is about, from low to high, as the table spells them."""
    return {
        one.column: spelled(book.column(one.column))
        for one in criteria
        if isinstance(one, Closeness) and one.distance == "ordered"
    }


def spelled(column: Column) -> list[str]:
    """The values of a column from low to high, as a released table spells them."""
    return list(base_texts(column)) if column.is_modelled else []


def _trees(state: State) -> dict[str, dict[str, list[str]]]:
    """For each hierarchical distance, the groups of every value: what `verify` needs to count again."""
    return {name: tree_words(hierarchy) for name, hierarchy in state.trees.items()}


def tree_words(hierarchy: Hierarchy) -> dict[str, list[str]]:
    """The names of the groups of every value, finest first."""
    words = {}
    for code, text in enumerate(base_texts(hierarchy.column)):
        words[text] = [
            hierarchy.labels[height][int(hierarchy.maps[height][code])] for height in range(1, hierarchy.height + 1)
        ]
    return words


def _refuse_less(state: State, measured: Measured) -> None:
    """A later step, or rounding of some label, may undo what an earlier one achieved: then nothing is released."""
    if state.k is not None and measured.k < state.k:
        raise RefusalError(
            f"the recipe asks for {state.k}-anonymity, but the released table would be {measured.k}-anonymous: a step "
            "after the k-anonymous one changed its quasi-identifiers or its rows. Put that step before it."
        )
    if measured.broken:
        one, value = measured.broken[0]
        raise RefusalError(
            f"the recipe asks for {one.said}, but the released table would measure {value:.4g}: a step after it "
            "changed the rows or the column. Put that step before it."
        )


def _entries(recipe: Recipe, state: State, measured: Measured) -> list[Entry]:
    names = ", ".join(state.quasi)
    if measured.k < 2:
        entries = [
            Entry.unpriced(
                stage="release",
                reads="every record",
                why=f"records of real people, some of them alone with their combination of {names}",
            )
        ]
    else:
        said = tuple(one.said for one, _ in measured.achieved)
        entries = [
            Entry(
                stage="release",
                reads="every record",
                event=KAnonymousTable(k=measured.k, quasi_identifiers=state.quasi, criteria=said),
                assumptions=(f"an intruder can link by {names} and by nothing else in the table",),
            )
        ]
    if recipe.is_random and not state.stream.is_secure:
        why = "the randomness was seeded, so whoever knows or guesses the seed can undo it"
        entries.append(Entry.unpriced(stage="randomness", reads="a seed instead of the secure stream", why=why))
    return entries


def _manifest(
    source: Source, recipe: Recipe, state: State, book: Codebook, measured: Measured, identity: str
) -> Manifest:
    warnings = []
    if source.codebook.unit is not None:
        warnings.append(
            "classes count records, not people: one person with several records may fill a class alone, so that its "
            "size says less than it seems."
        )
    if source.codebook.details:
        names = ", ".join(detail.name for detail in source.codebook.details)
        warnings.append(f"left out: {names} (detailed codes are not anonymised).")
    if not source.codebook.is_public:
        warnings.append(
            f"levels of {', '.join(source.codebook.unattested)} were drafted from the data: they say what occurs in it."
        )
    return Manifest(
        release_id=identity,
        method="anonymize",
        route="none",
        parameters=recipe.to_dict(),
        rows=measured.rows,
        rows_origin="one row per record that was kept: the number is the data's own",
        ledger=Ledger.of(_entries(recipe, state, measured)),
        delta=None,
        paper=None,
        codebook=book,
        secure=state.stream.is_secure,
        account=_ACCOUNT,
        warnings=tuple(warnings),
        holds="anonymized",
        anonymity={
            "quasi_identifiers": list(state.quasi),
            "asked": {"k": state.k, "criteria": [one.to_dict() for one in state.criteria]},
            "measured": measured.to_dict(),
            "record_wise": recipe.is_record_wise,
            "applied": [{name: fact[name] for name in fact if name in _PUBLIC} for fact in state.facts],
            "trees": _trees(state),
        },
    )


def table_of(cells: Cells) -> pa.Table:
    """Cells as text, for figures about a table before it was anonymised; confidential."""
    rows = cells.expanded()
    arrays = {}
    for place, column in enumerate(cells.columns):
        labels = pa.array([*base_texts(column), *([None] if column.missing is not None else [])], type=pa.string())
        arrays[column.name] = labels.take(pa.array(rows[:, place]))
    return pa.table(arrays)
