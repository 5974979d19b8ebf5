"""The record on Spark: count, fit `marginals` and draw on two worker processes, and the plan that foresaw it.

``python -m benchmarks.spark_record [--rows N] [--folder F] [--keep] [--constants]``. For every size: simulate that many
rows of 13 columns into Parquet parts of a million, count all 13 + 78 tables on Spark (`local-cluster` with two workers
of one core), fit `marginals` at epsilon 1 from these very counts, draw as many rows on the workers, verify the release,
and compare the counts with DuckDB's to the last unit. Without ``--rows`` the sizes are 3, 30 and 100 million. The plan
(`understudy plan`) is computed from what the sizes below 100 million measured, told before the large run begins, and
held against it: processor time, shuffle bytes and output bytes within 25 %. ``--constants`` writes what the small sizes
measured into the file that the plan reads.

Every stage leaves what it measured in ``FOLDER/ROWS/stages.json``; a run that was cut short goes on after the last
finished part or stage. Processor time is that of all processes of the run, read from the kernel: other work on the
machine changes it by some percent, the clock by factors.
"""

import argparse
import contextlib
import datetime as dt
import itertools
import json
import math
import os
import shutil
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numba
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import understudy as us
from benchmarks import results
from understudy.codec import to_plain
from understudy.datasets.discharges import _levels, _missing, _network
from understudy.sources.engine import EngineSource
from understudy.synth.cluster_plan import ClusterPlan, Constants, Line, Provenance, Tables, plan_cluster, row_bytes
from understudy.synth.ranged import synthesize_parts
from understudy.synth.workers import SparkWorkers

SIZES = (3_000_000, 30_000_000, 100_000_000)
PART_ROWS = 1_000_000
EPSILON, DELTA = 1.0, 1e-9
WORKERS, WORKER_MEMORY = 2, 1400
"""Worker processes of one core, and the MiB of Java memory that each of them has."""
SHUFFLE_PARTITIONS = 8
"""A joint table has at most 16,384 cells: more pieces than this are only more tasks."""
TOLERANCE = 0.25
CONSTANTS = Path(us.__file__).parent / "synth" / "spark_constants.toml"


def cliques() -> list[tuple[str, ...]]:
    """All tables of one and of two columns."""
    names = us.datasets.discharges_codebook().names
    return [*[(name,) for name in names], *itertools.combinations(names, 2)]


# ---------------------------------------------------------------------------------------------------- simulation


@numba.njit(cache=True, nogil=True)
def _simulate(words, thresholds, first, levels, given, given_sizes, out):  # type: ignore[no-untyped-def] # pragma: no cover
    """Ancestral sampling of all columns: for each row and column a row of thresholds, searched from the left."""
    rows, columns = words.shape
    for row in range(rows):
        for column in range(columns):
            key = 0
            for place in range(given.shape[1]):
                parent = given[column, place]
                if parent < 0:
                    break
                key = key * given_sizes[column, place] + out[parent, row]
            start = first[column] + key * levels[column]
            word = words[row, column]
            code = 0
            for place in range(levels[column] - 1):
                code += word >= thresholds[start + place]
            out[column, row] = code


class Simulation:
    """The simulated discharges of `us.datasets`, drawn by a compiled loop: the same network, other random numbers."""

    def __init__(self) -> None:
        network, names = _network(), [conditional.target for conditional in _network()]
        most = max(len(c.given) for c in network)
        self.names = names
        self._given = np.full((len(network), max(most, 1)), -1, dtype=np.int64)
        self._given_sizes = np.ones_like(self._given)
        flat, first = [], []
        for place, conditional in enumerate(network):
            for at, (name, size) in enumerate(zip(conditional.given, conditional.table.shape, strict=False)):
                self._given[place, at], self._given_sizes[place, at] = names.index(name), size
            cumulated = np.cumsum(conditional.table.reshape(-1, conditional.table.shape[-1]), axis=1)
            first.append(sum(len(each) for each in flat))
            flat.append(np.rint(cumulated / cumulated[:, -1:] * 2.0**32).astype(np.uint64).ravel())
        self._thresholds, self._first = np.concatenate(flat), np.array(first)
        self._levels = np.array([c.table.shape[-1] for c in network])

    def table(self, rows: int, seed: int) -> pa.Table:
        """Levels as dictionaries, null where a value is missing."""
        rng = np.random.default_rng(seed)
        words = rng.integers(0, 1 << 32, size=(rows, len(self.names)), dtype=np.uint32)
        out = np.empty((len(self.names), rows), dtype=np.int8)
        _simulate(words, self._thresholds, self._first, self._levels, self._given, self._given_sizes, out)
        codes = dict(zip(self.names, out, strict=True))
        missing = _missing(rng, codes)
        return pa.table(
            {
                name: pa.DictionaryArray.from_arrays(pa.array(codes[name], mask=missing.get(name)), pa.array(levels))
                for name, levels in _levels().items()
            }
        )


