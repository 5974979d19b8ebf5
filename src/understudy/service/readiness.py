"""Whether the store would take a charge now: anybody may ask, so it is tried once a second and with a deadline."""

import asyncio
import time
from collections.abc import Callable

from sqlalchemy.exc import SQLAlchemyError

from understudy.errors import UnderstudyError

_REMEMBERED = 1.0  # seconds
_PATIENCE = 5.0  # seconds; a database that takes longer is not ready


class Readiness:
    """One trial at a time, in a thread of its own: while a lost database lets one hang, the others need not."""

    def __init__(
        self,
        check: Callable[[], None],
        *,
        patience: float = _PATIENCE,
        failed: Callable[[Exception], None] = lambda reason: None,
    ) -> None:
        """``failed`` hears why a trial failed, the first time after one that did not."""
        self._check, self._patience, self._failed = check, patience, failed
        self._trial: asyncio.Task[bool] | None = None
        self._until, self._held, self._is_new = -1.0, False, True

    async def holds(self) -> bool:
        """The result of the last second, or a new one; False while a trial takes too long."""
        if time.monotonic() < self._until:
            return self._held
        if self._trial is None or self._trial.done():
            self._trial = asyncio.create_task(self._try())
        done, _ = await asyncio.wait({self._trial}, timeout=self._patience)
        return self._trial in done and self._trial.result()

    async def _try(self) -> bool:
        try:
            await asyncio.to_thread(self._check)
            self._held = self._is_new = True
        except (UnderstudyError, SQLAlchemyError, OSError) as reason:
            self._held = False
            if self._is_new:
                self._failed(reason)
            self._is_new = False
        self._until = time.monotonic() + _REMEMBERED
        return self._held
