"""Workers that draw the parts: threads of this machine, or the workers of a Spark cluster."""

import os
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from typing import Any

from understudy.errors import DataError, ParameterError, RefusalError, ReleaseError
from understudy.release.workshop import Receipt
from understudy.sources.databases import spark_session
from understudy.sources.faults import engine_failures, without_secrets
from understudy.synth.part_work import Drawer, PartsJob

ENGINES = ("local", "spark")
RowReport = Callable[[int], None]
"""Called with the number of rows that were drawn since the last call."""


class Workers(ABC):
    """Draws the parts that are still missing; every finished part leaves its receipt in the workshop."""

    @abstractmethod
    def draw(self, job: PartsJob[Drawer], drawer: Drawer, missing: Sequence[int], report_rows: RowReport) -> None:
        """Return when all are done, or raise; parts that were finished by then stay."""


@dataclass(frozen=True, kw_only=True)
class LocalWorkers(Workers):
    """Threads: the loops that take the time hold no interpreter lock, and nothing confidential is copied."""

    count: int | None = None
    """Parts drawn at a time; None for one per core."""

    def draw(self, job: PartsJob[Drawer], drawer: Drawer, missing: Sequence[int], report_rows: RowReport) -> None:
        """A part per thread; when one fails, those that are under way are finished and no other is begun."""
        lock = threading.Lock()
        stopped = threading.Event()

        def tell(rows: int) -> None:
            if stopped.is_set():
                raise _StoppedPart
            with lock:
                report_rows(rows)

        queue = list(missing)
        with ThreadPoolExecutor(self.count or os.cpu_count() or 1) as pool:
            running: set[Future[Receipt]] = set()
            try:
                while queue or running:
                    while queue and len(running) < (self.count or os.cpu_count() or 1):
                        running.add(pool.submit(job.run, queue.pop(0), drawer, tell))
                    done, running = wait(running, return_when=FIRST_COMPLETED)
                    for future in done:
                        future.result()
            except BaseException:
                stopped.set()  # parts under way are dropped at their next slice; their files are destroyed
                raise


class _StoppedPart(Exception):
    """Raised in a part when another part has failed."""


@dataclass(frozen=True, kw_only=True)
class SparkWorkers(Workers):
    """One task per part, by `mapInArrow` over a range of numbers; the drawer is broadcast once and freed.

    A task writes its part itself, to a file system that the driver sees too, and gives back the receipt. A task that is
    lost is run again by Spark, with a key of its own; the part of an attempt that was given up is destroyed unseen.
    """

    session: Any

    def __post_init__(self) -> None:
        _refuse_connect(self.session)

    def draw(self, job: PartsJob[Drawer], drawer: Drawer, missing: Sequence[int], report_rows: RowReport) -> None:
        """All parts in one job."""
        context = self.session.sparkContext
        shared = context.broadcast(drawer)
        numbers = list(missing)

        def work(batches: Any) -> Any:
            import pyarrow as pa

            for batch in batches:
                for place in batch.column(0).to_pylist():
                    receipt = job.run(numbers[place], shared.value)
                    yield pa.RecordBatch.from_pylist([{"number": receipt.number, "rows": receipt.rows}])

        tasks = self.session.range(0, len(numbers), 1, numPartitions=len(numbers))
        plan = tasks.mapInArrow(work, "number long, rows long")
        try:
            with watching(job, numbers, report_rows), spark_failures():
                plan.collect()
        finally:
            shared.destroy()
        lost = [number for number in numbers if not list(job.receipts_folder.glob(f"part-{number:05d}-*.json"))]
        if lost:
            raise ReleaseError(
                f"{len(lost)} parts were drawn but cannot be seen in {str(job.parts_folder)!r}: the folder is not on a "
                "file system that driver and workers share. Choose one that is."
            )


class watching:  # noqa: N801 - reads like a verb where it is used
    """Counts the receipts that workers leave, while the driver waits for Spark."""

    def __init__(self, job: PartsJob[Any], numbers: Sequence[int], report_rows: RowReport) -> None:
        self._job, self._report_rows = job, report_rows
        self._left = set(numbers)
        self._finished = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def _watch(self) -> None:
        while not self._finished.wait(0.5):
            self._look()

    def _look(self) -> None:
        for path in self._job.receipts_folder.glob("part-*.json"):
            number = int(path.name.split("-")[1])
            if number in self._left:
                self._left.discard(number)
                self._report_rows(self._job.sizes[number])

    def __enter__(self) -> None:
        self._thread.start()

    def __exit__(self, *error: object) -> None:
        self._finished.set()
        self._thread.join()
        self._look()


class spark_failures:  # noqa: N801
    """A failed Spark job as one sentence; what a worker refused is refused here."""

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        if error is None or not isinstance(error, engine_failures()):
            return
        text = without_secrets(str(error))
        lines = [line.strip() for line in text.splitlines() if line.strip()]
        for line in lines:
            if line.startswith("understudy.errors.RefusalError:"):
                raise RefusalError(line.partition(": ")[2]) from None
        reasons = [line for line in lines if "Error" in line and ": " in line and not line.startswith("at ")]
        why = reasons[-1] if reasons else (lines[0] if lines else "Spark gave no reason")
        raise OSError(f"the Spark job failed: {why}") from None


def _refuse_connect(session: Any) -> None:
    """A Spark Connect session speaks to Spark over the network and cannot hand a model to its workers."""
    if type(session).__module__.startswith("pyspark.sql.connect"):
        raise ReleaseError(
            "this is a Spark Connect session, through which no model can be sent to the workers. Start a session on "
            "the cluster itself (`spark-submit`, or compute of one user), or draw with the local engine."
        )


def workers_for(engine: str, *, count: int | None = None, master: str | None = None, session: Any = None) -> Workers:
    """The workers that a word stands for."""
    if engine not in ENGINES:
        raise ParameterError(f"`engine` is {engine!r}; it must be one of {', '.join(ENGINES)}.")
    if count is not None and (isinstance(count, bool) or not isinstance(count, int) or count < 1):
        raise ParameterError(f"`workers` is {count!r}; it must be a whole number, 1 or more. Try 2.")
    if engine == "local":
        return LocalWorkers(count=count)
    if count is not None:
        raise ParameterError("`workers` is for the local engine; how many workers Spark has is for its master to say.")
    try:
        return SparkWorkers(session=session or spark_session(master or os.environ.get("UNDERSTUDY_SPARK_MASTER")))
    except DataError as reason:
        raise ReleaseError(str(reason)) from None