# ------------------------------------------------------------------------------------------------------ measuring


@dataclass
class _Process:
    role: str
    seconds: float = 0.0
    rss: int = 0


_TICK = os.sysconf("SC_CLK_TCK")
_PAGE = os.sysconf("SC_PAGE_SIZE")


class Meter:
    """Processor time and memory of this process and all below it, by role, every second."""

    def __init__(self, scratch: Path | None = None) -> None:
        self._seen: dict[tuple[int, int], _Process] = {}
        self._mine = [os.getpid()]
        self._own = 0.0
        self._peaks: dict[str, int] = {}
        self._scratch, self._disk = scratch, 0
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        turn = 0
        while not self._stop.wait(1.0):
            turn += 1
            self.look(everywhere=turn % 4 == 0, disk=turn % 12 == 0)
            self._own = time.thread_time()

    def look(self, *, everywhere: bool = True, disk: bool = False) -> None:
        """Read what the kernel says now, of the processes that are known or of all below this one."""
        with self._lock:
            stats = self._stats(Path("/proc").iterdir() if everywhere else (Path(f"/proc/{pid}") for pid in self._mine))
            if everywhere:
                self._mine = self._below(stats)
            together: dict[str, int] = {}
            for pid in self._mine:
                if pid in stats:
                    process = self._process(pid, stats[pid])
                    self._peaks[process.role] = max(self._peaks.get(process.role, 0), process.rss)
                    together[process.role] = together.get(process.role, 0) + process.rss
            for role, rss in together.items():
                self._peaks[f"all {role}"] = max(self._peaks.get(f"all {role}", 0), rss)
            if disk and self._scratch is not None:
                self._disk = max(self._disk, _bytes_in(self._scratch))

    @staticmethod
    def _stats(entries: Iterable[Path]) -> dict[int, list[str]]:
        found = {}
        for entry in entries:
            if entry.name.isdigit():
                with contextlib.suppress(OSError):  # it has ended
                    found[int(entry.name)] = (entry / "stat").read_text().rpartition(")")[2].split()
        return found

    @staticmethod
    def _below(stats: dict[int, list[str]]) -> list[int]:
        children: dict[int, list[int]] = {}
        for pid, words in stats.items():
            children.setdefault(int(words[1]), []).append(pid)
        mine, queue = [], [os.getpid()]
        while queue:
            pid = queue.pop()
            mine.append(pid)
            queue += children.get(pid, [])
        return mine

    def _process(self, pid: int, words: list[str]) -> _Process:
        key = (pid, int(words[19]))  # with when it was started: numbers are used again
        if key not in self._seen:
            self._seen[key] = _Process(role=self._role(pid))
        process = self._seen[key]
        if process.role in ("new", "driver Java"):  # until it has become what it will be
            role = self._role(pid)
            process.role = process.role if role == "new" else role
        process.seconds = (int(words[11]) + int(words[12])) / _TICK
        process.rss = int(words[21]) * _PAGE
        return process

    @staticmethod
    def _role(pid: int) -> str:
        if pid == os.getpid():
            return "driver Python"
        with contextlib.suppress(OSError):
            words = Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
            if "CoarseGrainedExecutorBackend" in words:
                return "worker Java"
            if "pyspark.daemon" in words:
                return "worker Python"
            if "java" in words:
                return "driver Java"
            if "spark" in words:
                return "new"
        return "new"

    def seconds(self) -> dict[str, float]:
        """Processor seconds so far, by role, without those of looking."""
        self.look()
        with self._lock:
            found: dict[str, float] = {}
            for process in self._seen.values():
                found[process.role] = found.get(process.role, 0.0) + process.seconds
            found["driver Python"] -= self._own
            return found

    def take_peaks(self) -> dict[str, float]:
        """Largest resident MiB of one process of each role since the last call, and of all of a role together."""
        self.look(disk=True)
        with self._lock:
            peaks, self._peaks = self._peaks, {}
            disk, self._disk = self._disk, 0
            shown = {role: round(rss / 2**20) for role, rss in peaks.items() if role != "new"}
            return shown | {"Spark's disk": round(disk / 2**20)}

    def stop(self) -> None:
        """No more looking."""
        self._stop.set()
        self._thread.join()


