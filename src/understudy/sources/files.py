"""Open files, frames and connections as one Ibis table."""

import gzip
import tempfile
import weakref
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from glob import escape, glob, has_magic
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

from understudy.codebook import FileReading
from understudy.errors import DataError
from understudy.interrupts import interrupts_put_off
from understudy.sources import databases
from understudy.sources.csv_files import is_compressed, read_dialect, repeated_names, unique_names
from understudy.sources.faults import engine_errors

_MEMORY = "1GB"
"""What DuckDB may hold before it spills to a private temporary folder."""
_BESIDE_ROWS = {"measurements.parquet", "places.parquet"}
_GZIP_SHRINKS = 10
"""Tables of short codes shrink about so much; a wrong guess costs a little time, nothing else."""


@dataclass(frozen=True, kw_only=True)
class Opened:
    """An Ibis table, its connection, and the header names exactly as the file spells them."""

    connection: Any = field(repr=False)
    table: Any = field(repr=False)
    header: tuple[str, ...]
    label: str
    compressed: tuple[Path, ...] = ()
    """Files to be checked to their end before their rows are believed, see :meth:`verify`."""
    from_file: bool = False
    likely_rows: int | None = field(default=None, repr=False)
    """About how many rows there are at most, where that is known without reading them."""
    parquet: tuple[Path, ...] = ()
    """The files of the table, where they are Parquet."""

    def value(self, name: str) -> Any:
        """The column called ``name`` in the header; the engine may know it by a stand-in."""
        return self.table[self.table.columns[self.header.index(name)]]

    def verify(self) -> None:
        """Refuse a file without rows, or one that was cut short: the engine would say nothing."""
        self.verify_whole()
        if self.from_file:
            with engine_errors(repr(self.label)):
                rows = self.table.limit(1).count().to_pyarrow().as_py()
            if rows == 0:
                raise DataError(f"{self.label!r} has a header but no rows; there is nothing to count.")

    def verify_whole(self) -> None:
        """Refuse a compressed file that was cut short or damaged: the engine would read what is left of it."""
        for path in self.compressed:
            try:
                with gzip.open(path, "rb") as stream:
                    while stream.read(1 << 20):
                        pass
            except (OSError, EOFError, zlib.error) as reason:
                raise DataError(
                    f"{str(path)!r} is cut short or damaged ({reason}); copy it again from its source."
                ) from None


def open_table(
    what: Any, table: str | None = None, *, file: FileReading | None = None, allow_repeats: bool = False
) -> Opened:
    """A path, glob, DuckDB address, Arrow table or data frame, without reading a row of it.

    ``file`` is what a codebook says about reading the file. Repeated names in the header are refused, unless the
    caller only wants to report them.
    """
    if isinstance(what, str | Path):
        opened = _open_address(str(what), table, file or FileReading())
    elif databases.is_spark(what):
        opened = _in_place(*databases.open_spark_object(what, table))
    else:
        opened = _open_frame(what)
    repeated = repeated_names(opened.header)
    if repeated and not allow_repeats:
        raise DataError(
            f"{opened.label} has two columns called {', '.join(map(repr, repeated))} (case does not count); "
            "rename one of each in the header."
        )
    return opened


def _in_place(connection: Any, table: Any, label: str) -> Opened:
    return Opened(connection=connection, table=table, header=tuple(table.columns), label=label)


def _open_frame(what: Any) -> Opened:
    header, frame = _to_arrow(what)
    if not header:
        raise DataError("the table has no columns; give one with a header and rows.")
    connection = _connect()
    with engine_errors("the table in memory"):
        connection.con.register("understudy_frame", frame)  # a view of it, not a copy
        table = connection.table("understudy_frame")
    return Opened(
        connection=connection, table=table, header=header, label="the table in memory", likely_rows=len(frame)
    )


def _connect() -> Any:
    import ibis

    folder = tempfile.TemporaryDirectory(prefix="understudy-")  # created 0700
    connection = ibis.duckdb.connect(memory_limit=_MEMORY, temp_directory=folder.name)
    # the engine keeps its progress for us to show; it draws no bar of its own
    for setting in (
        "enable_progress_bar = true",
        "enable_progress_bar_print = false",
        "progress_bar_time = 0",
        "enable_external_file_cache = false",  # files are read once; keeping them would fill the memory
    ):
        connection.raw_sql(f"SET {setting}")
    weakref.finalize(connection, _remove, folder)
    return connection


