"""Codebooks as TOML text: one canonical layout, so that reading and writing again changes no byte."""

import datetime as dt
import hashlib
import tomllib
from collections.abc import Callable, Mapping
from decimal import Decimal
from fractions import Fraction
from typing import Any

from understudy.codebook.book import Codebook
from understudy.codebook.columns import Attestation, Categorical, Column, Dates, Grain, Ordinal, Origin, Role, Text
from understudy.codebook.details import Detail
from understudy.codebook.hierarchy import Generalisation
from understudy.codebook.numbers import Continuous, Integer
from understudy.codebook.paid import paid_lines, read_paid
from understudy.codebook.rules_toml import read_rules, rule_lines
from understudy.codebook.toml_text import bare_key, list_line, number_text, quoted
from understudy.codebook.unit import read_unit, unit_lines
from understudy.errors import CodebookError

FORMAT = 1
_KINDS: dict[str, type[Column]] = {c.kind: c for c in (Categorical, Ordinal, Integer, Continuous, Dates, Detail, Text)}
_TOP = ("format", "title", "description", "weight", "unit", "paid", "columns", "constraints")


class _Fault(Exception):
    """One thing wrong in one column; collected, never shown alone."""


def read_codebook(text: str) -> Codebook:
    """Parse TOML text into a codebook, or raise one error that lists every fault."""
    try:
        data = tomllib.loads(text, parse_float=Decimal)
    except (tomllib.TOMLDecodeError, RecursionError) as reason:
        said = "nested too deep" if isinstance(reason, RecursionError) else reason
        raise CodebookError(f"the codebook is not valid TOML: {said}. Mend that line.") from None
    faults: list[str] = []
    if data.get("format") != FORMAT:
        faults.append(f"format is {data.get('format')!r}; this version reads format = {FORMAT}.")
    if strange := sorted(set(data) - set(_TOP)):
        faults.append(f"unknown keys {', '.join(strange)} at the top; known are {', '.join(_TOP)}.")
    entries = data.get("columns", [])
    if not isinstance(entries, list) or not entries:
        faults.append("there are no [[columns]]; describe at least one.")
        entries = []
    columns: list[Column] = []
    for number, entry in enumerate(entries, start=1):
        try:
            columns.append(_read_column(entry, number))
        except _Fault as fault:
            faults.append(str(fault))
    constraints, bad = read_rules(data.get("constraints", []))
    unit, wrong = read_unit(data.get("unit"))
    paid, unpaid = read_paid(data.get("paid"))
    faults += [*bad, *wrong, *unpaid]
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
        constraints=constraints,
        weight=data.get("weight"),
        unit=unit,
        paid=paid,
    )


def _read_column(entry: Any, number: int) -> Column:
    if not isinstance(entry, dict):
        raise _Fault(f"column {number} is not a table; write it as [[columns]].")
    name = entry.get("name")
    if not isinstance(name, str) or not name:
        raise _Fault(f'column {number} has no name; add name = "...".')
    kind = entry.get("kind")
    if kind not in _KINDS:
        raise _Fault(f"column {name!r} is of kind {kind!r}; kinds are {', '.join(_KINDS)}.")
    readers = {**_COMMON, **_OWN[kind]}
    if strange := sorted(set(entry) - set(readers) - {"name", "kind"}):
        raise _Fault(
            f"column {name!r} has unknown keys {', '.join(strange)}; a {kind} column knows {', '.join(readers)}."
        )
    if lacking := [key for key in _NEEDED.get(kind, ()) if key not in entry]:
        raise _Fault(f"column {name!r} lacks {', '.join(lacking)}, which a {kind} column needs.")
    fields: dict[str, Any] = {}
    for key, reader in readers.items():
        if key in entry:
            try:
                fields[key] = reader(entry[key])
            except KeyError as lacking_key:
                raise _Fault(f"column {name!r} has {key} without {lacking_key}; add it.") from None
            except (ValueError, TypeError, AttributeError) as reason:
                raise _Fault(f"column {name!r} has {key} = {_shown(entry[key])}; {reason}") from None
    return _KINDS[kind](name=name, **fields)


def _shown(value: Any) -> str:
    text = str(value) if isinstance(value, Decimal) else repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError("it must be text in quotes.")
    return value


