"""Public lists: where people may live, and how many synthetic workers each destination gets."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from understudy.commute.tables import read_columns
from understudy.errors import DataError
from understudy.privacy.provenance import DECLARED, InputRole, Provenance


@dataclass(frozen=True, kw_only=True)
class Origins:
    """The public list of possible origins."""

    names: tuple[str, ...] = field(repr=False)
    provenance: Provenance = DECLARED

    def __post_init__(self) -> None:
        if len(set(self.names)) < len(self.names):
            raise DataError("the list of origins names one twice; keep each once.")


@dataclass(frozen=True, kw_only=True)
class Sizes(Mapping[str, int]):
    """The public number of synthetic workers of each destination."""

    workers: Mapping[str, int] = field(repr=False)
    provenance: Provenance = DECLARED

    def __getitem__(self, destination: str) -> int:
        return self.workers[destination]

    def __iter__(self) -> Iterator[str]:
        return iter(self.workers)

    def __len__(self) -> int:
        return len(self.workers)


def read_origins(what: Any, *, confidential: Any = None) -> Origins:
    """A public table with the column ``origin``, or a list of names."""
    if isinstance(what, Origins):
        return what
    if isinstance(what, list | tuple):
        return Origins(names=tuple(what))
    columns = read_columns(what, InputRole.ORIGINS, confidential=confidential)
    return Origins(names=columns.texts("origin", "place", "geocode"), provenance=columns.provenance)


def read_sizes(what: Any, *, confidential: Any = None) -> Sizes:
    """A public table of ``destination`` and ``workers``: how many synthetic ones each gets."""
    columns = read_columns(what, InputRole.SIZES, confidential=confidential)
    numbers = columns.numbers("workers", "count", "size")
    if not np.all(np.isfinite(numbers) & (numbers == np.floor(numbers))):
        raise DataError(f"an output size of {columns.label} is no whole number; give one for each destination.")
    named = dict(zip(columns.texts("destination", "place"), (int(number) for number in numbers), strict=True))
    return Sizes(workers=named, provenance=columns.provenance)
