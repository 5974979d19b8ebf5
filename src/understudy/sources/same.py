"""Whether a table that is called public is the confidential one itself, under whatever name."""

import hashlib
import json
import re
from glob import glob
from gzip import GzipFile
from io import BufferedReader
from pathlib import Path
from typing import IO, Any

import pyarrow as pa
import pyarrow.compute as pc

from understudy.errors import DataError, ParameterError
from understudy.sources.addresses import parse_address
from understudy.sources.archives import members_of, open_member
from understudy.sources.csv_files import is_compressed, open_bytes
from understudy.sources.engines.kind import Address, schema_and_table
from understudy.sources.files import database_of, files_and_reading
from understudy.sources.frames import to_arrow
from understudy.sources.kinds import PARQUET, ZIP, file_kind

LOT = b"understudy.lot"
"""In the metadata of two files that a lot made of one table: the lot, and digests of the files that it divided."""


def refuse_same(confidential: Any, public: Any, used_as: str) -> None:
    """Refuse a public table that is the confidential one, in whole or as one of its files; a part of a file may be."""
    if confidential is not None and _is_same(confidential, public):
        shown = repr(str(public)) if isinstance(public, str | Path) else "a table in memory"  # never its rows
        raise ParameterError(
            f"{shown} is used as {used_as}, which must be public, and it holds the confidential table itself. "
            "Give a table that everybody may see, or leave it out."
        )


def files_of(what: Any) -> list[Path]:
    """The files behind a path or a pattern, just as they are read, links followed; none for anything else."""
    return files_and_member(what)[0]


def files_and_member(what: Any) -> tuple[list[Path], str]:
    """The same, and which file of an archive the address names; empty where it names none."""
    if not isinstance(what, str | Path):
        return [], ""
    if "://" in str(what):
        return _files_at(str(what)), ""
    try:
        paths, reading = files_and_reading(str(what))
        return [path.resolve() for path in paths], reading.member
    except (DataError, OSError, ValueError):
        return [], ""


def _files_at(address: str) -> list[Path]:
    """The files of this machine that an address names by their path, as one of Spark may."""
    try:
        options = parse_address(address).options
        return files_at(options.get("path", "") or path_in_name(options.get("table", "")))
    except DataError:
        return []  # whoever reads the rows will say what is wrong with the address


def path_in_name(table: str) -> str:
    """The path in a name that Spark reads as one.

    >>> path_in_name("parquet.`/a/b.parquet`"), path_in_name("db.visits")
    ('/a/b.parquet', '')
    """
    found = re.fullmatch(r"\w+\.`(.*)`", table)
    return "" if found is None else found[1].replace("``", "`")


def files_at(path: str) -> list[Path]:
    """The files behind a path or a pattern as Spark spells it, if they are of this machine; a folder is all in it.

    Of braces only that something stands there is known, so there may be more files than Spark reads.
    """
    place = "/" + path[len("file:") :].lstrip("/") if path.startswith("file:") else path
    if not place or "://" in place:
        return []
    try:
        if Path(place).exists():
            found = [Path(place)]
        else:
            pattern = place.replace("[^", "[!")
            while (wider := re.sub(r"\{[^{}]*\}", "*", pattern)) != pattern:
                pattern = wider
            found = [Path(name) for name in glob(pattern)]  # noqa: PTH207 (may be absolute)
        inside = [each for match in found for each in (match.rglob("*") if match.is_dir() else [match])]
        return sorted({each.resolve() for each in inside if each.is_file() and each.name[0] not in "._"})
    except (OSError, ValueError):
        return []  # whoever reads the rows will say what is wrong with the path


def _is_same(confidential: Any, public: Any) -> bool:
    if not isinstance(confidential, str | Path) or not isinstance(public, str | Path):
        return confidential is public or _is_same_frame(confidential, public)
    if str(confidential) == str(public):
        return True
    first, second = database_of(str(confidential)), database_of(str(public))
    if first is not None and second is not None:  # a table that was named beside the address is not known here
        is_one_table = first[1] == second[1] or None in (first[1], second[1])
        return is_one_table and _is_same_database(first[0], second[0])
    if _is_same_place(str(confidential), str(public)):
        return True
    mine, theirs = files_and_member(confidential), files_and_member(public)
    return any(
        _is_same_file(first, mine[1], second, theirs[1]) for first in mine[0] for second in theirs[0]
    ) or _is_of_one_lot(confidential, public)


def lot_mark(what: Any, lot: str, table: str | None) -> bytes:
    """What both halves of a table carry, so that neither they nor the whole pass as public beside one of them."""
    return json.dumps({"lot": lot, "of": sorted(_digests(what, table))}).encode()


def _digests(what: Any, table: str | None = None) -> set[str]:
    """Of the files of a table as they are; of a database with the name of the table behind it."""
    database = database_of(str(what)) if isinstance(what, str | Path) else None
    try:
        if database is not None:
            return {f"{digest_of_content(database[0])}?{table or database[1] or ''}"}
        paths, member = files_and_member(what)
        return {digest for path in paths for digest in _contents(path, member)}
    except (OSError, EOFError, DataError):
        return set()  # whoever reads the rows will say what is wrong with the file


