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
from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from enum import StrEnum
from functools import lru_cache
from pathlib import Path
from typing import Any

from understudy.codec import to_plain
from understudy.errors import AccountError, BudgetError, ParameterError
from understudy.parameters import DELTA, EPSILON, Number, OneOf, Text
from understudy.privacy.account_file import Line, Lines, create_file, open_lines, sound
from understudy.privacy.card import card
from understudy.privacy.composition import ROUNDING, BasicRule, Composition, Paid, RenyiRule, Rule, fixed_order
from understudy.privacy.guarantees import (
    ApproxDP,
    Guarantee,
    Neighbours,
    NoFormal,
    PureDP,
    differential_privacy,
    guarantee_from_dict,
)
from understudy.privacy.ledger import Ledger
from understudy.privacy.spelling import at_least, short_promise

_PATIENCE = 30.0  # seconds; a reservation holds the lock while it adds up prices that it knows already
_SECONDS = Number(least=0, tried=_PATIENCE)
_CAP_DELTA = Number(least=0, below=1, tried=1e-9)
_WORDS = Text(
    words="a few words",
    example="'public-use file 2024-q4'",
    admitted=lambda value: isinstance(value, str) and bool(value.strip()),
)


@dataclass(frozen=True, kw_only=True)
class Allowance:
    """What one spender may take of an account: charges under its name never add up to more.

    It counts across processes and restarts, because the charges themselves carry the name. Epsilons and deltas are
    summed, whatever the composition of the account.
    """

    name: str
    epsilon: float
    delta: float
    """0 means that only pure differential privacy may be charged."""

    def __post_init__(self) -> None:
        _WORDS.check("allowance", self.name)
        EPSILON.check("cap_epsilon", self.epsilon)
        _CAP_DELTA.check("cap_delta", self.delta)


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
    """Digest of the ledger as each file states it, earlier purchases included."""
    pays_for: str | None = None
    choices: str | None = field(default=None, repr=False)
    claim: str | None = field(default=None, repr=False)
    files: int = 1
    """How many files it pays for, each at the same price."""
    allowance: str | None = None
    """Name of the spender's allowance that it came out of, where it had one."""
    notices: tuple[str, ...] = ()
    """What became of the release later: superseded or withdrawn. Its price stays."""

    def to_dict(self) -> dict[str, Any]:
        """As plain data, without the ledger and what only the account itself needs."""
        left_out = ("ledger", "whole", "choices", "claim", "files")
        return {name: to_plain(value) for name, value in vars(self).items() if name not in left_out}


@dataclass(frozen=True, kw_only=True)
class History:
    """Everything that an account remembers, as its lines tell it."""

    charges: dict[int, Charge]
    counted: list[Charge]
    """Held and committed charges: what is spent."""
    paid: list[Paid]
    """The same, to be added up."""
    looks: list[tuple[str, str]]
    fixed: dict[str, int]
    """Choices that were fixed or charged, and how many looks there had been."""

    @classmethod
    def of(cls, lines: Sequence[Line]) -> "History":
        """Told by the lines alone."""
        charges: dict[int, Charge] = {}
        looks: list[tuple[str, str]] = []
        fixed: dict[str, int] = {}
        for line in lines[1:]:
            body, number = line.body, line.body.get("charge", 0)
            if line.kind == "reserved":
                names = ("label", "delta", "ledger", "whole", "pays_for", "choices", "claim", "allowance")
                kept: dict[str, Any] = {name: body.get(name) for name in names}
                charges[number] = Charge(
                    number=number,
                    when=body["when"],
                    guarantee=_guarantee(body["cost"]),
                    running=_guarantee(body["total"]),
                    files=body.get("files", 1),
                    **kept,
                )
            elif line.kind in ("committed", "cancelled"):
                bought: dict[str, Any] = {"release_id": body.get("release"), "digest": body.get("digest")}
                state = ChargeState(line.kind)
                charges[number] = replace(charges[number], state=state, settled=body["when"], **bought)
            elif line.kind == "claimed":
                charges[number] = replace(charges[number], claim=body["claim"])
            elif line.kind == "looked":
                looks.append((body["when"], body["what"]))
            elif line.kind == "noticed":
                noted = (*charges[number].notices, f"{body['what']}, {body['when'][:10]}")
                charges[number] = replace(charges[number], notices=noted)
            elif line.kind != "fixed":
                raise AccountError(
                    f"line {line.number} of the account is of the kind {line.kind!r}, which this understudy does not "
                    "know; a misread charge could overspend. Use the version of understudy that wrote it."
                )
            if line.kind in ("reserved", "fixed") and body.get("choices"):
                fixed.setdefault(body["choices"], len(looks))
        counted = [charge for charge in charges.values() if charge.state is not ChargeState.CANCELLED]
        return cls(charges=charges, counted=counted, paid=_as_paid(counted), looks=looks, fixed=fixed)

    def paid_of(self, allowance: str) -> list[Paid]:
        """What came out of one allowance, to be added up."""
        return _as_paid([charge for charge in self.counted if charge.allowance == allowance])

    def looked_before(self, choices: str | None) -> bool:
        """Whether somebody had looked at confidential figures before these choices were fixed."""
        return bool(self.looks) and self.fixed.get(choices or "", len(self.looks)) > 0


