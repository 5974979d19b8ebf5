"""Open files, frames and connections as one Ibis table."""

import gzip
import re
import tempfile
import threading
import weakref
import zlib
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from glob import escape, glob, has_magic
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

from understudy.codebook import FileReading
from understudy.codebook.labels import ColumnLabels
from understudy.errors import DataError
from understudy.files import refuse_special
from understudy.loading import loader
from understudy.sources import databases, kinds
from understudy.sources.addresses import file_address, parse_address
from understudy.sources.csv_files import (
    is_compressed,
    named_columns_of,
    needs_copy,
    plain_copy,
    read_dialect,
    repeated_names,
)
from understudy.sources.engines import engine_of_file
from understudy.sources.engines.duckdb import connect, remove_folder
from understudy.sources.engines.kind import Found
from understudy.sources.faults import engine_errors
from understudy.sources.frames import labels_of_frame, to_arrow
from understudy.sources.kinds import file_kind
from understudy.sources.materialised import Materialised

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
    written: tuple[str, ...] = ()
    """The names as the file spells them, where some were changed to tell them apart."""
    compressed: tuple[Path, ...] = ()
    """Files to be checked to their end before their rows are believed, see :meth:`verify`."""
    from_file: bool = False
    likely_rows: int | None = field(default=None, repr=False)
    """About how many rows there are at most, where that is known without reading them."""
    parquet: tuple[Path, ...] = ()
    """The files of the table, where they are Parquet."""
    read_anew: tuple[Path, ...] = ()
    """Files that the engine reads again for every question."""
    file: FileReading = field(default=FileReading(), repr=False)
    """How the file was read, as far as a codebook should keep it."""
    labels: Mapping[str, ColumnLabels] = field(default_factory=dict, repr=False)
    """What a statistical file or a data frame says about its columns."""

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


@loader("the table", remedy="copy it again from its source.", error=DataError, quotes=False)
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
        opened = _in_place(databases.open_spark_object(what, table))
    else:
        opened = _open_frame(what)
    opened = replace(opened, header=named_columns_of(opened.header))  # a blank name cannot be written in a codebook
    repeated = repeated_names(opened.header)
    if repeated and not allow_repeats:
        raise DataError(
            f"{opened.label} has two columns called {', '.join(map(repr, repeated))} (case does not count); "
            "rename one of each in the header."
        )
    if not repeated and tuple(opened.table.columns) != opened.header:  # a stand-in for a blank name is another one
        names = dict(zip(opened.header, opened.table.columns, strict=True))
        opened = replace(opened, table=opened.table.rename(names))
    return opened


def told_apart(opened: Opened) -> Opened:
    """Names that differ only by case, or not at all, become those by which the engine tells them apart.

    The first keeps its name; a later one gets its place behind it: ``sex`` and ``SEX`` become ``sex`` and ``SEX_6``.
    """
    if not repeated_names(opened.header):
        return opened
    return replace(opened, header=tuple(opened.table.columns), written=opened.header)


def without_missing_codes(opened: Opened) -> Opened:
    """The table with nulls where a statistical file has a code that it declares as missing."""
    codes = {name: labels.missing for name, labels in opened.labels.items() if labels.missing}
    if not codes:
        return opened
    from understudy.sources.expressions import as_text

    engine_names = dict(zip(opened.header, opened.table.columns, strict=True))
    values = {engine_names[name]: opened.value(name) for name in codes}
    held = {
        name: as_text(value).isin(codes[header]).ifelse(None, value)
        for (name, value), header in zip(values.items(), codes, strict=True)
    }
    return replace(opened, table=opened.table.mutate(**held))


def _in_place(found: Found) -> Opened:
    return Opened(
        connection=found.connection,
        table=found.table,
        header=tuple(found.table.columns),
        label=found.label,
        likely_rows=found.likely_rows,
    )


