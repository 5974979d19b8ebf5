"""Addresses of databases, and the part of them that may be shown.

A password never stands in an address: it would be seen in shell histories, lists of processes and logs. It comes from
where database clients look for it anyway (PGPASSWORD, ~/.pgpass, a service file, a certificate; Spark's own settings).
"""

import re
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

from understudy.errors import DataError

_KINDS = {"postgresql": "postgresql", "postgres": "postgresql", "spark": "spark"}
_OPTIONS = {
    "postgresql": {
        "table", "host", "port", "user", "dbname", "service", "passfile", "sslmode", "sslcert", "sslkey",
        "sslrootcert", "connect_timeout", "application_name", "target_session_attrs", "krbsrvname", "gssencmode",
    },
    "spark": {"table", "path"},
}  # fmt: skip
_SECRET = re.compile(r"pass|secret|token|credential", re.IGNORECASE)


@dataclass(frozen=True, kw_only=True)
class Address:
    """Where a table lives; nothing in it is secret."""

    kind: str
    host: str
    """For Spark the master, as Spark spells it; empty for what the environment says."""
    port: int | None = None
    user: str | None = None
    database: str | None = None
    options: dict[str, str] = field(default_factory=dict)

    @property
    def label(self) -> str:
        """What errors and pages call it."""
        what = self.options.get("table") or self.options.get("path") or "a table"
        if self.kind == "spark":
            return f"{what} on Spark"
        place = f" at {self.host}" if self.host and not self.host.startswith("/") else ""
        return f"{what} in PostgreSQL database {self.database or 'of the environment'}{place}"


def parse_address(address: str, table: str | None = None) -> Address:
    """The parts of ``postgresql://user@host:port/db?table=schema.table`` or ``spark://master?table=T``.

    >>> parse_address("postgresql://ann@db.example/claims?table=public.visits").label
    'public.visits in PostgreSQL database claims at db.example'
    """
    parts = urlsplit(address)
    kind = _KINDS.get(parts.scheme)
    if kind is None:
        raise DataError(
            f"addresses of kind {parts.scheme!r} cannot be opened; give a file, a glob, duckdb:///FILE?table=T, "
            "postgresql://USER@HOST/DB?table=SCHEMA.TABLE or spark://HOST:PORT?table=T."
        )
    options = dict(parse_qsl(parts.query, keep_blank_values=True))
    secrets = (parts.netloc.rpartition("@")[0].partition(":")[2], *(v for k, v in options.items() if _is_secret(k)))
    if any(secrets) or (kind == "spark" and "@" in address):
        raise DataError(
            "the address holds a password or key, which would be seen in histories and lists of processes; leave it "
            "out. PostgreSQL clients read it from PGPASSWORD or ~/.pgpass, Spark from its own settings."
        )
    strange = sorted(set(options) - _OPTIONS[kind])
    if strange:
        raise DataError(
            f"the address sets {', '.join(map(repr, strange))}; a {kind} address takes "
            f"{', '.join(sorted(_OPTIONS[kind]))}."
        )
    if table is not None:
        options.setdefault("table", table)
    if kind == "spark":
        return Address(kind=kind, host=_master(parts.netloc), options=options)
    try:
        port = parts.port
    except ValueError:
        raise DataError(f"the port in the address of {parts.hostname!r} is not a number from 1 to 65535.") from None
    return Address(
        kind=kind,
        host=unquote(parts.hostname or "") or options.pop("host", ""),
        port=port,
        user=unquote(parts.username) if parts.username else None,
        database=unquote(parts.path.lstrip("/")) or None,
        options=options,
    )


def _is_secret(name: str) -> bool:
    return name != "passfile" and bool(_SECRET.search(name))


def _master(netloc: str) -> str:
    """``local``, ``local[4]`` and ``yarn`` are masters by themselves; anything else is a stand-alone one."""
    if netloc in ("", "yarn") or netloc.startswith("local"):
        return "local[*]" if netloc == "local" else netloc
    return f"spark://{netloc}"


def shown(what: Any) -> str:
    """What a page or a manifest may call a table, whatever was handed over."""
    text = str(what)
    if "://" not in text:
        return text
    scheme = text.partition("://")[0]
    if scheme == "duckdb":
        return text
    try:
        return parse_address(text).label
    except DataError:
        return f"a table at a {scheme} address"