def _as_paid(charges: Sequence[Charge]) -> list[Paid]:
    return [
        Paid(name=f"charge {charge.number} ({charge.label!r})", ledger=charge.ledger, delta=charge.delta)
        for charge in charges
    ]


@lru_cache(maxsize=4096)
def _guarantee(text: str) -> Guarantee:
    return guarantee_from_dict(json.loads(text))


def _stronger(kept: Neighbours, priced: Neighbours) -> str:
    """What to do where an account and a price are for different relations: the way that protects more."""
    if Neighbours.ORIGIN in (kept, priced):
        return "Charge an account of its own relation."
    if kept.unit == priced.unit:
        adding = kept if kept in (Neighbours.ADD_REMOVE, Neighbours.ADD_REMOVE_PERSON) else priced
        how = (
            "Price it for that (`neighbours`)"
            if kept is adding
            else f"Open an account for {adding.value} (`understudy account create --neighbours {adding.value}`)"
        )
        return f"{how}: {adding.value} also hides how many records there are."
    if kept.unit == "person":
        return (
            "Name the id column and a cap in the codebook ([unit]), so that whole people are protected, as the account "
            "promises."
        )
    return (
        f"Open an account for {priced.value} (`understudy account create --neighbours {priced.value}`), so that "
        "whole people stay protected; to take [unit] out of the codebook would protect single records only."
    )


