"""Values as JSON and TOML know them, and back: one way for manifests, accounts, models, reports and recipe files.

A dataclass becomes a dict of its fields, an enum its value, a fraction its text, an array a list. :func:`from_plain`
reads that back by the types that the fields declare.

>>> from dataclasses import dataclass
>>> @dataclass(frozen=True)
... class Cut:
...     at: Fraction
...     names: tuple[str, ...] = ()
>>> to_plain(Cut(Fraction(1, 3), ("a",)))
{'at': '1/3', 'names': ['a']}
>>> from_plain(Cut, {"at": "1/3", "names": ["a"]})
Cut(at=Fraction(1, 3), names=('a',))
"""

import dataclasses
import re
import types
from collections.abc import Mapping, Sequence
from enum import Enum
from fractions import Fraction
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

Value = TypeVar("Value")
_EXPONENT = re.compile(r"[eE]([-+]?[0-9_]+)\s*$")
_MOST = 400
"""No float has a larger power of ten."""


def to_plain(value: Any) -> Any:
    """``value`` in plain data; an object without a plain form is told in its own words."""
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, str | int | float | bool | type(None)):
        return value
    if isinstance(value, Fraction):
        return f"{value.numerator}/{value.denominator}"
    if dataclasses.is_dataclass(value) and not isinstance(value, type) and not hasattr(value, "to_dict"):
        return {field.name: to_plain(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if hasattr(value, "to_dict"):
        return value.to_dict()
    if isinstance(value, Mapping):
        return {key: to_plain(item) for key, item in value.items()}
    if isinstance(value, tuple | list | set | frozenset):
        return [to_plain(item) for item in (sorted(value) if isinstance(value, set | frozenset) else value)]
    if type(value).__module__ == "numpy":  # not imported here: the help of a command must come at once
        return value.tolist()
    return str(value)


def from_plain(kind: type[Value], data: Any) -> Value:
    """The value of type ``kind`` whose plain form is ``data``.

    Where ``data`` has another shape it raises LookupError, TypeError or ValueError; whoever reads a file says so.
    """
    read: Value = _read(kind, data)
    return read


def to_fraction(value: Any) -> Fraction:
    """The fraction that a number or its text stands for; "1e999999999" is refused, which would fill the memory.

    >>> to_fraction("0.1"), to_fraction("1/3")
    (Fraction(1, 10), Fraction(1, 3))
    """
    if isinstance(value, str) and (found := _EXPONENT.search(value)) and abs(int(found[1])) > _MOST:
        raise ValueError(f"{value[:40]!r} is beyond all floats")
    return Fraction(value)


def is_numpy_number(value: Any) -> bool:
    """Whether it is a single number of numpy's."""
    return type(value).__module__ == "numpy" and value.shape == () and value.dtype.kind in "iuf"


def _read(kind: Any, data: Any) -> Any:
    origin, arguments = get_origin(kind), get_args(kind)
    if origin in (Union, types.UnionType):
        return _read_union(arguments, data)
    if origin in (tuple, list, Sequence):
        if not isinstance(data, list | tuple):
            raise TypeError(f"expected a list, not {type(data).__name__}")
        if origin is tuple and arguments[-1] is not Ellipsis:
            return tuple(_read(inner, item) for inner, item in zip(arguments, data, strict=True))
        items = [_read(arguments[0], item) for item in data]
        return items if origin is list else tuple(items)
    if origin in (dict, Mapping):
        return {_read(arguments[0], key): _read(arguments[1], item) for key, item in data.items()}
    if getattr(origin, "__module__", None) == "numpy":
        kind = origin
    if not isinstance(kind, type):
        return data
    if issubclass(kind, Enum | Fraction):
        return to_fraction(data) if kind is Fraction else kind(data)
    if dataclasses.is_dataclass(kind):
        return _read_dataclass(kind, data)
    if kind.__module__ == "numpy":
        import numpy as np

        return np.asarray(data)
    if kind is float and isinstance(data, int) and not isinstance(data, bool):
        return float(data)
    if kind in (str, int, float, bool, type(None)) and (
        not isinstance(data, kind) or (kind is int and isinstance(data, bool))
    ):
        raise TypeError(f"expected {kind.__name__}, not {type(data).__name__}")
    return data


def _read_union(kinds: tuple[Any, ...], data: Any) -> Any:
    if data is None and type(None) in kinds:
        return None
    for kind in kinds:
        if kind is not type(None):
            try:
                return _read(kind, data)
            except (LookupError, TypeError, ValueError):
                continue
    raise TypeError(f"{data!r} is none of the kinds that may stand here")


def _read_dataclass(kind: Any, data: Mapping[str, Any]) -> Any:
    if hasattr(kind, "from_dict"):
        return kind.from_dict(data)
    hints = get_type_hints(kind)
    known = {field.name: field for field in dataclasses.fields(kind)}
    if unknown := sorted(set(data) - set(known)):
        raise ValueError(f"{kind.__name__} has no field {', '.join(unknown)}")
    return kind(**{name: _read(hints[name], item) for name, item in data.items()})
