"""One self-contained SVG: shares of each level, confidential against synthetic, column by column.

Bars are told apart by pattern as well as by colour, so the picture survives a black-and-white printer.
"""

from collections.abc import Sequence
from html import escape

from understudy.codebook import Column
from understudy.evaluate.palette import REAL, SYNTHETIC
from understudy.sources.base import Source

_WIDTH, _PANEL, _LABELS, _TOP = 920, 190, 84, 74


def marginal_picture(real: Source, synthetic: Source, *, columns: Sequence[str], real_label: str) -> str:
    """Panels of paired bars. Shows exact shares of the confidential table: not for release."""
    truth = [table.open().to_grid() for table in real.count([[name] for name in columns])]
    copy = [table.open().to_grid() for table in synthetic.count([[name] for name in columns])]
    height = _TOP + len(columns) * (_PANEL + _LABELS) + 10
    parts = [_header(height, real_label)]
    for number, name in enumerate(columns):
        shares = [grid / max(grid.sum(), 1) for grid in (truth[number], copy[number])]
        top = _TOP + number * (_PANEL + _LABELS)
        parts += _panel(real.codebook.column(name), shares[0].tolist(), shares[1].tolist(), top)
    return "\n".join([*parts, "</svg>", ""])


def _header(height: int, real_label: str) -> str:
    return f"""<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}"
 width="{_WIDTH}" height="{height}"
 font-family="system-ui, sans-serif" role="img" aria-label="Shares of each level, confidential and synthetic">
<defs><pattern id="hatch" width="5" height="5" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">
<rect width="5" height="5" fill="{SYNTHETIC}"/><line x1="0" y1="0" x2="0" y2="5" stroke="#fff" stroke-width="1.6"/>
</pattern></defs>
<rect width="100%" height="100%" fill="#fff"/>
<text x="20" y="30" font-size="19" font-weight="600">Confidential and synthetic shares, level by level</text>
<rect x="20" y="44" width="14" height="14" fill="{REAL}"/>
<text x="40" y="56" font-size="13" fill="#333">{escape(real_label)}</text>
<rect x="210" y="44" width="14" height="14" fill="url(#hatch)"/>
<text x="230" y="56" font-size="13" fill="#333">synthetic</text>"""


def _panel(column: Column, real: Sequence[float], synthetic: Sequence[float], top: int) -> list[str]:
    tallest = max(*real, *synthetic, 1e-9)
    left, right, base = 60, _WIDTH - 20, top + _PANEL
    slot = (right - left) / len(real)
    title = escape(column.name) + (f": {escape(column.description)}" if column.description else "")
    parts = [
        f'<text x="20" y="{top + 14}" font-size="14" font-weight="600" fill="#222">{title}</text>',
        f'<text x="{left - 6}" y="{top + 40}" font-size="11" fill="#555" text-anchor="end">{tallest:.0%}</text>',
        f'<text x="{left - 6}" y="{base}" font-size="11" fill="#555" text-anchor="end">0</text>',
        f'<line x1="{left}" y1="{base}" x2="{right}" y2="{base}" stroke="#888"/>',
    ]
    bar = slot * 0.38
    for level, label in enumerate(column.labels):
        middle = left + slot * (level + 0.5)
        for share, start, fill in (
            (real[level], middle - bar, REAL),
            (synthetic[level], middle, "url(#hatch)"),
        ):
            tall = share / tallest * (_PANEL - 36)
            parts.append(
                f'<rect x="{start:.1f}" y="{base - tall:.1f}" width="{bar:.1f}" height="{tall:.1f}" fill="{fill}">'
                f"<title>{escape(label)}: {share:.2%}</title></rect>"
            )
        parts.append(
            f'<text transform="translate({middle + 3:.1f},{base + 10}) rotate(40)" font-size="10" fill="#333">'
            f"{escape(label[:16])}</text>"
        )
    return parts
