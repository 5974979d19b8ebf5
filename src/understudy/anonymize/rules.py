"""How a recipe names a hierarchy: public words, turned into a tree when the column is at hand."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from understudy.anonymize.hierarchies import from_arx, from_codebook, from_dates, from_intervals, from_prefixes
from understudy.anonymize.hierarchy import Hierarchy
from understudy.codebook import Column
from understudy.errors import ParameterError

_KINDS = ("codebook", "intervals", "prefix", "dates", "arx")


@dataclass(frozen=True, kw_only=True)
class Rule:
    """One of: the codebook's steps, ``intervals`` of numbers, ``prefix`` lengths, ``dates`` units, an ``arx`` file."""

    intervals: tuple[Any, ...] = ()
    start: Any = 0
    prefix: tuple[int, ...] = ()
    dates: tuple[str, ...] = ()
    arx: Path | None = None
    top: bool = True
    """Whether a last step may replace everything by ``*``."""

    def build(self, column: Column) -> Hierarchy:
        """The hierarchy of a column, checked."""
        if self.intervals:
            return from_intervals(column, self.intervals, start=self.start, top=self.top)
        if self.prefix:
            return from_prefixes(column, self.prefix, top=self.top)
        if self.dates:
            return from_dates(column, self.dates, top=self.top)
        if self.arx is not None:
            return from_arx(column, self.arx, top=self.top)
        return from_codebook(column, top=self.top)

    def to_dict(self) -> dict[str, Any]:
        """As plain data; a file is known by its name and digest, never by its place."""
        said: dict[str, Any] = {}
        if self.intervals:
            said |= {"intervals": [_plain(width) for width in self.intervals], "start": _plain(self.start)}
        elif self.prefix:
            said |= {"prefix": list(self.prefix)}
        elif self.dates:
            said |= {"dates": list(self.dates)}
        elif self.arx is not None:
            digest = hashlib.sha256(self.arx.read_bytes()).hexdigest() if self.arx.is_file() else None
            said |= {"arx": self.arx.name, "digest": f"sha256:{digest}"}
        else:
            said |= {"codebook": True}
        return said if self.top else {**said, "top": False}


def _plain(value: Any) -> Any:
    return value if isinstance(value, int | float) else float(value)


def rule_from_dict(name: str, data: Any, folder: Path) -> Rule:
    """From a recipe; files are looked for beside it."""
    if not isinstance(data, Mapping):
        raise ParameterError(f"the hierarchy of {name!r} is {data!r}; write it as a table, such as prefix = [3, 2].")
    given = [kind for kind in _KINDS if kind in data]
    if len(given) > 1:
        raise ParameterError(f"the hierarchy of {name!r} is given by {' and by '.join(given)}; choose one.")
    if strange := sorted(set(data) - {*_KINDS, "start", "top"}):
        raise ParameterError(
            f"the hierarchy of {name!r} has unknown keys {', '.join(strange)}; known are"
            f" {', '.join(_KINDS)}, start, top."
        )
    top = data.get("top", True)
    if not isinstance(top, bool):
        raise ParameterError(f"the hierarchy of {name!r} has top = {top!r}; it must be true or false.")
    listed = {}
    for kind in ("intervals", "prefix", "dates"):
        if kind in data:
            if not isinstance(data[kind], list) or not data[kind]:
                raise ParameterError(f"the hierarchy of {name!r} has {kind} = {data[kind]!r}; give a list.")
            listed[kind] = tuple(data[kind])
    arx = data.get("arx")
    if arx is not None and not isinstance(arx, str):
        raise ParameterError(f"the hierarchy of {name!r} has arx = {arx!r}; give the name of a file.")
    return Rule(**listed, start=data.get("start", 0), arx=None if arx is None else folder / arx, top=top)
