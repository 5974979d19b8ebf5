"""Measured views and the account that pays for them."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from understudy.codebook.where import Where, where_codes
from understudy.errors import ParameterError, RefusalError
from understudy.histories.drawing import Measured
from understudy.histories.model import HistoriesModel
from understudy.histories.model_file import write_histories
from understudy.mechanisms.stream import Stream
from understudy.privacy.quote import Quote
from understudy.privacy.transaction import Payment
from understudy.release import describe
from understudy.release.folders import check_file
from understudy.release.linked import LinkedRelease
from understudy.release.making import PaidOnce, choices_of
from understudy.release.manifest import DECLARED_ROWS
from understudy.release.model_head import NOT_CHARGED
from understudy.sources.base import Report
from understudy.sources.linked import LinkedSource
from understudy.synth.recipe import with_reading
from understudy.synth.released import refuse_model_of

if TYPE_CHECKING:
    from understudy.histories.recipe import Histories

PEOPLE = DECLARED_ROWS.replace("number", "number of people", 1)


class FittedHistories(PaidOnce[LinkedRelease]):
    """Perturbed tables of every view; the first release pays for them, all others are free."""

    def __init__(
        self,
        *,
        recipe: "Histories",
        source: LinkedSource,
        measured: tuple[Measured, ...],
        stream: Stream,
        report: Report | None,
    ) -> None:
        super().__init__(account=source.account, provenance=source.provenance, stream=stream, report=report)
        self.recipe = recipe
        self.codebook = source.codebook
        self._measured = measured
        self._unknown = source.unknown

    def quote(self, rows: int) -> Quote:
        """The price of so many people from this fit."""
        quote = self.recipe.quote(self.codebook, rows, secure=self._stream.is_secure)
        return with_reading(quote.with_data(self._provenance), self._unknown)

    def _choices(self, quote: Quote) -> str:
        return choices_of(quote, self.recipe.parameters(), self.codebook.digest)

    @cached_property
    def _model(self) -> HistoriesModel:
        quote = self.quote(1)
        return HistoriesModel(
            book=self.codebook,
            measured=self._measured,
            ledger=quote.ledger,
            delta=quote.delta,
            method=self.recipe.name,
            parameters=self.recipe.parameters(),
            secure=self._stream.is_secure,
            warnings=quote.warnings,
            charged=NOT_CHARGED if self._account is None else f"charged to the account of {self._account.dataset!r}",
        )

    @property
    def model(self) -> HistoriesModel:
        """The released tables, once they are paid for."""
        if self._account is not None and (self._first is None or not self._first.is_committed):
            raise RefusalError("the perturbed tables of this fit are not paid for yet; draw a release first.")
        return self._model

    def _check(self, quote: Quote, **how: Any) -> None:
        if how.get("where") is not None:
            people_codes(self._model, how["where"])

    def _make(self, quote: Quote, payment: Payment, **how: Any) -> LinkedRelease:
        return drawn_release(self._model, quote, payment, self._stream, where=how.get("where"), report=self._report)

    def save_model(self, path: str | Path) -> Path:
        """Write the released tables to a new file, from which people can be drawn without the data; pays if unpaid."""
        refuse_model_of(self._provenance)
        check_file(Path(path), what="the model")
        with self._paying(self.quote(1)) as payment:
            payment.drawing()
            return write_histories(self.released(payment), Path(path), commit=payment.commit)

    def released(self, payment: Payment) -> HistoriesModel:
        """The tables that a payment buys."""
        return replace(self._model, charged_as=payment.charged_as, looked=payment.looked)

    def __repr__(self) -> str:
        return f"<histories fitted to {len(self.codebook.tables)} tables, counts withheld>"


def people_codes(model: HistoriesModel, where: Where) -> Mapping[str, Sequence[int]]:
    """A sub-population by columns of the persons: their codes."""
    person = model.book.person
    bare = {name.removeprefix(f"{person.name}."): values for name, values in where.items()}
    if strange := [name for name in bare if name not in person.book.names]:
        raise ParameterError(
            f"`where` names {strange[0]!r}; a sub-population is chosen by columns of the persons: "
            f"{', '.join(map(person.spelled, person.book.names))}."
        )
    return where_codes(person.book, bare)


def drawn_release(
    model: HistoriesModel,
    quote: Quote,
    payment: Payment,
    stream: Stream,
    *,
    where: Where | None,
    report: Report | None,
) -> LinkedRelease:
    """People of a model, with a manifest; they are drawn when they are looked at or written."""
    codes = None if where is None else people_codes(model, where)
    parameters = dict(model.parameters)
    warnings: tuple[str, ...] = ()
    if codes is not None:
        person = model.book.person
        asked = {
            person.spelled(name): [person.book.column(name).labels[code] for code in kept]
            for name, kept in codes.items()
        }
        parameters["where"] = asked
        words = " and ".join(f"{name} in ({', '.join(labels)})" for name, labels in asked.items())
        warnings = (f"these people are a part of the population, chosen by {words}.",)
    manifest = describe(
        quote,
        payment,
        parameters=parameters,
        codebook=model.book,
        secure=model.secure and stream.is_secure,
        rows_origin=PEOPLE,
        warnings=warnings,
    )
    blocks = model.blocks(quote.rows, stream, where=codes, report=report)
    return LinkedRelease(manifest=manifest, blocks=blocks)
