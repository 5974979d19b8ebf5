"""Budgets of answers on data sets: of keys inside projects inside data sets, and the books of what was paid.

What is asked, and how it is charged, is in ``questions.py``.
"""

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Select, Table, insert, select, update

from understudy.errors import ParameterError
from understudy.parameters import Text
from understudy.service.amounts import Amount
from understudy.service.store import Store, now
from understudy.service.tables import Status, cap_changes, data_sets, members, payments, projects, questions

NAME = Text(
    words="1 to 64 small letters, digits, hyphens and underscores, first a letter or digit",
    example="readmissions-2026",
    admitted=lambda name: isinstance(name, str) and re.fullmatch("[a-z0-9][a-z0-9_-]{0,63}", name) is not None,
)


@dataclass(frozen=True, kw_only=True)
class Budget:
    """One cap and the spent part of it."""

    cap: Amount
    spent: Amount

    @property
    def left(self) -> Amount:
        """What may still be spent."""
        return self.cap - self.spent

    def to_dict(self) -> dict[str, dict[str, float]]:
        """For people to read."""
        return {name: amount.to_dict() for name, amount in (*vars(self).items(), ("remaining", self.left))}


@dataclass(frozen=True, kw_only=True)
class Membership:
    """A key inside a project, and the budgets above it."""

    key_id: str
    project: str
    data: str
    key: Budget
    whole: Budget
    """That of the project."""
    everybody: Budget
    """That of the data set, over all projects."""

    def remaining(self) -> dict[str, dict[str, float]]:
        """What is left at each level."""
        return {
            "key": self.key.left.to_dict(),
            "project": self.whole.left.to_dict(),
            "data": self.everybody.left.to_dict(),
        }


