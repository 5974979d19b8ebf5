"""The application: routes around one desk. Requests are answered in ``desk.py``."""

import logging
import re
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any, cast

from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from sqlalchemy.exc import SQLAlchemyError
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from understudy.errors import ParameterError
from understudy.front.serving import NO_TELEMETRY
from understudy.service.desk import Desk
from understudy.service.logs import places_of
from understudy.service.problems import KINDS, MEDIA_TYPE, Problem
from understudy.service.routes import add_routes
from understudy.service.watch import Watch, seen_of
from understudy.version import __version__

_ALIAS = re.compile(r"/[A-Za-z0-9_-]{1,64}")
_TAKEN = frozenset({"/answers", "/ask", "/docs", "/healthz", "/metrics", "/readyz", "/review", "/v1"})
_BY_STATUS = {404: "not-found", 405: "method-not-allowed", 413: "body-too-large"}


def create_app(desk: Desk, *, aliases: Mapping[str, str] | None = None) -> FastAPI:
    """An ASGI application over the desk's models; ``aliases`` are further addresses, path to model name."""
    chosen = _checked_aliases(aliases or {}, desk)

    @asynccontextmanager
    async def lifespan(_app: FastAPI) -> AsyncIterator[None]:
        desk.log.say("started", version=__version__)
        yield
        desk.log.say("stopped")

    app = FastAPI(
        title="Understudy risk scores",
        version=__version__,
        docs_url=None,  # the stock page loads its scripts from elsewhere; ours is at /docs and loads nothing
        redoc_url=None,
        openapi_url=None,
        redirect_slashes=False,
        lifespan=lifespan,
        telemetry=cast("Any", NO_TELEMETRY),
    )
    app.add_middleware(Watch, desk=desk)
    app.add_exception_handler(Problem, _problem)
    app.add_exception_handler(HTTPException, _http_exception)
    app.add_exception_handler(RequestValidationError, _validation)
    app.add_exception_handler(SQLAlchemyError, _store_failed)
    app.state.desk = desk
    add_routes(app, desk, chosen)
    return app


def _checked_aliases(aliases: Mapping[str, str], desk: Desk) -> dict[str, str]:
    for path, name in aliases.items():
        if not _ALIAS.fullmatch(path) or path in _TAKEN:
            raise ParameterError(
                f"the alias {path[:80]!r} cannot be an address here; write one like /diabeteScore, of letters, digits, "
                "hyphens and underscores."
            )
        if name not in desk.models:
            raise ParameterError(
                f"the alias {path!r} stands for {name[:80]!r}, which is not served; there are "
                f"{', '.join(sorted(desk.models))}."
            )
    return dict(aliases)


async def _problem(request: Request, error: Exception) -> Response:
    assert isinstance(error, Problem)
    seen = seen_of(request)
    seen.problem = error.kind
    return Response(
        error.body(seen.request_id), status_code=error.status, headers=dict(error.headers), media_type=MEDIA_TYPE
    )


async def _http_exception(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    kind = _BY_STATUS.get(error.status_code, "bad-request")
    allowed = (error.headers or {}).get("Allow", "")
    details = {
        "not-found": "this address leads nowhere; /docs lists those that lead somewhere.",
        "method-not-allowed": f"this address takes {allowed or 'another method'}; /docs shows how to call it.",
    }
    headers = {name: value for name, value in (error.headers or {}).items() if name.lower() == "allow"}
    return await _problem(request, Problem(kind, details.get(kind, KINDS[kind].title.lower() + "."), headers=headers))


async def _validation(request: Request, error: Exception) -> Response:
    """No route declares a parameter that the framework could refuse; were one added, its words would quote it."""
    return await _problem(request, Problem("bad-request", "a parameter cannot be read; see /docs."))


async def _store_failed(request: Request, error: Exception) -> Response:
    desk: Desk = request.app.state.desk
    desk.log.say(
        "store failed",
        level=logging.ERROR,
        request_id=seen_of(request).request_id,
        error=type(error).__name__,
        places=places_of(error),
    )
    return await _problem(
        request,
        Problem(
            "not-ready",
            "the database did not answer, so nothing may be answered either; try again in a moment.",
            headers={"Retry-After": "5"},
        ),
    )
