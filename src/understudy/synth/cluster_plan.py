"""What counting on Spark and drawing there will take: partitions, shuffled bytes, processor time, memory and disk.

Nothing is read and nothing is started. The costs per row were measured on a small cluster (`make record-spark`) and are
kept in ``spark_constants.toml`` with the place, day and sizes of the measurement; the formulas below carry them to
another table and another cluster. How many tables are counted follows from the codebook alone. ``benchmarks`` holds the
plan against a run of 100,000,000 rows that it was not computed from.
"""

import itertools
import math
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources

from understudy.blocks.measured import MOST_TRIPLES, SMALL_LEVELS
from understudy.codebook import Codebook
from understudy.codec import from_plain
from understudy.mechanisms.gaussian_measurements import MOST_CELLS
from understudy.parameters import ROWS, Whole
from understudy.sources.covering import covers
from understudy.synth.part_work import PART_ROWS

CORES = Whole(least=1, most=1_000_000, tried=8)
_OPEN_COST, _MOST_SPLIT = 4 << 20, 128 << 20
"""Spark's own settings for files: what opening one counts as, and the most bytes that one task reads."""
_STORAGE_SHARE, _RESERVED = 0.6, 300 << 20
"""Spark's own settings for memory: the share of the heap that codes may fill, after what it keeps for itself."""
_MIB = 1 << 20


@dataclass(frozen=True, kw_only=True)
class Line:
    """A cost that begins with something fixed and grows with the work; in processor seconds."""

    driver: float
    """Fixed, once."""
    worker: float
    """Fixed, for every core of the workers: starting, and compiling what runs often."""
    each: float
    """For every unit of work."""

    def at(self, units: float, cores: int, times: int = 1) -> float:
        """Processor seconds of so many units on so many cores; what is fixed comes ``times`` times."""
        return times * (self.driver + self.worker * cores) + self.each * units


@dataclass(frozen=True, kw_only=True)
class Provenance:
    """Where the constants come from."""

    measured: str
    machine: str
    versions: str
    cluster: str
    table: str
    rows: tuple[int, ...]


@dataclass(frozen=True, kw_only=True)
class Constants:
    """Measured costs."""

    provenance: Provenance
    start: Line
    """Starting driver and workers."""
    encode: Line
    """A value read from Parquet and kept as a code."""
    scan: Line
    """A row in one joint table; fixed for every joint table."""
    fit: Line
    """Noise and model; nothing grows with the rows."""
    draw: Line
    """A value drawn from the model, decoded and written to Parquet."""
    read_bytes: float
    """Of a value in Parquet that is read."""
    written_bytes: float
    """Of a value in Parquet that is written."""
    cached_bytes: float
    """Of a code on the workers."""
    shuffled_share: float
    """Bytes that are shuffled, as a share of the rows of partial counts as Spark lays them out."""
    occupied: tuple[tuple[float, float], ...]
    """Rows in a partition, and the share of the cells of joint tables that they occupy."""
    python_mib: float
    """The Python process that draws for one core."""
    java_mib: float
    """What the Java process of a worker needs besides its heap."""
    driver_mib: float
    """Both processes of the driver."""

    def occupied_at(self, rows: float) -> float:
        """Share of the cells that so many rows occupy: between measured points on a line over the logarithm."""
        points = sorted(self.occupied)
        if len(points) == 1:
            return points[0][1]
        below = [place for place, (size, _) in enumerate(points[:-1]) if size <= rows]
        place = below[-1] if below else 0
        (first, low), (second, high) = points[place], points[place + 1]
        share = low + (high - low) * math.log(rows / first) / math.log(second / first)
        return min(max(share, 0.0), 1.0)


@cache
def measured_constants() -> Constants:
    """The constants that come with this version."""
    text = resources.files("understudy.synth").joinpath("spark_constants.toml").read_text(encoding="utf-8")
    return from_plain(Constants, tomllib.loads(text))


@dataclass(frozen=True, kw_only=True)
class Cluster:
    """Workers (Spark's executors) and the cores of each."""

    workers: int
    cores: int

    @property
    def all_cores(self) -> int:
        """Tasks at a time."""
        return self.workers * self.cores


@dataclass(frozen=True, kw_only=True)
class Tables:
    """Joint tables that are counted together, each with its columns and its cells."""

    widths: tuple[int, ...]
    cells: tuple[int, ...]

    @classmethod
    def of(cls, cliques: Sequence[Sequence[str]], book: Codebook) -> "Tables":
        """What the engine counts for these tables."""
        sizes = dict(zip(book.names, book.sizes, strict=True))
        joint = list(covers(cliques, sizes))
        return cls(
            widths=tuple(len(columns) for columns in joint),
            cells=tuple(math.prod(sizes[name] for name in columns) for columns in joint),
        )

    def __add__(self, other: "Tables") -> "Tables":
        return Tables(widths=self.widths + other.widths, cells=self.cells + other.cells)


def one_and_two_way(book: Codebook) -> Tables:
    """Every table of one and of two columns."""
    return Tables.of([*[(name,) for name in book.names], *itertools.combinations(book.names, 2)], book)


