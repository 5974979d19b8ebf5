"""Who may talk to the studio: checked before any screen is asked, for every request alike.

- The ``Host`` must be one of ours, or a page elsewhere could let its name point here and read the answers.
- A one-time address is exchanged for a cookie that scripts cannot read and other sites cannot send.
- Every change must come from our own pages (``Origin``) and carry the token of the session (``csrf``).
- Every answer forbids scripts and styles that are not files of ours, and to be kept.
"""

import hmac
import os
import secrets
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from http.cookies import CookieError, SimpleCookie
from urllib.parse import parse_qsl

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import Request
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from understudy.front.serving import SAFE_HEADERS
from understudy.studio.forms import Refused
from understudy.studio.texts import fill, texts

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "form-action 'self'; frame-src 'self'; base-uri 'none'; frame-ancestors 'none'"
)
_HEADERS = {
    **SAFE_HEADERS,
    "Referrer-Policy": "same-origin",  # with no-referrer a browser sends `Origin: null`, which cannot be checked
    "Content-Security-Policy": POLICY,
    "X-Frame-Options": "DENY",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}
_MOST_BYTES = 1 << 20
_FORM = "application/x-www-form-urlencoded"
_CHANGES = ("POST",)
_READS = ("GET", "HEAD")
ENTER, STATIC = "/enter", "/static/"


@dataclass
class Session:
    """One person at one browser, as long as this process lives."""

    person: str
    """Their name, where ``studio.toml`` names people; else empty."""
    csrf: str = field(default_factory=lambda: secrets.token_urlsafe(24), repr=False)
    called: str = ""
    """The name that was last typed here, so that nobody types it for every column."""
    messages: list[tuple[str, bool]] = field(default_factory=list)
    refused: Refused | None = field(default=None, repr=False)
    """The form that was sent last, if it was refused: the next screen shows it as it was typed."""

    @property
    def name(self) -> str:
        """Who this is, as far as is known."""
        return self.person or self.called

    answered: Refused | None = field(default=None, repr=False)
    """The answers to a review that were sent last: they are shown again if they cannot be written down."""

    def take_messages(self) -> list[tuple[str, bool]]:
        """Sentences for the next screen, and whether each is a problem."""
        taken, self.messages = self.messages, []
        return taken

    def take_refused(self) -> Refused | None:
        """The form to show again, once."""
        taken, self.refused = self.refused, None
        return taken


class Form:
    """The fields of a change. Names may repeat, as those of ticked boxes do."""

    def __init__(self, pairs: Iterable[tuple[str, str]]) -> None:
        self.pairs = tuple(pairs)

    def __getitem__(self, name: str) -> str:
        return self.get(name)

    def get(self, name: str, default: str = "") -> str:
        """The last value of this name, without blanks around it."""
        return next((value.strip() for key, value in reversed(self.pairs) if key == name), default)

    def all(self, name: str) -> list[str]:
        """Every value of this name."""
        return [value for key, value in self.pairs if key == name]

    def beginning(self, prefix: str) -> dict[str, str]:
        """Fields whose names begin so, by the rest of their names."""
        return {key.removeprefix(prefix): value.strip() for key, value in self.pairs if key.startswith(prefix)}


class Keys:
    """One-time addresses and the sessions that came of them."""

    def __init__(self, people: Iterable[str] = ()) -> None:
        self._waiting = {secrets.token_urlsafe(32): person for person in (list(people) or [""])}
        self._sessions: dict[str, Session] = {}

    @property
    def waiting(self) -> Mapping[str, str]:
        """Tokens that nobody has used yet, each with its person."""
        return dict(self._waiting)

    def enter(self, token: str) -> str | None:
        """Exchange a one-time token for the value of a cookie."""
        known = next((own for own in self._waiting if hmac.compare_digest(own.encode(), token.encode())), None)
        if known is None:
            return None
        cookie = secrets.token_urlsafe(32)
        self._sessions[cookie] = Session(person=self._waiting.pop(known))
        return cookie

    def session(self, cookie: str) -> Session | None:
        """Whose cookie it is."""
        return self._sessions.get(cookie)


