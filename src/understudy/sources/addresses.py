"""Addresses of databases, and the part of them that may be shown.

A password never stands in an address: it would be seen in shell histories, lists of processes and logs. It comes from
where the clients of each database look for it anyway (``password_from`` of its engine).
"""

import re
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from understudy.errors import DataError
from understudy.sources.engines import engine_of_file, engine_of_scheme, engines
from understudy.sources.engines.file_database import FileEngine
from understudy.sources.engines.kind import Address

_UNREAD = re.compile(r"[\x00-\x1f\x7f#]")
_SECRET = re.compile(r"pass|pwd|secret|token|credential", re.IGNORECASE)


def strange_sign(address: str) -> str | None:
    """A sign that an address is read without, or only up to, so that another place would be opened than is named."""
    found = _UNREAD.search(address)
    return found and found[0]


def parse_address(address: str, table: str | None = None) -> Address:
    """The parts of an address such as ``postgresql://user@host:port/db?table=schema.table``.

    >>> parse_address("postgresql://ann@db.example/claims?table=public.visits").label
    'public.visits in PostgreSQL database claims at db.example'
    """
    if (sign := strange_sign(address)) is not None:
        raise DataError(
            f"the address has {sign!r}, which no part of an address can have. Write %23 for # in the name "
            "of a table, and rename a file whose name has such a sign."
        )
    try:
        parts = urlsplit(address)
        parts.hostname  # noqa: B018 - a bracket that is not closed is found here
    except ValueError:
        raise DataError("the address cannot be read; an IPv6 host stands in brackets, such as [::1].") from None
    engine = engine_of_scheme(parts.scheme)
    if engine is None:
        examples = [each.example for each in engines().values()]
        raise DataError(
            f"addresses of kind {parts.scheme!r} cannot be opened; give a file, a glob, {', '.join(examples[:-1])} or "
            f"{examples[-1]}."
        )
    options = dict(parse_qsl(parts.query, keep_blank_values=True))
    if engine.holds_secret(address, parts) or any(value for name, value in options.items() if _is_secret(name)):
        clients = [f"{each.title} from {each.password_from}" for each in engines().values() if each.password_from]
        raise DataError(
            "the address holds a password or key, which would be seen in histories and lists of processes; leave it "
            f"out. Clients read it elsewhere: {', '.join(clients)}."
        )
    strange = sorted(set(options) - engine.options)
    if strange:
        raise DataError(
            f"the address sets {', '.join(map(repr, strange))}; a {parts.scheme} address takes "
            f"{', '.join(sorted(engine.options))}."
        )
    if table is not None:
        options.setdefault("table", table)
    return engine.address(parts, options)


def file_address(address: str, table: str | None = None) -> Address | None:
    """The address of a database that is a file, given as a path or as an address; None for anything else."""
    if "://" in address:
        engine = engine_of_scheme(address.partition("://")[0])
        return parse_address(address, table) if isinstance(engine, FileEngine) else None
    engine = engine_of_file(address)
    return engine.at(address, table) if isinstance(engine, FileEngine) else None


def _is_secret(name: str) -> bool:
    return name != "passfile" and bool(_SECRET.search(name))


def shown(what: Any) -> str:
    """What a page or a manifest may call a table, whatever was handed over."""
    text = str(what)
    if "://" not in text:
        return text
    scheme = text.partition("://")[0]
    if isinstance(engine_of_scheme(scheme), FileEngine):
        return text
    try:
        return parse_address(text).label
    except DataError:
        return f"a table at a {scheme} address"
