"""Write the files of a passport beside a release, and compare them again when the release is verified."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from understudy.codebook import Codebook, LinkedCodebook, Publication
from understudy.errors import ReleaseError, UnderstudyError
from understudy.files import Access, refuse_special
from understudy.release.folders import check_file, digest_of, digest_of_bytes, new_file
from understudy.release.passport.description import Description, describe_release, linked_tables, one_table
from understudy.release.passport.formats import ALL, chosen
from understudy.release.release import MANIFEST
from understudy.version import __version__

PASSPORT = "passport.json"
"""Lists the files of a passport with their digests, and which manifest they are about."""
_FORMAT = 1


@dataclass(frozen=True, kw_only=True)
class Passport:
    """The files that were written, and why others were not."""

    folder: Path
    files: Mapping[str, Path]
    """By format."""
    left_out: Mapping[str, str]
    """Formats that do not apply or lack a fact, with the reason."""

    def __repr__(self) -> str:
        return f"<Passport of {', '.join(self.files)} in {str(self.folder)!r}>"


def describe_folder(
    place: Path, manifest: Mapping[str, Any], book: Codebook | LinkedCodebook, publication: Publication | None = None
) -> Description:
    """The description of a release folder, of one table or of linked ones."""
    tables = linked_tables(book, manifest) if isinstance(book, LinkedCodebook) else [one_table(book, manifest)]
    return describe_release(place, manifest, book, tables, publication=publication)


def write_passport(
    release: Description,
    out: Path,
    *,
    manifest_digest: str,
    formats: Sequence[str] = (),
    publication: Publication | None = None,
) -> Passport:
    """New files in a folder that exists; nothing is overwritten."""
    wanted, left_out = chosen(formats, release)
    texts = {form.file: form.write(release).encode() for form in wanted}
    if not out.is_dir():
        raise ReleaseError(f"there is no folder {str(out)!r} for the passport; make it first.")
    for name in (*texts, PASSPORT):
        if (out / name).exists():
            raise ReleaseError(
                f"{str(out / name)!r} exists already; a passport never overwrites. Remove the files of the earlier one "
                f"({PASSPORT} lists them) and {PASSPORT}, or write to another folder."
            )
        check_file(out / name, what="a passport")
    listed = {
        "passport": _FORMAT,
        "version": __version__,
        "manifest": manifest_digest,
        **({} if publication is None else {"publication": publication.to_dict()}),
        "files": {name: digest_of_bytes(content) for name, content in texts.items()},
    }
    texts[PASSPORT] = (json.dumps(listed, indent=2, ensure_ascii=False) + "\n").encode()
    access = Access.OWNER if release.is_confidential else Access.EVERYBODY
    for name, content in texts.items():
        new_file(out / name, content, what="the passport", access=access)
    return Passport(folder=out, files={form.name: out / form.file for form in wanted}, left_out=left_out)


def listed_files(place: Path) -> set[str]:
    """The names that a passport in a folder lists; none where there is none or it cannot be read."""
    try:
        refuse_special(place / PASSPORT, follow=True)  # others may have filled the folder: a pipe would be waited for
        names = json.loads((place / PASSPORT).read_text(encoding="utf-8"))["files"]
        return {PASSPORT, *(form.file for form in ALL if form.file in names)}
    except (OSError, ValueError, LookupError, TypeError, RecursionError):
        return set()


def repeated_files(place: Path) -> set[str]:
    """Those of them that only repeat manifest and codebook, word for word, or do not verify.

    Another version may word things differently, and what is declared for the passport alone stands nowhere else.
    """
    names = listed_files(place)
    if not names or not was_compared(place):
        return set()
    return set() if "publication" in json.loads((place / PASSPORT).read_text(encoding="utf-8")) else names


def was_compared(place: Path) -> bool:
    """Whether this version wrote a passport that can be read, so that it can tell what every file must say."""
    return bool(json.loads((place / PASSPORT).read_text(encoding="utf-8")).get("version") == __version__)


def passport_faults(place: Path, manifest: Mapping[str, Any], book: Codebook | LinkedCodebook) -> list[str]:
    """What is wrong with the passport in a release folder: every file is compared with what this version writes."""
    try:
        listed = json.loads((place / PASSPORT).read_text(encoding="utf-8"))
        if listed["passport"] != _FORMAT:
            return [f"{PASSPORT} is of format {listed['passport']!r}, not {_FORMAT}; use the version that wrote it"]
        files, version, about = dict(listed["files"]), listed["version"], listed["manifest"]
        declared = listed.get("publication")
        publication = None if declared is None else Publication.from_dict(declared, f"publication in {PASSPORT}")
    except (OSError, ValueError, LookupError, TypeError, RecursionError, UnderstudyError) as reason:
        return [f"{PASSPORT} cannot be read ({str(reason)[:120]}); write the passport again"]
    if about != digest_of(place / MANIFEST):
        return ["the passport is about another manifest than the one in the folder; write it again"]
    faults = []
    for name, stated in files.items():
        if Path(name).name != name or not (place / name).is_file():
            faults.append(f"{name} is listed in {PASSPORT} but is not in the folder")
        elif digest_of(place / name) != stated:
            faults.append(f"{name} was changed after the passport was written")
    if faults or version != __version__:  # another version may word things differently
        return faults
    release = describe_folder(place, manifest, book, publication)
    return [
        f"{form.file} does not say what the manifest and the codebook say; write the passport again"
        for form in ALL
        if form.file in files and digest_of_bytes(form.write(release).encode()) != files[form.file]
    ]
