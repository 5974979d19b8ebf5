"""Questions on data sets: put on record at no price, decided, paid for, drawn, and answered once.

A question is asked, approved or declined; an approved one is charged in one transaction (``purses.py``): the next
attempt at it, then the key's part, the project and the data set. Only after the commit is anything drawn, and the
answer is stored before it is sent. So every answer that was sent is paid for, whenever a server dies; what died in
between is lost, and asking again pays again. The same question of one project, on the same terms, is one line: its
stored answer is free for all keys of the project.
"""

import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import insert, select, update

from understudy.errors import BudgetError, ParameterError
from understudy.parameters import Text
from understudy.service.amounts import Amount
from understudy.service.projects import Membership, Projects
from understudy.service.purses import Attempts, NotCovered, Purse, take
from understudy.service.store import now
from understudy.service.tables import Status, api_keys, data_sets, members, payments, projects, questions

ABANDONED = 600.0
"""Seconds after which a paid attempt without an answer counts as dead: counting a large table takes minutes."""
MOST_WORDS = 2_000
RULES = "rules"
"""Who decided, where no person did."""
_WORDS = Text(
    words=f"1 to {MOST_WORDS:,} characters that tell the analyst why",
    example="Ask for larger groups.",
    admitted=lambda words: isinstance(words, str) and 1 <= len(words.strip()) <= MOST_WORDS and "\x00" not in words,
)


@dataclass(frozen=True, kw_only=True)
class Asked:
    """A question on its way to the record."""

    question: bytes
    """Mark of everything that makes two questions the same."""
    text: str
    terms: str
    """Epsilon, delta, level and target as they were asked for, as JSON."""
    price: Amount
    synthetic: str
    """What the release says, as JSON."""
    status: Status
    words: str
    """Why, where a rule has decided."""


class UncoveredError(BudgetError):
    """A cap does not cover an answer; nothing was spent."""

    def __init__(self, member: Membership, asked: Amount) -> None:
        self.member, self.asked = member, asked
        super().__init__(
            f"this would cost {asked.words}; the key has {member.key.left.words} left, its project "
            f"{member.whole.left.words}, and the data set {member.everybody.left.words} for all projects together. "
            "Nothing was spent. Ask with a smaller epsilon, or ask the steward for a larger budget."
        )


class NoMemberError(BudgetError):
    """The key is in no project on this data set, or was revoked a moment ago."""

    def __init__(self) -> None:
        super().__init__(
            "this key is in no project on this data set, and every answer costs some of a project's budget. Nothing "
            "was spent. Ask the steward to add it (`understudy projects add`)."
        )


