"""Coarsening: a public partition of the origins, and a public density that places people inside a region."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from understudy.commute.tables import read_columns
from understudy.errors import DataError
from understudy.mechanisms.stream import Stream
from understudy.privacy.provenance import DECLARED, InputRole, Provenance

Integers = npt.NDArray[np.int64]


@dataclass(frozen=True, kw_only=True, eq=False)
class Regions:
    """Which region each origin belongs to, and how densely it is populated by public knowledge."""

    names: tuple[str, ...]
    """Names of the regions."""
    of: Integers
    """Region of each origin."""
    density: Integers
    """Whole-number weight of each origin inside its region."""
    source: str
    provenance: Provenance = DECLARED

    def placed(self, regions: Integers, stream: Stream) -> Integers:
        """One origin for each region drawn, by the public density: post-processing."""
        order = np.argsort(self.of, kind="stable")
        weights = np.cumsum(self.density[order])
        ends = np.searchsorted(self.of[order], np.arange(len(self.names)), side="right") - 1
        upper = weights[ends]
        lower = np.concatenate([[0], upper[:-1]])
        picks = stream.below_each((upper - lower)[regions].astype(np.uint64)).astype(np.int64)
        return np.asarray(order[np.searchsorted(weights, lower[regions] + picks, side="right")], dtype=np.int64)


def read_regions(what: Any, origins: tuple[str, ...], *, confidential: Any = None) -> Regions:
    """A public table with the columns ``origin``, ``region`` and perhaps ``density`` (whole numbers)."""
    columns = read_columns(what, InputRole.REGIONS, confidential=confidential)
    listed = dict(zip(columns.texts("origin", "place", "geocode"), columns.texts("region", "cell"), strict=True))
    missing = [name for name in origins if name not in listed]
    if missing:
        more = f" (and {len(missing) - 1:,} more)" if len(missing) > 1 else ""
        raise DataError(
            f"the partition {columns.label} misses the origin {missing[0]!r}{more}; every possible origin belongs to "
            "one "
            "region, or its workers would have nowhere to be counted."
        )
    names = tuple(sorted({listed[name] for name in origins}))
    number = {name: place for place, name in enumerate(names)}
    density = np.ones(len(origins), dtype=np.int64)
    if columns.has("density"):
        given = dict(zip(columns.texts("origin", "place", "geocode"), columns.numbers("density"), strict=True))
        values = np.array([given[name] for name in origins])
        if not np.all((values >= 0) & (values == np.floor(values)) & (values < 2**31)):
            raise DataError(f"the density of {columns.label} must be whole numbers from 0 on; round or rescale it.")
        density = values.astype(np.int64)
    of = np.array([number[listed[name]] for name in origins], dtype=np.int64)
    if len(empty := np.flatnonzero(np.bincount(of, weights=density, minlength=len(names)) == 0)):
        raise DataError(
            f"the region {names[empty[0]]!r} of {columns.label} has density 0 everywhere; nobody could be placed "
            "there. "
            "Give some origin of it a density."
        )
    return Regions(names=names, of=of, density=density, source=columns.label, provenance=columns.provenance)
