"""A release in one zip file, beside the data set: packed once for the files as they are, and offered until one changes.

::

    NAME/.packs/RELEASE-STAMP.zip      mode 0600; STAMP is a digest of names, sizes and times of the files
"""

import zipfile
from collections.abc import Callable
from pathlib import Path

from understudy.errors import ReleaseError
from understudy.files import make_empty, make_folders, scratch_beside
from understudy.studio.released import Released, stamp_of
from understudy.studio.texts import texts

Report = Callable[[str, int, int], None]


def pack_of(release: Released) -> Path:
    """Where the zip file of the release as it is now lies, packed or not; a link that leads elsewhere is refused."""
    own = release.own
    return own.path(".packs", pack_at(own.path(".packs"), release.folder).name)


def pack_at(packs: Path, folder: Path) -> Path:
    """The zip file of a folder as it is now."""
    return packs / f"{folder.name}-{stamp_of(folder)[:16]}.zip"


def pack(folder: Path, packs: Path, base: str, report: Report) -> Path:
    """Pack all files below ``base``; links are left out. Earlier packs of the same release go."""
    target = pack_at(make_folders(packs), folder)
    for old in packs.glob(f"{folder.name}-*.zip"):
        old.unlink(missing_ok=True)
    half = scratch_beside(target)
    make_empty(half)
    try:
        _write(half, folder, base, report)
        if pack_at(packs, folder) != target:
            raise ReleaseError(texts("published")["changed"])
        half.replace(target)
    finally:
        half.unlink(missing_ok=True)
    return target


def _write(place: Path, folder: Path, base: str, report: Report) -> None:
    files = [file for file in sorted(folder.rglob("*")) if file.is_file() and not file.is_symlink()]
    done, total = 0, sum(file.stat().st_size for file in files)
    with zipfile.ZipFile(place, "w", zipfile.ZIP_DEFLATED, strict_timestamps=False) as archive:
        for file in files:
            report(texts("published")["packing_step"], done, total)
            archive.write(file, f"{base}/{file.relative_to(folder)}")
            done += file.stat().st_size
    report(texts("published")["packing_step"], done, total)
