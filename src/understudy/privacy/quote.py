"""The price of something before it is made: one value for tables, counts, commutes, scores and whatever comes later."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from understudy.privacy.guarantees import Guarantee
from understudy.privacy.ledger import Ledger
from understudy.privacy.provenance import DECLARED, Bought, InputRole, Provenance
from understudy.privacy.spelling import at_most
from understudy.privacy.statement import Subject, statement


@dataclass(frozen=True, kw_only=True)
class Quote:
    """What ``rows`` rows, counts or workers would cost; reads no private data."""

    method: str
    route: str
    """``N``: noise once, rows free. ``S``: every draw costs. ``counts``, ``score``, ``none``."""
    own: Ledger
    """What it reads itself; :attr:`ledger` has earlier purchases too."""
    rows: int
    own_delta: float | None
    """The slack of the total, that of earlier purchases left out; None for basic composition."""
    paper: Mapping[str, Any] | None = None
    warnings: tuple[str, ...] = ()
    subject: Subject = Subject.ROWS
    """What the statement speaks of."""
    inputs: Mapping[InputRole, Provenance] = field(default_factory=lambda: {InputRole.DATA: DECLARED})
    """Every table that goes in, and what it is."""
    bought: tuple[Bought, ...] = ()
    """What the ledger repeats of earlier purchases: a priced codebook, releases used as public knowledge."""
    basis: Any = field(default=None, repr=False, compare=False)
    """What it was computed for; a price for anything else is computed anew."""
    call: Guarantee | None = None
    """What every answer adds, for scores that are paid for by the call."""

    @property
    def ledger(self) -> Ledger:
        """Everything that its reader will see paid for: earlier purchases first."""
        return Ledger.of([*(entry for one in self.bought for entry in one.ledger), *self.own])

    @property
    def delta(self) -> float | None:
        """The delta at which the total is stated: all of them added up, or None for that of basic composition."""
        if self.own_delta is None and all(one.delta is None for one in self.bought):
            return None
        return math.fsum([self.own_delta or 0.0, *(one.slack for one in self.bought)])

    def owed(self, paid: Callable[[Bought], bool]) -> "Quote":
        """What is still to be paid, where some purchases were paid for already."""
        return replace(self, bought=tuple(one for one in self.bought if not paid(one)))

    @property
    def total(self) -> Guarantee:
        """The smallest proven total for the whole."""
        return self.ledger.total(delta=self.delta)

    @property
    def pure(self) -> Guarantee:
        """The total by basic composition."""
        return self.ledger.basic()

    @property
    def statement(self) -> str:
        """The promise in plain words."""
        return self.said(self.rows)

    def said(self, rows: int, *, looked: bool = False) -> str:
        """The promise of what was made: ``rows`` of them, perhaps after a confidential look."""
        paper = self.paper.get("statement") if self.paper else None
        return statement(
            self.ledger,
            self.total,
            rows=rows,
            route=self.route,
            paper=paper,
            subject=self.subject,
            inputs=self.inputs,
            looked=looked,
            call=self.call,
        )

    def with_data(self, provenance: Provenance) -> "Quote":
        """The same price for a table of this provenance: what it does to the promise comes first in the ledger."""
        return replace(
            self,
            own=Ledger.of(provenance.as_data) + self.own,
            warnings=(*self.warnings, *provenance.warnings),
            inputs={**self.inputs, InputRole.DATA: provenance.uncounted},
        )

    def with_public(self, inputs: Mapping[InputRole, Provenance]) -> "Quote":
        """The same with tables used as public knowledge: releases of ours bring their price along."""
        found = [one.as_public(role) for role, one in inputs.items()]
        seen = {one.name: one for one in found if one is not None}  # used in two roles, paid for once
        return replace(self, inputs={**self.inputs, **inputs}, bought=(*self.bought, *seen.values()))

    def times(self, files: int) -> "Quote":
        """The price of so many files together, for one charge: between two charges something could be half paid."""
        delta = None if self.own_delta is None else math.fsum([self.own_delta] * files)
        return replace(self, own=Ledger(self.own.entries * files), own_delta=delta)

    def to_dict(self) -> dict[str, Any]:
        """As plain data, for machines."""
        return {
            "method": self.method,
            "rows": self.rows,
            "route": self.route,
            "paper": self.paper,
            "total": self.total.to_dict(),
            "pure": self.pure.to_dict(),
            "entries": self.ledger.to_list(),
            "assumptions": list(self.ledger.assumptions),
            "inputs": {role.value: one.to_dict() for role, one in self.inputs.items()},
            "statement": self.statement,
            "warnings": list(self.warnings),
        }

    def __repr__(self) -> str:
        total = self.total
        price = f"epsilon {at_most(total.epsilon, 4)}" if hasattr(total, "epsilon") else total.kind
        return f"<Quote of {self.method}, {self.rows:,} {self.subject.value}: {price}>"
