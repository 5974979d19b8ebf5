"""A durable budget for one data set, across releases, processes and crashes.

Two releases of one table compose, whoever made them and however long ago, so everything that spends on it
charges one small file first: :meth:`Account.reserve` takes the price out of the budget or refuses,
:meth:`Reservation.commit` says which release it became, and a process that dies in between stays charged.

How releases add up is chosen when the account is created and never changes (:class:`Composition`): ``basic`` sums the
totals of the releases, ``renyi`` sums Renyi divergences of one order that is fixed at once. Both keep the cap when each
release is planned after looking at the earlier ones; :mod:`understudy.privacy.composition` says what is proved. The
best total of the whole list would be smaller, and is proved only for prices that were all fixed beforehand.

Totals are computed afresh from the stored ledgers. The file holds ledgers, labels and dates, and no private data.
"""

import json
import math
import sqlite3
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from understudy.errors import AccountError, BudgetError, ParameterError
from understudy.privacy.account_file import create_file, reading, writing
from understudy.privacy.composition import ROUNDING, BasicRule, Composition, Paid, RenyiRule, Rule, fixed_order
from understudy.privacy.guarantees import (
    ApproxDP,
    Guarantee,
    Neighbours,
    NoFormal,
    PureDP,
    guarantee_from_dict,
)
from understudy.privacy.ledger import Ledger
from understudy.privacy.reservation import ChargeState, Reservation, figure, now, plain_price, worded

__all__ = ["Account", "Charge", "ChargeState", "Composition", "Reservation"]

_DEFAULT_PATIENCE = 30.0  # seconds; a reservation holds the lock while it adds up prices that it knows already


@dataclass(frozen=True, kw_only=True)
class Charge:
    """One line of an account's history."""

    number: int
    when: str
    """When it was reserved, UTC, ISO 8601."""
    settled: str | None
    """When it was committed or cancelled; None while it is held."""
    label: str
    state: ChargeState
    guarantee: Guarantee
    """The price of this release alone."""
    delta: float | None
    """The delta at which that price was asked for; None for basic composition only."""
    running: Guarantee
    """The total of the account just after this charge; what was cancelled later is still in it."""
    release_id: str | None

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
        }