def session_of(request: Request) -> Session:
    """The session of a request that came past the guard."""
    session: Session = request.scope["studio.session"]
    return session


def form_of(request: Request) -> Form:
    """The fields that a change brought along."""
    form: Form = request.scope["studio.form"]
    return form


class Guard:
    """Pure ASGI middleware, outermost."""

    def __init__(
        self,
        app: ASGIApp,
        *,
        keys: Keys,
        hosts: Iterable[str],
        origins: Iterable[str],
        port: int,
        secure: bool = False,
    ) -> None:
        self._app, self._keys, self._secure = app, keys, secure
        self._hosts, self._origins = frozenset(hosts), frozenset(origins)
        self.cookie = f"understudy-studio-{port}"  # browsers keep the cookies of all ports of a host together

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request through, or refuse it."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":
            return

        begun = False

        async def sending(message: Message) -> None:
            nonlocal begun
            if message["type"] == "http.response.start":
                begun = True
                headers = MutableHeaders(scope=message)
                for name, value in _HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        refused = self._refused(scope)
        if refused is None and scope["method"] in _CHANGES:
            refused = await self._refused_change(scope, receive)
            receive = _nothing_more
        try:
            await (refused or self._app)(scope, receive, sending)
        except Exception:  # its words may quote rows: they are neither shown nor logged
            if begun or os.environ.get("UNDERSTUDY_TRACEBACK"):
                raise
            await refusal("ours", 500)(scope, receive, sending)

    def _refused(self, scope: Scope) -> Response | None:
        headers, path = Headers(scope=scope), scope["path"]
        if headers.getlist("host") != [headers.get("host", "")] or headers.get("host", "").lower() not in self._hosts:
            return refusal("host", 421)
        if scope["method"] not in (*_CHANGES, *_READS):
            return refusal("method", 405)
        if path == ENTER and scope["method"] == "GET":
            return self._entering(scope)
        session = self._keys.session(_cookies(headers).get(self.cookie, ""))
        if session is None:
            return refusal("session", 403)
        scope["studio.session"] = session
        return None

    def _entering(self, scope: Scope) -> Response:
        token = dict(parse_qsl(scope["query_string"].decode("latin-1"))).get("token", "")
        cookie = self._keys.enter(token)
        if cookie is None:
            return refusal("used", 403)
        answer = RedirectResponse("/", status_code=303)
        answer.set_cookie(self.cookie, cookie, httponly=True, samesite="strict", path="/", secure=self._secure)
        return answer

    async def _refused_change(self, scope: Scope, receive: Receive) -> Response | None:
        headers = Headers(scope=scope)
        if headers.get("origin") not in self._origins:
            return refusal("origin", 403)
        if headers.get("content-type", "").partition(";")[0].strip().lower() != _FORM:
            return refusal("form", 415)
        body = await _body(receive)
        if body is None:
            return refusal("size", 413)
        try:
            pairs = parse_qsl(body.decode("utf-8"), keep_blank_values=True, max_num_fields=20_000)
        except ValueError:
            return refusal("form", 400)
        form = Form(pairs)
        session: Session = scope["studio.session"]
        if not hmac.compare_digest(form.get("csrf").encode(), session.csrf.encode()):
            return refusal("csrf", 403)
        scope["studio.form"] = form
        return None


def refusal(why: str, status: int) -> Response:
    """A sentence on a bare page; nothing of the request is repeated."""
    return PlainTextResponse(fill(texts("common")["refused"][why]) + "\n", status_code=status)


def _cookies(headers: Headers) -> dict[str, str]:
    try:
        return {name: morsel.value for name, morsel in SimpleCookie(headers.get("cookie", "")).items()}
    except CookieError:
        return {}


async def _body(receive: Receive) -> bytes | None:
    """The whole body, or None where it is too large."""
    parts, size = [], 0
    while True:
        message = await receive()
        if message["type"] != "http.request":
            return b""
        parts.append(message.get("body", b""))
        size += len(parts[-1])
        if size > _MOST_BYTES:
            return None
        if not message.get("more_body"):
            return b"".join(parts)


async def _nothing_more() -> Message:
    return {"type": "http.request", "body": b"", "more_body": False}
