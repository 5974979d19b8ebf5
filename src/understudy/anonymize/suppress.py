"""Steps that blank values or delete rows: by name, or where a combination is rare."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from understudy.anonymize.cells import base_texts
from understudy.anonymize.entries import COLUMN, COLUMNS, LEVELS
from understudy.anonymize.state import State, Step
from understudy.errors import ParameterError
from understudy.parameters import Whole, option


@dataclass(frozen=True, kw_only=True)
class _Suppress(Step):
    """Where: rows whose ``column`` has one of the levels ``when``, or whose combination of ``among`` is rare."""

    when: tuple[str, ...] | None = option(None, rule=LEVELS, help="Rows with one of these levels.")
    rarer_than: int | None = option(
        None, rule=Whole(least=2, tried=5), help="Rows whose combination of values fewer rows share."
    )
    among: tuple[str, ...] | None = option(
        None, rule=COLUMNS, help="The columns of that combination; default: the quasi-identifiers."
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if (self.when is None) == (self.rarer_than is None):
            raise ParameterError(f"{self.do} needs when = [levels] or rarer_than = k, one of them.")

    def _chosen(self, state: State, column: str | None) -> npt.NDArray[np.bool_]:
        """Which cells are suppressed."""
        cells = state.cells
        if self.when is not None:
            if column is None:
                raise ParameterError(f"{self.do} with when = [...] needs the column that is meant.")
            missing = cells.column(column).missing
            labels = [*base_texts(cells.column(column)), *([] if missing is None else [missing])]
            if unknown := [level for level in self.when if level not in labels]:
                raise ParameterError(f"column {column!r} has no level {', '.join(map(repr, unknown))}.")
            return np.isin(cells.of(column), [labels.index(level) for level in self.when])
        assert self.rarer_than is not None
        places = [cells.place(name) for name in self.among or state.quasi]
        combination = np.unique(cells.codes[:, places], axis=0, return_inverse=True)[1].ravel()
        return np.asarray(np.bincount(combination, weights=cells.counts)[combination] < self.rarer_than)


@dataclass(frozen=True, kw_only=True)
class SuppressCells(_Suppress):
    """Values of ``columns`` become ``*``: where they are one of ``when``, or in rows of a rare combination."""

    do: ClassVar[str] = "suppress-cells"
    columns: tuple[str, ...] = option(rule=COLUMNS, help="The columns whose values become *.")

    @property
    def is_record_wise(self) -> bool:
        """A rule about the record's own values is; rarity is not."""
        return self.when is not None

    def apply(self, state: State) -> State:
        """Star them."""
        chosen = {name: self._chosen(state, name) for name in self.columns}
        values = sum(int(state.cells.counts[rows].sum()) for rows in chosen.values())
        return state.after(state.cells.starred(chosen), do=self.do, columns=list(self.columns), values=values)


@dataclass(frozen=True, kw_only=True)
class SuppressRows(_Suppress):
    """Rows go: those whose ``column`` is one of ``when``, or of a rare combination."""

    do: ClassVar[str] = "suppress-rows"
    is_record_wise = False
    """Not even by a rule: a record that takes another value may then be gone, and a price for tables of one public size
    (replace-one) says nothing about two tables of different sizes."""
    column: str | None = option(None, rule=COLUMN, help="The column that has these levels.")

    def apply(self, state: State) -> State:
        """Delete them."""
        chosen = self._chosen(state, self.column)
        rows = int(state.cells.counts[chosen].sum())
        return state.after(state.cells.filtered(~chosen), do=self.do, rows=rows)
