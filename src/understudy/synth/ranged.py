"""Large releases of one table: paid once, drawn in parts by many workers, and resumed after a crash (``parted.py``)."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from types import NoneType
from typing import Any

from understudy.codebook import Codebook
from understudy.errors import ParameterError
from understudy.privacy.account import Account, account_at
from understudy.privacy.quote import Quote
from understudy.privacy.transaction import Payment
from understudy.release import Manifest, describe
from understudy.release.folders import digest_of
from understudy.release.making import choices_of
from understudy.release.manifest import DECLARED_ROWS
from understudy.release.workshop import Workshop
from understudy.sources import open_source
from understudy.sources.base import Report, Source
from understudy.synth.detail_file import read_details, write_details
from understudy.synth.detail_tables import count_details
from understudy.synth.details import Details
from understudy.synth.drawers import ModelDrawer
from understudy.synth.grouping import count_people
from understudy.synth.measurements import attached
from understudy.synth.methods.plugs import PLUGS
from understudy.synth.model_file import load_model, write_model
from understudy.synth.outside import refuse_openers, unopened
from understudy.synth.part_order import Order, draw_all, order_of, part_job
from understudy.synth.part_work import PART_ROWS, PartJob
from understudy.synth.parted import PartedRelease, PartedRun, drawing_free, refuse_other_data, terms_of
from understudy.synth.people import capped_source, of_people
from understudy.synth.perturbed import FittedPerturbed, PerturbedRecipe
from understudy.synth.recipe import Fitted, Recipe, with_reading
from understudy.synth.released import FittedReleased
from understudy.synth.workers import SparkWorkers, Workers

_DETAILS = "details.npz"
"""The released tables of the details in a workshop, where no model file keeps them."""


def synthesize_parts(
    data: Any,
    book: Codebook,
    recipe: Recipe,
    *,
    rows: int,
    out: str | Path,
    workers: Workers | None = None,
    part_rows: int = PART_ROWS,
    account: Account | str | Path | None = None,
    seed: int | None = None,
    unknown: str = "error",
    table: str | None = None,
    report: Report | None = None,
) -> PartedRelease:
    """Fit, pay, draw in parts and write; after a crash, call it again with the same arguments to continue."""
    order = order_of(out, rows, part_rows, seed, workers, report)
    _refuse_shared_budgets(recipe)
    if recipe.certify:
        raise ParameterError("`certify` is measured on the rows as a whole; leave the engine out, or the certificate.")
    if not recipe.ranged:
        raise ParameterError(
            f"{recipe.name} draws its file as a whole, so it cannot be spread over parts or workers; leave the engine "
            "out, or use another method."
        )
    # refuse bad numbers before anything is touched
    quote = with_reading(recipe.quote(book, rows, secure=seed is None), unknown)
    charged = account_at(account)
    terms = terms_of(recipe.name, recipe.parameters(), book.digest, order, charged, unknown)
    with Workshop(order.target, {**terms, "table": table}) as workshop:
        run = _Run(recipe=recipe, book=book, quote=quote, order=order, workshop=workshop, account=charged)
        return run.go(lambda: _opened(workshop, data, book, unknown, table))


def draw_parts(
    model: Path,
    *,
    rows: int,
    out: str | Path,
    workers: Workers | None = None,
    part_rows: int = PART_ROWS,
    report: Report | None = None,
) -> PartedRelease:
    """As many more rows from a released model; nothing is paid."""
    order = order_of(out, rows, part_rows, None, workers, report)
    loaded = load_model(model)
    terms = {"model": digest_of(model), "rows": rows, "part_rows": part_rows}
    with Workshop(order.target, terms) as workshop, drawing_free(workshop, order):
        book, people = loaded.model.codebook, loaded.model.people
        payment = loaded.payment(workshop.release_id)
        manifest = loaded.manifest(rows, payment, secure=True, warnings=())
        job = part_job(book, order, workshop, step=1, people=people, mark=manifest.provenance.mark())
        warnings = draw_all(ModelDrawer(loaded.model), job, order, workshop)
        manifest = loaded.manifest(rows, payment, secure=True, warnings=warnings, parts=len(workshop.receipts()))
        folder = workshop.finish(manifest, None, attached(loaded.model.measurements))
        return PartedRelease(folder=folder, manifest=manifest)


def _opened(workshop: Workshop, data: Any, book: Codebook, unknown: str, table: str | None) -> Source:
    refuse_other_data(workshop, data)
    source = open_source(data, book, unknown=unknown, table=table)
    if source.provenance.is_release:  # its manifest would have to travel with the parts
        raise ParameterError(
            f"the data are {source.provenance.called}, which is synthesized as a whole; leave the engine and the parts "
            "out."
        )
    return source


def _refuse_shared_budgets(recipe: Recipe) -> None:
    """Parents that are chosen once and kept for a resumed run must not change how much the tables are smoothed."""
    if not isinstance(recipe, PerturbedRecipe) or recipe.diversity:
        return
    chosen = recipe.parents == "private" or not isinstance(recipe.parents, str | Mapping | NoneType)
    if chosen and getattr(recipe, "alpha", None) is None:
        raise ParameterError(
            "parents that are chosen privately go with parts only where alpha is given, since a resumed run keeps the "
            "parents and must smooth as the first one did. Give `alpha`, declare the parents in the codebook, or leave "
            "the engine out."
        )


class _Run(PartedRun[Source]):
    """One attempt at the release of one table."""

    def __init__(
        self, *, recipe: Recipe, book: Codebook, quote: Quote, order: Order, workshop: Workshop, account: Account | None
    ) -> None:
        super().__init__(quote=quote, order=order, workshop=workshop, account=account)
        self._recipe, self._book = recipe, book
        self._origin = DECLARED_ROWS

    def _go(self, opened: Callable[[], Source]) -> PartedRelease:
        """Everything that an earlier run has not done yet."""
        workshop, order = self._workshop, self._order
        if workshop.model_path.exists():  # route N: everything that is still needed was paid for and kept
            with self._paying() as payment:
                if payment.is_committed:
                    return self._finished(payment)
                model = load_model(workshop.model_path).model
                self._refuse_other_price(model.ledger)
                drawer = ModelDrawer(model)
                warnings = draw_all(drawer, self._job(payment, drawer.step, model.people), order, workshop)
                return self._finish(payment, warnings, attached(model.measurements))
        source = opened()
        if self._recipe.route == "N":  # on route S exact counts are what rows are drawn from, and stay off the disk
            source.keep = workshop.counts_folder
        if isinstance(self._recipe, PLUGS) and _on_spark(source, order.workers):
            return self._on_spark(source)
        fitted = self._fit(source)
        with self._paying() as payment:
            if payment.is_committed:
                return self._finished(payment)
            fitted._is_paid = True
            self._keep(fitted)
            with unopened(self._recipe):
                drawer = fitted.drawer(order.rows, self._quote.ledger)
                drawer.details = self._kept_details(fitted.details)
                job = self._job(payment, drawer.step, self._people(fitted.people))
                warnings = draw_all(drawer, job, order, workshop)
            return self._finish(payment, warnings, fitted.attachments(None))

    def _choices(self) -> str:
        return choices_of(
            self._quote,
            of_people(self._recipe, self._book).parameters(),
            self._book.digest,
            public=self._recipe.public_tables.values(),
        )

    def _job(self, payment: Payment, step: int, people: tuple[int, ...]) -> PartJob:
        return part_job(self._book, self._order, self._workshop, step=step, people=people, mark=self._mark(payment))

    def _on_spark(self, source: Source) -> PartedRelease:
        """PLUGS where the records lie; see :mod:`understudy.synth.spark_plugs`."""
        from understudy.synth.spark_plugs import draw_where_it_lies

        assert isinstance(self._recipe, PLUGS)
        self._recipe.event(self._book)  # refuse an impossible l before anything is read
        stream = self._stream()
        source = capped_source(source, stream)
        fresh = count_details(of_people(self._recipe, self._book), source, stream)  # at the share of one record
        counted = count_people(of_people(self._recipe, self._book), source, stream)
        with self._paying() as payment:
            if payment.is_committed:
                return self._finished(payment)
            details, people = self._kept_details(fresh), self._people(counted)
            job = self._job(payment, 1, people)
            draw_where_it_lies(
                self._recipe,
                source,
                job,
                self._quote.ledger,
                self._workshop,
                details=details,
                report_rows=self._order.tell(),
            )
            return self._finish(payment, ())

    def _fit(self, source: Source) -> Fitted:
        """Counts, and on route N their noise. What an earlier run chose privately is not chosen again."""
        order = self._order
        recipe = self._recipe
        chosen = self._workshop.plan.get("parents")
        if chosen is not None and isinstance(recipe, PerturbedRecipe):
            parents = {name: tuple(columns) for name, columns in chosen.items()}
            recipe = replace(recipe, parents=parents, selection_epsilon=None)
        fitted = recipe.fit(source, stream=self._stream(), report=order.report, quote=self._quote)
        refuse_openers(fitted._openers)  # the price of the parts was computed before the fit
        self._origin = fitted.rows_origin
        return fitted

    def _people(self, counted: tuple[int, ...]) -> tuple[int, ...]:
        """How many records synthetic people have: counted once for a release, whatever a later run finds."""
        if counted:
            counted = tuple(self._workshop.plan.get("people", counted))
            self._workshop.remember(people=list(counted))
        return counted

    def _keep(self, fitted: Fitted) -> None:
        """What may not be drawn or chosen a second time, kept until the release is finished."""
        if isinstance(fitted, FittedReleased) and self._recipe.route == "N":
            path = self._workshop.model_path
            self._keep_noisy("perturbed tables (model.zip)", lambda: write_model(fitted.model, path, commit=None))
            self._workshop.forget_counts()
        elif isinstance(fitted, FittedPerturbed):
            self._workshop.remember(parents={name: list(columns) for name, columns in fitted.parents.items()})

    def _kept_details(self, fresh: Details) -> Details:
        """The tables of the details that an earlier run released, or these, kept: to perturb twice is to pay twice.

        What is exact (methods without a promise) comes out the same again and is not written down.
        """
        if not fresh or self._recipe.route in ("N", "none"):
            return fresh
        path = self._workshop.folder / _DETAILS
        if not path.exists():
            self._keep_noisy(f"tables of details ({_DETAILS})", lambda: write_details(fresh, path))
        return read_details(self._book, path)

    def _manifest(self, payment: Payment, warnings: tuple[str, ...]) -> Manifest:
        return describe(
            self._quote,
            payment,
            parameters=of_people(self._recipe, self._book).parameters(),
            rows_origin=self._origin,
            codebook=self._book,
            secure=self._order.seed is None,
            warnings=warnings,
            real_records=self._recipe.shows_records,
            parts=len(self._workshop.receipts()),
        )


def _on_spark(source: Source, workers: Workers) -> bool:
    from understudy.sources.benches import SparkBench

    return isinstance(workers, SparkWorkers) and isinstance(getattr(source, "bench", None), SparkBench)
