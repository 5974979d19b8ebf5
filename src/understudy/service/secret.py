"""The service's own secret. It turns API keys and questions into keyed hashes, which a stolen database does not reveal.

The secret never enters the database. From it one sub-key per purpose is derived, so that the mark of an API key can
never be taken for the mark of a question.
"""

import base64
import binascii
import hashlib
import os
import secrets
import stat
from pathlib import Path

from understudy.errors import ParameterError
from understudy.files import Access, refuse_special, write_file

ENVIRONMENT = "UNDERSTUDY_SERVICE_SECRET"
_FILE_ENVIRONMENT = f"{ENVIRONMENT}_FILE"
_BYTES = 32


class ServiceSecret:
    """256 bits that only the servers know; never shown."""

    __slots__ = ("__root",)

    def __init__(self, root: bytes) -> None:
        if len(root) != _BYTES:
            raise ParameterError(f"the service secret has {len(root)} bytes; it must have exactly {_BYTES}.")
        self.__root = root

    def __repr__(self) -> str:
        return "<ServiceSecret withheld>"

    def __reduce__(self) -> str:
        raise TypeError("a service secret is not written to disk by pickling; it lives in its own file.")

    def mac(self, purpose: str, *parts: bytes) -> bytes:
        """Keyed BLAKE2b of ``parts`` for one purpose; lengths go in front, so that no two lists of parts read alike."""
        message = bytearray()
        for part in (purpose.encode(), *parts):
            message += len(part).to_bytes(8, "big") + part
        # BLAKE2 is a MAC by design (RFC 7693); HMAC-SHA256 would do as well, at seven times the time.
        return hashlib.blake2b(message, key=self.__root, digest_size=_BYTES).digest()

    @property
    def mark(self) -> str:
        """Tells two secrets apart without telling either."""
        return self.mac("mark").hex()

    @classmethod
    def find(cls, path: Path | None, *, beside: Path | None = None, may_create: bool) -> "ServiceSecret":
        """From the environment, else from a file: ``path``, the one that the environment names, or ``beside`` the
        database. It is made there when it does not exist and ``may_create``."""
        if text := os.environ.get(ENVIRONMENT):
            return cls(_decoded(text, f"the environment variable {ENVIRONMENT}"))
        named = os.environ.get(_FILE_ENVIRONMENT)
        path = path or (Path(named) if named else beside)
        if path is None:
            raise ParameterError(
                f"no service secret is known; servers that share a PostgreSQL database share it too. Set {ENVIRONMENT} "
                f"to 32 random bytes in base64 (`openssl rand -base64 32`), or name a file with --secret-file or "
                f"{_FILE_ENVIRONMENT}."
            )
        if may_create and not path.exists():
            _create(path)
        return cls(read_secret(path))


def _create(path: Path) -> None:
    """Written beside and then linked, so that nobody ever reads half of it."""
    text = base64.b64encode(secrets.token_bytes(_BYTES)) + b"\n"
    try:
        write_file(path, text, Access.OWNER, new=True)
    except FileExistsError:
        return  # another process was faster; its secret is as good
    except OSError as reason:
        raise ParameterError(
            f"the secret file {str(path)!r} cannot be made ({reason.strerror}); choose a folder you may write to."
        ) from None


def read_secret(path: Path) -> bytes:
    """The bytes in a secret file, which must be its owner's alone."""
    try:
        refuse_special(path, follow=True)
        mode = path.stat().st_mode
        text = path.read_text(encoding="ascii")
    except FileNotFoundError:
        raise ParameterError(
            f"there is no secret file {str(path)!r}, and the database was made with one; without it no API key can be "
            f"checked. Restore the file, or set {ENVIRONMENT}."
        ) from None
    except (OSError, UnicodeDecodeError) as reason:
        raise ParameterError(f"the secret file {str(path)!r} cannot be read ({reason}); restore it.") from None
    if mode & (stat.S_IRWXG | stat.S_IRWXO):
        raise ParameterError(
            f"the secret file {str(path)!r} may be read by others (mode {stat.S_IMODE(mode):o}); run chmod 600 on it."
        )
    return _decoded(text, f"the secret file {str(path)!r}")


def _decoded(text: str, where: str) -> bytes:
    try:
        root = base64.b64decode(text.strip(), validate=True)
    except (binascii.Error, ValueError):
        root = b""
    if len(root) != _BYTES:
        raise ParameterError(
            f"{where} does not hold {_BYTES} bytes in base64; make one with `openssl rand -base64 {_BYTES}`."
        )
    return root