def _open_frame(what: Any) -> Opened:
    header, frame = to_arrow(what)
    if not header:
        raise DataError("the table has no columns; give one with a header and rows.")
    connection, table = _registered(frame, "the table in memory")
    return Opened(
        connection=connection,
        table=table,
        header=header,
        label="the table in memory",
        likely_rows=len(frame),
        labels=labels_of_frame(what, header, frame),
    )


def _registered(frame: Any, label: str) -> tuple[Any, Any]:
    connection = connect()
    with engine_errors(label):
        connection.con.register("understudy_frame", frame)  # a view of it, not a copy
        return connection, connection.table("understudy_frame")


def is_database(address: str) -> bool:
    """Whether an address names a database rather than files."""
    return "://" in address or engine_of_file(_split(address)[0]) is not None


_NO_OPTIONS = ("names", "origin", "attestation")
_FILE_OPTIONS = ("table", *(field.name for field in fields(FileReading) if field.name not in _NO_OPTIONS))
_QUERY = re.compile(rf"\?(({'|'.join(_FILE_OPTIONS)})=.*)$", re.DOTALL)


def _split(address: str) -> tuple[str, dict[str, str]]:
    """The path or pattern of an address such as ``study.xlsx?sheet=2019``, and its options.

    >>> _split("study.xlsx?sheet=2019&skip=2"), _split("part-?.csv")
    (('study.xlsx', {'sheet': '2019', 'skip': '2'}), ('part-?.csv', {}))
    """
    query = None if "://" in address or Path(address).exists() else _QUERY.search(address)
    return (address[: query.start()], dict(parse_qsl(query[1]))) if query else (address, {})


def files_and_reading(
    address: str, table: str | None = None, file: FileReading | None = None
) -> tuple[list[Path], FileReading]:
    """The files that an address names, and how they are read: as the address says, or else as the codebook does."""
    place, options = _split(address)
    if strange := [name for name in options if name not in _FILE_OPTIONS]:
        raise DataError(f"the address {address!r} sets {strange[0]!r}; a file takes {', '.join(_FILE_OPTIONS)}.")
    if table is not None:
        options.setdefault("table", table)
    paths = find_files(place)
    if "table" in options:
        if file_kind(paths[0]) not in (kinds.WORKBOOK, kinds.ZIP):
            raise DataError(
                f"`table` is {options['table']!r}, and the file {place!r} holds one table only; leave it out, or "
                "name a database or a workbook."
            )
        options.setdefault("sheet", options.pop("table"))
    given: dict[str, Any] = dict(options)
    for name in {"skip", "header_row"} & set(options):
        if not options[name].isdecimal():
            raise DataError(f"the address {address!r} sets {name} to {options[name]!r}; it must be a whole number.")
        given[name] = int(options[name])
    if "layout" in options:
        from understudy.sources.fixed_width import read_layout

        given["layout"] = read_layout(options["layout"])
    return paths, replace(file or FileReading(), **given)


def _open_address(address: str, table: str | None, file: FileReading) -> Opened:
    if "://" in address:
        return _in_place(databases.open_database(parse_address(address, table)))
    place, options = _split(address)
    if (where := file_address(place, options.get("table", table))) is not None:
        if strange := sorted(set(options) - {"table"}):
            raise DataError(f"the address {address!r} sets {strange[0]!r}; a database in a file takes table.")
        return _in_place(databases.open_database(where))
    paths, reading = files_and_reading(address, table, file)
    for path in paths:
        if path.stat().st_size == 0:
            raise DataError(f"{str(path)!r} is empty; a table needs a header and rows.")
    return _open_files(address, paths, reading)


def _open_files(address: str, paths: Sequence[Path], reading: FileReading) -> Opened:
    kind = file_kind(paths[0])
    if kind == kinds.ZIP:
        return _open_zip(address, paths, reading)
    if reading.layout and kind in (kinds.FIXED, kinds.CSV):
        return _open_fixed_width(address, paths, reading)
    if kind == kinds.FIXED:
        return _open_csv(address, [_require_delimiters(path) for path in paths], reading)
    if kind in (kinds.WORKBOOK, kinds.STATISTICAL):
        return _open_parsed(address, paths, kind, reading)
    if kind == kinds.JSON:
        return _open_json(address, paths)
    return _open_csv(address, paths, reading) if kind == kinds.CSV else _open_parquet(address, paths)


