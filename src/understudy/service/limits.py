"""Rate limits: a bucket of requests per key, refilled evenly. They protect the server; budgets protect the data."""

import time
from collections.abc import Callable

from understudy.service.keys import ApiKey
from understudy.service.problems import Problem

_BURST_SECONDS = 10.0


class RateLimiter:
    """Counts in this process: two servers together let through twice the rate."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._buckets: dict[str, tuple[float, float]] = {}

    def take(self, key: ApiKey) -> None:
        """Take one request out, or refuse with the time to wait."""
        now = self._clock()
        refill = key.rate / 60.0
        full = max(1.0, refill * _BURST_SECONDS)
        level, since = self._buckets.get(key.key_id, (full, now))
        level = min(full, level + (now - since) * refill)
        if level < 1.0:
            self._buckets[key.key_id] = (level, now)
            wait = (1.0 - level) / refill
            raise Problem(
                "rate-limited",
                f"this key may send {key.rate:,} requests a minute; wait {wait:.1f} seconds.",
                headers={"Retry-After": str(max(1, round(wait + 0.5)))},
            )
        self._buckets[key.key_id] = (level - 1.0, now)
