"""A release in the formats of catalogues and registries, and its signature."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from understudy.errors import ParameterError, ReleaseError, UnderstudyError

if TYPE_CHECKING:
    from understudy.codebook import Publication
    from understudy.release.passport.description import Description
    from understudy.release.passport.writing import Passport


def passport(
    release: str | Path,
    *,
    formats: str | Sequence[str] = (),
    out: str | Path | None = None,
    publication: Publication | str | Path | None = None,
) -> Passport:
    """Describe a release for catalogues, archives and registries, from its manifest and codebook alone.

    Parameters
    ----------
    release
        Folder of a release, or the file of a risk score.
    formats
        ``croissant``, ``frictionless``, ``ddi``, ``dcat-ap``, ``healthdcat-ap``, ``dp-registry``, ``card``; all that
        apply if left out.
    out
        Folder that exists; the folder of the release if left out, where `verify` knows the files.
    publication
        What the publisher declares, or a TOML file with a ``[publication]`` table; that of the codebook if left out.

    Returns
    -------
    Passport
        ``.files`` by format, and ``.left_out``: why other formats were not written.
    """
    from understudy.codebook import Publication
    from understudy.loading import loading
    from understudy.release.folders import digest_of
    from understudy.release.passport.writing import write_passport
    from understudy.release.signature import signed_file

    place = Path(release)
    declared = publication if isinstance(publication, Publication | None) else Publication.load(publication)
    described = _describe(place, declared)
    if out is None and place.is_file():
        raise ParameterError("a risk score is one file: give `out`, the folder for its passport.")
    with loading(place, "the release", remedy="check it with `understudy verify`.", error=ReleaseError):
        return write_passport(
            described,
            place if out is None else Path(out),
            manifest_digest=digest_of(signed_file(place)),
            formats=[formats] if isinstance(formats, str) else list(formats),
            publication=declared,
        )


def written_beside(release: str | Path) -> frozenset[str]:
    """Files of a release that `passport` and `sign` added to it: they repeat what the others state.

    Not those of a passport whose words nobody compares: one of another version, or with a publication of its own.
    """
    from understudy.release.passport.writing import repeated_files
    from understudy.release.signature import SIGNATURE

    return frozenset({SIGNATURE, *repeated_files(Path(release))})


def _describe(place: Path, declared: Publication | None) -> Description:
    from understudy.codebook.linked_toml import load_book
    from understudy.release.passport.description import File, describe_facts
    from understudy.release.passport.writing import describe_folder
    from understudy.release.reading import read_manifest_file
    from understudy.release.release import CODEBOOK
    from understudy.release.verify import refuse_other_promise
    from understudy.trees.model_file import manifest_of, read_content

    try:
        if place.is_file():
            from understudy.release.folders import digest_of

            manifest, _ = manifest_of(read_content(place))
            refuse_other_promise(place, manifest.to_dict())
            file = File(path=place.name, digest=digest_of(place), size=place.stat().st_size)
            return describe_facts(manifest.to_dict(), manifest.codebook, publication=declared, files=(file,))
        facts = read_manifest_file(place)
        if facts["format"] == 1:
            raise ReleaseError("manifests of format 1 lack what a passport states; make the release again.")
        if not (place / CODEBOOK).is_file():
            raise ReleaseError(f"{str(place)!r} holds no {CODEBOOK}; check it with `understudy verify`.")
        refuse_other_promise(place, facts)
        return describe_folder(place, facts, load_book(place / CODEBOOK), declared)
    except (LookupError, TypeError, ValueError, AttributeError) as reason:
        if isinstance(reason, UnderstudyError):
            raise
        raise ReleaseError(
            f"the manifest of {str(place)!r} has not the shape of one ({type(reason).__name__}); check it with "
            "`understudy verify`."
        ) from None


def sign(release: str | Path, *, key: str | Path | None = None, new_key: str | Path | None = None) -> tuple[Path, str]:
    """Sign the manifest of a release that verifies, or the file of a risk score, with an Ed25519 key.

    Parameters
    ----------
    release
        Folder of a release, or the file of a risk score.
    key
        File of the private key.
    new_key
        Make a pair of keys first: the private one in this new file, the public one beside it with ``.pub``.

    Returns
    -------
    tuple
        The file of the signature, and the name of the key.
    """
    from understudy.facade.releases import verify
    from understudy.release.signature import new_key_pair, signature_path
    from understudy.release.signature import sign as write_signature

    if (key is None) == (new_key is None):
        raise ParameterError("give one of `key` (the file of a private key) and `new_key` (a new file for one).")
    verdict = verify(release)
    path = signature_path(Path(release))
    if path.exists():
        raise ReleaseError(f"{str(path)!r} exists already; a signature is never overwritten. Remove it first.")
    if not verdict.is_valid:
        raise ReleaseError(
            f"{str(release)!r} does not verify ({verdict.problems[0]}), and what is not as it says is not signed; "
            "see `understudy verify`."
        )
    if key is not None:
        return write_signature(Path(release), Path(key))
    private = Path(new_key or "")
    public = new_key_pair(private)
    try:
        return write_signature(Path(release), private)
    except BaseException:
        if not path.exists():  # keys that signed nothing stand in the way of the next try
            private.unlink(missing_ok=True)
            public.unlink(missing_ok=True)
        raise