def _require_delimiters(path: Path) -> Path:
    if len(read_dialect(path).header) < 2:
        raise DataError(
            f"the lines of {str(path)!r} have no delimiter, so its columns are told apart by their characters; name a "
            f"layout, a CSV file with name, start and end: '{path}?layout=LAYOUT.csv'."
        )
    return path


def _open_zip(address: str, paths: Sequence[Path], reading: FileReading) -> Opened:
    from understudy.sources.archives import unpacked

    if len(paths) > 1:
        raise DataError(f"{address!r} matches several archives; unpack them, and give a pattern of the files inside.")
    inside, folder = unpacked(paths[0], reading.member)
    try:
        if inside.stat().st_size == 0:
            raise DataError(f"{inside.name!r} in {address!r} is empty; a table needs a header and rows.")
        if file_kind(inside) == kinds.ZIP:
            raise DataError(f"{address!r} holds an archive in an archive; unpack it once.")
        opened = _open_files(address, [inside], reading)
    except DataError as reason:
        folder.cleanup()
        raise DataError(str(reason).replace(str(inside), f"{paths[0]}/{inside.name}")) from None
    except BaseException:
        folder.cleanup()
        raise
    weakref.finalize(opened.connection, remove_folder, folder)
    return replace(opened, file=replace(opened.file, member=reading.member))


_PARSED: OrderedDict[tuple[Any, ...], Materialised] = OrderedDict()
"""The last two files that had to be parsed as a whole: a command looks at the header first and at the rows later."""

_PARSED_LOCK = threading.Lock()


def _parsed(path: Path, kind: str, reading: FileReading) -> Materialised:
    if is_compressed(path):
        raise DataError(f"{str(path)!r} is a compressed {kind}; unpack it first, or pack it as .zip.")
    at = path.stat()
    key = (path.resolve(), at.st_ino, at.st_mtime_ns, at.st_size, kind, reading)
    parsed = _PARSED.get(key)
    if parsed is None:
        if kind == kinds.WORKBOOK:
            from understudy.sources.workbooks import read_workbook as read
        else:
            from understudy.sources.statistical import read_statistical as read
        parsed = read(path, reading)
        with _PARSED_LOCK:
            while len(_PARSED) > 1:
                _PARSED.popitem(last=False)
            _PARSED[key] = parsed
    return parsed


def _open_parsed(address: str, paths: Sequence[Path], kind: str, reading: FileReading) -> Opened:
    """Workbooks and statistical files."""
    read = [_parsed(path, kind, reading) for path in paths]
    _require_one_header(paths, [parsed.header for parsed in read])
    frame = read[0].table if len(read) == 1 else _put_together([parsed.table for parsed in read])
    connection, table = _registered(frame, repr(address))
    return Opened(
        connection=connection,
        table=table,
        header=read[0].header,
        label=address,
        from_file=True,
        likely_rows=len(frame),
        file=read[0].file,
        labels=read[0].labels,
    )


def _put_together(tables: Sequence[Any]) -> Any:
    """One table; a column that has numbers in one file and texts in another is text in all."""
    import pyarrow as pa

    try:
        return pa.concat_tables(tables, promote_options="permissive")
    except pa.ArrowException:
        texts = [table.cast(pa.schema([(name, pa.string()) for name in table.column_names])) for table in tables]
        return pa.concat_tables(texts)


def _open_fixed_width(address: str, paths: Sequence[Path], reading: FileReading) -> Opened:
    from understudy.sources.fixed_width import read_fixed_width

    connection = connect()
    with engine_errors(repr(address)):
        table, header = read_fixed_width(connection, address, paths, reading)
    return _of_text(address, paths, connection, table, header, reading)


