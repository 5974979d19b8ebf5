"""Multiple imputation of missing values: a real table is completed several times, by chained equations.

It uses the models of `imputation`. The result holds the real records, so it is as confidential as they are. Its
manifest says so.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from understudy.blocks.learning import Floats, Learner, Records
from understudy.codebook import Codebook, CodeLevel, Number
from understudy.codebook.decode import Known, decode_column, order_steps, values_of_steps
from understudy.errors import RefusalError
from understudy.mechanisms.prediction import draw_predicted
from understudy.mechanisms.smoothing import exposed
from understudy.mechanisms.stream import Stream
from understudy.privacy.ledger import Ledger
from understudy.privacy.provenance import Made
from understudy.privacy.quote import Quote
from understudy.privacy.transaction import Payment
from understudy.release import Release, describe
from understudy.release.making import Fitted, FittedWhole, choices_of
from understudy.sources.base import Report, Source
from understudy.sources.rows import Rows, rows_of
from understudy.synth.chained import Chain, Modelled, full_order
from understudy.synth.fill_details import deduced, fill_detail, misplaced
from understudy.synth.fill_rules import GapRules
from understudy.synth.options import sweeps_option
from understudy.synth.recipe import FILES

Codes = npt.NDArray[np.unsignedinteger]
Bools = npt.NDArray[np.bool_]
_CONFIDENTIAL = "(Confidential: this depends on the data.)"


@dataclass(frozen=True, kw_only=True)
class Filling(Modelled):
    """How missing values are filled."""

    sweeps: int = sweeps_option(5, about="Rounds over the incomplete columns; each is drawn given all others.")

    def fit(self, source: Source, *, stream: Stream | None = None, report: Report | None = None) -> "FittedFilling":
        """Read the rows. There is no price before the data: what comes out is the data."""
        self.choice.check(source.codebook)
        full_order(source.codebook, self.order)
        return FittedFilling(recipe=self, source=source, stream=Stream.checked(stream), report=report)


_WHY = "these are the real records, with only their missing values filled in"
_KEEP = (
    "this file holds the real records: it may not leave the house. Combine estimates of all files with kind = "
    "'missing'."
)


class FittedFilling(FittedWhole):
    """The rows of a table that can be completed any number of times."""

    def __init__(self, *, recipe: Filling, source: Source, stream: Stream, report: Report | None) -> None:
        super().__init__(account=source.account, provenance=source.provenance, stream=stream, report=report)
        self.recipe = recipe
        self.codebook = source.codebook
        (self._rows,), self._entry = exposed([rows_of(source)], stage="rows", reads="every row", why=_WHY)
        self._worker = _Worker(recipe, source.codebook, self._rows, stream)
        self._is_tuned = False

    def quote(self, rows: int | None = None) -> Quote:
        """No price: the ledger says that real records come out, whatever else it says of the input."""
        own = Ledger.of([self._entry])
        number = len(self._rows.codes[0])
        return Quote(method="impute", route="none", own=own, rows=number, own_delta=None).with_data(self._provenance)

    def sample_many(self, *, files: int) -> list[Release]:
        """Several copies, each with its own draws, rows in their order."""
        FILES.check("files", files)
        rows = self.quote().rows
        return [Fitted.sample(self, rows, file=file, files=files) for file in range(files)]

    def write_many(self, out: str | Path, *, files: int, formats: Sequence[str] = ()) -> list[Release]:
        """Several copies in numbered folders: all of them, or none."""
        FILES.check("files", files)
        quote = self.quote()
        return self._write_many(out, quote, price=quote, files=files, formats=formats)

    def _choices(self, quote: Quote) -> str:
        return choices_of(quote, self.recipe.parameters(), self.codebook.digest)

    def _make(self, quote: Quote, payment: Payment, *, file: int = 0, files: int = 1, **how: Any) -> Release:
        worker = self._worker
        codes = worker.completed(first=not self._is_tuned, report=self._report, file=file, files=files)
        self._is_tuned = True
        manifest = describe(
            quote,
            payment,
            parameters=self.recipe.parameters(),
            rows_origin="the number of confidential records, all of which are kept",
            codebook=self.codebook,
            secure=self._stream.is_secure,
            made=Made.COMPLETED,
            real_records=True,
            warnings=(_KEEP, *worker.warnings()),
        )
        return Release(table=self._table(codes), manifest=manifest)

    def _table(self, codes: Sequence[Codes]) -> pa.Table:
        """Observed values stay as they are; a drawn number is drawn inside its bin, in order with the others."""
        book, rows, worker, stream = self.codebook, self._rows, self._worker, self._stream
        shapes = _observed_shapes(book, rows)
        steps = order_steps(book, codes, stream.below_each, shapes, worker.known) if book.constraints else {}
        columns = {}
        for column, numbers, drawn in zip(book.modelled, rows.values, codes, strict=True):
            if isinstance(column, CodeLevel):  # told by the code, which is what the file has
                columns[column.name] = decode_column(column, drawn, stream.below_each)
                continue
            absent = numbers.is_null()
            # the codes still say which of the absent numbers are special
            filled = values = numbers.cast(pa.string()) if column.special else numbers
            if pc.any(absent).as_py() and column.name in steps:
                assert isinstance(column, Number)
                filled = values_of_steps(column, steps[column.name], drawn)
            elif pc.any(absent).as_py():
                filled = decode_column(column, drawn, stream.below_each, weights=shapes.get(column.name))
            columns[column.name] = pc.if_else(absent, filled, values)
        for detail, values, drawn in zip(book.details, rows.detail_values, worker.details(codes), strict=True):
            filled = decode_column(detail, drawn, stream.below_each)
            columns[detail.name] = pc.if_else(values.is_null(), filled, values)
            for level in book.code_levels:
                if level.coded.name == detail.name:
                    columns[level.name] = decode_column(
                        level, level.of_code[drawn].astype(np.uint32), stream.below_each
                    )
        return pa.table({column.name: columns[column.name] for column in book.released})


def _observed_shapes(book: Codebook, rows: Rows) -> dict[str, npt.NDArray[np.int64]]:
    """Measured and smooth numbers lie inside their bins as those that are there; this file is confidential anyway."""
    shapes = {}
    for column, values in zip(book.modelled, rows.values, strict=True):
        if column in book.measured or column in book.smooth:
            assert isinstance(column, Number)
            observed = values.drop_null().to_numpy(zero_copy_only=False).astype(np.float64)
            shapes[column.name] = np.bincount(column.fine.bins_of(observed), minlength=column.fine.proper_levels)
    return shapes


class _Worker:
    """Chained equations over the rows of one table, within the rules of its codebook."""

    def __init__(self, filling: Filling, book: Codebook, rows: Rows, stream: Stream) -> None:
        self._book, self._stream, self._own = book, stream, rows.detail_codes
        self._codes = deduced(book, rows.codes, rows.detail_codes)
        self._sweeps = filling.sweeps
        self._generator = stream.generator()
        gaps = {
            name: np.asarray(codes == column.missing_code)
            for name, column, codes in zip(book.names, book.modelled, self._codes, strict=True)
            if column.missing_code is not None and bool((codes == column.missing_code).any())
        }
        self._deduced = [np.asarray(a != b) for a, b in zip(self._codes, rows.codes, strict=True)]
        """Where a coarse level was taken from its detail."""
        lacking = [d for d, own in zip(book.details, self._own, strict=True) if (own == d.missing_code).any()]
        if not gaps and not lacking and not any(taken.any() for taken in self._deduced):
            raise RefusalError(
                f"no value is missing, so there is nothing to fill; use the table as it is. {_CONFIDENTIAL}"
            )
        empty = [name for name, absent in gaps.items() if absent.all()]
        if empty:
            raise RefusalError(
                f"{', '.join(map(repr, empty))} has no value in any row, so nothing can be learned about it; drop the "
                f"column (role = 'identifier', kind = 'text'). {_CONFIDENTIAL}"
            )
        drawn = tuple(name for name in full_order(book, filling.order) if name in gaps)
        self._observed = {name: ~absent for name, absent in gaps.items()}
        self._rules = GapRules(book, self._codes, rows.values, gaps, drawn)
        self._misplaced = misplaced(book, self._codes, self._own)
        self._broken = self._rules.left.copy()
        self._gaps = gaps
        chain = Chain(book=book, choice=filling.choice, drawn=drawn, sweeps=filling.sweeps)
        self._learners: dict[str, Learner] = chain.learners()

    @property
    def known(self) -> Known:
        """Observed numbers, which numbers drawn in order with them must respect."""
        return self._rules.known

    def warnings(self) -> list[str]:
        """Rows that were left alone, and why."""
        warnings = []
        for count, why in (
            (int(self._broken.sum()), "break a rule of the codebook in values that are there"),
            (int((self._rules.left & ~self._broken).sum()), "have gaps for which the rules leave no value"),
            (int((self._misplaced & ~self._rules.left).sum()), "have a detailed code under a level it is not of"),
        ):
            if count:
                warnings.append(
                    f"{count:,} records {why}; they were left as they are, gaps included where the rules speak about "
                    "them. List them with `understudy codebook check`."
                    if "detailed" not in why
                    else f"{count:,} records {why}; their codes were left as they are."
                )
        return warnings

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
        left = self._rules.left
        for place, (name, deduced_rows) in enumerate(zip(self._book.names, self._deduced, strict=True)):
            # a row may be found to lead nowhere after some of its gaps were filled
            gaps = left & (deduced_rows | self._gaps[name] if name in self._gaps else deduced_rows)
            if gaps.any():
                state[place][gaps] = self._gap_code(name)
        return state

    def details(self, state: Sequence[Codes]) -> list[Codes]:
        """Detail columns with their gaps filled, given the coarse levels of one draw."""
        return [
            fill_detail(
                self._book,
                detail,
                state[self._book.position(detail.detail_of)],
                own,
                self._rules.left,
                self._generator,
                self._stream,
            )
            for detail, own in zip(self._book.details, self._own, strict=True)
        ]

    def _open(self, name: str) -> npt.NDArray[np.int64]:
        """Rows whose gap in a column is to be filled."""
        return np.flatnonzero(self._gaps[name] & ~self._rules.left)

    def _gap_code(self, name: str) -> int:
        code = self._book.column(name).missing_code
        assert code is not None  # or it would have no gap
        return code

    def _start(self, name: str, state: list[Codes]) -> None:
        """Fill the gaps at random from the observed values."""
        rows, column = self._open(name), state[self._book.position(name)]
        observed = column[self._observed[name]]
        inside = self._rules.inside(name, rows, state)
        if inside is None:
            column[rows] = self._generator.choice(observed, size=len(rows))
            return
        shares = np.bincount(observed, minlength=inside.shape[1]) / len(observed)
        self._fill(name, rows, np.tile(shares, (len(rows), 1)), inside, state)

    def _redraw(self, name: str, learner: Learner, state: list[Codes], *, tune: bool) -> None:
        observed = self._observed[name]
        known = Records(columns=tuple(column[observed] for column in state), counts=np.ones(int(observed.sum())))
        if tune:
            learner.tune(known, self._generator)
        model = learner.fit(known, known.bootstrapped(self._generator), self._generator)
        rows = self._open(name)
        if not len(rows):
            return
        predicted = model.probabilities([column[rows] for column in state])
        self._fill(name, rows, predicted, self._rules.inside(name, rows, state), state)

    def _fill(
        self, name: str, rows: npt.NDArray[np.int64], predicted: Floats, inside: Bools | None, state: list[Codes]
    ) -> None:
        column = state[self._book.position(name)]
        if inside is not None:
            can = inside.any(axis=1)
            column[rows[~can]] = self._gap_code(name)
            rows, predicted, inside = rows[can], predicted[can], inside[can]
        if len(rows):
            column[rows] = draw_predicted(predicted, alpha=Fraction(0), stream=self._stream, inside=inside)
