"""Addresses of answers on data sets: what there is, try, quote, ask, look up, review, and the public page."""

import json
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from understudy.answers.product import Answer
from understudy.errors import ParameterError
from understudy.service.amounts import epsilon_of
from understudy.service.asking import AnswerDesk, Told
from understudy.service.bodies import read_json
from understudy.service.data_sets import DataSet
from understudy.service.page import Page
from understudy.service.problems import Problem, shortened
from understudy.service.records import record, waiting
from understudy.service.watch import seen_of

if TYPE_CHECKING:
    from understudy.service.desk import Desk

At = Callable[[str, str], Callable[[Callable[[Request], Awaitable[Response]]], Any]]
Reply = Callable[[Any], Response]

MOST_BYTES = 64 * 1024  # 2,000 characters may be written as 12 bytes each
_MOST_LEVELS = 200
_TERMS = ("level", "target")
_PRICE = ("epsilon", "delta")


def add_answer_routes(at: At, json_reply: Reply, desk: "Desk") -> None:
    """Put the addresses of answers on the application."""
    answers = desk.answers
    assert answers is not None
    _add_questions(at, json_reply, desk, answers)
    _add_review(at, json_reply, desk, answers)
    _add_records(at, json_reply, desk, answers)
    _add_pages(at, desk, answers)


def _add_questions(at: At, json_reply: Reply, desk: "Desk", answers: AnswerDesk) -> None:
    @at("GET", "/v1/data")
    async def every(request: Request) -> Response:
        return json_reply({"data": [_summary(data) for data in answers.data.values()]})

    @at("GET", "/v1/data/{name}")
    async def one(request: Request) -> Response:
        key, data = await desk.admit_to_data(request, "answer", request.path_params["name"])
        member = await run_in_threadpool(answers.projects.membership, key.key_id, data.name)
        budget = None if member is None else {"project": member.project, "remaining": member.remaining()}
        return json_reply({**_summary(data), **_described(data), "budget": budget})

    @at("POST", "/v1/data/{name}/try")
    async def try_out(request: Request) -> Response:
        _, data = await desk.admit_to_data(request, "answer", request.path_params["name"])
        text, terms = _question(await read_json(request, most_bytes=MOST_BYTES), _TERMS)
        return json_reply(await answers.planned(answers.try_out, data, text, terms))

    @at("POST", "/v1/data/{name}/quote")
    async def quote(request: Request) -> Response:
        _, data = await desk.admit_to_data(request, "answer", request.path_params["name"])
        text, terms = _priced(await read_json(request, most_bytes=MOST_BYTES))
        return json_reply(await answers.planned(answers.quote, data, text, terms))

    @at("POST", "/v1/data/{name}/answer")
    async def answer(request: Request) -> Response:
        key, data = await desk.admit_to_data(request, "answer", request.path_params["name"])
        text, terms = _priced(await read_json(request, most_bytes=MOST_BYTES))
        told = await answers.ask(key, data, text, terms)
        seen_of(request).cost = cost = epsilon_of(told.line.price) if told.charged else 0.0
        if told.charged or told.line.answer is not None:
            desk.metrics.answered(model=data.name, how="paid" if told.charged else "stored", rows=1, epsilon=cost)
        return json_reply(record(told))


def _add_review(at: At, json_reply: Reply, desk: "Desk", answers: AnswerDesk) -> None:
    @at("GET", "/v1/review")
    async def queue(request: Request) -> Response:
        key = await desk.admit(request, "review")
        names = [name for name in answers.data if key.may("review", name)]
        lines = await run_in_threadpool(answers.questions.queue, names)
        return json_reply({"questions": [waiting(line) for line in lines]})

    async def decide(request: Request, *, approve: bool) -> Response:
        key = await desk.admit(request, "review")
        body = await read_json(request, most_bytes=MOST_BYTES)
        words = _words(body, needed=not approve)
        answer_id = request.path_params["answer"]
        line = await run_in_threadpool(answers.questions.find, answer_id)
        if line is None or not key.may("review", line.data) or line.data not in answers.data:
            raise _unknown_answer(answer_id)

        def settled() -> Any:
            try:
                return answers.questions.decide(answer_id, approve=approve, words=words, by=key.key_id)
            except ParameterError as fault:
                raise Problem("not-waiting", str(fault)) from None

        return json_reply(waiting(await run_in_threadpool(settled)))

    @at("POST", "/v1/review/{answer}/approve")
    async def approve(request: Request) -> Response:
        return await decide(request, approve=True)

    @at("POST", "/v1/review/{answer}/decline")
    async def decline(request: Request) -> Response:
        return await decide(request, approve=False)


