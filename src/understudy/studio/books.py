"""A codebook as the screens show it: a line per column with a light, and how far it is."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from understudy.studio.looks import find_look
from understudy.studio.stored_books import load_book, spelled, tables_of
from understudy.studio.workspace import Dataset

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

    @property
    def spelled(self) -> str:
        """Its name, with that of its table where there are several."""
        return spelled(self.table, self.name)


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


def lines_of(own: Dataset, *, with_data: bool = True) -> list[Line]:
    """One line per column, in the order of the codebook."""
    book, look = load_book(own), find_look(own, "columns").seen if with_data else None
    questions = (look or {}).get("questions", ())
    seen = {name: own_sees for question in questions for name, own_sees in question["sees"].items()}
    panels = {name: panel_of(question["id"]) for question in questions for name in question["columns"]}
    counts: Mapping[str, list[int]] = (look or {}).get("counts", {})
    columns = [(table, column) for table, part in tables_of(book).items() for column in part.written]
    named = [(spelled(table, column.name), table, column) for table, column in columns]
    return [
        _line(number, table, column, panels.get(name, ""), seen.get(name, ()), counts.get(name, ()))
        for number, (name, table, column) in enumerate(named)
    ]


def panel_of(question: str) -> str:
    """The panel of a review's question; those of linked tables are called ``table.panel``.

    >>> panel_of("levels"), panel_of("stays.left out")
    ('levels', 'left out')
    """
    return question.rpartition(".")[2]


def _line(number: int, table: str, column: Any, panel: str, seen: Any, counts: Any) -> Line:
    state = _state(column, panel)
    is_left_out = is_dropped(column)
    return Line(
        number=number,
        name=column.name,
        table=table,
        kind=column.kind,
        role=column.role.value,
        size=0 if is_left_out else column.size,
        levels="" if is_left_out else ", ".join(told_levels(column)[:6]) + (", …" if column.size > 6 else ""),
        missing=column.missing or "",
        light={"open": "open", "dangerous": "bad"}.get(state, "good"),
        state=state,
        sees=tuple(seen[1:]) if panel else (),
        bars=_bars(counts),
    )


def told_levels(column: Any) -> list[str]:
    """Its levels, each with what its code means where the codebook says so.

    >>> from understudy.codebook import Categorical
    >>> told_levels(Categorical(name="vote", levels=("1", "2"), value_labels=(("1", "left"),)))
    ['1 = left', '2']
    """
    means = dict(column.value_labels)
    return [f"{label} = {means[label]}" if label in means else label for label in column.labels]


def is_dropped(column: Any) -> bool:
    """Whether no release will hold it. Codes of a pack are modelled by their groups, and are released."""
    return bool(column.role.value == "identifier")


def _state(column: Any, panel: str) -> str:
    if is_dropped(column):
        return "left_out"
    if column.is_attested:
        return "attested"
    if column.is_reviewed:
        return "reviewed"
    if panel in DANGEROUS:
        return "dangerous"
    return "declared" if column.is_public else "open"


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
