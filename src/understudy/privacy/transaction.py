"""The one way to pay: reserve, draw, show or commit, and give back only what nobody saw.

::

    with paying(account, quote, label="marginals, 10,000 rows") as payment:
        ...                      # counts may be read; a failure here gives the price back
        payment.drawing()        # from here on a failure may tell something about the draw
        ...
        payment.commit(digest)   # the price has bought these bytes; now they may appear

What becomes of the price when the block raises:

- before ``drawing``: it is given back.
- after it: an interrupt says nothing about what was drawn, which is destroyed unseen, so it is given back. Everything
  else may depend on the draw, and an answer is an answer: a refusal, a bug, and a disk or memory that is full, since
  the size of a file tells of what is in it. The price stays.
- after ``shown`` or ``commit``: it stays, whatever happens. What a caller could have looked at is spent.
- a process that dies leaves the charge held, which counts as spent.

A charge buys one set of bytes: ``commit`` writes their digest into the account. A run that comes back to its charge
(``resuming``) goes on where only the charge is held, and may finish exactly those bytes where it is committed.
"""

import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from enum import StrEnum

from understudy.errors import BudgetError, RefusalError, UnderstudyError
from understudy.interrupts import interrupts_held
from understudy.privacy.account import Account, Charge, ChargeState, Reservation
from understudy.privacy.quote import Quote

NO_ACCOUNT = "none: this release was charged to no account, so nobody keeps track of what else the data paid for"

CHARGED: ContextVar[Callable[[Charge], object]] = ContextVar("CHARGED", default=lambda charge: None)
"""Told of each charge as soon as it is made: whoever runs a job can say later which charge was its own."""


class Point(StrEnum):
    """Where a payment can be struck; tests strike at each of them, for every command that pays."""

    RESERVED = "reserved"
    DRAWING = "drawing"
    DRAWN = "drawn"
    COMMITTING = "committing"
    COMMITTED = "committed"


@dataclass(frozen=True, kw_only=True)
class Claim:
    """Who may go on with the charge of an interrupted run, which is found by its label."""

    held: tuple[str, ...]
    """What that run, or the one before it, left behind; nothing for a first run."""
    fresh: str
    """What takes its place."""


@dataclass(kw_only=True, eq=False)
class Payment:
    """A price on its way from the account to what it buys; without an account, only the order of things."""

    release_id: str
    charged_as: str
    """The name under which the account has it."""
    words: str = NO_ACCOUNT
    """Who paid, for a manifest."""
    account: Account | None = None
    looked: bool = False
    """Whether what was chosen may have been chosen after a confidential look."""
    _reservation: Reservation | None = field(default=None, init=False)
    _is_drawing: bool = field(default=False, init=False)
    _is_shown: bool = field(default=False, init=False)
    _is_given_back: bool = field(default=False, init=False)

    @classmethod
    def free(
        cls,
        *,
        words: str = NO_ACCOUNT,
        release_id: str | None = None,
        charged_as: str | None = None,
        looked: bool = False,
    ) -> "Payment":
        """For what costs nothing more: rows of tables that were paid for, or methods without a promise."""
        name = release_id or str(uuid.uuid4())
        return cls(release_id=name, charged_as=charged_as or name, words=words, looked=looked)

    @property
    def charge(self) -> int | None:
        """Number of the charge in its account."""
        return None if self._reservation is None else self._reservation.charge.number

    @property
    def bought(self) -> str | None:
        """The digest of the bytes that this charge bought, where it is committed already."""
        return None if self._reservation is None else self._reservation.charge.digest

    @property
    def is_committed(self) -> bool:
        """Whether the account has it as committed."""
        return self._reservation is not None and self._reservation.charge.state is ChargeState.COMMITTED

    @property
    def is_charged(self) -> bool:
        """Whether an account counts it."""
        return self._reservation is not None and not self._is_given_back

    def drawing(self) -> None:
        """Say that what comes now depends on the private draw."""
        self._is_drawing = True
        self.reached(Point.DRAWING)

    def shown(self) -> None:
        """Say that somebody may have seen something: from here on the price stays."""
        self._is_drawing = self._is_shown = True

    def commit(self, digest: str | None) -> None:
        """The price has bought the bytes with this digest; the same again is harmless, another is refused."""
        self.shown()  # first: a commit that fails, or whose answer is lost, must not be followed by a refund
        self.reached(Point.COMMITTING)
        if self._reservation is not None:
            self._reservation.commit(self.release_id, digest)
        self.reached(Point.COMMITTED)

    def reached(self, point: Point) -> None:
        """Nothing happens here; tests strike here."""

    def _end(self, error: BaseException) -> None:
        """Give back what nobody saw; anything else stays, and is settled if it can be."""
        if self._reservation is None or self.is_committed:
            return
        interrupted = isinstance(error, KeyboardInterrupt)
        try:
            if self._is_shown or (self._is_drawing and not interrupted):
                # what was shown may be gone on with, and a commit may have arrived: such a charge stays as it is
                if not self._is_shown or isinstance(error, RefusalError):
                    self._reservation.commit(self.release_id, None)
                if not interrupted:
                    error.add_note("What it would have cost stays charged.")
                return
            self._reservation.cancel()
            self._is_given_back = True
        except UnderstudyError as failure:  # what went wrong first is what the user must see
            error.add_note(f"The charge could not be settled and stays: {failure}")


