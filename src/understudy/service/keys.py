"""API keys: 256 random bits, shown once, kept as a key id and a keyed hash.

A slow hash would protect guessable passwords and cost every call a tenth of a second; a key of 256 random bits cannot
be guessed, and the hash is keyed with a secret that the database does not hold.
"""

import base64
import hmac
import re
import secrets
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, insert, select, update

from understudy.errors import ParameterError
from understudy.parameters import Text, Whole
from understudy.service.store import Store, now
from understudy.service.tables import api_keys, identities

SCOPES = ("score", "budget", "metrics", "answer", "review", "ledger")
"""What a key may do: ask for scores (``score:MODEL`` for one model only), see its budget, read the metrics, ask on data
sets, review questions and read the ledger (``answer:DATA`` and so on for one data set only)."""

DEFAULT_RATE = 600
_RATE = Whole(most=1_000_000, tried=DEFAULT_RATE)
_LABEL = Text(
    words="1 to 120 printable characters that tell whose key it is",
    example="triage app",
    admitted=lambda label: 1 <= len(label) <= 120 and label.isprintable(),
)
IDENTITY = Text(
    words="1 to 200 printable characters without blanks around them, as the proxy sends them",
    example="ann@agency.example",
    admitted=lambda name: (
        isinstance(name, str) and 1 <= len(name) <= 200 and name.isprintable() and name == name.strip()
    ),
)
_REMEMBERED = 1.0  # seconds; a revoked key spends nothing from its revocation on, and reads nothing after this
_SHAPE = re.compile(r"us_([0-9a-f]{16})_([A-Za-z0-9_-]{43})")
_SCOPE_SHAPE = re.compile(r"(score|answer|review|ledger)(:[a-z0-9][a-z0-9_-]{0,63})?|budget|metrics")
_CHOICES = f"choose among {', '.join(SCOPES)}, score:MODEL, answer:DATA, review:DATA, ledger:DATA."
_NOBODY = bytes(32)


@dataclass(frozen=True, kw_only=True)
class ApiKey:
    """What is known about a key; not the key."""

    key_id: str
    label: str
    scopes: tuple[str, ...]
    rate: int
    """Requests a minute."""
    created: str
    revoked: str | None

    def may(self, scope: str, name: str | None = None) -> bool:
        """Whether one of its scopes covers this, perhaps for one model or data set only."""
        return scope in self.scopes or (name is not None and f"{scope}:{name}" in self.scopes)

    def to_dict(self) -> dict[str, Any]:
        """As plain data."""
        return {**vars(self), "scopes": list(self.scopes)}


@dataclass(frozen=True, kw_only=True)
class NewKey:
    """A key at the one moment when it can be seen."""

    text: str
    key: ApiKey

    def __repr__(self) -> str:
        return f"<NewKey {self.key.key_id}, text withheld>"