def _bytes_in(folder: Path) -> int:
    total = 0
    for where, _, names in os.walk(folder):  # files come and go meanwhile
        for name in names:
            with contextlib.suppress(OSError):
                total += (Path(where) / name).stat().st_size
    return total


@dataclass
class Stages:
    """What the stages of one size measured; kept on disk, so that a run that was cut short goes on."""

    path: Path
    found: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def at(cls, path: Path) -> "Stages":
        """What an earlier run kept, or nothing."""
        return cls(path, json.loads(path.read_text()) if path.exists() else {})

    def keep(self, name: str, **facts: Any) -> None:
        """Add facts about a stage."""
        self.found[name] = {**self.found.get(name, {}), **facts}
        scratch = self.path.with_suffix(".new")
        scratch.write_text(json.dumps(self.found, indent=1))
        scratch.replace(self.path)


class Watch:
    """A line when something has changed and ten seconds have passed: what, how far, and the time left."""

    def __init__(self, every: float = 10.0) -> None:
        self._every, self._step, self._begun, self._told, self._first, self._last = every, "", 0.0, 0.0, 0, 0

    def __call__(self, step: str, done: int, total: int) -> None:
        """As `report` is called."""
        now = time.monotonic()
        if step != self._step or done < self._last:
            self._step, self._begun, self._told, self._first = step, now, 0.0, done
        self._last = done
        if now - self._told < self._every and done < total:
            return
        self._told = now
        took, new = now - self._begun, done - self._first
        left = f", about {took * (total - done) / new:,.0f} s left" if new and done < total else ""
        print(f"  {step}: {done:,} of {total:,}, {took:,.0f} s{left}", file=sys.stderr, flush=True)


# ---------------------------------------------------------------------------------------------------------- stages