def _remove(folder: tempfile.TemporaryDirectory[str]) -> None:
    with interrupts_put_off():  # or the folder would stay
        folder.cleanup()


def _to_arrow(what: Any) -> tuple[tuple[str, ...], Any]:
    """The names as given, and an Arrow table whose names an engine can tell apart."""
    import pyarrow as pa

    module = type(what).__module__.partition(".")[0]
    try:
        if module == "pandas":
            header = tuple(map(str, what.columns))
            return header, pa.Table.from_pandas(what.set_axis(unique_names(header), axis=1), preserve_index=False)
        if module == "polars":
            what = (what.collect() if hasattr(what, "collect") else what).to_arrow()
        if isinstance(what, pa.RecordBatch):
            what = pa.Table.from_batches([what])
    except pa.ArrowException as reason:
        first = str(reason).splitlines()[0]
        raise DataError(f"the data frame cannot be read: {first}. Give every column one type.") from None
    if isinstance(what, pa.Table):
        header = tuple(what.column_names)
        return header, what.rename_columns(unique_names(header))
    raise DataError(
        f"a {type(what).__name__} cannot be opened; give a path, a pandas or Polars frame, or an Arrow table."
    )


def is_database(address: str) -> bool:
    """Whether an address names a database rather than files."""
    return "://" in address or Path(address).suffix.lower() in {".duckdb", ".ddb", ".db"}


def _open_address(address: str, table: str | None, file: FileReading) -> Opened:
    if table is not None and not is_database(address):
        raise DataError(
            f"`table` is {table!r}, and the file {address!r} holds one table only; leave it out, or name a database."
        )
    if duckdb := _duckdb_of(address):
        return _open_duckdb(duckdb[0], duckdb[1] or table)
    if "://" in address:
        return _in_place(*databases.open_database(address, table))
    paths = find_files(address)
    for path in paths:
        if path.stat().st_size == 0:
            raise DataError(f"{str(path)!r} is empty; a table needs a header and rows.")
    return _open_csv(address, paths) if file_kind(paths[0]) == "csv" else _open_parquet(address, paths)


def database_of(address: str) -> tuple[Path, str | None] | None:
    """The DuckDB file and the table that an address names; None for anything else."""
    duckdb = _duckdb_of(address)
    return None if duckdb is None else (Path(duckdb[0]).resolve(), duckdb[1])


def _duckdb_of(address: str) -> tuple[str, str | None] | None:
    if address.startswith("duckdb://"):
        parts = urlsplit(address)
        # duckdb:///folder/file is absolute, duckdb://file is relative, as in database addresses elsewhere
        return parts.netloc + parts.path, parse_qs(parts.query).get("table", [None])[0]
    return (address, None) if "://" not in address and is_database(address) else None


def find_files(address: str) -> list[Path]:
    """The files behind a path or glob, in order of name; all of one kind and open to us."""
    if Path(address).exists() or not has_magic(address):  # a real file's name may hold a bracket
        paths = [Path(address)]
    else:
        found = [Path(name) for name in sorted(glob(address, recursive=True))]  # noqa: PTH207 (may be absolute)
        paths = [path for path in found if not _goes_with_release(path)]
    if paths and paths[0].is_dir():
        inside = str(Path(address) / "*.parquet")
        raise DataError(f"{address!r} is a folder; give a file or a pattern such as {inside!r}.")
    if not paths or not all(path.exists() for path in paths):
        raise DataError(f"there is no file {address!r}; check the path.")
    for path in paths:
        try:
            path.open("rb").close()
        except OSError as reason:
            raise DataError(
                f"{str(path)!r} cannot be opened ({reason.strerror}); check that it is a file you may read."
            ) from None
    if len(kinds := sorted({file_kind(path) for path in paths})) != 1:
        raise DataError(f"{address!r} matches files of different kinds ({', '.join(kinds)}); give one kind.")
    return paths


