"""Codebooks as TOML text: one canonical layout, so that reading and writing again changes no byte.

The keys of a table are the fields of its dataclass. Their types say how a value is read and written, and a field
without a default is a key that must be there.
"""

import datetime as dt
import hashlib
import json
import re
import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import MISSING, fields
from decimal import Decimal
from enum import EnumType
from fractions import Fraction
from functools import cache
from pathlib import Path
from types import MappingProxyType, NoneType
from typing import Any, Literal, get_args, get_origin, get_type_hints

from understudy.codebook.attestation import Attestation
from understudy.codebook.book import IS_LINKED, Codebook, PaidDraft
from understudy.codebook.coded import Coded
from understudy.codebook.columns import (
    Categorical,
    Column,
    Dates,
    Generalisation,
    Groups,
    Ordinal,
    Review,
    Text,
    ValueLabels,
)
from understudy.codebook.details import Detail
from understudy.codebook.file_reading import FileReading, Layout
from understudy.codebook.numbers import Continuous, Integer
from understudy.codebook.packs import SHIPPED, Pack, pack_of_file, shipped_pack
from understudy.codebook.publication import Publication
from understudy.codebook.readings import Reading
from understudy.codebook.rules import Determines, Implies, Impossible, Order, Rule
from understudy.codebook.unit import PersonUnit
from understudy.errors import CodebookError

FORMAT = 1
_TOP = (
    "format", "title", "description", "weight", "publication", "file", "unit", "paid", "learned", "packs", "columns",
    "constraints",
)  # fmt: skip
_COLUMNS = {kind.kind: kind for kind in (Categorical, Ordinal, Integer, Continuous, Dates, Detail, Text)}
_RULES = {kind.kind: kind for kind in (Impossible, Implies, Order, Determines)}

_CONTENT = (
    "levels", "detail_of", "other", "edges", "closed", "clip", "spikes", "shape", "pieces", "units", "precision",
    "grain", "start", "end", "leading_zeros", "edition", "special", "value_labels", "reading",
)  # fmt: skip
"""The keys of what a column may hold, in canonical order."""
_COLUMN_ORDER = (
    "name", "role", "description", *_CONTENT, "missing", "parents", "origin", "attestation", "review", "groups",
    "hierarchy",
)  # fmt: skip


class _Fault(ValueError):
    """One thing wrong in one table; collected, never shown alone."""


# Reading


def read_codebook(text: str, folder: Path | None = None) -> Codebook:
    """Parse TOML text into a codebook, or raise one error that lists every fault; own packs lie in ``folder``."""
    data = read_toml(text)
    if "tables" in data:
        raise CodebookError(IS_LINKED)
    faults = top_faults(data, _TOP)
    packs = read_packs(data.get("packs", []), folder or Path(), faults)
    book = book_of(data, packs, faults)
    if book is None:
        raise CodebookError(f"the codebook has {len(faults)} fault{'s' * (len(faults) != 1)}:", faults)
    return Codebook(**book)


def read_toml(text: str) -> dict[str, Any]:
    """The tables of a TOML text; numbers stay exact."""
    try:
        return tomllib.loads(text, parse_float=Decimal)
    except (tomllib.TOMLDecodeError, RecursionError) as reason:
        problem = "nested too deep" if isinstance(reason, RecursionError) else reason
        raise CodebookError(f"the codebook is not valid TOML: {problem}. Mend that line.") from None


def top_faults(data: Mapping[str, Any], known: Sequence[str]) -> list[str]:
    """Whether this version reads the file at all."""
    faults: list[str] = []
    if data.get("format") != FORMAT:
        faults.append(f"format is {data.get('format')!r}; this version reads format = {FORMAT}.")
    if strange := sorted(set(data) - set(known)):
        faults.append(f"unknown keys {', '.join(strange)} at the top; known are {', '.join(known)}.")
    return faults


