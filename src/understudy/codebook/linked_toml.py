"""Codebooks of linked tables as TOML text: the layout of one table under ``[tables.NAME]``, and rules across them."""

from pathlib import Path
from typing import Any, get_args

from understudy.codebook import toml
from understudy.codebook.attestation import Attestation
from understudy.codebook.book import Codebook, read_text, with_path
from understudy.codebook.columns import Origin
from understudy.codebook.linked import Constant, LinkedCodebook, LinkedTable, Orphans
from understudy.codebook.linked_rules import ACROSS
from understudy.codebook.packs import Pack
from understudy.codebook.publication import Publication
from understudy.errors import CodebookError

_TOP = ("format", "title", "description", "publication", "packs", "tables", "rules")
PLACE = ("data", "made_of", "key", "parent", "parent_key", "cap", "order", "orphans", "origin")
"""The keys of a table's place among the others, in canonical order."""
_BOOK = ("description", "weight", "file", "unit", "columns", "constraints")
_KNOWN = (*PLACE, "attestation", "constants", *_BOOK)


def is_linked(text: str) -> bool:
    """Whether a codebook describes several linked tables."""
    return "tables" in toml.read_toml(text)


def load_book(path: str | Path) -> Codebook | LinkedCodebook:
    """A codebook file of either kind."""
    text = read_text(path)
    with with_path(path):
        kind = LinkedCodebook if is_linked(text) else Codebook
        return kind.from_toml(text, Path(path).parent)


def read_linked(text: str, folder: Path | None = None) -> LinkedCodebook:
    """Parse TOML text, or raise one error that lists every fault; own packs lie in ``folder``."""
    data = toml.read_toml(text)
    if "tables" not in data and "columns" in data:
        raise CodebookError(
            "the codebook describes one table ([[columns]]), and what was asked for needs linked tables; split it with "
            "`understudy codebook split`, or describe each table under [tables.NAME]."
        )
    faults = toml.top_faults(data, _TOP)
    packs = toml.read_packs(data.get("packs", []), folder or Path(), faults)
    tables = data.get("tables", {})
    if not isinstance(tables, dict) or not tables or not all(isinstance(entry, dict) for entry in tables.values()):
        faults.append("tables are no tables of tables; write each as [tables.NAME].")
        tables = {}
    read = [table for name, entry in tables.items() if (table := _read_table(name, entry, packs, faults)) is not None]
    rules = toml.read_rules(data.get("rules", []), "rules", faults, ACROSS)
    publication = toml.read_optional(Publication, data.get("publication"), "[publication]", faults)
    if faults:
        raise CodebookError(f"the codebook has {len(faults)} fault{'s' * (len(faults) != 1)}:", faults)
    head = {key: str(data.get(key, "")) for key in ("title", "description")}
    return LinkedCodebook(tables=tuple(read), rules=tuple(rules), publication=publication, **head)


def _read_table(name: str, entry: dict[str, Any], packs: dict[str, Pack], faults: list[str]) -> LinkedTable | None:
    """One table; what is wrong goes to ``faults``, with its name."""
    own: list[str] = []
    if strange := sorted(set(entry) - set(_KNOWN)):
        own.append(f"unknown keys {', '.join(strange)}; known are {', '.join(_KNOWN)}.")
    place = {key: entry[key] for key in PLACE if key in entry}
    for key, value in place.items():
        if key == "cap" and (isinstance(value, bool) or not isinstance(value, int)):
            own.append(f"cap = {value!r}; it must be a whole number.")
        elif key == "origin" and value not in [one.value for one in Origin if one is not Origin.PAID]:
            own.append(f"origin = {value!r}; it must be declared or drafted.")
        elif key == "orphans" and value not in get_args(Orphans):
            own.append(f"orphans = {value!r}; it must be one of {', '.join(get_args(Orphans))}.")
        elif key != "cap" and not isinstance(value, str):
            own.append(f"{key} = {value!r}; it must be text in quotes.")
    if "origin" in place:
        place["origin"] = Origin.DRAFTED if place["origin"] == "drafted" else Origin.DECLARED
    constants = _read_constants(entry.get("constants", {}), own)
    attestation = toml.read_optional(Attestation, entry.get("attestation"), "attestation", own)
    fields = toml.book_of({key: entry[key] for key in _BOOK if key in entry}, packs, own)
    try:
        book = None if fields is None else Codebook(**fields)
    except CodebookError as reason:
        own += reason.faults
        book = None
    faults += [f"table {name!r}: {fault}" for fault in own]
    if own or book is None:
        return None
    return LinkedTable(name=name, book=book, constants=constants, attestation=attestation, **place)


def _read_constants(entries: Any, faults: list[str]) -> tuple[Constant, ...]:
    if not isinstance(entries, dict) or not all(isinstance(entry, dict) for entry in entries.values()):
        faults.append('constants are no tables; write [tables.NAME.constants.COLUMN] with child = "TABLE".')
        return ()
    constants = []
    for column, entry in entries.items():
        if "column" in entry:
            faults.append(f"constant {column!r} has the key column, which its own name says; take it out.")
            continue
        constant = toml.read_optional(Constant, {"column": column, **entry}, f"constant {column!r}", faults)
        constants += [] if constant is None else [constant]
    return tuple(constants)


def write_linked(book: LinkedCodebook) -> str:
    """The canonical text; defaults are left out."""
    lines = [f"format = {toml.FORMAT}", *toml.head_lines(book), *toml.part_lines(book, "publication")]
    lines += toml.pack_lines(column.codes for table in book.tables for column in table.book.coded)
    for table in book.tables:
        lines += table_lines(table)
    lines += toml.rule_lines(book.rules, "rules")
    return "\n".join(lines) + "\n"


def table_lines(table: LinkedTable) -> list[str]:
    """One table under its headers."""
    prefix = f"tables.{table.name}."
    lines = ["", f"[{prefix[:-1]}]"]
    lines += [
        toml.line(key, value) for key in PLACE if (value := getattr(table, key)) not in (None, "", "declared", "refuse")
    ]
    lines += toml.head_lines(table.book)
    lines += toml.part_lines(table, "attestation", prefix)
    for constant in table.constants:
        header = f"{prefix}constants.{toml.bare_or_quoted(constant.column)}"
        lines += ["", f"[{header}]", *toml.lines_of(constant, header)[1:]]  # the header says its column
    lines += toml.part_lines(table.book, "file", prefix)
    lines += toml.column_lines(table.book, prefix)
    return [*lines, *toml.rule_lines(table.book.constraints, f"{prefix}constraints")]
