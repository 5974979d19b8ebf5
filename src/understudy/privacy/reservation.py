"""A price that has been taken out of an account and waits for the name of the release that it pays for."""

import math
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from types import TracebackType
from typing import Self

from understudy.errors import BudgetError, ParameterError, UnderstudyError
from understudy.privacy.account_file import reading, writing
from understudy.privacy.guarantees import Guarantee

__all__ = ["ChargeState", "Reservation", "figure", "now", "plain_price", "worded"]


class ChargeState(StrEnum):
    """Where a charge stands; held and committed charges count, cancelled ones do not."""

    HELD = "held"
    COMMITTED = "committed"
    CANCELLED = "cancelled"


class Reservation:
    """A price taken out of the budget, to be committed or cancelled once.

    As a context manager it cancels when the block raises before anything can have left the program, that is
    before :meth:`output_begins` or :meth:`commit`; after that, and when the process dies, it stays charged.
    """

    def __init__(
        self, *, path: Path, patience: float, number: int, label: str, cost: Guarantee, total: Guarantee
    ) -> None:
        self.path = path
        self.patience = patience
        self.number = number
        self.label = label
        self.cost = cost
        """The price of this release alone."""
        self.total = total
        """The total of the account with this release in it."""
        self._may_have_left = False

    def __repr__(self) -> str:
        return f"<Reservation {self.number} {self.label!r}: {plain_price(self.cost)}>"

    def output_begins(self) -> None:
        """Say that something may leave the program from here on (a file, a page, a log): cancelling ends."""
        self._may_have_left = True

    def commit(self, release_id: str) -> None:
        """Record which release the price became; the same name again is harmless, another is refused."""
        self._may_have_left = True  # first: a failed commit must not be followed by a cancel
        release_id = worded("release_id", release_id, "2024-q4-public-use")
        self._settle(ChargeState.COMMITTED, release_id)

    def cancel(self) -> None:
        """Give the price back; allowed only when nothing left the program."""
        if self._may_have_left:
            raise BudgetError(
                f"reservation {self.number} ({self.label!r}) is past the point where output may have left "
                "the program, so its price stays. Commit it with the name of the release, or leave it held."
            )
        self._settle(ChargeState.CANCELLED, None)

    def _settle(self, state: ChargeState, release_id: str | None) -> None:
        with writing(self.path, self.patience) as connection:
            found = connection.execute(
                "SELECT state, release_id FROM charges WHERE number = ?", (self.number,)
            ).fetchone()
            if found is None:
                raise BudgetError(
                    f"reservation {self.number} is not in `{self.path}`; the file was replaced since. "
                    "Restore the account that holds it, because its price is spent."
                )
            if found[0] == ChargeState.HELD:
                connection.execute(
                    "UPDATE charges SET state = ?, release_id = ?, settled = ? WHERE number = ?",
                    (state.value, release_id, now(), self.number),
                )
            elif tuple(found) != (state.value, release_id):
                name = f" as {found[1]!r}" if found[1] is not None else ""
                asked = f" as {release_id!r}" if release_id is not None else ""
                raise BudgetError(
                    f"reservation {self.number} ({self.label!r}) was {found[0]}{name} already and cannot be "
                    f"{state.value}{asked}: a price is settled once. Reserve again for another release."
                )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is None:
            self._require_settled()
        elif not self._may_have_left:
            try:
                self.cancel()
            except UnderstudyError as failure:  # what went wrong first is what the user must see
                error.add_note(f"The reservation could not be cancelled and stays charged: {failure}")

    def _require_settled(self) -> None:
        with reading(self.path, self.patience) as connection:
            found = connection.execute("SELECT state FROM charges WHERE number = ?", (self.number,)).fetchone()
        if found is not None and found[0] == ChargeState.HELD:
            raise BudgetError(
                f"reservation {self.number} ({self.label!r}) was neither committed nor cancelled in its "
                "block; its price stays charged. Call commit(release_id) before the block ends."
            )


def figure(value: float) -> str:
    """A number short enough for a sentence."""
    return f"{value:.10g}"


def plain_price(price: Guarantee) -> str:
    """A price as part of a sentence."""
    epsilon, delta = getattr(price, "epsilon", math.inf), getattr(price, "delta", 0.0)
    return f"epsilon {figure(epsilon)}, delta {figure(delta)}"


def now() -> str:
    """The time, UTC, ISO 8601."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def worded(name: str, value: str, example: str) -> str:
    """The text itself, or an error when there is none."""
    if not isinstance(value, str) or not value.strip():
        raise ParameterError(f"`{name}` is {value!r}; it must be a few words. Try {example!r}.")
    return value
