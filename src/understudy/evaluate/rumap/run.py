"""Run the grid: what is finished stays finished."""

import hashlib
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from understudy.codec import to_plain
from understudy.errors import RefusalError
from understudy.evaluate.checks import check_rows
from understudy.evaluate.opened import open_grids
from understudy.evaluate.remembered import Remembered
from understudy.evaluate.rumap.aside import Parted
from understudy.evaluate.rumap.journal import Journal
from understudy.evaluate.rumap.measure import Subject
from understudy.evaluate.rumap.pair_errors import pair_errors
from understudy.evaluate.rumap.plan import Cell, Plan, Questions
from understudy.evaluate.utility.tables import tables_of_width
from understudy.mechanisms.stream import Stream
from understudy.privacy.guarantees import ApproxDP, PureDP
from understudy.sources import open_source
from understudy.sources.base import Report, Source


@dataclass(frozen=True, kw_only=True, eq=False)
class MapRun:
    """A finished or interrupted map: its journal, and how much of the grid is done."""

    plan: Plan
    journal: Journal
    subject: Subject
    stand_in: str | None

    @property
    def done(self) -> int:
        """Finished runs of this grid."""
        return sum(cell in self.journal.runs for cell in self.plan.cells())

    @property
    def runs(self) -> list[dict[str, Any]]:
        """Finished runs of this grid, in order."""
        return self.journal.ordered(self.plan.cells())


def run_map(
    source: Source,
    plan: Plan,
    questions: Questions,
    *,
    folder: Path,
    stand_in: str | None = None,
    seed: int | None = None,
    report: Report | None = None,
    begun: Callable[[MapRun], None] | None = None,
) -> MapRun:
    """Make every release that is not in ``folder`` yet, measure it, and forget it. ``begun`` hears of it first."""
    book = source.codebook
    plan.check(book)
    real = Remembered(source)
    check_rows(real, called="confidential" if stand_in is None else "stand-in")
    subject = Subject(real, questions)
    subject.rehearse()
    table = {"table": _fingerprint(real, 1), "pairs": _fingerprint(real, 2)}
    journal = Journal(folder, {**plan.settings(), **to_plain(questions), **table, "seed": seed})
    made = MapRun(plan=plan, journal=journal, subject=subject, stand_in=stand_in)
    if begun:
        begun(made)
    cells, parts = plan.cells(), _Parts(subject, seed)
    try:
        for done, cell in enumerate(cells):
            if report:
                report("runs", done, len(cells))
            if cell not in journal.runs:
                journal.add(cell, _measured(plan, subject, cell, parts.of(cell.repeat), seed))
        if report:
            report("runs", len(cells), len(cells))
    finally:
        if journal.runs:
            journal.write_parquet()
    return made


class _Parts:
    """What the releases of each repeat are made of: all methods of a repeat of the same records."""

    def __init__(self, subject: Subject, seed: int | None) -> None:
        self._subject, self._seed = subject, seed
        self._last: tuple[int, Parted | None] | None = None

    def of(self, repeat: int) -> Parted | None:
        """Repeats come one after the other, so the last parting is kept and no more."""
        if self._last is None or self._last[0] != repeat:
            self._last = (repeat, self._subject.parted(_stream(f"set aside|{repeat}", self._seed)))
        return self._last[1]


def _measured(plan: Plan, subject: Subject, cell: Cell, parted: Parted | None, seed: int | None) -> dict[str, Any]:
    """One release, made and measured."""
    real = subject.real
    recipe = plan.recipe(cell.method, cell.epsilon)
    total = recipe.quote(real.codebook, plan.rows).total
    facts: dict[str, Any] = {
        "rows": plan.rows,
        "total_kind": total.kind,
        "total_epsilon": getattr(total, "epsilon", None),
        "total_delta": getattr(total, "delta", None),
        "total_neighbours": str(total.neighbours) if isinstance(total, PureDP | ApproxDP) else None,
        "refused": None,
        "measures": {},
        "pair_errors": None,
    }
    began = time.perf_counter()
    try:
        run = _stream(f"{cell.method}|{cell.epsilon!r}|{cell.repeat}", seed)
        release = recipe.fit(real if parted is None else parted.kept, stream=run).sample(plan.rows)
    except RefusalError as reason:  # for example: no cell of a table was left above its threshold
        facts["refused"] = str(reason)
    else:
        made = Remembered(open_source(release.table, real.codebook))
        facts["measures"], facts["pair_errors"] = subject.measure(made, parted), pair_errors(real, made)
    facts["seconds"] = round(time.perf_counter() - began, 3)
    return facts


def _stream(purpose: str, seed: int | None) -> Stream:
    """Every run has its own; with a seed, the same whatever was run before it."""
    if seed is None:
        return Stream.from_system()
    digest = hashlib.sha256(f"{seed}|{purpose}".encode()).digest()
    return Stream.seeded(int.from_bytes(digest[:7], "little"))


def _fingerprint(real: Source, width: int) -> str:
    """Of codebook and counts of so many columns together: runs on a table with other shares are not mixed in."""
    book = real.codebook
    digest = hashlib.sha256(book.digest.encode())
    columns = [[column.name] for column in real.counted] if width == 1 else tables_of_width(book, width)
    for table in open_grids(real, columns):
        digest.update(table.tobytes())
    return digest.hexdigest()[:16]
