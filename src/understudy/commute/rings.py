"""Distance rings: a public histogram of commute distances from an earlier release."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from understudy.commute.tables import read_columns
from understudy.errors import DataError
from understudy.privacy.provenance import DECLARED, InputRole, Provenance


@dataclass(frozen=True, kw_only=True)
class Rings:
    """Rings around a destination, nearest first; the last one has no outer edge."""

    miles: tuple[float, ...]
    """Outer edges; the last is infinite."""
    shares: tuple[float, ...]
    """Share of commutes in each ring, by the earlier release."""
    keeps: tuple[float, ...]
    """f_d of algorithm 2: probability that an origin of the ring without workers stays in the domain."""
    source: str
    """Where this is published."""
    provenance: Provenance = DECLARED

    def __post_init__(self) -> None:
        if not (len(self.miles) == len(self.shares) == len(self.keeps) >= 1):
            raise DataError(
                f"the rings of {self.source} have columns of different length; give miles and share for each."
            )
        if any(not low < high for low, high in zip((0.0, *self.miles), self.miles, strict=False)):
            raise DataError(
                f"the rings of {self.source} end at {', '.join(f'{edge:g}' for edge in self.miles)} miles; the edges "
                "must "
                "rise, from above 0."
            )
        if not math.isinf(self.miles[-1]):
            raise DataError(
                f"the last ring of {self.source} ends at {self.miles[-1]:g} miles; leave its edge open (inf)."
            )
        if any(not 0 <= share < math.inf for share in self.shares) or sum(self.shares) <= 0:
            raise DataError(f"the shares of {self.source} are {self.shares}; they must be 0 or more, and not all 0.")
        for keep in self.keeps:
            if not 2.0**-32 <= keep <= 1:
                raise DataError(
                    f"f_d is {keep:g} in a ring of {self.source}; it must lie above 0 and up to 1: an origin that can "
                    "never be drawn unless somebody lives there would give them away."
                )


def ctpp_minnesota() -> Rings:
    """The declared example: quantiles that the OnTheMap paper prints for Minnesota in CTPP 2000.

    Half of the commutes are shorter than 6.23 miles, three quarters than 13.1, nine tenths than 21.54. The paper's f_d
    was "roughly proportional" to the histogram, its smallest value 0.0378; ours is the share per mile of each ring over
    that of the first, and 0.0378 in the last.
    """
    edges, shares = (6.23, 13.1, 21.54, math.inf), (0.5, 0.25, 0.15, 0.1)
    first = shares[0] / edges[0]
    dense = [share / (high - low) / first for share, low, high in zip(shares, (0.0, *edges), edges, strict=False)]
    return Rings(
        miles=edges, shares=shares, keeps=(*dense[:3], 0.0378), source="CTPP 2000, Minnesota, as the paper prints it"
    )


def read_rings(what: Any, *, source: str | None = None, confidential: Any = None) -> Rings:
    """A public table with the columns ``miles`` (outer edge), ``share`` and perhaps ``keep`` (f_d).

    Without ``keep``, f_d is the share per mile over the largest one, and that of the last, open ring half of the one
    before. The word ``ctpp-minnesota`` stands for the example.
    """
    if isinstance(what, str) and what == "ctpp-minnesota":
        return ctpp_minnesota()
    columns = read_columns(what, InputRole.RINGS, confidential=confidential)
    miles = columns.numbers("miles")
    miles[-1] = math.inf if np.isnan(miles[-1]) else miles[-1]
    shares = columns.numbers("share")
    if np.isnan(miles).any() or np.isnan(shares).any():
        raise DataError(f"{columns.label} has a ring without miles or share; only the last edge may be open.")
    if columns.has("keep", "f"):
        keeps = columns.numbers("keep", "f")
    else:
        widths = np.diff(np.concatenate([[0.0], miles]))
        dense = shares / widths
        keeps = dense / dense.max() if dense.max() > 0 else np.ones(len(miles))
        keeps[-1] = keeps[-2] / 2 if len(keeps) > 1 else 1.0
    return Rings(
        miles=tuple(miles.tolist()),
        shares=tuple(shares.tolist()),
        keeps=tuple(np.where(np.isnan(keeps), 0.0, keeps).tolist()),
        source=source or columns.label,
        provenance=columns.provenance,
    )
