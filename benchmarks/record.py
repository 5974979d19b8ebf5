"""A billion rows: simulate a table, count all its one- and two-way tables, fit `marginals`, write as many rows again.

``python -m benchmarks.record FOLDER [ROWS ...]`` (`make record`): 10 and 100 million rows and then a billion, unless
told otherwise. Whatever stops it, the same command goes on: finished parts are kept, and so is what every stage has
used so far; on two cores it loses the work on at most one part (`PART` rows). Only closing and verifying begin again,
which change no part. A stage runs in a process of its own, so that its memory is its own, and ends with the process
that started it: two would write the same files. Tables are counted piece by piece at every size: the product would keep
the codes of 10 million rows in memory, and memory and time of one way would be held against those of another.

Bars: memory at most 1.2 times that of 10 million in every stage; log-log slope of processor time at most 1.05 between
the smallest and the largest; counting within 1.8 times decoding with Arrow and a compiled count, each with what it
takes once for a process (loading compiled code); drawing (and writing) within 12 times a compiled draw from the same
latent classes.
"""

import ctypes
import itertools
import json
import math
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import understudy as us
from benchmarks import results
from benchmarks.counting import decoded
from benchmarks.drawing import from_classes, reference
from understudy.mechanisms.stream import Stream
from understudy.privacy.account import Account
from understudy.privacy.guarantees import Neighbours
from understudy.release.workshop import PARTS
from understudy.synth import ranged
from understudy.synth.details import Details, decode_drawn
from understudy.synth.model_file import load_model
from understudy.synth.ranged import synthesize_parts

SIZES = (10_000_000, 100_000_000, 1_000_000_000)
MEMORY_BAR, SLOPE_BAR, COUNT_BAR, DRAW_BAR = 1.2, 1.05, 1.8, 12.0
PART, GROUP = 5_000_000, 1_000_000
"""Rows of a simulated file and of its row groups. Pieces that are counted (`PIECE_ROWS`) and parts that are drawn
(`PART_ROWS`) are less than half a file, so that two threads lose less than one."""
SAMPLE = 10_000_000
"""Rows of the two references."""
RECIPE = us.Marginals(epsilon=1.0, delta=1e-9)
STAGES = ("simulate", "release", "verify", "compare", "references")
"""Processes, in order; the release has several stages of its own."""
_PARENT_DIES = 1
"""PR_SET_PDEATHSIG of Linux: what comes to a process whose parent ends."""
SHOWN = ("simulate", "count", "fit", "draw", "close", "verify", "compare")


class Meter:
    """What a stage has used, written down again and again: a kill loses ten seconds of it.

    Its disk is what lies in the folder of this size at most, with everything unfinished.
    """

    def __init__(self, journal: Path, stage: str, likely: Mapping[str, float] | None = None) -> None:
        self._journal, self._attempt = journal, uuid.uuid4().hex[:8]
        self._written, self._said = 0.0, 0.0
        self._likely = likely or {}
        """Seconds by the clock that the stages should take, from a smaller size: some can tell nothing themselves."""
        self._lock = threading.Lock()
        self._start(stage)

    def _start(self, stage: str) -> None:
        self.stage = stage
        self._first: tuple[int, float, int] | None = None
        """How much was done when the stage first told, when, and out of how much."""
        if stage in self._likely:
            left = self._likely[stage] / 60
            print(f"  {stage}: about {left:.1f} minutes, from a smaller size", file=sys.stderr, flush=True)
        self._clock, self._used = time.perf_counter(), time.process_time()
        Path("/proc/self/clear_refs").write_text("5")  # the peak of memory begins anew

    def enter(self, stage: str) -> None:
        """The next stage, if it is another one."""
        if stage != self.stage:
            self.write()
            self._start(stage)

    def write(self) -> None:
        """One line more."""
        status = Path("/proc/self/status").read_text()
        peak = int(status.partition("VmHWM:")[2].split()[0]) / 1024
        line = {
            "attempt": self._attempt,
            "stage": self.stage,
            "seconds": time.perf_counter() - self._clock,
            "processor": time.process_time() - self._used,
            "mib": peak,
            "disk": disk_of(self._journal.parent),
            "load": os.getloadavg()[0],
        }
        with self._journal.open("a") as journal:
            journal.write(json.dumps(line) + "\n")
        self._written = time.perf_counter()

    def tell(self, done: int, total: int) -> None:
        """Progress, with the time left at the rate of this stage so far."""
        with self._lock:
            now = time.perf_counter()
            if now - self._written > 10:
                self.write()
            if now - self._said > 5 or done >= total:
                self._said = now
                if self._first is None or done <= self._first[0] or total != self._first[2]:  # or begun again
                    self._first = (done, now, total)
                rate = (done - self._first[0]) / max(now - self._first[1], 1e-9)
                left = f", about {(total - done) / rate / 60:.1f} minutes left" if rate > 0 and done < total else ""
                print(f"  {self.stage}: {done:,} of {total:,}{left}", file=sys.stderr, flush=True)


