"""What happened to private data, in just the detail that pricing needs.

A mechanism is code, an event is the value that prices it, and an accountant adds events up; the three never mix.
Mechanisms define their own events beside their proofs (``mechanisms/proofs``); a manifest stores events, so that
anybody can recompute the price of a release without the data.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import partial
from importlib import import_module
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from understudy.codec import from_plain, to_plain
from understudy.errors import ReleaseError
from understudy.parameters import Declared
from understudy.privacy.guarantees import Guarantee, NoFormal

Orders = npt.NDArray[np.float64]
Renyi = npt.NDArray[np.float64]

_EVENTS: dict[str, type["Event"]] = {}


@dataclass(frozen=True, kw_only=True)
class Event(Declared, ABC):
    """One priced use of private data. Subclasses are frozen, and their meaning never changes once released."""

    kind: ClassVar[str]
    proof: ClassVar[str | None]
    """File in ``mechanisms/proofs`` that proves :meth:`guarantee`; None means there is none, and none is claimed."""

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if "kind" in cls.__dict__:
            taken = _EVENTS.get(cls.kind, cls)
            same = (taken.__module__, taken.__qualname__) == (cls.__module__, cls.__qualname__)
            if not same and not cls.__module__.startswith("understudy."):
                raise TypeError(f"there is an event of the kind {cls.kind!r} already, which files are priced by.")
            _EVENTS[cls.kind] = cls

    @abstractmethod
    def guarantee(self) -> Guarantee:
        """The plain claim that the proof file proves."""

    def renyi(self, orders: Orders) -> Renyi | None:
        """Renyi divergence at each order (all above 1), or None where no such bound is proved.

        The curve may hold only outside an event of probability :attr:`slack` (approximate Renyi DP).
        """
        return None

    @property
    def slack(self) -> float:
        """Probability that :meth:`renyi` leaves out; it is added to the delta of any total that uses the curve."""
        return 0.0

    @property
    def inner(self) -> "Event":
        """The event as the mechanism itself writes it; a wrapper such as the price of a whole person has another."""
        return self

    def to_dict(self) -> dict[str, Any]:
        """As plain data; fractions stay exact."""
        return {"kind": self.kind, **{field.name: to_plain(getattr(self, field.name)) for field in fields(self)}}


@dataclass(frozen=True, kw_only=True)
class UnpricedRead(Event):
    """Private data was used and nobody paid: the total of the ledger becomes ``NoFormal``."""

    kind: ClassVar[str] = "unpriced-read"
    proof: ClassVar[str | None] = None
    why: str

    def guarantee(self) -> Guarantee:
        """None, and why."""
        return NoFormal(why=self.why)


def event_from_dict(data: dict[str, Any]) -> Event:
    """Read back what :meth:`Event.to_dict` wrote."""
    kind = data.get("kind")
    if kind not in _EVENTS:
        import_module("understudy.mechanisms")  # where events stand, beside their proofs
    if kind not in _EVENTS:
        raise ReleaseError(
            f"event kind {kind!r} is unknown to this version of understudy; install the version that wrote it."
        )
    cls = _EVENTS[kind]
    read: Callable[[dict[str, Any]], Event] = getattr(cls, "from_fields", partial(from_plain, cls))
    try:
        return read({name: value for name, value in data.items() if name != "kind"})
    except (TypeError, ValueError, LookupError, ArithmeticError, AttributeError) as reason:
        raise ReleaseError(
            f"an event of kind {kind!r} cannot be read ({reason}); it was changed by hand. Take the original file."
        ) from None
