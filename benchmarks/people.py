"""What the cap on records per person costs, in memory and inside DuckDB, and that a larger table needs no more memory.

Bars: below the limit of the in-memory path the cap at most triples the time of counting all pairs; beyond it, twice the
rows need at most 1.3 times the memory, which stays under 2 GiB. Each run has a process of its own.
"""

import itertools
import json
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import understudy as us
from understudy.codebook import PersonUnit, Role, Text
from understudy.mechanisms.stream import Stream
from understudy.sources import LOCAL_BYTES
from understudy.synth.people import capped_source

SMALL, LARGE, CHUNK, ROUNDS, CAP, RECORDS = 500_000, 7_000_000, 500_000, 3, 2, 4
BAR_TIME, BAR_GROWTH, BAR_GIB = 3.0, 1.3, 2.0


def book() -> us.Codebook:
    plain = us.datasets.discharges_codebook()
    columns = (Text(name="patient", role=Role.IDENTIFIER), *plain.columns)
    return replace(plain, columns=columns, unit=PersonUnit(id="patient", cap=CAP))


def write_rows(path: Path, rows: int) -> None:
    """Simulated stays; a person has four of them on average, anywhere in the file."""
    writer = None
    drawn = np.random.default_rng(rows)
    for number, start in enumerate(range(0, rows, CHUNK)):
        some = min(CHUNK, rows - start)
        table = us.datasets.discharges(rows=some, seed=number + 1)
        ids = pa.array([f"person-{k:09d}" for k in drawn.integers(0, rows // RECORDS, some)])
        table = table.add_column(0, "patient", ids)
        writer = writer or pq.ParquetWriter(path, table.schema)
        writer.write_table(table)
    assert writer is not None
    writer.close()


def child(side: str, path: str) -> None:
    """Open, cap if asked, count all pairs of columns."""
    start = time.perf_counter()
    whole = replace(book(), unit=None) if side.startswith("uncapped") else book()
    source = us.open(path, whole, local_bytes=0 if side.endswith("in DuckDB") else LOCAL_BYTES)
    capped = capped_source(source, Stream.from_system())
    capped.count(list(itertools.combinations(whole.names, 2)))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(json.dumps({"seconds": time.perf_counter() - start, "gib": peak}))


def measure(side: str, path: Path) -> dict[str, float]:
    command = [sys.executable, "-m", "benchmarks.people", side, str(path)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return dict(json.loads(done.stdout.splitlines()[-1]))


def main(small: int = SMALL, large: int = LARGE, rounds: int = ROUNDS) -> None:
    """Time at the small size on both sides, memory at two sizes beyond the limit of the in-memory path."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "stays.parquet"
        write_rows(path, small)
        for where in ("in memory", "in DuckDB"):
            runs = [(measure(f"uncapped {where}", path), measure(f"capped {where}", path)) for _ in range(rounds)]
            before, after = (statistics.median(run[side]["seconds"] for run in runs) for side in (0, 1))
            met = "met" if after <= BAR_TIME * before else "MISSED"
            print(f"{small:,} rows {where}: uncapped {before:.1f} s, capped {after:.1f} s")
            print(f"ratio {after / before:.2f} (bar {BAR_TIME:g}): {met}")
        found = []
        for rows in (large, 2 * large):
            path = Path(folder) / f"stays-{rows}.parquet"
            write_rows(path, rows)
            found.append(measure("capped", path))
            path.unlink()
            print(f"{rows:,} rows, beyond the limit: {found[-1]['seconds']:.0f} s, peak {found[-1]['gib']:.2f} GiB")
    growth, most = found[1]["gib"] / found[0]["gib"], max(run["gib"] for run in found)
    print(f"growth {growth:.2f} (bar {BAR_GROWTH}): {'met' if growth <= BAR_GROWTH else 'MISSED'}")
    print(f"peak memory {most:.2f} GiB (bar {BAR_GIB}): {'met' if most <= BAR_GIB else 'MISSED'}")


if __name__ == "__main__":
    if len(sys.argv) > 2:
        child(sys.argv[1], sys.argv[2])
    else:
        main()