def simulate(place: Path, rows: int, meter: Meter) -> None:
    """Files of rows drawn from latent classes of the simulated discharges; each row group has a seed of its own."""
    folder = place / "table"
    folder.mkdir(exist_ok=True)
    book = us.datasets.discharges_codebook()
    fitted = us.Marginals(epsilon=10.0, delta=1e-6).fit(us.open(us.datasets.discharges(rows=200_000, seed=1), book))
    weights, *levels = [part.astype(np.float64) for part in fitted._model.way.classes]
    whole = np.cumsum(weights / weights.sum())[:-1]
    flat = np.concatenate([np.cumsum(part / part.sum(axis=1, keepdims=True), axis=1).ravel() for part in levels])
    begins = np.cumsum([0, *(part.size for part in levels)])[:-1]
    sizes = np.array([part.shape[1] for part in levels])

    def group(number: int, start: int, rows: int) -> pa.Table:
        state = np.random.default_rng([7, number, start]).integers(1, 1 << 63, size=1, dtype=np.uint64)
        drawn = np.empty((rows, len(levels)), dtype=np.uint8)
        from_classes(whole, flat, begins, sizes, drawn, state)
        columns = [np.ascontiguousarray(column) for column in drawn.T]
        return decode_drawn(book, Details(), columns, Stream.seeded(number), packed=True)

    with ThreadPoolExecutor(os.cpu_count()) as pool:  # groups of one part at a time: a kill loses no other
        for number in range(math.ceil(rows / PART)):
            path = folder / f"part-{number:05d}.parquet"
            wanted = min(PART, rows - number * PART)
            if not path.exists():
                starts = range(0, wanted, GROUP)
                tables = pool.map(lambda start, n=number, w=wanted: group(n, start, min(GROUP, w - start)), starts)
                scratch, writer = path.with_suffix(".unfinished"), None
                for table in tables:
                    writer = writer or pq.ParquetWriter(scratch, table.schema, store_schema=False)
                    writer.write_table(table)
                assert writer is not None
                writer.close()
                scratch.rename(path)
            meter.tell(number * PART + wanted, rows)


def release(place: Path, rows: int, meter: Meter) -> None:
    """Count, fit, pay, draw and close, as `understudy synth --engine local` does."""
    account = place / "table.account"
    if not account.exists():
        Account.create(account, dataset=f"record {rows}", epsilon=1.0, delta=1e-9, neighbours=Neighbours.ADD_REMOVE)
    seen = set[str]()

    def report(step: str, done: int, total: int) -> None:
        first = step == "counting" and not seen - {"counting"}
        stage = "count" if first else "draw" if step.startswith("drawing") else "fit"
        seen.add(step)
        meter.enter("close" if stage == "draw" and done >= total else stage)
        meter.tell(done, total)

    if not (place / "release").exists():
        watch = threading.Thread(target=_keep_model, args=(place,), daemon=True)
        watch.start()
        with piece_by_piece():
            synthesize_parts(
                place / "table" / "part-*.parquet",
                us.datasets.discharges_codebook(),
                RECIPE,
                rows=rows,
                out=place / "release",
                account=account,
                report=report,
            )


