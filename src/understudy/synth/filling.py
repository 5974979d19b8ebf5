"""Multiple imputation proper: the missing values of a real table filled in several times, by chained equations.

The same machinery as `imputation`, but what comes out holds the real records: it is as confidential as they are, and
its manifest says so.
"""

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from understudy.blocks.engines import EngineChoice
from understudy.blocks.learning import Learner, Records
from understudy.codebook import Codebook
from understudy.codebook.decode import decode_column
from understudy.errors import RefusalError
from understudy.mechanisms.prediction import draw_predicted
from understudy.mechanisms.smoothing import exposed
from understudy.mechanisms.stream import Stream
from understudy.privacy.ledger import Ledger
from understudy.release import Manifest, Release
from understudy.sources.base import Report
from understudy.sources.rows import Rows, read_rows
from understudy.synth.chained import Chain, full_order
from understudy.synth.drawn import check_sweeps
from understudy.synth.recipe import NO_ACCOUNT, check_files

__all__ = ["Filling"]

Codes = npt.NDArray[np.unsignedinteger]
_CONFIDENTIAL = "(Confidential: this depends on the data.)"


@dataclass(frozen=True, kw_only=True)
class Filling:
    """How missing values are filled."""

    engines: str | Mapping[str, str] = "auto"
    order: tuple[str, ...] | None = None
    sweeps: int = 5
    """Rounds over the incomplete columns; each column is drawn given all others."""
    parents: Mapping[str, tuple[str, ...]] | None = None
    key: str = "columns"
    key_space: int | None = None

    def __post_init__(self) -> None:
        check_sweeps(self.sweeps)
        self.choice.check_words()

    @property
    def choice(self) -> EngineChoice:
        """Which engine models which column."""
        return EngineChoice(engines=self.engines, key=self.key, key_space=self.key_space, parents=self.parents)

    def fill(
        self,
        data: Any,
        book: Codebook,
        *,
        files: int,
        unknown: str = "error",
        table: str | None = None,
        stream: Stream | None = None,
        report: Report | None = None,
    ) -> list[Release]:
        """``files`` completed copies of the table, rows in their order, each with its own draws."""
        check_files(files)
        self.choice.check(book)
        full_order(book, self.order)
        stream = Stream.checked(stream)
        why = "these are the real records, with only their missing values filled in"
        found, entry = exposed(
            [read_rows(data, book, unknown=unknown, table=table)], stage="rows", reads="every row", why=why
        )
        rows = found[0]
        worker = _Worker(self, book, rows, stream)
        releases = []
        for file in range(files):
            codes = worker.completed(first=file == 0, report=report, file=file, files=files)
            manifest = Manifest(
                release_id=str(uuid.uuid4()),
                method="impute",
                route="none",
                parameters={
                    "engines": self.engines if isinstance(self.engines, str) else dict(self.engines),
                    "order": None if self.order is None else list(self.order),
                    "sweeps": self.sweeps,
                    "key": self.key,
                    "key_space": self.key_space,
                },
                rows=len(codes[0]),
                rows_origin="the number of confidential records, all of which are kept",
                ledger=Ledger.of([entry]),
                delta=None,
                paper=None,
                codebook=book,
                secure=stream.is_secure,
                account=NO_ACCOUNT,
                confidential=True,
                warnings=(
                    "this file holds the real records: it may not leave the house. Combine estimates of all files with "
                    "kind = 'missing'.",
                ),
            )
            releases.append(Release(table=self._table(book, rows, codes, stream), manifest=manifest))
        return releases

    def _table(self, book: Codebook, rows: Rows, codes: Sequence[Codes], stream: Stream) -> pa.Table:
        """What was there stays as it stood; a number that was drawn is drawn inside its bin."""
        columns = {}
        for column, values, drawn in zip(book.modelled, rows.values, codes, strict=True):
            absent = values.is_null()
            made = decode_column(column, drawn, stream.below_each) if pc.any(absent).as_py() else values
            columns[column.name] = pc.if_else(absent, made, values)
        return pa.table(columns)


class _Worker:
    """Chained equations over the rows of one table."""

    def __init__(self, filling: Filling, book: Codebook, rows: Rows, stream: Stream) -> None:
        self._book, self._codes, self._stream = book, rows.codes, stream
        self._sweeps = filling.sweeps
        self._generator = stream.generator()
        self._absent = {
            name: np.asarray(codes == column.missing_code)
            for name, column, codes in zip(book.names, book.modelled, rows.codes, strict=True)
            if column.missing_code is not None and bool((codes == column.missing_code).any())
        }
        if not self._absent:
            raise RefusalError(
                f"no value is missing, so there is nothing to fill; use the table as it is. {_CONFIDENTIAL}"
            )
        empty = [name for name, absent in self._absent.items() if absent.all()]
        if empty:
            raise RefusalError(
                f"{', '.join(map(repr, empty))} has no value in any row, so nothing can be learned about it; drop the "
                f"column (role = 'identifier', kind = 'text'). {_CONFIDENTIAL}"
            )
        drawn = tuple(name for name in full_order(book, filling.order) if name in self._absent)
        chain = Chain(book=book, choice=filling.choice, drawn=drawn, sweeps=filling.sweeps)
        self._learners: dict[str, Learner] = chain.learners()

    def completed(self, *, first: bool, report: Report | None, file: int, files: int) -> list[Codes]:
        """One draw of all missing values."""
        state = [np.array(codes) for codes in self._codes]
        for name in self._learners:
            self._start(name, state)
        steps = self._sweeps * len(self._learners)
        done = file * steps
        for sweep in range(self._sweeps):
            for name, learner in self._learners.items():
                # penalties are tuned once, when the other columns are no longer filled at random
                self._redraw(name, learner, state, tune=first and sweep == min(1, self._sweeps - 1))
                done += 1
                if report:
                    report("filling", done, files * steps)
        return state

    def _start(self, name: str, state: list[Codes]) -> None:
        """From the values that are there."""
        absent, column = self._absent[name], state[self._book.position(name)]
        column[absent] = self._generator.choice(column[~absent], size=int(absent.sum()))

    def _redraw(self, name: str, learner: Learner, state: list[Codes], *, tune: bool) -> None:
        absent = self._absent[name]
        known = Records(columns=tuple(column[~absent] for column in state), counts=np.ones(int((~absent).sum())))
        if tune:
            learner.tune(known, self._generator)
        model = learner.fit(known, known.bootstrapped(self._generator), self._generator)
        predicted = model.probabilities([column[absent] for column in state])
        state[self._book.position(name)][absent] = draw_predicted(predicted, alpha=Fraction(0), stream=self._stream)
