"""The order of a release in parts (what, where, by which workers), and the drawing of all missing parts."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from understudy.codebook import Codebook
from understudy.errors import ParameterError, ReleaseError
from understudy.parameters import ROWS
from understudy.release.workshop import Workshop
from understudy.sources.base import Report
from understudy.synth.grouping import sizes_of
from understudy.synth.part_work import Drawer, PartJob, PartsJob, part_sizes
from understudy.synth.workers import LocalWorkers, Workers


@dataclass(frozen=True, kw_only=True)
class Order:
    """What is to be made, where, and by whom."""

    target: Path
    rows: int
    part_rows: int
    seed: int | None
    workers: Workers
    report: Report | None
    what: str = "rows"
    """What is counted: rows, or people with theirs."""

    def tell(self) -> Callable[[int], None]:
        """A function that counts drawn rows and reports them."""
        done = 0

        def told(rows: int) -> None:
            nonlocal done
            done += rows
            if self.report:
                self.report(f"drawing {self.what}", min(done, self.rows), self.rows)

        return told


def order_of(
    out: str | Path, rows: int, part_rows: int, seed: int | None, workers: Workers | None, report: Report | None
) -> Order:
    """An order whose numbers and place make sense."""
    ROWS.check("rows", rows)
    if isinstance(part_rows, bool) or not isinstance(part_rows, int) or part_rows < 1:
        raise ParameterError(f"`part_rows` is {part_rows!r}; it must be a whole number of 1 or more. Try 1000000.")
    target = Path(out)
    if not target.absolute().parent.is_dir():
        raise ReleaseError(
            f"the folder {str(target.absolute().parent)!r} does not exist; make it first, then run again."
        )
    return Order(
        target=target,
        rows=rows,
        part_rows=part_rows,
        seed=seed,
        workers=workers or LocalWorkers(),
        report=report,
    )


def part_job(
    book: Codebook,
    order: Order,
    workshop: Workshop,
    *,
    step: int,
    people: tuple[int, ...],
    mark: Mapping[bytes, bytes],
) -> PartJob:
    """What every worker needs to know."""
    return PartJob(
        mark=mark,
        book=book,
        parts_folder=workshop.parts_folder.absolute(),
        receipts_folder=workshop.receipts_folder.absolute(),
        sizes=tuple(part_sizes(order.rows, order.part_rows, step)),
        seed=order.seed,
        people=sizes_of(book, people),
    )


def draw_all(drawer: Drawer, job: PartsJob[Drawer], order: Order, workshop: Workshop) -> tuple[str, ...]:
    """Every part that has no receipt yet; the warnings of all parts."""
    done = workshop.destroy_strays(check=True)
    report_rows = order.tell()
    report_rows(sum(receipt.rows for receipt in done.values()))
    job.try_out(drawer)
    missing = [number for number in range(len(job.sizes)) if number not in done]
    if missing:
        order.workers.draw(job, drawer, missing, report_rows)
    receipts = workshop.receipts()
    rows = sum(receipt.rows for receipt in receipts.values())
    if sorted(receipts) != list(range(len(job.sizes))) or rows != order.rows:
        raise ReleaseError(
            f"{rows:,} of {order.rows:,} {order.what} were written to {str(workshop.folder)!r}; run again to go on."
        )
    return workshop.warnings()
