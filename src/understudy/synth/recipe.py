"""What every recipe is: public choices, a price before any draw, a fit, and rows.

``Recipe.quote`` needs a codebook and a number of rows, never data. ``Recipe.fit`` reads counts. ``Fitted.sample``
draws, after the price has been reserved in the account of the source, if it has one.
"""

import uuid
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace
from enum import StrEnum
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from understudy.codebook import Codebook
from understudy.codebook.where import Where, where_codes, where_words
from understudy.errors import RefusalError
from understudy.mechanisms.stream import Stream
from understudy.privacy.account import Reservation
from understudy.privacy.guarantees import Guarantee
from understudy.privacy.ledger import Entry, Ledger
from understudy.privacy.statement import statement
from understudy.release import Manifest, Release
from understudy.sources.ancestry import Ancestor
from understudy.sources.base import Report, Source
from understudy.sources.same import refuse_same
from understudy.synth.checks import check_files, check_rows, positive, refuse_commuting
from understudy.synth.detail_where import draw_part, public_part
from understudy.synth.details import Details, count_details, decode_drawn, detail_entries
from understudy.synth.grouping import count_people, people_entries, people_warnings, sizes_of
from understudy.synth.paid_books import owed, paid_ledger, with_draft
from understudy.synth.people import capped_source, of_people, person_entries, require_capped

__all__ = [
    "DECLARED_ROWS",
    "NO_ACCOUNT",
    "Fitted",
    "Quote",
    "Recipe",
    "check_files",
    "check_rows",
    "part_facts",
    "positive",
    "refuse_commuting",
    "stream_entries",
]

Codes = npt.NDArray[np.unsignedinteger]
DECLARED_ROWS = "declared by the caller, as a number that was chosen without looking at the data"
NO_ACCOUNT = "none: this release was charged to no account, so nobody keeps track of what else the data paid for"


@dataclass(frozen=True, kw_only=True)
class Quote:
    """The price of ``rows`` rows, before any of them is drawn."""

    ledger: Ledger
    rows: int
    route: str
    delta: float | None
    paper: dict[str, Any] | None
    warnings: tuple[str, ...] = ()

    @property
    def total(self) -> Guarantee:
        """The smallest proven total for the whole file."""
        return self.ledger.total(delta=self.delta)

    @property
    def pure(self) -> Guarantee:
        """The total by basic composition."""
        return self.ledger.basic()

    @property
    def statement(self) -> str:
        """The promise in plain words."""
        said = self.paper["statement"] if self.paper else None
        return statement(self.ledger, self.total, rows=self.rows, route=self.route, paper=said)

    def drawn_from(self, ancestor: Ancestor | None) -> "Quote":
        """The same price where the table is itself an anonymised release: what that does to the promise comes first."""
        if ancestor is None:
            return self
        ledger = Ledger.of(ancestor.entries) + self.ledger
        return replace(self, ledger=ledger, warnings=(*self.warnings, *ancestor.warnings))

    def to_dict(self) -> dict[str, Any]:
        """As plain data, for machines."""
        return {
            "rows": self.rows,
            "route": self.route,
            "paper": self.paper,
            "total": self.total.to_dict(),
            "pure": self.pure.to_dict(),
            "entries": self.ledger.to_list(),
            "assumptions": list(self.ledger.assumptions),
            "statement": self.statement,
            "warnings": list(self.warnings),
        }


