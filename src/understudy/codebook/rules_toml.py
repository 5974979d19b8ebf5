"""Rules as TOML tables: ``[[constraints]]`` of a codebook."""

import datetime as dt
from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any

from understudy.codebook.rules import Choice, Determines, Implies, Impossible, Order, Rule
from understudy.codebook.toml_text import bare_key, list_line, quoted

_EXAMPLE = '{ sex = "M", diagnosis = ["delivery", "abortion"] }'


def read_rules(entries: Any) -> tuple[tuple[Rule, ...], list[str]]:
    """All rules that can be read, and what is wrong with the others."""
    if not isinstance(entries, list):
        return (), ["constraints is not a list of tables; write each rule as [[constraints]]."]
    rules, faults = [], []
    for number, entry in enumerate(entries, start=1):
        try:
            rules.append(_read_rule(entry))
        except ValueError as reason:
            faults.append(f"constraint {number} {reason}")
    return tuple(rules), faults


def _read_rule(entry: Any) -> Rule:
    if not isinstance(entry, dict):
        raise ValueError("is not a table; write it as [[constraints]].")
    kind = entry.get("kind")
    if kind not in _KEYS:
        raise ValueError(f"is of kind {kind!r}; kinds are {', '.join(_KEYS)}.")
    readers = _KEYS[kind]
    if strange := sorted(set(entry) - set(readers) - {"kind", "name"}):
        raise ValueError(f"has unknown keys {', '.join(strange)}; {kind} knows {', '.join(readers)} and name.")
    if lacking := [key for key in readers if key not in entry]:
        raise ValueError(f"lacks {', '.join(lacking)}, which {kind} needs.")
    fields: dict[str, Any] = {"name": _text(entry.get("name", ""), "name")}
    for key, reader in readers.items():
        fields[key] = reader(entry[key], key)
    return _CLASSES[kind](**fields)


def _text(value: Any, key: str) -> str:
    if not isinstance(value, str):
        raise ValueError(f"has {key} = {value!r}; it must be text in quotes.")
    return value


def _relation(value: Any, key: str) -> str:
    if value not in ("<", "<="):
        raise ValueError(f'has {key} = {value!r}; it must be "<" or "<=". Swap low and high for the others.')
    return str(value)


def _value(value: Any, key: str) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str | int | Decimal | dt.date):
        return str(value)
    raise ValueError(f"has {value!r} in {key}; values are levels, bins, numbers or dates, such as {_EXAMPLE}.")


def _values(value: Any, key: str) -> tuple[str, ...]:
    items = value if isinstance(value, list) else [value]
    return tuple(dict.fromkeys(_value(item, key) for item in items))


def _choice(value: Any, key: str) -> Choice:
    if not isinstance(value, Mapping) or not value:
        raise ValueError(f"has {key} = {value!r}; it must be a table of columns and values, such as {_EXAMPLE}.")
    return tuple((name, _values(items, key)) for name, items in value.items())


_KEYS: dict[str, dict[str, Callable[[Any, str], Any]]] = {
    "impossible": {"cells": _choice},
    "implies": {"when": _choice, "then": _choice},
    "order": {"low": _text, "relation": _relation, "high": _text},
    "determines": {"column": _text, "sets": _text, "groups": _choice},
}
_CLASSES: dict[str, Callable[..., Rule]] = {
    "impossible": Impossible,
    "implies": Implies,
    "order": Order,
    "determines": Determines,
}


def rule_lines(rule: Rule) -> list[str]:
    """The lines of one rule below its ``[[constraints]]``."""
    lines = [f'kind = "{rule.kind}"']
    if rule.name:
        lines.append(f"name = {quoted(rule.name)}")
    if isinstance(rule, Order):
        return [*lines, f"low = {quoted(rule.low)}", f'relation = "{rule.relation}"', f"high = {quoted(rule.high)}"]
    if isinstance(rule, Impossible):
        return [*lines, *_choice_lines("cells", rule.cells)]
    if isinstance(rule, Implies):
        return [*lines, *_choice_lines("when", rule.when), *_choice_lines("then", rule.then)]
    assert isinstance(rule, Determines)
    lines += [f"column = {quoted(rule.column)}", f"sets = {quoted(rule.sets)}"]
    return [*lines, *_choice_lines("groups", rule.groups)]


def _choice_lines(key: str, choice: Choice) -> list[str]:
    inner = [list_line(bare_key(name), [quoted(value) for value in values]) for name, values in choice]
    return ["", f"[constraints.{key}]", *inner]