class KeyBook:
    """Makes, lists, revokes and checks keys."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._remembered: dict[str, tuple[float, bytes, ApiKey]] = {}
        self._lock = threading.Lock()

    def create(
        self, *, label: str, scopes: Sequence[str], rate: int = DEFAULT_RATE, identity: str | None = None
    ) -> NewKey:
        """A new key; its text is in the answer and nowhere else.

        With ``identity``, whom a proxy in front logs in under that name has the rights of this key too.
        """
        label = _LABEL.check("label", label.strip())
        if identity is not None:
            IDENTITY.check("identity", identity)
        chosen = _checked_scopes(scopes)
        _RATE.check("rate", rate)
        key_id = secrets.token_hex(8)
        text = f"us_{key_id}_{base64.urlsafe_b64encode(secrets.token_bytes(32)).rstrip(b'=').decode()}"
        key = ApiKey(key_id=key_id, label=label, scopes=chosen, rate=rate, created=now(), revoked=None)
        row = key.to_dict() | {"scopes": " ".join(chosen), "keyed_hash": self._hash(text)}
        with self._store.writing() as connection:
            connection.execute(insert(api_keys), row)
            if identity is not None:
                self._bind(connection, identity, key_id)
        return NewKey(text=text, key=key)

    def all(self) -> list[ApiKey]:
        """Every key ever made, oldest first."""
        with self._store.reading() as connection:
            rows = connection.execute(select(api_keys).order_by(api_keys.c.created, api_keys.c.key_id)).all()
        return [_from_row(row) for row in rows]

    def find(self, key_id: str) -> ApiKey:
        """The key with this id."""
        row = self._row(key_id)
        if row is None:
            raise ParameterError(f"there is no key {key_id[:40]!r}; `understudy keys list` shows the ids.")
        return _from_row(row)

    def revoke(self, key_id: str) -> ApiKey:
        """Stop a key for ever; what it spent stays spent."""
        self.find(key_id)
        with self._store.writing() as connection:
            connection.execute(
                update(api_keys).where(api_keys.c.key_id == key_id, api_keys.c.revoked.is_(None)).values(revoked=now())
            )
        with self._lock:
            self._remembered.pop(key_id, None)
        return self.find(key_id)

    def of_identity(self, identity: str) -> ApiKey | None:
        """The key of somebody whom a proxy has logged in; None for a stranger, and where it was revoked."""
        bound = select(api_keys).join(identities, identities.c.key_id == api_keys.c.key_id)
        with self._store.reading() as connection:
            row = connection.execute(bound.where(identities.c.identity == identity)).one_or_none()
        return None if row is None or row.revoked is not None else _from_row(row)

    def _bind(self, connection: Connection, identity: str, key_id: str) -> None:
        """Give an identity to a key, unless a key that is not revoked has it."""
        connection.execute(self._store.insert_if_absent(identities), {"identity": identity, "key_id": key_id})
        revoked = select(api_keys.c.key_id).where(api_keys.c.revoked.is_not(None))
        connection.execute(
            update(identities)
            .where(identities.c.identity == identity, identities.c.key_id.in_(revoked))
            .values(key_id=key_id)
        )
        held = connection.execute(select(identities.c.key_id).where(identities.c.identity == identity)).scalar_one()
        if held != key_id:
            raise ParameterError(
                f"the identity {identity!r} has the key {held} already; revoke that one, or leave the identity out."
            )

    def recall(self, text: str) -> ApiKey | None:
        """The key if it was looked up within the last second; None says nothing about it."""
        shape = _SHAPE.fullmatch(text)
        known = None if shape is None else self._remembered.get(shape[1])
        if known is None or known[0] < time.monotonic():
            return None
        return known[2] if hmac.compare_digest(known[1], self._hash(text)) else None

    def check(self, text: str) -> ApiKey | None:
        """The key, looked up in the store; None for one that is malformed, unknown or revoked."""
        shape = _SHAPE.fullmatch(text)
        row = None if shape is None else self._row(shape[1])
        # an unknown id takes the same steps as a wrong secret, so that time does not tell which it was
        kept = _NOBODY if row is None else bytes(row.keyed_hash)
        if not hmac.compare_digest(kept, self._hash(text)) or row is None or row.revoked is not None:
            return None
        key = _from_row(row)
        with self._lock:
            self._remembered[key.key_id] = (time.monotonic() + _REMEMBERED, kept, key)
        return key

    def _hash(self, text: str) -> bytes:
        return self._store.secret.mac("api-key", text.encode("utf-8", "surrogatepass"))

    def _row(self, key_id: str) -> Any:
        if "\x00" in key_id:  # PostgreSQL takes no such text
            return None
        with self._store.reading() as connection:
            return connection.execute(select(api_keys).where(api_keys.c.key_id == key_id)).one_or_none()


def _from_row(row: Any) -> ApiKey:
    known = {name: getattr(row, name) for name in ("key_id", "label", "rate", "created", "revoked")}
    return ApiKey(**known, scopes=tuple(row.scopes.split()))


def _checked_scopes(scopes: Sequence[str]) -> tuple[str, ...]:
    if not scopes:
        raise ParameterError(f"a key needs at least one scope; {_CHOICES}")
    for scope in scopes:
        if not _SCOPE_SHAPE.fullmatch(scope):
            raise ParameterError(f"`scope` is {scope[:80]!r}; {_CHOICES}")
    return tuple(dict.fromkeys(scopes))
