"""Small public tables (places, origins, rings, regions, sizes) as columns, with every fault named.

Each is asked what it is: a table that is called public must not be one of ours that is not.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from understudy.errors import DataError
from understudy.privacy.provenance import InputRole, Provenance
from understudy.sources.faults import engine_errors
from understudy.sources.files import open_table
from understudy.sources.inputs import public_provenance


class Columns:
    """The columns of one public table, found under any of several names."""

    def __init__(self, label: str, data: Any, provenance: Provenance) -> None:
        self.label = label
        self.provenance = provenance
        self._data = data

    def has(self, *names: str) -> bool:
        """Whether there is a column of one of these names."""
        return any(name in self._data.column_names for name in names)

    def texts(self, *names: str) -> tuple[str, ...]:
        """A column as text; nothing may be missing."""
        values = self._values(names)
        if None in values:
            raise DataError(f"{self.label} has a row without {names[0]}; complete or drop it.")
        return tuple(str(value) for value in values)

    def numbers(self, *names: str) -> npt.NDArray[np.float64]:
        """A column as numbers; a missing or unreadable one is NaN."""
        out = np.full(len(self._data), np.nan)
        for place, value in enumerate(self._values(names)):
            try:
                out[place] = np.nan if value is None else float(value)
            except ValueError:
                continue
        return out

    def _values(self, names: Sequence[str]) -> list[Any]:
        for name in names:
            if name in self._data.column_names:
                values: list[Any] = self._data.column(name).to_pylist()
                return values
        raise DataError(
            f"{self.label} has no column {names[0]!r}; it has {', '.join(map(repr, self._data.column_names[:12]))}."
        )


def read_columns(what: Any, role: InputRole, *, confidential: Any = None) -> Columns:
    """Read a whole public table; ``confidential`` is the table that it must not be."""
    provenance = public_provenance(what, role, confidential=confidential)
    opened = open_table(what, None)
    opened.verify()
    with engine_errors(repr(opened.label)):
        data = opened.table.to_pyarrow()
    named = data.rename_columns([name.strip().lower() for name in opened.header])
    return Columns(str(opened.label), named, provenance)
