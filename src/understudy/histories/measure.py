"""All views of linked tables, and their detailed codes, measured from one budget."""

import math
from dataclasses import replace
from typing import TYPE_CHECKING

from understudy.codebook.views import views_of
from understudy.histories.codes import codes_share, measure_codes, tables_of_codes
from understudy.histories.counting import view_source
from understudy.histories.drawing import Measured
from understudy.histories.measuring import measure_view
from understudy.mechanisms.gaussian_measurements import Meter
from understudy.mechanisms.stream import Stream
from understudy.sources.base import Report
from understudy.sources.linked import LinkedSource

if TYPE_CHECKING:
    from understudy.histories.recipe import Histories


def measure_views(
    recipe: "Histories", source: LinkedSource, stream: Stream, report: Report | None
) -> tuple[Measured, ...]:
    """Cap, choose, count and measure, view by view; no unit beyond those of the one event is spent."""
    book = source.codebook
    views = views_of(book)
    event = recipe.event(book, views)
    meter = Meter(event, stream)
    capped = source.capped(stream.fresh_key().bits.hex())
    key = stream.fresh_key().bits.hex()
    for_codes = codes_share(book)
    columns = sum(len(view.codes) for view in views)
    measured, codes = [], []
    for view, of_views, rows in zip(views, recipe.shares(views), event.rows, strict=True):
        share = (1 - for_codes) * of_views
        counted = view_source(capped, views, view, steps=rows, key=key)
        part = meter.apart(int(share * event.units), rows=rows)
        epsilon = recipe.epsilon * math.sqrt(share) / rows
        tables = measure_view(view, counted, part, epsilon=epsilon, stream=stream, report=report)
        measured.append(Measured(view=view, tables=tables, steps=rows))
        if view.codes:
            units = int(for_codes * len(view.codes) / columns * event.units)
            codes.append(measure_codes(view, counted, meter.apart(units, rows=rows)))
        else:
            codes.append([])
    return tuple(replace(one, codes=own) for one, own in zip(measured, tables_of_codes(codes), strict=True))