@dataclass(frozen=True, kw_only=True)
class Account:
    """The budget of one data set; make one with :meth:`create`, come back to it with :meth:`open`."""

    path: Path
    dataset: str
    epsilon: float
    delta: float
    """0 means that only pure differential privacy may be charged, and that every release is priced as such."""
    neighbours: Neighbours
    composition: Composition
    renyi_order: float | None
    """The one order at which Renyi divergences are added; None for basic composition."""
    created: str
    patience: float
    """Seconds to wait for another process that is charging the same account."""

    @classmethod
    def create(
        cls,
        path: Path | str,
        *,
        dataset: str,
        epsilon: float,
        delta: float,
        neighbours: Neighbours,
        composition: str = Composition.BASIC,
        patience: float = _DEFAULT_PATIENCE,
    ) -> "Account":
        """Open a new account under a cap and a rule that never change; an existing file is refused."""
        if not _is_number(epsilon) or not 0 < epsilon < math.inf:
            raise ParameterError(
                f"`epsilon` is {epsilon!r}; the cap of an account must be a finite number above 0. Try 1.0."
            )
        if not _is_number(delta) or not 0 <= delta < 1:
            raise ParameterError(
                f"`delta` is {delta!r}; it must be at least 0 and below 1, and far below one over the number "
                "of records. Try 1e-9, or 0 to allow pure differential privacy only."
            )
        if neighbours not in list(Neighbours):
            choices = ", ".join(relation.value for relation in Neighbours)
            raise ParameterError(f"`neighbours` is {neighbours!r}; it must be one of: {choices}.")
        if composition not in list(Composition):
            raise ParameterError(
                f"`composition` is {composition!r}; it must be basic (the totals of the releases are summed) or renyi "
                "(their Renyi divergences of one order are, which suits many small releases). Try 'basic'."
            )
        if composition == Composition.RENYI and delta == 0:
            raise ParameterError(
                "`delta` is 0 and `composition` 'renyi'; Renyi divergences become an epsilon only at a delta above 0. "
                "Try 1e-9, or basic composition."
            )
        dataset = worded("dataset", dataset, "hospital discharges 2024")
        _check_patience(patience)
        place = Path(path).absolute()
        order = fixed_order(epsilon, delta) if composition == Composition.RENYI else None
        rule = Composition(composition).value
        create_file(place, (dataset, float(epsilon), float(delta), Neighbours(neighbours).value, rule, order, now()))
        return cls.open(place, patience=patience)

    @classmethod
    def open(cls, path: Path | str, *, patience: float = _DEFAULT_PATIENCE) -> "Account":
        """Come back to an account."""
        _check_patience(patience)
        place = Path(path).absolute()
        with reading(place, patience) as connection:
            row = connection.execute(
                "SELECT dataset, epsilon, delta, neighbours, composition, renyi_order, created FROM terms"
            ).fetchone()
        if row is None:
            raise AccountError(f"`{place}` has no cap in it; the account is damaged. Restore a complete copy.")
        dataset, epsilon, delta, neighbours, composition, order, created = row
        if neighbours not in list(Neighbours):
            raise AccountError(
                f"`{place}` is kept for the neighbour relation {neighbours!r}, which this understudy does "
                "not know. Use the version of understudy that made it."
            )
        if composition not in list(Composition):
            raise AccountError(
                f"`{place}` adds up its releases by {composition!r} composition, which this understudy does not know. "
                "Use the version of understudy that made it."
            )
        return cls(
            path=place,
            dataset=dataset,
            epsilon=epsilon,
            delta=delta,
            neighbours=Neighbours(neighbours),
            composition=Composition(composition),
            renyi_order=order,
            created=created,
            patience=patience,
        )

    def reserve(self, ledger: Ledger, *, label: str, delta: float | None) -> Reservation:
        """Charge ``ledger`` before anything is drawn, or refuse with :class:`BudgetError`.

        ``delta`` is where the release states its own total (``ledger.total(delta=delta)``), None for the sum of its
        entries. The balance is read and the charge written under one lock. From here on the price is spent, unless
        :meth:`Reservation.cancel` is called.
        """
        label = worded("label", label, "quarterly public-use file")
        if delta is not None and not (_is_number(delta) and 0 < delta < 1):
            raise ParameterError(
                f"`delta` is {delta!r}; a release states its total at a delta strictly between 0 and 1, or at None for "
                "the sum of its entries. Try 1e-9."
            )
        stored, ledger = _stored(ledger)
        self._check_kind(ledger, label)
        rule, new = self._rule, Paid(name=repr(label), ledger=stored, delta=delta)
        cost = rule.price(new)
        rule.total([*_paid(self._counted()), new])  # before the lock is taken; under it, only what came since is new
        with writing(self.path, self.patience) as connection:
            counted = _counted(connection)
            before = _paid(counted)
            total = rule.total([*before, new])
            if not self._fits(total):
                held = sum(row["state"] == ChargeState.HELD for row in counted)
                raise BudgetError(self._refusal(label, cost, before, total, held))
            number = connection.execute(
                "INSERT INTO charges (state, reserved, label, ledger, delta, cost, total)"
                " VALUES ('held', ?, ?, ?, ?, ?, ?)",
                (now(), label, stored, delta, json.dumps(cost.to_dict()), json.dumps(total.to_dict())),
            ).lastrowid
        assert number is not None  # an INSERT that did not raise has a row
        return Reservation(path=self.path, patience=self.patience, number=number, label=label, cost=cost, total=total)

    def find(self, *, label: str, ledger: Ledger) -> Reservation | None:
        """The charge that an interrupted run made under ``label``, if it still counts: its price is not paid again."""
        with reading(self.path, self.patience) as connection:
            rows = [row for row in _counted(connection) if row["label"] == label]
        if not rows:
            return None
        stored, _ = _stored(ledger)
        if rows[-1]["ledger"] != stored:
            raise BudgetError(
                f"{label!r} was charged for something else than what is asked for now; give the options of the first "
                "run, or start a new release."
            )
        return Reservation(
            path=self.path,
            patience=self.patience,
            number=rows[-1]["number"],
            label=label,
            cost=guarantee_from_dict(json.loads(rows[-1]["cost"])),
            total=guarantee_from_dict(json.loads(rows[-1]["total"])),
        )

    def has_paid(self, release_id: str, ledger: Ledger) -> bool:
        """Whether exactly this ledger was charged here already, and committed under this name."""
        with reading(self.path, self.patience) as connection:
            found = connection.execute(
                "SELECT ledger FROM charges WHERE release_id = ? AND state = ? ORDER BY number",
                (release_id, ChargeState.COMMITTED.value),
            ).fetchall()
        paid = [item for (text,) in found for item in json.loads(text)]
        if found and paid != ledger.to_list():
            raise BudgetError(
                f"the account paid another price for {release_id!r} than its codebook says; one was changed by hand. "
                "Take the codebook from its original."
            )
        return bool(found)

    def spent(self) -> Guarantee:
        """Everything held or committed, added up by the account's rule; this is what is held against the cap."""
        return self._rule.total(_paid(self._counted()))

    def remaining(self) -> float:
        """The epsilon that one further pure release may certainly cost; with Renyi composition it may be more."""
        epsilon, _ = self._rule.left(_paid(self._counted()))
        return epsilon

    def history(self) -> list[Charge]:
        """Every charge ever reserved, oldest first, with its prices as they were computed on the day."""
        with reading(self.path, self.patience) as connection:
            rows = _rows(connection)
        return [
            Charge(
                number=row["number"],
                when=row["reserved"],
                settled=row["settled"],
                label=row["label"],
                state=ChargeState(row["state"]),
                guarantee=guarantee_from_dict(json.loads(row["cost"])),
                delta=row["delta"],
                running=guarantee_from_dict(json.loads(row["total"])),
                release_id=row["release_id"],
            )
            for row in rows
        ]

    def summary(self) -> dict[str, Any]:
        """Cap, spending and open reservations, ready for JSON."""
        counted = self._counted()
        paid = _paid(counted)
        epsilon_left, delta_left = self._rule.left(paid)
        held = [row for row in counted if row["state"] == ChargeState.HELD]
        return {
            "dataset": self.dataset,
            "created": self.created,
            "cap": {"epsilon": self.epsilon, "delta": self.delta, "neighbours": self.neighbours.value},
            "composition": self.composition.value,
            "renyi_order": self.renyi_order,
            "spent": self._rule.total(paid).to_dict(),
            "remaining_epsilon": epsilon_left,
            "remaining_delta": delta_left,
            "releases": len(counted) - len(held),
            "held": [{"number": row["number"], "when": row["reserved"], "label": row["label"]} for row in held],
        }

    @property
    def _rule(self) -> Rule:
        if self.renyi_order is None:
            return BasicRule(epsilon=self.epsilon, delta=self.delta, neighbours=self.neighbours)
        return RenyiRule(epsilon=self.epsilon, delta=self.delta, neighbours=self.neighbours, order=self.renyi_order)

    def _counted(self) -> list[sqlite3.Row]:
        with reading(self.path, self.patience) as connection:
            return _counted(connection)

    def _fits(self, total: Guarantee) -> bool:
        return (
            isinstance(total, PureDP | ApproxDP)
            and total.epsilon <= self.epsilon * (1 + ROUNDING)
            and self._fits_delta(total)
        )

    def _fits_delta(self, total: Guarantee) -> bool:
        return getattr(total, "delta", 1.0) <= self.delta * (1 + ROUNDING)

    def _check_kind(self, ledger: Ledger, label: str) -> None:
        relations = {getattr(entry.guarantee, "neighbours", None) for entry in ledger.entries} - {None}
        if relations - {self.neighbours}:
            raise BudgetError(
                f"{label!r} is priced for {_listed(relations)}, and the account of {self.dataset!r} is kept "
                f"for {self.neighbours.value}; prices of different neighbour relations are listed, never "
                f"added up. Price it for {self.neighbours.value}, or charge an account of its own relation."
            )
        total = ledger.basic()
        if isinstance(total, NoFormal):
            raise BudgetError(
                f"{label!r} has no formal total ({total.why}), so no budget can cover it. Pay for what is "
                "named, or run without an account, in which case the manifest will say that there is none."
            )
        if not isinstance(total, PureDP | ApproxDP):
            raise BudgetError(
                f"{label!r} promises {total.kind}, which is not differential privacy and has no epsilon, so no budget "
                "can cover it. Use a method with differential privacy, or run without an account, in which case the "
                "manifest will say that there is none."
            )

    def _refusal(self, label: str, cost: Guarantee, before: list[Paid], total: Guarantee, held: int) -> str:
        waiting = f" (of which {held} held by runs that are not finished, or died)" if held else ""
        return (
            f"{label!r} would cost {plain_price(cost)} and bring the total of {self.dataset!r} from "
            f"{plain_price(self._rule.total(before))}{waiting} to {plain_price(total)}, above its cap of epsilon "
            f"{figure(self.epsilon)}, delta {figure(self.delta)} ({self.composition.value} composition). "
            f"{self._remedy(before, total)}"
        )

    def _remedy(self, before: list[Paid], total: Guarantee) -> str:
        epsilon, delta = self._rule.left(before)
        if self._fits_delta(total):
            if epsilon > 0:
                return (
                    f"Ask for less (a smaller epsilon, more smoothing or fewer rows; a pure price up to epsilon "
                    f"{figure(epsilon)} fits), or use an earlier release again, which is free."
                )
            return "Nothing is left: use an earlier release again, which is free."
        if self.delta == 0:
            return "This account has delta 0: use a method with pure differential privacy."
        if self.composition is Composition.RENYI:
            return (
                f"Prices without a Renyi curve share half of the cap's delta, and {figure(delta)} of it is left: use a "
                "smaller delta, or a method with a Renyi curve or with pure differential privacy."
            )
        if delta == 0:
            return "Nothing of the cap's delta is left: use pure differential privacy, which needs none."
        return (
            f"Of the cap's delta {figure(delta)} is left: state the total at a smaller delta, or use pure differential "
            "privacy, which needs none."
        )