def _texts(value: Any) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise ValueError('it must be a list of texts in quotes, such as ["low", "high"].')
    return tuple(value)


def _numbers(value: Any) -> tuple[Fraction, ...]:
    plain = isinstance(value, list) and all(isinstance(v, int | Decimal) and not isinstance(v, bool) for v in value)
    if not plain or not all(Decimal(item).is_finite() for item in value):
        raise ValueError("it must be a list of finite numbers, such as [0, 5, 10].")
    if any(not -30 <= Decimal(item).adjusted() <= 18 for item in value if item):
        raise ValueError("its numbers must lie between 1e-30 and 1e18 in size.")  # or a Fraction would never end
    return tuple(Fraction(item) for item in value)


def _flag(value: Any) -> bool:
    if not isinstance(value, bool):
        raise ValueError("it must be true or false.")
    return value


def _whole(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise ValueError("it must be a whole number.")
    return value


def _day(value: Any) -> dt.date:
    if not isinstance(value, dt.date) or isinstance(value, dt.datetime):
        raise ValueError("it must be a date without quotes, such as 2010-01-31.")
    return value


def _one_of(*words: str) -> Callable[[Any], str]:
    def read(value: Any) -> str:
        if value not in words:
            raise ValueError(f"it must be one of {', '.join(words)}.")
        return str(value)

    return read


def _hierarchy(value: Any) -> tuple[Generalisation, ...]:
    return tuple(
        Generalisation(
            name=_text(step["name"]),
            groups=tuple((group, _texts(levels)) for group, levels in step["groups"].items()),
        )
        for step in value
    )


def _groups(value: Any) -> tuple[tuple[str, tuple[str, ...]], ...]:
    if not isinstance(value, dict) or not value:
        raise ValueError('it must be a table of coarse levels with their codes, such as { heart = ["410", "411"] }.')
    return tuple((group, _texts(codes)) for group, codes in value.items())


def _attestation(value: Any) -> Attestation:
    if strange := sorted(set(value) - {"by", "source", "on", "of"}):
        raise ValueError(f"it knows by, source, on and of, not {', '.join(strange)}.")
    of = None if "of" not in value else _text(value["of"])
    said = Attestation(by=_text(value["by"]), source=_text(value["source"]), on=_day(value["on"]), of=of)
    if not said.by.strip() or not said.source.strip():
        raise ValueError("its by and source must not be empty: name the person and the published source.")
    return said


_ROLE = _one_of(*(role.value for role in Role))
_ORIGIN = _one_of(*(origin.value for origin in Origin))
_GRAIN = _one_of(*(grain.value for grain in Grain))
_COMMON: dict[str, Callable[[Any], Any]] = {
    "role": lambda value: Role(_ROLE(value)),
    "description": _text,
    "missing": _text,
    "parents": _texts,
    "origin": lambda value: Origin(_ORIGIN(value)),
    "attestation": _attestation,
    "hierarchy": _hierarchy,
}
_LISTED: dict[str, Callable[[Any], Any]] = {"levels": _texts, "other": _text}
_BINNED: dict[str, Callable[[Any], Any]] = {
    "edges": _numbers,
    "closed": _one_of("left", "right"),
    "clip": _flag,
    "spikes": _numbers,
    "shape": _one_of("uniform", "log", "measured"),
    "pieces": _whole,
    "units": _text,
}
_OWN: dict[str, dict[str, Callable[[Any], Any]]] = {
    "categorical": _LISTED,
    "ordinal": _LISTED,
    "integer": _BINNED,
    "continuous": {**_BINNED, "precision": _whole},
    "date": {"grain": lambda value: Grain(_GRAIN(value)), "start": _day, "end": _day},
    "detail": {"detail_of": _text, "other": _text, "groups": _groups},
    "text": {},
}
_NEEDED = {
    "categorical": ("levels",),
    "ordinal": ("levels",),
    "integer": ("edges",),
    "continuous": ("edges", "precision"),
    "date": ("grain", "start", "end"),
    "detail": ("detail_of", "other", "groups"),
}


def write_codebook(book: Codebook) -> str:
    """The canonical text of a codebook; defaults are left out."""
    lines = [f"format = {FORMAT}"]
    if book.title:
        lines.append(f"title = {quoted(book.title)}")
    if book.description:
        lines.append(f"description = {quoted(book.description)}")
    if book.weight is not None:
        lines.append(f"weight = {quoted(book.weight)}")
    if book.unit is not None:
        lines += unit_lines(book.unit)
    if book.paid is not None:
        lines += paid_lines(book.paid)
    for column in book.columns:
        lines += ["", "[[columns]]", *_column_lines(column)]
    for rule in book.constraints:
        lines += ["", "[[constraints]]", *rule_lines(rule)]
    return "\n".join(lines) + "\n"


def _column_lines(column: Column) -> list[str]:
    lines = [f"name = {quoted(column.name)}", f'kind = "{column.kind}"']
    if column.role is not Role.OTHER:
        lines.append(f'role = "{column.role.value}"')
    if column.description:
        lines.append(f"description = {quoted(column.description)}")
    lines += _own_lines(column)
    if column.missing is not None:
        lines.append(f"missing = {quoted(column.missing)}")
    if column.parents is not None:
        lines.append(list_line("parents", [quoted(name) for name in column.parents]))
    if column.origin is not Origin.DECLARED:
        lines.append(f'origin = "{column.origin.value}"')
    if column.attestation is not None:
        a = column.attestation
        lines += ["", "[columns.attestation]", f"by = {quoted(a.by)}", f"source = {quoted(a.source)}"]
        lines += [f"on = {a.on.isoformat()}", *([] if a.of is None else [f"of = {quoted(a.of)}"])]
    if isinstance(column, Detail):
        lines += ["", "[columns.groups]"]
        lines += [list_line(bare_key(group), [quoted(code) for code in codes]) for group, codes in column.groups]
    for step in column.hierarchy:
        lines += [
            "",
            "[[columns.hierarchy]]",
            f"name = {quoted(step.name)}",
            "",
            "[columns.hierarchy.groups]",
        ]
        lines += [list_line(bare_key(group), [quoted(level) for level in levels]) for group, levels in step.groups]
    return lines


def _own_lines(column: Column) -> list[str]:
    if isinstance(column, Categorical | Ordinal):
        lines = [list_line("levels", [quoted(level) for level in column.levels])]
        return lines if column.other is None else [*lines, f"other = {quoted(column.other)}"]
    if isinstance(column, Integer | Continuous):
        lines = [list_line("edges", [number_text(edge) for edge in column.edges])]
        if column.closed != "left":
            lines.append(f'closed = "{column.closed}"')
        if column.clip:
            lines.append("clip = true")
        if column.spikes:
            lines.append(list_line("spikes", [number_text(spike) for spike in column.spikes]))
        if column.shape != "uniform":
            lines.append(f'shape = "{column.shape}"')
        if column.pieces is not None:
            lines.append(f"pieces = {column.pieces}")
        if column.units:
            lines.append(f"units = {quoted(column.units)}")
        return [*lines, f"precision = {column.precision}"] if isinstance(column, Continuous) else lines
    if isinstance(column, Detail):
        lines = [f"detail_of = {quoted(column.detail_of)}"]
        return lines if column.other is None else [*lines, f"other = {quoted(column.other)}"]
    if isinstance(column, Dates):
        return [f'grain = "{column.grain.value}"', f"start = {column.start}", f"end = {column.end}"]
    return []


def column_content(column: Column) -> str:
    """Digest of the levels, edges or codes of a column: what a person attests, or a draft was paid for."""
    lines = [column.kind, *_own_lines(column), "" if column.missing is None else f"missing = {quoted(column.missing)}"]
    if isinstance(column, Detail):
        lines += [list_line(bare_key(group), [quoted(code) for code in codes]) for group, codes in column.groups]
    return "sha256:" + hashlib.sha256("\n".join(lines).encode()).hexdigest()[:32]


def column_as_mapping(column: Column) -> Mapping[str, Any]:
    """The column's own TOML table as plain data, for `codebook show --json`."""
    return dict(tomllib.loads("[[columns]]\n" + "\n".join(_column_lines(column)) + "\n")["columns"][0])