def book_of(data: Mapping[str, Any], packs: Mapping[str, Pack], faults: list[str]) -> dict[str, Any] | None:
    """The fields of a codebook as ``data`` tells them; None where something cannot be read, which ``faults`` tell."""
    if data.get("columns", []) == []:
        faults.append("there are no [[columns]]; describe at least one.")
    columns = _read_tables(data.get("columns", []), "columns", _COLUMNS, _READERS, faults, packs)
    rules = read_rules(data.get("constraints", []), "constraints", faults)
    unit = read_optional(PersonUnit, data.get("unit"), "[unit]", faults)
    paid = read_optional(PaidDraft, data.get("paid"), "[paid]", faults)
    file = read_optional(FileReading, data.get("file"), "[file]", faults)
    publication = read_optional(Publication, data.get("publication"), "[publication]", faults)
    learned = data.get("learned", [])
    if not isinstance(learned, list):
        faults.append("learned is not a list of tables; write each as [[learned]].")
        learned = []
    learned = [read_optional(PaidDraft, table, "[[learned]]", faults) for table in learned]
    if not isinstance(data.get("weight", ""), str):
        faults.append(f"weight is {data['weight']!r}; it must be the name of a column in quotes.")
    if faults:
        for column in columns:
            faults.extend(column.faults())
        faults.extend([] if publication is None else publication.faults())
        return None
    return {
        "columns": tuple(columns),
        "title": str(data.get("title", "")),
        "description": str(data.get("description", "")),
        "constraints": tuple(rules),
        "weight": data.get("weight"),
        "unit": unit,
        "paid": paid,
        "file": file,
        "learned": tuple(learned),
        "publication": publication,
    }


def read_rules(
    entries: Any, header: str, faults: list[str], more: Mapping[str, type] = MappingProxyType({})
) -> list[Any]:
    """All ``[[header]]`` tables as rules, of ``more`` kinds than those of one table where it names any."""
    return _read_tables(entries, header, {**_RULES, **more}, _RULE_READERS, faults)


Reader = Callable[[Any], Any]
"""Takes what a file says; raises a ValueError that says what it must be."""


def read_packs(entries: Any, folder: Path, faults: list[str]) -> dict[str, Pack]:
    """Own packs by name: each a file, or its text where the codebook carries it."""
    packs: dict[str, Pack] = {}
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        faults.append("packs is not a list of tables; write each as [[packs]] with name and file.")
        return packs
    for number, entry in enumerate(entries, start=1):
        name, file, text = (entry.get(key) for key in ("name", "file", "text"))
        strange = sorted(set(entry) - {"name", "file", "text"})
        texts = [value for value in (file, text) if isinstance(value, str)]
        if not isinstance(name, str) or len(texts) != 1 or strange or name in SHIPPED or name in packs:
            why = f"is called {name!r}, a name that is taken" if name in (*SHIPPED, *packs) else "is incomplete"
            faults.append(
                f'pack {number} {why}; write name = "ccs" and file = "ccs.csv" under [[packs]], nothing else.'
            )
            continue
        try:
            packs[name] = (
                Pack(name=name, text=text) if isinstance(text, str) else pack_of_file(folder / str(file), name)
            )
        except CodebookError as reason:
            faults += [f"pack {name!r}: {fault}" for fault in reason.faults] or [str(reason)]
    return packs


def _read_tables(
    entries: Any,
    header: str,
    kinds: Mapping[str, type],
    readers: Mapping[Any, Reader],
    faults: list[str],
    packs: Mapping[str, Pack] | None = None,
) -> list[Any]:
    """All ``[[header]]`` tables that can be read; what is wrong with the others goes to ``faults``."""
    if not isinstance(entries, list):
        faults.append(f"{header} is not a list of tables; write each as [[{header}]].")
        return []
    tables = []
    for number, entry in enumerate(entries, start=1):
        try:
            tables.append(_read_kind(entry, number, header, kinds, readers, packs))
        except _Fault as fault:
            faults.append(str(fault))
    return tables