def _rows(connection: sqlite3.Connection) -> list[sqlite3.Row]:
    connection.row_factory = sqlite3.Row
    rows: list[sqlite3.Row] = connection.execute("SELECT * FROM charges ORDER BY number").fetchall()
    return rows


def _counted(connection: sqlite3.Connection) -> list[sqlite3.Row]:
    return [row for row in _rows(connection) if row["state"] != ChargeState.CANCELLED]


def _paid(rows: list[sqlite3.Row]) -> list[Paid]:
    return [
        Paid(name=f"charge {row['number']} ({row['label']!r})", ledger=row["ledger"], delta=row["delta"])
        for row in rows
    ]


def _stored(ledger: Ledger) -> tuple[str, Ledger]:
    """The ledger as text and as the account will read it back, which is what must be priced from now on."""
    try:
        text = json.dumps(ledger.to_list(), ensure_ascii=False)
        restored = Ledger.from_list(json.loads(text))
        same = restored.to_list() == ledger.to_list()
    except Exception as error:
        raise BudgetError(
            f"the ledger cannot be written down and read back ({error}), so later totals would miss it. "
            "Events must hold plain values, or define `from_fields` for others."
        ) from error
    if not same:
        raise BudgetError(
            "the ledger has another price when it is read back from text, so later totals would be wrong. "
            "Events must hold plain values, or define `from_fields` for others."
        )
    return text, restored


def _is_number(value: float) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _check_patience(patience: float) -> None:
    if not _is_number(patience) or not 0 <= patience < math.inf:
        raise ParameterError(f"`patience` is {patience!r}; it is a number of seconds, 0 or more. Try 30.")


def _listed(relations: set[Any]) -> str:
    return " and ".join(sorted(relation.value for relation in relations))
