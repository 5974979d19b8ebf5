"""The first screen of a page about one decision: what was done, its loss, the risk that is left, and alternatives."""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Fact:
    """A figure with its name, and a sentence on how to read it."""

    label: str
    value: str
    says: str = ""


@dataclass(frozen=True, kw_only=True)
class Compared:
    """Alternatives in a table, or why there are none."""

    says: str
    """Where the alternatives come from, and what looking at them costs."""
    header: Sequence[str] = ()
    rows: Sequence[Sequence[str]] = ()
    chosen: int | None = None
    """The row of what was done."""


@dataclass(frozen=True, kw_only=True)
class Decision:
    """What a board reads first."""

    done: str
    loss: Sequence[Fact]
    risk: Sequence[Fact]
    compared: Compared


SECTIONS = (("done", "What was done"), ("cost", "Loss and risk"), ("compared", "Alternatives"))
"""For the list of sections at the top of a page."""
