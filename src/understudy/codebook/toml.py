"""Codebooks as TOML text: one canonical layout, so that reading and writing again changes no byte.

The keys of a table are the fields of its dataclass. Their types say how a value is read and written, and a field
without a default is a key that must be there.
"""

import datetime as dt
import hashlib
import json
import re
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, fields
from decimal import Decimal
from enum import EnumType
from fractions import Fraction
from functools import cache
from types import NoneType
from typing import Any, Literal, get_args, get_origin, get_type_hints

from understudy.codebook.book import Codebook, PaidDraft
from understudy.codebook.columns import (
    Attestation,
    Categorical,
    Column,
    Dates,
    Generalisation,
    Groups,
    Ordinal,
    Review,
    Text,
)
from understudy.codebook.details import Detail
from understudy.codebook.numbers import Continuous, Integer
from understudy.codebook.rules import Determines, Implies, Impossible, Order, Rule
from understudy.codebook.unit import PersonUnit
from understudy.errors import CodebookError

FORMAT = 1
_TOP = ("format", "title", "description", "weight", "unit", "paid", "learned", "columns", "constraints")
_COLUMNS = {kind.kind: kind for kind in (Categorical, Ordinal, Integer, Continuous, Dates, Detail, Text)}
_RULES = {kind.kind: kind for kind in (Impossible, Implies, Order, Determines)}

_CONTENT = (
    "levels", "detail_of", "other", "edges", "closed", "clip", "spikes", "shape", "pieces", "units", "precision",
    "grain", "start", "end",
)  # fmt: skip
"""The keys of what a column may hold, in canonical order."""
_COLUMN_ORDER = (
    "name", "role", "description", *_CONTENT, "missing", "parents", "origin", "attestation", "review", "groups",
    "hierarchy",
)  # fmt: skip


class _Fault(ValueError):
    """One thing wrong in one table; collected, never shown alone."""


# Reading


def read_codebook(text: str) -> Codebook:
    """Parse TOML text into a codebook, or raise one error that lists every fault."""
    try:
        data = tomllib.loads(text, parse_float=Decimal)
    except (tomllib.TOMLDecodeError, RecursionError) as reason:
        problem = "nested too deep" if isinstance(reason, RecursionError) else reason
        raise CodebookError(f"the codebook is not valid TOML: {problem}. Mend that line.") from None
    faults: list[str] = []
    if data.get("format") != FORMAT:
        faults.append(f"format is {data.get('format')!r}; this version reads format = {FORMAT}.")
    if strange := sorted(set(data) - set(_TOP)):
        faults.append(f"unknown keys {', '.join(strange)} at the top; known are {', '.join(_TOP)}.")
    if data.get("columns", []) == []:
        faults.append("there are no [[columns]]; describe at least one.")
    columns = _read_tables(data.get("columns", []), "columns", _COLUMNS, _READERS, faults)
    rules = _read_tables(data.get("constraints", []), "constraints", _RULES, _RULE_READERS, faults)
    unit = _read_optional(PersonUnit, data.get("unit"), "[unit]", faults)
    paid = _read_optional(PaidDraft, data.get("paid"), "[paid]", faults)
    learned = data.get("learned", [])
    if not isinstance(learned, list):
        faults.append("learned is not a list of tables; write each as [[learned]].")
        learned = []
    learned = [_read_optional(PaidDraft, table, "[[learned]]", faults) for table in learned]
    if not isinstance(data.get("weight", ""), str):
        faults.append(f"weight is {data['weight']!r}; it must be the name of a column in quotes.")
    if faults:
        for column in columns:
            faults.extend(column.faults())
        raise CodebookError(f"the codebook has {len(faults)} fault{'s' * (len(faults) != 1)}:", faults)
    return Codebook(
        columns=tuple(columns),
        title=str(data.get("title", "")),
        description=str(data.get("description", "")),
        constraints=tuple(rules),
        weight=data.get("weight"),
        unit=unit,
        paid=paid,
        learned=tuple(learned),
    )


Reader = Callable[[Any], Any]
"""Takes what a file says; raises a ValueError that says what it must be."""


def _read_tables(
    entries: Any, header: str, kinds: Mapping[str, type], readers: Mapping[Any, Reader], faults: list[str]
) -> list[Any]:
    """All ``[[header]]`` tables that can be read; what is wrong with the others goes to ``faults``."""
    if not isinstance(entries, list):
        faults.append(f"{header} is not a list of tables; write each as [[{header}]].")
        return []
    tables = []
    for number, entry in enumerate(entries, start=1):
        try:
            tables.append(_read_kind(entry, number, header, kinds, readers))
        except _Fault as fault:
            faults.append(str(fault))
    return tables


