"""Releases that are there, and the accounts that paid for them."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from understudy.errors import ParameterError, ReleaseError
from understudy.facade import histories
from understudy.facade.documented import documented

if TYPE_CHECKING:
    from understudy.evaluate.combine import Combined
    from understudy.privacy.account import Account, Charge
    from understudy.privacy.guarantees import Guarantee
    from understudy.release.verify import Verdict
    from understudy.sources.base import Report


def certificate_lines(certificate: Mapping[str, Any]) -> list[str]:
    """The certificate of a release (``release.manifest.certificate``) in words."""
    from understudy.synth import certificate as certificates

    return certificates.certificate_lines(certificate)


def verify(path: str | Path, *, key: str | Path | None = None, report: Report | None = None) -> Verdict:
    """Say what a release folder or a risk score is, and recompute everything that it states.

    Parameters
    ----------
    path
        Folder of a release, or the file of a risk score.
    key
        Public key file of the publisher: the release must then be signed with that key.
    report
        Told the name of the step and how much of how much is done.

    Returns
    -------
    Verdict
        ``.is_valid``, ``.what``, ``.passed``, ``.problems`` and ``.signed_by``.
    """
    from understudy.release.signature import read_public_key
    from understudy.release.verify import check_signed

    public = None if key is None else read_public_key(Path(key))
    return check_signed(_unsigned_verdict(path, report), Path(path), public)


def _unsigned_verdict(path: str | Path, report: Report | None) -> Verdict:
    from understudy.anonymize.verify import recheck_anonymity
    from understudy.answers.recheck import check_figures, recheck_answer
    from understudy.commute.recheck import recheck_commute
    from understudy.release.verify import verify_release
    from understudy.synth.recheck import recheck_method
    from understudy.trees.recheck import verify_score

    if Path(path).is_file():
        try:
            return verify_score(Path(path))
        except ReleaseError as reason:
            raise ReleaseError(f"{reason} Of a release, give the folder.") from None
    if (verdict := histories.verify(path, report)) is not None:
        return verdict
    checks = [recheck_method, recheck_anonymity, recheck_commute, recheck_answer, check_figures]
    return verify_release(path, checks, report)


@documented
def combine_files(
    files: Sequence[str | Path],
    *,
    kind: str,
    share: str | None = None,
    mean: str | None = None,
    rows_ratio: float = 1.0,
    noise: float = 0.0,
) -> Combined:
    """Estimate a share or a mean in each of several released files, and combine the estimates.

    Parameters
    ----------
    files
        Release folders, a folder of numbered ones, or tables.
    kind
        How the files were made: ``full``, ``partial``, ``complete``, ``plug-in`` (PeGS and all of route N) or
        ``missing`` (values that were filled).
    share
        ``COLUMN=VALUE``: the share of rows with this value.
    mean
        Column whose mean is estimated; give this or ``share``.
    rows_ratio
        Rows of one synthetic file per confidential record.
    noise
        Known variance that the noise of the released tables brings to every file.

    Returns
    -------
    Combined
        ``.estimate``, ``.variance``, ``.error`` and ``.interval(0.95)``.
    """
    from understudy.evaluate.estimates import mean_in, released_tables, shares_in
    from understudy.privacy.provenance import Made
    from understudy.sources.inputs import find_provenance

    if (share is None) == (mean is None):
        raise ParameterError("give one of `share` (COLUMN=VALUE) and `mean` (COLUMN): what is to be estimated?")
    column, equals, value = (share or "").rpartition("=")
    if share is not None and not (column and equals):
        raise ParameterError(f"`share` is {share!r}; write COLUMN=VALUE, for example sex=F.")
    tables = released_tables([str(file) for file in files])
    holds = {table: find_provenance(table) for table in tables}
    if figures := [table for table in tables if holds[table].made.is_statistics]:
        raise ParameterError(
            f"{figures[0]!r} is {holds[figures[0]].called}, whose rows are figures and no records, so that a share or "
            "a mean of them says nothing of people; read the figures and their intervals as they are."
        )
    filled = [table for table in tables if holds[table].made is Made.COMPLETED]
    if filled and kind != "missing":
        raise ParameterError(
            f"`kind` is {kind!r}, and {filled[0]!r} holds real records whose missing values were filled; combine such "
            "files with the kind 'missing'. What comes out is confidential."
        )
    found = shares_in(tables, column, value) if mean is None else [mean_in(table, mean) for table in tables]
    estimates, variances = [estimate for estimate, _ in found], [variance for _, variance in found]
    return combine_numbers(estimates, variances, kind=kind, rows_ratio=rows_ratio, noise=noise)


def combine_numbers(
    estimates: Sequence[float], variances: Sequence[float], *, kind: str, rows_ratio: float, noise: float
) -> Combined:
    """The same for estimates that were computed elsewhere; Python has it as ``us.combine``."""
    from understudy.evaluate.combine import combine

    return combine(estimates, variances, kind=kind, rows_ratio=rows_ratio, noise=noise)


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


@contextmanager
def told_of_charges(tell: Callable[[Charge], object]) -> Iterator[None]:
    """Call ``tell`` with every charge that is made inside the block, as soon as it is made."""
    from understudy.privacy.transaction import CHARGED

    before = CHARGED.set(tell)
    try:
        yield
    finally:
        CHARGED.reset(before)


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
