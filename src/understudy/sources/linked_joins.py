"""Rows of one linked table beside the rows above them and before them, joined where they lie."""

from collections.abc import Sequence
from typing import Any

from understudy.codebook.linked_rules import PREVIOUS, table_of
from understudy.sources.linked import LinkedSource
from understudy.sources.linked_order import KEY, PARENT, RANK, ROW


def joined_codes(source: LinkedSource, name: str, spelled: Sequence[str]) -> Any:
    """One row for each row of a table: codes of the spelled columns as v0, v1, ...; null where no row comes before.

    All columns lie on the path of the table. ``key`` and ``rank`` come along, and where a check asked for them ``row``
    and the values of compared numbers, w0, w1, ...
    """
    path = [table.name for table in source.codebook.path(name)]
    places = {column: f"v{place}" for place, column in enumerate(dict.fromkeys(spelled))}
    rows = source.rows(name)
    kept = [column for column in (KEY, PARENT, RANK, ROW) if column in rows.columns]
    view = rows.select(*kept, **_codes(source, rows, name, places, previous=False))
    if any(column.startswith(f"{name}.{PREVIOUS}.") for column in places):
        before = rows.select(
            before=rows[PARENT], after=rows[RANK] + 1, **_codes(source, rows, name, places, previous=True)
        )
        same = [view[PARENT] == before["before"], view[RANK] == before["after"]]
        view = view.left_join(before, same).drop("before", "after")
    for above in reversed(path[:-1]):
        if not any(table_of(column) in path[: path.index(above) + 1] for column in places):
            break
        rows = source.rows(above)
        own = rows.select(own=rows[KEY], next=rows[PARENT], **_codes(source, rows, above, places, previous=False))
        view = view.inner_join(own, view[PARENT] == own["own"]).drop("own", PARENT).rename({PARENT: "next"})
    return view


def _codes(source: LinkedSource, rows: Any, name: str, places: dict[str, str], *, previous: bool) -> dict[str, Any]:
    """The codes that one table gives to a view."""
    codes = {}
    position = {column.name: place for place, column in enumerate(source.columns(name))}
    for column, view in places.items():
        own = column.partition(".")[2]
        is_before = own.startswith(f"{PREVIOUS}.")
        if table_of(column) == name and is_before is previous:
            place = position[own.removeprefix(f"{PREVIOUS}.")]
            codes[view] = rows[f"c{place}"]
            if f"w{place}" in rows.columns:
                codes[f"w{view[1:]}"] = rows[f"w{place}"]
    return codes
