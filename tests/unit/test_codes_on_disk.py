"""Tables too large for memory: their codes go to a private file that is read piece by piece, and to nowhere else."""

import stat
from pathlib import Path

import numpy as np
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
import pytest

import understudy as us
from understudy.codebook import Codebook, Coded
from understudy.errors import DataError
from understudy.sources import EngineSource
from understudy.sources.benches import DuckBench
from understudy.sources.files import open_table
from understudy.sources.tables import CountTable

BOOK = us.datasets.discharges_codebook()
SETS = [("sex", "age.yrs"), ("sex",), ("race", "los", "MDC")]


def _opened(where: Path, kind: str, *, local_bytes: int) -> EngineSource:
    table = us.datasets.discharges(rows=3000, seed=5)
    path = where / f"d.{kind}"
    if kind == "parquet":
        pq.write_table(table, path)
    else:
        pa_csv.write_csv(table, path)
    source = us.open(path, BOOK, local_bytes=local_bytes)
    assert isinstance(source, EngineSource)
    return source


def _counts(source: EngineSource) -> list[CountTable]:
    return [secret.open() for secret in source.count(SETS)]


def test_counts_from_disk_are_those_from_memory(tmp_path: Path) -> None:
    small, large = (_opened(tmp_path, "csv", local_bytes=limit) for limit in (1 << 28, 0))
    for ours, theirs in zip(_counts(small), _counts(large), strict=True):
        assert np.array_equal(ours.to_grid(), theirs.to_grid())
    assert isinstance(small.bench, DuckBench)
    assert isinstance(large.bench, DuckBench)
    assert large.bench.on_disk
    assert not small.bench.on_disk  # a small table never touches the disk


def test_codes_of_a_long_list_go_to_disk_too(tmp_path: Path) -> None:
    """A list of more levels than a query holds is joined, and the engine must know it before it writes."""
    path = tmp_path / "visits.csv"
    path.write_text("diagnosis\n" + "250.83\n428\n?\n" * 20)
    book = Codebook(columns=(Coded(name="diagnosis", pack="icd9", missing="?"),))
    source = us.open(path, book, local_bytes=0)
    assert isinstance(source, EngineSource)
    [secret] = source.count([("diagnosis",)])
    assert isinstance(source.bench, DuckBench)
    assert source.bench.on_disk
    told = dict(zip(book.column("diagnosis").labels, secret.open().to_grid().tolist(), strict=True))
    assert {label: count for label, count in told.items() if count} == {"250": 20, "428": 20, "?": 20}


def test_the_file_of_codes_is_private_and_goes_away(tmp_path: Path) -> None:
    source = _opened(tmp_path, "parquet", local_bytes=0)
    source.materialize()
    assert isinstance(source.bench, DuckBench)
    path = source.bench.path()
    assert path.is_file()
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    source.free()
    assert not path.exists()
    source.materialize()  # and comes back when asked again
    assert path.is_file()
    source.free()


def test_a_csv_is_never_thought_smaller_than_it_is(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("a,b\n" + ",\n" * 999)  # the shortest rows there are
    rows = open_table(path).likely_rows
    assert rows is not None
    assert rows >= 999


def test_a_full_disk_is_named_as_such() -> None:
    from understudy.sources.faults import engine_errors, engine_failures

    with pytest.raises(DataError, match="Free memory or disk space"), engine_errors("the data"):
        raise engine_failures()[0]('Could not write file "codes.parquet": No space left on device')
