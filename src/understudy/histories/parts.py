"""Large releases of linked tables: paid once, drawn in parts by many workers, and resumed after a crash.

A part is a number of people with all their rows: one file in the folder of each table. Nobody is in two parts, and keys
are fresh pseudonyms of 120 random bits, so that no two parts share one.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow as pa

from understudy.codebook import LinkedCodebook
from understudy.errors import ParameterError
from understudy.histories.fitted import PEOPLE
from understudy.histories.model import HistoriesModel
from understudy.histories.model_file import load_histories, write_histories
from understudy.histories.recipe import Histories
from understudy.mechanisms.stream import Stream
from understudy.privacy.account import Account, account_at
from understudy.privacy.quote import Quote
from understudy.privacy.statement import Subject
from understudy.privacy.transaction import Payment
from understudy.release import Manifest, describe
from understudy.release.folders import digest_of
from understudy.release.making import choices_of
from understudy.release.workshop import Receipt, Workshop
from understudy.sources.base import Report
from understudy.sources.linked import LinkedSource, open_linked
from understudy.synth.part_order import Order, draw_all, order_of
from understudy.synth.part_work import PartsJob, part_sizes
from understudy.synth.parted import PartedRelease, PartedRun, drawing_free, refuse_other_data, terms_of
from understudy.synth.recipe import with_reading
from understudy.synth.workers import Workers

PART_PEOPLE = 100_000
"""People per part: with a few rows each, some tens of megabytes of Parquet."""


@dataclass(frozen=True, kw_only=True)
class HistoriesJob(PartsJob[HistoriesModel]):
    """The parts of linked tables, whose folders lie side by side."""

    def run(self, number: int, drawer: HistoriesModel, report_rows: Callable[[int], None] | None = None) -> Receipt:
        """Block after block of people."""
        stream = Stream.for_part(number, self.seed)
        first = drawer.book.person.name

        def told(block: Mapping[str, pa.Table]) -> Mapping[str, pa.Table]:
            if report_rows:
                report_rows(block[first].num_rows)
            return block

        return self.write(number, map(told, drawer.blocks(self.sizes[number], stream)))

    def try_out(self, drawer: HistoriesModel) -> None:
        """One person in this process."""
        for _ in drawer.blocks(1, Stream.from_system()):
            pass

    def folder_of(self, table: str) -> Path:
        """Beside that of the persons."""
        return self.parts_folder.parent / table


def _draw_all(model: HistoriesModel, order: Order, workshop: Workshop, mark: Mapping[bytes, bytes]) -> None:
    job = HistoriesJob(
        mark=mark,
        parts_folder=workshop.parts_folder.absolute(),
        receipts_folder=workshop.receipts_folder.absolute(),
        sizes=tuple(part_sizes(order.rows, order.part_rows, 1)),
        seed=order.seed,
    )
    draw_all(model, job, order, workshop)


def _names(book: LinkedCodebook) -> list[str]:
    return [table.name for table in book.tables]


def synthesize_linked_parts(
    data: Any,
    book: LinkedCodebook,
    recipe: Histories,
    *,
    rows: int,
    out: str | Path,
    workers: Workers | None = None,
    part_rows: int = PART_PEOPLE,
    account: Account | str | Path | None = None,
    seed: int | None = None,
    unknown: str = "error",
    report: Report | None = None,
) -> PartedRelease:
    """Fit, pay, draw people in parts and write; after a crash, call it again with the same arguments to continue."""
    order = replace(order_of(out, rows, part_rows, seed, workers, report), what="people")
    quote = with_reading(recipe.quote(book, rows, secure=seed is None), unknown)
    charged = account_at(account)
    terms = terms_of(recipe.name, recipe.parameters(), book.digest, order, charged, unknown)
    with Workshop(order.target, terms, tables=_names(book)) as workshop:
        run = _LinkedRun(recipe=recipe, book=book, quote=quote, order=order, workshop=workshop, account=charged)
        return run.go(lambda: _opened(workshop, data, book, unknown, charged))


def draw_linked_parts(
    model: Path,
    *,
    rows: int,
    out: str | Path,
    workers: Workers | None = None,
    part_rows: int = PART_PEOPLE,
    report: Report | None = None,
) -> PartedRelease:
    """As many more people from a released model; nothing is paid."""
    order = replace(order_of(out, rows, part_rows, None, workers, report), what="people")
    loaded = load_histories(model)
    quote = loaded.quote(rows, secure=True, subject=Subject.PEOPLE)
    terms = {"model": digest_of(model), "rows": rows, "part_rows": part_rows}
    with Workshop(order.target, terms, tables=_names(loaded.book)) as workshop, drawing_free(workshop, order):
        payment = loaded.payment(workshop.release_id)
        told = (quote, payment, loaded.parameters, loaded.book)
        _draw_all(loaded, order, workshop, _described(*told, secure=loaded.secure, workshop=workshop).provenance.mark())
        manifest = _described(*told, secure=loaded.secure, workshop=workshop)
        return PartedRelease(folder=workshop.finish(manifest, None), manifest=manifest)


def _opened(workshop: Workshop, data: Any, book: LinkedCodebook, unknown: str, account: Account | None) -> LinkedSource:
    refuse_other_data(workshop, data)
    source = open_linked(data, book, unknown=unknown, account=account)
    if source.provenance.is_release:  # its manifest would have to travel with the parts
        raise ParameterError(
            f"the data are {source.provenance.called}, which is synthesized as a whole; leave the engine and the parts "
            "out."
        )
    return source


def _described(
    quote: Quote,
    payment: Payment,
    parameters: Mapping[str, Any],
    book: LinkedCodebook,
    *,
    secure: bool,
    workshop: Workshop,
) -> Manifest:
    return describe(
        quote,
        payment,
        parameters=parameters,
        codebook=book,
        secure=secure,
        rows_origin=PEOPLE,
        parts=len(workshop.receipts()),
        tables=workshop.rows_by_table(),
    )


class _LinkedRun(PartedRun[LinkedSource]):
    """One attempt at a release of linked tables."""

    def __init__(
        self,
        *,
        recipe: Histories,
        book: LinkedCodebook,
        quote: Quote,
        order: Order,
        workshop: Workshop,
        account: Account | None,
    ) -> None:
        super().__init__(quote=quote, order=order, workshop=workshop, account=account)
        self._recipe, self._book = recipe, book

    def _go(self, opened: Callable[[], LinkedSource]) -> PartedRelease:
        path = self._workshop.model_path
        fitted = None
        if not path.exists():  # otherwise everything that is still needed was paid for and kept
            fitted = self._recipe.fit(opened(), stream=self._stream(), report=self._order.report, quote=self._quote)
        with self._paying() as payment:
            if payment.is_committed:
                return self._finished(payment)
            if fitted is not None:
                released = fitted.released(payment)
                self._keep_noisy("perturbed tables (model.zip)", lambda: write_histories(released, path, commit=None))
            model = load_histories(path)
            self._refuse_other_price(model.ledger)
            _draw_all(model, self._order, self._workshop, self._mark(payment))
            return self._finish(payment, ())

    def _choices(self) -> str:
        return choices_of(self._quote, self._recipe.parameters(), self._book.digest)

    def _manifest(self, payment: Payment, warnings: tuple[str, ...]) -> Manifest:
        manifest = _described(
            self._quote,
            payment,
            self._recipe.parameters(),
            self._book,
            secure=self._order.seed is None,
            workshop=self._workshop,
        )
        return replace(manifest, warnings=(*manifest.warnings, *warnings))
