"""Two phases, and what may be said of an error in each: where it was raised decides, never what it says.

In the *public* phase nothing is open but what the agent sent, public codebooks, releases that were verified, and the
account. A :class:`ParameterError` or :class:`RefusalError` from there is a function of these, and is quoted: it helps
the agent to ask better; so is a :class:`MissingExtraError`. Errors of other kinds speak of files and go to the log.

In the *confidential* phase rows are open. Whatever is raised there, of whatever kind, goes to the log, and the agent
hears one fixed sentence. That it failed is a bit about the rows which nobody paid for, so the data set is closed until
the holder opens it again: one bit, once. A file says so, because clients start servers as often as they like. Two
outcomes do not depend on rows: the account refused (:class:`BudgetError` is raised by prices alone), and a paid draft
that shows nothing, which is an answer that was charged (:class:`EmptyDraftError`).

The time that rows are open is rounded up to whole seconds, whatever comes of it, so that it tells little of the table.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from understudy.agents.log import HolderLog
from understudy.errors import (
    AccountError,
    BudgetError,
    EmptyDraftError,
    MissingExtraError,
    ParameterError,
    RefusalError,
    UnderstudyError,
)

CLOSED = (
    "the data set is closed: something failed while its rows were open, and each further failure would tell something "
    "about them. What is public and what was paid for can still be used. The holder finds the reason in the "
    "confidential log, and opens it again by removing the file `closed` beside the log and starting the server again."
)
REFUSED = "the account refuses the price, because something else was charged meanwhile. Ask `offers` what is left."
EMPTY = (
    "no column has anything to show at this price. That is an answer about the data, so its price stays charged. Ask "
    "with a larger epsilon, or draft from a document."
)


PACE = 1.0
"""Seconds to whose multiples the time that rows are open is rounded up."""


class Told(Exception):
    """A refusal whose words may leave the house."""


@contextmanager
def public_phase(what: str, log: HolderLog) -> Iterator[None]:
    """For everything that opens no row."""
    try:
        yield
    except Told:
        raise
    except (ParameterError, RefusalError, MissingExtraError) as reason:
        raise Told(str(reason)) from None
    except UnderstudyError as reason:
        reference = log.failed(what, reason)
        raise Told(
            f"a file that the holder offered could not be used; the holder finds the reason under {reference} in the "
            "confidential log."
        ) from None
    except Exception as reason:
        raise Told(_mistake(log.failed(what, reason))) from None


@contextmanager
def confidential_phase(what: str, log: HolderLog, close: Callable[[], object]) -> Iterator[None]:
    """For whatever opens rows; ``close`` is called after any failure that may depend on them."""
    try:
        with paced():
            yield
    except EmptyDraftError as reason:
        log.failed(what, reason)
        raise Told(EMPTY) from None
    except AccountError as reason:
        raise Told(_mistake(log.failed(what, reason))) from None
    except BudgetError as reason:
        log.failed(what, reason)
        raise Told(REFUSED) from None
    except BaseException as reason:
        close()
        log.failed(what, reason)
        raise Told(CLOSED) from None


@contextmanager
def paced() -> Iterator[None]:
    """Take a whole number of seconds."""
    began = time.monotonic()
    try:
        yield
    finally:
        time.sleep(until_next(time.monotonic() - began))


def until_next(seconds: float) -> float:
    """How long until the next whole multiple of the pace.

    >>> until_next(0.25), until_next(1.0), until_next(2.5)
    (0.75, 1.0, 0.5)
    """
    return PACE - seconds % PACE


def _mistake(reference: str) -> str:
    return (
        f"the server could not do this, for a reason that the holder finds under {reference} in the confidential log. "
        "Nothing more can be said here."
    )