@contextmanager
def piece_by_piece() -> Iterator[None]:
    """Tables of every size are counted as those are whose codes would not fit into memory."""
    opened = ranged.open_source
    ranged.open_source = partial(opened, local_bytes=0)  # type: ignore[assignment]
    try:
        yield
    finally:
        ranged.open_source = opened


def _keep_model(place: Path) -> None:
    """Copy the released model, for the reference: a finished release keeps its rows only."""
    model = place / "release.unfinished" / "model.zip"
    while not model.exists():
        time.sleep(0.2)
    shutil.copy(model, place / "model.zip")


def verify(place: Path, rows: int, meter: Meter) -> None:
    """The release against its own statement, every row of it."""
    verdict = us.verify(place / "release", report=lambda step, done, total: meter.tell(done, total))
    assert verdict.is_valid, verdict.problems


def compare(place: Path, rows: int, meter: Meter) -> None:
    """All pairs of both tables: the mean total variation between them."""
    book = us.datasets.discharges_codebook()
    pairs = list(itertools.combinations(book.names, 2))
    shares = []
    for folder in (place / "table", place / "release" / PARTS):
        source = us.open(folder / "part-*.parquet", book, local_bytes=0)
        source.keep = place / "compared"  # exact counts of a simulated table; a kill loses one piece
        counted = source.count(pairs, lambda step, done, total: meter.tell(done, total))
        shares.append([secret.open().to_grid() for secret in counted])
    assert all(int(table.sum()) == rows for table in itertools.chain(*shares))
    error = np.mean([0.5 * np.abs(a / rows - b / rows).sum() for a, b in zip(*shares, strict=True)])
    (place / "error.json").write_text(json.dumps(float(error)))
    shutil.rmtree(place / "compared", ignore_errors=True)


