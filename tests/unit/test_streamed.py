"""Large Parquet files of text, counted piece by piece: the same counts, no codes on disk, and a count that goes on."""

import itertools
import math
import os
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import understudy as us
from understudy.codebook import Categorical, Codebook
from understudy.errors import DataError, StoppedError
from understudy.privacy.account import Account
from understudy.privacy.guarantees import Neighbours
from understudy.sources import EngineSource, streamed
from understudy.sources.base import Clique
from understudy.sources.tables import CountTable
from understudy.synth.ranged import synthesize_parts

BOOK = us.datasets.discharges_codebook()
PAIRS = [*[(name,) for name in BOOK.names], *itertools.combinations(BOOK.names, 2)]
TRIPLES: list[Clique] = [("race", "los", "MDC"), ("MDC", "sex", "race")]


@pytest.fixture
def small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    """Several pieces of several batches and blocks, the last ones odd."""
    monkeypatch.setattr(streamed, "PIECE_ROWS", 700)
    monkeypatch.setattr(streamed.pieces_of, "__defaults__", (700,))
    monkeypatch.setattr(streamed, "_BATCH", 333)


def _files(where: Path, rows: int = 3000, files: int = 3) -> str:
    table = us.datasets.discharges(rows=rows, seed=5)
    each = math.ceil(rows / files)
    for number in range(files):
        pq.write_table(table.slice(number * each, each), where / f"p{number}.parquet", row_group_size=500)
    return str(where / "p*.parquet")


def _opened(address: str, *, local_bytes: int = 0, unknown: str = "error") -> EngineSource:
    source = us.open(address, BOOK, local_bytes=local_bytes, unknown=unknown)
    assert isinstance(source, EngineSource)
    return source


def _counts(source: EngineSource, cliques: Sequence[Clique]) -> list[CountTable]:
    return [secret.open() for secret in source.count(cliques)]


@pytest.mark.usefixtures("small_pieces")
@pytest.mark.parametrize(
    "cliques", [PAIRS, TRIPLES, [*PAIRS, *TRIPLES], [("sex",)]], ids=["pairs", "triples", "all", "one"]
)
def test_counts_are_those_from_memory(tmp_path: Path, cliques: list[Clique]) -> None:
    address = _files(tmp_path)
    source = _opened(address)
    for ours, theirs in zip(
        _counts(source, cliques), _counts(_opened(address, local_bytes=1 << 28), cliques), strict=True
    ):
        assert ours.columns == theirs.columns
        assert np.array_equal(ours.to_grid(), theirs.to_grid())
    assert source._streamed is not None
    assert source.bench.codes is None  # nothing was encoded in the engine, in memory or on a disk


@pytest.mark.usefixtures("small_pieces")
def test_missing_and_unknown_values_are_treated_as_everywhere(tmp_path: Path) -> None:
    sexes = ["Male", None, "Female", "strange", ""] * 400
    table = us.datasets.discharges(rows=2000, seed=1).set_column(2, "sex", pa.array(sexes))
    pq.write_table(table, tmp_path / "p.parquet", row_group_size=300)
    told = []
    for local_bytes in (0, 1 << 28):
        with pytest.raises(DataError, match="the codebook does not know") as caught:
            _opened(str(tmp_path / "p.parquet"), local_bytes=local_bytes).count([("race",)])
        told.append(str(caught.value))
    assert told[0] == told[1]
    assert "'sex' (800 rows)" in told[0]  # 'strange', and text of no length
    one, two = (
        _counts(_opened(str(tmp_path / "p.parquet"), local_bytes=b, unknown="missing"), [("sex", "race")])
        for b in (0, 1 << 28)
    )
    assert np.array_equal(one[0].to_grid(), two[0].to_grid())


def test_what_is_not_text_or_too_large_a_table_is_left_to_the_engine(tmp_path: Path) -> None:
    table = us.datasets.discharges(rows=500, seed=1)
    coded = table.set_column(2, "sex", pa.array([1] * 500))
    book = Codebook(
        columns=tuple(
            Categorical(name="sex", levels=("1", "2")) if column.name == "sex" else column for column in BOOK.columns
        )
    )
    pq.write_table(coded, tmp_path / "numbers.parquet")
    source = us.open(tmp_path / "numbers.parquet", book, local_bytes=0)
    [secret] = source.count([("sex",)])
    assert secret.open().to_grid().tolist() == [500, 0]
    assert source._streamed is None  # type: ignore[attr-defined]
    pq.write_table(table, tmp_path / "text.parquet")
    wide = _opened(str(tmp_path / "text.parquet"))
    assert _counts(wide, [BOOK.names])[0].occupied()[1].sum() == 500
    assert wide.bench.codes is not None


