"""A detached Ed25519 signature of a manifest, or of the file of a risk score.

The manifest has the digests of all other files of a release, so that one signature speaks for the whole folder.
"""

import base64
import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from understudy.errors import ReleaseError
from understudy.files import Access, write_file
from understudy.loading import loading
from understudy.release.folders import new_file
from understudy.release.release import MANIFEST

SIGNATURE = "signature.json"
"""In the folder of a release; beside a file, behind its name."""
_ALGORITHM = "Ed25519"
_FORMAT = 1
_HOW = "Make a pair of keys with `understudy sign RELEASE --new-key FILE`."


@dataclass(frozen=True, kw_only=True)
class Signed:
    """What a signature says."""

    key: str
    """Name of the key: the SHA-256 of its 32 public bytes."""
    fault: str = ""
    """What is wrong, in one sentence; empty where nothing is."""


def signed_file(place: Path) -> Path:
    """What a signature of a release signs."""
    return place if place.is_file() else place / MANIFEST


def signature_path(place: Path) -> Path:
    """Where the signature of a release lies."""
    return place.with_name(f"{place.name}.{SIGNATURE}") if place.is_file() else place / SIGNATURE


def new_key_pair(path: Path) -> Path:
    """A fresh private key in a new file that only its owner may read, and its public half beside it (``.pub``)."""
    public = path.with_name(f"{path.name}.pub")
    if public.exists():
        raise ReleaseError(f"{str(public)!r} exists already; a key file is never overwritten. Choose another.")
    key = Ed25519PrivateKey.generate()
    content = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    try:
        write_file(path, content, Access.OWNER, new=True)
    except FileExistsError:
        raise ReleaseError(f"{str(path)!r} exists already; a key file is never overwritten. Choose another.") from None
    except OSError as reason:
        raise ReleaseError(
            f"the key file {str(path)!r} cannot be written ({reason.strerror}); choose another place."
        ) from None
    text = key.public_key().public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
    try:
        return new_file(public, text, what="the public key", access=Access.EVERYBODY)
    except BaseException:
        path.unlink(missing_ok=True)
        raise


def sign(place: Path, key_file: Path) -> tuple[Path, str]:
    """Write the signature of a release; where it lies, and the name of the key."""
    key = _read_key(key_file, "private", lambda content: serialization.load_pem_private_key(content, password=None))
    if not isinstance(key, Ed25519PrivateKey):
        raise ReleaseError(f"{str(key_file)!r} holds a private key that is not {_ALGORITHM}. {_HOW}")
    public = _raw(key.public_key())
    target = signed_file(place)
    document = {
        "format": _FORMAT,
        "algorithm": _ALGORITHM,
        "signs": target.name,
        "key": base64.b64encode(public).decode(),
        "signature": base64.b64encode(key.sign(target.read_bytes())).decode(),
    }
    text = (json.dumps(document, indent=2) + "\n").encode()
    return new_file(signature_path(place), text, what="a signature", access=Access.EVERYBODY), _name(public)


def read_public_key(path: Path) -> bytes:
    """The 32 bytes of a public key."""
    key = _read_key(path, "public", serialization.load_pem_public_key)
    if not isinstance(key, Ed25519PublicKey):
        raise ReleaseError(f"{str(path)!r} holds a public key that is not {_ALGORITHM}. {_HOW}")
    return _raw(key)


def check_signature(place: Path, public: bytes | None) -> Signed | None:
    """What the signature of a release says; None where there is none and no key was given to expect one."""
    path = signature_path(place)
    if not path.is_file():
        missing = f"there is no {path.name}, so that the key which was given says nothing about this release"
        return None if public is None else Signed(key="", fault=missing)
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
        if (written := document.get("format", _FORMAT)) != _FORMAT:  # the first ones did not say it
            newer = f"{path.name} is of format {written!r}, not {_FORMAT}; use the version that wrote it"
            return Signed(key="", fault=newer)
        own, signature = (base64.b64decode(document[name], validate=True) for name in ("key", "signature"))
        if document["algorithm"] != _ALGORITHM or document["signs"] != signed_file(place).name:
            raise ValueError("another algorithm or file")
        key = Ed25519PublicKey.from_public_bytes(own)
    except (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError):
        return Signed(key="", fault=f"{path.name} is not a signature that we wrote; take it again from the publisher")
    name = _name(own)
    if public is not None and own != public:
        return Signed(key=name, fault=f"{signed_file(place).name} was signed with another key, {name}")
    try:
        key.verify(signature, signed_file(place).read_bytes())
    except InvalidSignature:
        return Signed(key=name, fault=f"{signed_file(place).name} was changed after it was signed with {name}")
    return Signed(key=name)


def _raw(key: Ed25519PublicKey) -> bytes:
    return key.public_bytes(serialization.Encoding.Raw, serialization.PublicFormat.Raw)


def _name(public: bytes) -> str:
    return f"sha256:{hashlib.sha256(public).hexdigest()}"


def _read_key(path: Path, half: str, load: Callable[[bytes], Any]) -> Any:
    with loading(path, f"the {half} key", remedy=_HOW, error=ReleaseError):
        content = path.read_bytes()
        try:
            return load(content)
        except (ValueError, TypeError, UnsupportedAlgorithm):
            raise ReleaseError(f"{str(path)!r} holds no {half} key in PEM without a password. {_HOW}") from None
