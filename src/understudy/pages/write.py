"""A page on disk: all at once, readable by its owner only, and never over a file that is not such a page."""

import os
from pathlib import Path

from understudy.errors import ReleaseError
from understudy.extras import need
from understudy.files import Access, refuse_special, write_file
from understudy.pages.shell import MARKER, PUBLIC_MARKER


def check_page_target(path: Path) -> None:
    """Find out before anything is computed whether the page can be written."""
    need("jinja2", "scipy", extra="report", what="the page")
    if path.is_dir():
        raise ReleaseError(f"{str(path)!r} is a folder; name the file, for example {str(path / 'report.html')!r}.")
    try:
        refuse_special(path)
    except OSError as reason:
        raise ReleaseError(f"the page {str(path)!r} cannot be written ({reason.strerror}).") from None
    if path.exists():
        with path.open("rb") as file:
            head = file.read(400)
            if not any(marker.encode() in head for marker in (MARKER, PUBLIC_MARKER)):
                raise ReleaseError(
                    f"{str(path)!r} exists already and is not an earlier report; choose another name or remove it."
                )
    parent = path.absolute().parent
    if (parent / "manifest.json").is_file():
        raise ReleaseError(
            f"{str(parent)!r} is a release, and the page is made from the confidential table: it must not go out with "
            "it. Name a file beside the folder."
        )
    if not parent.is_dir():
        raise ReleaseError(f"the folder {str(parent)!r} does not exist; make it first, then run again.")
    if not os.access(parent, os.W_OK):
        raise ReleaseError(f"nothing can be written in {str(parent)!r}; choose a folder you may write to.")


def write_page(path: Path, page: str, access: Access = Access.OWNER) -> None:
    """The whole page or what was there before."""
    check_page_target(path)
    try:
        write_file(path, page, access)
    except OSError as reason:
        raise ReleaseError(
            f"the page {str(path)!r} could not be written ({reason.strerror}); nothing was kept."
        ) from None