@pytest.mark.usefixtures("small_pieces")
@pytest.mark.parametrize("when", ["between", "meanwhile"])
def test_a_table_that_changes_is_told_and_never_mixed(tmp_path: Path, when: str) -> None:
    address = _files(tmp_path)
    source = _opened(address)
    changed = tmp_path / "p2.parquet"

    def change(*_: object) -> None:
        pq.write_table(us.datasets.discharges(rows=900, seed=9), changed)
        os.utime(changed, ns=(1, 1))

    if when == "between":
        source.count(PAIRS)
        change()
    with pytest.raises(DataError, match=r"p2\.parquet' was changed or removed while the table was counted"):
        source.count(TRIPLES, change if when == "meanwhile" else None)
    changed.unlink()
    with pytest.raises(DataError, match="was changed or removed"):
        source.count(PAIRS)


@pytest.mark.usefixtures("small_pieces")
def test_a_stopped_count_goes_on_where_it_was(tmp_path: Path) -> None:
    address = _files(tmp_path)
    keep = tmp_path / "kept"
    source = _opened(address)
    source.keep = keep

    def stop(_: str, done: int, total: int) -> None:
        if done > total / 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        source.count(PAIRS, stop)
    [kept] = keep.iterdir()
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600
    assert stat.S_IMODE(keep.stat().st_mode) == 0o700
    told: list[int] = []
    again = _opened(address)
    again.keep = keep
    tables = [secret.open() for secret in again.count(PAIRS, lambda _, done, __: told.append(done))]
    assert told[0] > 0  # it did not begin at the beginning
    assert all(table.to_grid().sum() == 3000 for table in tables)
    for ours, theirs in zip(tables, _counts(_opened(address, local_bytes=1 << 28), PAIRS), strict=True):
        assert np.array_equal(ours.to_grid(), theirs.to_grid())


@pytest.mark.usefixtures("small_pieces")
def test_kept_counts_of_another_table_question_or_damage_are_not_taken_up(tmp_path: Path) -> None:
    address = _files(tmp_path)
    keep = tmp_path / "kept"
    for change in ("none", "shorter", "other rows"):
        if change == "shorter":
            [kept] = keep.iterdir()
            kept.write_bytes(kept.read_bytes()[:-8])
        if change == "other rows":
            pq.write_table(us.datasets.discharges(rows=1000, seed=8), tmp_path / "p0.parquet")
        source = _opened(address)
        source.keep = keep
        told: list[int] = []
        tables = [secret.open() for secret in source.count(PAIRS, lambda _, done, __, told=told: told.append(done))]
        assert told[0] == 0
        for ours, theirs in zip(tables, _counts(_opened(address, local_bytes=1 << 28), PAIRS), strict=True):
            assert np.array_equal(ours.to_grid(), theirs.to_grid())


_KILLED = """
import sys, time
from pathlib import Path
import understudy as us
from understudy.sources import streamed
from understudy.sources.streamed import pieces_of
import understudy.sources as sources
from understudy.synth import ranged
streamed.pieces_of.__defaults__ = (700,)
opened = ranged.open_source
ranged.open_source = lambda *a, **k: opened(*a, **k, local_bytes=0)
folder, wait = Path(sys.argv[1]), sys.argv[2] == "wait"
def report(step, done, total):
    print(step, done, total, flush=True)
    if wait and any((folder / "release.unfinished" / "counts").glob("*.counts")):
        time.sleep(150)  # until it is killed
ranged.synthesize_parts(str(folder / "p*.parquet"), us.datasets.discharges_codebook(),
    us.Marginals(epsilon=1.0, delta=1e-6), rows=500, out=folder / "release", account=folder / "a.account",
    report=report)
"""


