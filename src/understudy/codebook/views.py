"""Views of linked tables: ordinary codebooks in which a history can be counted and drawn, one step at a time.

The *person view* has one row for each person: the columns of the top table, and how many rows each child table has for
them. The *step view* of another table has one row for each of its rows. What stands already when the row is drawn is
*known*: the columns of the rows above, how many siblings there are and which of them it is, and the columns of the
sibling before. The row's own columns, and how many rows of each child table it has, are *new*.

Dates of many levels would make tables and rules too large. In a view such a date is *placed*: told as a gap to the date
that it must not precede (the sibling before, or one that a rule names), or roughly where there is none. The date itself
is found by adding, within what the rules leave, so that its order holds by construction.
"""

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from understudy.codebook.book import Codebook
from understudy.codebook.code_cells import CodeCells, code_cells
from understudy.codebook.coded import CodeLevel
from understudy.codebook.columns import FINE_DATE, Categorical, Column, Dates, Ordinal, Role
from understudy.codebook.constraints import Orders
from understudy.codebook.linked import LinkedCodebook, LinkedTable
from understudy.codebook.linked_rules import PREVIOUS, Last, is_previous
from understudy.codebook.numbers import Number
from understudy.codebook.rules import Impossible, Order, Rule

NONE = "(none)"
"""What the columns of the sibling before hold where there is none; beside the rank it needs no level of its own."""
_ROUGHLY = 32
"""Parts of the range of a date that has nothing to be told from."""
_GAPS = (0, 1, 2, 3, 4, 7, 14, 28, 56, 91, 182, 365, 730, 1826, 3652, 7305, 14610, 29220, 58440)
"""Where the bins of a gap begin, in grains."""
_RANKS = 8
"""Ranks that are told one by one; later ones share a level with others, twice as many each time."""
_ALL_BEFORE = 12
"""New columns up to which each is held against every column of the sibling before, not only against its own."""


