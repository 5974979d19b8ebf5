"""A file that is parsed as a whole: its table, what it says about its columns, and how it was read."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import pyarrow as pa

from understudy.codebook import FileReading
from understudy.codebook.labels import ColumnLabels


@dataclass(frozen=True, kw_only=True, eq=False)
class Materialised:
    """What came out of one file."""

    table: pa.Table = field(repr=False)
    header: tuple[str, ...]
    """Names exactly as the file spells them; the table has others where these repeat."""
    labels: Mapping[str, ColumnLabels] = field(default_factory=dict)
    """What a statistical file says about its columns."""
    file: FileReading = field(default_factory=FileReading)
    """How the file was read, as far as a codebook should keep it."""
