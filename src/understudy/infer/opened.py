"""A release as inference sees it: codes of its rows, values of its codes, and its measurements."""

from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet

from understudy.codebook import Codebook, Column, Detail, Number
from understudy.errors import ParameterError, RefusalError, ReleaseError
from understudy.evaluate.values import codes_of, is_ordered, numbers_of, values_of
from understudy.infer.calibration import Calibration, Records
from understudy.loading import loader
from understudy.release import Release
from understudy.release.folders import digest_of
from understudy.release.measurements import MEASUREMENTS, Measurements, bounded_table, read_measurements
from understudy.release.reading import read_manifest_file, tables_of
from understudy.release.release import CODEBOOK

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, kw_only=True, eq=False)
class OpenedRelease:
    """Rows and measurements of one release."""

    codebook: Codebook
    table: pa.Table
    measured: Measurements
    statement: str
    release_id: str
    _codes: dict[str, npt.NDArray[np.int64]] = field(default_factory=dict)
    _inside: dict[str, list[Floats]] = field(default_factory=dict)
    _calibrations: dict[tuple[str, ...], Calibration] = field(default_factory=dict)

    @property
    def rows(self) -> int:
        """Of the table."""
        return int(self.table.num_rows)

    @property
    def records(self) -> float:
        """Confidential records, as measured."""
        return max(1.0, float(self.measured.records.values[0]))

    @property
    def records_of_one(self) -> int:
        """How many records of one person may be among them."""
        return 1 if self.codebook.unit is None else self.codebook.unit.cap

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader of any figure should know."""
        unit, notes = self.codebook.unit, []
        if unit is not None and unit.cap > 1:
            notes.append(
                f"one person may have up to {unit.cap} records: figures are of records (at most {unit.cap} of each "
                "person take part), and sampling is stated for the worst case, records of a person that are all alike."
            )
        if self.codebook.weight is not None:
            notes.append(
                f"figures are of records, not of the people that the survey weight {self.codebook.weight!r} says they "
                "stand for."
            )
        return tuple(notes)

    def column(self, name: str) -> Column:
        """A column that something can be said of; a detail code is refused."""
        known = [column.name for column in self.codebook.modelled]
        if name in known:
            return self.codebook.column(name)
        detail = next((column for column in self.codebook.details if column.name == name), None)
        if isinstance(detail, Detail):
            raise RefusalError(
                f"{name!r} is a detail code: its rows were drawn given {detail.detail_of!r} alone, and nobody measured "
                f"it with other columns. Ask for {detail.detail_of!r}, or release counts of {name!r} with `understudy "
                "count`."
            )
        raise ParameterError(f"the release has no column {name!r}; choose among {', '.join(known)}.")

    def codes(self, name: str) -> npt.NDArray[np.int64]:
        """Of all rows."""
        if name not in self._codes:
            codes = codes_of(self.table.column(name), self.column(name))
            if (codes < 0).any():
                raise ReleaseError(f"column {name!r} of the release holds values that its codebook does not know.")
            self._codes[name] = codes
        return self._codes[name]

    def values(self, name: str) -> Floats:
        """One number per code; NaN for the missing level. A column without an order is refused."""
        column = self.column(name)
        if not is_ordered(column):
            raise ParameterError(
                f"{name!r} has levels without an order, so it has no mean, quantile or correlation; ask for the share "
                f"of one of them, as {name}={column.labels[0]}."
            )
        if isinstance(column, Number):
            return self._bin_means(column)
        return numbers_of(column)

    def ends(self, name: str) -> tuple[float, float]:
        """Between which all its values lie; declared."""
        column = self.column(name)
        if isinstance(column, Number):
            return column.bounds
        values = self.values(name)
        return float(np.nanmin(values)), float(np.nanmax(values))

    def _bin_means(self, column: Number) -> Floats:
        """The mean of the released values in each bin; of an empty one its middle."""
        means = values_of(column)
        for code, values in enumerate(self.inside(column.name)):
            if len(values):
                means[code] = values.mean()
        return means

    def inside(self, name: str) -> list[Floats]:
        """The released values in each bin of a number in their order; of other columns and levels none."""
        if name not in self._inside:
            self._inside[name] = self._values_inside(self.column(name))
        return self._inside[name]

    def _values_inside(self, column: Column) -> list[Floats]:
        if not isinstance(column, Number):
            return [np.empty(0)] * column.size
        codes, shown = self.codes(column.name), self.table.column(column.name)
        if column.special:
            shown = pc.if_else(pa.array(codes < column.proper_levels), shown, None)
        shown = np.asarray(shown.cast(pa.float64()).fill_null(0.0))
        order = np.lexsort((shown, codes))
        ends = np.searchsorted(codes[order], np.arange(column.proper_levels + 1))
        listed = [shown[order[start:end]] for start, end in pairwise(ends)]
        return [*listed, *[np.empty(0)] * (column.size - column.proper_levels)]

    def calibrated(self, names: set[str]) -> Calibration:
        """Weights of the distinct records of these columns."""
        columns = tuple(name for name in self.codebook.names if name in names)
        if columns not in self._calibrations:
            sizes = [self.codebook.column(name).size for name in columns]
            records = Records.of(columns, sizes, [self.codes(name) for name in columns])
            self._calibrations[columns] = Calibration(self.measured, records, clustered=self.records_of_one)
        return self._calibrations[columns]


@dataclass(frozen=True, kw_only=True)
class _Folder:
    """What lies in a folder."""

    place: Path

    @cached_property
    def facts(self) -> dict[str, Any]:
        return read_manifest_file(self.place)

    def refuse_changed(self, path: Path) -> None:
        """Refuse a file that is not what the manifest says."""
        name = path.relative_to(self.place).as_posix()
        if digest_of(path) != self.facts["files"].get(name):
            raise ReleaseError(
                f"{name} in {str(self.place)!r} was changed after the release: its digest is not the one in the "
                "manifest. Take the folder again from where it was published."
            )

    def read(self, path: Path) -> pa.Table:
        """A table that is what the manifest says."""
        self.refuse_changed(path)
        return pyarrow.parquet.read_table(path)

    def measured(self, path: Path, book: Codebook) -> pa.Table:
        """The same of measurements, which are no larger than the codebook lets them be."""
        self.refuse_changed(path)
        return bounded_table(path, book)

    def tables(self) -> list[Path]:
        return tables_of(self.place, self.facts)


@loader("the release", remedy="take the folder again from where it was published.", error=ReleaseError)
def open_release(release: Release | str | Path) -> OpenedRelease:
    """A release folder, or a release in memory; one without measurements is refused."""
    if isinstance(release, Release):
        facts, book, table = release.manifest.to_dict(), release.codebook, release.table
        measured = release.attachments.get(MEASUREMENTS)
    else:
        folder = _Folder(place=Path(release))
        try:
            facts = folder.facts
            if facts.get("tables") is not None:
                raise RefusalError(
                    "linked tables carry no measurements to infer from yet; give a release of one table."
                )
            folder.refuse_changed(folder.place / CODEBOOK)
            book = Codebook.load(folder.place / CODEBOOK)
            path = folder.place / MEASUREMENTS
            measured = folder.measured(path, book) if path.is_file() else None
            table = pa.concat_tables([folder.read(path) for path in folder.tables()])
        except (OSError, LookupError, TypeError, pa.ArrowException) as reason:
            raise ReleaseError(_unreadable(release, reason)) from None
    try:
        certificate = facts.get("certificate")
        if certificate is not None and not certificate["accepted"]:
            raise RefusalError(
                "the certificate rejected this release, so it has no rows and no measurements to infer from; make "
                "another one, with other options, which is charged."
            )
        if measured is None:
            raise RefusalError(_without(facts["method"], facts["route"], facts["parameters"]))
        return OpenedRelease(
            codebook=book,
            table=table,
            measured=read_measurements(measured, book),
            statement=facts["statement"],
            release_id=facts["release"],
        )
    except (LookupError, TypeError) as reason:
        raise ReleaseError(_unreadable(release, reason)) from None


def _unreadable(release: Any, reason: Exception) -> str:
    return (
        f"the release {str(release)!r} cannot be read ({reason}); take it again from where it was published, and look "
        "at it with `understudy verify`."
    )


def _without(method: str, route: str, parameters: Any) -> str:
    """Why there are no measurements, and what to do."""
    if "where" in parameters:
        return (
            "this release holds rows of a sub-population, and its measurements would be those of everybody; make "
            "inferences from a release of the whole population, and name the part there (`where`)."
        )
    if method == "marginals":
        return (
            f"this release carries no {MEASUREMENTS}: it was written by an earlier version or with --no-measurements. "
            "Make it again with them, or draw from its model file, if that has them; they cost nothing more."
        )
    way = "plug-in" if route == "N" else "the kind of the method"
    return (
        f"releases by {method} carry no measurements, so that nobody can say how far their rows are off. Draw several "
        f"files and combine them (`understudy combine --kind {'plug-in' if route == 'N' else 'KIND'}`: {way}), whose "
        "rules know nothing of noise and smoothing; or make the release by marginals."
    )