def _read_kind(entry: Any, number: int, header: str, kinds: Mapping[str, type], readers: Mapping[Any, Reader]) -> Any:
    where = f"{header.removesuffix('s')} {number}"
    if not isinstance(entry, dict):
        raise _Fault(f"{where} is not a table; write it as [[{header}]].")
    if entry.get("name"):
        where = f"{header.removesuffix('s')} {entry['name']!r}"
    kind = entry.get("kind")
    if not isinstance(kind, str) or kind not in kinds:
        raise _Fault(f"{where} is of kind {kind!r}; kinds are {', '.join(kinds)}.")
    return _read_table(kinds[kind], {key: entry[key] for key in entry if key != "kind"}, where, readers)


def _read_optional(cls: type, entry: Any, where: str, faults: list[str]) -> Any:
    try:
        return None if entry is None else _read_table(cls, entry, where, _READERS)
    except _Fault as fault:
        faults.append(str(fault))
        return None


def _read_table(cls: type, entry: Any, where: str, readers: Mapping[Any, Reader]) -> Any:
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
    return cls(**values)


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
    tuple[Generalisation, ...]: _steps,
    Attestation: lambda value: _read_table(Attestation, value, "it", _READERS),
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
    return tuple(
        (name, tuple(dict.fromkeys(map(_value, items if isinstance(items, list) else [items]))))
        for name, items in value.items()
    )


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
    lines = [f"format = {FORMAT}"]
    lines += [_line(key, getattr(book, key)) for key in ("title", "description", "weight") if getattr(book, key)]
    for key in ("unit", "paid"):
        table = getattr(book, key)
        lines += [] if table is None else ["", f"[{key}]", *_lines(table, key)]
    for purchase in book.learned:
        lines += ["", "[[learned]]", *_lines(purchase, "learned")]
    for column in book.columns:
        first, *others = _lines(column, "columns", _COLUMN_ORDER)
        lines += ["", "[[columns]]", first, f'kind = "{column.kind}"', *others]
    for rule in book.constraints:
        lines += ["", "[[constraints]]", f'kind = "{rule.kind}"', *_lines(rule, "constraints")]
    return "\n".join(lines) + "\n"


def _lines(table: Any, header: str, order: Sequence[str] = ()) -> list[str]:
    """The keys of a table that differ from their defaults, then the tables inside it."""
    cls: Any = type(table)
    kinds = _keys(cls)
    lines: list[str] = []
    inner: list[str] = []
    for key in order or kinds:
        if key not in kinds or (value := getattr(table, key)) == _default(cls, key):
            continue
        if kinds[key] == Groups:
            inner += ["", f"[{header}.{key}]", *_group_lines(value)]
        elif isinstance(value, Attestation | Review):
            inner += ["", f"[{header}.{key}]", *_lines(value, header)]
        elif key == "hierarchy":
            for step in value:
                inner += ["", f"[[{header}.{key}]]", *_lines(step, f"{header}.{key}")]
        else:
            lines.append(_line(key, value))
    return [*lines, *inner]


def _group_lines(groups: Groups) -> list[str]:
    return [_line(name if _BARE_KEY.fullmatch(name) else quoted(name), members) for name, members in groups]


_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")
_WIDTH = 100


def _line(key: str, value: Any) -> str:
    """A key with its value; a long list has one item per line."""
    if not isinstance(value, tuple):
        return f"{key} = {_written(value)}"
    items = [_written(item) for item in value]
    line = f"{key} = [{', '.join(items)}]"
    if len(line) <= _WIDTH or all(isinstance(item, int) for item in value):
        return line
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
    lines = [column.kind, *_lines(column, "", _CONTENT)]
    lines.append("" if column.missing is None else _line("missing", column.missing))
    if isinstance(column, Detail):
        lines += _group_lines(column.groups)
    return "sha256:" + hashlib.sha256("\n".join(lines).encode()).hexdigest()[:32]


def rule_content(rule: Rule) -> str:
    """Digest of what a rule says."""
    told = [key for key in _keys(type(rule)) if key not in ("name", "source", "origin", "attestation")]
    lines = [rule.kind, *_lines(rule, "", told)]
    return "sha256:" + hashlib.sha256("\n".join(lines).encode()).hexdigest()[:32]
