"""A second person's approval: lines in a file of the data set, each for one release as it is now.

An approval names a digest of every file of the release: if one changes, comes or goes, the approvals of before do not
count any more. Only passport and signature may be added, which are made of the release and are checked against it.

It binds the studio, which asks for it before it signs or packs. Whoever may read the key can sign without the studio.
"""

import datetime as dt
import json
from dataclasses import dataclass

from understudy.errors import ParameterError
from understudy.files import append_to
from understudy.studio.released import Released
from understudy.studio.texts import texts

FILE = "approvals.jsonl"
_FORMAT = 2
"""Lines of 1 spoke for the manifest alone: they count no more, and whoever gave them is asked again."""


@dataclass(frozen=True, kw_only=True)
class Approval:
    """Who approved, and when."""

    person: str
    when: str


def approvals_of(release: Released) -> list[Approval]:
    """Those that count: of this release as it is, one for each person, oldest first."""
    place = release.own.path(FILE)
    found: dict[str, list[Approval]] = {}
    for line in place.read_bytes().splitlines() if place.is_file() else ():
        try:
            told = json.loads(line)
            written = told.get("format", 1)
            if told["release"] == release.name and written == _FORMAT:
                given = Approval(person=str(told["person"]), when=str(told["when"]))
                found.setdefault(told.get("content", ""), []).append(given)
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            raise ParameterError(texts("publish")["approvals_broken"].format(file=FILE)) from None
        if written not in (1, _FORMAT):
            raise ParameterError(texts("publish")["approvals_newer"].format(file=FILE, format=written))
    first: dict[str, Approval] = {}
    for given in found.get(release.content, ()) if found else ():  # files are read only where somebody approved
        first.setdefault(given.person, given)
    return list(first.values())


def approve(release: Released, person: str) -> None:
    """Add the approval of a person who is signed in by name."""
    if not person:
        raise ParameterError(texts("publish")["no_name"])
    if any(one.person == person for one in approvals_of(release)):
        raise ParameterError(texts("publish")["approved_already"].format(person=person))
    now = dt.datetime.now(dt.UTC).isoformat(timespec="seconds")
    line = json.dumps(
        {"format": _FORMAT, "release": release.name, "content": release.content, "person": person, "when": now},
        ensure_ascii=False,
    )
    append_to(release.own.path(FILE), line.encode() + b"\n")


def missing(release: Released) -> int:
    """How many more people must approve before it may leave the house."""
    settings = release.own.root.settings
    needed: int = settings["approvals"]
    if needed < 2:
        return 0
    named = {one.person for one in approvals_of(release) if one.person in settings["people"]}
    return max(0, needed - len(named))


def check_approved(release: Released) -> None:
    """Refuse what lacks an approval."""
    if lacking := missing(release):
        raise ParameterError(texts("publish")["not_approved"].format(n=lacking))
