"""Files that are read more than once for one release: counts of two states are never mixed, whatever their format."""

from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

import understudy as us
from tests.unit.linked_hospital import book, tables
from understudy.codebook import Codebook, Continuous
from understudy.errors import DataError
from understudy.sources.linked import LinkedSource, open_linked

SMOOTH = Codebook(
    columns=(Continuous(name="bmi", edges=tuple(map(Fraction, (10, 20, 30, 60))), precision=1, shape="smooth"),)
)
PIECES = SMOOTH.smooth[0].fine.name
CHANGED = r"was changed or removed while the table was counted; counts of two states are never mixed"
WRITERS: dict[str, Callable[[pa.Table, Path], object]] = {
    "csv": pyarrow.csv.write_csv,
    "parquet": pq.write_table,
    "jsonl": lambda table, path: path.write_text("\n".join(f'{{"bmi": {v}}}' for v in table["bmi"].to_pylist())),
}


def _table(rows: int) -> pa.Table:
    return pa.table({"bmi": [15.5 + number % 40 for number in range(rows)]})


@pytest.mark.parametrize("form", WRITERS)
def test_pieces_that_are_encoded_later_are_of_the_same_file(tmp_path: Path, form: str) -> None:
    path = tmp_path / f"t.{form}"
    for rows in (400, 399):
        WRITERS[form](_table(400), path)
        source: Any = us.open(path, SMOOTH, local_bytes=0)  # as a large file is counted
        assert source.count([("bmi",)])[0].open().to_grid().sum() == 400
        if rows == 400:
            assert source.count([(PIECES,)])[0].open().to_grid().sum() == 400
            continue
        WRITERS[form](_table(rows), path)
        for _ in range(2):  # asking again does not help
            with pytest.raises(DataError, match=CHANGED):
                source.count([(PIECES,)])


def test_a_file_that_changes_while_codes_are_made_of_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from understudy.sources.engines.duckdb import DuckBench

    path = tmp_path / "t.csv"
    pyarrow.csv.write_csv(_table(400), path)
    source = us.open(path, SMOOTH, local_bytes=0)
    made = DuckBench._make

    def make(self: DuckBench, report: Any) -> Any:
        codes = made(self, report)
        pyarrow.csv.write_csv(_table(401), path)
        return codes

    monkeypatch.setattr(DuckBench, "_make", make)
    with pytest.raises(DataError, match=CHANGED):
        source.count([("bmi",)])


def test_what_was_read_before_is_not_asked_for_again(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    pyarrow.csv.write_csv(_table(400), path)
    source: Any = us.open(path, SMOOTH, local_bytes=0)
    source.count([("bmi",)])
    path.unlink()
    assert source.count([("bmi",)])[0].open().to_grid().sum() == 400


def test_linked_files_are_of_one_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, table in tables().items():
        pq.write_table(table, tmp_path / f"{name}.parquet")
    linked = book(('child = "stays"', 'child = "stays"\nrule = "most frequent"'))
    assert open_linked(tmp_path, linked).rows("stays").count().to_pyarrow().as_py() == 6
    staged = LinkedSource._staged
    done: list[str] = []

    def between(self: LinkedSource, name: str, benches: Any) -> Any:
        made = staged(self, name, benches)
        if not done:
            done.append(name)
            pq.write_table(tables()[name].slice(1), tmp_path / f"{name}.parquet")
        return made

    monkeypatch.setattr(LinkedSource, "_staged", between)
    with pytest.raises(DataError, match=CHANGED):
        open_linked(tmp_path, linked).rows("stays")
