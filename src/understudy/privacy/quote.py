"""The price of something before it is made: one value for tables, counts, commutes, scores and whatever comes later."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from understudy.privacy.card import card
from understudy.privacy.guarantees import Guarantee
from understudy.privacy.ledger import Ledger
from understudy.privacy.provenance import DECLARED, Bought, InputRole, Provenance
from understudy.privacy.spelling import short_promise
from understudy.privacy.statement import Subject, statement

_SHOWN_ENTRIES = 8
"""Of the ledger, on a card."""


@dataclass(frozen=True, kw_only=True, repr=False)
class Quote:
    """What ``rows`` rows, counts or workers would cost; reads no private data."""

    method: str
    route: str
    """``N``: noise once, rows free. ``S``: every draw costs. ``counts``, ``answer``, ``score``, ``none``."""
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
    forecast: Any = field(default=None, repr=False, compare=False)
    """What to expect of the release (:class:`understudy.synth.forecast.Forecast`), where a size was given."""
    shared: str = field(default="", compare=False)
    """How one epsilon was shared out among the parts, in a sentence."""
    files: int = 1
    """How many files it pays for, each at the price of its own."""

    @cached_property
    def ledger(self) -> Ledger:
        """Everything that its reader will see paid for: earlier purchases first."""
        bought = [entry for purchase in self.bought for entry in purchase.ledger]
        return Ledger((*bought, *self.own.entries * self.files))

    @property
    def delta(self) -> float | None:
        """The delta at which the total is stated: all of them added up, or None for that of basic composition."""
        if self.own_delta is None and all(purchase.delta is None for purchase in self.bought):
            return None
        own = math.fsum([self.own_delta or 0.0] * self.files)
        return math.fsum([own, *(purchase.slack for purchase in self.bought)])

    @cached_property
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
        return self.statement_of(self.rows)

    def statement_of(self, rows: int, *, looked: bool = False) -> str:
        """The promise of what was made: ``rows`` of them, perhaps after a confidential look."""
        return statement(
            self.ledger,
            self.total,
            rows=rows,
            route=self.route,
            paper=self.paper.get("statement") if self.paper else None,
            subject=self.subject,
            inputs=self.inputs,
            looked=looked,
            call=self.call,
        )

    def with_data(self, provenance: Provenance) -> "Quote":
        """The same price for a table of this provenance: what it does to the promise comes first in the ledger."""
        warnings = self.warnings
        if provenance.record_wise:
            if provenance.is_release:
                warnings += (
                    f"the input is the anonymised release {provenance.release}: every record was recoded by itself by "
                    "public rules, so that what is promised here holds for the records behind it too; k-anonymity is "
                    "not inherited.",
                )
            # nothing that was counted in the records behind it: neither its k, nor its manifest, which has their number
            provenance = replace(provenance, ledger=Ledger(), delta=None, text="", k=None)
        return replace(
            self,
            own=Ledger((*provenance.as_data, *self.own)),
            warnings=warnings,
            inputs={**self.inputs, InputRole.DATA: provenance},
        )

    def with_public(self, inputs: Mapping[InputRole, Provenance]) -> "Quote":
        """The same with tables used as public knowledge: releases of ours bring their price along."""
        purchases = [table.as_public(role) for role, table in inputs.items()]
        # used in two roles, paid for once
        bought = {purchase.name: purchase for purchase in purchases if purchase is not None}
        return replace(self, inputs={**self.inputs, **inputs}, bought=(*self.bought, *bought.values()))

    def times(self, files: int) -> "Quote":
        """The price of so many files together, for one charge: between two charges something could be half paid."""
        return replace(self, files=files)

    @property
    def _title(self) -> str:
        # what promises nothing may have as many rows as there are real records
        number = f", {self.rows:,} {self.subject.value}" if self.total.is_formal else ""
        return f"{self.method}{number}"

    def __repr__(self) -> str:
        return f"<Quote of {self._title}: {short_promise(self.total)}>"

    def _repr_html_(self) -> str:
        entries = self.ledger.entries
        facts = [("Promise", short_promise(self.total)), ("Neighbours", getattr(self.total, "neighbours", "none"))]
        facts += [
            (f"Pays for {entry.stage}", f"{entry.reads}: {short_promise(entry.guarantee)}")
            for entry in entries[:_SHOWN_ENTRIES]
        ]
        if len(entries) > _SHOWN_ENTRIES:
            facts.append(("Pays for", f"{len(entries) - _SHOWN_ENTRIES:,} more"))
        facts += [("Warning", warning) for warning in self.warnings]
        return card(f"Quote: {self._title}", facts, note=self.statement if self.total.is_formal else "")

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
            "inputs": {role.value: table.to_dict() for role, table in self.inputs.items()},
            "statement": self.statement,
            **({"shared": self.shared} if self.shared else {}),
            "warnings": list(self.warnings),
            **({} if self.forecast is None else {"forecast": self.forecast.to_dict()}),
        }
