"""What was promised and what was paid: guarantees, events, ledger, account, and the statement in plain words."""

from understudy.privacy.events import Event, UnpricedRead
from understudy.privacy.guarantees import (
    ApproxDP,
    Guarantee,
    KAnonymous,
    LDiverse,
    Neighbours,
    NoFormal,
    ProbabilisticDP,
    PureDP,
)
from understudy.privacy.ledger import Entry, Ledger
from understudy.privacy.secret import Secret

__all__ = [
    "ApproxDP",
    "Entry",
    "Event",
    "Guarantee",
    "KAnonymous",
    "LDiverse",
    "Ledger",
    "Neighbours",
    "NoFormal",
    "ProbabilisticDP",
    "PureDP",
    "Secret",
    "UnpricedRead",
]