def _goes_with_release(path: Path) -> bool:
    """Whether a file lies beside the rows of a release and is no part of them."""
    return path.name in _BESIDE_ROWS and (path.parent / "manifest.json").is_file()


def file_kind(path: Path) -> str:
    """Csv or parquet, by the name."""
    suffix = path.with_suffix("").suffix if is_compressed(path) else path.suffix
    if suffix.lower() in (".csv", ".tsv", ".txt"):
        return "csv"
    if suffix.lower() in (".parquet", ".pq"):
        return "parquet"
    raise DataError(f"{str(path)!r} is neither .csv, .csv.gz nor .parquet; rename it or convert it.")


def _open_parquet(address: str, paths: Sequence[Path]) -> Opened:
    import pyarrow.parquet as pq

    connection = _connect()
    with engine_errors(repr(address)):
        files = [pq.read_metadata(path) for path in paths]
        schemas = [file.schema.to_arrow_schema() for file in files]
        header = tuple(schemas[0].names)  # the engine would rename repeated names in silence
        _require_one_header(paths, [tuple(sorted(schema.names)) for schema in schemas])
        # types may differ (whole numbers here, decimals there): the engine must find one that holds all of them,
        # for by default it rounds to the type of the first file
        mixed = any(not schema.equals(schemas[0]) for schema in schemas)
        options = {"union_by_name": True} if mixed else {}
        table = connection.read_parquet([escape(str(path)) for path in paths], **options)
    rows = sum(file.num_rows for file in files)
    return Opened(
        connection=connection,
        table=table,
        header=header,
        label=address,
        from_file=True,
        likely_rows=rows,
        parquet=tuple(paths),
    )


def _require_one_header(paths: Sequence[Path], headers: Sequence[tuple[str, ...]]) -> None:
    for path, header in zip(paths, headers, strict=True):
        if header != headers[0]:
            raise DataError(
                f"{str(path)!r} has the columns {', '.join(header)}, but {str(paths[0])!r} has "
                f"{', '.join(headers[0])}; files read together need one header."
            )


def _open_csv(address: str, paths: Sequence[Path]) -> Opened:
    dialects = [read_dialect(path) for path in paths]
    header = dialects[0].header
    _require_one_header(paths, [dialect.header for dialect in dialects])
    if len({dialect.delimiter for dialect in dialects}) > 1:
        raise DataError(f"{address!r} matches files with different delimiters; write them all alike.")
    connection = _connect()
    with engine_errors(repr(address)):
        table = connection.read_csv([escape(str(path)) for path in paths], **dialects[0].engine_options)
    compressed = tuple(path for path in paths if is_compressed(path))
    return Opened(
        connection=connection,
        table=table,
        header=header,
        label=address,
        compressed=compressed,
        from_file=True,
        # a row has at least a separator or an end for each of its columns
        likely_rows=sum(_text_bytes(path) for path in paths) // len(header),
    )


def _text_bytes(path: Path) -> int:
    return path.stat().st_size * (_GZIP_SHRINKS if is_compressed(path) else 1)


def _open_duckdb(path: str, table: str | None) -> Opened:
    if not Path(path).is_file():
        raise DataError(f"there is no DuckDB file {path!r}; check the path.")
    connection = _connect()
    with engine_errors(repr(path)):
        connection.attach(path, name="understudy_source", read_only=True)
        # not list_tables(): Ibis 12 calls what DuckDB has deprecated
        listed = connection.raw_sql(
            "SELECT table_name FROM information_schema.tables "
            "WHERE table_catalog = 'understudy_source' AND table_schema = 'main'"
        ).fetchall()
        tables = [name for (name,) in listed]
        if table is None and len(tables) == 1:
            table = tables[0]
        if table not in tables:
            raise DataError(
                f"{path!r} has the tables {', '.join(sorted(tables)) or 'none'}; name one with ?table=NAME or `table`."
            )
        opened = connection.table(table, database=("understudy_source", "main"))
    return Opened(connection=connection, table=opened, header=tuple(opened.columns), label=f"{path}, table {table}")
