"""How a screen is drawn: the frame with the strip that says who may see it, the steps, and the same by command."""

import math
import mimetypes
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from understudy.errors import UnderstudyError
from understudy.pages.shell import page_environment
from understudy.studio.changes import StaleFormError
from understudy.studio.forms import refilled, refused_form
from understudy.studio.guard import form_of, session_of
from understudy.studio.texts import fill, texts
from understudy.studio.workspace import Dataset, Root
from understudy.texts import LANGUAGE
from understudy.version import __version__

if TYPE_CHECKING:
    from jinja2 import Environment

    from understudy.studio.guard import Session


class Audience(StrEnum):
    """Who may see a screen."""

    PUBLIC = "public"
    CONFIDENTIAL = "confidential"
    DECISION = "decision"


@dataclass(frozen=True, kw_only=True)
class Equivalent:
    """The same by command line, from the root folder, and in Python."""

    commands: Sequence[str]
    python: Sequence[str]
    files: Sequence[tuple[str, str]] = ()
    """Lines of files that the screen writes and no command does: the file, and its lines."""


STEPS = ("data", "codebook", "quote", "release", "report", "publish")
"""The steps of one data set, in their order; each is an address ``/d/NAME/STEP``."""


@cache
def environment() -> "Environment":
    """The templates of all screens, compiled once."""
    filters: dict[str, Callable[..., Any]] = {"fill": fill, "plainly": plainly, "spell_time": spell_time}
    made = page_environment(("understudy.studio",), "pages", filters)
    made.globals |= {"version": __version__, "language": LANGUAGE, "common": texts("common")}
    made.trim_blocks = made.lstrip_blocks = True
    return made


def plainly(sentence: str) -> str:
    """A sentence of a review without the answer that a command line proposes behind it.

    >>> plainly("200 values: an id? [drop]")
    '200 values: an id?'
    """
    return re.sub(r" \[[^\[\]]*\]$", "", sentence)


def root_of(request: Request) -> Root:
    """The folder that this studio works in."""
    root: Root = request.app.state.root
    return root


def dataset_of(request: Request, name: str) -> Dataset:
    """The data set that an address names; 404 where there is none."""
    return root_of(request).dataset(name)


def page(
    request: Request,
    screen: str,
    *,
    audience: Audience,
    equivalent: Equivalent,
    dataset: Dataset | None = None,
    title: str | None = None,
    template: str | None = None,
    status: int = 200,
    **values: Any,
) -> Response:
    """A whole screen from ``pages/SCREEN.html``, which extends ``frame.html``."""
    session = session_of(request)
    steps = tuple(step for step in STEPS if step in request.app.state.screens)
    shown = {
        "t": texts(screen),
        "screen": screen,
        "steps": steps,
        "step": screen if screen in STEPS else "",
        "title": title or texts(screen)["title"],
        "audience": audience.value,
        "equivalent": equivalent,
        "dataset": dataset,
        "root": root_of(request),
        "csrf": session.csrf,
        "person": session.person,
        "messages": session.take_messages(),
        "policy": "",  # the header says it
        "marker": "",
        "data": "",
        "scripts": (),
        "banner": "",
    }
    text = environment().get_template(template or f"{screen}.html").render(**{**shown, **values})
    if (refused := session.take_refused()) is not None:
        text = refilled(text, refused)
    return _html(text, status)


def spell_time(seconds: float) -> str:
    """A stretch of time to come, as people say it.

    >>> spell_time(4.2), spell_time(200), spell_time(9000)
    ('5 seconds', '4 minutes', '3 hours')
    """
    words = texts("common")["time"]
    for name, size in (("hours", 3600), ("minutes", 60), ("seconds", 1)):
        if seconds >= (1.5 * size if size > 1 else 0):
            n = math.ceil(seconds / size)
            return fill(words["second" if n == size == 1 else name], n=n)
    return fill(words["seconds"], n=0)


def fragment(request: Request, template: str, screen: str, **values: Any) -> Response:
    """A part of a screen, for HTMX to put in place."""
    session = session_of(request)
    shown = {"t": texts(screen), "csrf": session.csrf, "person": session.person, **values}
    text = environment().get_template(template).render(**shown)
    return _html(text)


def _html(text: str, status: int = 200) -> Response:
    """Names of files and damaged manifests may hold halves of characters, which no page can: they become "?"."""
    return Response(text.encode("utf-8", "replace"), status_code=status, media_type="text/html; charset=utf-8")


def go(address: str) -> Response:
    """After a change: look at the screen again, so that reloading repeats nothing."""
    return RedirectResponse(address, status_code=303)


def say(request: Request, sentence: str, *, is_problem: bool = False) -> None:
    """A sentence at the top of the next screen that this person sees."""
    session: Session = session_of(request)
    session.messages.append((sentence, is_problem))


def refuse(request: Request, error: UnderstudyError) -> None:
    """Let the next screen say what is wrong with the form that was sent, and show it as it was typed."""
    session, sentence = session_of(request), plain_fault(error)
    if not isinstance(error, StaleFormError):
        sent = form_of(request).pairs if request.method == "POST" else tuple(request.query_params.multi_items())
        session.refused = refused_form(request.url.path, sent, error, sentence)
    say(request, sentence, is_problem=True)


def plain_fault(reason: UnderstudyError) -> str:
    """What went wrong, with what was noted beside it."""
    return " ".join([str(reason), *getattr(reason, "__notes__", ())])


_STORED = (
    "sandbox allow-scripts; default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; "
    "img-src data: blob:; frame-ancestors 'self'"
)


def stored_page(place: Path) -> Response:
    """A page of ours that lies in a file (a report, the face of a release), in an origin of its own.

    It cannot send the cookie, read the studio or load anything, whatever somebody wrote into the file.
    """
    headers = {"Content-Security-Policy": _STORED, "X-Frame-Options": "SAMEORIGIN"}
    return Response(place.read_bytes(), media_type="text/html; charset=utf-8", headers=headers)


def download(place: Path, *, audience: Audience, name: str | None = None) -> Response:
    """A file to keep; the name of a confidential one says so."""
    import urllib.parse

    called = name or place.name
    called = f"CONFIDENTIAL-{called}" if audience is Audience.CONFIDENTIAL else called
    quoted = urllib.parse.quote(called, safe="")
    kind = mimetypes.guess_type(place.name)[0] or "application/octet-stream"
    headers = {"Content-Disposition": f"attachment; filename*=UTF-8''{quoted}", "X-Understudy-Audience": audience.value}
    return Response(place.read_bytes(), media_type=kind, headers=headers)
