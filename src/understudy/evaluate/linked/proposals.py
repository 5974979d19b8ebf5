"""Rules that linked tables seem to keep: within a table, with the tables above it, and with the sibling before.

Read from confidential rows without a price, for the holder's screen, as for one table
(:mod:`understudy.evaluate.dependencies`). Rows of one person count as often as they come.
"""

from collections.abc import Iterator
from dataclasses import replace
from itertools import combinations

import numpy as np

from understudy.codebook import Codebook, Column, LinkedCodebook, LinkedTable, Order, Origin
from understudy.codebook.columns import FINE_DATE, Dates
from understudy.codebook.joined import plain_levels
from understudy.codebook.linked_rules import PREVIOUS, is_previous, table_of
from understudy.codebook.numbers import Number
from understudy.evaluate.dependencies import LEAST, SLIPS, Proposal, order_proposal, rules_from
from understudy.evaluate.linked.rows import LinkedRows
from understudy.evaluate.opened import Counts

_MOST_CELLS = 1 << 18
"""Cells of a pair that are counted; dates of many days are compared as they are."""


def propose_across(rows: LinkedRows) -> list[Proposal]:
    """All of it, columns spelled ``table.column``; what the codebook says already is left out."""
    found: dict[str, Proposal] = {}
    for table in rows.book.tables:
        for proposal in (*_of_codes(rows, table), *_of_dates(rows, table)):
            found.setdefault(proposal.id, proposal)
    return sorted(found.values(), key=lambda proposal: (-proposal.expected, proposal.id))


def _visible(book: LinkedCodebook, table: LinkedTable) -> dict[str, Column]:
    return {name: plain_levels(column, book) for name, column in book.visible(table.name).items()}


def _pairs(table: LinkedTable, columns: dict[str, Column]) -> Iterator[tuple[str, str]]:
    """Pairs that have a column of the table itself: the others are looked at further up."""
    for first, second in combinations(columns, 2):
        own = [name for name in (first, second) if table_of(name) == table.name and not is_previous(name)]
        before = [name for name in (first, second) if is_previous(name)]
        if own and (not before or own[0] == before[0].replace(f".{PREVIOUS}.", ".", 1)):
            yield first, second


def _of_codes(rows: LinkedRows, table: LinkedTable) -> list[Proposal]:
    columns = {name: column for name, column in _visible(rows.book, table).items() if not _is_fine(column)}
    grids: dict[tuple[str, str], Counts] = {}
    for first, second in _pairs(table, columns):
        sizes = columns[first].size, columns[second].size
        if np.prod(sizes) > _MOST_CELLS:
            continue
        a, b = rows.codes(first, table.name), rows.codes(second, table.name)
        known = (a >= 0) & (b >= 0)
        counts = np.bincount(a[known] * sizes[1] + b[known], minlength=int(np.prod(sizes)))
        grids[first, second] = counts.reshape(sizes)
    rules = tuple(rule for rule in rows.book.rules_on(table.name) if set(rule.columns) <= set(columns))
    proposals = rules_from(Codebook(columns=tuple(columns.values()), constraints=rules), grids)
    checked = [_on_numbers(rows, table, proposal, columns) for proposal in proposals]
    return [each for each in checked if not isinstance(each.rule, Order) or each.exceptions <= SLIPS * each.support]


def _on_numbers(rows: LinkedRows, table: LinkedTable, proposal: Proposal, columns: dict[str, Column]) -> Proposal:
    """An order of numbers with the rows that break it: two that share a bin can still be in the wrong order."""
    rule = proposal.rule
    if not isinstance(rule, Order) or not isinstance(columns[rule.low], Number):
        return proposal
    low, high = (rows.steps(name, table.name) for name in (rule.low, rule.high))
    return replace(proposal, exceptions=int((low > high).sum()))


def _is_fine(column: Column) -> bool:
    return isinstance(column, Dates) and column.proper_levels > FINE_DATE


def _of_dates(rows: LinkedRows, table: LinkedTable) -> Iterator[Proposal]:
    """Orders of dates that have too many days for a table of pairs."""
    columns = _visible(rows.book, table)
    known = {frozenset(rule.columns) for rule in rows.book.rules_on(table.name) if isinstance(rule, Order)}
    for pair in _pairs(table, columns):
        dates = [columns[name] for name in pair if isinstance(columns[name], Dates)]
        if len(dates) < 2 or not any(map(_is_fine, dates)) or frozenset(pair) in known:
            continue
        if table.order is not None and table.spelled(table.order) in pair and any(map(is_previous, pair)):
            continue  # siblings follow each other by it
        values = [rows.steps(name, table.name) for name in pair]
        there = np.isfinite(values[0]) & np.isfinite(values[1])
        first, second = (each[there] for each in values)
        for low, high, names in ((first, second, pair), (second, first, pair[::-1])):
            breaks = int((low > high).sum())
            later = np.searchsorted(np.sort(high), low, side="left")  # of how many others it would be later
            expected = float(later.sum() / max(len(high), 1))
            if breaks <= SLIPS * len(low) and expected >= LEAST:
                rule = Order(low=names[0], relation="<=", high=names[1], origin=Origin.DRAFTED)
                yield order_proposal(rule, support=len(low), exceptions=breaks, expected=expected)
