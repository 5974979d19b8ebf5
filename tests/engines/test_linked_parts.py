"""Linked tables in parts: whole people in every part, keys that no two parts share, and crashes in between."""

import json
import shutil
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

import understudy as us
from tests.engines.part_tables import REASONS, Explodes
from understudy import datasets
from understudy.errors import ParameterError, ReleaseError, StoppedError
from understudy.evaluate.linked.opened import open_tables
from understudy.histories.parts import draw_linked_parts, synthesize_linked_parts
from understudy.histories.recipe import Histories
from understudy.privacy.account import ChargeState
from understudy.privacy.guarantees import Neighbours
from understudy.synth.workers import LocalWorkers, SparkWorkers

BOOK = datasets.histories_codebook()
NAMES = [table.name for table in BOOK.tables]
RECIPE = Histories(epsilon=2.0, delta=1e-6)


@pytest.fixture(scope="module")
def data() -> dict[str, pa.Table]:
    return datasets.histories(150, seed=6)._asdict()


@pytest.fixture(scope="module")
def model(data: dict[str, pa.Table], tmp_path_factory: pytest.TempPathFactory) -> Path:
    return RECIPE.fit(data, BOOK).save_model(tmp_path_factory.mktemp("model") / "m.zip")


def parts_of(folder: Path) -> dict[str, list[pa.Table]]:
    """Every part of every table, in the order of their numbers."""
    return {name: [pq.read_table(path) for path in sorted((folder / name).iterdir())] for name in NAMES}


def released(folder: Path) -> dict[str, pa.Table]:
    return {name: pa.concat_tables(parts) for name, parts in parts_of(folder).items()}


def test_parts_hold_whole_people_with_keys_of_their_own(model: Path, tmp_path: Path) -> None:
    release = draw_linked_parts(model, rows=100, out=tmp_path / "r", part_rows=30)
    parts = parts_of(tmp_path / "r")
    assert [part.num_rows for part in parts["patients"]] == [30, 30, 30, 10]
    for people, stays, diagnoses in zip(*parts.values(), strict=True):  # nobody has rows in two parts
        assert pc.all(pc.is_in(stays["patient_id"], people["patient_id"].combine_chunks())).as_py() is not False
        assert pc.all(pc.is_in(diagnoses["stay_id"], stays["stay_id"].combine_chunks())).as_py() is not False
    whole = released(tmp_path / "r")
    for name, key in (("patients", "patient_id"), ("stays", "stay_id")):
        assert len(whole[name][key].unique()) == whole[name].num_rows
    assert release.manifest.tables == {name: table.num_rows for name, table in whole.items()}
    assert release.manifest.total.kind == "ApproxDP"
    verdict = us.verify(tmp_path / "r")
    assert verdict.problems == ()
    read = open_tables(tmp_path / "r", BOOK)  # as an evaluation reads it
    assert {name: table.num_rows for name, table in read.items()} == release.manifest.tables


@pytest.mark.parametrize(
    "change",
    [
        lambda folder: next((folder / "stays").iterdir()).unlink(),
        lambda folder: shutil.copy(next((folder / "stays").iterdir()), folder / "stays" / "part-x.parquet"),
        lambda folder: (folder / "notes").mkdir(),
        lambda folder: next((folder / "patients").iterdir()).write_bytes(b"PAR1"),
    ],
    ids=["lost", "added", "a folder", "changed"],
)
def test_a_part_that_was_touched_is_found(model: Path, tmp_path: Path, change: Any) -> None:
    draw_linked_parts(model, rows=20, out=tmp_path / "r", part_rows=10)
    change(tmp_path / "r")
    assert us.verify(tmp_path / "r").problems


def test_the_same_seed_gives_the_same_people_on_any_number_of_workers(
    data: dict[str, pa.Table], tmp_path: Path
) -> None:
    for count in (1, 2):
        release = synthesize_linked_parts(
            data, BOOK, RECIPE, rows=40, out=tmp_path / str(count), part_rows=15, seed=3,
            workers=LocalWorkers(count=count),
        )  # fmt: skip
        assert release.manifest.total.kind == "NoFormal"  # seeded
    assert released(tmp_path / "1") == released(tmp_path / "2")


