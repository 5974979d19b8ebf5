"""What an account has charged, as its lines tell it, and the handle of one charge that is not settled yet."""

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from enum import StrEnum
from functools import lru_cache
from pathlib import Path
from typing import Any

from understudy.errors import AccountError, BudgetError, ParameterError
from understudy.privacy.account_file import Line, writing
from understudy.privacy.guarantees import Guarantee, guarantee_from_dict


class ChargeState(StrEnum):
    """Where a charge stands; held and committed charges count, cancelled ones do not."""

    HELD = "held"
    COMMITTED = "committed"
    CANCELLED = "cancelled"


@dataclass(frozen=True, kw_only=True)
class Charge:
    """One charge of an account."""

    number: int
    when: str
    """When it was reserved, UTC, ISO 8601."""
    settled: str | None = None
    """When it was committed or cancelled; None while it is held."""
    label: str
    state: ChargeState = ChargeState.HELD
    guarantee: Guarantee
    """The price of this release alone."""
    delta: float | None
    """The delta at which that price was asked for; None for basic composition only."""
    running: Guarantee
    """The total of the account just after this charge; what was cancelled later is still in it."""
    release_id: str | None = None
    digest: str | None = None
    """Of the bytes that it bought; None where nothing was released, or while it is held."""
    ledger: str = field(repr=False)
    """What it paid for, as JSON."""
    whole: str | None = field(default=None, repr=False)
    """Digest of the ledger as the release states it, earlier purchases included."""
    pays_for: str | None = None
    choices: str | None = field(default=None, repr=False)
    claim: str | None = field(default=None, repr=False)

    def to_dict(self) -> dict[str, Any]:
        """As plain data."""
        return {
            "number": self.number,
            "when": self.when,
            "settled": self.settled,
            "label": self.label,
            "state": self.state.value,
            "guarantee": self.guarantee.to_dict(),
            "delta": self.delta,
            "running": self.running.to_dict(),
            "release_id": self.release_id,
            "digest": self.digest,
            "pays_for": self.pays_for,
        }


@dataclass(frozen=True, kw_only=True)
class History:
    """Everything that an account remembers, in the order of its lines."""

    charges: dict[int, Charge]
    looks: tuple[tuple[str, str], ...]
    fixed: dict[str, int]
    """Choices that were fixed or charged, and how many looks there had been."""

    @classmethod
    def of(cls, lines: Sequence[Line]) -> "History":
        """Told by the lines alone."""
        charges: dict[int, Charge] = {}
        looks: list[tuple[str, str]] = []
        fixed: dict[str, int] = {}
        for line in lines[1:]:
            body = line.body
            if line.kind == "reserved":
                charges[body["charge"]] = _reserved(body)
            elif line.kind in ("committed", "cancelled"):
                before = charges[body["charge"]]
                told = {"settled": body["when"], "release_id": body.get("release"), "digest": body.get("digest")}
                charges[before.number] = replace(before, state=ChargeState(line.kind), **told)
            elif line.kind == "claimed":
                charges[body["charge"]] = replace(charges[body["charge"]], claim=body["claim"])
            elif line.kind == "looked":
                looks.append((body["when"], body["what"]))
            elif line.kind != "fixed":
                raise AccountError(
                    f"line {line.number} of the account is of the kind {line.kind!r}, which this understudy does not "
                    "know; a misread charge could overspend. Use the version of understudy that wrote it."
                )
            if line.kind in ("reserved", "fixed") and body.get("choices"):
                fixed.setdefault(body["choices"], len(looks))
        return cls(charges=charges, looks=tuple(looks), fixed=fixed)

    @property
    def counted(self) -> list[Charge]:
        """Held and committed charges: what is spent."""
        return [charge for charge in self.charges.values() if charge.state is not ChargeState.CANCELLED]

    @property
    def next_number(self) -> int:
        """Of the next charge."""
        return max(self.charges, default=0) + 1

    def looked_before(self, choices: str | None) -> bool:
        """Whether somebody had looked at confidential figures before these choices were fixed."""
        return bool(self.looks) and self.fixed.get(choices or "", len(self.looks)) > 0


def _reserved(body: Any) -> Charge:
    kept = {name: body.get(name) for name in ("label", "delta", "ledger", "whole", "pays_for", "choices", "claim")}
    return Charge(
        number=body["charge"],
        when=body["when"],
        guarantee=_guarantee(body["cost"]),
        running=_guarantee(body["total"]),
        **kept,
    )


@lru_cache(maxsize=4096)
def _guarantee(text: str) -> Guarantee:
    return guarantee_from_dict(json.loads(text))


@dataclass(kw_only=True, eq=False, repr=False)
class Reservation:
    """A price taken out of the budget, to be committed or cancelled once."""

    path: Path
    patience: float
    identity: str
    number: int
    label: str
    cost: Guarantee
    """The price of this release alone."""
    total: Guarantee
    """The total of the account with this release in it."""
    looked: bool = False
    """Whether a confidential look came before its choices were fixed."""
    is_committed: bool = False
    digest: str | None = None
    """Of the bytes that were bought, once it is committed."""

    def __repr__(self) -> str:
        return f"<Reservation {self.number} {self.label!r}: {plain_price(self.cost)}>"

    def commit(self, release_id: str, digest: str | None = None) -> None:
        """Record which release the price became and its bytes; the same again is harmless, another is refused."""
        release_id = worded("release_id", release_id, "2024-q4-public-use")
        self._settle(ChargeState.COMMITTED, release_id, digest)
        self.is_committed, self.digest = True, digest

    def cancel(self) -> None:
        """Give the price back; only for what nobody saw."""
        self._settle(ChargeState.CANCELLED, None, None)

    def _settle(self, state: ChargeState, release_id: str | None, digest: str | None) -> None:
        with writing(self.path, self.patience, self.identity) as lines:
            charge = History.of(lines.all).charges.get(self.number)
            if charge is None or charge.label != self.label:
                raise BudgetError(
                    f"reservation {self.number} is not in `{self.path}`; the file was replaced since. "
                    "Restore the account that holds it, because its price is spent."
                )
            if charge.state is ChargeState.HELD:
                lines.append(state.value, charge=self.number, when=now(), release=release_id, digest=digest)
            elif (charge.state, charge.release_id, charge.digest) != (state, release_id, digest):
                name = f" as {charge.release_id!r}" if charge.release_id is not None else ""
                asked = f" as {release_id!r}" if release_id is not None else ""
                raise BudgetError(
                    f"reservation {self.number} ({self.label!r}) was {charge.state.value}{name} already and cannot be "
                    f"{state.value}{asked}: a price is settled once, for one set of bytes. Reserve again for another "
                    "release."
                )


def figure(value: float) -> str:
    """A number short enough for a sentence."""
    return f"{value:.10g}"


def plain_price(price: Guarantee) -> str:
    """A price as part of a sentence."""
    epsilon, delta = getattr(price, "epsilon", math.inf), getattr(price, "delta", 0.0)
    return f"epsilon {figure(epsilon)}, delta {figure(delta)}"


def now() -> str:
    """The time, UTC, ISO 8601."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def worded(name: str, value: str, example: str) -> str:
    """The text itself, or an error when there is none."""
    if not isinstance(value, str) or not value.strip():
        raise ParameterError(f"`{name}` is {value!r}; it must be a few words. Try {example!r}.")
    return value
