"""The manifest: everything a reader needs to judge a release.

It never holds a seed or a raw count. :func:`describe` builds the manifests of tables, counts, commutes, scores and
anonymised tables from the quote, the payment and the facts of what was made.
"""

import datetime as dt
import platform
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError
from importlib.metadata import version as installed
from typing import Any

from understudy.codebook import Codebook, LinkedCodebook
from understudy.privacy.guarantees import Guarantee, guarantee_from_dict
from understudy.privacy.ledger import Ledger
from understudy.privacy.provenance import Made, Provenance, inputs_from_dict
from understudy.privacy.quote import Quote
from understudy.privacy.statement import Subject
from understudy.privacy.transaction import Payment
from understudy.version import __version__

FORMAT = 2
DECLARED_ROWS = "declared by the caller, as a number that was chosen without looking at the data"
_LIBRARIES = ("numpy", "numba", "pyarrow", "duckdb", "dp-accounting", "cryptography", "scikit-learn")


@dataclass(frozen=True, kw_only=True)
class Manifest:
    """What was made, how, and at what price."""

    release_id: str
    quote: Quote
    parameters: Mapping[str, Any]
    rows: int
    rows_origin: str
    codebook: Codebook | LinkedCodebook
    secure: bool
    account: str
    """The account that paid, or the sentence that none did."""
    charged_as: str
    """The release under whose name the account has the charge: its own, or the first one of the same fit."""
    looked: bool = False
    """Whether it was chosen or approved after a confidential look."""
    warnings: tuple[str, ...] = ()
    """What a reader should know about the choices and the draw."""
    made: Made = Made.SYNTHETIC
    """What the table is."""
    record_wise: bool = False
    real_records: bool = False
    anonymity: Mapping[str, Any] | None = None
    """What an anonymised table was asked to satisfy, and what was measured in it."""
    score: Mapping[str, Any] | None = None
    """What a risk score asks and answers."""
    certificate: Mapping[str, Any] | None = None
    """What the release had to be good for, and how well it was measured to be."""
    parts: int | None = None
    """Number of files that the table is spread over; None for one file."""
    tables: Mapping[str, int] | None = None
    """Of linked tables the rows of each, by name."""
    created: str = field(default_factory=lambda: dt.datetime.now(dt.UTC).isoformat(timespec="seconds"))

    @property
    def method(self) -> str:
        """Which method made it."""
        return self.quote.method

    @property
    def route(self) -> str:
        """How it pays."""
        return self.quote.route

    @property
    def ledger(self) -> Ledger:
        """Everything that was paid for it."""
        return self.quote.ledger

    @property
    def total(self) -> Guarantee:
        """The smallest proven total of the ledger."""
        return self.quote.total

    @property
    def confidential(self) -> bool:
        """Whether the table holds real records as they are, so that it must not be published."""
        return self.made is Made.COMPLETED

    @property
    def statement(self) -> str:
        """The promise in plain words."""
        return self.quote.statement_of(self.rows, looked=self.looked)

    @property
    def provenance(self) -> Provenance:
        """The provenance of the table, for its next use."""
        # with a seed the same bytes come out again, so that no name made by chance is among them
        return Provenance(
            made=self.made,
            release=self.charged_as if self.secure else "made with a seed",
            record_wise=self.record_wise,
            seeded=not self.secure,
            real_records=self.real_records,
            ledger=self.quote.ledger,
            delta=self.quote.delta,
        )

    def to_dict(self, files: Mapping[str, str] | None = None) -> dict[str, Any]:
        """As plain data; ``files`` are the digests of what was written."""
        quote, ledger = self.quote, self.quote.ledger
        return {
            "format": FORMAT,
            "release": self.release_id,
            "created": self.created,
            "statement": self.statement,
            "confidential": self.made is Made.COMPLETED,
            "guarantee": quote.total.to_dict(),
            "basic_composition": ledger.basic().to_dict(),
            "delta_for_total": quote.delta,
            "paper": dict(quote.paper) if quote.paper else None,
            "method": quote.method,
            "route": quote.route,
            "parameters": dict(self.parameters),
            "rows": {"number": self.rows, "origin": self.rows_origin},
            **({} if self.parts is None else {"parts": self.parts}),
            **({} if self.tables is None else {"tables": dict(self.tables)}),
            "ledger": ledger.to_list(),
            "assumptions": list(ledger.assumptions),
            "holds": self.made.value,
            "subject": quote.subject.value,
            "record_wise": self.record_wise,
            "real_records": self.real_records,
            "inputs": {role.name.lower(): table.to_dict() for role, table in quote.inputs.items()},
            "confidential_look": self.looked,
            "call": None if quote.call is None else quote.call.to_dict(),
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
            "charged_as": self.charged_as,
            "versions": {"understudy": __version__, "python": platform.python_version(), **_versions()},
            "files": dict(files or {}),
            **({} if self.anonymity is None else {"anonymity": dict(self.anonymity)}),
            **({} if self.score is None else {"score": dict(self.score)}),
            **({} if self.certificate is None else {"certificate": dict(self.certificate)}),
        }


