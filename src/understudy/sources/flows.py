"""Origin-destination tables: who works where is public, where they come from is not.

The table is counted by the engine; destination totals come back in the open, because the neighbour relation of
commuting tables takes them as public, and the histograms of origins come back as secrets.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
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
class GroupCells:
    """Workers of each cell by group of one characteristic: every worker is in one group."""

    rows: Integers
    units: Integers
    counts: Integers
    """Cells x groups."""


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
    groups: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """The columns of each characteristic that was read, which hold the workers of one group each."""
    characteristics: Mapping[str, Secret[GroupCells]] = field(default_factory=dict)

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
    characteristics: Mapping[str, tuple[str, ...]] | None = None,
) -> Flows:
    """Count a table of origin, destination and perhaps a number of workers, from any source.

    ``characteristics`` names columns that hold the workers of each group, such as age: SA01, SA02, SA03.

    ``origins`` is the public list of possible origins, names in any order; without it the list is read from the data,
    and no release made from it can promise anything.
    """
    provenance = find_provenance(what, table=table)
    provenance.refuse_as_data("a commuting release")
    opened = open_table(what, table)
    kinds = {name: tuple(columns) for name, columns in (characteristics or {}).items()}
    every = [column for columns in kinds.values() for column in columns]
    _check_columns(opened, origin, destination, count, every)
    opened.verify()
    with engine_errors(repr(opened.label)):
        grouped = _counted(opened, origin, destination, count, every)
    _check_groups(opened, grouped, kinds)
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
    grouped = grouped.take(keep)
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
        groups=kinds,
        characteristics={
            name: Secret(GroupCells(rows=rows, units=units, counts=_group_counts(grouped, columns)))
            for name, columns in kinds.items()
        },
    )


def _group_counts(grouped: Any, columns: tuple[str, ...]) -> Integers:
    return np.stack([grouped.column(f"g:{name}").to_numpy().astype(np.int64) for name in columns], axis=1)


def _check_groups(opened: Opened, grouped: Any, kinds: Mapping[str, tuple[str, ...]]) -> None:
    """Every worker must be in one group of each characteristic, or the price of its table would be wrong."""
    counts = grouped.column("n").to_numpy()
    for name, columns in kinds.items():
        off = np.flatnonzero(_group_counts(grouped, columns).sum(axis=1) != counts)
        if len(off):
            raise DataError(
                f"the groups of the characteristic {name!r} ({listed(columns)}) do not add up to the workers in "
                f"{len(off):,} pairs of {opened.label}; every worker must be in exactly one group. Name all groups."
            )


def _check_columns(
    opened: Opened, origin: str, destination: str, count: str | None, groups: Sequence[str] = ()
) -> None:
    wanted = [("origin", origin), ("destination", destination), *([("count", count)] if count else [])]
    if strange := [name for name in groups if name not in opened.header]:
        raise DataError(
            f"{opened.label} has no column {strange[0]!r} for a characteristic; it has "
            f"{listed(map(repr, opened.header))}. Name the groups with --characteristics."
        )
    for role, name in wanted:
        if name not in opened.header:
            raise DataError(
                f"{opened.label} has no column {name!r} for the {role}; it has {listed(map(repr, opened.header))}. "
                f"Name it with --{role}."
            )
    if origin == destination:
        raise ParameterError(f"`origin` and `destination` are both {origin!r}; they must be two columns.")


def _counted(opened: Opened, origin: str, destination: str, count: str | None, groups: Sequence[str] = ()) -> Any:
    """Cells of the table, with every count checked."""
    import ibis

    picked = opened.table.select(
        o=opened.value(origin).cast("string"),
        d=opened.value(destination).cast("string"),
        n=ibis.literal(1) if count is None else opened.value(count),
        **{f"g:{name}": opened.value(name) for name in groups},
    )
    empty = picked.filter(picked.o.isnull() | picked.d.isnull()).count().to_pyarrow().as_py()
    if empty:
        raise DataError(f"{opened.label} has {empty:,} rows without an origin or a destination; complete or drop them.")
    numbers = {**({} if count is None else {"n": count}), **{f"g:{name}": name for name in groups}}
    for column, name in numbers.items():
        # text columns of a CSV are cast; whatever is no number becomes null
        value = picked[column]
        picked = picked.mutate(
            **{column: value if value.type().is_numeric() else value.cast("string").try_cast("float64")}
        )
        value = picked[column]
        odd = picked.filter(value.isnull() | (value < 0) | (value > _MOST) | (value != value.floor()))
        bad = odd.limit(1).to_pyarrow().to_pylist()
        if bad:
            raise DataError(
                f"{name!r} of {opened.label} is {bad[0][column]} in some row "
                f"({odd.count().to_pyarrow().as_py():,} rows are no whole numbers of 0 or more); workers are counted, "
                "not weighted. Round or repeat the rows first."
            )
    sums = {column: picked[column].cast("int64").sum() for column in ("n", *(f"g:{name}" for name in groups))}
    return picked.group_by(["o", "d"]).aggregate(**sums).to_pyarrow()


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
