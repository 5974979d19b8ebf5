"""Large tables: threads, processes, memory, slopes, and counting in databases against their bare queries.

``python -m benchmarks.scale [threads|processes|memory|slopes|postgres|mariadb|sqlite|spark|spark-slope]``. Bars: two
threads, and two processes, at least 1.6 times one on 4,000,000 rows (best of five, interleaved); peak memory of drawing
100 million rows, and of counting them, at most 1.2 times that of 10 million; log-log slope of fit plus draw at most 1.1
from 100,000 to 10,000,000 rows for PeGS (medians of five interleaved rounds; LUGS has its own in `benchmarks.lugs`);
counting at most 1.5 times the engine's bare queries.
"""

import itertools
import json
import math
import multiprocessing
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

import understudy as us
from benchmarks.lugs import encoded
from benchmarks.sweep import fitted_sampler, seconds, uniform_seeds
from understudy.mechanisms.stream import Stream
from understudy.synth.drawers import RangeDrawer
from understudy.synth.part_work import PartJob
from understudy.synth.ranged import synthesize_parts

ROWS, ROUNDS, BAR = 4_000_000, 5, 1.6
MEMORY_ROWS, MEMORY_BAR = (10_000_000, 100_000_000), 1.2
SIZES, SLOPE_BAR = (100_000, 1_000_000, 10_000_000), 1.1
ENGINE_ROWS, ENGINE_BAR = 1_000_000, 1.5


def _say(name: str, value: float, bar: float, *, least: bool) -> None:
    met = value >= bar if least else value <= bar
    print(f"{name}: {value:.2f} (bar {bar}, {'at least' if least else 'at most'}): {'met' if met else 'MISSED'}")


def _load() -> None:
    print(f"(load average {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores)", flush=True)


def _by_processor(one: float, two: float) -> None:
    """What other work on the machine disturbs less: whether two need more processor time together than one."""
    print(f"processor time {one:.2f} s with one, {two:.2f} s with two: {2 * one / two:.2f} times on free cores")


def threads() -> None:
    """One PeGS sweep of 4,000,000 x 13 with one thread and with two."""
    _load()
    sampler, book = fitted_sampler()
    stream = Stream.from_system()
    seeds = uniform_seeds(book, ROWS, stream)
    times: dict[int, list[float]] = {1: [], 2: []}
    for count in times:
        sampler.sweep([seed[:1000] for seed in seeds], sweeps=1, stream=stream, threads=count)
    used: dict[int, list[float]] = {1: [], 2: []}
    for _ in range(ROUNDS):
        for count, values in times.items():
            before = time.process_time()
            values.append(seconds(lambda c=count: sampler.sweep(seeds, sweeps=1, stream=stream, threads=c)))
            used[count].append(time.process_time() - before)
    one, two = min(times[1]), min(times[2])
    print(f"sweep of {ROWS:,} x 13: one thread {one:.2f} s ({ROWS / one / 1e6:.1f} M rows/s), two {two:.2f} s")
    _say("two threads against one", one / two, BAR, least=True)
    _by_processor(min(used[1]), min(used[2]))
    _load()


def _drawer() -> RangeDrawer:
    book = us.datasets.discharges_codebook()
    fitted = us.PeGS(alpha=1.0).fit(us.open(us.datasets.discharges(rows=50_000, seed=1), book))
    return fitted.drawer(ROWS, fitted.quote(ROWS).ledger)


