"""Secrets at rest: authenticated encryption under a 256-bit key that is never in the file.

This is not differential privacy and has no ledger entry. It protects raw counts from whoever finds the file without
the key. The text that is bound to the ciphertext cannot be replaced without the key.
"""

import base64
import binascii
import hashlib
import hmac
import json
import os
from typing import Any

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305

from understudy.errors import ReleaseError
from understudy.privacy.secret import Secret

KEY_BYTES = 32
_CIPHER = "ChaCha20-Poly1305"


def key_id(key: bytes) -> str:
    """A name for a key that does not give it away."""
    return hmac.new(key, b"understudy model key", hashlib.sha256).hexdigest()[:16]


def seal(secret: Secret[dict[str, Any]], *, key: bytes, bound_to: bytes) -> dict[str, str]:
    """The content as ciphertext that opens only with ``key`` and beside ``bound_to``."""
    nonce = os.urandom(12)
    plain = json.dumps(secret.open(), separators=(",", ":"), sort_keys=True).encode()
    text = ChaCha20Poly1305(key).encrypt(nonce, plain, bound_to)
    return {
        "cipher": _CIPHER,
        "key_id": key_id(key),
        "nonce": base64.b64encode(nonce).decode(),
        "text": base64.b64encode(text).decode(),
    }


def unseal(box: dict[str, str], *, key: bytes, bound_to: bytes) -> Secret[dict[str, Any]]:
    """The content, still withheld; a wrong key and a changed file are told apart."""
    if box.get("cipher") != _CIPHER:
        raise ReleaseError(
            f"its confidential part uses the cipher {box.get('cipher')!r}; this version knows {_CIPHER}."
        )
    if box.get("key_id") != key_id(key):
        raise ReleaseError(
            f"its confidential part was encrypted with key {box.get('key_id')!r} and the key given is {key_id(key)!r}; "
            "give the key that it was written with."
        )
    try:
        nonce, text = (base64.b64decode(box[name], validate=True) for name in ("nonce", "text"))
        plain = ChaCha20Poly1305(key).decrypt(nonce, text, bound_to)
        content = json.loads(plain)
    except (InvalidTag, binascii.Error, KeyError, ValueError, TypeError):
        raise ReleaseError("its confidential part does not decrypt: the file was changed. Copy it again.") from None
    return Secret(content)
