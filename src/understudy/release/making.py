"""The protocol of every recipe: a price before the data, a fit, and a product that is handed over or written.

Synthesis, counts, commutes, scores, anonymising and imputing follow it. A price is paid in one place only:
:meth:`Fitted.sample` and :meth:`Fitted.write` below.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar

from understudy.errors import RefusalError
from understudy.mechanisms.stream import Stream
from understudy.privacy.account import Account, digest_of_choices, names_of_files
from understudy.privacy.provenance import Provenance
from understudy.privacy.quote import Quote
from understudy.privacy.transaction import Payment, Point, paying
from understudy.release.folders import Commit, check_target, digest_of, digest_of_tables
from understudy.release.formats import chosen_formats
from understudy.release.release import Release, save_many
from understudy.sources.base import Report
from understudy.sources.databases import is_spark
from understudy.sources.files import database_of
from understudy.sources.frames import to_arrow
from understudy.sources.same import files_of


class Product(Protocol):
    """Something that a payment buys: a release, a risk score."""

    @property
    def digest(self) -> str:
        """Of what is handed over in memory."""

    def save(self, target: Path, *, commit: Commit | None = None) -> Path:
        """Write it, all or nothing; ``commit`` hears the digest of what was written before it appears."""


Made = TypeVar("Made", bound=Product)
_SEALED = frozenset({"recipe", "codebook"})


def choices_of(quote: Quote, parameters: Mapping[str, Any], codebook: str, *, public: Iterable[Any] = ()) -> str:
    """The digest of what was chosen, by which an account knows whether it was fixed before a look.

    ``public`` are the tables that are used as public knowledge: their content is a choice too.
    """
    return digest_of_choices(
        method=quote.method,
        parameters={name: repr(value) for name, value in parameters.items()},
        rows=quote.rows,
        codebook=codebook,
        public=[digest for table in public for digest in _digests_of(table)],
    )


def _digests_of(table: Any) -> list[str]:
    """Of the content of a public table; a server's table is known by its address alone."""
    if table is None or is_spark(table):
        return []
    if not isinstance(table, str | Path):
        return [digest_of_tables([(b"", to_arrow(table)[1])])]
    database = database_of(str(table))
    return [digest_of(path) for path in (files_of(table) if database is None else [database[0]])]


