"""Releases that are there, and the accounts that paid for them."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from understudy.errors import ReleaseError

if TYPE_CHECKING:
    from understudy.privacy.account import Account, Charge
    from understudy.privacy.guarantees import Guarantee
    from understudy.release.verify import Verdict


def verify(path: str | Path) -> Verdict:
    """Say what a release folder or a risk score is, and recompute everything that it states.

    Parameters
    ----------
    path
        Folder of a release, or the file of a risk score.

    Returns
    -------
    Verdict
        ``.is_valid``, ``.what``, ``.passed`` and ``.problems``.
    """
    from understudy.anonymize.verify import recheck_anonymity
    from understudy.commute.recheck import recheck_commute
    from understudy.release.verify import verify_release
    from understudy.synth.recheck import recheck_method
    from understudy.trees.recheck import verify_score

    if Path(path).is_file():
        try:
            return verify_score(Path(path))
        except ReleaseError as reason:
            raise ReleaseError(f"{reason} Of a release, give the folder.") from None
    return verify_release(path, [recheck_method, recheck_anonymity, recheck_commute])


def create_account(
    path: str | Path, *, dataset: str, epsilon: float, delta: float, neighbours: str, composition: str = "basic"
) -> Account:
    """Open a new account; ``neighbours`` is the word for the relation."""
    from understudy.privacy.account import Account
    from understudy.synth.choices import relation_of

    return Account.create(
        path,
        dataset=dataset,
        epsilon=epsilon,
        delta=delta,
        neighbours=relation_of(neighbours),
        composition=composition,
    )


def open_account(path: str | Path) -> Account:
    """Come back to an account."""
    from understudy.privacy.account import Account

    return Account.open(path)


def charges_since(path: str | Path, when: dt.datetime) -> list[Charge]:
    """Charges of an account that were made since ``when`` and not cancelled."""
    return [
        charge
        for charge in open_account(path).history()
        if charge.state.value != "cancelled" and dt.datetime.fromisoformat(charge.to_dict()["when"]) >= when
    ]


def spelled_promise(claim: Guarantee) -> str:
    """A price for a table on a screen: never less than it is."""
    from understudy.privacy.guarantees import LDiverse, NoFormal
    from understudy.privacy.spelling import at_least

    if isinstance(claim, NoFormal):
        return claim.why
    if isinstance(claim, LDiverse):
        return f"entropy l-diversity,\nl {at_least(claim.l, 6)}; not DP"
    epsilon, delta = spelled_price(claim.to_dict())
    return f"epsilon {epsilon}, delta {delta}"


def spelled_price(price: Mapping[str, float]) -> tuple[str, str]:
    """Epsilon and delta of a charge as texts that never say less than they are."""
    from understudy.privacy.spelling import at_most

    return at_most(price["epsilon"], 6), at_most(price["delta"], 3)
