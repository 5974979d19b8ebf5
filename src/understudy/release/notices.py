"""Notices about a release that is out already: another one supersedes it, or it is withdrawn.

Nothing of what was released changes. ``notice.json`` lies beside it, and its page begins with the notice: without those
lines the page is the one whose digest stands in the manifest.
"""

import datetime as dt
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from understudy.codec import from_plain
from understudy.errors import ReleaseError
from understudy.files import Access, write_file
from understudy.loading import loader
from understudy.parameters import OneOf, Text
from understudy.release.face import FACE
from understudy.release.face.markup import text
from understudy.release.folders import digest_of
from understudy.release.reading import read_manifest_file
from understudy.release.release import MANIFEST

NOTICE = "notice.json"
"""The name of the file in the folder of a release."""
FORMAT = 1
_BEGIN, _END = "<!-- notice -->\n", "<!-- end of notice -->\n"
_BODY = "<body>\n"
_KINDS = ("superseded", "supersedes", "withdrawn")
KIND = OneOf(_KINDS)
_WHY = Text(
    words="a sentence",
    example="'an error in the column age'",
    admitted=lambda value: isinstance(value, str) and bool(value.strip()) and value.isprintable(),
)


@dataclass(frozen=True, kw_only=True)
class Notice:
    """One thing that happened to a release after it was out."""

    kind: str
    """superseded, supersedes or withdrawn."""
    other: str = ""
    """The other release, by its name."""
    other_manifest: str = ""
    """The digest of its manifest."""
    why: str = ""
    when: str = field(default_factory=lambda: dt.datetime.now(dt.UTC).isoformat(timespec="seconds"))

    @property
    def sentence(self) -> str:
        """In words, for the page and for ``verify``."""
        day, why = self.when[:10], f" Why: {self.why.rstrip('.')}." if self.why else ""
        if self.kind == "withdrawn":
            return (
                f"This release was withdrawn on {day}.{why} Do not use it any more. What it told stays told: its price "
                "stays charged, and nothing is given back."
            )
        if self.kind == "superseded":
            return (
                f"This release was superseded on {day} by the release {self.other}.{why} Use that one. What both tell "
                "about one person adds up, and so do their prices."
            )
        return f"This release supersedes the release {self.other} (noted on {day}).{why}"


@loader("the notice in", remedy="take the folder again from where it was published.", error=ReleaseError)
def read_notices(place: Path) -> list[Notice]:
    """What was noted about a release; its manifest is the one that the notices are about."""
    path = place / NOTICE
    if not path.is_file():
        return []
    try:
        facts = json.loads(path.read_text(encoding="utf-8"))
        notices = [from_plain(Notice, item) for item in facts["notices"]]
        sound = facts["format"] == FORMAT and notices and all(notice.kind in _KINDS for notice in notices)
        about = facts["manifest"]
    except (OSError, ValueError, LookupError, TypeError, AttributeError) as reason:
        raise ReleaseError(f"{NOTICE} in {str(place)!r} cannot be read ({reason}); take it again.") from None
    if not sound:
        raise ReleaseError(f"{NOTICE} in {str(place)!r} is not of format {FORMAT}; use the version that wrote it.")
    if about != digest_of(place / MANIFEST):
        raise ReleaseError(f"{NOTICE} in {str(place)!r} is about another release; take it from its own folder.")
    return notices


def add_notice(place: Path, notice: Notice) -> None:
    """Write one more notice into the folder of a release, and onto its page."""
    KIND.check("kind", notice.kind)
    if notice.why:
        _WHY.check("why", notice.why)
    manifest = read_manifest_file(place)
    notices = [*read_notices(place), notice]
    facts = {"format": FORMAT, "release": manifest["release"], "manifest": digest_of(place / MANIFEST)}
    facts["notices"] = [asdict(each) for each in notices]
    content: dict[str, Any] = {NOTICE: json.dumps(facts, indent=2, ensure_ascii=False) + "\n"}
    if FACE in manifest["files"]:
        page = without_notices((place / FACE).read_bytes().decode())
        content[FACE] = with_notices(page, notices)
    access = Access.OWNER if manifest.get("confidential") else Access.EVERYBODY
    for name, words in content.items():  # the notice first: a page without it is only late
        try:
            write_file(place / name, words, access)
        except OSError as reason:
            raise ReleaseError(
                f"{str(place / name)!r} could not be written ({reason.strerror}) and is as it was; mend that and run "
                "again."
            ) from None


def with_notices(page: str, notices: Sequence[Notice]) -> str:
    """The page with the notices above everything else."""
    lines = "".join(f"<p>{text(notice.sentence)}</p>" for notice in notices)
    banner = f'{_BEGIN}<aside class="banner" aria-label="Notice">{lines}</aside>\n{_END}'
    return page.replace(_BODY, _BODY + banner, 1) if notices else page


def without_notices(page: str) -> str:
    """The page as it was released."""
    before, begin, rest = page.partition(_BODY + _BEGIN)
    _, end, after = rest.partition(_END)
    return before + _BODY + after if begin and end else page
