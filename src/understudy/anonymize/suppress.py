"""Steps that blank values or delete rows: by name, or where a combination is rare."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from understudy.anonymize.cells import Cells, base_texts, star_map, with_star
from understudy.anonymize.state import State, Step, texts, whole
from understudy.errors import ParameterError


@dataclass(frozen=True, kw_only=True)
class _Suppress(Step):
    """Where: rows whose ``column`` has one of the levels ``when``, or whose combination of ``among`` is rare."""

    when: tuple[str, ...] | None = None
    rarer_than: int | None = None
    among: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        if (self.when is None) == (self.rarer_than is None):
            raise ParameterError(f"{self.do} needs when = [levels] or rarer_than = k, one of them.")
        if self.when is not None:
            texts("when", self.when)
        else:
            whole("rarer_than", self.rarer_than, 2)
            if self.among is not None:
                texts("among", self.among)

    def _meant(self, state: State, column: str | None) -> npt.NDArray[np.bool_]:
        cells = state.cells
        if self.when is not None:
            if column is None:
                raise ParameterError(f"{self.do} with when = [...] needs the column that is meant.")
            labels = (
                *base_texts(cells.column(column)),
                *((cells.column(column).missing,) if cells.column(column).missing is not None else ()),
            )
            if strange := [level for level in self.when if level not in labels]:
                raise ParameterError(f"column {column!r} has no level {', '.join(map(repr, strange))}.")
            return np.isin(cells.of(column), [labels.index(level) for level in self.when])
        assert self.rarer_than is not None
        among = self.among or state.quasi
        return rare_cells(cells, among, self.rarer_than)


def rare_cells(cells: Cells, among: Sequence[str], k: int) -> npt.NDArray[np.bool_]:
    """Cells whose combination of some columns fewer than ``k`` records share."""
    places = [cells.place(name) for name in among]
    _, which = np.unique(cells.codes[:, places], axis=0, return_inverse=True)
    which = which.ravel()
    return np.asarray(np.bincount(which, weights=cells.counts)[which] < k)


@dataclass(frozen=True, kw_only=True)
class SuppressCells(_Suppress):
    """Values of ``columns`` become ``*``: where they are one of ``when``, or in rows of a rare combination."""

    do: ClassVar[str] = "suppress-cells"
    says: ClassVar[str] = "blank single values"
    columns: tuple[str, ...]

    @property
    def is_record_wise(self) -> bool:
        """A rule about the record's own values is; rarity is not."""
        return self.when is not None

    def __post_init__(self) -> None:
        super().__post_init__()
        texts("columns", self.columns)

    def apply(self, state: State) -> State:
        """Star them."""
        hit = 0
        meant = {name: self._meant(state, name) for name in self.columns}
        cells, columns, codes = state.cells, list(state.cells.columns), state.cells.codes.copy()
        for name, out in meant.items():
            place = cells.place(name)
            starred, star = with_star(columns[place])
            codes[:, place] = np.where(out, star, star_map(columns[place], starred)[codes[:, place]])
            columns[place] = starred
            hit += int(cells.counts[out].sum())
        fresh = Cells(columns=tuple(columns), codes=codes, counts=cells.counts).merged()
        return replace(state, cells=fresh).told(do=self.do, columns=list(self.columns), values=hit)


@dataclass(frozen=True, kw_only=True)
class SuppressRows(_Suppress):
    """Rows go: those whose ``column`` is one of ``when``, or of a rare combination."""

    do: ClassVar[str] = "suppress-rows"
    says: ClassVar[str] = "delete rows"
    is_record_wise = False
    """Not even by a rule: a record that takes another value may then be gone, and a price for tables of one public size
    (replace-one) says nothing about two tables of different sizes."""
    column: str | None = None

    def apply(self, state: State) -> State:
        """Delete them."""
        out = self._meant(state, self.column)
        rows = int(state.cells.counts[out].sum())
        return replace(state, cells=state.cells.filtered(~out)).told(do=self.do, rows=rows)
