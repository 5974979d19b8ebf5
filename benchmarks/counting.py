"""All pairs and thirteen 4-way tables of 10,000,000 Parquet rows, against the bare DuckDB queries.

Bars: at most 1.5 times the bare queries, peak memory under 2 GiB; the one- and two-way tables alone in at most 1.8
times the processor time of decoding the file with Arrow and counting pairs in a compiled loop. Each side runs in a
process of its own, alternately, so that memory can be measured and neither warms the other's caches.
"""

import itertools
import json
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import understudy as us
from understudy.compiled import kernel

ROWS, CHUNK, ROUNDS = 10_000_000, 500_000, 3
BAR_TIME, BAR_GIB, BAR_DECODE = 1.5, 2.0, 1.8


def cliques() -> list[tuple[str, ...]]:
    names = us.datasets.discharges_codebook().names
    fours = [tuple(names[(i + k) % len(names)] for k in range(4)) for i in range(len(names))]
    return [*itertools.combinations(names, 2), *fours]


def write_rows(path: Path, rows: int) -> None:
    writer = None
    for number, start in enumerate(range(0, rows, CHUNK)):
        table = us.datasets.discharges(rows=min(CHUNK, rows - start), seed=number + 1)
        writer = writer or pq.ParquetWriter(path, table.schema)
        writer.write_table(table)
    assert writer is not None
    writer.close()


def ours(path: str) -> None:
    us.open(path, us.datasets.discharges_codebook()).count(cliques())


def bare(path: str) -> None:
    import duckdb

    connection = duckdb.connect(config={"memory_limit": "1GB"})
    for clique in cliques():
        columns = ", ".join(f'"{name}"' for name in clique)
        query = f"SELECT {columns}, count(*) AS n FROM '{path}' GROUP BY {columns}"
        result: pa.Table = connection.execute(query).to_arrow_table()
        assert result.num_rows


def small(path: str) -> None:
    """All one- and two-way tables."""
    book = us.datasets.discharges_codebook()
    us.open(path, book).count([*[(name,) for name in book.names], *itertools.combinations(book.names, 2)])


@kernel
def _count(first: Any, second: Any, size: int, counts: Any) -> None:
    for row in range(len(first)):
        counts[first[row] * size + second[row]] += 1


def decoded(path: str) -> None:
    """What a small table of codes costs at least: Arrow's own dictionaries, and a loop over every pair."""
    names = us.datasets.discharges_codebook().names
    table = pq.read_table(path, columns=list(names), read_dictionary=list(names))
    columns = []
    for name in names:
        chunks = [chunk.indices.fill_null(len(chunk.dictionary)).to_numpy() for chunk in table.column(name).chunks]
        columns.append(np.concatenate(chunks).astype(np.uint8))
    for first, second in itertools.combinations(columns, 2):
        _count(first, second, 256, np.zeros(1 << 16, dtype=np.int64))


def child(side: str, path: str) -> None:
    start, used = time.perf_counter(), time.process_time()
    {"ours": ours, "bare": bare, "small": small, "decoded": decoded}[side](path)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(json.dumps({"seconds": time.perf_counter() - start, "processor": time.process_time() - used, "gib": peak}))


def measure(side: str, path: Path) -> dict[str, float]:
    command = [sys.executable, "-m", "benchmarks.counting", side, str(path)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return json.loads(done.stdout.splitlines()[-1])


def main(rows: int = ROWS) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "discharges.parquet"
        write_rows(path, rows)
        runs = [tuple(measure(side, path) for side in ("bare", "ours", "decoded", "small")) for _ in range(ROUNDS)]
    bare_time = statistics.median(run[0]["seconds"] for run in runs)
    our_time = statistics.median(run[1]["seconds"] for run in runs)
    gib = max(run[1]["gib"] for run in runs)
    ratio = our_time / bare_time
    print(f"{len(cliques())} tables of {rows:,} rows: bare {bare_time:.1f} s, ours {our_time:.1f} s")
    print(f"ratio {ratio:.2f} (bar {BAR_TIME}): {'met' if ratio <= BAR_TIME else 'MISSED'}")
    decode, pairs = (statistics.median(run[side]["processor"] for run in runs) for side in (2, 3))
    print(f"one- and two-way tables: {pairs:.1f} s of processor time, decoding and a compiled count {decode:.1f} s")
    print(f"ratio {pairs / decode:.2f} (bar {BAR_DECODE}): {'met' if pairs <= BAR_DECODE * decode else 'MISSED'}")
    print(f"peak memory {gib:.2f} GiB (bar {BAR_GIB}): {'met' if gib <= BAR_GIB else 'MISSED'}")


if __name__ == "__main__":
    if len(sys.argv) == 3:
        child(sys.argv[1], sys.argv[2])
    else:
        main()
