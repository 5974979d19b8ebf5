"""Budgets of per-call models: charged before any noise is drawn, in one durable transaction, never above a cap.

A charge is one transaction (``purses.py``): the line of the question is written, then one conditional UPDATE takes the
price from the key's grant and one from the model's cap. If a condition fails, all of it is undone. Only after the
commit is noise drawn; the answer is stored before it is sent. So

* every answer that was sent is paid for, whenever a server crashes;
* if a server dies in between, the price is lost, and asking again pays for a new attempt;
* of two identical questions at one moment, the unique line lets one pay; the other waits for the stored answer.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

from sqlalchemy import Connection, Table, func, insert, select, update

from understudy.errors import BudgetError, ParameterError
from understudy.service.amounts import Amount, cap_of, epsilon_of, price_of
from understudy.service.purses import ABANDONED, Attempts, NotCovered, Purse, Row, take
from understudy.service.store import Store, now
from understudy.service.tables import answers, api_keys, cap_changes, grants, models


@dataclass(frozen=True, kw_only=True)
class Balance:
    """One cap and the spent part of it, in billionths of epsilon."""

    cap: int
    spent: int

    @property
    def left(self) -> int:
        """What may still be spent."""
        return self.cap - self.spent

    def to_dict(self) -> dict[str, float]:
        """In epsilon."""
        return {"cap": epsilon_of(self.cap), "spent": epsilon_of(self.spent), "remaining": epsilon_of(self.left)}


@dataclass(frozen=True, kw_only=True)
class Charged:
    """The result of a charge for several questions."""

    stored: dict[bytes, str]
    """Answers that exist already."""
    paid: dict[bytes, int]
    """Questions that were charged just now, and which attempt each is: draw, then :meth:`Budgets.settle`."""
    waiting: tuple[bytes, ...]
    """Questions that another request has paid for and not answered yet."""

    @classmethod
    def of(cls, asked: Sequence[bytes], lines: dict[bytes, Any], *, paid: dict[bytes, int]) -> "Charged":
        """From the lines of the questions, and which of them were paid for just now."""
        stored = {q: lines[q].answer for q in asked if q not in paid and lines[q].answer is not None}
        return cls(stored=stored, paid=paid, waiting=tuple(q for q in asked if q not in paid and q not in stored))


class SpentError(BudgetError):
    """A cap does not cover the charge; nothing was spent."""

    def __init__(self, *, key: Balance, model: Balance, asked: int) -> None:
        self.key, self.model, self.asked = key, model, asked
        super().__init__(
            f"this would cost epsilon {epsilon_of(asked):g}; the key has {epsilon_of(key.left):g} left, and the model "
            f"{epsilon_of(model.left):g} for all keys together. Nothing was spent. Ask fewer questions, repeat an "
            "earlier one (which is free), or ask the administrator for a larger budget."
        )


class NoGrantError(BudgetError):
    """The key may not spend on this model, or was revoked a moment ago."""


class Budgets:
    """Caps, spending and stored answers."""

    def __init__(self, store: Store, *, abandoned: float = ABANDONED) -> None:
        self._store = store
        self._attempts = Attempts(answers, abandoned=abandoned)

    def register(self, model_id: str, *, name: str, price: float | Fraction) -> None:
        """Make a per-call model known; its price never changes, because its id is its content."""
        amount = price_of(price)
        with self._store.writing() as connection:
            connection.execute(
                self._store.insert_if_absent(models),
                {"model_id": model_id, "name": name, "price": amount, "cap": None, "spent": 0},
            )
            connection.execute(update(models).where(models.c.model_id == model_id).values(name=name))
            kept = connection.execute(select(models.c.price).where(models.c.model_id == model_id)).scalar_one()
        if kept != amount:
            raise BudgetError(
                f"the model {name!r} costs epsilon {epsilon_of(amount):g} a call and the database says "
                f"{epsilon_of(kept):g}; one of the two was altered. Train the model again."
            )

    def check_cap(self, model_id: str, epsilon: float | Fraction) -> None:
        """Refuse a cap that :meth:`set_cap` would refuse."""
        cap = cap_of(epsilon)
        with self._store.reading() as connection:
            spent = self._model_row(connection, model_id).spent
        if spent > cap:
            raise _too_low(epsilon, spent)

    def set_cap(self, model_id: str, epsilon: float | Fraction, *, charged_to: str | None = None) -> None:
        """The cap over all keys; not below what is spent. ``charged_to`` is the identity of the account that paid."""
        cap = cap_of(epsilon)
        with self._store.writing() as connection:
            if charged_to is None:
                self._refuse_unpaid(connection, model_id, cap)
            done = connection.execute(
                update(models).where(models.c.model_id == model_id, models.c.spent <= cap).values(cap=cap)
            )
            if done.rowcount != 1:
                raise _too_low(epsilon, self._model_row(connection, model_id).spent)
            connection.execute(
                insert(cap_changes),
                {"changed": now(), "model_id": model_id, "key_id": None, "cap": cap, "dataset": charged_to},
            )

    def _refuse_unpaid(self, connection: Connection, model_id: str, cap: int) -> None:
        """Refuse a rise over what an account has paid for; a cap that no account ever paid for is nobody's promise."""
        present = connection.execute(select(models.c.cap).where(models.c.model_id == model_id)).scalar_one_or_none()
        ours = (cap_changes.c.model_id == model_id, cap_changes.c.key_id.is_(None), cap_changes.c.dataset.is_not(None))
        paid = connection.execute(select(func.max(cap_changes.c.cap)).where(*ours)).scalar_one()
        if paid is not None and cap > max(paid, present or 0):
            raise BudgetError(
                f"an account has paid for answers of this model up to epsilon {epsilon_of(paid):g}, and a cap of "
                f"{epsilon_of(cap):g} would allow more. Name the model's file and the account, which is charged for "
                "the rest: `understudy keys budget --model FILE --epsilon EPSILON --account ACCOUNT`."
            )

    @cached_property
    def database(self) -> str:
        """The name of the database, under which accounts pay for its caps."""
        return self._store.identity

    def was_charged_to(self, model_id: str, accounts: Sequence[str]) -> bool:
        """Whether one of these accounts paid for a cap of the model before the database had a name."""
        here = (cap_changes.c.model_id == model_id, cap_changes.c.dataset.in_(accounts))
        with self._store.reading() as connection:
            first = connection.execute(select(func.min(cap_changes.c.number)).where(*here)).scalar_one()
        return first is not None and first <= self._store.unnamed_changes

    def grant(self, key_id: str, model_id: str, epsilon: float | Fraction) -> None:
        """The cap of one key on one model; not below what it has spent."""
        cap = cap_of(epsilon)
        row = {"key_id": key_id, "model_id": model_id, "cap": cap, "spent": 0}
        here = _of(grants, key_id, model_id)
        with self._store.writing() as connection:
            self._model_row(connection, model_id)
            connection.execute(self._store.insert_if_absent(grants), row)
            done = connection.execute(update(grants).where(*here, grants.c.spent <= cap).values(cap=cap))
            if done.rowcount != 1:
                raise _too_low(epsilon, connection.execute(select(grants.c.spent).where(*here)).scalar_one())
            connection.execute(
                insert(cap_changes), {"changed": now(), "model_id": model_id, "key_id": key_id, "cap": cap}
            )

    def charge(self, key_id: str, model_id: str, questions: Sequence[bytes]) -> Charged:
        """Pay for every question that has no answer yet; all of them, or none and :class:`SpentError`."""
        distinct, here = sorted(set(questions)), _of(answers, key_id, model_id)
        with self._store.reading() as connection:
            lines = self._attempts.lines(connection, here, distinct)
        if all(question in lines and not self._attempts.is_payable(lines[question]) for question in distinct):
            return Charged.of(distinct, lines, paid={})
        line = {"key_id": key_id, "model_id": model_id, "attempts": 1}
        try:
            with self._store.writing() as connection:
                rows = [{**line, "question": question} for question in distinct]
                new = self._attempts.begin(connection, self._store.insert_if_absent, rows)
                paid = dict.fromkeys(new, 1)
                lines = self._attempts.lines(connection, here, distinct)
                for question in distinct:
                    if question not in paid and self._attempts.is_payable(lines[question]):
                        attempt = self._attempts.next(connection, here, lines[question])
                        paid |= {} if attempt is None else {question: attempt}
                if paid:
                    self._spend(connection, key_id, model_id, len(paid))
        except NotCovered as refused:
            raise self._refusal(key_id, model_id, refused.args[0].epsilon) from None
        return Charged.of(distinct, lines, paid=paid)

    def settle(self, key_id: str, model_id: str, answers_of: dict[bytes, tuple[int, str]]) -> dict[bytes, str]:
        """Store what was drawn, before it is sent; returns what is stored, which is what must be sent.

        An attempt that was given up as dead in the meantime does not overwrite the one that replaced it.
        """
        here = _of(answers, key_id, model_id)
        with self._store.writing() as connection:
            for question, (attempt, text) in sorted(answers_of.items()):
                connection.execute(self._attempts.unanswered(here, question, attempt).values(answer=text))
            lines = self._attempts.lines(connection, here, sorted(answers_of))
        return {question: line.answer for question, line in lines.items() if line.answer is not None}

    def stored(self, key_id: str, model_id: str, questions: Sequence[bytes]) -> dict[bytes, str]:
        """The answers that exist."""
        with self._store.reading() as connection:
            lines = self._attempts.lines(connection, _of(answers, key_id, model_id), sorted(set(questions)))
        return {question: line.answer for question, line in lines.items() if line.answer is not None}

    def balances(self, key_id: str) -> dict[str, tuple[Balance, Balance]]:
        """For each model that the key was granted: its own balance, and the model's."""
        query = (
            select(grants, models.c.cap.label("all_cap"), models.c.spent.label("all_spent"))
            .join(models, models.c.model_id == grants.c.model_id)
            .where(grants.c.key_id == key_id, models.c.cap.is_not(None))
        )
        with self._store.reading() as connection:
            rows = connection.execute(query).all()
        return {
            row.model_id: (Balance(cap=row.cap, spent=row.spent), Balance(cap=row.all_cap, spent=row.all_spent))
            for row in rows
        }

    def grants_of(self, model_id: str) -> dict[str, Balance]:
        """The balance of every key that was granted this model."""
        with self._store.reading() as connection:
            rows = connection.execute(
                select(grants).where(grants.c.model_id == model_id).order_by(grants.c.key_id)
            ).all()
        return {row.key_id: Balance(cap=row.cap, spent=row.spent) for row in rows}

    def model_balances(self) -> dict[str, tuple[str, Balance | None]]:
        """Name and balance of every per-call model; None while no cap was set."""
        with self._store.reading() as connection:
            rows = connection.execute(select(models).order_by(models.c.name)).all()
        return {
            row.model_id: (row.name, None if row.cap is None else Balance(cap=row.cap, spent=row.spent)) for row in rows
        }

    def faults(self) -> list[str]:
        """Where spending and the paid lines disagree; empty unless somebody altered the database."""
        attempts = func.sum(answers.c.attempts).label("attempts")
        by_key = select(answers.c.key_id, answers.c.model_id, attempts).group_by(answers.c.key_id, answers.c.model_id)
        with self._store.reading() as connection:
            lines = connection.execute(by_key).all()
            granted = connection.execute(select(grants)).all()
            known = connection.execute(select(models)).all()
        price = {model.model_id: model.price for model in known}
        paid = {(line.key_id, line.model_id): int(line.attempts) * price[line.model_id] for line in lines}
        totals = Counter[str]()
        for (_, model_id), amount in paid.items():
            totals[model_id] += amount
        faults = [
            f"key {grant.key_id} on model {grant.model_id}: {grant.spent} spent, the lines say otherwise"
            for grant in granted
            if grant.spent != paid.pop((grant.key_id, grant.model_id), 0)
        ]
        faults += [f"key {key} on model {model}: lines without a grant" for key, model in paid]
        faults += [
            f"model {model.model_id}: {model.spent} spent, the lines say {totals[model.model_id]}"
            for model in known
            if model.spent != totals[model.model_id]
        ]
        return faults

    def _spend(self, connection: Connection, key_id: str, model_id: str, times: int) -> None:
        price = Amount(epsilon=self._model_row(connection, model_id).price * times)
        own = Purse(table=grants, row=_of(grants, key_id, model_id))
        everybody = Purse(table=models, row=(models.c.model_id == model_id,))
        take(connection, (own, everybody), price, key_id=key_id)

    def _refusal(self, key_id: str, model_id: str, asked: int) -> BudgetError:
        with self._store.reading() as connection:
            row = self._model_row(connection, model_id)
            grant = connection.execute(select(grants).where(*_of(grants, key_id, model_id))).one_or_none()
            revoked = connection.execute(select(api_keys.c.revoked).where(api_keys.c.key_id == key_id)).scalar()
        if grant is None or row.cap is None or revoked is not None:
            return NoGrantError(
                "this key has no budget on this model, and every answer of it costs some. Nothing was spent. Ask the "
                "administrator to grant one (`understudy keys budget`)."
            )
        key, model = Balance(cap=grant.cap, spent=grant.spent), Balance(cap=row.cap, spent=row.spent)
        return SpentError(key=key, model=model, asked=asked)

    def _model_row(self, connection: Connection, model_id: str) -> Any:
        row = connection.execute(select(models).where(models.c.model_id == model_id)).one_or_none()
        if row is None:
            raise ParameterError(
                f"the database knows no per-call model {model_id[:40]!r}; name its file, or serve it once."
            )
        return row


def _of(table: Table, key_id: str, model_id: str) -> Row:
    """The rows of one key on one model."""
    return table.c.key_id == key_id, table.c.model_id == model_id


def _too_low(epsilon: float | Fraction, spent: int) -> ParameterError:
    return ParameterError(
        f"`epsilon` is {float(epsilon):g}, and {epsilon_of(spent):g} is spent already; a cap cannot take back what was "
        f"answered. Name at least {epsilon_of(spent):g}."
    )
