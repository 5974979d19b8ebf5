"""What a price means: for the account that would pay it, and for what anybody may learn about a person."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from understudy.errors import BudgetError

if TYPE_CHECKING:
    from understudy.pages.decision import Fact
    from understudy.privacy.account import Account
    from understudy.privacy.guarantees import Guarantee
    from understudy.privacy.quote import Quote


@dataclass(frozen=True, kw_only=True)
class AccountOutlook:
    """An account before and after a charge that is not made yet."""

    cap: float
    before: float
    """Epsilon that is spent or held."""
    after: float | None
    """The same after the charge; None where the account cannot add it up."""
    delta_cap: float
    delta_after: float | None
    refusal: str = ""
    """Why the account would refuse it."""

    @property
    def fits(self) -> bool:
        """Whether the charge would be accepted."""
        return not self.refusal


def account_outlook(account: Account | str | Path, priced: Quote) -> AccountOutlook:
    """What an account would say to a price. Nothing is charged or written."""
    from understudy.privacy.account import Account
    from understudy.privacy.transaction import still_owed

    opened = account if isinstance(account, Account) else Account.open(account)
    paid = opened.paid()
    spent = opened.rule.total(paid)
    label = f"{priced.method}, {priced.rows:,} rows"
    known = {"cap": opened.epsilon, "before": spent.epsilon, "delta_cap": opened.delta}
    try:
        owed = still_owed(opened, priced)
        total = opened.rule.total([*paid, opened.priced(owed.ledger, label=label, delta=owed.delta)])
    except BudgetError as reason:
        return AccountOutlook(**known, after=None, delta_after=None, refusal=str(reason))
    delta = getattr(total, "delta", 0.0)
    refusal = "" if opened.keeps_cap(total) else _beyond(opened, total.epsilon, delta)
    return AccountOutlook(**known, after=total.epsilon, delta_after=delta, refusal=refusal)


def _beyond(account: Account, epsilon: float, delta: float) -> str:
    left = account.remaining()
    remedy = f"A pure price up to epsilon {left:.4g} fits." if left > 0 else "Nothing is left of its epsilon."
    return (
        f"with this release the account would stand at epsilon {epsilon:.4g}, delta {delta:.3g}, above its cap of "
        f"epsilon {account.epsilon:g}, delta {account.delta:g}, which never changes. {remedy}"
    )


def odds(total: Guarantee, *, whose: str) -> list[Fact]:
    """A promise as odds, rounded so that what is written is never better than true."""
    from understudy.privacy.odds import odds_facts

    return list(odds_facts(total, whose=whose))


def belief_after(total: Guarantee, before: float) -> float | None:
    """How sure somebody may become who was ``before`` sure, unless the promise fails; None without a promise.

    Odds grow by at most e to the epsilon: 1 in 100 becomes no more than 2.7 in 100 at epsilon 1.
    """
    epsilon = getattr(total, "epsilon", math.inf)
    if not math.isfinite(epsilon) or epsilon > 700:
        return None
    odds_then = before / (1 - before) * math.exp(epsilon)
    return math.ceil(1000 * odds_then / (1 + odds_then)) / 1000