def _open_json(address: str, paths: Sequence[Path]) -> Opened:
    from understudy.sources.json_lines import read_json

    connection = connect()
    with engine_errors(repr(address)):
        table, header = read_json(connection, address, paths)
    return _of_text(address, paths, connection, table, header, FileReading())


def database_of(address: str) -> tuple[Path, str | None] | None:
    """The file and the table that an address names whose database is a file; None for anything else."""
    place, options = _split(address)
    where = file_address(place, options.get("table"))
    return None if where is None else (Path(where.host).resolve(), where.options.get("table"))


@loader("the table", remedy="copy it again from its source.", error=DataError, quotes=False)
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
            refuse_special(path, follow=True)
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


def _open_parquet(address: str, paths: Sequence[Path]) -> Opened:
    import pyarrow.parquet as pq

    connection = connect()
    with engine_errors(repr(address)):
        files = [pq.read_metadata(path) for path in paths]
        schemas = [file.schema.to_arrow_schema() for file in files]
        header = tuple(schemas[0].names)  # the engine would rename repeated names in silence
        _require_one_header(paths, [tuple(sorted(schema.names)) for schema in schemas])
        # types may differ (whole numbers here, decimals there): the engine must find one that holds all of them,
        # for by default it rounds to the type of the first file
        mixed = any(not schema.equals(schemas[0]) for schema in schemas)
        # a folder called a=b is a folder: by default the engine would make a column of it
        table = connection.read_parquet(
            [escape(str(path)) for path in paths], union_by_name=mixed, hive_partitioning=False
        )
    rows = sum(file.num_rows for file in files)
    return Opened(
        connection=connection,
        table=table,
        header=header,
        label=address,
        from_file=True,
        likely_rows=rows,
        parquet=tuple(paths),
        read_anew=tuple(paths),
    )


def _require_one_header(paths: Sequence[Path], headers: Sequence[tuple[str, ...]]) -> None:
    for path, header in zip(paths, headers, strict=True):
        if header != headers[0]:
            raise DataError(
                f"{str(path)!r} has the columns {', '.join(header)}, but {str(paths[0])!r} has "
                f"{', '.join(headers[0])}; files read together need one header."
            )


def _open_csv(address: str, paths: Sequence[Path], reading: FileReading) -> Opened:
    dialects = [read_dialect(path, reading) for path in paths]
    header = dialects[0].header
    _require_one_header(paths, [dialect.header for dialect in dialects])
    if len({dialect.delimiter for dialect in dialects}) > 1:
        raise DataError(f"{address!r} matches files with different delimiters; write them all alike.")
    connection = connect()
    lying = _plain_copies(connection, paths, reading, dialects[0].delimiter) if needs_copy(reading) else paths
    with engine_errors(repr(address)):
        table = connection.read_csv([escape(str(path)) for path in lying], **dialects[0].engine_options)
    return _of_text(address, lying, connection, table, header, reading)


def _of_text(
    address: str, paths: Sequence[Path], connection: Any, table: Any, header: tuple[str, ...], file: FileReading
) -> Opened:
    return Opened(
        connection=connection,
        table=table,
        header=header,
        label=address,
        compressed=tuple(path for path in paths if is_compressed(path)),
        read_anew=tuple(paths),
        from_file=True,
        # a row has at least a separator or an end for each of its columns
        likely_rows=sum(_text_bytes(path) for path in paths) // len(header),
        file=file,
    )


def _plain_copies(connection: Any, paths: Sequence[Path], file: FileReading, delimiter: str) -> list[Path]:
    """The files as the engine reads them, in a private folder that lasts as long as the connection."""
    folder = tempfile.TemporaryDirectory(prefix="understudy-")  # created 0700
    weakref.finalize(connection, remove_folder, folder)
    copies = []
    for number, path in enumerate(paths):
        copies.append(Path(folder.name) / f"{number:06d}.csv")
        plain_copy(path, file, copies[-1], delimiter)
    return copies


def _text_bytes(path: Path) -> int:
    return path.stat().st_size * (_GZIP_SHRINKS if is_compressed(path) else 1)