def still_owed(account: Account, quote: Quote) -> Quote:
    """The quote without earlier purchases that this account has paid for already."""
    bought = [part for purchase in quote.bought for part in purchase.parts or (purchase,)]
    unpaid = (purchase for purchase in bought if not account.has_paid(purchase.name, purchase.ledger))
    return replace(quote, bought=tuple(unpaid))


@contextmanager
def paying(
    account: Account | None,
    quote: Quote,
    *,
    label: str,
    release_id: str | None = None,
    pays_for: str | None = None,
    choices: str | None = None,
    resuming: Claim | None = None,
) -> Iterator[Payment]:
    """Reserve the price of ``quote``; see the module for what follows.

    ``pays_for`` names a thing that is paid for bit by bit (:meth:`Account.paid_for`), ``choices`` is the digest of what
    was chosen (:func:`~understudy.privacy.account.digest_of_choices`).
    """
    name = release_id or str(uuid.uuid4())
    words = NO_ACCOUNT if account is None else f"charged to the account of {account.dataset!r}"
    payment = Payment(release_id=name, charged_as=name, words=words, account=account)
    try:
        if account is not None:
            with interrupts_held():  # or an interrupt could come between the charge and the block that gives it back
                owed = still_owed(account, quote)
                if resuming is not None:
                    payment._reservation = account.resume(
                        owed.ledger, label=label, claims=resuming.held, fresh=resuming.fresh
                    )
                if payment._reservation is not None:
                    payment.shown()  # what an earlier run showed is spent, whatever becomes of this one
                else:
                    payment._reservation = account.reserve(
                        owed.ledger,
                        label=label,
                        delta=owed.delta,
                        whole=replace(quote, files=1).ledger,  # as each of them states it
                        pays_for=pays_for,
                        choices=choices,
                        claim=None if resuming is None else resuming.fresh,
                        files=quote.files,
                    )
                payment.looked = payment._reservation.looked
                CHARGED.get()(payment._reservation.charge)
        payment.reached(Point.RESERVED)
        yield payment
        if payment._reservation is not None and not payment.is_committed:
            raise BudgetError(
                f"charge {payment.charge} ({label!r}) was not committed in its block, so its price stays charged. "
                "Call commit(digest) before the block ends; this is a fault of the caller."
            )
    except BaseException as error:
        with interrupts_held():
            payment._end(error)
        raise