@dataclass(frozen=True, kw_only=True)
class Recipe(ABC):
    """Choices only. Learned state lives in :class:`Fitted`."""

    name: ClassVar[str]
    route: ClassVar[str]
    """``N``: counts are noised once and rows are free. ``S``: every drawn row costs. ``none``: no promise."""
    summary: ClassVar[str]
    promise: ClassVar[str]
    """What the method can promise, in a few words, for lists of methods."""
    ranged: ClassVar[bool] = False
    """Whether rows can be drawn in ranges by several workers; its fit then has a ``drawer``."""
    detail_epsilon: float | None = None
    """What the tables of all detail columns and measured numbers cost together, beside the model; needed where the
    codebook has some."""
    detail_delta: float | None = None
    """Needed where the codebook has detail columns."""
    people_epsilon: float | None = None
    """What it costs a person to count how many records people have; needed where the codebook's [unit] asks for it."""
    per_person: ClassVar[Mapping[str, Any] | None] = None
    """What was asked for a person, where the fields hold the share of one record; set by ``of_people``, no option."""
    shared_targets: ClassVar[tuple[tuple[str, str | None], ...]] = (
        ("epsilon", "delta"),
        ("detail_epsilon", "detail_delta"),
        ("selection_epsilon", None),
    )
    """Targets that are divided among the records of one person."""

    @property
    def total_delta(self) -> float | None:
        """The delta at which the whole-file total is stated, if any: that of the model and that of the details."""
        asked = self.per_person or {}
        own: float | None = asked.get("delta", getattr(self, "delta", None))
        details: float | None = asked.get("detail_delta", self.detail_delta)
        return own if own is None or details is None else own + details

    @property
    def public_tables(self) -> Mapping[str, str]:
        """Tables that the caller declares public, by what they are used as."""
        return {}

    @abstractmethod
    def price(self, book: Codebook, rows: int) -> list[Entry]:
        """The recipe's own entries for ``rows`` rows."""

    def paper_figure(self, book: Codebook) -> dict[str, Any] | None:
        """What the paper would print, beside the total and never instead of it."""
        return None

    def fit(self, source: Source, *, stream: Stream | None = None, report: Report | None = None) -> "Fitted":
        """Read the counts. The default stream is secure; a seeded one makes the release not private.

        Where the codebook makes the person the unit, no more records of each take part than its cap allows.
        """
        stream = Stream.checked(stream)
        for used_as, table in self.public_tables.items():
            refuse_same(source.address, table, used_as)
        return of_people(self, source.codebook).fit_records(capped_source(source, stream), stream, report)

    @abstractmethod
    def fit_records(self, source: Source, stream: Stream, report: Report | None) -> "Fitted":
        """Read the counts of the records that take part."""

    def quote(self, book: Codebook, rows: int, *, secure: bool = True) -> Quote:
        """The price of ``rows`` rows; reads nothing but the codebook."""
        check_rows(rows)
        refuse_commuting(getattr(self, "neighbours", None))
        recipe = of_people(self, book)
        priced = person_entries([*recipe.price(book, rows), *detail_entries(recipe, book)], book)
        counted = people_entries(recipe, book)
        ledger = Ledger.of([*_codebook_entries(book), *priced, *counted, *stream_entries(secure)])
        return Quote(
            ledger=ledger,
            rows=rows,
            route=recipe.route,
            delta=with_draft(recipe.total_delta, book),
            paper=recipe.paper_figure(book),
            warnings=(*recipe.warnings(book), *people_warnings(book)),
        )

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
        """Every choice as plain data, for the manifest."""
        found = {field.name: _plain(getattr(self, field.name)) for field in fields(self)}
        return found if self.per_person is None else {**found, "per_person": _plain(dict(self.per_person))}


def _plain(value: Any) -> Any:
    if isinstance(value, Fraction):
        return f"{value.numerator}/{value.denominator}"
    if isinstance(value, StrEnum):
        return value.value
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, tuple | list):
        return [_plain(item) for item in value]
    return value if isinstance(value, str | int | float | bool | type(None)) else str(value)


def _codebook_entries(book: Codebook) -> list[Entry]:
    """What the codebook itself took from the data.

    A priced draft brings its own entries: whoever sees the release sees the codebook too. A plain draft is an unpriced
    read until a person attests that it is public.
    """
    bought = list(paid_ledger(book))
    if book.is_public:
        return bought
    names = ", ".join(book.unattested)
    return [
        *bought,
        Entry.unpriced(
            stage="codebook",
            reads=f"levels and bounds of {names}",
            why=book.why_not_public,
        ),
    ]


def stream_entries(secure: bool) -> list[Entry]:
    """What a seed does to every promise."""
    if secure:
        return []
    why = "the randomness was seeded, so whoever knows or guesses the seed can undo it"
    return [Entry.unpriced(stage="randomness", reads="a seed instead of the secure stream", why=why)]


