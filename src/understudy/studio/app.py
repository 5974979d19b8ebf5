"""The application: screens behind the guard. A mistake becomes a sentence on the screen it came from."""

from importlib import resources
from typing import Any, cast
from urllib.parse import urlsplit

from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from understudy.errors import UnderstudyError
from understudy.front.serving import NO_TELEMETRY
from understudy.pages.shell import page_style
from understudy.studio.frame import Audience, Equivalent, go, page, plain_fault, refuse
from understudy.studio.guard import Guard, Keys
from understudy.studio.screens import SCREENS
from understudy.studio.texts import texts
from understudy.studio.workspace import Dataset, NoSuchDatasetError, OutsideRootError, Root
from understudy.version import __version__

_STATIC = dict.fromkeys(("htmx.min.js", "sse.min.js", "studio.js", "jobs.js"), "text/javascript")


def create_app(
    root: Root, keys: Keys, *, hosts: set[str], origins: set[str], port: int, secure: bool = False
) -> FastAPI:
    """An ASGI application over one root folder; ``secure`` is for a proxy with TLS in front."""
    app = FastAPI(
        title="Understudy studio",
        version=__version__,
        docs_url=None,
        redoc_url=None,
        openapi_url=None,
        redirect_slashes=False,
        telemetry=cast("Any", NO_TELEMETRY),
    )
    app.state.root, app.state.screens = root, SCREENS
    for screen in SCREENS.values():
        app.include_router(screen.router)
    app.add_api_route("/static/{name}", _static, methods=["GET"])
    for kind in (UnderstudyError, HTTPException, RequestValidationError):
        app.add_exception_handler(kind, _problem)
    app.add_middleware(Guard, keys=keys, hosts=hosts, origins=origins, port=port, secure=secure)
    return app


def _static(name: str) -> Response:
    folder = resources.files("understudy.studio") / "static"
    if name == "studio.css":
        own = "".join((folder / part).read_text(encoding="utf-8") for part in ("studio.css", "jobs.css"))
        return Response(page_style(own), media_type="text/css; charset=utf-8")
    if name not in _STATIC:
        raise HTTPException(404)
    return Response((folder / name).read_bytes(), media_type=_STATIC[name])


async def _problem(request: Request, error: Exception) -> Response:
    """After a change, the screen it came from with the sentence at its top; otherwise a page that says it."""
    words = texts("problem")
    if isinstance(error, UnderstudyError):
        sentence = plain_fault(error)
        is_missing = isinstance(error, NoSuchDatasetError)
        status = 404 if is_missing else 403 if isinstance(error, OutsideRootError) else 422
        came_from = urlsplit(request.headers.get("referer", ""))
        if request.method == "POST" and came_from.path and status == 422:
            refuse(request, error)
            return go(came_from.path + (f"?{came_from.query}" if came_from.query else ""))
        own = None if is_missing else _dataset_in(request)
        return _told(request, sentence, status, own)
    status = error.status_code if isinstance(error, HTTPException) else 400
    return _told(request, words["nowhere"] if status == 404 else words["unreadable"], status)


def _dataset_in(request: Request) -> Dataset | None:
    """The data set of the address, so that its other screens can be reached from the sentence."""
    name = request.path_params.get("dataset")
    return None if name is None else Dataset(root=request.app.state.root, name=name)


def _told(request: Request, sentence: str, status: int, own: Dataset | None = None) -> Response:
    same = Equivalent(commands=("understudy --help",), python=("import understudy as us", "help(us)"))
    told: dict[str, Any] = {"sentence": sentence, "status": status, "dataset": own}
    return page(request, "problem", audience=Audience.CONFIDENTIAL, equivalent=same, **told)
