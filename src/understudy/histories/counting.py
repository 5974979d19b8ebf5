"""Views of linked tables where the tables lie: joins and windows inside the engine, from which only counts come out.

Each person adds at most ``steps`` rows to a step view, chosen by a secret text from the stream. What is chosen of one
person depends on that text and on the rows of that person alone, which is what the price rests on
(``mechanisms/proofs/histories.md``): keys are told apart, every row has one parent, and nothing but the key of the
person leads from one table to another.
"""

from collections.abc import Sequence
from typing import Any

import ibis

from understudy.codebook.code_cells import CodeCells
from understudy.codebook.columns import Dates
from understudy.codebook.linked import LinkedTable
from understudy.codebook.linked_rules import PREVIOUS, table_of
from understudy.codebook.views import Placed, View, rank_level
from understudy.sources.engines.dialect import SIGNED
from understudy.sources.linked import LinkedSource
from understudy.sources.linked_order import KEY, PARENT, RANK
from understudy.sources.tables import code_type

_PERSON, _ABOVE, _SIBLINGS = "person", "above", "siblings"


def view_source(source: LinkedSource, views: Sequence[View], view: View, *, steps: int, key: str) -> Any:
    """The rows of a view that take part, ready to be counted; the source is capped."""
    rows = _Joined(source, {one.table.name: one for one in views}).rows(view)
    wanted = [*(_coded(view, name) for name in view.book.names), *(f"x{place}" for place in range(len(view.codes)))]
    # every engine has these types; rows that are sorted wait eight bytes wide otherwise
    kinds = [SIGNED[code_type(column.size + 1).__name__] for column in view.counted.columns]
    codes = {f"c{place}": rows[name].cast(kinds[place]) for place, name in enumerate(wanted)}
    if view.is_first:
        return source.counting(view.counted, rows.select(**codes))
    content = list(codes)
    all_rows = rows.select(**{_PERSON: rows[_PERSON]}, **codes)
    chosen = source.chosen(all_rows, person=_PERSON, content=content, most=steps, key=f"{key},steps,{view.table.name}")
    return source.counting(view.counted, chosen.select(*content))


def _coded(view: View, name: str) -> str:
    """What a column of a view is called inside the engine, which need not tell letters by case."""
    return f"v{view.book.names.index(name)}"


class _Joined:
    """Rows of every view with all that they see."""

    def __init__(self, source: LinkedSource, views: dict[str, View]) -> None:
        self._source = source
        self._views = views

    def rows(self, view: View) -> Any:
        """The person and the key of every row of a view, dates as they are (d0, d1, ...), and the view's columns."""
        table = view.table
        names = [table.spelled(column.name) for column in self._source.columns(table.name)]
        rows = self._source.rows(table.name)
        own = {name: f"o{place}" for place, name in enumerate(names)}
        rows = rows.select(KEY, PARENT, RANK, **{own[name]: rows[f"c{place}"] for place, name in enumerate(names)})
        before: dict[str, str] = {}
        above: dict[str, str] = {}
        exact: dict[str, str] = dict(own)
        if table.parent is None:
            rows = rows.mutate(**{_PERSON: rows[KEY]})
        else:
            window = {"group_by": PARENT, "order_by": RANK}
            before = {table.spelled(name): f"b{place}" for place, name in enumerate(table.book.names)}
            rows = rows.mutate(
                **{_SIBLINGS: rows.count().over(group_by=PARENT)},
                **{back: rows[own[name]].lag().over(**window) for name, back in before.items()},
            )
            parent = self._views[table.parent]
            upper = self.rows(parent)
            above = {
                name: f"a{place}"
                for place, name in enumerate(parent.book.names)
                if "." in name and not _looks_back(name)
            }
            dates = {name: f"e{place}" for place, name in enumerate(_dates(self._source, parent))}
            upper = upper.select(
                **{_ABOVE: upper[KEY], _PERSON: upper[_PERSON]},
                **{new: upper[_coded(parent, name)] for name, new in above.items()},
                **{new: upper[f"d{place}"] for place, new in enumerate(dates.values())},
            )
            rows = rows.inner_join(upper, rows[PARENT] == upper[_ABOVE]).drop(_ABOVE)
            exact |= dates
            exact |= {_previous(name): back for name, back in before.items()}
        for child in view.counts:
            below = self._source.rows(child)
            counted = below.group_by(PARENT).aggregate(**{f"n_{len(child)}": below.count()})
            counted = counted.rename({_ABOVE: PARENT})
            number = f"m{list(view.counts).index(child)}"
            rows = rows.left_join(counted, rows[KEY] == counted[_ABOVE]).drop(_ABOVE)
            rows = rows.mutate(**{number: rows[f"n_{len(child)}"].fill_null(0)}).drop(f"n_{len(child)}")
        told = {one.column: _told(rows, one, exact, self._source) for one in view.placed}
        rows = rows.mutate(**{f"t{place}": value for place, value in enumerate(told.values())})
        if view.before and told:  # the sibling before, as it was told
            window = {"group_by": PARENT, "order_by": RANK}
            rows = rows.mutate(**{f"u{place}": rows[f"t{place}"].lag().over(**window) for place in range(len(told))})
        placed = list(told)

        def code(name: str) -> Any:
            column = view.book.column(name)
            if name in view.counts.values():
                return rows[f"m{list(view.counts.values()).index(name)}"]
            if name == view.siblings:
                return rows[_SIBLINGS]
            if name == view.rank:
                return _level_of_rank(rows[RANK], view.table.cap or 1)
            if name == view.last:
                return (rows[RANK] + 1 == rows[_SIBLINGS]).ifelse(1, 0).cast("int64")
            if name in view.before.values():
                now = next(own_name for own_name, back in view.before.items() if back == name)
                value = rows[f"u{placed.index(now)}"] if now in told else rows[before[now]]
                return value.fill_null(column.size - 1)
            if name in above:
                return rows[above[name]]
            return rows[f"t{placed.index(name)}"] if name in told else rows[own[name]]

        dates = {f"d{place}": rows[exact[name]] for place, name in enumerate(_dates(self._source, view))}
        codes = {_coded(view, name): code(name) for name in view.book.names}
        codes |= {f"x{place}": _cell(rows, one, table, own) for place, one in enumerate(view.codes)}
        return rows.select(**{KEY: rows[KEY], _PERSON: rows[_PERSON]}, **dates, **codes)