def three_way(book: Codebook) -> Tables:
    """Every interaction of three columns that `marginals` may look at; it leaves out those that noise would hide."""
    sizes = dict(zip(book.names, book.sizes, strict=True))
    small = [name for name, size in sizes.items() if 2 <= size <= SMALL_LEVELS]
    triples = [
        triple for triple in itertools.combinations(small, 3) if math.prod(sizes[name] for name in triple) <= MOST_CELLS
    ]
    triples.sort(key=lambda triple: math.prod(sizes[name] - 1 for name in triple))
    return Tables.of(triples[:MOST_TRIPLES], book)


def partitions_of(file_bytes: float, files: int, cores: int) -> int:
    """Tasks that read the files: Spark's own rule, with its default settings.

    >>> partitions_of(5_300_000, 10, 2), partitions_of(5_300_000, 100, 2)
    (2, 8)
    """
    total = files * (file_bytes + _OPEN_COST)
    most = min(_MOST_SPLIT, max(_OPEN_COST, total / cores))
    whole, rest = divmod(file_bytes, most)
    pieces = [most] * int(whole) * files + ([rest] * files if rest else [])  # the largest first
    found, filled = 0, math.inf
    for piece in pieces:
        if filled + piece > most:
            found, filled = found + 1, 0.0
        filled += piece + _OPEN_COST
    return found


@dataclass(frozen=True, kw_only=True)
class ClusterPlan:
    """What a release on Spark will take. Estimates from measured constants; see :attr:`constants`."""

    records: int
    rows: int
    columns: int
    cluster: Cluster
    files: int
    partitions: int
    joint_tables: int
    """Counted for all tables of one and two columns."""
    joint_triples: int
    """Counted at most for interactions of three columns."""
    read_bytes: int
    cached_bytes: int
    shuffled_bytes: int
    fetched_bytes: int
    written_bytes: int
    parts: int
    start_seconds: float
    """Processor seconds of every step."""
    encode_seconds: float
    count_seconds: float
    fit_seconds: float
    draw_seconds: float
    clock_seconds: float
    """At least, by the clock: the driver's own work, and the rest on all cores without waiting."""
    heap_mib: int
    """``spark.executor.memory`` with which all codes stay in memory."""
    overhead_mib: int
    """``spark.executor.memoryOverhead``: Python, and Java outside its heap."""
    driver_mib: int
    disk_bytes: int
    """Of the shared file system: what is read and what is written."""
    local_disk_bytes: int
    """Of the local disk of each worker: shuffled files, and all codes where the memory is smaller than said."""
    constants: Constants

    @property
    def processor_seconds(self) -> float:
        """Of all steps and processes together."""
        steps = (self.start_seconds, self.encode_seconds, self.count_seconds, self.fit_seconds, self.draw_seconds)
        return sum(steps)

    def to_dict(self) -> dict[str, object]:
        """For machines."""
        from understudy.codec import to_plain

        names = [name for name in self.__dataclass_fields__ if name != "constants"]
        facts = {name: to_plain(getattr(self, name)) for name in names}
        microseconds = self.processor_seconds / max(self.records, self.rows) * 1e6
        return {
            **facts,
            "processor_seconds": self.processor_seconds,
            "processor_hours": self.processor_seconds / 3600,
            "microseconds_per_row": microseconds,
            "core_hours_by_the_clock": self.clock_seconds * self.cluster.all_cores / 3600,
            "provenance": to_plain(self.constants.provenance),
        }

    def lines(self) -> list[str]:
        """In words."""
        cluster, where = self.cluster, self.constants.provenance
        steps = (
            ("start", self.start_seconds),
            ("encode", self.encode_seconds),
            ("count", self.count_seconds),
            ("fit", self.fit_seconds),
            ("draw", self.draw_seconds),
        )
        told = ", ".join(f"{name} {_time(seconds)}" for name, seconds in steps)
        each = self.processor_seconds / max(self.records, self.rows) * 1e6
        return [
            f"{self.records:,} records of {self.columns} columns counted and {self.rows:,} rows drawn on "
            f"{cluster.workers} workers of {cluster.cores} {'core' if cluster.cores == 1 else 'cores'}:",
            f"- partitions: {self.partitions:,} of some {self.records / self.partitions:,.0f} records, from "
            f"{self.files:,} files; {self.parts:,} parts are drawn.",
            f"- joint tables: {self.joint_tables} for all tables of one and two columns, and at most "
            f"{self.joint_triples} for three columns; each is one scan of the codes.",
            f"- processor time: {_time(self.processor_seconds)}, {each:.2g} µs a row ({told}).",
            f"- by the clock: at least {_time(self.clock_seconds)} where all cores are free, "
            f"{self.clock_seconds * cluster.all_cores / 3600:,.2g} core-hours; starting the machines comes on top.",
            f"- bytes: {_bytes(self.read_bytes)} read once, {_bytes(self.cached_bytes)} of codes kept on the workers, "
            f"{_bytes(self.shuffled_bytes)} shuffled, {_bytes(self.fetched_bytes)} to the driver, "
            f"{_bytes(self.written_bytes)} written.",
            f"- memory of a worker: spark.executor.memory={self.heap_mib}m keeps all codes in memory (with less, the "
            f"rest goes to its local disk); spark.executor.memoryOverhead={self.overhead_mib}m for Python.",
            f"- memory of the driver: {self.driver_mib:,} MiB.",
            f"- disk: {_bytes(self.disk_bytes)} of the shared file system, up to {_bytes(self.local_disk_bytes)} of "
            "the local disk of each worker.",
            f"The costs of a row were measured {where.measured} on {where.cluster} ({where.machine}; {where.versions}) "
            f"with {where.table}, {' and '.join(f'{rows:,}' for rows in where.rows)} rows. Another machine or table "
            "has other ones: `make record-spark` measures them.",
        ]


