"""How many more editions of a release fit into an account: added up by the account's own rule, not by hand.

Editions about the same people compose like any other releases. What the account would refuse is refused here.
"""

from dataclasses import dataclass
from typing import Any

from understudy.errors import BudgetError
from understudy.parameters import Number
from understudy.privacy.account import Account, Charge
from understudy.privacy.composition import Paid
from understudy.privacy.guarantees import ApproxDP, Guarantee, PureDP
from understudy.privacy.ledger import Ledger
from understudy.privacy.spelling import short_promise

MOST = 10_000
"""Editions that are counted; more is as good as no end."""
PER_YEAR = Number(above=0, tried=1.0)
_SHOWN = 12


@dataclass(frozen=True, kw_only=True)
class Outlook:
    """What further editions like one release would do to an account."""

    dataset: str
    like: str
    """The release whose price every edition is taken to have."""
    price: Guarantee
    """Of one edition alone."""
    cap: Guarantee
    spent: Guarantee
    editions: int
    """How many more fit under the cap."""
    per_year: float
    totals: tuple[Guarantee, ...]
    """The total of the account after each of the next editions that fit, the first few of them."""
    refused: Guarantee | None
    """The total that the first edition too many would bring; None where nobody will live to see it."""

    @property
    def years(self) -> float:
        """How long the cap lasts at so many editions a year."""
        return self.editions / self.per_year

    def to_dict(self) -> dict[str, Any]:
        """As plain data, for machines."""
        return {
            "dataset": self.dataset,
            "like": self.like,
            "price": self.price.to_dict(),
            "cap": self.cap.to_dict(),
            "spent": self.spent.to_dict(),
            "editions": self.editions,
            "at_least": self.refused is None,
            "per_year": self.per_year,
            "years": self.years,
            "totals": [total.to_dict() for total in self.totals],
            "refused": None if self.refused is None else self.refused.to_dict(),
        }

    def lines(self) -> list[str]:
        """In words."""
        at_least = "at least " if self.refused is None else ""
        lines = [
            f"{self.dataset}: spent {short_promise(self.spent)} of {short_promise(self.cap)}.",
            f"An edition like {self.like} costs {short_promise(self.price)} alone.",
            f"{at_least}{self.editions:,} more like it fit: at {self.per_year:g} a year the cap lasts "
            f"{at_least}{self.years:,.3g} years.",
        ]
        lines += [f"  after {k} more: {short_promise(total)}" for k, total in enumerate(self.totals, start=1)]
        if self.editions > len(self.totals):
            lines.append("  ...")
        if self.refused is not None:
            lines.append(f"One more than that would bring {short_promise(self.refused)}, and would be refused.")
        lines.append(
            "This holds for editions about the same people. A table about other people, none of whom is in this one, "
            "has an account of its own."
        )
        return lines


def like_charge(account: Account, number: int | None) -> tuple[str, Paid]:
    """A charge of the account that editions are compared with: the last one, unless another is named."""
    charges: list[Charge] = [charge for charge in account.history() if charge.state != "cancelled"]
    chosen = [charge for charge in charges if number is None or charge.number == number]
    if not chosen:
        what = "has no charge yet" if number is None else f"has no charge {number}"
        raise BudgetError(
            f"the account of {account.dataset!r} {what}, so no price is known. Name a release folder (like), or a "
            "charge that `understudy account history` lists."
        )
    charge = chosen[-1]
    return f"charge {charge.number} ({charge.label!r})", Paid(
        name=f"charge {charge.number} ({charge.label!r})", ledger=charge.ledger, delta=charge.delta
    )


def like_ledger(account: Account, name: str, ledger: Ledger, delta: float | None) -> tuple[str, Paid]:
    """A release that need not have been charged here."""
    return name, account.priced(ledger, label=name, delta=delta)


def forecast_editions(account: Account, like: tuple[str, Paid], *, per_year: float = 1.0) -> Outlook:
    """Add up further editions until the cap is reached."""
    PER_YEAR.check("per_year", per_year)
    name, paid = like
    past, rule = account.paid(), account.rule

    def after(editions: int) -> PureDP | ApproxDP:
        return rule.total([*past, *[paid] * editions])

    low, high = 0, 1
    while high <= MOST and account.keeps_cap(after(high)):
        low, high = high, 2 * high
    if low < MOST < high and account.keeps_cap(after(MOST)):
        low = MOST
    while low < MOST and high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if middle <= MOST and account.keeps_cap(after(middle)) else (low, middle)
    return Outlook(
        dataset=account.dataset,
        like=name,
        price=rule.price(paid),
        cap=account.cap,
        spent=rule.total(past),
        editions=low,
        per_year=per_year,
        totals=tuple(after(k) for k in range(1, min(low, _SHOWN) + 1)),
        refused=None if low == MOST else after(low + 1),
    )
