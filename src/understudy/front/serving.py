"""What our web servers share: safe headers, a port of their own, and a tidy end."""

import contextlib
import signal
import socket
from collections.abc import Iterator
from typing import Any

from understudy.errors import ParameterError

SAFE_HEADERS = {"X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer", "Cache-Control": "no-store"}
"""For every answer that does not say otherwise."""
NO_TELEMETRY: dict[str, bool] = dict.fromkeys(
    ("tracing", "metrics", "logs", "operation_spans", "auto_configure"), False
)
"""The framework would hand request data and exception texts to any OpenTelemetry provider of the process."""
_GRACE = 10  # seconds for open requests when a server is told to stop


def bound(host: str, port: int) -> socket.socket:
    """A socket that listens; whoever reads its address may connect at once, and waits until the server is up."""
    try:
        family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        # The protocol is named, because only then does asyncio switch Nagle's delay off: 40 milliseconds an answer.
        listening = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
        try:
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listening.bind(address)
            listening.listen(2048)
        except OSError:
            listening.close()
            raise
    except (OSError, UnicodeError) as reason:  # the latter from a name of a host that cannot be one
        why = getattr(reason, "strerror", None) or "that is no address"
        raise ParameterError(
            f"nothing can listen on {host[:80]}:{port} ({why}); choose another --host or --port."
        ) from None
    return listening


def shown_address(listening: socket.socket) -> str:
    """Host and port as an address spells them."""
    host, port = listening.getsockname()[:2]
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def answer(app: Any, listening: socket.socket, **options: Any) -> None:
    """Answer until told to stop."""
    from understudy.front.server import listen

    with listening, _tidy_end(), contextlib.suppress(KeyboardInterrupt):
        listen(app, listening, lifespan="on", timeout_graceful_shutdown=_GRACE, **options)


@contextlib.contextmanager
def _tidy_end() -> Iterator[None]:
    """The server raises the signal that stopped it once more when it is done; it must not kill us before we tidy up."""

    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
