"""A codebook as a small card, for notebooks."""

from collections.abc import Collection, Sequence
from html import escape

from understudy.codebook.columns import Column, Origin

_MOST_ROWS = 60
_CELL = "text-align:left;padding:2px 12px 2px 0;font-weight:normal"


def codebook_card(title: str, columns: Sequence[Column], unattested: Collection[str]) -> str:
    """HTML with inline style and nothing from outside: each column, its kind, its levels, and who vouches for it."""
    rows = "".join(_row(_cells(column, column.name in unattested)) for column in columns[:_MOST_ROWS])
    rest = f"<div>and {len(columns) - _MOST_ROWS:,} more columns</div>" if len(columns) > _MOST_ROWS else ""
    return (
        '<div style="font-family:system-ui,sans-serif;font-size:13px">'
        f"<div><b>{escape(title or 'Codebook')}</b>: {len(columns):,} columns, {len(unattested):,} not attested</div>"
        f'<table style="border-collapse:collapse">{_row(("column", "kind", "levels", "public"), "th")}{rows}</table>'
        f"{rest}</div>"
    )


def _cells(column: Column, is_unattested: bool) -> tuple[str, str, str, str]:
    if not column.is_modelled and column.kind == "text":
        return column.name, column.kind, "", "dropped"
    ground = "attested" if column.is_attested else "paid for" if column.origin is Origin.PAID else "declared"
    return column.name, column.kind, f"{column.size:,}", "not attested" if is_unattested else ground


def _row(cells: Sequence[str], tag: str = "td") -> str:
    return "<tr>" + "".join(f'<{tag} style="{_CELL}">{escape(cell)}</{tag}>' for cell in cells) + "</tr>"
