"""A page on disk: all at once, readable by its owner only, and never over a file that is not such a page."""

import os
import tempfile
from pathlib import Path

from understudy.errors import ReleaseError
from understudy.extras import need
from understudy.pages.shell import MARKER


def check_page_target(path: Path) -> None:
    """Find out before anything is computed whether the page can be written."""
    need("jinja2", "scipy", extra="report", what="the page")
    if path.is_dir():
        raise ReleaseError(f"{str(path)!r} is a folder; name the file, for example {str(path / 'report.html')!r}.")
    if path.exists():
        with path.open("rb") as file:
            if MARKER.encode() not in file.read(400):
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


def write_whole(path: Path, content: bytes) -> None:
    """Write beside, then rename: a crash leaves the earlier file or none. Only its owner may read it."""
    handle, scratch = tempfile.mkstemp(prefix=f".{path.name}-unfinished-", dir=path.absolute().parent)  # mode 0600
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        Path(scratch).replace(path)
    finally:
        Path(scratch).unlink(missing_ok=True)


def write_page(path: Path, page: str) -> None:
    """The whole page or what was there before."""
    check_page_target(path)
    try:
        write_whole(path, page.encode())
    except OSError as reason:
        raise ReleaseError(
            f"the page {str(path)!r} could not be written ({reason.strerror}); nothing was kept."
        ) from None
