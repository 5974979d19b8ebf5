"""Everything between a question on a data set and its answer: try, quote, put on record, pay, draw, store.

Nothing is drawn before it is paid for, and nothing but the draw touches the rows: so every refusal, its words and its
place in the order of things are the same whatever the rows hold.
"""

import asyncio
import json
import logging
import math
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from understudy.answers.product import Answer
from understudy.errors import ParameterError, RefusalError
from understudy.mechanisms.stream import Stream
from understudy.service.data_sets import ALWAYS, EXCEPTIONS, DataSet, Prepared, Terms
from understudy.service.logs import EventLog, places_of
from understudy.service.problems import Problem
from understudy.service.projects import Membership, Projects
from understudy.service.questions import RULES, Asked, NoMemberError, Questions, UncoveredError
from understudy.service.store import Store, now
from understudy.service.tables import Status

if TYPE_CHECKING:
    from understudy.infer.inference import Figure
    from understudy.service.keys import ApiKey

Value = TypeVar("Value")
_PATIENCE = 20.0  # seconds that a request waits for its answer; it goes on without the request, and can be asked for
_PLANNING = 15.0  # seconds that it waits until its question is understood and priced
_STEP = 0.05
_WORKERS, _PLANNERS = 4, 2
WAITING = "A steward has to decide; ask for its status later. Nothing is charged while it waits."
UNDER_WAY = (
    "it is paid for and being answered; ask again in a moment, which is free. Should its server have died, its price "
    "is lost, and asking again ten minutes later pays again."
)
BUSY = (
    "the question could not be read and priced in a minute: it is a hard one, or many are asked at once. Nothing was "
    "charged. What was begun goes on and is remembered; ask again in a moment, or ask something simpler."
)
LOST = (
    "the answer could not be drawn; the price stays charged, because a failure may tell something about the data. "
    "Asking again pays again. The log has the kind and the place of the fault."
)


@dataclass(frozen=True, kw_only=True)
class Told:
    """What is said of a question."""

    line: Any
    charged: bool
    """Whether this very request paid for it."""
    member: Membership | None


@dataclass(frozen=True, kw_only=True)
class Understood:
    """A question with its price, what the rules make of it and why, and what the release says to it, as JSON."""

    prepared: Prepared
    status: Status
    words: str
    synthetic: str


