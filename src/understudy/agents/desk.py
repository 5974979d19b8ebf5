"""What the tools do: each is a public part, and where rows are needed a confidential part that has been paid for."""

import fcntl
import hashlib
import json
import math
import os
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from understudy.agents.log import HolderLog
from understudy.agents.offers import ANSWERS, CODEBOOKS, FOLDER, HOLDER, Book, Offered, Offers
from understudy.agents.phases import CLOSED, Told, confidential_phase, paced, public_phase
from understudy.errors import RefusalError, UnderstudyError
from understudy.facade import agents as about
from understudy.facade import answers, codebooks, forecasts, inference, releases, tables
from understudy.files import Access, make_empty, open_lock, write_file

if TYPE_CHECKING:
    from understudy.privacy.account import Account
    from understudy.privacy.quote import Quote

MOST_FILES = 200
"""Drafts that agents may leave in one folder."""
_TERMS = {"level": 0.95, "target": "population"}
_FIGURES = ("share", "mean", "total", "quantile", "table", "correlation", "linear", "logistic", "poisson")


@dataclass(kw_only=True, eq=False)
class Desk:
    """One data set, its account, and what is offered beside it."""

    folder: Path
    """Below the root: everything that is written lies here."""
    offers: Offers
    account: "Account"
    log: HolderLog
    person: str | None = None
    records: int | None = None
    """Id column and cap of priced drafts, where whole people are protected."""
    _has_failed: bool = False
    _rows: threading.Lock = field(default_factory=threading.Lock)

    @property
    def is_closed(self) -> bool:
        """Whether something failed while rows were open; kept in a file, because clients start servers as they like."""
        return self._has_failed or (self.folder / HOLDER / CLOSING).exists()

    # What is there

    def offered(self) -> dict[str, Any]:
        """Names, and what is left of the allowance."""
        with public_phase("offers", self.log):
            offers = self.offers
            data = None if offers.data is None else {"name": offers.data.name, "is_closed": self.is_closed}
            return {
                "data": data,
                "codebooks": [
                    {"name": book.name, "origin": book.origin, "can_answer": self._can_answer(book)}
                    for book in offers.books.values()
                ],
                "releases": [{"name": name, **offers.promises[name]} for name in offers.releases],
                "documents": sorted(offers.documents),
                "answers": [{"name": name, "question": text} for name, text in self._bought()],
                "budget": self._budget(),
            }

    def describe(self, *, codebook: str | None = None) -> dict[str, Any]:
        """The columns of a codebook."""
        with public_phase("describe", self.log):
            book = self.offers.book(codebook)
            return {
                "codebook": book.name,
                "can_answer": self._can_answer(book),
                "columns": about.described_codebook(book.codebook),
            }

    # Prices and prospects

    def quote_answer(
        self, *, question: str, epsilon: float, delta: float | None = None, codebook: str | None = None, **terms: Any
    ) -> dict[str, Any]:
        """The price of an answer, and whether it is covered."""
        with public_phase("quote", self.log):
            book = self.offers.book(codebook)
            quote = self._answer_quote(book, question, epsilon=epsilon, delta=delta, **terms)
            return {**self._priced(quote), "figures": quote.rows, "can_answer": self._can_answer(book)}

    def quote_draft(self, **plan: Any) -> dict[str, Any]:
        """The price of a draft, and what its thresholds will do."""
        with public_phase("quote", self.log):
            quote, outlook = self._draft_quote(**plan)
            return {**self._priced(quote), "outlook": outlook}

    def quote_release(
        self,
        *,
        rows: int,
        method: str = "marginals",
        codebook: str | None = None,
        options: Mapping[str, Any] | None = None,
        **price: Any,
    ) -> dict[str, Any]:
        """What a synthetic table would cost the holder, who alone can make one."""
        with public_phase("quote", self.log):
            book = self.offers.book(codebook)
            quote = tables.quote(book.codebook, rows, method, **self._options(method, options, price))
            return self._priced(quote)

    def forecast(
        self,
        *,
        rows_about: int,
        method: str = "marginals",
        codebook: str | None = None,
        error: float | None = None,
        wanted: str | None = None,
        options: Mapping[str, Any] | None = None,
        **price: Any,
    ) -> dict[str, Any]:
        """What a synthetic table would be worth; from the codebook and a public guess of its size alone."""
        with public_phase("forecast", self.log):
            book = self.offers.book(codebook)
            outlook = forecasts.forecast(
                book.codebook,
                rows_about,
                method,
                error=error,
                wanted=wanted,
                **self._options(method, options, price),
            )
            facts = plain(outlook.to_dict())
            return {"codebook": book.name, "words": facts.pop("words", outlook.lines()), "forecast": facts}

    # Releases

    def verify(self, *, release: str) -> dict[str, Any]:
        """Whether a release is what it says; of one that is not, nothing else."""
        with public_phase("verify", self.log):
            place = self._verifiable(release)
            try:
                verdict = releases.verify(place)
            except Exception as reason:
                self.log.failed(f"verify {release}", reason)
                return _NOT_VALID
            if not verdict.is_valid or verdict.total is None or not hasattr(verdict.total, "epsilon"):
                # what is wrong with a folder may be that rows of people lie in it
                self.log.say(f"verify {release}: it does not", problems=list(verdict.problems))
                return _NOT_VALID
            return {
                "is_valid": True,
                "what": verdict.what,
                "passed": list(verdict.passed),
                "notices": list(verdict.notices),
                "signed_by": verdict.signed_by,
                "promise": verdict.total.to_dict(),
            }

    def infer(self, *, release: str, question: str | None = None, **asked: Any) -> dict[str, Any]:
        """Figures of a release, with intervals; free."""
        with public_phase("infer", self.log):
            offered = self.offers.release(release)
            figures = [name for name in _FIGURES if asked.get(name)]
            if (question is None) == (not figures):
                raise Told(f"ask by `question`, or by some of {', '.join(_FIGURES)}.")
            with offered.seal.kept(f"the release {release!r}"):
                if question is not None:
                    extra = [name for name in asked if name not in ("level", "target")]
                    if extra:
                        raise Told(f"`{extra[0]}` belongs to the other figures; write it into the question.")
                    told = answers.ask_release(offered.path, question, **asked)
                else:
                    told = inference.infer(offered.path, **asked)
            facts: dict[str, Any] = plain(told.to_dict())
            return facts

    # Rows, at a price

    def answer(
        self, *, question: str, epsilon: float, delta: float | None = None, codebook: str | None = None, **terms: Any
    ) -> dict[str, Any]:
        """One question on the real rows. Asked again in the same words and terms, it is read from its folder."""
        with public_phase("answer", self.log):
            book = self.offers.book(codebook)
            quote = self._answer_quote(book, question, epsilon=epsilon, delta=delta, **terms)
            target = self._answer_folder(book, quote, **terms)
            data = self._data()
            if book.unknown is None:
                raise Told(
                    f"the codebook {book.name!r} was not held against the rows, so it serves for prices and forecasts "
                    "only. The holder can offer it when the server is started again, which checks the rows."
                )
        with self._alone():  # a second call for the same answer waits, and finds it
            with public_phase("answer", self.log):
                if target.is_dir():
                    return self._told(target, price={"epsilon": 0.0, "delta": 0.0})
                self._check_open()
                self._check_covered(quote)
                price = self._price(quote)
            with (
                data.seal.kept("the data set"),
                confidential_phase(f"answer {question!r}", self.log, self._close),
            ):
                answers.answer(
                    data.path,
                    book.codebook,
                    question,
                    epsilon=epsilon,
                    delta=delta,
                    account=self.account,
                    out=target,
                    neighbours=about.relation_of_account(self.account),
                    unknown=book.unknown,
                    table=self.offers.table,
                    **terms,
                )
        with public_phase("answer", self.log):
            return self._told(target, price=price)

    # Drafts

    def draft_from_document(
        self, *, document: str, name: str, keep: Sequence[str] = (), drop: Sequence[str] = ()
    ) -> dict[str, Any]:
        """A codebook from a document alone."""
        with public_phase("draft", self.log):
            offered = self.offers.document(document)
            target = self._new_book(name)
            with offered.seal.kept(f"the document {document!r}"):
                drafted = codebooks.draft(offered.path, target, keep=keep, drop=drop, from_document=True)
            self._keep(Book(name=name, codebook=drafted.codebook, origin="document", unknown=None))
            left_out = dict(drafted.left_out)
        return {**self.describe(codebook=name), "left_out": left_out}

    def draft_at_price(self, *, name: str, **plan: Any) -> dict[str, Any]:
        """A codebook whose levels and edges are found at a price."""
        with public_phase("draft", self.log):
            target = self._new_book(name)
            quote, _ = self._draft_quote(**plan)
            data = self._data()
        with self._alone():
            with public_phase("draft", self.log):
                self._new_book(name)  # another server may have drafted it meanwhile
                self._check_open()
                self._check_covered(quote)
                price = self._price(quote)
            with data.seal.kept("the data set"), confidential_phase(f"draft {name}", self.log, self._close):
                drafted = codebooks.draft(
                    data.path,
                    target,
                    person=self.person,
                    cap=self.records,
                    account=self.account,
                    table=self.offers.table,
                    **plan,
                )
        with public_phase("draft", self.log):
            self._keep(Book(name=name, codebook=drafted.codebook, origin="paid", unknown=about.PAID_UNKNOWN))
            return {**self.describe(codebook=name), "charged": price, "budget": self._budget()}

    def draft_for_holder(self, *, name: str, drop: Sequence[str] = ()) -> dict[str, Any]:
        """A free draft, which quotes the data: a file of the holder. The reply is the same whatever came of it."""
        with public_phase("draft", self.log):
            data = self._data()
            target = self.folder / HOLDER / f"{name}.toml"
            taken = Told(f"there is a file of the name {name!r} already; choose another name.")
            if target.exists():
                raise taken
            self._check_room(self.folder / HOLDER)
            try:
                write_file(
                    target, _NO_DRAFT, Access.OWNER, new=True
                )  # else a name still free would tell that it failed
            except FileExistsError:
                raise taken from None
        with self._alone():
            try:
                with paced(), data.seal.kept("the data set"):
                    codebooks.draft(data.path, drop=drop, table=self.offers.table).codebook.save(target)
            except Exception as reason:  # whether it worked is a fact about the rows that nobody paid for
                self.log.failed(f"draft for the holder {name}", reason)
        return {
            "file": f"{FOLDER}/{HOLDER}/{name}.toml",
            "words": "the holder finds the draft there, or in the confidential log why there is none. It is made from "
            "the rows and costs nothing, so nothing of it can be told here.",
        }

    # Parts

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Rows are opened by one call at a time, of all servers of this root.

        Of two that buy the same answer at once, the second would find its folder taken while rows are open, and that
        failure would close the data set.
        """
        with self._rows:
            handle = open_lock(self.folder / HOLDER / _LOCK)
            try:
                fcntl.flock(handle, fcntl.LOCK_EX)  # ends with the process, however that ends
                self.log.say("the data set is asked")  # where that cannot be written down, nothing is charged or opened
                yield
            finally:
                os.close(handle)

    def _can_answer(self, book: Book) -> bool:
        return book.unknown is not None and self.offers.data is not None and not self.is_closed

    def _data(self) -> Offered:
        if self.offers.data is None:
            raise Told("the holder offers no data set here; codebooks, documents and releases can be used.")
        return self.offers.data

    def _check_open(self) -> None:
        if self.is_closed:
            raise Told(CLOSED)

    def _close(self) -> None:
        self._has_failed = True
        try:
            make_empty(self.folder / HOLDER / CLOSING)
        except FileExistsError:
            return
        except OSError as reason:
            self.log.failed("close the data set for later servers", reason)

    def _options(self, method: str, options: Mapping[str, Any] | None, price: Mapping[str, Any]) -> dict[str, Any]:
        """Options of a method that name no file."""
        if method not in about.promising_methods():
            raise Told(
                f"there is no method {method[:80]!r} with a price; choose among {_listed(about.promising_methods())}."
            )
        known = about.plain_options(method)
        strangers = [name for name in options or {} if name not in known]
        if strangers:
            raise Told(f"{method} has no option {strangers[0]!r} that may be set here; it has {_listed(known)}.")
        return {**(options or {}), **price}

    def _answer_quote(self, book: Book, question: str, **terms: Any) -> "Quote":
        how = {**_TERMS, **terms}
        return about.answer_quote(self.account, book.codebook, self.offers.provenance, question, **how)

    def _draft_quote(
        self,
        *,
        epsilon: float,
        delta: float,
        bins: int = 8,
        drop: Sequence[str] = (),
        levels: Sequence[str] = (),
    ) -> "tuple[Quote, list[str]]":
        if self.offers.header is None:
            raise Told(
                "the holder has not said that the names in the header of the data are public, on which a draft at a "
                "price rests. Draft from a document."
            )
        return about.draft_quote(
            self.offers.header,
            self.offers.provenance,
            self.account,
            epsilon=epsilon,
            delta=delta,
            bins=bins,
            drop=drop,
            levels=levels,
            person=self.person,
            cap=self.records,
        )

    def _budget(self) -> dict[str, float]:
        return about.left_of(self.account).to_dict()

    def _price(self, quote: "Quote") -> dict[str, float]:
        return about.owed_price(self.account, quote)

    def _priced(self, quote: "Quote") -> dict[str, Any]:
        if not hasattr(quote.total, "epsilon"):
            raise RefusalError("this has no epsilon: it would not be differentially private. Choose another method.")
        return {
            "price": self._price(quote),
            "is_covered": about.is_covered(self.account, quote),
            "budget": self._budget(),
            "statement": quote.statement,
            "notes": list(quote.warnings),
        }

    def _check_covered(self, quote: "Quote") -> None:
        if about.is_covered(self.account, quote):
            return
        price, left = self._price(quote), self._budget()
        raise Told(
            f"this would cost epsilon {price['epsilon']:.6g}, delta {price['delta']:.3g}, and epsilon "
            f"{left['epsilon']:.6g}, delta {left['delta']:.3g} is left. Nothing was charged. Ask for less, use what "
            "was answered before, or ask a release, which is free."
        )

    def _answers(self) -> list[Path]:
        return sorted(path for path in (self.folder / ANSWERS).iterdir() if not path.name.startswith("."))

    def _bought(self) -> list[tuple[str, str]]:
        """Names and questions of all answers; one that somebody damaged is left out."""
        bought = []
        for path in self._answers():
            try:
                bought.append((path.name, about.read_answer(path)["question"]))
            except UnderstudyError as reason:
                self.log.failed(f"read {path.name}", reason)
        return bought

    def _answer_folder(self, book: Book, quote: "Quote", **terms: Any) -> Path:
        """Where this very answer lies once it is bought: the question in its own words, its terms and its price."""
        how = {**_TERMS, **terms}
        asked = [book.codebook.digest, [entry.to_dict() for entry in quote.own], quote.delta, sorted(how.items())]
        mark = hashlib.sha256(json.dumps(asked, default=str, sort_keys=True).encode()).hexdigest()
        return self.folder / ANSWERS / f"answer-{mark[:16]}"

    def _told(self, folder: Path, *, price: Mapping[str, float]) -> dict[str, Any]:
        """An answer as it stands in its folder, which holds nothing but what was paid for; ``price`` of this call."""
        return {
            "name": folder.name,
            "charged": dict(price),
            **plain(about.read_answer(folder)),
            "budget": self._budget(),
        }

    def _verifiable(self, name: str) -> Path | str:
        """A release that is offered, or an answer that was bought."""
        bought = {path.name: path for path in self._answers()}
        return bought[name] if name in bought else self.offers.release(name).path

    def _new_book(self, name: str) -> Path:
        target = self.folder / CODEBOOKS / f"{name}.toml"
        if name in self.offers.books or target.exists():
            raise Told(f"there is a codebook {name!r} already; choose another name.")
        self._check_room(target.parent)
        return target

    def _check_room(self, folder: Path) -> None:
        if sum(1 for _ in folder.iterdir()) >= MOST_FILES:
            raise Told(f"agents may leave {MOST_FILES} drafts; the holder must take some away.")

    def _keep(self, book: Book) -> None:
        self.offers.books[book.name] = book


_LOCK = "rows.lock"
CLOSING = "closed"
"""A file beside the log: while it is there, no row is opened."""
_NO_DRAFT = "# No codebook: it is being drafted, or it could not be. The confidential log says why.\n"
_NOT_VALID = {
    "is_valid": False,
    "words": "it does not verify. What is wrong may quote the data, so the holder finds it in the confidential log.",
}


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names)


def plain(value: Any) -> Any:
    """As JSON can hold it: a number that is none is null."""
    if isinstance(value, Mapping):
        return {str(name): plain(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [plain(each) for each in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