def _read_kind(
    entry: Any,
    number: int,
    header: str,
    kinds: Mapping[str, type],
    readers: Mapping[Any, Reader],
    packs: Mapping[str, Pack] | None,
) -> Any:
    where = f"{header.removesuffix('s')} {number}"
    if not isinstance(entry, dict):
        raise _Fault(f"{where} is not a table; write it as [[{header}]].")
    if entry.get("name"):
        where = f"{header.removesuffix('s')} {entry['name']!r}"
    kind = entry.get("kind")
    fields_of = {key: entry[key] for key in entry if key != "kind"}
    if packs is not None and isinstance(kind, str) and (kind in packs or kind in SHIPPED):
        return _read_table(Coded, fields_of, where, readers, pack=packs.get(kind) or shipped_pack(kind))
    if not isinstance(kind, str) or kind not in kinds:
        own = "" if packs is None else f", and the packs {', '.join((*SHIPPED, *packs))}"
        raise _Fault(f"{where} is of kind {kind!r}; kinds are {', '.join(kinds)}{own}.")
    return _read_table(kinds[kind], fields_of, where, readers)


def read_optional(cls: type, entry: Any, where: str, faults: list[str]) -> Any:
    """A table that need not be there."""
    try:
        return None if entry is None else _read_table(cls, entry, where, _READERS)
    except _Fault as fault:
        faults.append(str(fault))
        return None


def _read_table(cls: type, entry: Any, where: str, readers: Mapping[Any, Reader], **given: Any) -> Any:
    if not isinstance(entry, dict):
        raise _Fault(f"{where} must be a table.")
    known = {key: kind for key, kind in _keys(cls).items() if _reader(kind, readers) is not None}
    if strange := sorted(set(entry) - set(known)):
        raise _Fault(f"{where} has unknown keys {', '.join(strange)}; it knows {', '.join(known)}.")
    if lacking := [key for key in known if key not in entry and _default(cls, key) is MISSING]:
        raise _Fault(f"{where} lacks {', '.join(lacking)}, which {getattr(cls, 'kind', 'it')} needs.")
    values = {}
    for key, value in entry.items():
        reader = _reader(known[key], readers)
        assert reader is not None
        try:
            values[key] = reader(value)
        except ValueError as reason:
            raise _Fault(f"{where} has {key} = {_shown(value)}; {reason}") from None
    return cls(**values, **given)


@cache
def _keys(cls: Any) -> Mapping[str, Any]:
    """The fields of a table and their types; what is optional counts as present."""
    hints = get_type_hints(cls)
    keys = {}
    for field in fields(cls):
        if field.init:
            kinds = [kind for kind in get_args(hints[field.name]) if kind is not NoneType]
            is_optional = NoneType in get_args(hints[field.name])
            keys[field.name] = kinds[0] if is_optional else hints[field.name]
    return keys


def _default(cls: type, key: str) -> Any:
    return next(field.default for field in fields(cls) if field.name == key)


def _reader(kind: Any, readers: Mapping[Any, Reader]) -> Reader | None:
    if isinstance(kind, EnumType):
        return lambda value: kind(_one_of(list(kind.__members__.values()), value))
    if get_origin(kind) is Literal and kind not in readers:
        return lambda value: _one_of(get_args(kind), value)
    return readers.get(kind)


def _shown(value: Any) -> str:
    text = str(value) if isinstance(value, Decimal) else repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


def _one_of(words: Sequence[str], value: Any) -> Any:
    if value not in words:
        raise ValueError(f"it must be one of {', '.join(words)}.")
    return value


def _exactly(kind: type, words: str) -> Reader:
    """A value of this type and no other: True is no number, a time no date."""

    def read(value: Any) -> Any:
        if type(value) is not kind:
            raise ValueError(f"it must be {words}.")
        return value

    return read


def _texts(value: Any) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise ValueError('it must be a list of texts in quotes, such as ["low", "high"].')
    return tuple(value)


def _numbers(value: Any) -> tuple[Fraction, ...]:
    if not isinstance(value, list) or not all(type(v) in (int, Decimal) and Decimal(v).is_finite() for v in value):
        raise ValueError("it must be a list of finite numbers, such as [0, 5, 10].")
    if any(not -30 <= Decimal(item).adjusted() <= 18 for item in value if item):
        raise ValueError("its numbers must lie between 1e-30 and 1e18 in size.")  # or a Fraction would never end
    return tuple(Fraction(item) for item in value)


