"""Listen: a door that accepts no more connections than there is room for, and the web server behind it."""

import asyncio
import contextlib
import errno
import logging
import socket
import ssl
import sys
from collections.abc import Callable
from typing import Any

import uvicorn
from uvicorn.config import STARTUP_FAILURE

from understudy.front.protocol import GuardedProtocol
from understudy.front.visitors import Limits, Visit, Visitors, address_of

_QUEUE = 2048  # connections that the system keeps for us until they are accepted
_PAUSE = 0.1  # seconds, when the system has no descriptor left
_EXHAUSTED = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM})
_log = logging.getLogger("understudy.front")


def listen(app: Any, listening: socket.socket, *, limits: Limits | None = None, **options: Any) -> None:
    """Answer on a bound socket until told to stop; ``options`` are those of :class:`uvicorn.Config`."""
    chosen = (limits or Limits()).within_descriptors()
    config = uvicorn.Config(
        app,
        http=GuardedProtocol,
        ws="none",
        log_config=None,
        access_log=False,  # its lines hold addresses of people and whatever they typed as a path
        server_header=False,
        proxy_headers=False,
        timeout_keep_alive=chosen.idle_seconds,
        **options,
    )
    GuardedServer(config, chosen).run(sockets=[listening])


class GuardedServer(uvicorn.Server):  # type: ignore[misc]
    """uvicorn with our door: its own accepts everybody until descriptors run out, and then nobody for a second."""

    def __init__(self, config: uvicorn.Config, limits: Limits) -> None:
        super().__init__(config)
        self._limits = limits

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start the application, then open the door."""
        await self.lifespan.startup()
        if self.lifespan.should_exit:
            sys.exit(STARTUP_FAILURE)
        visitors = Visitors(self._limits)
        self.servers = [
            Door(listening, self._protocol, visitors, self._limits, self.config.ssl) for listening in sockets or ()
        ]
        self.started = True

    def _protocol(self) -> GuardedProtocol:
        return GuardedProtocol(config=self.config, server_state=self.server_state, app_state=self.lifespan.state)


class Door:
    """Accepts connections one by one, so that a crowd cannot take all descriptors before the first is looked at."""

    def __init__(
        self,
        listening: socket.socket,
        protocol: Callable[[], GuardedProtocol],
        visitors: Visitors,
        limits: Limits,
        tls: ssl.SSLContext | None,
    ) -> None:
        listening.setblocking(False)
        listening.listen(_QUEUE)
        self._listening, self._protocol, self._visitors = listening, protocol, visitors
        self._limits, self._tls = limits, tls
        self._arrivals: set[asyncio.Task[None]] = set()
        self._accepting = asyncio.get_running_loop().create_task(self._accept())

    def close(self) -> None:
        """Accept nobody any more."""
        self._accepting.cancel()
        for arrival in self._arrivals:
            arrival.cancel()

    async def wait_closed(self) -> None:
        """Wait until the last arrival is dealt with."""
        await asyncio.gather(self._accepting, *self._arrivals, return_exceptions=True)

    async def _accept(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            await self._visitors.room()
            try:
                connection, address = await loop.sock_accept(self._listening)
            except OSError as reason:
                if reason.errno in _EXHAUSTED:
                    _log.warning("the system gives no more descriptors; raise LimitNOFILE=")
                    await asyncio.sleep(_PAUSE)
                continue
            self._take(connection, address_of(str(address[0])))
            await asyncio.sleep(0)  # a crowd at the door must not keep the server from those inside

    def _take(self, connection: socket.socket, address: str) -> None:
        visit = Visit(address, connection.close)
        if not self._visitors.enter(visit):
            _log.warning("one address has all of its connections busy; a further one was closed")
            connection.close()
            return
        protocol = self._protocol()
        protocol.belongs_to(self._visitors, visit, self._limits)
        arrival = asyncio.get_running_loop().create_task(self._greet(connection, protocol))
        visit.end = arrival.cancel  # until the handshake is done; then the protocol says how
        self._arrivals.add(arrival)

        def arrived(done: asyncio.Task[None]) -> None:
            self._arrivals.discard(done)
            if protocol.transport is None:  # it left, or was sent away, before there was anything to speak with
                connection.close()
                self._visitors.leave(visit)

        arrival.add_done_callback(arrived)

    async def _greet(self, connection: socket.socket, protocol: GuardedProtocol) -> None:
        """Hand the connection to its protocol, after the TLS handshake if there is one."""
        seconds = None if self._tls is None else self._limits.handshake_seconds
        with contextlib.suppress(OSError):  # whoever fails at the handshake has learned it from there
            await asyncio.get_running_loop().connect_accepted_socket(
                lambda: protocol, connection, ssl=self._tls, ssl_handshake_timeout=seconds
            )