def test_a_killed_release_goes_on_counting_and_pays_once(tmp_path: Path) -> None:
    _files(tmp_path, rows=9000)
    account = Account.create(
        tmp_path / "a.account", dataset="d", epsilon=1.0, delta=1e-6, neighbours=Neighbours.ADD_REMOVE
    )
    command = [sys.executable, "-c", _KILLED, str(tmp_path)]
    counts = tmp_path / "release.unfinished" / "counts"
    with subprocess.Popen([*command, "wait"], stdout=subprocess.PIPE, text=True) as first:
        deadline = time.monotonic() + 120
        while not (counts.is_dir() and any(counts.glob("*.counts"))):
            assert time.monotonic() < deadline
            time.sleep(0.01)
        first.send_signal(signal.SIGKILL)
    assert not account.history()
    second = subprocess.run([*command, "on"], check=True, capture_output=True, text=True)
    first_told = next(line for line in second.stdout.splitlines() if line.startswith("counting"))
    assert int(first_told.split()[1]) > 0
    assert us.verify(tmp_path / "release").is_valid
    assert not (tmp_path / "release.unfinished").exists()
    assert len(account.history()) == 1


@pytest.mark.usefixtures("small_pieces")
def test_an_interrupted_count_says_what_is_kept_and_that_nothing_was_charged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from understudy.synth import ranged

    address = _files(tmp_path)
    opened = ranged.open_source
    monkeypatch.setattr(ranged, "open_source", lambda *given, **named: opened(*given, **named, local_bytes=0))

    def stop(step: str, done: int, total: int) -> None:
        if step == "counting" and done > total / 2:
            raise KeyboardInterrupt

    recipe = us.Marginals(epsilon=1.0, delta=1e-6)
    with pytest.raises(StoppedError, match=r"what was counted so far is kept in .*confidential.*nothing was charged"):
        synthesize_parts(address, BOOK, recipe, rows=500, out=tmp_path / "release", report=stop)
    release = synthesize_parts(address, BOOK, recipe, rows=500, out=tmp_path / "release")
    assert us.verify(release.folder).is_valid
    assert not (tmp_path / "release.unfinished").exists()


def test_exact_counts_are_gone_once_the_model_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from understudy.synth import ranged

    address = _files(tmp_path)
    opened = ranged.open_source
    monkeypatch.setattr(ranged, "open_source", lambda *given, **named: opened(*given, **named, local_bytes=0))

    def stop(step: str, done: int, _: int) -> None:
        if step == "drawing rows" and done > 0:
            raise KeyboardInterrupt

    with pytest.raises(StoppedError):
        synthesize_parts(
            address, BOOK, us.Marginals(epsilon=1.0, delta=1e-6), rows=500, out=tmp_path / "release", report=stop
        )
    unfinished = tmp_path / "release.unfinished"
    assert (unfinished / "model.zip").exists()
    assert not (unfinished / "counts").exists()


def test_a_check_of_files_sees_every_fault_as_before(tmp_path: Path) -> None:
    """Sound columns are seen from the files' own lists of values; what is not sound is still numbered and quoted."""
    table = us.datasets.discharges(rows=1000, seed=1)
    sexes = table.column("sex").to_pylist()
    sexes[700] = "strange"
    pq.write_table(table, tmp_path / "p0.parquet")
    pq.write_table(table.set_column(2, "sex", pa.array(sexes)), tmp_path / "p1.parquet")
    faults = us.check(str(tmp_path / "p*.parquet"), BOOK).faults
    told = [fault for fault in faults if fault.kind == "outside levels"]
    assert [(fault.column, fault.rows, fault.values) for fault in told] == [("sex", (1701,), ("strange",))]
    assert us.check(str(tmp_path / "p0.parquet"), BOOK).fits


def test_on_route_s_no_count_is_written_down(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """There counts are the weights that rows are drawn from (decision 0110)."""
    from understudy.synth import ranged

    address = _files(tmp_path)
    opened = ranged.open_source
    monkeypatch.setattr(ranged, "open_source", lambda *given, **named: opened(*given, **named, local_bytes=0))
    seen: list[bool] = []

    def look(*_: object) -> None:
        seen.append((tmp_path / "release.unfinished" / "counts").exists())

    synthesize_parts(address, BOOK, us.PeGS(alpha=1.0), rows=500, out=tmp_path / "release", report=look)
    assert seen
    assert not any(seen)
