"""PLUGS on Spark. The work is done where the records are; no record and no count comes to the driver.

1. Every record is dealt to one of P parts at random, and each part is counted there (one shuffle of distinct records).
2. One task per part estimates its blocks, makes them l-diverse, draws the rows that the mixture takes from it, and
   writes their codes beside the release, with a receipt.
3. Rows are mixed: every file of the release takes its share from every part, in random order, by `mapInArrow`.

Shares are drawn first, by the driver: how many rows of which file come from which part. So the number of rows is exact,
and a task that is lost can be run again by itself. Dealing needs no secure generator: the promise is one of every
block's sampling distribution, whichever records are in it (proofs/l_diversity.md).
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from understudy.files import make_folder, remove_folder, scratch_beside
from understudy.mechanisms.stream import Stream
from understudy.privacy.ledger import Ledger
from understudy.release.workshop import PARTS, Workshop
from understudy.sources.base import Source
from understudy.sources.benches import SparkBench
from understudy.sources.engine import EngineSource
from understudy.sources.tables import CountTable, code_type
from understudy.synth.details import Details, decode_drawn
from understudy.synth.drawers import DiverseChains
from understudy.synth.methods.plugs import PLUGS
from understudy.synth.part_work import PartJob
from understudy.synth.workers import spark_failures, watching

Ints = npt.NDArray[np.int64]
_CODES = "codes"


def shares(sizes: tuple[int, ...], parts: int, stream: Stream) -> Ints:
    """Rows of every file (first axis) that come from every part: each row chooses its part uniformly."""
    table = np.empty((len(sizes), parts), dtype=np.int64)
    for file, rows in enumerate(sizes):
        tally = np.zeros(parts, dtype=np.int64)
        for start in range(0, rows, 1 << 20):
            batch = min(1 << 20, rows - start)
            tally += np.bincount(
                stream.below_each(np.full(batch, parts, dtype=np.uint64)).astype(np.int64), minlength=parts
            )
        table[file] = tally
    return table


def draw_where_it_lies(
    recipe: PLUGS,
    source: Source,
    job: PartJob,
    ledger: Ledger,
    workshop: Workshop,
    *,
    details: Details,
    report_rows: Callable[[int], None],
) -> None:
    """All files of the release; those that an earlier run finished are kept.

    The tables of details are released, so that they may come to the driver; they are broadcast to whoever writes rows.
    """
    assert isinstance(source, EngineSource) and isinstance(source.bench, SparkBench)
    book = source.codebook
    event = recipe.event(book)
    if event not in [entry.event for entry in ledger.entries]:
        raise AssertionError("the ledger does not hold the promise of these draws")
    source.materialize()
    stream = Stream.for_part(len(job.sizes), job.seed)
    folder = (workshop.folder / _CODES).absolute()
    if workshop.plan.get("files", source.bench.state) != source.bench.state:
        remove_folder(folder)  # parts of another state of the table, which nobody has seen, are drawn anew
    make_folder(folder, exist_ok=True)
    plan = workshop.plan.get("shares")
    table = shares(job.sizes, recipe.partitions, stream) if plan is None else np.array(plan, dtype=np.int64)
    workshop.remember(shares=table.tolist(), files=source.bench.state)
    task = _Part(
        chains=recipe.chains(book),
        rows=table.sum(axis=0).tolist(),
        folder=folder,
        seed=job.seed,
    )
    frame = source.bench.frame
    with spark_failures():
        modelled = [f"c{place}" for place in range(len(book.names))]  # without the codes of details
        _sample_parts(frame.select(*modelled), recipe.partitions, task, seed=int(stream.below(1 << 31)))
    source.bench.refuse_change()  # codes of a worker that was lost are made again from the files as they are then
    _mix(frame.sparkSession, job, table, task, workshop, details, report_rows)


class _Part:
    """One part of the table: everything that is public about it. Travels to the workers."""

    def __init__(self, *, chains: DiverseChains, rows: list[int], folder: Path, seed: int | None) -> None:
        self.chains, self.rows, self.folder, self.seed = chains, rows, folder, seed

    def done(self, part: int) -> Path:
        """Codes that an attempt at this part has finished."""
        return self.folder / f"codes-{part:05d}.parquet"

    def run(self, part: int, codes: npt.NDArray[np.unsignedinteger], counts: Ints) -> None:
        """Estimate, perturb, sample, write; a later attempt finds the file and leaves it."""
        if self.done(part).exists():
            return
        sizes = self.chains.hashing.sizes
        names = tuple(f"c{place}" for place in range(len(sizes)))
        table = CountTable.sparse(names, sizes, codes.astype(code_type(max(sizes))), counts)
        sampler = self.chains.sampler_of(table, threads=1)
        stream = Stream.for_part(1_000_000 + part, self.seed)
        drawn = sampler.draw(rows=self.rows[part], sweeps=self.chains.sweeps, stream=stream, threads=1)
        scratch = scratch_beside(self.done(part))
        pq.write_table(pa.table(dict(zip(names, map(pa.array, drawn), strict=True))), scratch)
        scratch.rename(self.done(part))  # atomic, and the last of two attempts is as good as the first


def _sample_parts(codes: Any, parts: int, task: _Part, seed: int) -> None:
    """Deal, count and sample, all of it on the workers."""
    from pyspark.sql import functions as F  # noqa: N812 - the name that Spark's users know

    names = list(codes.columns)
    dealt = codes.withColumn("part", F.floor(F.rand(seed) * parts).cast("int"))
    counted = dealt.groupBy("part", *names).count()

    def work(group: pa.Table) -> pa.Table:
        part = group.column("part")[0].as_py()
        stacked = np.stack([group.column(name).to_numpy() for name in names], axis=1)
        task.run(part, stacked, group.column("count").to_numpy().astype(np.int64))
        return pa.table({"part": pa.array([part], pa.int32())})

    seen = counted.groupBy("part").applyInArrow(work, "part int").collect()
    empty = np.empty((0, len(names)), dtype=np.uint8)
    for part in set(range(parts)) - {row["part"] for row in seen}:
        task.run(part, empty, np.empty(0, dtype=np.int64))  # no record was dealt to it: its blocks are uniform


def _mix(
    session: Any,
    job: PartJob,
    table: Ints,
    task: _Part,
    workshop: Workshop,
    details: Details,
    report_rows: Callable[[int], None],
) -> None:
    """One file per task: its share of every part, in random order."""
    done = workshop.destroy_strays(check=True)
    report_rows(sum(receipt.rows for receipt in done.values()))
    missing = [number for number in range(len(job.sizes)) if number not in done]
    before = np.cumsum(table, axis=0) - table  # where the share of each file begins within each part

    def one(number: int) -> None:
        stream = Stream.for_part(number, job.seed)
        pieces = [
            pq.read_table(task.done(part)).slice(int(before[number, part]), int(table[number, part]))
            for part in range(table.shape[1])
        ]
        rows = pa.concat_tables(pieces)
        order = _shuffled(rows.num_rows, stream)
        codes = [column.to_numpy()[order] for column in rows.columns]
        drawn = decode_drawn(job.book, shared.value, codes, stream, packed=True, people=job.people)
        job.write(number, [{PARTS: drawn}])

    def work(batches: Any) -> Any:
        for batch in batches:
            for place in batch.column(0).to_pylist():
                one(missing[place])
                yield pa.RecordBatch.from_pylist([{"number": missing[place]}])

    if missing:
        shared = session.sparkContext.broadcast(details)
        tasks = session.range(0, len(missing), 1, numPartitions=len(missing))
        try:
            with watching(job, missing, report_rows), spark_failures():
                tasks.mapInArrow(work, "number long").collect()
        finally:
            shared.destroy()


def _shuffled(rows: int, stream: Stream) -> Ints:
    """A random order, by secure words; ties are too rare to matter and lean to no value."""
    return np.argsort(stream.words(rows), kind="stable")
