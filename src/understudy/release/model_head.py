"""What every released model says of itself: how it was made, what was paid for it, and who paid.

Whatever is drawn from a model repeats its ledger and costs nothing more.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from understudy.privacy.ledger import Ledger, stream_entries
from understudy.privacy.quote import Quote
from understudy.privacy.statement import Subject
from understudy.privacy.transaction import Payment

NOT_CHARGED = "charged to no account, so that nobody keeps track of what else the data paid for"


@dataclass(frozen=True, kw_only=True, eq=False)
class ModelHead:
    """The public facts of a released model."""

    ledger: Ledger
    delta: float | None
    method: str
    parameters: Mapping[str, Any]
    secure: bool
    warnings: tuple[str, ...] = ()
    """What a user should know about the promise, for every release drawn from it."""
    charged: str = NOT_CHARGED
    """Which account paid for the tables, as part of a sentence."""
    charged_as: str = ""
    """The name under which that account has the charge."""
    looked: bool = False
    """Whether it was chosen after a confidential look."""

    def head(self) -> dict[str, Any]:
        """As plain data, for the file."""
        return {
            "method": self.method,
            "parameters": dict(self.parameters),
            "ledger": self.ledger.to_list(),
            "delta_for_total": self.delta,
            "secure": self.secure,
            "charged": self.charged,
            "charged_as": self.charged_as,
            "looked": self.looked,
            "warnings": list(self.warnings),
        }

    @staticmethod
    def read_head(described: Mapping[str, Any]) -> dict[str, Any]:
        """The fields of a model from what :meth:`head` wrote."""
        return {
            "ledger": Ledger.from_list(described["ledger"]),
            "delta": described["delta_for_total"],
            "method": described["method"],
            "parameters": described["parameters"],
            "secure": described["secure"],
            "charged": str(described.get("charged", NOT_CHARGED)),
            "charged_as": str(described.get("charged_as", "")),
            "looked": described.get("looked") is True,
            "warnings": tuple(described["warnings"]),
        }

    def payment(self, release_id: str | None = None) -> Payment:
        """Nothing is paid any more, and the manifest says who did."""
        words = f"none needed: drawn from a released model, which itself was {self.charged}"
        return Payment.free(words=words, release_id=release_id, charged_as=self.charged_as or None, looked=self.looked)

    def quote(self, rows: int, *, secure: bool, subject: Subject = Subject.ROWS) -> Quote:
        """What was paid already, for ``rows`` of whatever is drawn; a seed loses the promise."""
        seeded = Ledger() if secure or not self.secure else Ledger.of(stream_entries(False))
        return Quote(
            method=self.method,
            route="N",
            own=self.ledger + seeded,
            own_delta=self.delta,
            rows=rows,
            warnings=self.warnings,
            subject=subject,
        )