def plan_cluster(
    book: Codebook,
    rows: int,
    *,
    workers: int,
    cores: int,
    records: int | None = None,
    files: int | None = None,
    constants: Constants | None = None,
    triples: Tables | None = None,
) -> ClusterPlan:
    """What `marginals` on Spark will take: counted, fitted, and ``rows`` drawn on the workers.

    ``records`` is about how many there are (as many as rows, unless told), ``files`` how many Parquet files hold them
    (one for a million records, unless told).
    """
    ROWS.check("rows", rows)
    records = ROWS.check("rows_about", rows if records is None else records)
    cluster = Cluster(workers=CORES.check("workers", workers), cores=CORES.check("cores", cores))
    files = -(-records // PART_ROWS) if files is None else ROWS.check("files", files)
    cost = constants or measured_constants()
    columns, all_cores = len(book.names), cluster.all_cores
    read_bytes = records * columns * cost.read_bytes
    partitions = partitions_of(read_bytes / files, files, max(all_cores, 2))
    pairs = one_and_two_way(book)
    threes = three_way(book) if triples is None else triples
    tables = pairs + threes
    scans = len(tables.cells)
    rows_each = records / partitions
    occupied = cost.occupied_at(rows_each)
    partial = [min(cells * occupied, rows_each) for cells in tables.cells]
    laid_out = sum(partitions * number * row_bytes(width) for number, width in zip(partial, tables.widths, strict=True))
    seconds = {
        "start": cost.start.at(0, all_cores),
        "encode": cost.encode.at(records * columns, all_cores),
        "count": cost.scan.at(records * scans, all_cores, times=scans),
        "fit": cost.fit.at(0, all_cores),
        "draw": cost.draw.at(rows * columns, all_cores),
    }
    fixed = sum(line.driver + line.worker for line in (cost.start, cost.encode, cost.fit, cost.draw))
    fixed += scans * (cost.scan.driver + cost.scan.worker)
    grows = cost.encode.each * records * columns + cost.scan.each * records * scans
    grows += cost.draw.each * rows * columns
    cached = records * columns * cost.cached_bytes
    shuffled = laid_out * cost.shuffled_share
    written = rows * columns * cost.written_bytes
    heap = (cached / workers / _STORAGE_SHARE + _RESERVED) / _MIB
    return ClusterPlan(
        records=records,
        rows=rows,
        columns=columns,
        cluster=cluster,
        files=files,
        partitions=partitions,
        joint_tables=len(pairs.cells),
        joint_triples=len(threes.cells),
        read_bytes=round(read_bytes),
        cached_bytes=round(cached),
        shuffled_bytes=round(shuffled),
        fetched_bytes=round(
            sum(cells * (width + 1) * 8 for cells, width in zip(tables.cells, tables.widths, strict=True))
        ),
        written_bytes=round(written),
        parts=-(-rows // PART_ROWS),
        start_seconds=seconds["start"],
        encode_seconds=seconds["encode"],
        count_seconds=seconds["count"],
        fit_seconds=seconds["fit"],
        draw_seconds=seconds["draw"],
        clock_seconds=fixed + grows / all_cores,
        heap_mib=max(1024, math.ceil(heap / 256) * 256),
        overhead_mib=math.ceil((cost.java_mib + cores * cost.python_mib) / 256) * 256,
        driver_mib=math.ceil(cost.driver_mib / 256) * 256,
        disk_bytes=round(read_bytes + written),
        local_disk_bytes=round((cached + shuffled) / workers),
        constants=cost,
    )


def row_bytes(width: int) -> int:
    """A row of partial counts as Spark lays it out: its length, a word of flags, and a word for every field."""
    return 4 + 8 + 8 * (width + 1)


def _time(seconds: float) -> str:
    if seconds < 120:
        return f"{seconds:,.0f} s"
    return f"{seconds / 60:,.0f} min" if seconds < 7200 else f"{seconds / 3600:,.1f} h"


def _bytes(number: float) -> str:
    for name, size in (("TB", 1e12), ("GB", 1e9), ("MB", 1e6)):
        if number >= size:
            return f"{number / size:,.3g} {name}"
    return f"{number / 1e3:,.3g} kB"
