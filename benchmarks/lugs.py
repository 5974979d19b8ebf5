"""LUGS grows linearly with the rows, and PLUGS uses its processes.

``python -m benchmarks.lugs [slope|processes|nearest]``. Bars: log-log slope of fit plus sample at most 1.1 from 100,000
to 10,000,000 rows; two processes at least 1.4 times one. Rounds are interleaved and medians taken. The nearest-block
search is timed and its recall measured against exact search, and against FAISS's binary indexes where faiss is there.
"""

import math
import statistics
import sys
import time
from dataclasses import replace
from typing import Any

import numpy as np

import understudy as us
from understudy.blocks.minhash import RecordMinHash
from understudy.blocks.nearest import BlockIndex, distance_between, nearest_block
from understudy.compiled import kernel
from understudy.mechanisms.l_diversity import DiverseTables, diverse_tables
from understudy.mechanisms.stream import Stream
from understudy.samplers.diverse import DiverseSampler
from understudy.sources import EncodedSource

SIZES, ROUNDS, BAR = (100_000, 1_000_000, 10_000_000), 5, 1.1
CHUNK = 1_000_000
PART_ROWS, PART_ROUNDS, PART_BAR = 3_000_000, 5, 1.4
COLUMNS = ("age.yrs", "sex", "los", "pay", "MDC", "sev")
"""Six columns, as in the paper."""


def encoded(rows: int) -> EncodedSource:
    """Simulated discharges as codes, made in chunks."""
    whole = us.datasets.discharges_codebook()
    book = us.Codebook(columns=tuple(replace(whole.column(name), parents=None) for name in COLUMNS))
    parts = []
    for number, start in enumerate(range(0, rows, CHUNK)):
        table = us.datasets.discharges(rows=min(CHUNK, rows - start), seed=number + 1).select(list(COLUMNS))
        source = us.open(table, book)
        source.count([book.names[:1]])
        parts.append(source._local._columns)
    return EncodedSource(codebook=book, columns=[np.concatenate(pieces) for pieces in zip(*parts, strict=True)])


def fit_and_sample(source: EncodedSource, rows: int) -> tuple[float, float]:
    """Seconds on the clock, and seconds of processor time, which other work on the machine disturbs less."""
    start, used = time.perf_counter(), time.process_time()
    fitted = us.LUGS(l=1.3, sweeps=5).fit(source)
    fitted._draw(rows, fitted.quote(rows).ledger)  # rows as codes: decoding to text is not LUGS
    return time.perf_counter() - start, time.process_time() - used


def slope() -> None:
    sources = {rows: encoded(rows) for rows in SIZES}
    fit_and_sample(sources[SIZES[0]], 1000)
    times: dict[int, list[tuple[float, float]]] = {rows: [] for rows in SIZES}
    for number in range(ROUNDS):
        for rows, source in sources.items():
            times[rows].append(fit_and_sample(source, rows))
            clock, used = times[rows][-1]
            print(f"  round {number + 1}, {rows:>10,} rows: {clock:.2f} s, processor {used:.2f} s", flush=True)
    x = [math.log(rows) for rows in SIZES]
    for place, name in enumerate(("clock", "processor")):
        medians = {rows: statistics.median(pair[place] for pair in values) for rows, values in times.items()}
        for rows, seconds in medians.items():
            print(f"{rows:>12,} rows: {seconds:.2f} s ({name}), {seconds / rows * 1e6:.2f} microseconds per row")
        found = float(np.polyfit(x, [math.log(medians[rows]) for rows in SIZES], 1)[0])
        print(f"slope by {name} time {found:.3f} (bar {BAR}): {'met' if found <= BAR else 'MISSED'}")


def processes() -> None:
    source = encoded(PART_ROWS)
    times: dict[int, list[float]] = {1: [], 2: []}
    for count in times:
        _parts(source, count, 1000)
    for _ in range(PART_ROUNDS):
        for count, values in times.items():
            values.append(_parts(source, count, PART_ROWS))
            print(f"  {count} process{'es' if count > 1 else ''}: {values[-1]:.2f} s", flush=True)
    one, two = (statistics.median(times[count]) for count in (1, 2))
    print(f"PLUGS, two parts of {PART_ROWS:,} rows: one process {one:.2f} s, two {two:.2f} s")
    print(f"ratio {one / two:.2f} (bar {PART_BAR}): {'met' if one / two >= PART_BAR else 'MISSED'}")


def _parts(source: EncodedSource, count: int, rows: int) -> float:
    start = time.perf_counter()
    fitted = us.PLUGS(l=1.3, sweeps=20, partitions=2, processes=count).fit(source)
    fitted._draw(rows, fitted.quote(rows).ledger)
    return time.perf_counter() - start