class Projects:
    """Data sets, projects and their members."""

    def __init__(self, store: Store) -> None:
        self.store = store

    # Budgets

    def check_data_cap(self, data: str, cap: Amount, *, account: str) -> None:
        """Refuse a cap that :meth:`set_data_cap` would refuse."""
        NAME.check("data", data)
        with self.store.reading() as connection:
            row = connection.execute(select(data_sets).where(data_sets.c.data == data)).one_or_none()
        if row is not None:
            _check_account(row, account)
            _check_spent(row, cap)

    def set_data_cap(self, data: str, cap: Amount, *, account: str) -> None:
        """The cap over all projects, which ``account`` (its identity) has paid for; not below what is spent."""
        NAME.check("data", data)
        row = {"data": data, "account": account, **_EMPTY}
        with self.store.writing() as connection:
            connection.execute(self.store.insert_if_absent(data_sets), row)
            kept = connection.execute(select(data_sets).where(data_sets.c.data == data)).one()
            _check_account(kept, account)
            self._set(connection, data_sets, (data_sets.c.data == data,), cap, f"data {data}", account=account)

    def create(self, project: str, data: str, cap: Amount) -> None:
        """A new project on a data set."""
        NAME.check("project", project)
        self.budget_of(data)
        row = {"project": project, "data": data, "created": now(), **_EMPTY}
        with self.store.writing() as connection:
            made = connection.execute(self.store.insert_if_absent(projects).returning(projects.c.project), [row]).all()
            if not made:
                raise ParameterError(
                    f"there is a project {project!r} already; choose another name, or change its cap with `understudy "
                    "projects cap`."
                )
            self._set(connection, projects, (projects.c.project == project,), cap, f"project {project}")

    def set_cap(self, project: str, cap: Amount) -> None:
        """The cap of a project; not below what is spent."""
        self._project(project)
        with self.store.writing() as connection:
            self._set(connection, projects, (projects.c.project == project,), cap, f"project {project}")

    def join(self, project: str, key_id: str, cap: Amount) -> None:
        """Let a key ask for a project, up to a cap of its own; again, to change the cap."""
        data = self._project(project).data
        row = {"key_id": key_id, "data": data, "project": project, **_EMPTY}
        here = (members.c.key_id == key_id, members.c.data == data)
        with self.store.writing() as connection:
            connection.execute(self.store.insert_if_absent(members), row)
            kept = connection.execute(select(members.c.project).where(*here)).scalar_one()
            if kept != project:
                raise ParameterError(
                    f"the key {key_id} asks for the project {kept!r} on {data!r} already; a key asks for one project "
                    "of each data set. Make another key."
                )
            self._set(connection, members, here, cap, f"project {project}", key_id=key_id)

    def budget_of(self, data: str) -> Budget:
        """The budget of a data set over all projects."""
        with self.store.reading() as connection:
            row = connection.execute(select(data_sets).where(data_sets.c.data == data)).one_or_none()
        if row is None:
            raise ParameterError(
                f"the data set {data[:80]!r} has no cap over all projects, and there is no default for privacy. Set "
                "one with `understudy projects cap`, which charges it to the account."
            )
        return _budget(row)

    def account_of(self, data: str) -> str | None:
        """Identity of the account that paid for a data set's cap."""
        with self.store.reading() as connection:
            return connection.execute(select(data_sets.c.account).where(data_sets.c.data == data)).scalar_one_or_none()

    def all(self, data: str | None = None) -> list[dict[str, Any]]:
        """Every project with its budget and its members, as plain data."""
        with self.store.reading() as connection:
            found = connection.execute(_only(select(projects), projects, data).order_by(projects.c.project)).all()
            inside = connection.execute(_only(select(members), members, data).order_by(members.c.key_id)).all()
        return [
            {
                "project": row.project,
                "data": row.data,
                "created": row.created,
                **_budget(row).to_dict(),
                "members": [
                    {"key_id": member.key_id, **_budget(member).to_dict()}
                    for member in inside
                    if member.project == row.project
                ],
            }
            for row in found
        ]

    def membership(self, key_id: str, data: str) -> Membership | None:
        """The project that a key asks for on a data set, with all budgets."""
        with self.store.reading() as connection:
            own = connection.execute(
                select(members).where(members.c.key_id == key_id, members.c.data == data)
            ).one_or_none()
            if own is None:
                return None
            whole = connection.execute(select(projects).where(projects.c.project == own.project)).one()
            everybody = connection.execute(select(data_sets).where(data_sets.c.data == data)).one()
        return Membership(
            key_id=key_id,
            project=own.project,
            data=data,
            key=_budget(own),
            whole=_budget(whole),
            everybody=_budget(everybody),
        )

    # Books

    def ledger(self, data: str) -> list[dict[str, Any]]:
        """Every cap that was set for a data set and its projects, and every payment, oldest first."""
        names = [f"data {data}", *(f"project {line['project']}" for line in self.all(data))]
        caps = select(cap_changes).where(cap_changes.c.model_id.in_(names)).order_by(cap_changes.c.number)
        paid = (
            select(payments, questions.c.project, questions.c.text, questions.c.price, questions.c.price_delta)
            .add_columns(questions.c.status, questions.c.attempts)
            .join(questions, questions.c.answer_id == payments.c.answer_id)
            .where(questions.c.data == data)
            .order_by(payments.c.paid, payments.c.answer_id, payments.c.attempt)
        )
        with self.store.reading() as connection:
            changes, lines = connection.execute(caps).all(), connection.execute(paid).all()
        written = [
            {
                "when": change.changed,
                "what": "cap",
                "of": change.model_id,
                "key_id": change.key_id,
                **Amount(epsilon=change.cap, delta=change.delta or 0).to_dict(),
                "account": change.dataset,
            }
            for change in changes
        ]
        written += [
            {
                "when": line.paid,
                "what": "answer",
                "of": f"project {line.project}",
                "key_id": line.key_id,
                **Amount(epsilon=line.price, delta=line.price_delta).to_dict(),
                "answer": line.answer_id,
                "attempt": line.attempt,
                "question": line.text,
                "answered": line.status == Status.ANSWERED and line.attempt == line.attempts,
            }
            for line in lines
        ]
        return sorted(written, key=lambda entry: entry["when"])

    def faults(self, data: str | None = None) -> list[str]:
        """Where spending and payments disagree, perhaps on one data set; empty unless somebody altered the database."""
        with self.store.reading() as connection:
            lines = select(
                payments.c.key_id.label("payer"),
                *(questions.c[name] for name in ("answer_id", "data", "project", "price", "price_delta")),
            ).join(questions, questions.c.answer_id == payments.c.answer_id)
            paid = connection.execute(_only(lines, questions, data)).all()
            rows = {table: connection.execute(_only(select(table), table, data)) for table in _BUDGETS}
            purses = [
                *((("key", row.key_id, row.data), row) for row in rows[members]),
                *((("project", row.project), row) for row in rows[projects]),
                *((("data", row.data), row) for row in rows[data_sets]),
            ]
            attempted = select(questions.c.answer_id, questions.c.attempts)
            counted = connection.execute(_only(attempted, questions, data)).all()
        attempts = Counter(line.answer_id for line in paid)
        sums: Counter[tuple[Any, ...]] = Counter()
        for line in paid:
            for purse in (("key", line.payer, line.data), ("project", line.project), ("data", line.data)):
                sums[*purse, "epsilon"] += line.price
                sums[*purse, "delta"] += line.price_delta
        faults = [
            f"{' '.join(purse)}: {row.spent} and {row.spent_delta} spent, the payments say otherwise"
            for purse, row in purses
            if (row.spent, row.spent_delta) != (sums[*purse, "epsilon"], sums[*purse, "delta"])
        ]
        known = {purse for purse, _ in purses}
        faults += [f"{' '.join(purse[:-1])}: payments without a budget" for purse in sums if purse[:-1] not in known]
        faults += [
            f"question {row.answer_id}: {row.attempts} attempts, {attempts[row.answer_id]} payments"
            for row in counted
            if row.attempts != attempts[row.answer_id]
        ]
        return faults

    def _project(self, project: str) -> Any:
        with self.store.reading() as connection:
            row = connection.execute(select(projects).where(projects.c.project == project)).one_or_none()
        if row is None:
            raise ParameterError(f"there is no project {project[:80]!r}; `understudy projects list` shows them.")
        return row

    def _set(
        self,
        connection: Connection,
        table: Table,
        here: Iterable[Any],
        cap: Amount,
        what: str,
        *,
        key_id: str | None = None,
        account: str | None = None,
    ) -> None:
        rows = tuple(here)
        done = connection.execute(
            update(table)
            .where(*rows, table.c.spent <= cap.epsilon, table.c.spent_delta <= cap.delta)
            .values(cap=cap.epsilon, cap_delta=cap.delta)
        )
        if done.rowcount != 1:
            _check_spent(connection.execute(select(table).where(*rows)).one(), cap)
        connection.execute(
            insert(cap_changes),
            {
                "changed": now(),
                "model_id": what,
                "key_id": key_id,
                "cap": cap.epsilon,
                "dataset": account,
                "delta": cap.delta,
            },
        )


_BUDGETS = (members, projects, data_sets)
_EMPTY = {"cap": 0, "cap_delta": 0, "spent": 0, "spent_delta": 0}


def _only(query: "Select[Any]", table: Table, data: str | None) -> "Select[Any]":
    return query if data is None else query.where(table.c.data == data)


def _budget(row: Any) -> Budget:
    return Budget(
        cap=Amount(epsilon=row.cap, delta=row.cap_delta), spent=Amount(epsilon=row.spent, delta=row.spent_delta)
    )


def _check_account(row: Any, account: str) -> None:
    if row.account != account:
        raise ParameterError(
            f"the cap of the data set {row.data!r} was paid for by another account ({row.account[:12]}…); what is "
            "spent would count in neither. Name that account, or give the data set another name."
        )


def _check_spent(row: Any, cap: Amount) -> None:
    spent = _budget(row).spent
    if not cap.covers(spent):
        raise ParameterError(
            f"the cap would be {cap.words}, and {spent.words} is spent already; a cap cannot take back what was "
            f"answered. Name at least {spent.words}."
        )