def _worker(connection: Any, drawer: RangeDrawer, folder: str) -> None:
    """A process as Spark has them: started once, then given one part after the other."""
    place = Path(folder)
    (place / "receipts").mkdir(exist_ok=True)
    book = us.datasets.discharges_codebook()
    job = PartJob(
        book=book, parts_folder=place, receipts_folder=place / "receipts", sizes=(ROWS // 4,) * 4, seed=None, mark={}
    )
    small = PartJob(
        book=book, parts_folder=place, receipts_folder=place / "receipts", sizes=(1000,), seed=None, mark={}
    )
    small.run(0, drawer)
    connection.send("ready")
    while (numbers := connection.recv()) is not None:
        for number in numbers:
            job.run(number, drawer)
        for path in place.glob("part-*"):
            path.unlink()
        connection.send(time.process_time())


def processes() -> None:
    """Four parts of 1,000,000 rows drawn, decoded and written to Parquet, by one process and by two."""
    _load()
    context = multiprocessing.get_context("spawn")
    drawer = _drawer()
    with tempfile.TemporaryDirectory() as folder:
        ends, running = [], []
        for number in range(2):
            ours, theirs = context.Pipe()
            place = Path(folder) / str(number)
            place.mkdir()
            process = context.Process(target=_worker, args=(theirs, drawer, str(place)))
            process.start()
            ends.append(ours)
            running.append(process)
        for end in ends:
            end.recv()
        times: dict[int, list[float]] = {1: [], 2: []}
        used: dict[int, list[float]] = {1: [], 2: []}
        clocks = [0.0, 0.0]
        for end, number in zip(ends, (0, 1), strict=True):  # what starting up has used
            end.send([])
            clocks[number] = end.recv()
        for _ in range(ROUNDS):
            for count, values in times.items():
                start = time.perf_counter()
                for end, share in zip(ends[:count], np.array_split(range(4), count), strict=True):
                    end.send([int(number) for number in share])
                now = [end.recv() for end in ends[:count]]
                values.append(time.perf_counter() - start)
                used[count].append(sum(now) - sum(clocks[:count]))
                clocks[:count] = now
        for end, process in zip(ends, running, strict=True):
            end.send(None)
            process.join()
    one, two = min(times[1]), min(times[2])
    print(
        f"{ROWS:,} rows drawn and written: one process {one:.2f} s ({ROWS / one / 1e6:.2f} M rows/s), two {two:.2f} s"
    )
    _say("two processes against one", one / two, BAR, least=True)
    _by_processor(min(used[1]), min(used[2]))
    _load()


def _peak() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


def _child(work: str, *arguments: str) -> dict[str, float]:
    command = [sys.executable, "-m", "benchmarks.scale", "child", work, *arguments]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return json.loads(done.stdout.splitlines()[-1])


def _draw_child(rows: str, out: str) -> dict[str, float]:
    book = us.datasets.discharges_codebook()
    data = us.datasets.discharges(rows=50_000, seed=1)
    start = time.perf_counter()
    synthesize_parts(data, book, us.PeGS(alpha=1.0, delta=1e-6), rows=int(rows), out=out)
    return {"seconds": time.perf_counter() - start, "gib": _peak()}


def _count_child(folder: str) -> dict[str, float]:
    book = us.datasets.discharges_codebook()
    start = time.perf_counter()
    pattern = str(Path(folder) / "synthetic" / "part-*.parquet")
    us.open(pattern, book, local_bytes=0).count(list(itertools.combinations(book.names, 2)))
    return {"seconds": time.perf_counter() - start, "gib": _peak()}


def memory(sizes: tuple[int, ...] = MEMORY_ROWS) -> None:
    """Peak resident memory of drawing to parts, and of counting all pairs of what was drawn."""
    _load()
    drawn, counted = {}, {}
    with tempfile.TemporaryDirectory() as folder:
        for rows in sizes:
            out = Path(folder) / str(rows)
            drawn[rows] = _child("draw", str(rows), str(out))
            size = sum(path.stat().st_size for path in (out / "synthetic").iterdir())
            counted[rows] = _child("count", str(out))
            for name, found in (("drawn", drawn[rows]), ("78 pairs counted", counted[rows])):
                print(
                    f"{rows:,} rows ({size / 2**30:.2f} GiB of Parquet) {name}: {found['seconds']:.0f} s, "
                    f"{rows / found['seconds'] / 1e6:.2f} M rows/s, peak {found['gib']:.2f} GiB",
                    flush=True,
                )
    small, large = sizes
    _say("memory of drawing, large against small", drawn[large]["gib"] / drawn[small]["gib"], MEMORY_BAR, least=False)
    _say(
        "memory of counting, large against small",
        counted[large]["gib"] / counted[small]["gib"],
        MEMORY_BAR,
        least=False,
    )
    for name, found in (("drawing", drawn), ("counting", counted)):
        slope = math.log(found[large]["seconds"] / found[small]["seconds"]) / math.log(large / small)
        print(f"log-log slope of {name} between the two: {slope:.2f}")
    _load()


def slopes() -> None:
    """PeGS, fit plus draw of as many rows as there are records; LUGS has the same in `benchmarks.lugs`."""
    _load()
    sources = {rows: encoded(rows) for rows in SIZES}
    recipe = us.PeGS(alpha=1.0)
    times: dict[int, list[tuple[float, float]]] = {rows: [] for rows in SIZES}
    fitted = recipe.fit(sources[SIZES[0]])
    fitted._draw(1000, fitted.quote(1000).ledger)
    for _ in range(ROUNDS):
        for rows, source in sources.items():
            start, used = time.perf_counter(), time.process_time()
            fitted = recipe.fit(source)
            fitted._draw(rows, fitted.quote(rows).ledger)
            times[rows].append((time.perf_counter() - start, time.process_time() - used))
    x = [math.log(rows) for rows in SIZES]
    for place, clock in enumerate(("clock", "processor")):
        medians = [statistics.median(pair[place] for pair in times[rows]) for rows in SIZES]
        told = ", ".join(f"{found:.3g} s at {rows:,}" for found, rows in zip(medians, SIZES, strict=True))
        print(f"pegs, {clock} time: {told}")
        _say(
            f"pegs: log-log slope by {clock} time", float(np.polyfit(x, np.log(medians), 1)[0]), SLOPE_BAR, least=False
        )
    _load()


def _cliques() -> list[tuple[str, ...]]:
    names = us.datasets.discharges_codebook().names
    return [*[(name,) for name in names], *itertools.combinations(names, 2)]


def _against_bare(name: str, bare: Any, ours: Any, rounds: int = 3) -> None:
    times: dict[str, list[float]] = {"bare": [], "ours": []}
    for _ in range(rounds):
        times["bare"].append(seconds(bare))
        times["ours"].append(seconds(ours))
    median = {side: statistics.median(values) for side, values in times.items()}
    print(f"{len(_cliques())} tables of {ENGINE_ROWS:,} rows: bare {median['bare']:.1f} s, ours {median['ours']:.1f} s")
    _say(f"{name} against its bare queries", median["ours"] / median["bare"], ENGINE_BAR, least=False)
    _load()


def postgres() -> None:
    """Encode once and count in covers, against one GROUP BY per table on the table itself."""
    from tests.engines.conftest import start_postgres

    _load()
    book = us.datasets.discharges_codebook()
    server = start_postgres()
    try:
        address = server.load("discharges", us.datasets.discharges(rows=ENGINE_ROWS, seed=1))
        with server.connect() as connection:
            connection.execute("VACUUM ANALYZE discharges")

            def bare() -> None:
                for clique in _cliques():
                    columns = ", ".join(f'"{name}"' for name in clique)
                    connection.execute(f"SELECT {columns}, count(*) FROM discharges GROUP BY {columns}").fetchall()

            _against_bare("PostgreSQL", bare, lambda: us.open(address, book).count(_cliques()))
    finally:
        server.stop()


def mariadb() -> None:
    """The same on MariaDB."""
    from tests.engines.conftest import start_maria

    _load()
    book = us.datasets.discharges_codebook()
    server = start_maria("--innodb-buffer-pool-size=512M")
    try:
        rows = us.datasets.discharges(rows=ENGINE_ROWS, seed=1)
        address = server.load("discharges", rows, text="varchar(64)")  # longer texts would slow the bare side
        server.run("SET GLOBAL general_log = 0", "ANALYZE TABLE discharges")
        connection = server.connect(database="test")
        cursor = connection.cursor()

        def bare() -> None:
            for clique in _cliques():
                columns = ", ".join(f"`{name}`" for name in clique)
                cursor.execute(f"SELECT {columns}, count(*) FROM discharges GROUP BY {columns}")
                cursor.fetchall()

        _against_bare("MariaDB", bare, lambda: us.open(address, book).count(_cliques()), rounds=1)
        connection.close()
    finally:
        server.stop()


def sqlite() -> None:
    """The same on a SQLite file, whose rows are read here; its own queries run in this process too."""
    import sqlite3
    from contextlib import closing

    from tests.engines.conftest import put_into_sqlite

    _load()
    book = us.datasets.discharges_codebook()
    with tempfile.TemporaryDirectory() as folder:
        table = us.datasets.discharges(rows=ENGINE_ROWS, seed=1)
        path = put_into_sqlite(Path(folder) / "d.sqlite", "discharges", table)
        with closing(sqlite3.connect(path)) as connection:

            def bare() -> None:
                for clique in _cliques():
                    columns = ", ".join(f'"{name}"' for name in clique)
                    connection.execute(f"SELECT {columns}, count(*) FROM discharges GROUP BY {columns}").fetchall()

            _against_bare("SQLite", bare, lambda: us.open(str(path), book).count(_cliques()), rounds=1)


def spark() -> None:
    """The same on Spark in local mode."""
    import pyarrow.parquet as pq

    from understudy.sources.databases import spark_session

    _load()
    book = us.datasets.discharges_codebook()
    session = spark_session(f"local[{os.cpu_count()}]")
    session.conf.set("spark.sql.shuffle.partitions", "4")
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/d.parquet"
        pq.write_table(us.datasets.discharges(rows=ENGINE_ROWS, seed=1), path)
        session.read.parquet(path).createOrReplaceTempView("discharges")

        def bare() -> None:
            for clique in _cliques():
                columns = ", ".join(f"`{name}`" for name in clique)
                session.sql(f"SELECT {columns}, count(*) FROM discharges GROUP BY {columns}").toArrow()

        def ours() -> None:
            source = us.open(session, book, table=path)
            source.count(_cliques())
            source.free()

        ours()  # the Java side compiles on first use
        _against_bare("Spark", bare, ours, rounds=1)  # the bare side alone takes minutes
    session.stop()


def spark_slope() -> None:
    """Encoding and counting on Spark in local mode, 1 to 10 million rows: constant and slope of the guide's plan."""
    import pyarrow.parquet as pq

    from understudy.sources.databases import spark_session

    _load()
    book = us.datasets.discharges_codebook()
    cores = os.cpu_count() or 1
    session = spark_session(f"local[{cores}]")
    times: dict[int, list[float]] = {1: [], 3: [], 10: []}
    with tempfile.TemporaryDirectory() as folder:
        for files in times:
            place = Path(folder) / str(files)
            place.mkdir()
            for number in range(files):
                pq.write_table(us.datasets.discharges(rows=ENGINE_ROWS, seed=number), place / f"part-{number}.parquet")

        def count(files: int) -> None:
            source = us.open(session, book, table=f"{folder}/{files}")
            source.count(_cliques())
            source.free()

        count(1)  # the Java side compiles on first use
        for _ in range(3):
            for files, values in times.items():
                values.append(seconds(lambda n=files: count(n)))
    session.stop()
    medians = {files: statistics.median(values) for files, values in times.items()}
    for files, found in medians.items():
        each = found * cores / (files * ENGINE_ROWS) * 1e6
        told = f"{len(_cliques())} tables of {files * ENGINE_ROWS:,} rows on Spark"
        print(f"{told}: {found:.1f} s, {each:.1f} µs of one core per row")
    rise = (medians[10] - medians[1]) / 9 * cores / ENGINE_ROWS * 1e6
    print(f"start-up {medians[1] - rise * ENGINE_ROWS / cores / 1e6:.1f} s, then {rise:.2f} µs of one core per row")
    slope = float(np.polyfit([math.log(files) for files in medians], [math.log(v) for v in medians.values()], 1)[0])
    _say("Spark: log-log slope of counting, 1 to 10 million rows", slope, SLOPE_BAR, least=False)
    _load()


PARTS = {
    "threads": threads,
    "processes": processes,
    "postgres": postgres,
    "mariadb": mariadb,
    "sqlite": sqlite,
    "spark": spark,
    "spark-slope": spark_slope,
    "slopes": slopes,
    "memory": memory,
}


def main() -> None:
    for part in PARTS.values():
        part()


if __name__ == "__main__":
    if sys.argv[1:2] == ["child"]:
        print(json.dumps({"draw": _draw_child, "count": _count_child}[sys.argv[2]](*sys.argv[3:])))
    else:
        for word in sys.argv[1:] or PARTS:
            PARTS[word]()