@dataclass(frozen=True, kw_only=True, repr=False)
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
    rule: Rule
    """How its releases add up under its cap."""
    allowance: Allowance | None = None
    """Whose charges are made here, and what they may add up to; the cap of the account holds besides."""

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
        patience: float = _PATIENCE,
    ) -> "Account":
        """Open a new account under a cap and a rule that never change; an existing file is refused.

        ``delta`` should be far below one over the number of records, and is 0 where only pure differential privacy may
        be charged. ``composition`` is ``basic``, or ``renyi``, which suits many small releases.
        """
        terms = {
            "identity": uuid.uuid4().hex,
            "dataset": _WORDS.check("dataset", dataset),
            "epsilon": float(EPSILON.check("epsilon", epsilon)),
            "delta": float(_CAP_DELTA.check("delta", delta)),
            "neighbours": OneOf.of(Neighbours).check("neighbours", neighbours).value,
            "composition": OneOf.of(Composition).check("composition", composition).value,
            "renyi_order": None,
            "created": _now(),
        }
        _SECONDS.check("patience", patience)
        if composition == Composition.RENYI:
            if delta == 0:
                raise ParameterError(
                    "`delta` is 0 and `composition` 'renyi'; Renyi divergences become an epsilon only at a delta above "
                    "0. Try 1e-9, or basic composition."
                )
            terms["renyi_order"] = fixed_order(terms["epsilon"], terms["delta"])
        place = Path(path).absolute()
        create_file(place, terms)
        return cls.open(place, patience=patience)

    @classmethod
    def open(cls, path: Path | str, *, patience: float = _PATIENCE) -> "Account":
        """Come back to an account."""
        place = Path(path).absolute()
        with open_lines(place, _SECONDS.check("patience", patience), write=False) as lines:
            terms = dict(lines.all[0].body)
            with sound(place):  # before anything is done with it
                History.of(lines.all)
        with sound(place):
            return cls._of_terms(place, patience, terms)

    @classmethod
    def _of_terms(cls, place: Path, patience: float, terms: dict[str, Any]) -> "Account":
        words: dict[str, type[StrEnum]] = {"neighbours": Neighbours, "composition": Composition}
        for name, kind in words.items():
            if terms[name] not in list(kind):
                raise AccountError(
                    f"`{place}` is kept for the {name} {terms[name]!r}, which this understudy does not know. Use the "
                    "version of understudy that made it."
                )
            terms[name] = kind(terms[name])
        EPSILON.check("epsilon", terms["epsilon"])
        _CAP_DELTA.check("delta", terms["delta"])
        cap = {name: terms[name] for name in ("epsilon", "delta", "neighbours")}
        order = terms["renyi_order"]
        rule = BasicRule(**cap) if order is None else RenyiRule(**cap, order=order)
        kept = {name: terms[name] for name in ("identity", "dataset", "composition", "renyi_order", "created")}
        return cls(path=place, patience=patience, rule=rule, **cap, **kept)

    def within(self, allowance: Allowance) -> "Account":
        """The same account for one spender: what is charged from here is held against its allowance too."""
        return replace(self, allowance=allowance)

    def _lines(self, *, write: bool) -> AbstractContextManager[Lines]:
        """The lines of its file; with ``write``, for their only writer until the block ends."""
        return open_lines(self.path, self.patience, self.identity, write=write)

    def _history(self) -> History:
        with self._lines(write=False) as lines:
            return History.of(lines.all)

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
        files: int = 1,
    ) -> "Reservation":
        """Charge ``ledger`` before anything is drawn, or refuse with :class:`BudgetError`.

        ``delta`` is where the release states its own total (``ledger.total(delta=delta)``), None for the sum of its
        entries. The balance is read and the charge written under one lock. From here on the price is spent, unless
        :meth:`Reservation.cancel` is called. ``whole`` is the ledger as each of ``files`` files states it, earlier
        purchases included; ``pays_for`` names a thing that may be paid for bit by bit; ``choices`` is the digest of
        what was chosen; ``claim`` ties the charge to the folder that may go on with it.
        """
        _WORDS.check("label", label)
        if delta is not None:
            DELTA.check("delta", delta)
        new = self.priced(ledger, label=label, delta=delta)
        cost = self.rule.price(new)
        with sound(self.path):
            self.rule.total([*self._history().paid, new])  # before the lock is taken; under it, only what came since
        with self._lines(write=True) as lines:
            history = History.of(lines.all)
            total = self._checked(new, label, history)
            number = max(history.charges, default=0) + 1
            lines.append(
                "reserved",
                charge=number,
                when=_now(),
                label=label,
                ledger=new.ledger,
                delta=delta,
                cost=json.dumps(cost.to_dict()),
                total=json.dumps(total.to_dict()),
                whole=_digest_of(ledger if whole is None else whole),
                pays_for=pays_for,
                choices=choices,
                claim=claim,
                files=files,
                **({} if self.allowance is None else {"allowance": self.allowance.name}),
            )
            charge = History.of(lines.all).charges[number]
        return Reservation(account=self, charge=charge, looked=history.looked_before(choices))

    def _checked(self, new: Paid, label: str, history: History) -> PureDP | ApproxDP:
        """The total with a new charge, if the cap and the allowance cover it."""
        total = self.rule.total([*history.paid, new])
        if not self.keeps_cap(total):
            raise BudgetError(self._refusal(label, self.rule.price(new), total, history))
        if self.allowance is not None:
            own = self._own_rule(self.allowance)
            spent = own.total([*history.paid_of(self.allowance.name), new])
            if not _within(spent, self.allowance):
                epsilon, delta = own.left(history.paid_of(self.allowance.name))
                raise BudgetError(
                    f"{label!r} would bring what was charged under {self.allowance.name!r} to {_price(spent)}, above "
                    f"its allowance of epsilon {_figure(self.allowance.epsilon)}, delta "
                    f"{_figure(self.allowance.delta)}. Ask for less: epsilon {_figure(epsilon)}, delta "
                    f"{_figure(delta)} is left of it."
                )
        return total

    def _own_rule(self, allowance: Allowance) -> BasicRule:
        return BasicRule(epsilon=allowance.epsilon, delta=allowance.delta, neighbours=self.neighbours)

    def refusal(self, ledger: Ledger, *, label: str, delta: float | None) -> str:
        """Why :meth:`reserve` would refuse this now; empty if it would not. Nothing is written."""
        try:
            with sound(self.path):
                self._checked(self.priced(ledger, label=label, delta=delta), label, self._history())
        except AccountError:
            raise
        except BudgetError as reason:
            return str(reason)
        return ""

    def left(self) -> tuple[float, float]:
        """Epsilon and delta that one further release may certainly cost, under the cap and the allowance."""
        history = self._history()
        with sound(self.path):
            epsilon, delta = self.rule.left(history.paid)
            if self.allowance is None:
                return epsilon, delta
            own = self._own_rule(self.allowance).left(history.paid_of(self.allowance.name))
        return min(epsilon, own[0]), min(delta, own[1])

    def resume(self, ledger: Ledger, *, label: str, claims: Sequence[str], fresh: str) -> "Reservation | None":
        """Come back to the charge that an interrupted run made under ``label``; None where this account has none.

        ``claims`` is what that run left behind, and ``fresh`` takes its place: of two copies of one folder, the first
        to come back goes on, and the other is refused. What was committed bought just the bytes of its digest.
        """
        stored, _ = _stored(ledger)
        with self._lines(write=True) as lines:
            history = History.of(lines.all)
            charge = next((charge for charge in reversed(history.counted) if charge.label == label), None)
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
                lines.append("claimed", charge=charge.number, when=_now(), claim=fresh)
        return Reservation(account=self, charge=charge, looked=history.looked_before(charge.choices))

    def has_paid(self, name: str, ledger: Ledger) -> bool:
        """Whether exactly this ledger was charged here already, and committed under this name."""
        paid = [
            charge
            for charge in self._history().counted
            if charge.release_id is not None and name in names_of_files(charge.release_id, charge.files)
        ]
        together = [item for charge in paid for item in json.loads(charge.ledger)]
        if paid and _digest_of(ledger) not in {charge.whole for charge in paid} and together != ledger.to_list():
            raise BudgetError(
                f"the account paid another price for {name!r} than is stated for it now; one was changed by hand. "
                "Take the codebook or release from its original."
            )
        return bool(paid)

    def paid_for(self, what: str) -> list[Charge]:
        """Every charge that pays for one named thing, held or committed."""
        return [charge for charge in self._history().counted if charge.pays_for == what]

    def priced(self, ledger: Ledger, *, label: str, delta: float | None) -> Paid:
        """What this account would keep of a charge, priced as from then on; what it cannot add up is refused."""
        stored, restored = _stored(ledger)
        self._check_kind(restored, label)
        return Paid(name=repr(label), ledger=stored, delta=delta)

    def paid(self) -> list[Paid]:
        """Every release that counts, to be added up by :attr:`rule`."""
        return self._history().paid

    @property
    def cap(self) -> PureDP | ApproxDP:
        """What all releases together may cost."""
        return differential_privacy(self.epsilon, self.delta, self.neighbours)

    def keeps_cap(self, total: PureDP | ApproxDP) -> bool:
        """Whether a total fits under the cap."""
        return _within(total, self)

    def notice(self, release: str, what: str) -> Charge:
        """Remember that a release was superseded or withdrawn. Its price stays: what was seen cannot be unseen."""
        _WORDS.check("what", what)
        with self._lines(write=True) as lines:
            for charge in History.of(lines.all).counted:
                if charge.release_id is not None and release in names_of_files(charge.release_id, charge.files):
                    lines.append("noticed", charge=charge.number, when=_now(), release=release, what=what)
                    return History.of(lines.all).charges[charge.number]
        raise BudgetError(
            f"the account of {self.dataset!r} has not paid for the release {release}; give the account that its "
            "manifest names, or none."
        )

    def look(self, what: str) -> None:
        """Remember that somebody saw figures computed from the confidential table."""
        _WORDS.check("what", what)
        with self._lines(write=True) as lines:
            lines.append("looked", when=_now(), what=what)

    def looks(self) -> list[tuple[str, str]]:
        """When somebody looked, and at what."""
        return self._history().looks

    def fix(self, choices: str, *, label: str) -> None:
        """Remember what is going to be released, so that no later look can have chosen it."""
        _WORDS.check("label", label)
        with self._lines(write=True) as lines:
            if choices not in History.of(lines.all).fixed:
                lines.append("fixed", when=_now(), choices=choices, label=label)

    def spent(self) -> Guarantee:
        """Everything held or committed, added up by the account's rule; this is what is held against the cap."""
        with sound(self.path):
            return self.rule.total(self._history().paid)

    def remaining(self) -> float:
        """The epsilon that one further pure release may certainly cost; with Renyi composition it may be more."""
        with sound(self.path):
            return self.rule.left(self._history().paid)[0]

    def history(self) -> list[Charge]:
        """Every charge ever reserved, oldest first, with its prices as they were computed on the day."""
        return list(self._history().charges.values())

    def summary(self) -> dict[str, Any]:
        """Cap, spending, open reservations and looks, ready for JSON."""
        history = self._history()
        with sound(self.path):
            (epsilon_left, delta_left), spent = self.rule.left(history.paid), self.rule.total(history.paid)
        held = [charge for charge in history.counted if charge.state is ChargeState.HELD]
        return {
            "dataset": self.dataset,
            "identity": self.identity,
            "created": self.created,
            "cap": {"epsilon": self.epsilon, "delta": self.delta, "neighbours": self.neighbours.value},
            "composition": self.composition.value,
            "renyi_order": self.renyi_order,
            "spent": spent.to_dict(),
            "remaining_epsilon": epsilon_left,
            "remaining_delta": delta_left,
            "releases": len(history.counted) - len(held),
            "held": [{"number": charge.number, "when": charge.when, "label": charge.label} for charge in held],
            "looks": [{"when": when, "what": what} for when, what in history.looks],
        }

    def __repr__(self) -> str:
        terms = f"{self.neighbours.value}, {self.composition.value} composition"
        return f"<Account of {self.dataset!r}: cap epsilon {self.epsilon:g}, delta {self.delta:g} ({terms})>"

    def _repr_html_(self) -> str:
        """For the steward: what is spent and left, which tells nothing about any record."""
        facts = [
            ("File", str(self.path)),
            ("Cap", f"epsilon {self.epsilon:g}, delta {self.delta:g}"),
            ("Neighbours", self.neighbours.value),
            ("Composition", self.composition.value),
        ]
        try:
            summary = self.summary()
        except BudgetError as reason:  # a card is shown for an account that cannot be read, too
            return card(f"Account of {self.dataset}", facts, note=str(reason))
        held = f", and {len(summary['held'])} held" if summary["held"] else ""
        left = f"epsilon {at_least(summary['remaining_epsilon'])}, delta {at_least(summary['remaining_delta'])}"
        facts += [
            ("Spent", short_promise(guarantee_from_dict(summary["spent"]))),
            ("Left", left),
            ("Releases", f"{summary['releases']:,}{held}"),
            ("Confidential looks", f"{len(summary['looks']):,}"),
        ]
        return card(f"Account of {self.dataset}", facts)

    def relation_fault(self, ledger: Ledger) -> str:
        """Why prices of this ledger cannot be charged here, and the stronger of the two ways out; empty if they can."""
        relations: set[Any] = {getattr(entry.guarantee, "neighbours", None) for entry in ledger.entries} - {None}
        strange = sorted(relations - {self.neighbours})
        if not strange:
            return ""
        priced_for = " and ".join(sorted(relation.value for relation in relations))
        return (
            f"is priced for {priced_for}, and the account of {self.dataset!r} is kept for {self.neighbours.value}; "
            "prices of different neighbour relations are listed, never added up. "
            f"{_stronger(self.neighbours, strange[0])}"
        )

    def _check_kind(self, ledger: Ledger, label: str) -> None:
        if fault := self.relation_fault(ledger):
            raise BudgetError(f"{label!r} {fault}")
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

    def _refusal(self, label: str, cost: Guarantee, total: PureDP | ApproxDP, history: History) -> str:
        held = sum(charge.state is ChargeState.HELD for charge in history.counted)
        waiting = f" (of which {held} held by runs that are not finished, or died)" if held else ""
        return (
            f"{label!r} would cost {_price(cost)} and bring the total of {self.dataset!r} from "
            f"{_price(self.rule.total(history.paid))}{waiting} to {_price(total)}, above its cap of epsilon "
            f"{_figure(self.epsilon)}, delta {_figure(self.delta)} ({self.composition.value} composition). "
            f"{self._remedy(history, total)}"
        )

    def _remedy(self, history: History, total: PureDP | ApproxDP) -> str:
        epsilon, delta = self.rule.left(history.paid)
        if total.delta <= self.delta * (1 + ROUNDING):
            if epsilon > 0:
                return (
                    f"Ask for less (a smaller epsilon, more smoothing or fewer rows; a pure price up to epsilon "
                    f"{_figure(epsilon)} fits), or use an earlier release again, which is free."
                )
            return "Nothing is left: use an earlier release again, which is free."
        if self.delta == 0:
            return "This account has delta 0: use a method with pure differential privacy."
        if self.composition is Composition.RENYI:
            return (
                f"Prices without a Renyi curve share half of the cap's delta, and {_figure(delta)} of it is left: use "
                "a smaller delta, or a method with a Renyi curve or with pure differential privacy."
            )
        if delta == 0:
            return "Nothing of the cap's delta is left: use pure differential privacy, which needs none."
        return (
            f"Of the cap's delta {_figure(delta)} is left: state the total at a smaller delta, or use pure "
            "differential privacy, which needs none."
        )