@pytest.mark.parametrize(
    "reason", [OSError(28, "No space left on device"), KeyboardInterrupt()], ids=["disk", "ctrl-c"]
)
def test_a_run_that_stopped_goes_on_and_pays_once(
    data: dict[str, pa.Table], tmp_path: Path, reason: BaseException
) -> None:
    account = us.Account.create(
        tmp_path / "a", dataset="d", epsilon=9, delta=1e-3, neighbours=Neighbours.ADD_REMOVE_PERSON
    )
    work: dict[str, Any] = {"rows": 50, "out": tmp_path / "r", "part_rows": 10, "account": account}
    REASONS.append(reason)
    expected = StoppedError if isinstance(reason, KeyboardInterrupt) else ReleaseError
    with pytest.raises(expected, match=r"20 of 50 people are safe in '.*r.unfinished'. Run the same command again"):
        synthesize_linked_parts(data, BOOK, RECIPE, workers=Explodes(count=1), **work)
    assert not (tmp_path / "r").exists()
    assert [charge.state for charge in account.history()] == [ChargeState.HELD]
    kept = {path.name for path in (tmp_path / "r.unfinished/release/stays").glob("part-0000[01]-*")}
    with pytest.raises(ReleaseError, match="another part_rows"):
        synthesize_linked_parts(data, BOOK, RECIPE, **{**work, "part_rows": 11})
    with pytest.raises(ReleaseError, match="another parameters"):  # other noise would be a second price
        synthesize_linked_parts(data, BOOK, Histories(epsilon=1.0, delta=1e-6), **work)
    synthesize_linked_parts(data, BOOK, RECIPE, **work)
    assert kept < {path.name for path in (tmp_path / "r" / "stays").iterdir()}
    assert us.verify(tmp_path / "r").problems == ()
    [charge] = account.history()
    assert charge.state == ChargeState.COMMITTED
    assert charge.release_id == json.loads((tmp_path / "r/manifest.json").read_text())["release"]


def test_a_part_counts_only_with_the_files_of_all_its_tables(data: dict[str, pa.Table], tmp_path: Path) -> None:
    REASONS.append(KeyboardInterrupt())
    work: dict[str, Any] = {"rows": 40, "out": tmp_path / "r", "part_rows": 10}
    with pytest.raises(StoppedError):
        synthesize_linked_parts(data, BOOK, RECIPE, workers=Explodes(count=1), **work)
    lost, changed = (
        next((tmp_path / "r.unfinished/release/diagnoses").glob(f"part-0000{number}-*")) for number in (0, 1)
    )
    lost.unlink()
    changed.write_bytes(b"PAR1")
    synthesize_linked_parts(data, BOOK, RECIPE, **work)
    names = {path.name for path in (tmp_path / "r/patients").iterdir()}
    assert len(names) == 4 and not {lost.name, changed.name} & names
    assert us.verify(tmp_path / "r").problems == ()


def test_what_does_not_go_together_is_said(data: dict[str, pa.Table], tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match=r"`part_rows` is 0"):
        synthesize_linked_parts(data, BOOK, RECIPE, rows=10, out=tmp_path / "r", part_rows=0)
    whole = RECIPE.fit(data, BOOK).write(tmp_path / "whole", 20)
    assert whole.manifest.tables
    with pytest.raises(ParameterError, match=r"synthesized as a whole"):
        synthesize_linked_parts(tmp_path / "whole", BOOK, RECIPE, rows=10, out=tmp_path / "r")
    assert not (tmp_path / "r.unfinished").exists()


@pytest.mark.long
@pytest.mark.java
def test_spark_draws_the_people_of_a_local_run(spark: Any, data: dict[str, pa.Table], tmp_path: Path) -> None:
    for name, workers in (("here", LocalWorkers()), ("spark", SparkWorkers(session=spark))):
        synthesize_linked_parts(data, BOOK, RECIPE, rows=40, out=tmp_path / name, part_rows=15, seed=9, workers=workers)
    assert released(tmp_path / "here") == released(tmp_path / "spark")
    assert us.verify(tmp_path / "spark").problems == ()
