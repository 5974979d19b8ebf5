"""What engines have in common whose databases are files that are read in our own process."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from urllib.parse import SplitResult

from understudy.errors import DataError
from understudy.sources.engines.kind import Address, Engine


class FileEngine(Engine):
    """Its addresses are ``NAME:///folder/file``, which is absolute, or ``NAME://file``, as elsewhere."""

    def address(self, parts: SplitResult, options: Mapping[str, str]) -> Address:
        """Path and table."""
        return self.at(parts.netloc + parts.path, options.get("table"))

    def at(self, path: str, table: str | None) -> Address:
        """A file by its path."""
        options = {} if table is None else {"table": table}
        label = path if table is None else f"{path}, table {table}"
        return Address(kind=self.name, label=label, host=path, options=options)

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
