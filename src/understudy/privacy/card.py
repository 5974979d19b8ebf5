"""What a notebook shows of a value: a small card, with everything escaped and nothing loaded from elsewhere."""

from collections.abc import Sequence
from html import escape

_BOX = "border:1px solid #c9ced3;border-radius:6px;padding:.6em .9em;max-width:46em;font-family:system-ui,sans-serif"
_CELL = "text-align:left;vertical-align:top;padding:.1em .9em .1em 0;border:0"


def card(title: str, facts: Sequence[tuple[str, str]], *, note: str = "", rows: Sequence[Sequence[str]] = ()) -> str:
    """A title, named facts, some rows of a table with its header first, and a note.

    >>> "<b>" in card("A <b>bold</b> name", [])
    False
    """
    lines = [_row(fact, head=1) for fact in facts]
    shown = [_row(row, head=len(row) if place == 0 else 0) for place, row in enumerate(rows)]
    tables = "".join(
        f'<table style="border-collapse:collapse;margin:.4em 0">{"".join(table)}</table>'
        for table in (lines, shown)
        if table
    )
    last = f'<p style="margin:.4em 0 0;color:#444">{escape(note)}</p>' if note else ""
    return f'<div style="{_BOX}"><strong>{escape(title)}</strong>{tables}{last}</div>'


def _row(cells: Sequence[str], *, head: int) -> str:
    """A line whose first ``head`` cells are headings."""
    tags = ["th" if place < head else "td" for place in range(len(cells))]
    parts = (f'<{tag} style="{_CELL}">{escape(cell)}</{tag}>' for tag, cell in zip(tags, cells, strict=True))
    return f"<tr>{''.join(parts)}</tr>"