@dataclass(kw_only=True, eq=False, repr=False)
class Reservation:
    """A price taken out of the budget, to be committed or cancelled once."""

    account: Account
    charge: Charge
    """As it stood when it was reserved, resumed or settled."""
    looked: bool
    """Whether a confidential look came before its choices were fixed."""

    def __repr__(self) -> str:
        return f"<Reservation {self.charge.number} {self.charge.label!r}: {_price(self.charge.guarantee)}>"

    def commit(self, release_id: str, digest: str | None = None) -> None:
        """Record which release the price became and its bytes; the same again is harmless, another is refused."""
        self._settle(ChargeState.COMMITTED, _WORDS.check("release_id", release_id), digest)

    def cancel(self) -> None:
        """Give the price back; only for what nobody saw."""
        self._settle(ChargeState.CANCELLED, None, None)

    def _settle(self, state: ChargeState, release_id: str | None, digest: str | None) -> None:
        number, label = self.charge.number, self.charge.label
        with self.account._lines(write=True) as lines:
            charge = History.of(lines.all).charges.get(number)
            if charge is None or charge.label != label:
                raise BudgetError(
                    f"reservation {number} is not in `{self.account.path}`; the file was replaced since. "
                    "Restore the account that holds it, because its price is spent."
                )
            if charge.state is ChargeState.HELD:
                lines.append(state.value, charge=number, when=_now(), release=release_id, digest=digest)
                charge = History.of(lines.all).charges[number]
            elif (charge.state, charge.release_id, charge.digest) != (state, release_id, digest):
                name = f" as {charge.release_id!r}" if charge.release_id is not None else ""
                asked = f" as {release_id!r}" if release_id is not None else ""
                raise BudgetError(
                    f"reservation {number} ({label!r}) was {charge.state.value}{name} already and cannot be "
                    f"{state.value}{asked}: a price is settled once, for one set of bytes. Reserve again for another "
                    "release."
                )
        self.charge = charge


