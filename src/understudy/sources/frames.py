"""Tables in memory: pandas, Polars and Arrow, with what they say about their columns beside the values.

A pandas categorical says which levels there are and whether they have an order. An Arrow field may carry labels and
missing codes in its metadata, as a file of SPSS has them; that is how frames of R come (:mod:`.r_frames`).
"""

import json
import sys
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from understudy.codebook.encode import spelling
from understudy.codebook.labels import ColumnLabels
from understudy.errors import DataError
from understudy.sources.csv_files import unique_names

LABELS = b"understudy.labels"
"""Where the field of an Arrow table keeps what is known about its column."""
_MISSING_IN_R = -(2**31)


def to_arrow(what: Any) -> tuple[tuple[str, ...], Any]:
    """The names as given, and an Arrow table whose names an engine can tell apart."""
    import pyarrow as pa

    module = type(what).__module__.partition(".")[0]
    try:
        if module == "pandas":
            _refuse_missing_of_r(what)
            header = tuple(map(str, what.columns))
            return header, pa.Table.from_pandas(what.set_axis(unique_names(header), axis=1), preserve_index=False)
        if module == "polars":
            what = (what.collect() if hasattr(what, "collect") else what).to_arrow()
        if isinstance(what, pa.RecordBatch):
            what = pa.Table.from_batches([what])
    except pa.ArrowException as reason:
        first = str(reason).splitlines()[0]
        raise DataError(f"the data frame cannot be read: {first}. Give every column one type.") from None
    if isinstance(what, pa.Table):
        header = tuple(what.column_names)
        return header, what.rename_columns(unique_names(header))
    raise DataError(
        f"a {type(what).__name__} cannot be opened; give a path, a pandas or Polars frame, or an Arrow table."
    )


def labels_of_frame(what: Any, header: tuple[str, ...], table: Any) -> dict[str, ColumnLabels]:
    """What a frame says about its columns, by name; ``table`` is what :func:`to_arrow` made of it.

    >>> import pandas as pd
    >>> frame = pd.DataFrame({"pain": pd.Categorical(["low"], categories=["none", "low", "high"], ordered=True)})
    >>> labels_of_frame(frame, *to_arrow(frame))["pain"].levels
    ('none', 'low', 'high')
    """
    if type(what).__module__.partition(".")[0] == "pandas":
        return _categoricals(what, header)
    fields = {name: field.metadata or {} for name, field in zip(header, table.schema, strict=True)}
    return {name: unpacked(metadata[LABELS]) for name, metadata in fields.items() if LABELS in metadata}


def packed(labels: ColumnLabels) -> bytes:
    """As the metadata of a field."""
    return json.dumps(asdict(labels)).encode()


def unpacked(text: bytes) -> ColumnLabels:
    """From the metadata of a field.

    >>> labels = ColumnLabels(label="Sex", value_labels=(("1", "male"),), missing=("-9",))
    >>> unpacked(packed(labels)) == labels
    True
    """
    try:
        told: Mapping[str, Any] = json.loads(text)
        return ColumnLabels(
            label=str(told.get("label", "")),
            value_labels=tuple((str(code), str(label)) for code, label in told.get("value_labels", ())),
            missing=tuple(map(str, told.get("missing", ()))),
            measure=str(told.get("measure", "")),
            levels=tuple(map(str, told.get("levels", ()))),
        )
    except (ValueError, TypeError, AttributeError):
        raise DataError(
            f"a field of the table has {LABELS.decode()!r} that are not ours; remove them from its metadata."
        ) from None


def _categoricals(frame: Any, header: tuple[str, ...]) -> dict[str, ColumnLabels]:
    found = {}
    for place, name in enumerate(header):
        kind = frame.dtypes.iloc[place]
        if getattr(kind, "name", "") == "category":
            levels = tuple(spelling(level) for level in kind.categories)
            found[name] = ColumnLabels(levels=levels, measure="ordinal" if kind.ordered else "")
    return found


def _refuse_missing_of_r(frame: Any) -> None:
    """An R session hands its missing integers over as the least 32-bit number; as a number they would be counted."""
    if "rpytools" not in sys.modules:  # what reticulate brings along
        return
    for place, name in enumerate(map(str, frame.columns)):
        column = frame.iloc[:, place]
        if str(column.dtype) == "int32" and len(column) and int(column.min()) == _MISSING_IN_R:
            raise DataError(
                f"the column {name!r} has missing values that reticulate has turned into {_MISSING_IN_R}; hand the "
                "data frame of R over with as_understudy(), which source(us$r_functions()) defines."
            )