class AnswerDesk:
    """Questions on the data sets of one application."""

    def __init__(self, store: Store, data: Mapping[str, DataSet], *, projects: Projects, log: EventLog) -> None:
        self.data, self.projects, self._log = data, projects, log
        self.questions = Questions(projects)
        self._secret = store.secret
        self._stream, self._stream_lock = Stream.from_system(), threading.Lock()
        # never shut down: Python waits for its threads at the end, and what is being drawn was paid for
        self._workers = ThreadPoolExecutor(_WORKERS, thread_name_prefix="answers")
        self._planners = ThreadPoolExecutor(_PLANNERS, thread_name_prefix="plans")

    async def planned(self, work: Callable[..., Value], *given: Any) -> Value:
        """What is worked out of a question before it has a price, in threads of its own and for so long.

        A hard formula so holds up neither draws nor those who ask for something else. No row is read here, so that to
        give up tells nothing of the rows.
        """
        try:
            return await asyncio.wait_for(asyncio.wrap_future(self._planners.submit(work, *given)), _PLANNING)
        except TimeoutError:
            raise Problem("busy", BUSY, headers={"Retry-After": "20"}) from None

    def try_out(self, data: DataSet, text: str, terms: Mapping[str, Any]) -> dict[str, Any]:
        """The question on the release, at no price."""
        if data.release is None:
            raise Problem(
                "no-release", f"the data set {data.name!r} has no release to try questions on; ask for a quote."
            )
        prepared = self._prepared(data, text, {"epsilon": 1.0, **terms})  # a price refuses what no answer could have
        figures = data.tried(prepared.question, prepared.plan)
        return {"data": data.name, "question": prepared.question.text, "figures": plain_figures(figures)}

    def quote(self, data: DataSet, text: str, terms: Mapping[str, Any]) -> dict[str, Any]:
        """The price, and what the rules say; reads no data."""
        prepared = self._prepared(data, text, terms)
        status, words = self._verdict(data, prepared)
        return {
            "data": data.name,
            "question": prepared.question.text,
            "kind": prepared.question.kind,
            "columns": list(prepared.question.columns),
            "price": prepared.price.to_dict(),
            "statement": prepared.stated.statement,
            "notes": list(prepared.stated.warnings),
            "review": status.value,
            "words": words,
        }

    async def ask(self, key: "ApiKey", data: DataSet, text: str, terms: Mapping[str, Any]) -> Told:
        """Put the question on record, and answer it if it may be answered."""
        loop = asyncio.get_running_loop()
        understood = await self.planned(self._understood, data, text, terms)
        told, drawing = await loop.run_in_executor(self._workers, self._bought, key, data, understood)
        if drawing is not None:
            await asyncio.wait({asyncio.wrap_future(drawing)}, timeout=_PATIENCE)
        line = await self._settled(told.line)
        member = await loop.run_in_executor(None, self.projects.membership, key.key_id, data.name)
        return Told(line=line, charged=told.charged, member=member)

    async def _settled(self, line: Any) -> Any:
        """The line once nobody is at it, or after a while as it is."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + _PATIENCE
        while True:
            fresh = await loop.run_in_executor(None, self.questions.find, line.answer_id)
            assert fresh is not None, "a question that was put on record stays there"
            under_way = fresh.status == Status.APPROVED and fresh.attempts > 0
            if not under_way or loop.time() > deadline:
                return fresh
            await asyncio.sleep(_STEP)

    def _prepared(self, data: DataSet, text: str, terms: Mapping[str, Any]) -> Prepared:
        try:
            return data.prepare(text, Terms(**terms))
        except (ParameterError, RefusalError) as fault:
            raise Problem("bad-question", str(fault)) from None

    def _understood(self, data: DataSet, text: str, terms: Mapping[str, Any]) -> Understood:
        """All that is worked out of a question before it is put on record."""
        prepared = self._prepared(data, text, terms)
        status, words = self._verdict(data, prepared)
        synthetic = json.dumps(plain_figures(data.tried(prepared.question, prepared.plan)))
        return Understood(prepared=prepared, status=status, words=words, synthetic=synthetic)

    def _verdict(self, data: DataSet, prepared: Prepared) -> tuple[Status, str]:
        """What the rules make of a question, and why."""
        if data.review == ALWAYS:
            return Status.ASKED, ""
        broken = "; ".join(data.broken_rules(prepared))
        if not broken:
            return Status.APPROVED, ""
        return (Status.ASKED if data.review == EXCEPTIONS else Status.DECLINED), f"By the rules: {broken}."

    def _bought(self, key: "ApiKey", data: DataSet, understood: Understood) -> "tuple[Told, Future[None] | None]":
        """What is told so far; and where it was paid for, the draw, which goes on whatever becomes of the request."""
        member = self.projects.membership(key.key_id, data.name)
        if member is None:
            raise Problem("no-budget", str(NoMemberError()))
        prepared, status, words = understood.prepared, understood.status, understood.words
        asked = Asked(
            question=self._mark(data, member, prepared),
            text=prepared.question.text,
            terms=json.dumps({name: getattr(prepared.plan, name) for name in ("epsilon", "delta", "level", "target")}),
            price=prepared.price,
            synthetic=understood.synthetic,
            status=status,
            words=words,
        )
        line = self.questions.put(member, asked)
        if line.decided_by == RULES and line.attempts == 0 and line.status != status:
            line = self.questions.judge_again(line, status, words)  # the rules were changed since
        attempt = None
        if line.status in (Status.APPROVED, Status.FAILED):
            if not data.is_there:  # what nobody could draw is not paid for
                self._log.say("data away", level=logging.ERROR, data=data.name)
                raise Problem(
                    "data-away", f"the rows of {data.name!r} cannot be reached now; this request was charged nothing."
                )
            try:
                attempt = self.questions.charge(member, line)
            except UncoveredError as refused:
                raise Problem(
                    "budget-exhausted",
                    str(refused),
                    more={"remaining": refused.member.remaining(), "price": refused.asked.to_dict()},
                ) from None
            except NoMemberError as refused:
                raise Problem("no-budget", str(refused)) from None
        drawing = None if attempt is None else self._workers.submit(self._drawn, data, line, prepared, attempt)
        return Told(line=line, charged=attempt is not None, member=member), drawing

    def _mark(self, data: DataSet, member: Membership, prepared: Prepared) -> bytes:
        """All that makes two questions the same: project, canonical words, codebook, terms and price.

        The price follows from the others, unless the release or the program changed since: then it is a new question,
        because a line is always charged at the price that it was put on record with.
        """
        plan, price = prepared.plan, prepared.price
        terms = json.dumps([plan.epsilon, plan.delta, plan.level, plan.target, price.epsilon, price.delta])
        words = prepared.question.digest(data.book)
        return self._secret.mac("answer", member.project.encode(), words.encode(), terms.encode())

    def _drawn(self, data: DataSet, line: Any, prepared: Prepared, attempt: int) -> None:
        """Draw and store what was paid for; a failure is stored too, without its words, which may hold a value."""
        try:
            figures = data.draw(prepared.plan, self._fresh_stream())
            answer = answer_of(line, prepared, figures, data.tried(prepared.question, prepared.plan))
            text = json.dumps(finite(answer.to_dict()), allow_nan=False)
        except Exception as error:
            self._log.say(
                "answer failed",
                level=logging.ERROR,
                answer=line.answer_id,
                error=type(error).__name__,
                places=places_of(error),
            )
            text = None
        self.questions.settle(line, attempt, text)

    def _fresh_stream(self) -> Stream:
        """A stream of this draw's own: one cipher must not be advanced by two threads."""
        with self._stream_lock:
            return self._stream.spawn()


def answer_of(line: Any, prepared: Prepared, figures: "tuple[Figure, ...]", synthetic: "tuple[Figure, ...]") -> Answer:
    """The answer as it leaves; how far the synthetic figures were off is post-processing of what was paid for."""
    return Answer.of(
        prepared.plan,
        figures,
        answer_id=line.answer_id,
        created=now(),
        synthetic=synthetic or None,
        quote=prepared.stated,
    )


def plain_figures(figures: "tuple[Figure, ...]") -> list[dict[str, Any]]:
    """Figures as plain data."""
    return [finite(figure.to_dict()) for figure in figures]


def finite(value: Any) -> Any:
    """As JSON can hold it: a number that is none is null."""
    if isinstance(value, dict):
        return {name: finite(each) for name, each in value.items()}
    if isinstance(value, list):
        return [finite(each) for each in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