class Questions:
    """Questions of the members of projects."""

    def __init__(self, projects: Projects, *, abandoned: float = ABANDONED) -> None:
        self._projects, self._store = projects, projects.store
        self._attempts = Attempts(questions, abandoned=abandoned)

    def put(self, member: Membership, asked: Asked) -> Any:
        """Put a question on record; the same question of the project keeps its first line, which is returned."""
        row = {
            "answer_id": secrets.token_hex(10),
            "project": member.project,
            "data": member.data,
            "key_id": member.key_id,
            "question": asked.question,
            "text": asked.text,
            "terms": asked.terms,
            "price": asked.price.epsilon,
            "price_delta": asked.price.delta,
            "status": asked.status.value,
            "words": asked.words,
            "synthetic": asked.synthetic,
            "asked": now(),
            "decided": None if asked.status is Status.ASKED else now(),
            "decided_by": None if asked.status is Status.ASKED else RULES,
            "attempts": 0,
        }
        here = (questions.c.project == member.project,)
        with self._store.reading() as connection:
            known = self._attempts.lines(connection, here, [asked.question])
        if not known:
            with self._store.writing() as connection:
                self._attempts.begin(connection, self._store.insert_if_absent, [row])
                known = self._attempts.lines(connection, here, [asked.question])
        return known[asked.question]

    def find(self, answer_id: str) -> Any | None:
        """A question by its id."""
        if "\x00" in answer_id:  # PostgreSQL takes no such text
            return None
        with self._store.reading() as connection:
            return connection.execute(select(questions).where(questions.c.answer_id == answer_id)).one_or_none()

    def charge(self, member: Membership, line: Any) -> int | None:
        """Pay for the next attempt at an approved question: its number, or None where there is nothing to pay for.

        There is none while another request is at it, when it has been answered, and before it was approved.
        """
        price = Amount(epsilon=line.price, delta=line.price_delta)
        may = questions.c.status.in_((Status.APPROVED, Status.FAILED))
        try:
            with self._store.writing() as connection:
                fresh = connection.execute(
                    select(questions).where(questions.c.answer_id == line.answer_id, may)
                ).one_or_none()
                if fresh is None or not (fresh.status == Status.FAILED or self._attempts.is_payable(fresh)):
                    return None
                here = (questions.c.answer_id == line.answer_id, questions.c.status == fresh.status)
                attempt = self._attempts.next(connection, here, fresh, status=Status.APPROVED.value)
                if attempt is None:
                    return None
                connection.execute(
                    insert(payments),
                    {"answer_id": line.answer_id, "attempt": attempt, "key_id": member.key_id, "paid": now()},
                )
                take(connection, _purses(member), price, key_id=member.key_id)
        except NotCovered:
            raise self._refusal(member, price) from None
        return attempt

    def settle(self, line: Any, attempt: int, answer: str | None) -> Any:
        """Store what was drawn before it is sent, or that nothing could be; returns the line as it is stored.

        An attempt that was given up as dead in the meantime does not overwrite the one that replaced it.
        """
        status = Status.FAILED if answer is None else Status.ANSWERED
        here = (questions.c.answer_id == line.answer_id,)
        with self._store.writing() as connection:
            change = self._attempts.unanswered(here, line.question, attempt)
            connection.execute(change.values(answer=answer, status=status.value))
            return connection.execute(select(questions).where(*here)).one()

    def queue(self, data: Sequence[str], status: Status = Status.ASKED, *, most: int = 200) -> list[Any]:
        """Questions on these data sets that wait (or have another status), oldest first."""
        picked = (
            select(questions)
            .where(questions.c.data.in_(data), questions.c.status == status.value)
            .order_by(questions.c.asked, questions.c.answer_id)
            .limit(most)
        )
        with self._store.reading() as connection:
            return list(connection.execute(picked).all())

    def decide(self, answer_id: str, *, approve: bool, words: str = "", by: str) -> Any:
        """Approve a question, or decline it with words; one that was paid for or answered stays as it is."""
        if not approve:
            _WORDS.check("words", words)
        status = Status.APPROVED if approve else Status.DECLINED
        open_ones = (Status.ASKED, Status.DECLINED) if approve else (Status.ASKED, Status.APPROVED)
        with self._store.writing() as connection:
            done = connection.execute(
                update(questions)
                .where(
                    questions.c.answer_id == answer_id,
                    questions.c.attempts == 0,
                    questions.c.status.in_(open_ones),
                )
                .values(status=status.value, words=words.strip(), decided=now(), decided_by=by)
            )
            line = connection.execute(select(questions).where(questions.c.answer_id == answer_id)).one_or_none()
        if line is None:
            raise ParameterError(f"there is no question {answer_id[:40]!r}; `understudy review list` shows the ids.")
        if done.rowcount != 1:
            raise ParameterError(
                f"the question {answer_id} is {line.status}"
                f"{' and paid for' if line.attempts else ''}; only what waits can be decided."
            )
        return line

    def judge_again(self, line: Any, status: Status, words: str) -> Any:
        """What the rules say now of a question that they decided before and nobody has paid for."""
        here = (questions.c.answer_id == line.answer_id,)
        with self._store.writing() as connection:
            connection.execute(
                update(questions)
                .where(*here, questions.c.attempts == 0, questions.c.decided_by == RULES)
                .values(status=status.value, words=words, decided=now())
            )
            return connection.execute(select(questions).where(*here)).one()

    def _refusal(self, member: Membership, price: Amount) -> BudgetError:
        with self._store.reading() as connection:
            revoked = connection.execute(select(api_keys.c.revoked).where(api_keys.c.key_id == member.key_id)).scalar()
        fresh = self._projects.membership(member.key_id, member.data)
        return NoMemberError() if fresh is None or revoked is not None else UncoveredError(fresh, price)


def _purses(member: Membership) -> tuple[Purse, ...]:
    return (
        Purse(table=members, row=(members.c.key_id == member.key_id, members.c.data == member.data)),
        Purse(table=projects, row=(projects.c.project == member.project,)),
        Purse(table=data_sets, row=(data_sets.c.data == member.data,)),
    )
