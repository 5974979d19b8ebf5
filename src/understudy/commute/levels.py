"""Levels of geography: the coarser units that places lie in, and the tree that is made of them.

Levels are columns of the public places table, coarse to fine. Each has codes and perhaps readable names. They need not
nest: the tree is made of pieces, which are the parts that two levels have in common.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from understudy.errors import DataError, listed

if TYPE_CHECKING:
    from understudy.commute.places import Columns

Integers = npt.NDArray[np.int64]

KNOWN = ("country", "state", "region", "county", "town", "district", "tract", "block_group")
"""Columns that are levels wherever a places table has them, coarse to fine."""
PLACE = "place"
"""What the finest level is called."""
_TAKEN = (PLACE, "name", "id", "geocode", "home", "latitude", "lat", "longitude", "lon", "lng")


@dataclass(frozen=True, kw_only=True, eq=False)
class Level:
    """One level: its units, and which of them every place lies in."""

    name: str
    codes: tuple[str, ...]
    labels: tuple[str, ...]
    """Readable names of the units; their codes where none were given."""
    of: Integers
    """Position of each place's unit among the codes."""


def read_levels(columns: "Columns", names: Sequence[str] | None) -> tuple[Level, ...]:
    """The levels of a places table: those that are named, or every column that bears a known word."""
    if names is None:
        names = [name for name in KNOWN if columns.has(name)]
    wrong = [name for name in names if name in _TAKEN or not columns.has(name)]
    if wrong or len(set(names)) < len(names):
        raise DataError(
            f"the levels are {listed(map(repr, names))}; each must be another column of {columns.label}, and none may "
            f"be the place itself. It has {listed(map(repr, columns.data.column_names))}."
        )
    return tuple(_level(columns, name) for name in names)


def _level(columns: "Columns", name: str) -> Level:
    of_places = columns.texts(name)
    codes = tuple(sorted(set(of_places)))
    number = {code: at for at, code in enumerate(codes)}
    labels = {code: code for code in codes}
    if columns.has(f"{name}_name"):
        for code, label in zip(of_places, columns.data.column(f"{name}_name").to_pylist(), strict=True):
            if label is None:
                continue
            if labels[code] not in (code, label):
                raise DataError(
                    f"{name} {code!r} of {columns.label} is called {labels[code]!r} and {label!r}; give it one name."
                )
            labels[code] = str(label)
    return Level(
        name=name,
        codes=codes,
        labels=tuple(labels[code] for code in codes),
        of=np.array([number[code] for code in of_places], dtype=np.int64),
    )


@dataclass(frozen=True, kw_only=True, eq=False)
class Pieces:
    """The tree over some places: on each step a partition, the last one into the places themselves."""

    of: tuple[Integers, ...]
    """Of each step: the piece that every place lies in."""
    parent: tuple[Integers, ...]
    """Of each step: where its pieces lie among those of the step before; the first step lies in one whole."""

    @property
    def sizes(self) -> tuple[int, ...]:
        """Number of pieces of each step."""
        return tuple(len(parent) for parent in self.parent)


def pieces_of(units: Iterable[Integers], places: int) -> Pieces:
    """The tree of ``places`` places: ``units`` holds, level by level, the unit of each.

    >>> tree = pieces_of([np.array([0, 0, 1]), np.array([5, 6, 6])], 3)
    >>> tree.sizes, tree.parent[1].tolist()
    ((2, 3, 3), [0, 0, 1])
    """
    before, of, parent = np.zeros(places, dtype=np.int64), [], []
    for unit in units:
        width = int(unit.max()) + 1
        keys, piece = np.unique(before * width + unit, return_inverse=True)
        before = piece.reshape(-1).astype(np.int64)
        of.append(before)
        parent.append(keys // width)
    return Pieces(of=(*of, np.arange(places)), parent=(*parent, before))
