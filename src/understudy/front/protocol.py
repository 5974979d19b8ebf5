"""HTTP/1.1 on one connection, as uvicorn speaks it, with a deadline for every state and one reading of every head."""

import asyncio
import json
import re
from http import HTTPStatus
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from understudy.front.visitors import Limits, Visit, Visitors

_SLOW = "the head of the request did not arrive in time; send it again, at once."
_UNREADABLE = "the request cannot be read as HTTP/1.1; send it again, from another client."
_END = re.compile(rb"\n\r?\n")
_OTHER_LINES = re.compile(rb"(?<!\r)\n|\n[ \t]")
"""Lines that end without a carriage return, or go on in the next one: a proxy in front may see other headers."""


class StrictConnection(h11.Connection):
    """Refuses heads that a proxy in front might read differently (RFC 9112, sections 2.2, 5.2 and 6.1)."""

    def next_event(self) -> Any:
        """The next part of the request."""
        has_other_lines = self.their_state is h11.IDLE and self._has_other_lines()
        event = super().next_event()
        if isinstance(event, h11.Request):
            if has_other_lines:
                raise h11.RemoteProtocolError("a line of the head that has two readings")
            names = {name for name, _ in event.headers}
            if b"transfer-encoding" in names and (b"content-length" in names or event.http_version != b"1.1"):
                raise h11.RemoteProtocolError("two lengths of one body")
        return event

    def _has_other_lines(self) -> bool:
        waiting, _ = self.trailing_data
        end = _END.search(waiting)
        return end is not None and _OTHER_LINES.search(waiting, 0, end.end()) is not None


class GuardedProtocol(H11Protocol):  # type: ignore[misc]
    """Made by a :class:`~understudy.front.server.Door`, which calls :meth:`belongs_to` first."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._deadline: asyncio.TimerHandle | None = None
        self._requests = 0

    def belongs_to(self, visitors: Visitors, visit: Visit, limits: Limits) -> None:
        """Whose connection it is, and how long it may take."""
        self.visitors, self.visit, self.limits = visitors, visit, limits
        self.conn = StrictConnection(h11.SERVER, limits.head_bytes)

    def connection_made(self, transport: asyncio.Transport) -> None:
        """Wait for the first head."""
        super().connection_made(transport)
        self.visit.end = transport.abort
        self._allow(self.limits.head_seconds)

    def connection_lost(self, exc: Exception | None) -> None:
        """Make room."""
        self._stop_waiting()
        self._unset_keepalive_if_required()
        self.visitors.leave(self.visit)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Bytes of a head or of a body."""
        if self._deadline is None:  # the first of the next request
            self._allow(self.limits.head_seconds)
        super().data_received(data)

    def handle_events(self) -> None:
        """Notice when a head is complete."""
        before = self.cycle
        super().handle_events()
        if self.cycle is before or self.transport.is_closing():
            return
        self.visitors.works(self.visit)
        self._allow(self.limits.request_seconds)
        self._requests += 1
        if self._requests >= self.limits.requests:
            self.scope["headers"].append((b"connection", b"close"))

    def on_response_complete(self) -> None:
        """The response has left; a body that is still arriving keeps its deadline."""
        self.visitors.waits(self.visit)
        if self.conn.their_state is not h11.SEND_BODY:
            self._stop_waiting()
        super().on_response_complete()
        self._let_the_rest_leave()

    def timeout_keep_alive_handler(self) -> None:
        """No further request came."""
        super().timeout_keep_alive_handler()
        self._let_the_rest_leave()

    def send_400_response(self, msg: str) -> None:
        """What uvicorn calls when a request cannot be read."""
        self._refuse(HTTPStatus.BAD_REQUEST, _UNREADABLE)

    def _allow(self, seconds: float) -> None:
        self._stop_waiting()
        self._deadline = self.loop.call_later(seconds, self._too_late)

    def _let_the_rest_leave(self) -> None:
        """Closing waits until everything was sent, and a caller that reads nothing would let it wait for ever."""
        if self.transport.is_closing():
            self._allow(self.limits.request_seconds)

    def _stop_waiting(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _too_late(self) -> None:
        self._deadline = None
        if self.conn.our_state is h11.IDLE and not self.transport.is_closing():
            self._refuse(HTTPStatus.REQUEST_TIMEOUT, _SLOW)
        else:
            self.transport.abort()  # a response that nobody reads would wait for ever

    def _refuse(self, status: HTTPStatus, detail: str) -> None:
        """Answer without the application, and close."""
        if self.cycle is not None and not self.cycle.response_complete:
            self.cycle.disconnected = True  # the application must not answer as well
            self.cycle.message_event.set()
        if self.conn.our_state not in (h11.IDLE, h11.SEND_RESPONSE):
            self.transport.abort()  # in the middle of a response there is nothing left to say
            return
        document = {"type": "about:blank", "title": status.phrase, "status": int(status), "detail": detail}
        body = json.dumps(document).encode()
        headers = [
            ("Content-Type", "application/problem+json"),
            ("Content-Length", str(len(body))),
            ("Connection", "close"),
        ]
        head = h11.Response(status_code=int(status), headers=headers, reason=status.phrase.encode())
        for event in (head, h11.Data(data=body), h11.EndOfMessage()):
            self.transport.write(self.conn.send(event) or b"")
        self.transport.close()
        self._let_the_rest_leave()
