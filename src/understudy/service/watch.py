"""Middleware around every request: an id, one log line, metrics, safe headers, and no traceback in a response."""

import logging
import secrets
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from starlette.datastructures import MutableHeaders
from starlette.requests import ClientDisconnect, Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from understudy.front.serving import SAFE_HEADERS
from understudy.service.logs import places_of
from understudy.service.problems import MEDIA_TYPE, Problem

if TYPE_CHECKING:
    from understudy.service.desk import Desk

_KEY = "understudy.seen"
_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
_GONE = 499  # the caller hung up


@dataclass
class Seen:
    """What may be logged about one request."""

    request_id: str
    route: str = "unmatched"
    status: int = 500
    key_id: str | None = None
    model: str | None = None
    data: str | None = None
    rows: int | None = None
    cost: float | None = None
    stored: int | None = None
    problem: str | None = None


def seen_of(request: Request) -> Seen:
    """The notes of this request."""
    seen: Seen = request.scope[_KEY]
    return seen


class Watch:
    """Pure ASGI middleware; sits inside the framework's own error page, which would log the exception's words."""

    def __init__(self, app: ASGIApp, *, desk: "Desk") -> None:
        self._app, self._desk = app, desk

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Watch one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        seen = Seen(request_id=secrets.token_hex(8))
        scope[_KEY] = seen
        started = time.perf_counter()
        begun = False

        async def sending(message: Message) -> None:
            nonlocal begun
            if message["type"] == "http.response.start":
                begun, seen.status = True, message["status"]
                headers = MutableHeaders(scope=message)
                headers["X-Request-ID"] = seen.request_id
                for name, value in SAFE_HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        try:
            await self._app(scope, receive, sending)
        except ClientDisconnect:
            seen.status = _GONE
        except Exception as error:  # the last door: what escapes here would be printed with its values
            self._desk.log.say(
                "failed",
                level=logging.ERROR,
                request_id=seen.request_id,
                error=type(error).__name__,
                places=places_of(error),
            )
            if not begun:
                seen.problem = "internal"
                await send_problem(
                    Problem(
                        "internal",
                        "the service made a mistake and has noted it; if the question had been charged, asking "
                        "it again within a few seconds finds what became of it.",
                    ),
                    seen,
                    sending,
                )
        finally:
            self._finish(scope, seen, time.perf_counter() - started)

    def _finish(self, scope: Scope, seen: Seen, seconds: float) -> None:
        method = scope["method"] if scope["method"] in _METHODS else "other"  # a caller may write anything
        self._desk.metrics.request(
            route=seen.route, method=method, status=seen.status, seconds=seconds, problem=seen.problem
        )
        self._desk.log.say("request", method=method, milliseconds=round(seconds * 1000, 2), **vars(seen))


async def send_problem(problem: Problem, seen: Seen, send: Send) -> None:
    """A problem without the help of a framework."""
    body = problem.body(seen.request_id)
    headers: list[Any] = [
        (b"content-type", MEDIA_TYPE.encode()),
        (b"content-length", str(len(body)).encode()),
        *((name.lower().encode(), value.encode()) for name, value in problem.headers.items()),
    ]
    await send({"type": "http.response.start", "status": problem.status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