def _steps(value: Any) -> tuple[Generalisation, ...]:
    if not isinstance(value, list):
        raise ValueError("it must be a list of tables with name and groups.")
    return tuple(_read_table(Generalisation, step, "it", _READERS) for step in value)


def _groups(value: Any) -> Groups:
    if not isinstance(value, dict) or not value:
        raise ValueError('it must be a table of groups with their members, such as { heart = ["410", "411"] }.')
    return tuple((group, _texts(members)) for group, members in value.items())


def _value_labels(value: Any) -> ValueLabels:
    if not isinstance(value, dict) or not all(isinstance(label, str) for label in value.values()):
        raise ValueError('it must be a table of codes with their labels, such as { 1 = "yes", 2 = "no" }.')
    return tuple(value.items())


def _layout(value: Any) -> Layout:
    ranges = list(value.items()) if isinstance(value, dict) else []
    if not ranges or not all(
        isinstance(ends, list) and len(ends) == 2 and all(type(end) is int for end in ends) for _, ends in ranges
    ):
        raise ValueError("it must be a table of columns with first and last character, such as { age = [1, 3] }.")
    return tuple((name, (first, last)) for name, (first, last) in ranges)


def _shares(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) and value else value


_READERS: dict[Any, Reader] = {
    str: _exactly(str, "text in quotes"),
    bool: _exactly(bool, "true or false"),
    int: _exactly(int, "a whole number"),
    dt.date: _exactly(dt.date, "a date without quotes, such as 2010-01-31"),
    tuple[str, ...]: _texts,
    tuple[Fraction, ...]: _numbers,
    tuple[int, ...] | str: _shares,
    Groups: _groups,
    Layout: _layout,
    ValueLabels: _value_labels,
    tuple[Generalisation, ...]: _steps,
    Attestation: lambda value: _read_table(Attestation, value, "it", _READERS),
    Reading: lambda value: _read_table(Reading, value, "it", _READERS),
    Review: lambda value: _read_table(Review, value, "it", _READERS),
}


_EXAMPLE = '{ sex = "M", diagnosis = ["delivery", "abortion"] }'


def _relation(value: Any) -> Any:
    if value not in ("<", "<="):
        raise ValueError('it must be "<" or "<=". Swap low and high for the others.')
    return value


def _choice(value: Any) -> Groups:
    if not isinstance(value, dict) or not value:
        raise ValueError(f"it must be a table of columns and values, such as {_EXAMPLE}.")
    choice: list[tuple[str, tuple[str, ...]]] = []
    for name, items in value.items():
        if isinstance(items, dict):  # stays.ward without quotes
            choice += [(f"{name}.{own}", values) for own, values in _choice(items)]
        else:
            choice.append((name, tuple(dict.fromkeys(map(_value, items if isinstance(items, list) else [items])))))
    return tuple(choice)


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str | int | Decimal | dt.date):
        return str(value)
    raise ValueError(f"values are levels, bins, numbers or dates, such as {_EXAMPLE}.")


_RULE_READERS: dict[Any, Reader] = {**_READERS, Groups: _choice, Literal["<", "<="]: _relation}


# Writing


def write_codebook(book: Codebook) -> str:
    """The canonical text of a codebook; defaults are left out."""
    lines = [f"format = {FORMAT}", *head_lines(book)]
    for key in ("publication", "file", "unit", "paid"):
        lines += part_lines(book, key)
    lines += pack_lines(column.codes for column in book.coded)
    for purchase in book.learned:
        lines += ["", "[[learned]]", *lines_of(purchase, "learned")]
    lines += column_lines(book)
    lines += rule_lines(book.constraints, "constraints")
    return "\n".join(lines) + "\n"


def head_lines(book: Any) -> list[str]:
    """The texts at the head of a codebook; those that are empty are left out."""
    return [line(key, getattr(book, key)) for key in ("title", "description", "weight") if getattr(book, key, None)]


