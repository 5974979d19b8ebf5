"""A durable budget for one data set, across releases, processes and crashes.

Two releases of one table compose, whoever made them and however long ago, so everything that spends on it
charges one small file first: :meth:`Account.reserve` takes the price out of the budget or refuses,
:meth:`Reservation.commit` says which release it became and which bytes it bought, and a process that dies in between
stays charged. Only :mod:`understudy.privacy.transaction` calls them; everybody else pays through it.

How releases add up is chosen when the account is created and never changes (:class:`Composition`): ``basic`` sums the
totals of the releases, ``renyi`` sums Renyi divergences of one order that is fixed at once. Both keep the cap when each
release is planned after looking at the earlier ones; :mod:`understudy.privacy.composition` says what is proved. The
best total of the whole list would be smaller, and is proved only for prices that were all fixed beforehand.

Totals are computed afresh from the stored ledgers. The file holds ledgers, labels and dates, and no private data. It
also remembers confidential looks (an evaluation, a risk-utility map, an audit on the data) and choices that were fixed
before them.
"""

import hashlib
import json
import math
import uuid
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from understudy.errors import AccountError, BudgetError, ParameterError
from understudy.privacy.account_file import create_file, reading, writing
from understudy.privacy.charges import Charge, ChargeState, History, Reservation, figure, now, plain_price, worded
from understudy.privacy.composition import ROUNDING, BasicRule, Composition, Paid, RenyiRule, Rule, fixed_order
from understudy.privacy.guarantees import ApproxDP, Guarantee, Neighbours, NoFormal, PureDP
from understudy.privacy.ledger import Ledger

__all__ = [
    "Account",
    "Charge",
    "ChargeState",
    "Composition",
    "Reservation",
    "account_at",
    "digest_of_choices",
    "remember_look",
]

_DEFAULT_PATIENCE = 30.0  # seconds; a reservation holds the lock while it adds up prices that it knows already


