"""A box that private counts travel in, so that they cannot be printed, logged or released by accident."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from types import FrameType
from typing import Generic, TypeVar, final

T = TypeVar("T")
_OPENINGS: ContextVar[list[str] | None] = ContextVar("openings", default=None)
_WATCHES: dict[int, list[str]] = {}
"""All that are under way, by the id of their list: a thread has a context of its own, in which nobody watches."""
_WITHOUT_A_PRICE = ("exposed", "declared_public")
"""Functions of our mechanisms that hand a value over as it is; their unpriced entry may get lost elsewhere."""


@contextmanager
def openings_watched() -> Iterator[list[str]]:
    """Who opens a secret in this block outside of our mechanisms, by module; in whatever thread it happens."""
    openers: list[str] = []
    before = _OPENINGS.set(openers)
    _WATCHES[id(openers)] = openers
    try:
        yield openers
    finally:
        del _WATCHES[id(openers)]
        _OPENINGS.reset(before)


def note_reading(caller: FrameType) -> None:
    """Tell whoever watches that rows are in reach of code that is not ours."""
    if not (module := str(caller.f_globals.get("__name__"))).startswith("understudy."):
        _note(module)


def _note(module: str) -> None:
    own = _OPENINGS.get()
    for openers in list(_WATCHES.values()) if own is None else [own]:
        openers.append(module)


@final
class Secret(Generic[T]):
    """Holds a private value; only ``mechanisms/``, ``anonymize/`` and ``evaluate/`` may open it (a test checks).

    >>> Secret(42)
    <withheld>
    """

    __slots__ = ("_value",)

    def __init__(self, value: T) -> None:
        self._value = value

    def open(self) -> T:
        """The value itself; whoever calls this owes the ledger an entry."""
        if _WATCHES:
            caller = sys._getframe(1)
            module = str(caller.f_globals.get("__name__"))
            function = caller.f_code.co_qualname.partition(".")[0]  # a comprehension in it may have a frame of its own
            if not module.startswith("understudy.mechanisms.") or function in _WITHOUT_A_PRICE:
                _note(module)
        return self._value

    def __repr__(self) -> str:
        return "<withheld>"

    def __reduce__(self) -> str:
        raise TypeError("a secret is not written to disk; release it through a mechanism instead.")
