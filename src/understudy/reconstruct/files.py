"""Files of the analyst: individuals, published tables, and the folder that the answer goes to."""

import json
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from understudy.errors import DataError, ParameterError, quoted
from understudy.extras import need
from understudy.files import Access, write_file
from understudy.reconstruct.aggregates import KINDS, Aggregate
from understudy.reconstruct.design import as_frame
from understudy.reconstruct.problem import group_labels
from understudy.reconstruct.result import MARK, NO_PROTECTION, Reconstruction
from understudy.release.folders import digest_of, new_folder
from understudy.sources.inputs import RECONSTRUCTED
from understudy.version import __version__

TABLE, PAGE, FACTS = "reconstructed", "report.html", "reconstruction.json"
_FORM = "FILE:GROUP:FIGURE, for example counties.csv:county:avg_charge"


@dataclass(frozen=True, kw_only=True)
class AggregateSpec:
    """What a word of the command line asks for: ``FILE:GROUP:FIGURE[:OPTION,OPTION]``.

    GROUP is a column of both files; ``a=b`` where the individuals call it ``a`` and the table ``b``; ``a+b`` crosses
    two columns; ``a/b=c`` makes overlapping groups out of two columns of the individuals. Options: mean, sum or median;
    ``size=COLUMN``; ``noise=SD`` or ``noise=COLUMN``; ``target=NAME``.
    """

    file: str
    by: str | tuple[str, ...]
    key: str
    """Column (or columns, crossed) of the published table that names the group."""
    figure: str
    kind: str
    target: str
    size: str | None
    noise: str | None

    @classmethod
    def parse(cls, text: str) -> "AggregateSpec":
        """Take a word apart.

        >>> AggregateSpec.parse("c.csv:county:avg:sum,size=people").kind
        'sum'
        """
        parts = text.split(":")
        options: list[str] = []
        if len(parts) >= 4 and all(_is_option(word) for word in parts[-1].split(",")):
            options = parts.pop().split(",")
        if len(parts) < 3 or not all(parts):
            raise ParameterError(f"the aggregate {text!r} cannot be read; write {_FORM}.")
        *file, group, figure = parts
        ours, equals, theirs = group.partition("=")
        by: str | tuple[str, ...] = tuple(ours.split("/")) if "/" in ours else ours
        if isinstance(by, tuple) and not equals:
            raise ParameterError(
                f"the aggregate {text!r} has overlapping groups {ours!r}; say which column of the table names "
                f"them: {ours}=COLUMN."
            )
        chosen: dict[str, str] = {"kind": "mean", "target": figure}
        for word in options:
            name, sign, value = word.partition("=")
            chosen[name if sign else "kind"] = value if sign else word
        return cls(
            file=":".join(file),
            by=by,
            key=theirs if equals else ours,
            figure=figure,
            kind=chosen["kind"],
            target=chosen["target"],
            size=chosen.get("size"),
            noise=chosen.get("noise"),
        )


def _is_option(word: str) -> bool:
    return word in KINDS or (word.partition("=")[0] in ("size", "noise", "target") and "=" in word)


def read_aggregate(spec: AggregateSpec) -> Aggregate:
    """Read a published table."""
    frame = as_frame(spec.file)
    noise: Any = None if spec.noise is None else _number(spec.noise)
    noise_column = spec.noise if noise is None else None
    columns = quoted(frame.columns)
    wanted = [name for name in (spec.figure, spec.size, noise_column) if name]
    if lacking := [name for name in wanted if name not in frame.columns]:
        raise DataError(f"{spec.file!r} has no column {lacking[0]!r}; it has {columns}.")
    if lacking := [name for name in spec.key.split("+") if name not in frame.columns]:
        raise DataError(
            f"{spec.file!r} has no column {lacking[0]!r} to name the groups; it has {columns}. Write individuals' "
            "column = table's column if they differ."
        )
    labels = group_labels(frame, spec.key)[0]
    if nameless := [str(row + 2) for row, label in enumerate(labels) if label is None]:
        raise DataError(f"{spec.file!r} has no group in line {', '.join(nameless[:5])}; name it or remove the line.")
    names = [str(label) for label in labels]
    if twice := sorted(name for name, count in Counter(names).items() if count > 1):
        raise DataError(f"{spec.file!r} lists the group {quoted(twice)} twice; keep one line for each.")
    if noise_column:
        noise = _column(frame, noise_column, names, spec.file)
    return Aggregate(
        by=spec.by,
        target=spec.target,
        values=_column(frame, spec.figure, names, spec.file),
        kind=spec.kind,
        sizes=None if spec.size is None else _column(frame, spec.size, names, spec.file, gaps=True),
        noise=noise,
        label=f"{Path(spec.file).name}, {spec.figure}",
    )


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def _column(frame: Any, name: str, groups: Sequence[str], file: str, *, gaps: bool = False) -> dict[str, float]:
    need("pandas", extra="models", what="reconstruction")
    import pandas as pd

    numbers = pd.to_numeric(frame[name], errors="coerce").to_numpy(dtype=np.float64)
    there = frame[name].notna().to_numpy() & np.isnan(numbers)
    words = [str(value) for value in frame[name][there] if str(value).strip()]
    if words:
        raise DataError(f"{file!r} has {words[0]!r} in the column {name!r}, which must hold numbers.")
    if not gaps and np.isnan(numbers).any():
        empty = [group for group, number in zip(groups, numbers, strict=True) if math.isnan(number)]
        raise DataError(f"{file!r} has no {name!r} for {quoted(empty)}; remove the groups without a figure.")
    return dict(zip(groups, numbers.tolist(), strict=True))


def save(
    folder: str | Path, frame: Any, results: Sequence[Reconstruction], *, page: str, facts: Mapping[str, Any], csv: bool
) -> list[str]:
    """Write tables, facts and page to a new folder, all or nothing; everything in it says that it is reconstructed."""
    import pyarrow as pa
    import pyarrow.csv
    import pyarrow.parquet

    place, access = Path(folder), Access.OWNER  # people's values, guessed or given
    with new_folder(place, speaks=lambda made: digest_of(made / FACTS), commit=None, access=access) as scratch:
        written = []
        for result in results:
            table = pa.Table.from_pandas(frame, preserve_index=False)
            for target, values in result.values.items():
                table = table.append_column(f"{target}_{MARK}", pa.array(values))
                table = table.append_column(f"{target}_disclosed", pa.array(result.disclosed[target]))
            metadata = {b"understudy.kind": MARK.encode(), b"understudy.statement": result.statement.encode()}
            table = table.replace_schema_metadata(metadata | RECONSTRUCTED.mark())
            name = TABLE if result.draw is None else f"{TABLE}-{result.draw}"
            pa.parquet.write_table(table, scratch / f"{name}.parquet")
            written.append(f"{name}.parquet")
            if csv:
                pa.csv.write_csv(table, scratch / f"{name}.csv")
                written.append(f"{name}.csv")
        write_file(scratch / PAGE, page)
        written.append(PAGE)
        document = {
            "kind": MARK,
            "warning": NO_PROTECTION,
            **facts,
            "understudy": __version__,
            "files": {name: digest_of(scratch / name) for name in written},
        }
        write_file(scratch / FACTS, json.dumps(document, indent=2, ensure_ascii=False) + "\n")
    return [*written, FACTS]
