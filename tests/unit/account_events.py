"""Events and helpers that the account tests share; child processes import this to know the events."""

import math
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from understudy.privacy import ApproxDP, Entry, Event, Guarantee, LDiverse, Ledger, Neighbours, PureDP
from understudy.privacy.account import Account

AR, RO = Neighbours.ADD_REMOVE, Neighbours.REPLACE


@dataclass(frozen=True, kw_only=True)
class Slice(Event):
    kind: ClassVar[str] = "test-account-slice"
    proof: ClassVar[str | None] = "geometric_histogram.md"
    epsilon: float
    delta: float = 0.0
    neighbours: str = AR.value

    def guarantee(self) -> Guarantee:
        relation = Neighbours(self.neighbours)
        if self.delta == 0:
            return PureDP(epsilon=self.epsilon, neighbours=relation)
        return ApproxDP(epsilon=self.epsilon, delta=self.delta, neighbours=relation)


@dataclass(frozen=True, kw_only=True)
class Bell(Event):
    """rho-zCDP: Renyi divergence of order l at most rho l [BS16]."""

    kind: ClassVar[str] = "test-account-bell"
    proof: ClassVar[str | None] = "gaussian_stability.md"
    rho: float
    delta: float

    def guarantee(self) -> Guarantee:
        return ApproxDP(epsilon=bun_steinke(self.rho, self.delta), delta=self.delta, neighbours=AR)

    def renyi(self, orders: Any) -> Any:
        return self.rho * orders


@dataclass(frozen=True, kw_only=True)
class LooseCurve(Slice):
    """A true Renyi bound that is far worse than the plain claim."""

    kind: ClassVar[str] = "test-account-loose-curve"

    def renyi(self, orders: Any) -> Any:
        return 50.0 * orders


@dataclass(frozen=True, kw_only=True)
class Diverse(Event):
    kind: ClassVar[str] = "test-account-diverse"
    proof: ClassVar[str | None] = "l_diversity.md"

    def guarantee(self) -> Guarantee:
        return LDiverse(l=2.0)


@dataclass(frozen=True, kw_only=True)
class Forgetful(Event):
    """Reads back with another price: a bug that must not reach the file."""

    kind: ClassVar[str] = "test-account-forgetful"
    proof: ClassVar[str | None] = "geometric_histogram.md"
    epsilon: float

    def guarantee(self) -> Guarantee:
        return PureDP(epsilon=self.epsilon, neighbours=AR)

    @classmethod
    def from_fields(cls, values: dict[str, Any]) -> "Forgetful":
        return cls(epsilon=values["epsilon"] / 2)


def bun_steinke(rho: float, delta: float) -> float:
    """Prop. 1.3 of [BS16]: rho-zCDP is (rho + 2 sqrt(rho ln 1/delta), delta)-DP; an upper bound."""
    return rho + 2 * math.sqrt(rho * math.log(1 / delta))


def ledger_of(*events: Event) -> Ledger:
    return Ledger.of(Entry(stage="tables", reads="counts", event=event) for event in events)


def pure(epsilon: float) -> Ledger:
    return ledger_of(Slice(epsilon=epsilon))


def new_account(
    folder: Path, *, epsilon: float = 1.0, delta: float = 0.0, composition: str = "basic", patience: float = 20.0
) -> Account:
    return Account.create(
        folder / "hospital.account",
        dataset="hospital",
        epsilon=epsilon,
        delta=delta,
        neighbours=AR,
        composition=composition,
        patience=patience,
    )


def epsilon_of(guarantee: Guarantee) -> float:
    assert isinstance(guarantee, PureDP | ApproxDP)
    return guarantee.epsilon


@contextmanager
def locked(account: Account) -> Iterator[None]:
    with closing(sqlite3.connect(account.path, isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")
        yield