def account_at(account: Account | str | Path | None) -> Account | None:
    """The account that a caller gave, opened where only its file was named."""
    return Account.open(account) if isinstance(account, str | Path) else account


def remember_look(account: Account | str | Path | None, what: str) -> None:
    """Tell the account, if there is one, that somebody is about to see figures of the confidential table."""
    opened = account_at(account)
    if opened is not None:
        opened.look(what)


def names_of_files(release_id: str, files: int) -> list[str]:
    """What the files of one charge are called: by its own name, or numbered where there are several."""
    return [release_id] if files == 1 else [f"{release_id}-{number}" for number in range(1, files + 1)]


def digest_of_choices(**choices: Any) -> str:
    """What was chosen (method, parameters, rows, codebook), as one short text; plain data only."""
    text = json.dumps(choices, ensure_ascii=False, sort_keys=True)
    return "sha256:" + hashlib.sha256(text.encode()).hexdigest()


def _within(total: PureDP | ApproxDP, cap: Account | Allowance) -> bool:
    return total.epsilon <= cap.epsilon * (1 + ROUNDING) and total.delta <= cap.delta * (1 + ROUNDING)


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


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def _figure(value: float) -> str:
    return f"{value:.10g}"


def _price(price: Guarantee) -> str:
    epsilon, delta = getattr(price, "epsilon", math.inf), getattr(price, "delta", 0.0)
    return f"epsilon {_figure(epsilon)}, delta {_figure(delta)}"
