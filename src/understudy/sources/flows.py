"""Origin-destination tables: who works where is public, where they come from is not.

The table is counted by the engine; destination totals come back in the open, because the neighbour relation of
commuting tables takes them as public, and the histograms of origins come back as secrets.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from understudy.errors import DataError, ParameterError, and_more, listed
from understudy.privacy.provenance import DECLARED, Provenance
from understudy.privacy.secret import Secret
from understudy.sources.faults import engine_errors
from understudy.sources.files import Opened, open_table
from understudy.sources.inputs import find_provenance
from understudy.sources.tables import added_up

Integers = npt.NDArray[np.int64]

_MOST = 1 << 40


@dataclass(frozen=True, kw_only=True, eq=False)
class Histograms:
    """Occupied cells, destination by destination: ``units[starts[d]:starts[d + 1]]`` ascending, and their counts."""

    starts: Integers
    units: Integers
    counts: Integers

    @classmethod
    def of(cls, destinations: Integers, units: Integers, counts: Integers, *, number: int) -> "Histograms":
        """From cells in any order; equal ones are added up."""
        cells, counts = added_up(np.stack([destinations, units], axis=1), counts)
        starts = np.concatenate([[0], np.cumsum(np.bincount(cells[:, 0], minlength=number))]).astype(np.int64)
        return cls(starts=starts, units=np.ascontiguousarray(cells[:, 1]), counts=counts)

    @property
    def rows(self) -> Integers:
        """The destination of each cell."""
        return np.repeat(np.arange(len(self.starts) - 1), np.diff(self.starts))


@dataclass(frozen=True, kw_only=True, eq=False)
class Flows:
    """One origin-destination table."""

    destinations: tuple[str, ...]
    totals: Integers
    """Workers of each destination: public under the relation of commuting tables."""
    origins: Any
    """Names, as an Arrow array, that the units of :attr:`cells` stand for, a public domain where one was declared."""
    origins_from_data: bool
    cells: Secret[Histograms]
    provenance: Provenance = DECLARED
    """What the table is."""

    @property
    def workers(self) -> int:
        """All of them."""
        return int(self.totals.sum())

    def __repr__(self) -> str:
        return f"<Flows to {len(self.destinations):,} destinations, origins withheld>"


def read_flows(
    what: Any,
    *,
    origin: str = "origin",
    destination: str = "destination",
    count: str | None = None,
    table: str | None = None,
    origins: Any = None,
) -> Flows:
    """Count a table of origin, destination and perhaps a number of workers, from any source.

    ``origins`` is the public list of possible origins, names in any order; without it the list is read from the data,
    and no release made from it can promise anything.
    """
    provenance = find_provenance(what)
    provenance.refuse_as_data("a commuting release")
    opened = open_table(what, table)
    _check_columns(opened, origin, destination, count)
    opened.verify()
    with engine_errors(repr(opened.label)):
        grouped = _counted(opened, origin, destination, count)
    names = grouped.column("o").combine_chunks()
    counts = grouped.column("n").to_numpy().astype(np.int64)
    sorted_names, rows = _codes(grouped.column("d").combine_chunks())
    targets = tuple(sorted_names.to_pylist())
    totals = np.bincount(rows, weights=counts, minlength=len(targets)).astype(np.int64)
    if len(idle := np.flatnonzero(totals == 0)):
        raise DataError(
            f"destination {targets[idle[0]]!r} has no workers{and_more(len(idle))}; there is nothing to protect or to "
            "draw. Leave its rows out."
        )
    keep = np.flatnonzero(counts > 0)
    names, rows, counts = names.take(keep), rows[keep], counts[keep]
    if origins is None:
        known, units = _codes(names)
    else:
        known = origins if isinstance(origins, pa.Array) else pa.array(list(origins), type=pa.string())
        units = _lookup(names, known, opened.label)
    return Flows(
        destinations=targets,
        totals=totals,
        origins=known,
        origins_from_data=origins is None,
        cells=Secret(Histograms.of(rows, units, counts, number=len(targets))),
        provenance=provenance,
    )


def _check_columns(opened: Opened, origin: str, destination: str, count: str | None) -> None:
    wanted = [("origin", origin), ("destination", destination), *([("count", count)] if count else [])]
    for role, name in wanted:
        if name not in opened.header:
            raise DataError(
                f"{opened.label} has no column {name!r} for the {role}; it has {listed(map(repr, opened.header))}. "
                f"Name it with --{role}."
            )
    if origin == destination:
        raise ParameterError(f"`origin` and `destination` are both {origin!r}; they must be two columns.")


def _counted(opened: Opened, origin: str, destination: str, count: str | None) -> Any:
    """Cells of the table, with every count checked."""
    import ibis

    picked = opened.table.select(
        o=opened.value(origin).cast("string"),
        d=opened.value(destination).cast("string"),
        n=ibis.literal(1) if count is None else opened.value(count),
    )
    empty = picked.filter(picked.o.isnull() | picked.d.isnull()).count().to_pyarrow().as_py()
    if empty:
        raise DataError(f"{opened.label} has {empty:,} rows without an origin or a destination; complete or drop them.")
    if count is not None:
        # text columns of a CSV are cast; whatever is no number becomes null
        number = picked.n if picked.n.type().is_numeric() else picked.n.cast("string").try_cast("float64")
        picked = picked.mutate(n=number)
        odd = picked.filter(picked.n.isnull() | (picked.n < 0) | (picked.n > _MOST) | (picked.n != picked.n.floor()))
        bad = odd.limit(1).to_pyarrow().to_pylist()
        if bad:
            raise DataError(
                f"{count!r} of {opened.label} is {bad[0]['n']} in some row ({odd.count().to_pyarrow().as_py():,} rows "
                "are no whole numbers of 0 or more); workers are counted, not weighted. Round or repeat the rows first."
            )
    return picked.group_by(["o", "d"]).aggregate(n=picked.n.cast("int64").sum()).to_pyarrow()


def _codes(values: Any) -> tuple[Any, Integers]:
    """Distinct names in order, and the place of each value among them."""
    names = pc.unique(values)
    names = names.take(pc.sort_indices(names))
    return names, _places(values, names)


def _places(values: Any, names: Any) -> Integers:
    places = pc.index_in(values, value_set=names).fill_null(-1)
    return np.asarray(places.to_numpy(zero_copy_only=False), dtype=np.int64)


def _lookup(names: Any, origins: Any, label: str) -> Integers:
    units = _places(names, origins.cast(names.type))
    if len(strange := np.flatnonzero(units < 0)):
        raise DataError(
            f"{label} has the origin {names[int(strange[0])].as_py()!r}{and_more(len(strange))}, which the public list "
            "of origins does not know; a domain that grew with the data would give somebody away. Add it to the list "
            "if it is public that people may live there."
        )
    return units
