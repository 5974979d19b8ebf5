"""Histories drawn from the tables of all views: persons first, then the rows of each table, all ranks mended together.

Rows of a table begin rank by rank from the latent classes of its view, given all that is known of them. Then all rows
of a block of people are mended together against the tables of the view. The view is about a few random steps of each
person, so a row weighs as much as its chance to be such a step. What is known of the rows (the people who were drawn)
and the tables must say the same: tables of a known and a new column are fitted to the known column as it was drawn and
to the new one as it was measured.

People whose history the rules leave no way to go on are left out, and others drawn for them.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from understudy.blocks.shrinking import fitted_margins
from understudy.codebook.clauses import clause_of
from understudy.codebook.linked import LinkedCodebook
from understudy.codebook.views import View, positions
from understudy.histories.measuring import ViewTables
from understudy.histories.placing import place_dates
from understudy.histories.rows import Codes, LinkedRows, Places, TableRows
from understudy.mechanisms.stream import Stream
from understudy.samplers.agreeing import draw_agreeing, seed_of
from understudy.samplers.continuing import Continuing, Links, mend_linked
from understudy.sources.base import Report
from understudy.sources.tables import code_type
from understudy.synth.details import DetailTable

Values = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]


@dataclass(frozen=True, kw_only=True, eq=False)
class Measured:
    """A view, its tables, and how many steps of each person it is about."""

    view: View
    tables: ViewTables
    steps: int
    codes: tuple[DetailTable, ...] = ()
    """What the detailed codes of its table are drawn from, column by column."""


def draw_block(
    book: LinkedCodebook,
    measured: Sequence[Measured],
    people: int,
    stream: Stream,
    *,
    where: Mapping[str, Sequence[int]] | None = None,
    report: Report | None = None,
) -> LinkedRows:
    """At most so many people with their histories: all that are wanted and that the rules let go on to their end."""
    histories = _draw_people(book, measured[0], people, stream)
    if where:
        held = histories.tables[book.person.name].codes
        histories = histories.only(np.logical_and.reduce([np.isin(held[name], codes) for name, codes in where.items()]))
    for one in measured[1:]:
        histories = _draw_steps(histories, one, stream, report)
    lost = lost_people(histories, [one.view for one in measured])
    return histories.only(~lost) if lost.any() else histories


def _draw_people(book: LinkedCodebook, one: Measured, people: int, stream: Stream) -> LinkedRows:
    view, tables = one.view, one.tables
    drawn = draw_agreeing(
        tables.classes.weights,
        tables.classes.levels,
        {(i, j): table for (i, j), table in tables.twos.items()},
        allowed=view.book.allowed,
        rows=people,
        stream=stream,
    )
    columns = dict(zip(view.book.names, drawn, strict=True))
    return _with_rows(LinkedRows(book=book, tables={}), view, columns, np.arange(people), stream)


def _with_rows(
    histories: LinkedRows, view: View, columns: Mapping[str, Codes], parent: Places, stream: Stream
) -> LinkedRows:
    """The table of a view filled, its dates placed and its children made room for; people who got stuck are gone."""
    book, name = histories.book, view.table.name
    told = {one.column: columns[one.column] for one in view.placed}
    codes = {own: columns[view.spelled(own)] for own in view.table.book.names if view.spelled(own) not in told}
    codes |= {column.partition(".")[2]: np.zeros(len(parent), dtype=np.int64) for column in told}
    table = TableRows(codes=codes, parent=parent, told=told)
    filled = LinkedRows(book=book, tables={**histories.tables, name: table})
    going = _place(filled, view, stream)
    children = {}
    for child, column in view.counts.items():
        children[child] = TableRows(
            codes={}, parent=np.repeat(np.arange(len(parent)), columns[column].astype(np.int64))
        )
    filled = LinkedRows(book=book, tables={**filled.tables, **children})
    return filled if going.all() else _without(filled, name, going)


def _without(histories: LinkedRows, table: str, going: Bools) -> LinkedRows:
    """Only the people all of whose rows in a table may stand."""
    people = np.ones(histories.people, dtype=bool)
    people[histories.person_of(table)[~going]] = False
    return histories.only(people)


def _place(histories: LinkedRows, view: View, stream: Stream) -> Bools:
    """Dates of many levels, rank by rank where they follow each other; which rows found room."""
    table = histories.tables[view.table.name]
    going = np.ones(len(table), dtype=bool)
    if not view.placed:
        return going
    ranks = [np.arange(len(table))] if view.is_first else by_rank(table)
    for rows in ranks:
        for one in view.placed:
            told = table.told[one.column][rows]
            drawn, room = place_dates(histories, view, one, rows, told, stream.below_each)
            table.codes[one.column.partition(".")[2]][rows] = drawn
            going[rows] &= room
    return going


def by_rank(table: TableRows) -> list[Places]:
    """The rows of each rank, the first ones first."""
    order = np.argsort(table.rank, kind="stable")
    return np.split(order, np.cumsum(np.bincount(table.rank))[:-1]) if len(table) else []


def _draw_steps(histories: LinkedRows, one: Measured, stream: Stream, tell: Report | None) -> LinkedRows:
    view, tables = one.view, one.tables
    table = histories.tables[view.table.name]
    names = view.book.names
    known, new = positions(names, view.known), positions(names, view.new)
    rows = np.zeros((len(table), len(names)), dtype=code_type(max(view.book.sizes)))
    before = set(view.before.values())
    standing = [name for name in view.known if name not in before]
    for name, codes in histories.in_view(view, np.arange(len(table)), standing).items():
        rows[:, names.index(name)] = codes
    continuing = Continuing(
        weights=tables.classes.weights, levels=tables.classes.levels, known=known, new=new, allowed=view.book.allowed
    )
    repeated = {names.index(own): names.index(again) for own, again in view.before.items()}
    state = seed_of(stream)
    for rank, of_rank in enumerate(by_rank(table)):
        block = rows[of_rank]
        for own, again in repeated.items():
            block[:, again] = rows[of_rank - 1, own] if rank else view.book.sizes[again] - 1
        continuing.draw(block, state)
        rows[of_rank] = block
    going = view.book.allowed.fits(list(rows.T)) if view.book.allowed else np.ones(len(rows), dtype=bool)
    if not going.all():
        people = histories.person_of(view.table.name)
        stuck = np.zeros(histories.people, dtype=bool)
        stuck[people[~going]] = True
        rows = rows[~stuck[people]]
        histories = histories.only(~stuck)
        table = histories.tables[view.table.name]
    weights = step_weights(histories, view.table.name, one.steps)
    last = np.ones(len(table), dtype=bool)
    last[:-1] = table.parent[1:] != table.parent[:-1]
    links = Links(
        free=new,
        weights=weights.astype(np.float32),
        follower=np.where(last, -1, np.arange(1, len(table) + 1)),
        repeated=repeated,
    )
    goal = fitted_tables(one, rows, weights, positions(names, standing))
    report = None if tell is None else lambda done, of: tell(f"drawing {view.table.name}", done, of)
    mend_linked(rows, tables.ones, goal, links, allowed=view.book.allowed, stream=stream, report=report)
    columns = {names[place]: rows[:, place] for place in new}
    return _with_rows(histories, view, columns, table.parent, stream)


def step_weights(histories: LinkedRows, table: str, steps: int) -> Values:
    """The chance of every row to be one of the few steps of its person."""
    people = histories.person_of(table)
    each = np.bincount(people, minlength=histories.people)
    return (np.minimum(each, steps) / np.maximum(each, 1))[people]


def fitted_tables(
    one: Measured, rows: Codes, weights: Values, standing: Sequence[int]
) -> dict[tuple[int, ...], Values]:
    """The tables of pairs; those of a standing column agree with the rows as they are."""
    fixed = set(standing)
    shares = {
        column: np.bincount(rows[:, column], weights=weights, minlength=one.view.book.sizes[column]) for column in fixed
    }
    total = max(float(weights.sum()), 1e-300)
    goal: dict[tuple[int, ...], Values] = {}
    for (i, j), table in one.tables.twos.items():
        if i in fixed and j in fixed:
            continue
        if i in fixed or j in fixed:
            margins = [
                shares[column] / total if column in fixed else one.tables.ones[column] / one.tables.ones[column].sum()
                for column in (i, j)
            ]
            goal[i, j] = fitted_margins(np.maximum(table / table.sum(), 1e-12), *margins)
        else:
            goal[i, j] = table
    return goal


def lost_people(histories: LinkedRows, views: Sequence[View]) -> Bools:
    """People who break a rule that no view could keep: one about certain dates among many."""
    lost = np.zeros(histories.people, dtype=bool)
    for view in views:
        table = view.table.name
        rows = np.arange(len(histories.tables[table]))
        for rule in view.unkept:
            columns = {name: histories.book.column(name) for name in rule.columns}
            seen = [histories.exact(table, name, rows) for name in rule.columns]
            codes, there = [each for each, _ in seen], np.logical_and.reduce([known for _, known in seen])
            kept = clause_of(rule, columns).allows(codes)
            lost[histories.person_of(table)[there & ~kept]] = True
    return lost
