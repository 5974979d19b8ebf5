"""Cost per row from 1 to 10 million rows: drawing, and counting from Parquet. Bar: it does not grow (ratio near 1)."""

import statistics
import tempfile
import time
from pathlib import Path

import understudy as us
from benchmarks.counting import cliques, write_rows
from benchmarks.sweep import fitted_sampler, seconds, uniform_seeds
from understudy.mechanisms.stream import Stream

SIZES, ROUNDS = (1_000_000, 10_000_000), 3


def drawing() -> dict[int, float]:
    sampler, book = fitted_sampler()
    stream = Stream.from_system()
    times: dict[int, list[float]] = {size: [] for size in SIZES}
    for _ in range(ROUNDS):
        for size in SIZES:
            seeds = uniform_seeds(book, size, stream)
            times[size].append(seconds(lambda seeds=seeds: sampler.sweep(seeds, sweeps=1, stream=stream, threads=1)))
    return {size: statistics.median(values) / size for size, values in times.items()}


def counting() -> dict[int, float]:
    times: dict[int, list[float]] = {size: [] for size in SIZES}
    with tempfile.TemporaryDirectory() as folder:
        paths = {size: Path(folder) / f"{size}.parquet" for size in SIZES}
        for size, path in paths.items():
            write_rows(path, size)
        for _ in range(ROUNDS):
            for size, path in paths.items():
                start = time.perf_counter()
                us.open(path, us.datasets.discharges_codebook()).count(cliques())
                times[size].append(time.perf_counter() - start)
    return {size: statistics.median(values) / size for size, values in times.items()}


def main() -> None:
    for name, work in (("drawing", drawing), ("counting", counting)):
        per_row = work()
        small, large = (per_row[size] * 1e9 for size in SIZES)
        print(f"{name}: {small:.0f} ns per row at {SIZES[0]:,}, {large:.0f} at {SIZES[1]:,}, ratio {large / small:.2f}")


if __name__ == "__main__":
    main()