_NOT_FREE = {
    "S": "{method} pays for every row it draws, so rows of a sub-population would cost as much as all the rows that "
    "are drawn to find them; draw rows of the whole population and keep those you need, or use a method of route N "
    "(marginals, sbhg, privbayes ...), where they are free.",
}
_NO_MODEL = "{method} has no table to draw a sub-population from; use a method of route N, or filter its rows."


def part_facts(
    book: Codebook, parameters: Mapping[str, Any], part: Mapping[str, Sequence[int]]
) -> tuple[dict[str, Any], tuple[str, ...]]:
    """What a manifest says about a sub-population: its values among the parameters, and a sentence."""
    words = where_words(book, part)
    said = " and ".join(f"{name} = {' or '.join(values)}" for name, values in words.items())
    sentence = f"all rows are of the sub-population {said}; how large it is among all records does not show in them."
    return {**parameters, "where": words}, (sentence,)


_SEALED = frozenset({"recipe", "codebook"})


class Fitted(ABC):
    """A recipe with its counts. On route S it is itself confidential: it cannot be written to disk."""

    def __init__(self, *, recipe: Recipe, source: Source, stream: Stream, report: Report | None) -> None:
        require_capped(source)
        self.recipe = recipe
        self.codebook = source.codebook
        self._details = count_details(recipe, source, stream)
        self._people = count_people(recipe, source, stream)
        self._account = source.account
        self._ancestor = source.ancestor
        self._stream = stream
        self._report = report
        self.warnings: tuple[str, ...] = ()
        """What a user should know about the last draw."""
        self._settled: list[Reservation] = []
        self._held: Reservation | None = None
        self._abandoned = False

    def __setattr__(self, name: str, value: Any) -> None:
        """What prices a fit is what it was fitted with: a smaller epsilon set afterwards would be a lie."""
        if name in _SEALED and name in self.__dict__:
            raise RefusalError(
                f"the {name} of a fit is what its counts were made with, so it does not change; fit again with another."
            )
        super().__setattr__(name, value)

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
        """Nothing that was read from the data is shown before the account was charged for it."""
        if self._account is not None and not self._settled:
            raise RefusalError(
                f"{what} of this fit are not paid for yet, so they are not shown; draw a release or write the model, "
                f"which charges the account of {self._account.dataset!r}."
            )

    @abstractmethod
    def _draw(self, rows: int, ledger: Ledger) -> Sequence[Codes]:
        """Codes of ``rows`` new records, paid for by ``ledger``."""

    def quote(self, rows: int) -> Quote:
        """The price of ``rows`` rows from this fit."""
        return self.recipe.quote(self.codebook, rows, secure=self._stream.is_secure).drawn_from(self._ancestor)

    def drawer(self, rows: int, ledger: Ledger) -> Any:
        """What workers need to draw ``rows`` rows in ranges (:class:`understudy.synth.drawers.RangeDrawer`)."""
        raise NotImplementedError(f"{self.recipe.name} is not `ranged`")

    @property
    def rows_origin(self) -> str:
        """Where the number of rows of a release comes from."""
        return DECLARED_ROWS

    def _draw_where(self, rows: int, ledger: Ledger, where: Mapping[str, Sequence[int]]) -> Sequence[Codes]:
        """Codes of ``rows`` new records of a sub-population, where that is free."""
        raise RefusalError(_NOT_FREE.get(self.recipe.route, _NO_MODEL).format(method=self.recipe.name))

    def sample(self, rows: int, *, where: Where | None = None) -> Release:
        """Pay, draw, and hand over; ``where`` asks for rows of a sub-population, which is free on route N."""
        with self.sampling(rows, where=where) as release:
            release.settle()
            return release

    def sample_many(self, rows: int, *, files: int) -> list[Release]:
        """Several files, drawn one after the other; on route S each of them pays."""
        return [self.sample(rows) for _ in range(check_files(files))]

    @contextmanager
    def sampling(self, rows: int, *, where: Where | None = None) -> Iterator[Release]:
        """As :meth:`sample`, for callers who deliver the release themselves.

        The price is reserved before the draw and committed by ``release.settle()``, which :meth:`Release.save` calls
        just before the release appears, or at the end of the block. A failure before that gives the price back; a
        process that dies stays charged.
        """
        quote = self.quote(rows)
        part = None if where is None else where_codes(self.codebook, where)
        if part is not None:
            self._check_free()
            # refuse what the rules exclude before anything is paid
            self.codebook.allowed.within(public_part(self.codebook, part)[0])
        identity = str(uuid.uuid4())
        with self._paying(quote, identity) as settle:
            only = None
            if part is None:
                codes = self._draw(rows, quote.ledger)
            else:
                codes, only = draw_part(
                    self.codebook,
                    self._details,
                    part,
                    rows,
                    self._stream,
                    lambda number, own: self._draw_where(number, quote.ledger, own),
                )
            self._tell("decoding", 0, 1)
            sizes = sizes_of(self.codebook, self._people)
            table = decode_drawn(self.codebook, self._details, codes, self._stream, people=sizes, only=only)
            self._tell("decoding", 1, 1)
            yield Release(table=table, manifest=self._manifest(quote, identity, part), settle=settle)
            settle()  # the block ended well, so whoever had the release may have shown it

    def _check_free(self) -> None:
        """Refuse sub-populations where they are not free, before anything is paid."""
        if type(self)._draw_where is Fitted._draw_where:
            self._draw_where(0, Ledger(), {})

    @contextmanager
    def _paying(self, quote: Quote, identity: str | None = None) -> Iterator[Callable[[], None]]:
        """Reserve the price; what is yielded commits it, and leaving without having called it gives it back.

        A refusal that depends on perturbed tables stays charged.
        """
        if self._abandoned:
            raise RefusalError("this fit was abandoned after a failure, and its price given back; fit again.")
        reservation = self._reserve(quote)
        name = identity or str(uuid.uuid4())

        def settle() -> None:
            if reservation is not None and reservation not in self._settled:
                self._settled.append(reservation)  # first: a commit that fails must not be followed by a cancel
                reservation.commit(name)

        try:
            yield settle
        except RefusalError:
            # that nothing can be drawn is itself an answer about the perturbed tables: a free retry until something
            # shows would release what the threshold withholds
            settle()
            raise
        finally:
            if reservation is not None and reservation not in self._settled:
                reservation.cancel()
                self._held = None
                self._abandoned = self.recipe.route == "N"  # its noisy table was never paid for

    def _reserve(self, quote: Quote) -> Reservation | None:
        """Route N pays once for all its rows, route S every time."""
        if self._account is None:
            return None
        if self.recipe.route == "N" and (self._settled or self._held):
            return self._settled[0] if self._settled else self._held  # several files may be under way at once
        label = f"{self.recipe.name}, {quote.rows:,} rows"
        ledger, delta = owed(quote.ledger, quote.delta, self.codebook, self._account)
        self._held = self._account.reserve(ledger, label=label, delta=delta)
        return self._held

    def _manifest(self, quote: Quote, identity: str, part: Mapping[str, Sequence[int]] | None = None) -> Manifest:
        parameters, said = self.recipe.parameters(), tuple[str, ...]()
        if part is not None:
            parameters, said = part_facts(self.codebook, parameters, part)
        return Manifest(
            release_id=identity,
            method=self.recipe.name,
            route=self.recipe.route,
            parameters=parameters,
            rows=quote.rows,
            rows_origin=self.rows_origin,
            ledger=quote.ledger,
            delta=quote.delta,
            paper=quote.paper,
            codebook=self.codebook,
            secure=self._stream.is_secure,
            ancestor=self._ancestor,
            warnings=(*quote.warnings, *self.warnings, *said),
            account=NO_ACCOUNT if self._account is None else f"charged to the account of {self._account.dataset!r}",
        )

    def _tell(self, step: str, done: int, total: int) -> None:
        if self._report:
            self._report(step, done, total)

    def __repr__(self) -> str:
        return f"<{self.recipe.name} fitted to {len(self.codebook.names)} columns, counts withheld>"

    def __reduce__(self) -> str:
        raise TypeError("a fitted model is confidential; write what it samples, not the model.")