@dataclass(frozen=True, kw_only=True)
class Placed:
    """A date of many levels, told in the view by a gap or roughly."""

    column: str
    dates: Dates
    anchor: str | None
    """The column from which the gap is told where that is known."""
    later: str | None
    """Instead of it, for all siblings but the first: the same column of the sibling before."""
    above: tuple[tuple[str, int], ...]
    """Columns that it must not precede, each with the least distance in grains."""
    below: tuple[tuple[str, int], ...]
    """Columns that it must not exceed."""

    @cached_property
    def gaps(self) -> tuple[int, ...]:
        """Where the bins of the gap begin; the last ends with the range."""
        if self.anchor is None and self.later is None:
            return ()
        return tuple(gap for gap in _GAPS if gap < self.dates.proper_levels)

    @cached_property
    def rough(self) -> tuple[int, ...]:
        """Where the rough parts begin, as codes of the date."""
        size = self.dates.proper_levels
        return tuple(part * size // _ROUGHLY for part in range(_ROUGHLY))

    def told(self, name: str) -> Categorical:
        """The column of the view: gaps first, then rough places."""
        levels = (*(f"after {gap}" for gap in self.gaps), *(f"about {self.dates.labels[code]}" for code in self.rough))
        return Categorical(name=name, levels=levels, missing=self.dates.missing)


@dataclass(frozen=True, kw_only=True, eq=False)
class View:
    """A codebook whose rows are persons or steps."""

    table: LinkedTable
    book: Codebook
    known: tuple[str, ...]
    """Columns that stand before a row is drawn; the others are new."""
    before: Mapping[str, str]
    """New columns, each with the one that holds its value in the sibling before."""
    counts: Mapping[str, str]
    """Child tables, each with the new column that says how many rows the row has there."""
    siblings: str | None
    """How many rows of this table the parent has; None for persons."""
    rank: str | None
    last: str | None
    """Whether no sibling follows, where a rule asks for it."""
    placed: tuple[Placed, ...]
    unkept: tuple[Rule, ...]
    """Rules about certain ones of many dates, which the view cannot keep: whoever breaks one is drawn again."""
    compared: tuple[str, ...]
    """Number columns, known ones too, that order rules compare: their values keep that order, not only their bins."""
    codes: tuple[CodeCells, ...]
    """Detailed codes of the table: counted beside the columns of the view, and drawn after it."""

    @cached_property
    def counted(self) -> Codebook:
        """The columns of the view, then the cells of its codes."""
        if not self.codes:
            return self.book
        cells = (one.column(self.spelled(one.detail.name)) for one in self.codes)
        return Codebook(columns=(*self.book.columns, *cells))

    @cached_property
    def new(self) -> tuple[str, ...]:
        """The columns that a row brings."""
        known = set(self.known)
        return tuple(name for name in self.book.names if name not in known)

    @cached_property
    def is_first(self) -> bool:
        """Whether its rows are persons."""
        return self.siblings is None

    def spelled(self, column: str) -> str:
        """A column of the table as the view calls it."""
        return self.table.spelled(column)

    @cached_property
    def pairs(self) -> tuple[tuple[int, int], ...]:
        """The pairs of columns, by position, that tell something of new columns."""
        place = {name: number for number, name in enumerate(self.book.names)}
        new = {place[name] for name in self.new}
        back = {place[name]: place[own] for own, name in self.before.items()}
        everything = len(new) <= _ALL_BEFORE

        def matters(first: int, second: int) -> bool:
            if first not in new and second not in new:
                return False
            if everything or (first in new and second in new):
                return True
            known, own = (second, first) if first in new else (first, second)
            return back.get(known, own) == own

        return tuple(pair for pair in itertools.combinations(range(len(place)), 2) if matters(*pair))


def rank_level(rank: int) -> int:
    """The level of a rank that counts from 0.

    >>> [rank_level(rank) for rank in (0, 1, 7, 8, 15, 16, 31, 32)]
    [0, 1, 7, 8, 8, 9, 9, 10]
    """
    return rank if rank < _RANKS else _RANKS + (rank // _RANKS).bit_length() - 1


def views_of(book: LinkedCodebook) -> tuple[View, ...]:
    """The person view, then the step view of every other table, parents first."""
    return tuple(_view(book, table) for table in book.tables)


def count_name(child: str) -> str:
    """The column that says how many rows of a child table there are; no other column has a name without a dot."""
    return f"number of {child}"


def _view(book: LinkedCodebook, table: LinkedTable) -> View:
    placed = {one.column: one for step in book.path(table.name) for one in _placed(book, step)}
    above = [name for step in book.path(table.name)[:-1] for name in map(step.spelled, step.book.names)]
    own = [table.spelled(name) for name in table.book.names]
    columns = {name: _told(book, name, placed) for name in (*above, *own)}
    known: list[Column] = [columns[name] for name in above]
    before: dict[str, str] = {}
    siblings = rank = last = None
    ends = book.ends(table.name)
    if table.parent is not None:
        assert table.cap is not None
        siblings, rank = count_name(table.name), f"which of {table.name}"
        known.append(_how_many(siblings, table.cap))
        known.append(Ordinal(name=rank, levels=_rank_levels(table.cap)))
        if ends:
            last = f"last of {table.name}"
            known.append(Categorical(name=last, levels=("no", "yes")))
        if table.cap > 1:
            for name in own:
                before[name] = table.spelled(f"{PREVIOUS}.{name.partition('.')[2]}")
                known.append(_perhaps_none(replace(columns[name], name=before[name])))
    counts = {child.name: count_name(child.name) for child in book.children(table.name)}
    new = [columns[name] for name in own]
    new += [_how_many(counts[child.name], child.cap or 0) for child in book.children(table.name)]
    modelled = {column.name for column in (*known, *new)}
    rules = [*book.rules_on(table.name), *_own_order(table)]
    kept = [
        rule
        for rule in rules
        if set(rule.columns) <= modelled
        and not _names_placed(rule, placed)
        and any(name.partition(".")[0] == table.name for name in rule.columns)  # others were kept further up
    ]
    unkept = [rule for rule in rules if _names_placed(rule, placed) and not isinstance(rule, Order)]
    kept += [
        Impossible(name=rule.title, cells=((str(last), ("no",)), *rule.cells))
        for rule in ends
        if isinstance(rule, Last)
    ]
    compared = {name for rule in kept if isinstance(rule, Order) for name in rule.columns}
    every = (*known, *new)
    return View(
        table=table,
        book=Codebook(columns=every, constraints=tuple(kept)),
        known=tuple(column.name for column in known),
        before=before,
        counts=counts,
        siblings=siblings,
        rank=rank,
        last=last,
        placed=tuple(one for name, one in placed.items() if name in own),
        unkept=tuple(unkept),
        compared=tuple(one.name for one in every if one.name in compared and isinstance(one, Number)),
        codes=code_cells(table.book),
    )


def _names_placed(rule: Rule, placed: Mapping[str, Placed]) -> bool:
    return any(name.replace(f".{PREVIOUS}.", ".", 1) in placed for name in rule.columns)


def _own_order(table: LinkedTable) -> list[Order]:
    """Siblings follow each other by the column that orders them, where a release has it."""
    if table.order not in table.book.names or (table.cap or 0) < 2:
        return []
    column = table.book.column(table.order)
    if not isinstance(column, Ordinal | Dates | Number):
        return []
    low, high = table.spelled(f"{PREVIOUS}.{table.order}"), table.spelled(table.order)
    return [Order(name=f"{table.name} follow each other by {table.order}", low=low, relation="<=", high=high)]


def orders_on(book: LinkedCodebook, table: LinkedTable) -> tuple[Rule, ...]:
    """Every rule that a row of the table must keep, and the order of its siblings."""
    return (*book.rules_on(table.name), *_own_order(table))


def _placed(book: LinkedCodebook, table: LinkedTable) -> list[Placed]:
    fine = {
        table.spelled(column.name): column
        for column in table.book.modelled
        if isinstance(column, Dates) and column.proper_levels > FINE_DATE
    }
    if not fine:
        return []
    visible = book.visible(table.name)
    rules = orders_on(book, table)
    visible |= {name: book.column(name) for rule in rules for name in rule.columns if name not in visible}
    orders = Orders(tuple(visible.values()), rules)
    ordered = None if table.order is None else table.spelled(table.order)
    path = {step.name: depth for depth, step in enumerate(book.path(table.name))}
    placed: list[Placed] = []
    names = sorted(fine, key=lambda name: (name != ordered, orders.order.index(name) if name in orders.order else -1))
    for name in names:
        above = tuple((low, gap) for (low, high), gap in orders.gaps.items() if high == name and low != name)
        below = tuple((high, gap) for (low, high), gap in orders.gaps.items() if low == name and high != name)
        stands = {one.column for one in placed}
        anchors = [
            low
            for low, _ in above
            if not is_previous(low) and (low in stands or low.partition(".")[0] != table.name or low not in fine)
        ]
        # the nearest: the same row, then the row above; of those the latest
        nearest = max(anchors, key=lambda low: (path[low.partition(".")[0]], orders.order.index(low)), default=None)
        later = (
            table.spelled(f"{PREVIOUS}.{name.partition('.')[2]}") if name == ordered and (table.cap or 0) > 1 else None
        )
        placed.append(
            Placed(
                column=name,
                dates=fine[name],
                anchor=None if name == ordered else nearest,
                later=later,
                above=above,
                below=below,
            )
        )
    return placed


def _told(book: LinkedCodebook, name: str, placed: Mapping[str, Placed]) -> Column:
    """A column as the view has it: bare of what only a file needs."""
    if name in placed:
        return placed[name].told(name)
    column = replace(book.column(name), role=Role.OTHER, parents=None, hierarchy=())
    if isinstance(column, CodeLevel):  # the code that it belongs to is no column of the view
        return Categorical(name=name, levels=column.levels, missing=column.missing)
    return replace(column, shape="uniform", pieces=None) if isinstance(column, Number) else column


def _perhaps_none(column: Column) -> Column:
    return column if column.missing is not None else replace(column, missing=NONE)


def _how_many(name: str, cap: int) -> Ordinal:
    return Ordinal(name=name, levels=tuple(map(str, range(cap + 1))))


def _rank_levels(cap: int) -> tuple[str, ...]:
    last = rank_level(cap - 1)
    starts = [rank for rank in range(cap) if rank == 0 or rank_level(rank) != rank_level(rank - 1)]
    assert len(starts) == last + 1
    return tuple(str(start + 1) for start in starts)


def positions(names: Sequence[str], wanted: Sequence[str]) -> list[int]:
    """Where some columns stand among others."""
    place = {name: number for number, name in enumerate(names)}
    return [place[name] for name in wanted]
