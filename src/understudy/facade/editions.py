"""Editions of a release: what supersedes it, what withdraws it, and how many more the account can pay for."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from understudy.errors import ParameterError, ReleaseError
from understudy.facade.releases import open_account, verify

if TYPE_CHECKING:
    from understudy.privacy.account import Account
    from understudy.privacy.editions import Outlook
    from understudy.release.notices import Notice


def supersede(
    old: str | Path, new: str | Path, *, why: str = "", account: Account | str | Path | None = None
) -> list[Notice]:
    """Say in the folder of a release that a later one takes its place. Nothing that was released changes.

    Parameters
    ----------
    old, new
        Folders of the two releases; both must verify.
    why
        A sentence for whoever reads the page of the old one.
    account
        Account that paid for the old one: it remembers the notice. Both prices stay.

    Returns
    -------
    list of Notice
        Those of the old release, and that of the new one where its manifest does not name the old one.
    """
    from understudy.release.folders import digest_of
    from understudy.release.notices import Notice, add_notice, read_notices
    from understudy.release.release import MANIFEST

    before, after = (_verified(folder) for folder in (old, new))
    if before["release"] == after["release"]:
        raise ParameterError(f"`new` is the release {after['release']}, which `old` is too; name the later folder.")
    if str(after["created"]) < str(before["created"]):
        raise ParameterError(
            f"`new` was made at {after['created']}, before `old` ({before['created']}); give the old folder first."
        )
    names = [(facts["release"], digest_of(Path(folder) / MANIFEST)) for facts, folder in ((before, old), (after, new))]
    if any(notice.kind == "superseded" and notice.other == after["release"] for notice in read_notices(Path(old))):
        raise ReleaseError(f"{str(old)!r} says already that {after['release']} supersedes it; nothing was added.")
    _tell(account, before, f"superseded by {names[1][0]}")
    notices = [Notice(kind="superseded", other=names[1][0], other_manifest=names[1][1], why=why)]
    add_notice(Path(old), notices[0])
    if after.get("publication", {}).get("supersedes") != before["release"]:
        notices.append(Notice(kind="supersedes", other=names[0][0], other_manifest=names[0][1]))
        add_notice(Path(new), notices[1])
    return notices


def withdraw(folder: str | Path, *, why: str, account: Account | str | Path | None = None) -> Notice:
    """Say in the folder of a release that it should not be used any more. Nothing is given back.

    Parameters
    ----------
    folder
        Folder of the release; it must verify.
    why
        A sentence for whoever reads its page.
    account
        Account that paid for it, which remembers the notice.

    Returns
    -------
    Notice
        ``.sentence`` is what its page and ``verify`` say from now on.
    """
    from understudy.release.notices import Notice, add_notice

    if not why.strip():
        raise ParameterError("`why` is empty; say why the release is withdrawn, in a sentence.")
    facts = _verified(folder)
    notice = Notice(kind="withdrawn", why=why)
    _tell(account, facts, f"withdrawn: {why}")
    add_notice(Path(folder), notice)
    return notice


def forecast_editions(
    account: Account | str | Path, like: str | int | Path | None = None, *, per_year: float = 1.0
) -> Outlook:
    """How many more editions of a release the cap of an account lasts for, added up by the account's own rule.

    Parameters
    ----------
    account
        The account of the people whom all editions are about.
    like
        Number of a charge, or folder of a release, that every edition costs as much as; the last charge if left out.
    per_year
        Editions a year.

    Returns
    -------
    Outlook
        ``.editions``, ``.years``, ``.totals``; ``.lines()`` in words.
    """
    from understudy.privacy import editions
    from understudy.privacy.ledger import Ledger
    from understudy.release.reading import read_manifest_file

    opened = open_account(account) if isinstance(account, str | Path) else account
    if like is None or isinstance(like, int) or (str(like).isdecimal() and not Path(like).is_dir()):
        chosen = editions.like_charge(opened, None if like is None else int(str(like)))
    else:
        facts = read_manifest_file(Path(like))
        ledger = Ledger.from_list(facts["ledger"])
        chosen = editions.like_ledger(opened, f"the release {facts['release']}", ledger, facts["delta_for_total"])
    return editions.forecast_editions(opened, chosen, per_year=per_year)


def _verified(folder: str | Path) -> dict[str, Any]:
    from understudy.release.reading import read_manifest_file

    facts = read_manifest_file(Path(folder))
    verdict = verify(folder)
    if not verdict.is_valid:
        raise ReleaseError(
            f"{str(folder)!r} does not verify ({verdict.problems[0]}); a notice belongs to the release as it was "
            "published. Take the folder again."
        )
    return facts


def _tell(account: Account | str | Path | None, facts: dict[str, Any], what: str) -> None:
    """The account first: a notice that it refuses is not written."""
    from understudy.privacy.account import account_at

    opened = account_at(account)
    if opened is not None:
        opened.notice(facts["charged_as"], what)
