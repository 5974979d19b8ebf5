"""The histogram of origins on the cells of a public domain: regions, and merged distance classes. Stays secret."""

from typing import Any

import numpy as np
import numpy.typing as npt

from understudy.compiled import kernel
from understudy.mechanisms.origin_domain import OriginDomain, class_of
from understudy.privacy.secret import Secret
from understudy.sources.flows import Histograms


@kernel
def _merge(rows: Any, units: Any, destinations: Any, vectors: Any, cosines: Any, merged: Any, size: int) -> None:
    for cell in range(len(units)):
        kind = class_of(destinations[rows[cell]], vectors[units[cell]], cosines)
        if merged[kind]:
            units[cell] = size + kind


def class_cells(
    cells: Secret[Histograms], domain: OriginDomain, region_of: npt.NDArray[np.int64] | None
) -> Secret[Histograms]:
    """Count by region where there are regions, and by merged class where a class is one cell: public functions both."""
    counted = cells.open()
    units = counted.units.copy() if region_of is None else region_of[counted.units]
    rows = counted.rows
    if bool(domain.merged.any()):
        _merge(rows, units, domain.destinations, domain.vectors, domain.cosines, domain.merged, domain.units)
    return Secret(Histograms.of(rows, units, counted.counts, number=len(counted.starts) - 1))
