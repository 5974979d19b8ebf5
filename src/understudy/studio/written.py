"""What a screen writes into files, for whoever works in an editor: the lines as TOML, and the same in Python.

Where no command does what a screen does, these lines are the same without the studio. They are those that stand in the
file now, or would after the screen's button; words in capitals are for people to replace.
"""

import tomllib
from collections.abc import Mapping
from typing import Any

from understudy.studio.workspace import DECLARED, Dataset, toml_text, without_password

Written = tuple[str, str]
"""A file from the root on, and lines of it."""
_MOST = 60
"""Levels that are still shown; longer lists are left as they stand."""


def lines(own: Dataset, name: str, values: Mapping[str, Any]) -> Written:
    """Lines of a file in the folder of a data set."""
    return own.shown(own.path(name)), toml_text(dict(values))


def declared_lines(own: Dataset, **changes: Any) -> Written:
    """The whole ``dataset.toml``, with what a screen would change."""
    wanted = {**own.declared, **changes}
    shown = {name: without_password(value) if isinstance(value, str) else value for name, value in wanted.items()}
    return lines(own, DECLARED, {name: value for name, value in shown.items() if value})


def in_python(*files: Written) -> tuple[str, ...]:
    """Whole files, as Python writes them."""
    if not files:
        return ()
    writing = [f"Path({name!r}).write_text({text!r}, encoding='utf-8')" for name, text in files]
    return ("from pathlib import Path", *writing)


def column_keys(own: Dataset, table: str, name: str) -> dict[str, Any]:
    """The keys of one column as the codebook spells them, but for long lists."""
    part = _read(own).get("tables", {}).get(table, {}) if table else _read(own)
    found: dict[str, Any] = next((entry for entry in part.get("columns", ()) if entry.get("name") == name), {})
    return {key: value for key, value in found.items() if not _is_long(value)}


def column_lines(own: Dataset, table: str, name: str) -> Written:
    """The table of one column."""
    return lines(own, "codebook.toml", _inside(table, {"columns": [column_keys(own, table, name)]}))


def edit_words(keys: Mapping[str, Any]) -> tuple[tuple[str, ...], str]:
    """Imports, and the keys that an edit of a column may say: who vouches for it is not edited but attested."""
    own = {key: value for key, value in keys.items() if key not in ("name", "origin", "attestation", "review")}
    words = repr(own)
    return (("import datetime",) if "datetime." in words else ()), words


def rule_lines(own: Dataset, table: str, place: int) -> Written | None:
    """One rule; what is taken back is taken out of the file. None where the file spells it otherwise."""
    read = _read(own)
    is_across = not table and "tables" in read
    part = read.get("tables", {}).get(table, {}) if table else read
    key = "rules" if is_across else "constraints"
    entries = part.get(key, ())
    if place >= len(entries):
        return None
    return lines(own, "codebook.toml", _inside(table, {key: [entries[place]]}))


def _inside(table: str, values: dict[str, Any]) -> dict[str, Any]:
    return {"tables": {table: values}} if table else values


def _is_long(value: Any) -> bool:
    return isinstance(value, list | dict) and len(value) > _MOST


def _read(own: Dataset) -> dict[str, Any]:
    return tomllib.loads(own.codebook.read_text(encoding="utf-8-sig"))
