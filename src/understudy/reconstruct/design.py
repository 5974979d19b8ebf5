"""Individuals' columns as a matrix: numbers standardised, words as indicators, and the same for new records."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from understudy.errors import DataError
from understudy.extras import need
from understudy.reconstruct.grams import Floats

MOST_LEVELS = 100
"""A column of words with more levels than this is a name, not a covariate."""


def as_frame(individuals: Any) -> Any:
    """A pandas frame of the individuals, from a path, an Arrow table, a pandas or Polars frame, or a dictionary."""
    need("pandas", extra="models", what="reconstruction")
    import pandas as pd

    if isinstance(individuals, pd.DataFrame):
        return individuals
    if isinstance(individuals, dict):
        return pd.DataFrame(individuals)
    from understudy.sources.faults import engine_errors
    from understudy.sources.files import open_table

    opened = open_table(individuals)
    opened.verify()
    with engine_errors(repr(opened.label)):
        frame = opened.table.to_pyarrow().to_pandas()
    return frame.set_axis(list(opened.header), axis=1)


def is_identifier(values: Any) -> bool:
    """Whether a column of words or whole numbers differs in every one of many rows: a name, not a covariate."""
    if len(values) < 100 or not bool(values.is_unique):
        return False
    numbers = _numbers(values)
    return numbers is None or bool((numbers % 1 == 0).all())


@dataclass(frozen=True, kw_only=True, eq=False)
class _Part:
    """One column of the file: what it becomes."""

    name: str
    levels: tuple[str, ...] | None
    """Levels that get an indicator (the commonest one gets none); None for a number."""
    fill: float = 0.0
    """What stands for a missing number."""
    has_gaps: bool = False


@dataclass(frozen=True, kw_only=True, eq=False)
class Design:
    """How columns become a matrix; the last column is the constant, where there is one."""

    parts: tuple[_Part, ...]
    centres: Floats
    spreads: Floats
    """Of the matrix's columns, the constant left out."""
    intercept: bool
    notes: tuple[str, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the matrix's columns."""
        names = []
        for part in self.parts:
            names += [part.name] if part.levels is None else [f"{part.name} = {level}" for level in part.levels]
            names += [f"{part.name} is missing"] if part.has_gaps else []
        return (*names, *(["constant"] if self.intercept else []))

    @classmethod
    def learn(
        cls, frame: Any, columns: Sequence[str], *, standardise: bool, intercept: bool
    ) -> tuple["Design", Floats]:
        """The design of these columns, and the matrix of these individuals."""
        need("pandas", extra="models", what="reconstruction")
        parts, notes, blocks = [], [], []
        for name in columns:
            values = frame[name]
            part = _part_of(name, values)
            if part is None:
                notes.append(f"{name!r} is constant and says nothing: it was left out.")
                continue
            if part.levels is None and part.has_gaps:
                missing = int(values.isna().sum())
                notes.append(f"{name!r} is missing in {missing:,} rows: its mean and an indicator stand in.")
            parts.append(part)
            blocks.append(_block(part, values))
        matrix = np.concatenate(blocks, axis=1) if blocks else np.zeros((len(frame), 0))
        centres, spreads = np.zeros(matrix.shape[1]), np.ones(matrix.shape[1])
        if standardise and matrix.shape[1]:
            centres, spreads = matrix.mean(axis=0), matrix.std(axis=0)
            spreads = np.where(spreads > 0, spreads, 1.0)
            matrix = (matrix - centres) / spreads
        design = cls(parts=tuple(parts), centres=centres, spreads=spreads, intercept=intercept, notes=tuple(notes))
        return design, _with_constant(matrix, intercept)

    def matrix(self, frame: Any) -> Floats:
        """New records, by the same design."""
        lacking = [part.name for part in self.parts if part.name not in frame.columns]
        if lacking:
            raise DataError(f"the new records lack the columns {', '.join(map(repr, lacking))} that the fit used.")
        blocks = [_block(part, frame[part.name]) for part in self.parts]
        matrix = np.concatenate(blocks, axis=1) if blocks else np.zeros((len(frame), 0))
        return _with_constant((matrix - self.centres) / self.spreads, self.intercept)


def _part_of(name: str, values: Any) -> _Part | None:
    """What a column becomes; None where it is constant."""
    import pandas as pd

    numbers = _numbers(values)
    gaps = bool(values.isna().any())
    if values.isna().all():
        raise DataError(f"the column {name!r} is empty; leave it out (choose columns).")
    if numbers is not None:
        is_constant = not gaps and float(numbers.std(ddof=0)) == 0.0
        return None if is_constant else _Part(name=name, levels=None, fill=float(numbers.mean()), has_gaps=gaps)
    counted = pd.Series(values.dropna().astype(str)).value_counts()
    if len(counted) > MOST_LEVELS:
        raise DataError(
            f"the column {name!r} has {len(counted):,} different words; at most {MOST_LEVELS} can serve as a "
            "covariate. Leave it out, or name the columns to use with `columns`."
        )
    ordered = sorted(counted.index, key=lambda level: (-int(counted[level]), level))
    return (
        None if len(ordered) == 1 and not gaps else _Part(name=name, levels=tuple(sorted(ordered[1:])), has_gaps=gaps)
    )


def _with_constant(matrix: Floats, intercept: bool) -> Floats:
    return np.column_stack([matrix, np.ones(len(matrix))]) if intercept else np.ascontiguousarray(matrix)


def _numbers(values: Any) -> Any:
    """The column as numbers, or None where a word is among them."""
    need("pandas", extra="models", what="reconstruction")
    import pandas as pd

    if pd.api.types.is_bool_dtype(values):
        return values.astype(float)
    if pd.api.types.is_numeric_dtype(values):
        numbers = values.astype(float)
    else:
        numbers = pd.to_numeric(values, errors="coerce")
        if bool((numbers.isna() & values.notna()).any()):
            return None
    if bool(np.isinf(numbers.to_numpy(dtype=float)).any()):
        raise DataError(f"the column {values.name!r} holds an infinite number; mend it or leave it out.")
    return numbers


def _block(part: _Part, values: Any) -> Floats:
    if part.levels is None:
        numbers = _numbers(values)
        if numbers is None:
            raise DataError(
                f"the column {part.name!r} held numbers in the fit and holds words now; mend the new records."
            )
        columns = [numbers.fillna(part.fill).to_numpy(dtype=np.float64)]
    else:
        texts = values.astype(object).where(values.notna(), None).map(lambda x: None if x is None else str(x))
        columns = [(texts == level).to_numpy(dtype=np.float64) for level in part.levels]
    if part.has_gaps:
        columns.append(values.isna().to_numpy(dtype=np.float64))
    return np.stack(columns, axis=1) if columns else np.zeros((len(values), 0))