def _add_records(at: At, json_reply: Reply, desk: "Desk", answers: AnswerDesk) -> None:
    @at("GET", "/v1/answers/{answer}")
    async def found(request: Request) -> Response:
        key = await desk.admit(request, "answer")
        answer_id = request.path_params["answer"]
        line = await run_in_threadpool(answers.questions.find, answer_id)
        member = None if line is None else await run_in_threadpool(answers.projects.membership, key.key_id, line.data)
        if line is None or member is None or member.project != line.project or not key.may("answer", line.data):
            raise _unknown_answer(answer_id)
        return json_reply(record(Told(line=line, charged=False, member=member)))

    @at("GET", "/v1/data/{name}/ledger")
    async def ledger(request: Request) -> Response:
        _, data = await desk.admit_to_data(request, "ledger", request.path_params["name"])

        def books() -> dict[str, Any]:
            return {
                "data": data.name,
                "account": {"dataset": data.account.dataset, "identity": data.account.identity},
                "budget": answers.projects.budget_of(data.name).to_dict(),
                "projects": answers.projects.all(data.name),
                "lines": answers.projects.ledger(data.name),
                "faults": answers.projects.faults(data.name),
            }

        return json_reply(await run_in_threadpool(books))


def _add_pages(at: At, desk: "Desk", answers: AnswerDesk) -> None:
    asking, reviewing = Page.analyst(answers.data), Page.review()

    @at("GET", "/ask")
    async def ask_page(request: Request) -> Response:
        return asking.response()

    @at("GET", "/review")
    async def review_page(request: Request) -> Response:
        return reviewing.response()

    @at("GET", "/answers/{answer}")
    async def public_page(request: Request) -> Response:
        """Whoever has the id may read the answer: every number in it was paid for. Nobody learns who asked."""
        answer_id = request.path_params["answer"]
        line = await run_in_threadpool(answers.questions.find, answer_id)
        if line is None or line.answer is None:
            raise _unknown_answer(answer_id)
        page = await run_in_threadpool(Answer.from_dict(json.loads(line.answer)).page)
        return Page.written(page).response()


def _unknown_answer(answer_id: str) -> Problem:
    return Problem("unknown-answer", f"there is no answer {shortened(answer_id)} that you may see; check its id.")


def _summary(data: DataSet) -> dict[str, Any]:
    return {
        "name": data.name,
        "title": data.book.title or data.name,
        "release": data.release is not None,
        "review": data.review,
        "ask": f"/v1/data/{data.name}/answer",
    }


def _described(data: DataSet) -> dict[str, Any]:
    """What may be asked: the codebook in words, the rules, and how large the noise of a count is."""
    return {
        "columns": [
            {
                "name": column.name,
                "kind": column.kind,
                "description": column.description,
                "levels": list(column.labels[:_MOST_LEVELS]),
            }
            for column in map(data.book.column, data.book.names)
        ],
        "unit": data.account.neighbours.unit,
        "rules": data.rules.to_dict(),
        "hint": (
            "epsilon 1 adds noise of about 1.4 to a count, and a tenth of it ten times as much. A question of several "
            "disjoint groups costs what one of them does."
        ),
    }


def _question(body: Any, known: tuple[str, ...]) -> tuple[str, dict[str, Any]]:
    if not isinstance(body, dict) or not isinstance(body.get("question"), str):
        raise Problem("wrong-shape", f'a question is {{"question": "count by sex", ...}}, not {shortened(body)}.')
    strangers = sorted(set(body) - {"question", *known})
    if strangers:
        raise Problem(
            "wrong-shape", f"a question has no {shortened(strangers[0])}; it has question, {', '.join(known)}."
        )
    terms = {name: body[name] for name in known if body.get(name) is not None}
    numbers = [name for name, value in terms.items() if name != "target" and not _is_number(value)]
    if numbers or not isinstance(terms.get("target", ""), str):
        raise Problem(
            "wrong-shape",
            f"{(numbers or ['target'])[0]} is {shortened(terms[(numbers or ['target'])[0]])}; epsilon, delta and level "
            "are numbers, target is population or table.",
        )
    return body["question"], terms


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 1e300


def _priced(body: Any) -> tuple[str, dict[str, Any]]:
    text, terms = _question(body, (*_PRICE, *_TERMS))
    if "epsilon" not in terms:
        raise Problem("wrong-shape", "epsilon is missing; an answer has a declared price, and there is no default.")
    return text, {name: value if name == "target" else float(value) for name, value in terms.items()}


def _words(body: Any, *, needed: bool) -> str:
    words = body.get("words", "") if isinstance(body, dict) else None
    if not isinstance(body, dict) or set(body) - {"words"} or not isinstance(words, str) or len(words) > 2_000:
        raise Problem("wrong-shape", f'send {{"words": "..."}} of at most 2,000 characters, not {shortened(body)}.')
    if needed and not words.strip():
        raise Problem("wrong-shape", 'a question is declined with words: send {"words": "why"}.')
    return words


def budgets_of(answers: AnswerDesk, key_id: str) -> list[Mapping[str, Any]]:
    """The budgets of a key on every data set, for the address of budgets."""
    found = [answers.projects.membership(key_id, name) for name in answers.data]
    return [
        {
            "data": member.data,
            "project": member.project,
            "key": member.key.to_dict(),
            "all_keys": member.whole.to_dict(),
            "all_projects": member.everybody.to_dict(),
        }
        for member in found
        if member is not None
    ]
