"""Check the page of a release: it states the promise of its manifest, runs nothing and loads nothing.

By the version that wrote it the page is made again from the folder and compared; its style, which may change within a
version, only by its digest.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from html import unescape
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pyarrow as pa

from understudy.codebook import Codebook, LinkedCodebook
from understudy.errors import UnderstudyError
from understudy.release.face import FACE, face_of
from understudy.release.face.sections import stated_promise
from understudy.release.folders import digest_of_bytes
from understudy.release.notices import Notice, with_notices, without_notices
from understudy.release.reading import shown_tables
from understudy.version import __version__

_LOADING = {"src", "srcset", "data", "action", "formaction", "background", "poster", "ping", "manifest", "xlink:href"}
_ACTIVE = {"script", "iframe", "object", "embed", "link", "base", "form", "frame", "applet", "portal", "foreignobject"}
_FETCHED = re.compile(r"url\s*\(|@import|image-set\s*\(", re.I)
_STYLE = re.compile(r"<style>.*?</style>", re.S)


class _Suspects(HTMLParser):
    """What a page could run or load."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in _ACTIVE:
            self.found.append(f"<{tag}>")
        for name, value in attrs:
            words = unescape(value or "")
            links = name == "href" and tag == "a" and words.startswith(("#", "https://", "http://"))
            if name in _LOADING or name.startswith("on") or (name == "href" and not links):
                self.found.append(f"{name} of <{tag}>")
            elif name == "style" and _FETCHED.search(words):
                self.found.append(f"style of <{tag}>")
            elif tag == "meta" and name == "http-equiv" and words.lower() == "refresh":
                self.found.append("<meta refresh>")


def running_or_loading(page: str) -> list[str]:
    """Everything in a page that runs or loads something."""
    suspects = _Suspects()
    suspects.feed(page)
    styles = "".join(_STYLE.findall(page))
    return suspects.found + (["a style that loads something"] if _FETCHED.search(styles) else [])


def released_page_digest(path: Path) -> str:
    """The digest of a page without the notices that were added later."""
    return digest_of_bytes(
        without_notices(path.read_bytes().decode(errors="surrogateescape")).encode(errors="surrogateescape")
    )


def face_faults(
    place: Path, facts: Mapping[str, Any], book: Codebook | LinkedCodebook, notices: list[Notice]
) -> list[str]:
    """What is wrong with the page of a folder."""
    files = {name: digest for name, digest in facts["files"].items() if name != FACE}
    return page_faults(
        place / FACE, facts, lambda: face_of({**facts, "files": files}, shown_tables(place, facts, book)), notices
    )


def page_faults(
    path: Path, facts: Mapping[str, Any], make: Callable[[], str], notices: Sequence[Notice] = ()
) -> list[str]:
    """What is wrong with a page; ``make`` makes it again from what it was made of."""
    name = path.name
    try:
        page = path.read_bytes().decode()  # as it is: a level may hold a carriage return
    except (OSError, UnicodeDecodeError) as reason:
        return [f"{name} cannot be read: {reason}"]
    faults = [f"{name} could run or load something: {what}" for what in running_or_loading(page)[:3]]
    if page.lower().count("<style") != 1 or len(_STYLE.findall(page)) != 1:  # one spelled otherwise is not looked at
        faults.append(f"{name} has another style beside its own")
    released = without_notices(page)
    if stated_promise(facts) not in released:
        faults.append(f"{name} does not state the promise of the manifest")
    if page != with_notices(released, list(notices)):
        faults.append(f"{name} has other notices than the folder")
    if not faults and facts["versions"]["understudy"] == __version__:
        try:
            again = make()
        except (UnderstudyError, OSError, LookupError, pa.ArrowException) as reason:
            return [f"{name} cannot be made again from what it describes: {reason}"]
        if _STYLE.sub("", again) != _STYLE.sub("", released):
            faults.append(f"{name} is not the page that this release makes")
    return faults
