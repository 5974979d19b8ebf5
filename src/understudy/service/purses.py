"""The one way of charging: the line of the question is written, then the price is taken from every purse above it.

All of it is one transaction. A line has one payer at a time: a paid attempt that nobody answered is dead after a
while, and then one of those who ask again takes it over by paying once more.
"""

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement, Connection, Table, Update, exists, select, update

from understudy.service.amounts import Amount
from understudy.service.tables import api_keys

ABANDONED = 15.0  # seconds after which a paid attempt without an answer counts as dead; drawing takes milliseconds
_MOST_NOTICED = 10_000

Row = tuple[ColumnElement[bool], ...]
"""Conditions that pick rows of a table."""


class NotCovered(Exception):
    """A condition of the charge did not hold; its argument is what was asked for. Undoes the whole transaction."""


@dataclass(frozen=True, kw_only=True)
class Purse:
    """One row with caps and what is spent of them; of epsilon alone, or of delta too."""

    table: Table
    row: Row

    def taking(self, price: Amount) -> Update:
        """The change that takes the price, if the caps cover it at that very moment."""
        columns = self.table.c
        change = update(self.table).where(*self.row, columns.spent + price.epsilon <= columns.cap)
        taken = {"spent": columns.spent + price.epsilon}
        if "spent_delta" in columns:
            change = change.where(columns.spent_delta + price.delta <= columns.cap_delta)
            taken["spent_delta"] = columns.spent_delta + price.delta
        else:
            assert price.delta == 0, "a purse of epsilon alone pays for nothing that has a delta"
        return change.values(taken)


def take(connection: Connection, purses: Iterable[Purse], price: Amount, *, key_id: str) -> None:
    """The price out of every purse in their order, by a key that is not revoked; or nothing and :class:`NotCovered`.

    Purses are changed after all lines and always from the narrowest to the widest, so that no two charges wait for
    each other in a circle.
    """
    alive = exists(select(api_keys.c.key_id).where(api_keys.c.key_id == key_id, api_keys.c.revoked.is_(None)))
    for purse in purses:
        if connection.execute(purse.taking(price).where(alive)).rowcount != 1:
            raise NotCovered(price)


class Attempts:
    """Paid attempts at the questions of one table, which has ``question``, ``attempts``, ``since`` and ``answer``."""

    def __init__(self, table: Table, *, abandoned: float = ABANDONED) -> None:
        self._table = table
        self.abandoned = abandoned
        self._noticed: dict[tuple[bytes, int], float] = {}  # unanswered attempts, and when we saw each first

    def lines(self, connection: Connection, row: Row, questions: Sequence[bytes]) -> dict[bytes, Any]:
        """The lines of these questions, by question."""
        asked = self._table.c.question.in_(questions)
        found = connection.execute(select(self._table).where(*row, asked)).all()
        return {bytes(line.question): line for line in found}

    def is_payable(self, line: Any) -> bool:
        """Never paid; or paid, never answered, and too old for anybody to be still at it.

        The clock of the server that paid may have been wrong, or ours may have been set back since: then the line seems
        young for a long time. So an attempt that we have seen unanswered for long enough, by a clock that nobody sets,
        is old as well.
        """
        if line.answer is not None:
            return False
        if line.attempts == 0:
            return True
        attempt, moment = (bytes(line.question), line.attempts), time.monotonic()
        if len(self._noticed) >= _MOST_NOTICED:
            seen = list(self._noticed.items())  # at once: other threads notice too
            self._noticed = {known: since for known, since in seen if moment - since < self.abandoned}
        first = self._noticed.setdefault(attempt, moment)
        return bool(line.since < time.time() - self.abandoned or moment - first > self.abandoned)

    def begin(self, connection: Connection, put: Callable[[Table], Any], rows: Sequence[dict[str, Any]]) -> list[bytes]:
        """Questions whose lines did not exist; a rival's line is waited for, and then is not new."""
        fresh = [{**row, "since": time.time(), "answer": None} for row in rows]
        made = connection.execute(put(self._table).returning(self._table.c.question), fresh)
        return [bytes(question) for (question,) in made]

    def next(self, connection: Connection, row: Row, line: Any, **more: Any) -> int | None:
        """Take the next attempt at a question, which is then to be paid for; only one of several rivals gets it."""
        change = self.unanswered(row, line.question, line.attempts)
        done = connection.execute(change.values(attempts=line.attempts + 1, since=time.time(), **more))
        return int(line.attempts) + 1 if done.rowcount == 1 else None

    def unanswered(self, row: Row, question: bytes, attempt: int) -> Update:
        """A change of the line of a question, if this very attempt at it has no answer yet."""
        columns = self._table.c
        return update(self._table).where(
            *row, columns.question == question, columns.attempts == attempt, columns.answer.is_(None)
        )
