"""Addresses of the service, one function each."""

import json
import logging
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Any

from fastapi import FastAPI
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from understudy.service.amounts import epsilon_of
from understudy.service.bodies import read_json
from understudy.service.desk import INLINE_ROWS, MOST_ROWS, Answers, Desk
from understudy.service.logs import places_of
from understudy.service.metrics import CONTENT_TYPE
from understudy.service.openapi import describe
from understudy.service.page import Page
from understudy.service.problems import Problem, shortened
from understudy.service.readiness import Readiness
from understudy.service.served import Served
from understudy.service.watch import seen_of

_ENCODER = json.JSONEncoder(ensure_ascii=True, allow_nan=False, separators=(",", ":"))
_Handler = Callable[[Request], Awaitable[Response]]

MOST_BYTES = 64 * 1024
MOST_BATCH_BYTES = 1024 * 1024


def add_routes(app: FastAPI, desk: Desk, aliases: Mapping[str, str]) -> None:
    """Put every address on the application."""
    if desk.models:
        _add_scores(app, desk, aliases)
    _add_knowledge(app, desk)
    _add_operation(app, desk)
    if desk.answers is not None:
        from understudy.service.answer_routes import add_answer_routes

        add_answer_routes(partial(_at, app), _json, desk)
    _add_pages(app, desk, aliases)


def _at(app: FastAPI, method: str, path: str) -> Callable[[_Handler], _Handler]:
    """A plain route: bodies are read by our own strict reader, so the framework has no parameter to resolve."""

    def put(handler: _Handler) -> _Handler:
        async def noted(request: Request) -> Response:
            seen_of(request).route = path
            return await handler(request)

        app.add_route(path, noted, methods=[method])
        return handler

    return put


def _add_scores(app: FastAPI, desk: Desk, aliases: Mapping[str, str]) -> None:
    @_at(app, "POST", "/v1/models/{model}/score")
    async def score(request: Request) -> Response:
        served, answers = await _one(desk, request, request.path_params["model"])
        return _json({**_heading(served), **answers.scores[0], "cost": answers.cost()})

    @_at(app, "POST", "/v1/models/{model}/batch")
    async def batch(request: Request) -> Response:
        key, served = await desk.admit_to(request, request.path_params["model"])
        rows = _rows(await read_json(request, most_bytes=MOST_BATCH_BYTES))
        if len(rows) > INLINE_ROWS:
            codes = await run_in_threadpool(desk.encode, served, rows, numbered=True)
        else:
            codes = desk.encode(served, rows, numbered=True)
        answers = await desk.answer(request, key, served, codes)
        return _json({**_heading(served), "answers": list(answers.scores), "cost": answers.cost()})

    cards = {name: _encoded(served.card) for name, served in desk.models.items()}

    @_at(app, "GET", "/v1/models/{model}/card")
    async def card(request: Request) -> Response:
        """Anybody may know it: all of it was paid for, or is public."""
        return _json_bytes(cards[desk.model(request, request.path_params["model"]).name])

    def add_alias(path: str, name: str) -> None:
        """The dissertation's shape: features in, a percentage out."""

        @_at(app, "POST", path)
        async def alias(request: Request) -> Response:
            _, answers = await _one(desk, request, name)
            return _json({"riskScore": f"{answers.scores[0]['score']:.0%}"})

    for path, name in aliases.items():
        add_alias(path, name)


def _add_knowledge(app: FastAPI, desk: Desk) -> None:
    """What anybody may know: all of it was paid for, or is public."""
    listed = _encoded({"models": [_summary(served) for served in desk.models.values()]})

    @_at(app, "GET", "/v1/models")
    async def models(request: Request) -> Response:
        return _json_bytes(listed)

    @_at(app, "GET", "/v1/budget")
    async def budget(request: Request) -> Response:
        key = await desk.admit(request, "budget")
        balances = await run_in_threadpool(desk.budgets.balances, key.key_id)
        lines = [
            {
                "model": served.name,
                "price": served.price_epsilon,
                "key": own.to_dict(),
                "all_keys": everybody.to_dict(),
            }
            for served in desk.models.values()
            if served.model_id in balances
            for own, everybody in [balances[served.model_id]]
        ]
        free = [served.name for served in desk.models.values() if not served.costs]
        data = [] if desk.answers is None else await run_in_threadpool(_data_budgets, desk.answers, key.key_id)
        return _json({"key_id": key.key_id, "models": lines, "free": free, "data": data})


