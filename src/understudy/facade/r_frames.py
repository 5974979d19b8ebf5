"""For R, through reticulate: data frames there and back, with factors, missing values, days and labels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.resources import as_file, files
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pyarrow as pa


def r_functions() -> str:
    """The path of a file for R's ``source()``: it defines ``as_understudy`` and ``as_r``.

    >>> r_functions().endswith("understudy.R")
    True
    """
    with as_file(files("understudy.facade") / "understudy.R") as path:
        return str(path)


def from_r(columns: Sequence[Mapping[str, Any]], mark: str = "") -> pa.Table:
    """What ``as_understudy`` calls: an Arrow table whose fields carry labels, for every function that takes data."""
    from understudy.sources.r_frames import table_of

    return table_of(columns, mark)


def for_r(what: Any) -> dict[str, Any]:
    """What ``as_r`` calls: a release, the figures of :func:`understudy.infer`, or an Arrow table as plain vectors."""
    import pyarrow as pa

    from understudy.errors import ParameterError
    from understudy.release import Release
    from understudy.sources.r_frames import columns_of, mark_of

    if isinstance(what, Release):
        return {"columns": columns_of(what.table, what.codebook), "mark": mark_of(what.table)}
    if isinstance(what, pa.Table):
        return {"columns": columns_of(what), "mark": mark_of(what)}
    if hasattr(what, "figures") and hasattr(what, "level"):
        return {"columns": columns_of(_figures(what)), "mark": ""}
    raise ParameterError(
        f"`as_r` is given a {type(what).__name__}; give a release, the result of us$infer(), or an Arrow table."
    )


def _figures(inference: Any) -> pa.Table:
    import pyarrow as pa

    numbers = ("estimate", "error", "low", "high")
    rows = inference.to_dict()["figures"]
    columns = {"figure": pa.array([row["name"] for row in rows], pa.string())}
    columns |= {name: pa.array([row.get(name) for row in rows], pa.float64()) for name in numbers}
    return pa.table(columns | {"refused": pa.array([row.get("refused") for row in rows], pa.string())})


def end_with_r() -> None:
    """What ``understudy.R`` calls when R ends, because R ends without ending Python.

    The private folders of this session hold confidential rows and would stay behind. DuckDB's connection of its own
    module would be torn down by the C library, after Python's memory, and R would end with "malloc(): corrupted".
    """
    import atexit
    import gc
    import sys

    gc.collect()
    if "duckdb" in sys.modules:
        sys.modules["duckdb"].close()
    atexit._run_exitfuncs()