class Fitted(ABC, Generic[Made]):
    """A recipe that has read what it needs. Nothing of it is shown before it is paid for."""

    def __init__(
        self, *, account: Account | None, provenance: Provenance, stream: Stream, report: Report | None
    ) -> None:
        self._account = account
        self._provenance = provenance
        self._stream = stream
        self._report = report

    def __setattr__(self, name: str, value: Any) -> None:
        """What prices a fit is what it was fitted with: a smaller epsilon set afterwards would be a lie."""
        if name in _SEALED and name in self.__dict__:
            raise RefusalError(
                f"the {name} of a fit is what its counts were made with, so it does not change; fit again with another."
            )
        super().__setattr__(name, value)

    @abstractmethod
    def quote(self, rows: int) -> Quote:
        """The price of ``rows`` of them from this fit."""

    @abstractmethod
    def _choices(self, quote: Quote) -> str:
        """The digest of what was chosen (:func:`choices_of`)."""

    @abstractmethod
    def _make(self, quote: Quote, payment: Payment, **how: Any) -> Made:
        """Draw and describe; the payment is reserved, and nobody has seen the result yet."""

    def _check(self, quote: Quote, **how: Any) -> None:
        """Refuse what cannot be made before anything is reserved."""

    def sample(self, rows: int, **how: Any) -> Made:
        """Pay, draw, and hand over. The price is then spent."""
        with self._drawn(self.quote(rows), **how) as (payment, product):
            payment.commit(None if payment.account is None else product.digest)
        return product

    def write(self, out: str | Path, rows: int, *, formats: Sequence[str] = (), **how: Any) -> Made:
        """Pay, draw and write; an interrupt before it appears gives the price back, because nobody saw anything."""
        return self._write(out, rows, {"formats": formats}, **how)

    def _write(self, out: str | Path, rows: int, saving: Mapping[str, Any], **how: Any) -> Made:
        target, quote = Path(out), self.quote(rows)
        check_target(target)
        chosen_formats(saving.get("formats", ()), rows=quote.rows)  # a sheet that is too short is refused unpaid
        with self._drawn(quote, **how) as (payment, product):
            product.save(target, commit=payment.commit, **saving)
        return product

    def _write_many(
        self: "Fitted[Release]", out: str | Path, each: Quote, *, price: Quote, files: int, formats: Sequence[str]
    ) -> list[Release]:
        """Several releases in numbered folders, in one charge: all of them, or none."""
        check_target(Path(out))
        chosen_formats(formats, rows=each.rows)
        with self._paying(price, files=files) as payment:
            payment.drawing()
            drawn = [self._make(each, payment, file=file, files=files) for file in range(files)]
            releases = [self._numbered(release, number, files) for number, release in enumerate(drawn, start=1)]
            payment.reached(Point.DRAWN)
            save_many(releases, out, formats=formats, commit=payment.commit)
        return releases

    def _numbered(self, release: Release, number: int, files: int) -> Release:
        """One of several releases of one charge, under a name of its own."""
        manifest = release.manifest
        name = names_of_files(manifest.release_id, files)[number - 1]
        # rows of one perturbed table are one purchase; files that each paid are several, also for whoever uses them
        charged_as = manifest.charged_as if manifest.route == "N" else name
        return replace(release, manifest=replace(manifest, release_id=name, charged_as=charged_as))

    @contextmanager
    def _drawn(self, quote: Quote, **how: Any) -> Iterator[tuple[Payment, Made]]:
        self._check(quote, **how)
        with self._paying(quote) as payment:
            payment.drawing()
            product = self._make(quote, payment, **how)
            payment.reached(Point.DRAWN)
            yield payment, product

    @contextmanager
    def _paying(self, quote: Quote, *, files: int = 1) -> Iterator[Payment]:
        """Reserve the price; what is free says so here."""
        choices = self._choices(quote)
        if files > 1:  # how many are drawn is a choice too
            choices = digest_of_choices(each=choices, files=files)
        with paying(self._account, quote, label=self._label(quote), choices=choices) as payment:
            yield payment

    def _label(self, quote: Quote) -> str:
        """What the account calls it."""
        return f"{quote.method}, {quote.rows:,} {quote.subject.value}"

    def _tell(self, step: str, done: int, total: int) -> None:
        if self._report:
            self._report(step, done, total)

    def __reduce__(self) -> str:
        raise TypeError("a fitted model is confidential; write what it samples, not the model.")


class PaidOnce(Fitted[Made]):
    """A fit of route N: its perturbed tables are paid for with what is made first, and all else is free."""

    _first: Payment | None = None

    @contextmanager
    def _paying(self, quote: Quote, *, files: int = 1) -> Iterator[Payment]:
        first = self._first
        if first is not None and (self._account is None or first.is_committed):
            yield Payment.free(words=first.words, charged_as=first.charged_as, looked=first.looked)
            return
        with super()._paying(quote, files=files) as payment:
            self._first = payment
            yield payment


class FittedWhole(Fitted[Release]):
    """A fit that makes one table whose number of rows nobody chooses."""

    @abstractmethod
    def quote(self, rows: int | None = None) -> Quote:
        """The price of the table, whatever ``rows`` says."""

    def sample(self) -> Release:  # type: ignore[override]
        """Pay, draw, and hand over. The price is then spent."""
        return super().sample(self.quote().rows)

    def write(self, out: str | Path, *, formats: Sequence[str] = ()) -> Release:  # type: ignore[override]
        """Pay, draw and write to a new folder."""
        return self._write(out, self.quote().rows, {"formats": formats})
