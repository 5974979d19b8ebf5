"""A codebook as the screens show it: a line per column with a light, and how far it is."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from understudy.studio.looks import find_look
from understudy.studio.stored_books import load_book
from understudy.studio.workspace import Dataset

if TYPE_CHECKING:
    from understudy.codebook import Codebook

DANGEROUS = ("ids", "names", "codes", "mend")
"""Panels of a review whose columns should not be waved through."""


@dataclass(frozen=True, kw_only=True)
class Line:
    """One column."""

    number: int
    name: str
    table: str
    """The linked table it belongs to; empty where there is one table only."""
    kind: str
    role: str
    size: int
    levels: str
    missing: str
    light: str
    """good, open or bad."""
    state: str
    """declared, attested, reviewed, left_out, open or dangerous: a key of the texts."""
    sees: tuple[str, ...] = ()
    """What was seen in the data. Confidential."""
    bars: tuple[tuple[float, float], ...] = ()
    """A small histogram: place and height of each bar, out of 100 and 24. Confidential."""


@dataclass(frozen=True, kw_only=True)
class Progress:
    """How far a codebook is."""

    state: str
    """none, open or ready; broken where it cannot be read."""
    reviewed: int
    attested: int
    columns: int

    @property
    def light(self) -> str:
        """The light of the whole."""
        return {"ready": "good", "broken": "bad"}.get(self.state, "open")

    @property
    def next(self) -> str:
        """The screen to go on with."""
        return {"ready": "quote", "open": "codebook"}.get(self.state, "data")


def tables_of(book: Any) -> "dict[str, Codebook]":
    """Its tables by name; one without a name where there are no linked ones."""
    return {table.name: table.book for table in book.tables} if hasattr(book, "tables") else {"": book}


def lines_of(own: Dataset, *, with_data: bool = True) -> list[Line]:
    """One line per column, in the order of the codebook."""
    book, look = load_book(own), find_look(own, "columns").seen if with_data else None
    questions = (look or {}).get("questions", ())
    seen = {name: own_sees for question in questions for name, own_sees in question["sees"].items()}
    panels = {name: question["id"] for question in questions for name in question["columns"]}
    counts: Mapping[str, list[int]] = (look or {}).get("counts", {})
    columns = [(table, column) for table, part in tables_of(book).items() for column in part.written]
    return [
        _line(number, table, column, panels.get(column.name, ""), seen.get(column.name, ()), counts)
        for number, (table, column) in enumerate(columns)
    ]


def _line(number: int, table: str, column: Any, panel: str, seen: Any, counts: Mapping[str, list[int]]) -> Line:
    state = _state(column, panel)
    is_left_out = is_dropped(column)
    return Line(
        number=number,
        name=column.name,
        table=table,
        kind=column.kind,
        role=column.role.value,
        size=0 if is_left_out else column.size,
        levels="" if is_left_out else ", ".join(column.labels[:6]) + (", …" if column.size > 6 else ""),
        missing=column.missing or "",
        light={"open": "open", "dangerous": "bad"}.get(state, "good"),
        state=state,
        sees=tuple(seen[1:]) if panel else (),
        bars=_bars(counts.get(column.name, ())),
    )


def is_dropped(column: Any) -> bool:
    """Whether no release will hold it. Codes of a pack are modelled by their groups, and are released."""
    return bool(column.role.value == "identifier")


def _state(column: Any, panel: str) -> str:
    if column.is_attested:
        return "attested"
    if column.is_reviewed:
        return "reviewed"
    if panel in DANGEROUS:
        return "dangerous"
    if column.is_public:
        return "declared"
    return "left_out" if is_dropped(column) else "open"


def _bars(counts: Any) -> tuple[tuple[float, float], ...]:
    """At most 50 bars; the tallest fills the height."""
    if not counts:
        return ()
    shown = counts[:50]
    tallest = max(*shown, 1)
    step = 100 / len(shown)
    return tuple((round(k * step, 2), round(24 * count / tallest, 1)) for k, count in enumerate(shown))


def progress_of(own: Dataset) -> Progress:
    """How far the codebook is; reads no row and no look."""
    if not own.codebook.is_file():
        return Progress(state="none", reviewed=0, attested=0, columns=0)
    book = load_book(own)
    columns = [column for part in tables_of(book).values() for column in part.written if not is_dropped(column)]
    public = sum(column.is_public for column in columns)
    reviewed = sum(column.is_reviewed for column in columns)
    return Progress(
        state="ready" if book.is_public else "open", reviewed=reviewed, attested=public, columns=len(columns)
    )
