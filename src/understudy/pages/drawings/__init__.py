"""Whole charts as inline SVG: differences, intervals, lines and points, heat maps, mosaics. No script is needed.

Each function returns text. A drawing is as wide as a phone shows (`WIDTH`) and is scaled up on larger screens. Colours
are variables of the page's style, so that they follow light and dark screens; series differ in shape, dash or place as
well, so that a black-and-white printer loses nothing. Screen readers say ``title`` and ``spoken``.
"""

from understudy.pages.drawings.common import WIDTH, colour_of, cut
from understudy.pages.drawings.grids import Shade, heat_map, mosaic
from understudy.pages.drawings.planes import Series, xy_chart
from understudy.pages.drawings.rows import Difference, Dot, difference_bars, grouped_bars, interval_axis

__all__ = [
    "WIDTH",
    "Difference",
    "Dot",
    "Series",
    "Shade",
    "colour_of",
    "cut",
    "difference_bars",
    "grouped_bars",
    "heat_map",
    "interval_axis",
    "mosaic",
    "xy_chart",
]
