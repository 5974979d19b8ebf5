"""Who is connected: how many may be, how long each may take, and who gives way when there is no more room."""

import asyncio
import ipaddress
import resource
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace

from understudy.errors import RefusalError

_KEPT_BACK = 256  # descriptors for the database's connections, models, the log, and connections on their way out


@dataclass(frozen=True, kw_only=True)
class Limits:
    """What one server gives to its connections."""

    connections: int = 1_000
    per_address: int | None = None
    """Connections of one address (of one /64 network in IPv6); None for half of all."""
    head_seconds: float = 10.0
    """From the beginning of a connection, or of its next request, until the head of the request is complete."""
    request_seconds: float = 60.0
    """From the head until the body has arrived and the response has left."""
    idle_seconds: int = 5
    """Between two requests."""
    requests: int = 1_000
    """On one connection; then it is closed, and a new one may be opened."""
    handshake_seconds: float = 5.0
    head_bytes: int = 16 * 1024

    def within_descriptors(self) -> "Limits":
        """As many connections as the process may have descriptors for."""
        soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
        room = self.connections if soft == resource.RLIM_INFINITY else min(self.connections, soft - _KEPT_BACK)
        if room < 1:
            raise RefusalError(
                f"this process may open {soft} files, and a server needs more than {_KEPT_BACK}; raise it with "
                "`ulimit -n 1024` or LimitNOFILE=."
            )
        return replace(self, connections=room, per_address=min(room, self.per_address or max(1, room // 2)))


@dataclass(eq=False)
class Visit:
    """One connection, from the moment it was accepted; ``end`` closes it at once."""

    address: str
    end: Callable[[], object]


class Visitors:
    """All connections. Those that wait for a request give way to newcomers, the longest waiting first."""

    def __init__(self, limits: Limits) -> None:
        assert limits.per_address is not None
        self._most, self._share = limits.connections, limits.per_address
        self._all: dict[Visit, None] = {}
        self._waiting: dict[Visit, None] = {}  # in order, the longest waiting first
        self._by_address = Counter[str]()
        self._changed = asyncio.Event()

    def __len__(self) -> int:
        return len(self._all)

    def enter(self, visit: Visit) -> bool:
        """Take a newcomer in, at the cost of the one of its address that waits longest if that has no room left."""
        if self._by_address[visit.address] >= self._share and not self._end_one(visit.address):
            return False
        self._all[visit] = None
        self._by_address[visit.address] += 1
        self.waits(visit)
        return True

    async def room(self) -> None:
        """Wait until one more may be accepted; who has sent no request gives way at once."""
        while len(self._all) >= self._most:
            self._changed.clear()
            self._end_one()
            await self._changed.wait()

    def waits(self, visit: Visit) -> None:
        """It has no request under way."""
        self._waiting.pop(visit, None)
        if visit in self._all:
            self._waiting[visit] = None
            self._changed.set()

    def works(self, visit: Visit) -> None:
        """It has sent the head of a request."""
        self._waiting.pop(visit, None)

    def leave(self, visit: Visit) -> None:
        """It is closed."""
        if visit in self._all:
            del self._all[visit]
            self._waiting.pop(visit, None)
            self._by_address -= Counter({visit.address: 1})  # forgets addresses that hold nothing
            self._changed.set()

    def _end_one(self, address: str | None = None) -> bool:
        """Close the longest waiting (of an address); False if all have requests under way."""
        oldest = next((visit for visit in self._waiting if address in (None, visit.address)), None)
        if oldest is None:
            return False
        del self._waiting[oldest]
        oldest.end()
        return True


def address_of(host: str) -> str:
    """What counts as one address: in IPv6 the network of 64 bits, which one household or company holds.

    >>> address_of("192.0.2.7"), address_of("2001:db8::1:2:3:4"), address_of("::ffff:192.0.2.7")
    ('192.0.2.7', '2001:db8::', '192.0.2.7')
    """
    try:
        ip = ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return host
    if ip.version == 4:
        return str(ip)
    return str(ip.ipv4_mapped or ipaddress.ip_network((int(ip), 64), strict=False).network_address)