def _cell(rows: Any, one: CodeCells, table: LinkedTable, own: dict[str, str]) -> Any:
    """The cell of a detailed code (``codebook/code_cells.py``)."""
    code = rows[own[table.spelled(one.detail.name)]].cast("int64")
    if not one.by_level:
        return code
    level = rows[own[table.spelled(one.detail.detail_of)]].cast("int64")
    return ibis.ifelse(code < one.codes, code, one.codes + (code - one.codes) * one.levels + level)


def _dates(source: LinkedSource, view: View) -> list[str]:
    """Dates of the row and of those above, which dates further down are told from."""
    return [
        step.spelled(column.name)
        for step in source.codebook.path(view.table.name)
        for column in step.book.modelled
        if isinstance(column, Dates)
    ]


def _looks_back(name: str) -> bool:
    return name.partition(".")[2].startswith(f"{PREVIOUS}.")


def _previous(name: str) -> str:
    return f"{table_of(name)}.{PREVIOUS}.{name.partition('.')[2]}"


def _level_of_rank(rank: Any, cap: int) -> Any:
    starts = [each for each in range(1, cap) if rank_level(each) != rank_level(each - 1)]
    return _passed(rank, starts)


def _passed(value: Any, marks: Sequence[int]) -> Any:
    """How many of the marks a whole number has reached."""
    total = ibis.literal(0, "int64")
    for mark in marks:
        total = total + (value >= mark).ifelse(1, 0)
    return total


def _told(rows: Any, one: Placed, exact: dict[str, str], source: LinkedSource) -> Any:
    """A date of many levels by its gap, or roughly (``placing.py`` goes the way back)."""
    code = rows[exact[one.column]].cast("int64")
    told = len(one.gaps) - 1 + _passed(code, one.rough)
    if one.gaps:
        anchor = ibis.null("int64")
        for name in (one.anchor, one.later):
            if name is not None:
                column = source.codebook.column(name)
                assert isinstance(column, Dates)
                value = rows[exact[name]].cast("int64")
                known = ibis.ifelse(
                    value < column.proper_levels, value + column.grain.number(column.start), ibis.null("int64")
                )
                anchor = ibis.coalesce(known, anchor)
        gap = code + one.dates.grain.number(one.dates.start) - anchor
        is_gap = (gap >= 0).fill_null(False)
        told = ibis.ifelse(is_gap, _passed(gap, one.gaps) - 1, told)
    return ibis.ifelse(code >= one.dates.proper_levels, len(one.gaps) + len(one.rough), told)