def _add_operation(app: FastAPI, desk: Desk) -> None:
    def not_ready(reason: Exception) -> None:
        desk.log.say("not ready", level=logging.ERROR, error=type(reason).__name__, places=places_of(reason))

    readiness = Readiness(desk.store.check, failed=not_ready)

    @_at(app, "GET", "/healthz")
    async def healthz(request: Request) -> Response:
        return _json({"status": "alive"})

    @_at(app, "GET", "/readyz")
    async def readyz(request: Request) -> Response:
        if not await readiness.holds():
            raise Problem(
                "not-ready",
                "the database does not answer or takes no charge (perhaps its disk is full, or nearly), or is not the "
                "one this service was started with.",
                headers={"Retry-After": "5"},
            )
        data = [] if desk.answers is None else sorted(desk.answers.data)
        return _json({"status": "ready", "models": sorted(desk.models), "data": data})

    @_at(app, "GET", "/metrics")
    async def metrics(request: Request) -> Response:
        await desk.admit(request, "metrics")
        balances = await run_in_threadpool(desk.budgets.model_balances)
        left = {
            served.name: epsilon_of(balance.left)
            for served in desk.models.values()
            if served.model_id in balances
            for _, balance in [balances[served.model_id]]
            if balance is not None
        }
        return Response(desk.metrics.render(left), media_type=CONTENT_TYPE)


def _add_pages(app: FastAPI, desk: Desk, aliases: Mapping[str, str]) -> None:
    data = {} if desk.answers is None else desk.answers.data
    description = describe(desk.models, aliases, data)
    encoded = _encoded(description)
    front, docs = Page.front(desk.models, sorted(data)), Page.docs(description)

    @_at(app, "GET", "/openapi.json")
    async def openapi(request: Request) -> Response:
        return _json_bytes(encoded)

    @_at(app, "GET", "/")
    async def page(request: Request) -> Response:
        return front.response()

    @_at(app, "GET", "/docs")
    async def interface(request: Request) -> Response:
        return docs.response()


def _data_budgets(answers: Any, key_id: str) -> list[Any]:
    from understudy.service.answer_routes import budgets_of

    return list(budgets_of(answers, key_id))


async def _one(desk: Desk, request: Request, name: str) -> tuple[Served, Answers]:
    key, served = await desk.admit_to(request, name)
    features = await read_json(request, most_bytes=MOST_BYTES)
    codes = desk.encode(served, [features], numbered=False)
    return served, await desk.answer(request, key, served, codes)


def _rows(body: Any) -> list[Any]:
    rows = body.get("rows") if isinstance(body, dict) else None
    if not isinstance(rows, list) or len(body) != 1:
        raise Problem("wrong-shape", f'a batch is {{"rows": [...]}} and nothing else, not {shortened(body)}.')
    if not 1 <= len(rows) <= MOST_ROWS:
        raise Problem("wrong-shape", f"the batch has {len(rows):,} rows; send 1 to {MOST_ROWS:,} at once.")
    return rows


def _heading(served: Served) -> dict[str, Any]:
    return {"model": served.name, "version": served.model.version}


def _summary(served: Served) -> dict[str, Any]:
    return {
        **_heading(served),
        "kind": served.model.kind,
        "target": served.model.target,
        "price": served.price_epsilon,
        "card": f"/v1/models/{served.name}/card",
        "score": f"/v1/models/{served.name}/score",
    }


def _encoded(value: Any) -> bytes:
    return _ENCODER.encode(value).encode()


def _json(value: Any) -> Response:
    return _json_bytes(_encoded(value))


def _json_bytes(body: bytes) -> Response:
    return Response(body, media_type="application/json")
