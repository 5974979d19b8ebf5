"""Base of all recipes of synthesis: public choices, a price before any draw, a fit, and rows.

``Recipe.quote`` needs a codebook and a number of rows, never data. ``Recipe.fit`` reads counts. ``Fitted.sample`` and
``Fitted.write`` draw, after the price has been reserved in the account of the source, if it has one; how that is done
is written in :mod:`understudy.release.making`.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from operator import itemgetter
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from understudy.blocks.foreseen import Foreseen
from understudy.codebook import Codebook
from understudy.codebook.where import Where, where_codes
from understudy.codec import to_plain
from understudy.errors import BudgetError, ParameterError, RefusalError
from understudy.mechanisms.stream import Stream
from understudy.parameters import DELTA, EPSILON, ROWS, Declared, Names, Panel, Whole, option
from understudy.privacy.facts import MethodFacts
from understudy.privacy.ledger import Entry, Ledger, stream_entries
from understudy.privacy.provenance import InputRole, Provenance
from understudy.privacy.quote import Quote
from understudy.privacy.transaction import Payment
from understudy.release import Release, describe
from understudy.release.making import Fitted as Making
from understudy.release.making import choices_of
from understudy.release.manifest import DECLARED_ROWS
from understudy.release.release import marked
from understudy.sources import open_source
from understudy.sources.base import Report, Source
from understudy.sources.inputs import public_provenance
from understudy.synth.certificate import (
    certificate_entries,
    certificate_warnings,
    count_certificate,
    withheld_rows,
)
from understudy.synth.detail_tables import count_details, detail_entries
from understudy.synth.detail_where import draw_part, part_facts, public_part
from understudy.synth.details import Details, decode_drawn
from understudy.synth.grouping import count_people, people_entries, people_warnings, sizes_of
from understudy.synth.one_epsilon import SplitRule, split_words
from understudy.synth.outside import outside_entries, unchecked, unopened, watched
from understudy.synth.paid_books import bought_codebook, drafted_entries
from understudy.synth.people import capped_source, of_people, person_entries, require_capped
from understudy.synth.wishes import Wishes

Codes = npt.NDArray[np.unsignedinteger]
FILES = Whole(tried=5)


@dataclass(frozen=True, kw_only=True)
class Recipe(Declared, ABC):
    """The choices of a method. What is learned from data is in :class:`Fitted`."""

    facts: ClassVar[MethodFacts]
    """What the method promises, what its paper claims, what is true, and where that is proved and tested."""
    summary: ClassVar[str]
    """What it does, in one line."""
    example: ClassVar[Mapping[str, Any]]
    """Options with which every test of every method makes it."""
    name: ClassVar[str]
    route: ClassVar[str]
    """``N``: counts are noised once and rows are free. ``S``: every drawn row costs. ``none``: no promise."""
    shows_records: ClassVar[bool] = False
    """Whether rows of real people may come out as they are: methods that draw from exact counts of whole records."""
    ranged: ClassVar[bool] = False
    """Whether rows can be drawn in ranges by several workers; its fit then has a ``drawer``."""
    detail_epsilon: float | None = option(
        None,
        rule=EPSILON,
        panel=Panel.PRIVACY,
        help="Epsilon of all tables of details and measured numbers together, beside that of the model; without it "
        "they get a share of epsilon.",
    )
    detail_delta: float | None = option(
        None,
        rule=DELTA,
        panel=Panel.PRIVACY,
        help="Delta of the tables of all detail columns together, beside that of the model; without it they get a "
        "share of delta.",
    )
    split: Mapping[str, float] | None = option(
        None,
        rule=SplitRule(),
        panel=Panel.PRIVACY,
        help="PART=SHARE, repeated: shares of one epsilon for details, people or certificate, instead of those chosen "
        "by the rules; the model gets the rest.",
    )
    people_epsilon: float | None = option(
        None,
        rule=EPSILON,
        panel=Panel.PRIVACY,
        help="Epsilon for counting how many records people have, where the codebook's [unit] asks for it, beside that "
        "of the model; without it a share of epsilon.",
    )
    certify: tuple[str, ...] = option(
        (),
        rule=Wishes(),
        panel=Panel.PRIVACY,
        help="What the release must be good for, repeated: 'sex x age within 0.02', or 'died=yes ~ sex + age within "
        "0.2'. A certificate goes into the manifest; rows that fail are withheld.",
    )
    certify_epsilon: float | None = option(
        None,
        rule=EPSILON,
        panel=Panel.PRIVACY,
        help="Epsilon of the whole certificate, beside that of the release; without it a share of epsilon.",
    )
    certify_tries: int = option(
        1,
        rule=Whole(most=1_000, tried=10),
        panel=Panel.PRIVACY,
        help="So many draws of the rows on average until one passes (route N); the choice is paid from the epsilon of "
        "the certificate.",
    )
    trust: tuple[str, ...] = option(
        (),
        rule=Names(words="a list of packages", example="their_package"),
        panel=Panel.PRIVACY,
        help="Packages outside Understudy whose own events and openings of counts are believed.",
    )
    per_person: ClassVar[Mapping[str, Any] | None] = None
    """What was asked for a person, where the fields hold the share of one record; set by ``of_people``, no option."""
    one_epsilon: ClassVar[Mapping[str, Any] | None] = None
    """What was asked, and how it was shared out, where one epsilon pays for all parts; set by ``with_shares``."""
    shared_targets: ClassVar[tuple[tuple[str, str | None], ...]] = (
        ("epsilon", "delta"),
        ("detail_epsilon", "detail_delta"),
        ("selection_epsilon", None),
    )
    """Targets that are divided among the records of one person."""

    def __init_subclass__(cls, **more: Any) -> None:
        super().__init_subclass__(**more)
        if "facts" in cls.__dict__:
            cls.name, cls.route = cls.facts.name, cls.facts.route

    @property
    def total_delta(self) -> float | None:
        """The delta at which the whole-file total is stated, if any: that of the model and that of the details."""
        asked = self.per_person or {}
        own: float | None = asked.get("delta", getattr(self, "delta", None))
        details: float | None = asked.get("detail_delta", self.detail_delta)
        return own if own is None or details is None else own + details

    @property
    def public_tables(self) -> Mapping[InputRole, str]:
        """Tables that are used as public knowledge, by what they are used as."""
        return {}

    def public_inputs(self, confidential: Any = None) -> dict[InputRole, Provenance]:
        """What those tables are; what is not public is refused."""
        return {
            role: public_provenance(table, role, confidential=confidential)
            for role, table in self.public_tables.items()
        }

    @abstractmethod
    def price(self, book: Codebook, rows: int) -> list[Entry]:
        """The recipe's own entries for ``rows`` rows."""

    def foresee(self, book: Codebook, records: int) -> tuple[Foreseen, Foreseen] | None:
        """Expected errors of an easy and of a hard table of so many records, where a method can tell them."""
        return None

    def paper_figure(self, book: Codebook) -> dict[str, Any] | None:
        """What the paper would print, beside the total and never instead of it."""
        return None

    def fit(
        self,
        data: Any,
        book: Codebook | str | Path | None = None,
        *,
        stream: Stream | None = None,
        report: Report | None = None,
        quote: Quote | None = None,
    ) -> "Fitted":
        """Read the counts. The default stream is secure; a seeded one makes the release not private.

        ``data`` is a source that was opened with its codebook, or a table (a path, a frame) with its ``book``. Where
        the codebook makes the person the unit, no more records of each take part than its cap allows. A price that was
        computed already may be given as ``quote``; it is then not computed again.
        """
        if isinstance(data, Source) and book is not None:
            raise ParameterError("the source was opened with a codebook already; leave `book` out.")
        source = data if isinstance(data, Source) else open_source(data, book)
        stream = Stream.checked(stream)
        if quote is None:  # what has no price, or a hopeless domain, is refused before anything is read
            quote = self.quote(source.codebook, 1, secure=stream.is_secure)
        if source.account is not None and (fault := source.account.relation_fault(quote.ledger)):
            raise BudgetError(f"the release {fault}")
        public = self.public_inputs(source.address)
        recipe = of_people(self, source.codebook)
        with watched(recipe) as openers:
            fitted = recipe.fit_records(capped_source(source, stream), stream, report)
        fitted._openers = tuple(dict.fromkeys(openers))
        known = quote.basis == (self, source.codebook.digest, stream.is_secure)
        if known and not openers and all(quote.inputs[role] == provenance for role, provenance in public.items()):
            fitted._quoted = quote.with_data(source.provenance)
        return fitted

    @abstractmethod
    def fit_records(self, source: Source, stream: Stream, report: Report | None) -> "Fitted":
        """Read the counts of the records that take part."""

    def quote(self, book: Codebook, rows: int, *, secure: bool = True) -> Quote:
        """The price of ``rows`` rows; reads nothing but the codebook."""
        ROWS.check("rows", rows)
        recipe = of_people(self, book)
        own = recipe.own_ledger(book, rows, secure=secure)
        quote = Quote(
            method=recipe.name,
            route=recipe.route,
            own=own,
            rows=rows,
            own_delta=recipe.total_delta,
            paper=recipe.paper_figure(book),
            warnings=(*recipe.warnings(book), *people_warnings(book), *certificate_warnings(recipe, book)),
            bought=bought_codebook(book),
            basis=(self, book.digest, secure),
            shared=split_words(recipe.one_epsilon),
        )
        return quote.with_public(self.public_inputs())

    def own_ledger(self, book: Codebook, rows: int, *, secure: bool = True) -> Ledger:
        """Every line that a release of ``rows`` rows pays for; reads nothing but the codebook."""
        recipe = of_people(self, book)
        records = [*outside_entries(recipe, book, recipe.price(book, rows)), *detail_entries(recipe, book)]
        records += certificate_entries(recipe, book, records)
        priced = person_entries(records, book)
        counted = people_entries(recipe, book)
        return Ledger.of([*drafted_entries(book), *priced, *counted, *stream_entries(secure)])

    def warnings(self, book: Codebook) -> list[str]:
        """What a user should know before paying: public numbers only."""
        known = getattr(self, "public_rows", None)
        if self.total_delta is not None and known is not None and self.total_delta >= 1 / known:
            return [
                f"delta is {self.total_delta:g}, which is not below 1/{known:,}: such a promise would allow publishing "
                f"whole records of a few people. Use a delta far below {1 / known:.1g}."
            ]
        return []

    def parameters(self) -> dict[str, Any]:
        """Every choice as plain data, for the manifest; with the targets of a person, where one is the unit."""
        plain = super().parameters()
        kept = {"per_person": self.per_person, "one_epsilon": self.one_epsilon}
        return {**plain, **{name: to_plain(value) for name, value in kept.items() if value}}


