"""What engines have in common whose databases are files that are read in our own process."""

import os
from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import Any
from urllib.parse import SplitResult

from understudy.errors import DataError
from understudy.sources.engines.kind import Address, Engine

_TOGETHER: ContextVar[dict[str, Any] | None] = ContextVar("together", default=None)


@contextmanager
def read_together() -> Iterator[None]:
    """Tables of one file that are opened inside share one reading of it, and so one state."""
    mark = _TOGETHER.set({})
    try:
        yield
    finally:
        _TOGETHER.reset(mark)


class FileEngine(Engine):
    """Its addresses are ``NAME:///folder/file``, which is absolute where that is there, or ``NAME://file``."""

    def address(self, parts: SplitResult, options: Mapping[str, str]) -> Address:
        """Path and table.

        Other programs, and people, read ``NAME:///file`` as a file of this folder. Where the root of the system has no
        such file and this folder has one, it is that.
        """
        path = parts.netloc + parts.path
        beside = path.removeprefix("/")
        if not os.path.exists(path) and os.path.exists(beside):  # noqa: PTH110 (never raises)
            path = beside
        return self.at(path, options.get("table"))

    def at(self, path: str, table: str | None) -> Address:
        """A file by its path."""
        options = {} if table is None else {"table": table}
        label = path if table is None else f"{path}, table {table}"
        return Address(kind=self.name, label=label, host=path, options=options)

    @abstractmethod
    def tables(self, where: Address) -> list[str]:
        """The tables of a file, in order of name."""

    def shared(self, where: Address, make: Callable[[], Any]) -> Any:
        """What reads a file: that of a table that was opened together with this one, or a new one."""
        readers = _TOGETHER.get()
        if readers is None:
            return make()
        key = f"{self.name} {Path(where.host).resolve()}"
        if key not in readers:
            readers[key] = make()
        return readers[key]

    def chosen(self, where: Address, tables: Sequence[str]) -> str:
        """The table that is named, or the only one."""
        table = where.options.get("table")
        if table is None and len(tables) == 1:
            return tables[0]
        if table is None or table not in tables:
            raise DataError(
                f"{where.host!r} has the tables {', '.join(sorted(tables)) or 'none'}; name one with ?table=NAME or "
                "`table`."
            )
        return table

    def refuse_absent(self, where: Address) -> None:
        """A database must not be made by whoever wants to read one."""
        if not Path(where.host).is_file():
            raise DataError(f"there is no {self.title} file {where.host!r}; check the path.")