def nearest() -> None:
    """Unseen states of chains on 13 columns, 50,000 records."""
    book = us.datasets.discharges_codebook()
    source = us.open(us.datasets.discharges(rows=50_000, seed=1), book)
    hashing = RecordMinHash(sizes=tuple(book.sizes), hashes=4, key_space=1 << 16)
    counts = source.count([book.names])[0].open()
    tables = diverse_tables(counts, keys_of=hashing.leave_one_out, key_space=1 << 16, ls=[1.3] * 13, floor=2.0**-20)
    sampler = DiverseSampler(tables, hashing, 8)
    states = np.ascontiguousarray(sampler.trace(chains=4000, sweeps=10, stream=Stream.seeded(3))[-1])
    keys = hashing.leave_one_out(np.ascontiguousarray(states.T))
    asked = [np.ascontiguousarray(states[:, tables.slots[c][keys[c]] < 0]) for c in range(13)]
    start = time.perf_counter()
    exact = [_exact_nearest(tables, c, asked[c]) for c in range(13)]
    number = sum(len(values) for values in exact)
    print(f"{number} unseen states, exact scan: {(time.perf_counter() - start) / number * 1e6:.1f} microseconds each")
    for bands in (2, 4, 8, 16, 32):
        index = BlockIndex.build(tables, hashing, bands)
        _near(index, hashing, 0, asked[0][:, :1])
        start = time.perf_counter()
        found = [_near(index, hashing, c, asked[c]) for c in range(13)]
        _say(f"ours, {bands} bands", time.perf_counter() - start, tables, asked, exact, found, number)
    _faiss(tables, asked, exact, number)


def _near(index: BlockIndex, hashing: RecordMinHash, column: int, states: np.ndarray) -> np.ndarray:
    found = np.empty(states.shape[1], np.int64)
    where = index.picked[column], hashing.tokens, hashing.offsets, index.starts[column], index.entries, index.copies
    _find(states, column, *where, found)
    return found


def _exact_nearest(tables: DiverseTables, column: int, states: np.ndarray) -> np.ndarray:
    """By comparing every block: the reference that recall is measured against."""
    distance = np.empty(states.shape[1], np.int64)
    _scan(states, column, tables.modes, *tables.block_range(column), distance)
    return distance


@kernel
def _find(
    states: Any,
    column: int,
    bands: Any,
    tokens: Any,
    offsets: Any,
    starts: Any,
    entries: Any,
    copies: Any,
    found: Any,
) -> None:
    for row in range(states.shape[1]):
        found[row] = nearest_block(states[:, row], column, bands, tokens, offsets, starts, entries, copies)


@kernel
def _scan(states: Any, column: int, modes: Any, begin: int, end: int, distance: Any) -> None:
    for row in range(states.shape[1]):
        nearest = states.shape[0] + 1
        for block in range(begin, end):
            nearest = min(nearest, distance_between(states[:, row], modes[block], column))
        distance[row] = nearest


def _say(name: str, seconds: float, tables: DiverseTables, asked: list, exact: list, found: list, number: int) -> None:
    hits, extra, lost = 0, 0, 0
    for column in range(13):
        for row, block in enumerate(found[column].tolist()):
            if block < 0:
                lost += 1
                continue
            apart = distance_between(asked[column][:, row], tables.modes[block], column)
            hits += apart == exact[column][row]
            extra += apart - exact[column][row]
    print(
        f"{name}: {seconds / number * 1e6:.1f} microseconds each, recall {hits / number:.3f}, "
        f"{extra / number:.3f} columns too far on average, {lost / number:.4f} without any candidate"
    )


def _faiss(tables: DiverseTables, asked: list, exact: list, number: int) -> None:
    try:
        import faiss
    except ImportError:
        print("faiss is not installed; only ours was measured")
        return
    faiss.omp_set_num_threads(1)
    offsets = np.cumsum([0, *tables.sizes])
    width = -(-int(offsets[-1]) // 8)

    def bits(rows: np.ndarray, column: int) -> np.ndarray:
        """One-hot codes without the column itself: Hamming distance of bits is twice that of columns."""
        hot = np.zeros((len(rows), width * 8), dtype=np.uint8)
        for other in range(13):
            if other != column:
                hot[np.arange(len(rows)), offsets[other] + rows[:, other]] = 1
        return np.packbits(hot, axis=1)

    for name, make in (
        ("faiss IndexBinaryFlat (exact)", lambda: faiss.IndexBinaryFlat(width * 8)),
        ("faiss IndexBinaryHash, 16 bits, 1 flip", lambda: faiss.IndexBinaryHash(width * 8, 16)),
        ("faiss IndexBinaryMultiHash, 8 x 16 bits", lambda: faiss.IndexBinaryMultiHash(width * 8, 8, 16)),
        ("faiss IndexBinaryHNSW", lambda: faiss.IndexBinaryHNSW(width * 8, 16)),
    ):
        seconds, found = 0.0, []
        for column in range(13):
            begin, end = tables.block_range(column)
            index = make()
            index.add(bits(tables.modes[begin:end], column))
            if hasattr(index, "nflip"):
                index.nflip = 1
            queries = bits(asked[column].T, column)
            start = time.perf_counter()
            _, labels = index.search(queries, 1)
            seconds += time.perf_counter() - start
            found.append(np.where(labels[:, 0] < 0, -1, labels[:, 0] + begin))
        _say(name, seconds, tables, asked, exact, found, number)


PARTS = {"slope": slope, "processes": processes, "nearest": nearest}


def main() -> None:
    for part in PARTS.values():
        part()


if __name__ == "__main__":
    for word in sys.argv[1:] or PARTS:
        PARTS[word]()