@dataclass(frozen=True, kw_only=True)
class Account:
    """The budget of one data set; make one with :meth:`create`, come back to it with :meth:`open`."""

    path: Path
    identity: str
    """A random name of its own: two accounts of one data set are two accounts."""
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
        terms = {
            "identity": uuid.uuid4().hex,
            "dataset": dataset,
            "epsilon": float(epsilon),
            "delta": float(delta),
            "neighbours": Neighbours(neighbours).value,
            "composition": Composition(composition).value,
            "renyi_order": order,
            "created": now(),
        }
        create_file(place, terms)
        return cls.open(place, patience=patience)

    @classmethod
    def open(cls, path: Path | str, *, patience: float = _DEFAULT_PATIENCE) -> "Account":
        """Come back to an account."""
        _check_patience(patience)
        place = Path(path).absolute()
        with reading(place, patience) as lines:
            terms = dict(lines.all[0].body)
        neighbours, composition = terms["neighbours"], terms["composition"]
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
        kept = {name: terms[name] for name in ("identity", "dataset", "epsilon", "delta", "renyi_order", "created")}
        return cls(
            path=place,
            neighbours=Neighbours(neighbours),
            composition=Composition(composition),
            patience=patience,
            **kept,
        )

    def reserve(
        self,
        ledger: Ledger,
        *,
        label: str,
        delta: float | None,
        whole: Ledger | None = None,
        pays_for: str | None = None,
        choices: str | None = None,
        claim: str | None = None,
    ) -> Reservation:
        """Charge ``ledger`` before anything is drawn, or refuse with :class:`BudgetError`.

        ``delta`` is where the release states its own total (``ledger.total(delta=delta)``), None for the sum of its
        entries. The balance is read and the charge written under one lock. From here on the price is spent, unless
        :meth:`Reservation.cancel` is called. ``whole`` is the ledger as the release states it, earlier purchases
        included; ``pays_for`` names a thing that may be paid for bit by bit; ``choices`` is the digest of what was
        chosen; ``claim`` ties the charge to the folder that may go on with it.
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
        rule.total([*_paid(self._history().counted), new])  # before the lock is taken; under it, only what came since
        with writing(self.path, self.patience, self.identity) as lines:
            history = History.of(lines.all)
            before = _paid(history.counted)
            total = rule.total([*before, new])
            if not self._fits(total):
                held = sum(charge.state is ChargeState.HELD for charge in history.counted)
                raise BudgetError(self._refusal(label, cost, before, total, held))
            number = history.next_number
            lines.append(
                "reserved",
                charge=number,
                when=now(),
                label=label,
                ledger=stored,
                delta=delta,
                cost=json.dumps(cost.to_dict()),
                total=json.dumps(total.to_dict()),
                whole=_digest_of(ledger if whole is None else whole),
                pays_for=pays_for,
                choices=choices,
                claim=claim,
            )
        return Reservation(
            path=self.path,
            patience=self.patience,
            identity=self.identity,
            number=number,
            label=label,
            cost=cost,
            total=total,
            looked=history.looked_before(choices),
        )

    def resume(self, ledger: Ledger, *, label: str, claims: Sequence[str], fresh: str) -> "Reservation | None":
        """Come back to the charge that an interrupted run made under ``label``; None where this account has none.

        ``claims`` is what that run left behind, and ``fresh`` takes its place: of two copies of one folder, the first
        to come back goes on, and the other is refused. What was committed is told by ``Reservation.digest``: it bought
        just those bytes.
        """
        stored, _ = _stored(ledger)
        with writing(self.path, self.patience, self.identity) as lines:
            history = History.of(lines.all)
            charge = next((one for one in reversed(history.counted) if one.label == label), None)
            if charge is None:
                return None  # another account, or an older copy of this one: what was drawn is not paid for here
            if charge.ledger != stored:
                raise BudgetError(
                    f"{label!r} was charged for something else than what is asked for now; give the options of the "
                    "first run, or start a new release."
                )
            if charge.state is ChargeState.HELD:
                if charge.claim not in claims:
                    raise BudgetError(
                        f"{label!r} is being finished from another copy of its unfinished folder, and one charge buys "
                        "one release; remove this copy, or go on in the one that was continued last."
                    )
                lines.append("claimed", charge=charge.number, when=now(), claim=fresh)
        return Reservation(
            path=self.path,
            patience=self.patience,
            identity=self.identity,
            number=charge.number,
            label=label,
            cost=charge.guarantee,
            total=charge.running,
            looked=history.looked_before(charge.choices),
            is_committed=charge.state is ChargeState.COMMITTED,
            digest=charge.digest,
        )

    def has_paid(self, name: str, ledger: Ledger) -> bool:
        """Whether exactly this ledger was charged here already, and committed under this name."""
        paid = [one for one in self._history().counted if one.release_id == name]
        if not paid:
            return False
        same = [one for one in paid if one.whole == _digest_of(ledger)]
        together = [item for one in paid for item in json.loads(one.ledger)]
        if not same and together != ledger.to_list():
            raise BudgetError(
                f"the account paid another price for {name!r} than is stated for it now; one was changed by hand. "
                "Take the codebook or release from its original."
            )
        return True

    def paid_for(self, what: str) -> list[Charge]:
        """Every charge that pays for one named thing, held or committed."""
        return [charge for charge in self._history().counted if charge.pays_for == what]

    def look(self, what: str) -> None:
        """Remember that somebody saw figures computed from the confidential table."""
        what = worded("what", what, "evaluation of the release 2024-q4")
        with writing(self.path, self.patience, self.identity) as lines:
            lines.append("looked", when=now(), what=what)

    def looks(self) -> list[tuple[str, str]]:
        """When somebody looked, and at what."""
        return list(self._history().looks)

    def fix(self, choices: str, *, label: str) -> None:
        """Remember what is going to be released, so that no later look can have chosen it."""
        label = worded("label", label, "marginals, 10,000 rows")
        with writing(self.path, self.patience, self.identity) as lines:
            if choices not in History.of(lines.all).fixed:
                lines.append("fixed", when=now(), choices=choices, label=label)

    def spent(self) -> Guarantee:
        """Everything held or committed, added up by the account's rule; this is what is held against the cap."""
        return self._rule.total(_paid(self._history().counted))

    def remaining(self) -> float:
        """The epsilon that one further pure release may certainly cost; with Renyi composition it may be more."""
        epsilon, _ = self._rule.left(_paid(self._history().counted))
        return epsilon

    def history(self) -> list[Charge]:
        """Every charge ever reserved, oldest first, with its prices as they were computed on the day."""
        return list(self._history().charges.values())

    def summary(self) -> dict[str, Any]:
        """Cap, spending, open reservations and looks, ready for JSON."""
        history = self._history()
        paid = _paid(history.counted)
        epsilon_left, delta_left = self._rule.left(paid)
        held = [charge for charge in history.counted if charge.state is ChargeState.HELD]
        return {
            "dataset": self.dataset,
            "identity": self.identity,
            "created": self.created,
            "cap": {"epsilon": self.epsilon, "delta": self.delta, "neighbours": self.neighbours.value},
            "composition": self.composition.value,
            "renyi_order": self.renyi_order,
            "spent": self._rule.total(paid).to_dict(),
            "remaining_epsilon": epsilon_left,
            "remaining_delta": delta_left,
            "releases": len(paid) - len(held),
            "held": [{"number": one.number, "when": one.when, "label": one.label} for one in held],
            "looks": [{"when": when, "what": what} for when, what in history.looks],
        }

    @property
    def _rule(self) -> Rule:
        if self.renyi_order is None:
            return BasicRule(epsilon=self.epsilon, delta=self.delta, neighbours=self.neighbours)
        return RenyiRule(epsilon=self.epsilon, delta=self.delta, neighbours=self.neighbours, order=self.renyi_order)

    def _history(self) -> History:
        with reading(self.path, self.patience, self.identity) as lines:
            return History.of(lines.all)

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


def account_at(account: Account | str | Path | None) -> Account | None:
    """The account that a caller gave, opened where only its file was named."""
    return Account.open(account) if isinstance(account, str | Path) else account


def remember_look(account: Account | str | Path | None, what: str) -> None:
    """Tell the account, if there is one, that somebody is about to see figures of the confidential table."""
    opened = account_at(account)
    if opened is not None:
        opened.look(what)


def digest_of_choices(**choices: Any) -> str:
    """What was chosen (method, parameters, rows, codebook), as one short text; plain data only."""
    text = json.dumps(choices, ensure_ascii=False, sort_keys=True)
    return "sha256:" + hashlib.sha256(text.encode()).hexdigest()


def _paid(charges: Iterable[Charge]) -> list[Paid]:
    return [Paid(name=f"charge {one.number} ({one.label!r})", ledger=one.ledger, delta=one.delta) for one in charges]


def _digest_of(ledger: Ledger) -> str:
    return hashlib.sha256(json.dumps(ledger.to_list(), ensure_ascii=False).encode()).hexdigest()


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