def read_quote(facts: Mapping[str, Any]) -> Quote:
    """The quote in what :meth:`Manifest.to_dict` wrote; prices are computed again from the ledger."""
    return Quote(
        method=facts["method"],
        route=facts["route"],
        own=Ledger.from_list(facts["ledger"]),  # earlier purchases are in it already
        rows=facts["rows"]["number"],
        own_delta=facts["delta_for_total"],
        paper=facts["paper"],
        subject=Subject(facts["subject"]),
        inputs=inputs_from_dict(facts["inputs"]),
        call=None if facts["call"] is None else guarantee_from_dict(dict(facts["call"])),
    )


def read_manifest(facts: Mapping[str, Any], codebook: Codebook | LinkedCodebook) -> Manifest:
    """What :meth:`Manifest.to_dict` wrote."""
    return Manifest(
        release_id=facts["release"],
        quote=read_quote(facts),
        parameters=facts["parameters"],
        rows=facts["rows"]["number"],
        rows_origin=facts["rows"]["origin"],
        codebook=codebook,
        secure=facts["randomness"] == _RANDOMNESS[True],
        account=facts["account"],
        charged_as=facts["charged_as"],
        looked=facts["confidential_look"],
        warnings=tuple(facts["warnings"]),
        made=Made(facts["holds"]),
        record_wise=facts["record_wise"],
        real_records=facts["real_records"],
        anonymity=facts.get("anonymity"),
        score=facts.get("score"),
        certificate=facts.get("certificate"),
        parts=facts.get("parts"),
        tables=facts.get("tables"),
        created=facts["created"],
    )


def describe(
    quote: Quote,
    payment: Payment,
    *,
    parameters: Mapping[str, Any],
    codebook: Codebook | LinkedCodebook,
    secure: bool,
    rows: int | None = None,
    rows_origin: str = DECLARED_ROWS,
    warnings: tuple[str, ...] = (),
    **more: Any,
) -> Manifest:
    """The manifest of what was made under ``quote`` and paid for by ``payment``.

    ``rows`` where another number came out than was quoted; ``more`` are further fields of :class:`Manifest`.
    """
    return Manifest(
        release_id=payment.release_id,
        quote=quote,
        parameters=parameters,
        rows=quote.rows if rows is None else rows,
        rows_origin=rows_origin,
        codebook=codebook.plain,  # what is released is written by the plain convention, whatever the data look like
        secure=secure,
        account=payment.words,
        charged_as=payment.charged_as,
        looked=payment.looked,
        warnings=(*quote.warnings, *warnings),
        **more,
    )


_RANDOMNESS = {
    True: "secure: ChaCha20 under a 256-bit key from the operating system, discarded",
    False: "seeded: reproducible by whoever knows the seed, so this release is not private",
}


def _versions() -> dict[str, str]:
    versions = {}
    for name in _LIBRARIES:
        with suppress(PackageNotFoundError):
            versions[name] = installed(name)
    return versions
