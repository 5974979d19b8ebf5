"""A person's word that something in a codebook is public knowledge, and whether it still stands."""

import datetime as dt
from dataclasses import dataclass, replace
from typing import TypeVar


@dataclass(frozen=True, kw_only=True)
class Attestation:
    """A person's declaration: of the levels of a column, a rule, how a file is read, or how tables are linked."""

    by: str
    source: str
    on: dt.date
    of: str | None = None
    """Digest of what was attested (its ``content``): what has changed since is not what the person spoke for."""

    def __str__(self) -> str:
        return f"{self.by} on {self.on.isoformat()}, from {self.source}"


class Attestable:
    """What a person can attest: columns, rules, files, places of tables, constants."""

    attestation: Attestation | None

    @property
    def content(self) -> str:
        """Digest of what a person attests."""
        raise NotImplementedError

    @property
    def is_attested(self) -> bool:
        """Whether a person attested it as it stands now."""
        return self.attestation is not None and self.attestation.of in (None, self.content)


Made = TypeVar("Made", bound=Attestable)


def as_attested(made: Made, before: Attestable) -> Made:
    """What we made of something that a person may have attested: attested if that was, and else not revived by it."""
    if before.attestation is None:
        return made
    of = made.content if before.is_attested else "changed"
    return replace(made, attestation=replace(before.attestation, of=of))  # type: ignore[type-var]
