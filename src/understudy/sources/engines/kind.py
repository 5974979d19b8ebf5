"""What one file says about one engine: its address, how it is opened, where codes are kept, and how it differs."""

import re
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple
from urllib.parse import SplitResult, unquote

from understudy.errors import DataError
from understudy.sources.engines.bench import Bench
from understudy.sources.engines.dialect import Dialect

_NAMES = re.compile(r'"((?:[^"]|"")+)"|`((?:[^`]|``)+)`|([^."`]+)')

Remedies = tuple[tuple[tuple[str, ...], str], ...]
"""What an engine may say, in small letters, and what to do about it."""


@dataclass(frozen=True, kw_only=True)
class Address:
    """Where a table lies; nothing in it is secret."""

    kind: str
    """The name of the engine."""
    label: str
    """What errors and pages call it."""
    host: str = ""
    """For Spark the master, as Spark spells it; for an engine in a file its path; empty for what the environment says.
    """
    port: int | None = None
    user: str | None = None
    database: str | None = None
    options: dict[str, str] = field(default_factory=dict)


class Found(NamedTuple):
    """A table that was opened."""

    connection: Any
    """Of Ibis, to the engine that counts."""
    table: Any
    label: str
    likely_rows: int | None = None
    """About how many rows there are at most, where that is known without reading them."""


class Engine(ABC):
    """One engine. Whatever differs between engines is here or in the bench and dialect that it names."""

    name: ClassVar[str]
    """Of its file."""
    title: ClassVar[str]
    """What people call it."""
    ibis_name: ClassVar[str]
    """What Ibis calls the connection that counts."""
    schemes: ClassVar[tuple[str, ...]]
    """What stands before the ``://`` of its addresses."""
    example: ClassVar[str]
    """An address, for error sentences."""
    options: ClassVar[frozenset[str]] = frozenset({"table"})
    """What an address may set behind its question mark."""
    password_from: ClassVar[str] = ""
    """Where its clients read a password, which is never read from an address; empty where it knows none."""
    secrets: ClassVar[tuple[str, ...]] = ()
    """Variables of the environment that hold one: what they hold is taken out of everything that the engine says."""
    file_start: ClassVar[tuple[int, bytes] | None] = None
    """Place and content of the bytes by which a file of the engine is known; None for a server."""
    file_suffixes: ClassVar[tuple[str, ...]] = ()
    """Endings by which a file that is not there would be taken for one."""
    bench: ClassVar[type[Bench]]
    """Where codes are kept and counted, and how they come from one state of the table."""
    dialect: ClassVar[Dialect]
    """Expressions that differ."""
    remedies: ClassVar[Remedies] = ()

    @abstractmethod
    def open(self, where: Address) -> Found:
        """The table of an address; reads no row."""

    def holds_secret(self, address: str, parts: SplitResult) -> bool:
        """Whether something stands before the ``@`` that only a password or key can be."""
        return bool(parts.netloc.rpartition("@")[0].partition(":")[2])

    def failures(self) -> tuple[type[BaseException], ...]:
        """What its driver raises; nothing while nobody has imported it."""
        return ()

    def words(self, reason: BaseException) -> str:
        """What its driver says, for people."""
        return str(reason)

    def address(self, parts: SplitResult, options: Mapping[str, str]) -> Address:
        """The parts of an address; ``USER@HOST:PORT/DATABASE`` unless the engine says otherwise."""
        try:
            port = parts.port
        except ValueError:
            raise DataError(f"the port in the address of {parts.hostname!r} is not a number from 1 to 65535.") from None
        left = dict(options)
        host = unquote(parts.hostname or "") or left.pop("host", "")
        database = unquote(parts.path.lstrip("/")) or None
        place = f" at {host}" if host and not host.startswith("/") else ""
        what = options.get("table") or "a table"
        return Address(
            kind=self.name,
            label=f"{what} in {self.title} database {database or 'of the environment'}{place}",
            host=host,
            port=port,
            user=unquote(parts.username) if parts.username else None,
            database=database,
            options=left,
        )


def schema_and_table(text: str) -> tuple[str | None, str]:
    """``schema.table`` or ``table``; names with a point in them stand in double quotes or backticks.

    >>> schema_and_table('"my.schema".visits'), schema_and_table("visits")
    (('my.schema', 'visits'), (None, 'visits'))
    """
    names = [
        quoted.replace('""', '"') or ticked.replace("``", "`") or bare for quoted, ticked, bare in _NAMES.findall(text)
    ]
    if not 1 <= len(names) <= 2 or any("\x00" in name for name in names):
        raise DataError(f"the table {text!r} is not a name; write TABLE or SCHEMA.TABLE.")
    return (names[0] if len(names) == 2 else None), names[-1]