def _is_of_one_lot(confidential: Any, public: Any) -> bool:
    """Whether one is the other half of the other, or the whole that it was divided from."""
    (lots, whole), (others, other_whole) = _lots_of(confidential), _lots_of(public)
    if lots & others or not whole.isdisjoint(other_whole):
        return True  # two lots of one table divide the same people
    return bool(whole and _are_among(_digests(public), whole)) or bool(
        other_whole and _are_among(_digests(confidential), other_whole)
    )


def _are_among(digests: set[str], whole: set[str]) -> bool:
    """A table that is not named may be any of its database."""
    names = {*whole, *(f"{each.partition('?')[0]}?" for each in whole if "?" in each)}
    unnamed = {each for each in whole if each.endswith("?")}
    return not digests.isdisjoint(names) or any(f"{each.partition('?')[0]}?" in unnamed for each in digests)


def _lots_of(what: Any) -> tuple[set[str], set[str]]:
    """The lots that made the files of a table, and what these lots divided."""
    found = [_lot_of(path) for path in files_of(what)]
    return {lot for lot, _ in found if lot}, {digest for _, whole in found for digest in whole}


def _lot_of(path: Path) -> tuple[str, set[str]]:
    import pyarrow.parquet as pq

    try:
        if file_kind(path) != PARQUET:
            return "", set()
        told = json.loads((pq.read_schema(path).metadata or {}).get(LOT, b"{}"))
        return str(told.get("lot", "")), set(map(str, told.get("of", ())))
    except (DataError, OSError, ValueError, TypeError, AttributeError, pa.ArrowException):
        return "", set()


def _is_same_database(first: Path, second: Path) -> bool:
    """One file under two names, or a copy of it."""
    try:
        is_alike = first.stat().st_size == second.stat().st_size
        return first.samefile(second) or (is_alike and digest_of_content(first) == digest_of_content(second))
    except OSError:
        return first == second


def _is_same_frame(confidential: Any, public: Any) -> bool:
    """Whether two tables in memory hold the same rows in the same order, whatever kinds of frames they are."""
    try:
        (names, first), (others, second) = to_arrow(confidential), to_arrow(public)
        if names != others or len(first) != len(second) or not len(first):
            return False
        one, other = _plain(first), _plain(second)
        return bool(one.equals(other.cast(one.schema)))  # one text has several types
    except (DataError, ValueError, TypeError, pa.ArrowException):  # other values, or no tables
        return False


def _plain(table: pa.Table) -> pa.Table:
    """Values without the order of their categories, and nulls for what is no number: it equals nothing, not itself."""
    columns = [
        column.cast(column.type.value_type) if pa.types.is_dictionary(column.type) else column
        for column in table.columns
    ]
    return pa.Table.from_arrays(
        [
            pc.if_else(pc.is_nan(column), None, column) if pa.types.is_floating(column.type) else column
            for column in columns
        ],
        names=table.column_names,
    )


def _is_same_place(confidential: str, public: str) -> bool:
    """Whether two addresses of a server may name one table; what one leaves out may be what the other says.

    Who asks, and how the connection is made, is left aside. Case counts for no host, and a machine knows itself by
    several names.
    """
    if "://" not in confidential or "://" not in public:
        return False
    try:
        first, second = parse_address(confidential), parse_address(public)
        tables = [
            schema_and_table(each.options["table"]) if "table" in each.options else None for each in (first, second)
        ]
    except DataError:
        return False
    parts = [
        (_host(each), each.port, each.database, *(table or (None, each.options.get("path"))))
        for each, table in zip((first, second), tables, strict=True)
    ]
    return first.kind == second.kind and all(
        one == other or None in (one, other) for one, other in zip(*parts, strict=True)
    )


def _host(where: Address) -> str | None:
    """As one spelling; None where the environment says it."""
    host = where.host.lower()
    return "localhost" if host in ("127.0.0.1", "::1") else host or None


def _is_same_file(first: Path, in_first: str, second: Path, in_second: str) -> bool:
    try:
        is_archive = ZIP in (file_kind(first), file_kind(second))
        if first.samefile(second) and not is_archive:
            return True
        is_packed = is_archive or is_compressed(first) or is_compressed(second)
        may_agree = is_packed or first.stat().st_size == second.stat().st_size
        return may_agree and not _contents(first, in_first).isdisjoint(_contents(second, in_second))
    except (OSError, EOFError, DataError):
        return False


def _contents(path: Path, member: str = "") -> set[str]:
    """Digests of what is in a file, however it is packed: of all files of an archive, where none of them is named."""
    if file_kind(path) != ZIP:
        return {digest_of_content(path)}
    found = set()
    for info in members_of(path, member):
        with open_member(path, info.filename) as data:
            found.add(_digest(data))
    return found


def digest_of_content(path: Path) -> str:
    """Of a file as it is, or of what was gzipped in it."""
    with open_bytes(path) as data:
        return _digest(data)


def _digest(data: IO[bytes] | GzipFile | BufferedReader) -> str:
    digest = hashlib.sha256()
    while piece := data.read(1 << 20):
        digest.update(piece)
    return digest.hexdigest()