_NOT_FREE = {
    "S": "{method} pays for every row it draws, so rows of a sub-population would cost as much as all the rows that "
    "are drawn to find them; draw rows of the whole population and keep those you need, or use a method of route N "
    "(marginals, sbhg, privbayes ...), where they are free.",
}
_NO_MODEL = "{method} has no table to draw a sub-population from; use a method of route N, or filter its rows."


def with_reading(quote: Quote, unknown: str) -> Quote:
    """The same price, and how values outside the codebook were read where that changes numbers."""
    said = "numbers and dates beyond their declared bounds were counted as the bound (unknown = 'clamp')."
    if unknown != "clamp" or said in quote.warnings:
        return quote
    return replace(quote, warnings=(*quote.warnings, said))


class Fitted(Making[Release]):
    """A recipe with its counts. On route S it is itself confidential: it cannot be written to disk."""

    def __init__(self, *, recipe: Recipe, source: Source, stream: Stream, report: Report | None) -> None:
        require_capped(source)
        super().__init__(account=source.account, provenance=source.provenance, stream=stream, report=report)
        self.recipe = recipe
        self.codebook = source.codebook
        self._details = count_details(recipe, source, stream)
        self._people = count_people(recipe, source, stream)
        self._judge = count_certificate(recipe, source)
        self._is_rejected: bool | None = None
        """What the certificate said of the release, once it was drawn."""
        self.warnings: tuple[str, ...] = ()
        """What a user should know about the last draw."""
        self._is_paid = False
        self._quoted: Quote | None = None
        self._unknown = source.unknown
        self._openers: tuple[str, ...] = ()
        """Modules of another package that opened counts themselves."""

    @property
    def details(self) -> Details:
        """Released tables of the detail columns."""
        self._require_paid("the tables of the detail columns")
        return self._details

    @property
    def people(self) -> tuple[int, ...]:
        """How common each number of records per synthetic person is, as released."""
        self._require_paid("the numbers of records per person")
        return self._people

    def _require_paid(self, what: str) -> None:
        """Nothing that was read from the data is shown before the account was charged for it, or after a rejection."""
        self._require_accepted(what)
        if self._account is not None and not self._is_paid:
            raise RefusalError(
                f"{what} of this fit are not paid for yet, so they are not shown; draw a release or write the model, "
                f"which charges the account of {self._account.dataset!r}."
            )

    def _require_accepted(self, what: str) -> None:
        if self._is_rejected:
            raise RefusalError(
                f"{what} of this fit are withheld, because its certificate rejected the release; fit again, with other "
                "options, which is charged."
            )

    @abstractmethod
    def _draw(self, rows: int, ledger: Ledger) -> Sequence[Codes]:
        """Codes of ``rows`` new records, paid for by ``ledger``."""

    def quote(self, rows: int) -> Quote:
        """The price of ``rows`` rows from this fit."""
        known = self._quoted
        if known is None or (known.rows != rows and known.route != "N"):
            known = self.recipe.quote(self.codebook, rows, secure=self._stream.is_secure).with_data(self._provenance)
            if self._openers:
                opened = ", ".join(self._openers)
                leak = unchecked(self.recipe, reads="exact counts", why=f"{opened} opened counts itself")
                known = replace(known, own=known.own + Ledger.of([leak]))
        known = with_reading(known, self._unknown)
        self._quoted = replace(known, rows=ROWS.check("rows", rows))
        return self._quoted

    def _choices(self, quote: Quote) -> str:
        public = self.recipe.public_tables.values()
        return choices_of(quote, self.recipe.parameters(), self.codebook.digest, public=public)

    def drawer(self, rows: int, ledger: Ledger) -> Any:
        """What workers need to draw ``rows`` rows in ranges (:class:`understudy.synth.drawers.RangeDrawer`)."""
        raise RefusalError(f"rows of {self.recipe.name} depend on each other, so they are not drawn in ranges; sample.")

    @property
    def rows_origin(self) -> str:
        """Where the number of rows of a release comes from."""
        return DECLARED_ROWS

    def _draw_where(self, rows: int, ledger: Ledger, where: Mapping[str, Sequence[int]]) -> Sequence[Codes]:
        """Codes of ``rows`` new records of a sub-population, where that is free."""
        raise RefusalError(_NOT_FREE.get(self.recipe.route, _NO_MODEL).format(method=self.recipe.name))

    def sample(self, rows: int, *, where: Where | None = None) -> Release:  # type: ignore[override]
        """Pay, draw, and hand over; ``where`` asks for rows of a sub-population, which is free on route N."""
        return super().sample(rows, where=where)

    def write(  # type: ignore[override]
        self, out: str | Path, rows: int, *, where: Where | None = None, formats: Sequence[str] = ()
    ) -> Release:
        """Pay, draw and write to a new folder."""
        return super().write(out, rows, formats=formats, where=where)

    def sample_many(self, rows: int, *, files: int) -> list[Release]:
        """Several files, drawn one after the other; on route S each of them pays."""
        return [self.sample(rows) for _ in range(self._checked_files(files))]

    def write_many(self, out: str | Path, rows: int, *, files: int, formats: Sequence[str] = ()) -> list[Release]:
        """Several files in numbered folders: all of them written and paid for, in one charge, or none."""
        self._checked_files(files)
        each = self.quote(rows)
        price = each if self.recipe.route == "N" else each.times(files)
        return self._write_many(out, each, price=price, files=files, formats=formats)

    def _checked_files(self, files: int) -> int:
        if FILES.check("files", files) > 1 and self._judge is not None:
            raise ParameterError("`certify` is about one release; leave `files` out, or the certificate.")
        return files

    def _numbered(self, release: Release, number: int, files: int) -> Release:
        release = super()._numbered(release, number, files)
        manifest = release.manifest
        kind = (
            "diverse" if manifest.total.kind == "LDiverse" else manifest.route if manifest.total.is_formal else "none"
        )
        warning = f"this is file {number} of {files} made from the same data: {_TOGETHER[kind].format(files=files)}."
        return replace(release, manifest=replace(manifest, warnings=(*manifest.warnings, warning)))

    def _check(self, quote: Quote, **how: Any) -> None:
        if self.recipe.route == "N":  # elsewhere a further draw pays for everything again
            self._require_accepted("the rows")
        if (where := how.get("where")) is not None:
            if self._judge is not None and self._is_rejected is None:
                raise ParameterError("`certify` is about rows of everybody; draw those first, or leave `where` out.")
            self._check_free()
            # refuse what the rules exclude before anything is paid
            self.codebook.allowed.within(public_part(self.codebook, where_codes(self.codebook, where))[0])

    def _make(self, quote: Quote, payment: Payment, **how: Any) -> Release:
        where: Where | None = how.get("where")
        part = None if where is None else where_codes(self.codebook, where)

        def draw(number: int, own: Mapping[str, Sequence[int]]) -> Sequence[Codes]:
            whole = part is None
            return self._draw(number, quote.ledger) if whole else self._draw_where(number, quote.ledger, own)

        def draw_rows() -> tuple[Sequence[Codes], dict[str, list[int]] | None]:
            return draw_part(self.codebook, self._details, part, quote.rows, self._stream, draw)

        certificate = None
        with unopened(self.recipe):
            # on route N what is paid for once is measured once: further rows are free, and have no certificate
            if self._judge is None or (self._is_rejected is not None and self.recipe.route == "N"):
                codes, only = draw_rows()
            else:
                if self._judge.plan.tried:
                    payment.shown()  # how long it takes tells how many tries failed, so an interrupt gets nothing back
                with self._untold(self._judge.plan.tried):
                    (codes, only), certificate = self._judge.judged(draw_rows, itemgetter(0), quote.rows, self._stream)
                self._is_rejected = not certificate["accepted"]
        self._tell("decoding", 0, 1)
        sizes = sizes_of(self.codebook, self._people)
        table = decode_drawn(self.codebook, self._details, codes, self._stream, people=sizes, only=only)
        self._tell("decoding", 1, 1)
        parameters, part_warnings = part_facts(self.codebook, self.recipe.parameters(), part)
        manifest = describe(
            quote,
            payment,
            parameters=parameters,
            codebook=self.codebook,
            secure=self._stream.is_secure,
            warnings=(*self.warnings, *part_warnings),
            real_records=self.recipe.shows_records,
            certificate=certificate,
            **{"rows_origin": self.rows_origin, **withheld_rows(certificate)},
        )
        shown = table.slice(0, manifest.rows)
        # where a certificate withholds the rows, it withholds what goes with them
        also = self.attachments(where) if manifest.rows else {}
        return Release(
            table=shown, manifest=manifest, attachments={name: marked(one, manifest) for name, one in also.items()}
        )

    @contextmanager
    def _untold(self, tried: Any) -> Iterator[None]:
        """Tell no progress where it would tell how many tries there were."""
        report = self._report
        self._report = None if tried else report
        try:
            yield
        finally:
            self._report = report

    def attachments(self, where: Where | None) -> dict[str, pa.Table]:
        """Public tables that go with the rows."""
        return {}

    @contextmanager
    def _paying(self, quote: Quote, *, files: int = 1) -> Iterator[Payment]:
        with ExitStack() as ended, super()._paying(quote, files=files) as payment:
            ended.push(lambda *error: self._settled(payment, failed=error[0] is not None))
            yield payment

    def _settled(self, payment: Payment, *, failed: bool) -> None:
        self._is_paid = self._is_paid or payment.is_committed
        if failed and not payment.is_charged:
            self._is_rejected = None  # nobody saw the verdict, and it was given back

    def _check_free(self) -> None:
        """Refuse sub-populations where they are not free, before anything is paid."""
        if type(self)._draw_where is Fitted._draw_where:
            self._draw_where(0, Ledger(), {})

    def __repr__(self) -> str:
        return f"<{self.recipe.name} fitted to {len(self.codebook.names)} columns, counts withheld>"


_TOGETHER = {
    "N": "all are drawn from the same perturbed tables and cost nothing more; their estimates combine by `plug-in`, "
    "with the noise of the tables on top",
    "S": "each was priced alone, and all of them together cost up to {files} times as much",
    "diverse": "the promise is one of each file's own sampling distributions, and several files tell more than one",
    "none": "combine estimates of all files with `understudy.combine`",
}