def references(place: Path, rows: int, meter: Meter) -> None:
    """Decode-and-count of some of the files, and a compiled draw from the classes of the released model."""

    def seconds(path: Path) -> float:
        before = time.process_time()
        decoded(str(path))
        return time.process_time() - before

    paths = sorted((place / "table").glob("part-*.parquet"))[: max(1, SAMPLE // PART)]
    first = seconds(paths[0])  # with what is loaded and compiled once, which a stage pays too
    used = [seconds(path) for path in paths]
    sample = sum(pq.ParquetFile(path).metadata.num_rows for path in paths)
    model = load_model(place / "model.zip").model
    told = {
        "once": max(first - used[0], 0.0),
        "decode": sum(used) / sample,
        "classes": reference(model, SAMPLE) / SAMPLE,
    }
    (place / "references.json").write_text(json.dumps(told))


WORK: dict[str, Callable[[Path, int, Meter], None]] = {
    "simulate": simulate,
    "release": release,
    "verify": verify,
    "compare": compare,
    "references": references,
}


def child(stage: str, place: Path, rows: int) -> None:
    """One process of the record."""
    ctypes.CDLL(None).prctl(_PARENT_DIES, signal.SIGKILL)
    meter = Meter(place / "journal.jsonl", "count" if stage == "release" else stage, likely(place, rows))
    WORK[stage](place, rows, meter)
    meter.write()
    (place / f"{stage}.done").touch()


def likely(place: Path, rows: int) -> dict[str, float]:
    """What stages should take by the clock: as the next smaller size that is done did, for every row."""
    sizes = [int(path.parent.name) for path in place.parent.glob("*/references.done") if path.parent.name.isdigit()]
    smaller = max((size for size in sizes if size < rows), default=None)
    if smaller is None:
        return {}
    used = used_by(place.parent / str(smaller))
    return {stage: facts["seconds"] * rows / smaller for stage, facts in used.items()}


def used_by(place: Path) -> dict[str, dict[str, float]]:
    """Seconds, processor seconds, peak memory and load of every stage, over all attempts."""
    last: dict[tuple[str, str], dict[str, Any]] = {}
    for line in (place / "journal.jsonl").read_text().splitlines():
        entry = json.loads(line)
        last[entry["attempt"], entry["stage"]] = entry
    stages: dict[str, dict[str, float]] = {}
    for entry in last.values():
        stage = stages.setdefault(entry["stage"], dict.fromkeys(("seconds", "processor", "mib", "load", "disk"), 0.0))
        for name in ("seconds", "processor"):
            stage[name] += entry[name]
        for name in ("mib", "load", "disk"):
            stage[name] = max(stage[name], entry.get(name, 0.0))
    return stages


def disk_of(folder: Path) -> float:
    """GiB."""
    total = 0
    for where, _, names in os.walk(folder):
        for name in names:
            with suppress(OSError):  # files come and go meanwhile
                total += (Path(where) / name).stat().st_size
    return total / 2**30


def _met(name: str, value: float, bar: float) -> str:
    return f"{name} {value:.2f} (bar {bar:g}): {'met' if value <= bar else 'MISSED'}"


def told(folder: Path, sizes: list[int]) -> Iterator[str]:
    """What was measured, and the bars."""
    used = {rows: used_by(folder / str(rows)) for rows in sizes}
    for rows in sizes:
        place = folder / str(rows)
        yield f"{rows:,} x {len(us.datasets.discharges_codebook().names)}:"
        for stage in SHOWN:
            one = used[rows][stage]
            yield (
                f"  {stage:9} {one['processor']:8.1f} s of processor time, {one['seconds']:8.1f} s by the clock, "
                f"{one['mib']:6.0f} MiB, {one['disk']:6.2f} GiB of disk, load up to {one['load']:.1f}"
            )
        error = json.loads((place / "error.json").read_text())
        table, made = disk_of(place / "table"), disk_of(place / "release")
        yield f"  on the disk at last: table {table:.2f} GiB, release {made:.2f} GiB"
        yield f"  two-way error of the release against the table {error:.6f}"
        bare = json.loads((place / "references.json").read_text())
        count, draw = (used[rows][stage]["processor"] for stage in ("count", "draw"))
        yield f"  decode-and-count: {bare['once']:.1f} s once, {bare['decode'] * 1e6:.3f} s for a million rows"
        yield "  " + _met(
            "counting against decode-and-count", count / (bare["once"] + bare["decode"] * rows), COUNT_BAR
        )
        yield "  " + _met("drawing against the compiled draw from classes", draw / rows / bare["classes"], DRAW_BAR)
    small, large = sizes[0], sizes[-1]
    for stage in SHOWN if len(sizes) > 1 else ():
        ratio = used[large][stage]["mib"] / used[small][stage]["mib"]
        slope = math.log(used[large][stage]["processor"] / used[small][stage]["processor"]) / math.log(large / small)
        yield f"{stage}: {_met('memory', ratio, MEMORY_BAR)}; {_met('slope', slope, SLOPE_BAR)}"
    if len(sizes) > 1:
        whole = [sum(used[rows][stage]["processor"] for stage in SHOWN) for rows in (small, large)]
        yield _met("slope of all stages together", math.log(whole[1] / whole[0]) / math.log(large / small), SLOPE_BAR)


def main(folder: Path, sizes: list[int]) -> None:
    """Every size, every stage that is not done; then the figures."""
    folder.mkdir(parents=True, exist_ok=True)
    load = os.getloadavg()[0]
    for rows in sizes:
        place = folder / str(rows)
        place.mkdir(exist_ok=True)
        for stage in STAGES:
            if not (place / f"{stage}.done").exists():
                print(f"{rows:,} rows: {stage}", file=sys.stderr, flush=True)
                subprocess.run(
                    [sys.executable, "-m", "benchmarks.record", f"--{stage}", str(place), str(rows)], check=True
                )
    text = "\n".join(told(folder, sizes))
    print(text)
    if sizes == list(SIZES):
        results.write_section("record", text, load)


if __name__ == "__main__":
    first, *rest = sys.argv[1:]
    if first.startswith("--"):
        child(first.removeprefix("--"), Path(rest[0]), int(rest[1]))
    else:
        main(Path(first), [int(word) for word in rest] or list(SIZES))
