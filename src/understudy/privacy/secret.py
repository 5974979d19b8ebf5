"""A box that private counts travel in, so that they cannot be printed, logged or released by accident."""

from typing import Generic, TypeVar, final

T = TypeVar("T")


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
        return self._value

    def __repr__(self) -> str:
        return "<withheld>"

    def __reduce__(self) -> str:
        raise TypeError("a secret is not written to disk; release it through a mechanism instead.")