def part_lines(holder: Any, key: str, prefix: str = "") -> list[str]:
    """One field that is a table of its own, under its header."""
    table = getattr(holder, key)
    return [] if table is None else ["", f"[{prefix}{key}]", *lines_of(table, prefix + key)]


def pack_lines(packs: Iterable[Pack]) -> list[str]:
    """Own packs, each once."""
    lines: list[str] = []
    for pack in dict.fromkeys(pack for pack in packs if not pack.is_shipped):
        lines += ["", "[[packs]]", line("name", pack.name), line("text", pack.text)]
    return lines


def column_lines(book: Codebook, prefix: str = "") -> list[str]:
    """The columns, under headers that start with ``prefix``."""
    lines: list[str] = []
    for column in book.written:
        first, *others = lines_of(column, f"{prefix}columns", _COLUMN_ORDER)
        lines += ["", f"[[{prefix}columns]]", first, f'kind = "{column.kind}"', *others]
    return lines


def rule_lines(rules: Iterable[Rule], header: str) -> list[str]:
    """Rules, each under its header."""
    lines: list[str] = []
    for rule in rules:
        lines += ["", f"[[{header}]]", f'kind = "{rule.kind}"', *lines_of(rule, header)]
    return lines


def lines_of(table: Any, header: str, order: Sequence[str] = ()) -> list[str]:
    """The keys of a table that differ from their defaults, then the tables inside it."""
    cls: Any = type(table)
    kinds = _keys(cls)
    lines: list[str] = []
    inner: list[str] = []
    for key in order or kinds:
        if key not in kinds or (value := getattr(table, key)) == _default(cls, key):
            continue
        if kinds[key] in (Groups, Layout, ValueLabels):
            inner += ["", f"[{header}.{key}]", *_group_lines(value)]
        elif isinstance(value, Attestation | Reading | Review):
            inner += ["", f"[{header}.{key}]", *lines_of(value, f"{header}.{key}")]
        elif key == "hierarchy":
            for step in value:
                inner += ["", f"[[{header}.{key}]]", *lines_of(step, f"{header}.{key}")]
        else:
            lines.append(line(key, value))
    return [*lines, *inner]


def _group_lines(groups: Groups | Layout | ValueLabels) -> list[str]:
    return [line(bare_or_quoted(name), members) for name, members in groups]


def bare_or_quoted(name: str) -> str:
    """A name as a TOML key."""
    return name if _BARE_KEY.fullmatch(name) else quoted(name)


_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")
_WIDTH = 100


def line(key: str, value: Any) -> str:
    """A key with its value; a long list has one item per line."""
    if not isinstance(value, tuple):
        return f"{key} = {_written(value)}"
    items = [_written(item) for item in value]
    text = f"{key} = [{', '.join(items)}]"
    if len(text) <= _WIDTH or all(isinstance(item, int) for item in value):
        return text
    return f"{key} = [\n" + "".join(f"    {item},\n" for item in items) + "]"


def _written(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return quoted(value)
    if isinstance(value, Fraction) and value.denominator > 1:
        return format(Decimal(value.numerator) / Decimal(value.denominator), "f")
    return str(value)


def quoted(text: str) -> str:
    """A TOML basic string: JSON's escapes are a subset of TOML's, save for DEL, which TOML wants escaped."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def column_content(column: Column) -> str:
    """Digest of the levels, edges or codes of a column: what a person attests, or a draft was paid for."""
    lines = [column.kind, *lines_of(column, "", _CONTENT)]
    lines.append("" if column.missing is None else line("missing", column.missing))
    if isinstance(column, Detail):
        lines += _group_lines(column.groups)
    return "sha256:" + hashlib.sha256("\n".join(lines).encode()).hexdigest()[:32]


def rule_content(rule: Rule) -> str:
    """Digest of what a rule says."""
    told = [key for key in _keys(type(rule)) if key not in ("name", "source", "origin", "attestation")]
    lines = [rule.kind, *lines_of(rule, "", told)]
    return "sha256:" + hashlib.sha256("\n".join(lines).encode()).hexdigest()[:32]
