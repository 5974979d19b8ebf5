"""One attempt at a large release, the first or a later one: what is paid once, kept, and continued after a crash.

The promise depends on the order of the steps. The charge is reserved before anything is drawn. Unfinished parts are
deleted unseen and drawn again from fresh streams. The release appears after its charge is committed. On route N the
released model is kept until the end, because perturbing the counts a second time would have to be paid again.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar

import pyarrow as pa

from understudy.errors import RefusalError, ReleaseError, StoppedError, UnderstudyError
from understudy.mechanisms.stream import Stream
from understudy.privacy.account import Account
from understudy.privacy.ledger import Ledger
from understudy.privacy.quote import Quote
from understudy.privacy.transaction import Payment, Point, paying
from understudy.release import Manifest
from understudy.release.workshop import Workshop
from understudy.synth.part_order import Order

Opened = TypeVar("Opened")
"""What the rows are read from: a source of one table, or of linked ones."""


@dataclass(frozen=True, kw_only=True)
class PartedRelease:
    """A release that is too large for memory: a folder of parts and its manifest."""

    folder: Path
    manifest: Manifest

    @property
    def statement(self) -> str:
        """The promise in plain words."""
        return self.manifest.statement


class PartedRun(ABC, Generic[Opened]):
    """What every release in parts does in the same way, whatever it draws."""

    def __init__(self, *, quote: Quote, order: Order, workshop: Workshop, account: Account | None) -> None:
        self._quote, self._order, self._workshop, self._account = quote, order, workshop, account
        self._payment: Payment | None = None

    @abstractmethod
    def _go(self, opened: Callable[[], Opened]) -> PartedRelease:
        """Everything that an earlier run has not done yet."""

    @abstractmethod
    def _choices(self) -> str:
        """The digest of what was chosen."""

    @abstractmethod
    def _manifest(self, payment: Payment, warnings: tuple[str, ...]) -> Manifest:
        """What was made of the parts that are there."""

    @property
    def is_charged(self) -> bool:
        """Whether an account was charged, by this run or an earlier one."""
        return self._payment is not None and self._payment.is_charged

    def go(self, opened: Callable[[], Opened]) -> PartedRelease:
        """Make the release, or say how to go on."""
        workshop = self._workshop
        try:
            return self._go(opened)
        except RefusalError:
            # an answer about perturbed tables is an answer: it stays charged, and there is nothing to resume
            workshop.abandon()
            raise
        except (OSError, pa.ArrowException, KeyboardInterrupt) as reason:
            raise self._interrupted(reason) from None
        except UnderstudyError:
            if not self.is_charged and not workshop.is_resumed:
                workshop.abandon()
            raise

    @contextmanager
    def _paying(self) -> Iterator[Payment]:
        """Reserve, unless an earlier run did: its charge is found by the name of the release and by this folder."""
        workshop, quote = self._workshop, self._quote
        with paying(
            self._account,
            quote,
            label=f"{quote.method}, {self._order.rows:,} {quote.subject.value}, release {workshop.release_id}",
            release_id=workshop.release_id,
            choices=self._choices(),
            resuming=workshop.claim(),
        ) as payment:
            self._payment = payment
            workshop.remember(charge=payment.charge)
            payment.drawing()
            payment.shown()  # parts on a disk may be seen: from here on the price stays
            yield payment

    def _refuse_other_price(self, ledger: Ledger) -> None:
        """Rows are drawn from the tables that were kept only if they cost what is stated of the release."""
        if _prices(ledger) != _prices(self._quote.ledger):
            raise ReleaseError(
                f"the tables in {str(self._workshop.folder)!r} (model.zip) were perturbed at another price than that "
                "of this release; they were exchanged. Put the file back, or remove the folder to give the release "
                "up: what it was charged stays charged."
            )

    def _keep_noisy(self, what: str, write: Callable[[], object]) -> None:
        """Write noisy tables down before rows are drawn from them: to perturb twice is to pay twice."""
        if self._workshop.receipts():
            raise ReleaseError(
                f"{str(self._workshop.folder)!r} holds rows that were drawn from {what}, which are gone; with other "
                "noise they would have to be paid for again. Put the file back, or remove the folder to give the "
                "release up: what it was charged stays charged."
            )
        try:
            write()
        except ReleaseError as reason:  # paid for, so it is an interruption and not an end
            raise OSError(str(reason)) from None

    def _finish(
        self, payment: Payment, warnings: tuple[str, ...], attachments: Mapping[str, pa.Table] | None = None
    ) -> PartedRelease:
        manifest = self._manifest(payment, warnings)
        payment.reached(Point.DRAWN)
        folder = self._workshop.finish(manifest, payment.commit, attachments)
        return PartedRelease(folder=folder, manifest=manifest)

    def _finished(self, payment: Payment) -> PartedRelease:
        """The last run died between its commit and the name of the release."""
        manifest = self._manifest(payment, self._workshop.warnings())
        return PartedRelease(folder=self._workshop.finished(payment.bought), manifest=manifest)

    def _mark(self, payment: Payment) -> dict[bytes, bytes]:
        """What every part says of itself."""
        return self._manifest(payment, ()).provenance.mark()

    def _stream(self) -> Stream:
        """What a fit chooses and perturbs by; a later run has another, see proofs/group_of_records.md."""
        return Stream.of_seed(self._order.seed)

    def _interrupted(self, reason: BaseException) -> UnderstudyError:
        """The error for the caller, with how to continue."""
        if not self.is_charged and not self._workshop.is_resumed:
            if self._workshop.has_counts:
                return _stopped_counting(reason, self._workshop)
            self._workshop.abandon()
            if isinstance(reason, KeyboardInterrupt):
                return StoppedError("interrupted; nothing was written and nothing was charged. Run it again.")
            return ReleaseError(f"the release could not be begun ({reason}); nothing was left behind.")
        return interrupted(reason, self._workshop, self._order, paid=self.is_charged)


def _stopped_counting(reason: BaseException, workshop: Workshop) -> UnderstudyError:
    """How to go on with a release that is not paid for yet, and of whose table a part was counted."""
    rest = (
        f"what was counted so far is kept in {str(workshop.folder)!r} (confidential, for its owner only), and nothing "
        "was charged. Run the same command again to go on, or delete that folder."
    )
    if isinstance(reason, KeyboardInterrupt):
        return StoppedError(f"interrupted; {rest}")
    return ReleaseError(f"the table could not be counted to its end ({reason}); {rest}")


def interrupted(reason: BaseException, workshop: Workshop, order: Order, *, paid: bool) -> UnderstudyError:
    """How to go on with a release of which some parts are there."""
    done = sum(receipt.rows for receipt in workshop.receipts().values())
    charged = " It is charged already and will not be charged again." if paid else ""
    rest = (
        f"{done:,} of {order.rows:,} {order.what} are safe in {str(workshop.folder)!r}. Run the same command again: it "
        f"goes on where this stopped.{charged}"
    )
    if isinstance(reason, KeyboardInterrupt):
        return StoppedError(f"interrupted; {rest}")
    why = getattr(reason, "strerror", None) or str(reason).splitlines()[0]
    remedy = "Free space first. " if "space" in why.lower() or "too large" in why.lower() else ""
    return ReleaseError(f"the release {str(workshop.target)!r} could not be finished ({why}). {remedy}{rest}")


@contextmanager
def drawing_free(workshop: Workshop, order: Order) -> Iterator[None]:
    """Rows of a released model: nothing is paid, and a run that was cut short goes on."""
    try:
        yield
    except RefusalError:
        workshop.abandon()
        raise
    except (OSError, pa.ArrowException, KeyboardInterrupt) as reason:
        raise interrupted(reason, workshop, order, paid=False) from None


def _prices(ledger: Ledger) -> list[dict[str, Any]]:
    """Its lines without the sentences that they rest on: another version may have said fewer of them."""
    return [{name: value for name, value in line.items() if name != "assumptions"} for line in ledger.to_list()]


def place_of(data: Any) -> str | None:
    """Where the rows are stored, to refuse another table when work continues. Kept only in the unfinished folder."""
    if not isinstance(data, str | Path):
        return None
    return str(data) if "://" in str(data) else str(Path(data).absolute())


def refuse_other_data(workshop: Workshop, data: Any) -> None:
    """Rows of two tables are never paid for as one."""
    place = place_of(data)
    if "data" in workshop.plan and workshop.plan["data"] != place:
        raise ReleaseError(
            f"{str(workshop.folder)!r} holds an unfinished release of other data "
            f"({workshop.plan['data'] or 'in memory'}); rows of two tables would be paid for as one. Give the same "
            "table, or remove the folder to give it up."
        )
    workshop.remember(data=place)


def terms_of(
    method: str, parameters: Mapping[str, Any], codebook: str, order: Order, account: Account | None, unknown: str
) -> dict[str, Any]:
    """What must be the same when work continues; where it runs may change."""
    return {
        "method": method,
        "parameters": dict(parameters),
        "rows": order.rows,
        "part_rows": order.part_rows,
        "codebook": codebook,
        "unknown": unknown,
        "randomness": "secure" if order.seed is None else f"seed {order.seed}",
        "account": None if account is None else {"dataset": account.dataset, "identity": account.identity},
    }
