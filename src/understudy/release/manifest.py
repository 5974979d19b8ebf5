"""The manifest: everything a reader needs to judge a release, and nothing that would give the data away.

Never a seed, never a raw count.
"""

import datetime as dt
import platform
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError
from importlib.metadata import version as installed
from typing import Any

from understudy.codebook import Codebook
from understudy.privacy.guarantees import Guarantee
from understudy.privacy.ledger import Ledger
from understudy.privacy.statement import statement
from understudy.sources.ancestry import Ancestor
from understudy.version import __version__

__all__ = ["FORMAT", "Manifest"]

FORMAT = 1
_LIBRARIES = ("numpy", "numba", "pyarrow", "duckdb", "opendp", "dp-accounting", "cryptography", "scikit-learn")


@dataclass(frozen=True, kw_only=True)
class Manifest:
    """What was made, how, and at what price."""

    release_id: str
    method: str
    route: str
    parameters: Mapping[str, Any]
    rows: int
    rows_origin: str
    ledger: Ledger
    delta: float | None
    paper: Mapping[str, Any] | None
    codebook: Codebook
    secure: bool
    account: str
    """The account that paid, or the sentence that none did."""
    warnings: tuple[str, ...] = ()
    """What a reader should know about the choices and the draw."""
    holds: str = "synthetic"
    """What the table is: ``synthetic`` rows, ``anonymized`` records of real people, or noisy ``counts``."""
    anonymity: Mapping[str, Any] | None = None
    """What an anonymised table was asked to satisfy, and what was measured in it."""
    ancestor: Ancestor | None = None
    """The release that the rows were drawn from, if that was not the confidential table itself."""
    confidential: bool = False
    """Whether the table holds real records, so that it must not leave the house."""
    parts: int | None = None
    """Number of files that the table is spread over; None for one file."""
    created: str = field(default_factory=lambda: dt.datetime.now(dt.UTC).isoformat(timespec="seconds"))

    @property
    def total(self) -> Guarantee:
        """The smallest proven total of the ledger."""
        return self.ledger.total(delta=self.delta)

    @property
    def statement(self) -> str:
        """The promise in plain words."""
        said = self.paper.get("statement") if self.paper else None
        return statement(self.ledger, self.total, rows=self.rows, route=self.route, paper=said)

    def to_dict(self, files: Mapping[str, str] | None = None) -> dict[str, Any]:
        """As plain data; ``files`` are the digests of what was written."""
        return {
            "format": FORMAT,
            "release": self.release_id,
            "created": self.created,
            "statement": self.statement,
            "confidential": self.confidential,
            "guarantee": self.total.to_dict(),
            "basic_composition": self.ledger.basic().to_dict(),
            "delta_for_total": self.delta,
            "paper": dict(self.paper) if self.paper else None,
            "method": self.method,
            "route": self.route,
            "parameters": dict(self.parameters),
            "rows": {"number": self.rows, "origin": self.rows_origin},
            **({} if self.parts is None else {"parts": self.parts}),
            "ledger": self.ledger.to_list(),
            "assumptions": list(self.ledger.assumptions),
            "codebook": {
                "digest": self.codebook.digest,
                "attested": {
                    column.name: str(column.attestation) for column in self.codebook.released if column.is_attested
                },
                "drafted_from_data": list(self.codebook.unattested),
            },
            "warnings": list(self.warnings),
            "randomness": _RANDOMNESS[self.secure],
            "account": self.account,
            "versions": {"understudy": __version__, "python": platform.python_version(), **_versions()},
            "files": dict(files or {}),
            **self._more(),
        }

    def _more(self) -> dict[str, Any]:
        more: dict[str, Any] = {}
        if self.holds != "synthetic":
            more["holds"] = self.holds
        if self.anonymity is not None:
            more["anonymity"] = dict(self.anonymity)
        if self.ancestor is not None:
            more["ancestor"] = self.ancestor.to_dict()
        return more


_RANDOMNESS = {
    True: "secure: ChaCha20 under a 256-bit key from the operating system, discarded",
    False: "seeded: reproducible by whoever knows the seed, so this release is not private",
}


def _versions() -> dict[str, str]:
    found = {}
    for name in _LIBRARIES:
        try:
            found[name] = installed(name)
        except PackageNotFoundError:
            continue
    return found