def simulate(folder: Path, rows: int, stages: Stages, tell: Watch) -> None:
    """Parts of a million rows; a part that is there is whole, because it was renamed into its place."""
    data = folder / "data"
    data.mkdir(exist_ok=True)
    simulation = Simulation()
    start = time.process_time()
    parts = -(-rows // PART_ROWS)
    for number in range(parts):
        target = data / f"part-{number:05d}.parquet"
        if not target.exists():
            table = simulation.table(min(PART_ROWS, rows - number * PART_ROWS), seed=number)
            scratch = folder / "part.new"
            pq.write_table(table, scratch, store_schema=False)
            scratch.rename(target)
        tell("simulating parts", number + 1, parts)
    stages.keep("simulate", processor=time.process_time() - start, bytes=_bytes_in(data), parts=parts)


def spark_home(folder: Path) -> Path:
    """The installed Spark under a name of our own: `local-cluster` writes its workers' folders below its home."""
    import pyspark

    home = folder / "spark-home"
    home.mkdir(exist_ok=True)
    installed = Path(pyspark.__file__).parent
    for name in ("bin", "jars", "python", "sbin"):
        if (installed / name).exists() and not (home / name).exists():
            (home / name).symlink_to(installed / name)
    return home


def session_at(folder: Path, rows: int) -> Any:
    """Spark with two worker processes of one core on this machine; nothing listens beyond it."""
    from pyspark.sql import SparkSession

    os.environ.update(
        SPARK_HOME=str(spark_home(folder)),
        SPARK_LOCAL_IP="127.0.0.1",
        SPARK_LOCAL_DIRS=str(folder / "spark-local"),
        PYSPARK_PYTHON=sys.executable,
        PYTHONPATH=os.pathsep.join([str(Path(us.__file__).parents[1]), os.environ.get("PYTHONPATH", "")]).rstrip(":"),
    )
    for name in ("spark-local", "spark-events"):
        shutil.rmtree(folder / name, ignore_errors=True)
        (folder / name).mkdir()
    settings = {
        "executor.memory": f"{WORKER_MEMORY}m",
        "driver.memory": "1g",
        "driver.host": "127.0.0.1",
        "driver.bindAddress": "127.0.0.1",
        "ui.enabled": "false",
        "ui.showConsoleProgress": "false",
        "log.level": "ERROR",
        "sql.session.timeZone": "UTC",
        "sql.shuffle.partitions": str(SHUFFLE_PARTITIONS),
        "sql.warehouse.dir": str(folder / "warehouse"),
        "eventLog.enabled": "true",
        "eventLog.dir": f"file://{folder / 'spark-events'}",
        "eventLog.compress": "false",
        "eventLog.rolling.enabled": "false",
        "network.timeout": "1200s",  # the machine may have much other work
        "executor.heartbeatInterval": "60s",
    }
    builder = SparkSession.builder.master(f"local-cluster[{WORKERS},1,{WORKER_MEMORY}]").appName(f"record {rows}")
    for name, value in settings.items():
        builder = builder.config(f"spark.{name}", value)
    return builder.getOrCreate()


@contextlib.contextmanager
def tapped(after_encoding: Callable[[EngineSource], None], after_count: Callable[..., None]) -> Iterator[None]:
    """Hear of what the fit counts, while it counts: the product's own path, run once."""
    encode, count = EngineSource._refuse_unknown, EngineSource.count

    def refuse_unknown(self: EngineSource, codes: Any) -> None:
        encode(self, codes)
        after_encoding(self)

    def counted(self: EngineSource, wanted: Any, report: Any = None) -> Any:
        tables = count(self, wanted, report)
        after_count(wanted, tables)
        return tables

    EngineSource._refuse_unknown, EngineSource.count = refuse_unknown, counted  # type: ignore[method-assign]
    try:
        yield
    finally:
        EngineSource._refuse_unknown, EngineSource.count = encode, count  # type: ignore[method-assign]


def save_counts(path: Path, wanted: Sequence[Sequence[str]], tables: Sequence[Any]) -> None:
    """Open the counts of a simulation, for a comparison."""
    save_grids(path, {" x ".join(clique): table.open().to_grid() for clique, table in zip(wanted, tables, strict=True)})


def save_grids(path: Path, grids: Mapping[str, Any]) -> None:
    """In one step, so that what is there is whole."""
    with path.with_suffix(".new").open("wb") as out:
        np.savez(out, **grids)
    path.with_suffix(".new").rename(path)


class Phases:
    """Processor time from one boundary to the next."""

    def __init__(self, meter: Meter, stages: Stages) -> None:
        self._meter, self._stages = meter, stages
        self._last, self._clock = meter.seconds(), time.time()

    def end(self, name: str, **facts: Any) -> None:
        """The phase that ends now."""
        now = self._meter.seconds()
        used = {role: round(now[role] - self._last.get(role, 0.0), 2) for role in sorted(now)}
        began, self._clock = self._clock, time.time()
        self._last = now
        self._stages.keep(
            name,
            processor=round(sum(used.values()), 2),
            by_role=used,
            clock=round(self._clock - began, 1),
            began=began,
            ended=self._clock,
            peak_mib=self._meter.take_peaks(),
            load=os.getloadavg()[0],
            **facts,
        )


def count_and_draw(folder: Path, rows: int, stages: Stages, tell: Watch) -> None:
    """The product's own path: counted and fitted on Spark, drawn on its workers."""
    book = us.datasets.discharges_codebook()
    is_new = not (folder / "release.unfinished").exists()
    account = folder / "record.account"
    if is_new:
        account.unlink(missing_ok=True)
        us.Account.create(
            account, dataset="simulated", epsilon=EPSILON, delta=DELTA, neighbours=us.Neighbours.ADD_REMOVE
        )
    if (folder / "spark-events").exists():
        keep_events(folder, stages)  # of a run that was cut short
    meter = Meter(folder / "spark-local")
    phases = Phases(meter, stages)
    session = session_at(folder, rows)
    executors = session.sparkContext._jsc.sc().statusTracker()
    while len(executors.getExecutorInfos()) < WORKERS + 1:  # the driver is one of them
        time.sleep(0.2)
    phases.end("start")
    context = session.sparkContext._jsc.sc()

    def after_encoding(source: EngineSource) -> None:
        (stored,) = context.getRDDStorageInfo()
        frame = source.bench.frame  # type: ignore[attr-defined]
        phases.end(
            "encode",
            cached_memory=stored.memSize(),
            cached_disk=stored.diskSize(),
            partitions=stored.numPartitions(),
            types=[kind for _, kind in frame.dtypes],
        )

    rounds: list[int] = []

    def after_count(wanted: Any, tables: Any) -> None:
        from understudy.sources.covering import covers

        joint = covers(wanted, dict(zip(book.names, book.sizes, strict=True)))
        cells = [int(np.prod([book.sizes[book.position(name)] for name in columns])) for columns in joint]
        facts = {"tables": len(wanted), "joint": len(joint), "cells": cells, "widths": [len(c) for c in joint]}
        if not rounds:
            save_counts(folder / "counts-spark.npz", wanted, tables)
        phases.end("triples" if rounds else "count", **facts)
        rounds.append(len(wanted))

    drawing: list[int] = []

    def report(step: str, done: int, total: int) -> None:
        if step.startswith("drawing") and not drawing:
            drawing.append(done)
            phases.end("fit", kept_rows=done)
        tell(step, done, total)

    recipe = us.make_recipe("marginals", epsilon=EPSILON, delta=DELTA)
    with tapped(after_encoding, after_count):
        synthesize_parts(
            session,
            book,
            recipe,
            rows=rows,
            out=folder / "release",
            workers=SparkWorkers(session=session),
            part_rows=PART_ROWS,
            account=account,
            table=str(folder / "data"),
            report=report,
        )
    parts = list((folder / "release" / "synthetic").iterdir())
    phases.end("draw", bytes=sum(path.stat().st_size for path in parts), parts=len(parts), all_in_one_run=is_new)
    session.stop()
    phases.end("stop")
    meter.stop()
    keep_events(folder, stages)


PHASES = ("start", "encode", "count", "triples", "fit", "draw")


def keep_events(folder: Path, stages: Stages) -> None:
    """What Spark itself logged of every task, added up over the phases of the run."""
    sums: dict[str, dict[str, float]] = {name: {} for name in PHASES if name in stages.found}
    for path in (folder / "spark-events").iterdir():
        for line in path.open(encoding="utf-8"):
            if not line.endswith("\n"):  # a run that was cut short
                break
            event = json.loads(line)
            if event["Event"] != "SparkListenerTaskEnd" or "Task Metrics" not in event:
                continue
            ended, metrics = event["Task Info"]["Finish Time"] / 1000, event["Task Metrics"]
            phase = next((name for name in sums if ended <= stages.found[name]["ended"] + 0.05), None)
            if phase is None:
                continue
            written, read = metrics["Shuffle Write Metrics"], metrics["Shuffle Read Metrics"]
            for name, value in {
                "tasks": 1,
                "task_processor": metrics["Executor CPU Time"] / 1e9,
                "garbage": metrics["JVM GC Time"] / 1e3,
                "input_bytes": metrics["Input Metrics"]["Bytes Read"],
                "shuffle_bytes": written["Shuffle Bytes Written"],
                "shuffle_records": written["Shuffle Records Written"],
                "shuffle_read": read["Remote Bytes Read"] + read["Local Bytes Read"],
                "result_bytes": metrics["Result Size"],
                "spilled": metrics["Disk Bytes Spilled"],
            }.items():
                sums[phase][name] = sums[phase].get(name, 0) + value
    for name, facts in sums.items():
        if facts or "spark" not in stages.found[name]:  # an earlier run may have counted, and this one only drawn
            stages.keep(name, spark=facts)


def count_with_duckdb(folder: Path, stages: Stages, tell: Watch) -> None:
    """DuckDB counts the same files by bare queries: nothing of ours encodes, covers or adds up on this side."""
    import duckdb

    meter = Meter(folder)
    start = meter.seconds()["driver Python"]
    grids: dict[str, Any] = {}
    with duckdb.connect(config={"memory_limit": "1GB", "temp_directory": str(folder / "duckdb-temp")}) as connection:
        for number, clique in enumerate(cliques(), 1):
            grids[" x ".join(clique)] = _counted_by(connection, folder / "data", clique)
            tell("counting with DuckDB", number, len(cliques()))
    used = meter.seconds()["driver Python"] - start
    save_grids(folder / "counts-duckdb.npz", grids)
    stages.keep("duckdb", processor=used, peak_mib=meter.take_peaks(), counted="by bare queries")
    meter.stop()


def _counted_by(connection: Any, data: Path, clique: Sequence[str]) -> Any:
    """The table of one query, in the order of the codebook's labels; null is its missing level."""
    book = us.datasets.discharges_codebook()
    columns = [book.column(name) for name in clique]
    names = ", ".join(f'"{name}"' for name in clique)
    files = str(data / "part-*.parquet").replace("'", "''")
    grid = np.zeros([len(column.labels) for column in columns], dtype=np.int64)
    for *values, count in connection.execute(f"SELECT {names}, count(*) FROM '{files}' GROUP BY ALL").fetchall():
        labels = [column.missing if value is None else value for column, value in zip(columns, values, strict=True)]
        grid[tuple(column.labels.index(label) for column, label in zip(columns, labels, strict=True))] += count
    return grid


def compare(folder: Path, stages: Stages) -> None:
    """Every cell of every table must be equal."""
    with np.load(folder / "counts-spark.npz") as ours, np.load(folder / "counts-duckdb.npz") as theirs:
        assert set(ours) == set(theirs) and len(set(ours)) == len(cliques())
        different = [name for name in ours if not np.array_equal(ours[name], theirs[name])]
        cells, totals = sum(ours[name].size for name in ours), {int(ours[name].sum()) for name in ours}
    stages.keep("compare", different=different, tables=len(cliques()), cells=cells, totals=sorted(totals))


def verify(folder: Path, rows: int, stages: Stages) -> None:
    """What anybody may check of the release, and how near its one-way tables are to the counts."""
    start = time.process_time()
    verdict = us.verify(folder / "release")
    found = sum(pq.read_metadata(path).num_rows for path in (folder / "release" / "synthetic").iterdir())
    book = us.datasets.discharges_codebook()
    names = [(name,) for name in book.names]
    drawn = us.open(str(folder / "release" / "synthetic" / "part-00000-*.parquet"), book).count(names)
    with np.load(folder / "counts-spark.npz") as real:
        errors = []
        for (name,), table in zip(names, drawn, strict=True):
            grid = table.open().to_grid()
            errors.append(float(abs(grid / grid.sum() - real[name] / real[name].sum()).sum() / 2))
    stages.keep(
        "verify",
        processor=time.process_time() - start,
        valid=verdict.is_valid,
        problems=list(verdict.problems),
        rows=found,
        wanted=rows,
        one_way_error=max(errors),
    )


def run_size(root: Path, rows: int) -> dict[str, Any]:
    """All stages of one size that are not done yet."""
    folder = (root / str(rows)).absolute()
    folder.mkdir(parents=True, exist_ok=True)
    stages = Stages.at(folder / "stages.json")
    tell = Watch()
    print(f"== {rows:,} rows", file=sys.stderr, flush=True)
    if "simulate" not in stages.found:
        simulate(folder, rows, stages, tell)
    if stages.found.get("duckdb", {}).get("counted") != "by bare queries":  # of an earlier version they were ours
        count_with_duckdb(folder, stages, tell)
    if "draw" not in stages.found:
        count_and_draw(folder, rows, stages, tell)
    compare(folder, stages)
    if "verify" not in stages.found:
        verify(folder, rows, stages)
    return stages.found


# ------------------------------------------------------------------------------------------------- plan and check


Found = dict[str, Any]
_DRIVER, _WORKER = ("driver Python", "driver Java", "new"), ("worker Java", "worker Python")


def _used(found: Found, phases: Sequence[str], roles: Sequence[str]) -> float:
    return sum(found[phase]["by_role"].get(role, 0.0) for phase in phases if phase in found for role in roles)


def _line(
    small: Found, large: Found, phases: Sequence[str], units: Callable[[Found], float], times: Any = None
) -> Line:
    """Through two sizes: what is fixed, and what every unit of work takes."""
    repeats = [1 if times is None else times(found) for found in (small, large)]
    work = [_used(found, phases, _WORKER) for found in (small, large)]
    # with u units and f fixed times: work = f * fixed * workers + u * each
    matrix = np.array([[f * WORKERS, units(found)] for f, found in zip(repeats, (small, large), strict=True)])
    if matrix[0, 1] == matrix[1, 1] == 0:
        fixed, each = min(w / f / WORKERS for w, f in zip(work, repeats, strict=True)), 0.0
    else:
        fixed, each = np.linalg.solve(matrix, work)
        if fixed < 0:  # below what can be told from chance
            fixed, each = 0.0, work[1] / matrix[1, 1]
    driver = np.mean([_used(found, phases, _DRIVER) / f for found, f in zip((small, large), repeats, strict=True)])
    return Line(driver=float(driver), worker=float(fixed), each=float(each))


def _joint(found: Found) -> int:
    return sum(found[phase]["joint"] for phase in ("count", "triples") if phase in found)


def _tables(found: Found) -> Tables:
    """What was counted."""
    phases = [found[phase] for phase in ("count", "triples") if phase in found]
    return Tables(
        widths=tuple(width for phase in phases for width in phase["widths"]),
        cells=tuple(cells for phase in phases for cells in phase["cells"]),
    )


def _shuffled(found: Found, name: str = "shuffle_bytes") -> float:
    return sum(found[phase]["spark"].get(name, 0) for phase in ("encode", "count", "triples") if phase in found)


def _occupied(found: Found, rows: int) -> tuple[float, float]:
    partitions = found["encode"]["partitions"]
    each = rows / partitions
    most = partitions * sum(min(cells, each) for cells in _tables(found).cells)
    return each, _shuffled(found, "shuffle_records") / most


def constants_of(found: dict[int, Found]) -> Constants:
    """What the plan rests on, from two sizes."""
    (first, small), (second, large) = sorted(found.items())
    columns = len(us.datasets.discharges_codebook().names)
    points = tuple(_occupied(each, rows) for rows, each in sorted(found.items()))
    partitions = large["encode"]["partitions"]
    tables = _tables(large)
    laid_out = sum(
        partitions * min(cells, points[1][0]) * points[1][1] * row_bytes(width)
        for cells, width in zip(tables.cells, tables.widths, strict=True)
    )
    rows_of = {id(small): first, id(large): second}

    def values(each: Found) -> float:
        return rows_of[id(each)] * columns

    peaks = large["draw"]["peak_mib"]
    return Constants(
        provenance=Provenance(
            measured=dt.datetime.now(dt.UTC).date().isoformat(),
            machine=results.machine().partition(";")[0],
            versions=f"Spark {version('pyspark')}, pyarrow {version('pyarrow')}, numba {version('numba')}",
            cluster=f"local-cluster with {WORKERS} workers of 1 core",
            table=f"simulated discharges of {columns} columns",
            rows=tuple(sorted(found)),
        ),
        start=_line(small, large, ["start"], lambda each: 0.0),
        encode=_line(small, large, ["encode"], values),
        scan=_line(small, large, ["count", "triples"], lambda each: rows_of[id(each)] * _joint(each), _joint),
        fit=_line(small, large, ["fit"], lambda each: 0.0),
        draw=_line(small, large, ["draw"], values),
        read_bytes=large["simulate"]["bytes"] / values(large),
        written_bytes=large["draw"]["bytes"] / values(large),
        cached_bytes=(large["encode"]["cached_memory"] + large["encode"]["cached_disk"]) / values(large),
        shuffled_share=_shuffled(large) / laid_out,
        occupied=points,
        python_mib=float(peaks["all worker Python"] / WORKERS),
        java_mib=float(max(384, peaks["worker Java"] - WORKER_MEMORY)),
        driver_mib=float(max(large[phase]["peak_mib"]["driver Python"] for phase in PHASES if phase in large) + 1024),
    )


def write_constants(constants: Constants, path: Path) -> None:
    """As the plan reads them."""
    import tomlkit

    def rounded(value: Any) -> Any:
        if isinstance(value, dict):
            return {name: rounded(each) for name, each in value.items()}
        if isinstance(value, list):
            return [rounded(each) for each in value]
        return float(f"{value:.6g}") if isinstance(value, float) else value

    head = "# Measured by `make record-spark` (benchmarks/spark_record.py --constants); see synth/cluster_plan.py.\n\n"
    path.write_text(head + tomlkit.dumps(rounded(to_plain(constants))), encoding="utf-8")


def measured_plan(found: Found) -> dict[str, float]:
    """The figures of a plan, as a run measured them."""
    seconds = {phase: found[phase]["processor"] for phase in PHASES if phase in found}
    return {
        "partitions": found["encode"]["partitions"],
        "joint tables": _joint(found),
        "processor seconds": sum(seconds.values()),
        "of these start": seconds["start"],
        "of these encode": seconds["encode"],
        "of these count": seconds["count"] + seconds.get("triples", 0.0),
        "of these fit": seconds["fit"],
        "of these draw": seconds["draw"],
        "cached bytes": found["encode"]["cached_memory"] + found["encode"]["cached_disk"],
        "shuffled bytes": _shuffled(found),
        "output bytes": found["draw"]["bytes"],
    }


def foreseen_plan(plan: ClusterPlan) -> dict[str, float]:
    """The same figures, as the plan says."""
    return {
        "partitions": plan.partitions,
        "joint tables": plan.joint_tables + plan.joint_triples,
        "processor seconds": plan.processor_seconds,
        "of these start": plan.start_seconds,
        "of these encode": plan.encode_seconds,
        "of these count": plan.count_seconds,
        "of these fit": plan.fit_seconds,
        "of these draw": plan.draw_seconds,
        "cached bytes": plan.cached_bytes,
        "shuffled bytes": plan.shuffled_bytes,
        "output bytes": plan.written_bytes,
    }


BARS = ("processor seconds", "shuffled bytes", "output bytes")


def tell_size(rows: int, found: Found) -> None:
    """What one size took."""
    print(f"{rows:,} rows x 13 columns, {found['simulate']['parts']} parts, {found['simulate']['bytes'] / 1e6:,.0f} MB")
    for phase in ("simulate", "duckdb", *PHASES, "verify"):
        if phase not in found:
            continue
        facts = found[phase]
        line = f"  {phase:9}processor {facts['processor']:8.1f} s"
        if "by_role" in facts:
            line += " (" + ", ".join(f"{role} {used:.1f}" for role, used in facts["by_role"].items() if used) + ")"
        if spark := facts.get("spark"):
            line += (
                f"; {spark['tasks']:.0f} tasks, {spark['input_bytes'] / 1e6:,.0f} MB in, "
                f"{spark['shuffle_bytes'] / 1e6:,.2f} MB shuffled in {spark['shuffle_records']:,.0f} records"
            )
        if peaks := facts.get("peak_mib"):
            wanted = ("driver Python", "driver Java", "worker Java", "worker Python", "Spark's disk")
            line += "; peak MiB " + ", ".join(f"{role} {peaks[role]}" for role in wanted if peaks.get(role))
        if "load" in facts:
            line += f"; load {facts['load']:.0f}"
        print(line)
    encoded, same, checked = found["encode"], found["compare"], found["verify"]
    print(
        f"  codes on the workers: {encoded['cached_memory'] / 1e6:,.0f} MB in memory, "
        f"{encoded['cached_disk'] / 1e6:,.0f} MB on disk, {encoded['partitions']} partitions; joint tables "
        f"{found['count']['joint']} for {found['count']['tables']} tables of one and two columns"
        + (f", {found['triples']['joint']} for {found['triples']['tables']} of three" if "triples" in found else "")
    )
    print(
        f"  {same['tables']} tables, {same['cells']:,} cells, each of {same['totals'][0]:,} records: "
        f"{'equal to DuckDB in every cell' if not same['different'] else 'MISSED: ' + ', '.join(same['different'])}"
    )
    print(
        f"  {checked['rows']:,} rows drawn in {found['draw']['parts']} parts, {found['draw']['bytes'] / 1e6:,.0f} MB; "
        f"verify: {'valid' if checked['valid'] and checked['rows'] == rows else 'MISSED'}; largest one-way error "
        f"{checked['one_way_error']:.4f}"
    )


def tell_check(rows: int, plan: ClusterPlan, found: Found) -> None:
    """How far the plan was off, in shares of what was measured."""
    foreseen, measured = foreseen_plan(plan), measured_plan(found)
    print(f"the plan for {rows:,} rows, from {' and '.join(f'{n:,}' for n in plan.constants.provenance.rows)}:")
    for name, value in foreseen.items():
        ratio = value / measured[name] if measured[name] else math.nan
        verdict = ""
        if name in BARS:
            verdict = f" (bar {TOLERANCE:.0%}): {'met' if abs(ratio - 1) <= TOLERANCE else 'MISSED'}"
        print(f"  {name:18}foreseen {value:14,.0f}, measured {measured[name]:14,.0f}, {ratio:.2f} times that{verdict}")


def main(arguments: Sequence[str] = ()) -> None:
    """All sizes, the plan, and how far it was off."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rows", type=int, action="append", help="a size, repeated; at least two for a plan")
    parser.add_argument("--folder", type=Path, default=Path(os.environ.get("RECORD_SPARK", "record-spark")))
    parser.add_argument("--keep", action="store_true", help="keep the tables, to look at them")
    parser.add_argument("--constants", action="store_true", help="write what the two smallest sizes measured")
    given = parser.parse_args(list(arguments))
    book = us.datasets.discharges_codebook()
    found: dict[int, Found] = {}
    plans: dict[int, ClusterPlan] = {}
    for rows in sorted(given.rows or SIZES):
        if len(found) >= 2:
            constants = constants_of(dict(list(found.items())[:2]))
            plans[rows] = plan_cluster(book, rows, workers=WORKERS, cores=1, constants=constants)
            told = ", ".join(f"{name} {value:,.0f}" for name, value in foreseen_plan(plans[rows]).items())
            print(f"before it begins, the plan for {rows:,} rows says: {told}", flush=True)
            (given.folder / f"plan-{rows}.json").write_text(json.dumps(foreseen_plan(plans[rows]), indent=1))
        found[rows] = run_size(given.folder, rows)
        tell_size(rows, found[rows])
        if rows in plans:
            tell_check(rows, plans[rows], found[rows])
        if len(found) == 2 and given.constants:
            write_constants(constants_of(found), CONSTANTS)
    if not given.keep:
        shutil.rmtree(given.folder)


if __name__ == "__main__":
    main(sys.argv[1:])
