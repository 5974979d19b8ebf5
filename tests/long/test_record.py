"""The record of a billion rows in small: each stage is killed with SIGKILL, goes on, and loses at most one part."""

import json
import subprocess
import sys
import time
from pathlib import Path

import pytest

from benchmarks import record
from tests.engines.conftest import spark_environment
from understudy.release.verify import verify_release
from understudy.sources import streamed
from understudy.synth.part_work import PART_ROWS

ROWS, PART = 200_000, 20_000
MOST = PART
"""What a kill may lose on two cores, as in the record: every thread is at half a part at most."""
_STAGE = f"""
import os, sys, time
os.cpu_count = lambda: 2
from pathlib import Path
from benchmarks import record
from understudy.sources import streamed
from understudy.synth import ranged
record.PART, record.GROUP, record.SAMPLE = {PART}, {PART // 2}, {2 * PART}
streamed.pieces_of.__defaults__ = ({PART // 2},)
streamed._BATCH = {PART // 4}
ranged.synthesize_parts.__kwdefaults__["part_rows"] = {PART // 2}
slow, begun, told = sys.argv[1], record.Meter._start, record.Meter.tell
def start(meter, stage):
    begun(meter, stage)
    print(f"begun {{stage}} 0\\n", end="", flush=True)
    time.sleep(30 if stage == slow and stage in ("close", "verify") else 0)
def tell(meter, done, total):
    told(meter, done, total)
    print(f"told {{meter.stage}} {{done}}\\n", end="", flush=True)  # one piece: threads tell
    time.sleep(0.1 if meter.stage == slow else 0)
record.Meter._start, record.Meter.tell = start, tell
record.child(sys.argv[2], Path(sys.argv[3]), {ROWS})
"""


def _stage(process: str, place: Path, *, slow: str = "") -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", _STAGE, slow, process, str(place)],
        env=spark_environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


def _killed(process: str, place: Path, stage: str, after: int) -> dict[str, list[int]]:
    """Kill a process once its stage has told of so many rows; of how many each stage told."""
    found: dict[str, list[int]] = {}
    with _stage(process, place, slow=stage) as running:
        assert running.stdout is not None and running.stderr is not None
        for line in running.stdout:
            word, told, done = line.split()
            found.setdefault(told, []).extend([int(done)] if word == "told" else [])
            if told == stage and int(done) >= after:
                running.kill()
                return found
        raise AssertionError(running.stderr.read())


def _finished(process: str, place: Path) -> dict[str, list[int]]:
    """Run a process to its end; what each stage told."""
    with _stage(process, place) as running:
        said, errors = running.communicate(timeout=900)
    assert running.returncode == 0, errors
    found: dict[str, list[int]] = {}
    for line in said.splitlines():
        word, stage, done = line.split()
        found.setdefault(stage, []).extend([int(done)] if word == "told" else [])
    return found


def _files(folder: Path) -> dict[str, tuple[int, int]]:
    return {path.name: (path.stat().st_ino, path.stat().st_mtime_ns) for path in folder.glob("part-*.parquet")}


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("record") / str(ROWS)
    made.mkdir()
    return made


def test_every_stage_goes_on_after_a_kill(place: Path) -> None:
    told = _killed("simulate", place, "simulate", 3 * PART)["simulate"][-1]
    kept = _files(place / "table")
    assert len(kept) * PART >= told and not (place / "simulate.done").exists()
    assert len(list((place / "table").glob("*.unfinished"))) <= 1  # threads work on one part together
    _finished("simulate", place)
    assert kept.items() <= _files(place / "table").items() and len(_files(place / "table")) == ROWS // PART

    told = _killed("release", place, "count", 5 * PART)["count"][-1]
    assert not (place / "release.unfinished" / "model.zip").exists()
    fitted = _killed("release", place, "fit", 5 * PART)  # its second count, of triples
    assert fitted["count"][0] >= told - MOST > 0  # it did not begin at the beginning
    assert not (place / "release.unfinished" / "model.zip").exists()
    again = _killed("release", place, "draw", 5 * PART)
    resumed = next(done for done in again["fit"] if done >= PART)
    assert resumed >= fitted["fit"][-1] - MOST > 0
    receipts = sorted((place / "release.unfinished" / "receipts").glob("part-*.json"))
    assert len(receipts) * PART // 2 >= again["draw"][-1] - MOST > 0
    digests = {json.loads(path.read_text())["digest"] for path in receipts}
    closed = _killed("release", place, "close", 0)
    assert not closed.get("count") and closed["draw"][0] >= again["draw"][-1] - MOST  # paid and kept
    assert not (place / "release").exists()
    _finished("release", place)
    manifest = json.loads((place / "release" / "manifest.json").read_text())
    assert digests <= set(manifest["files"].values()) and len(digests) > 0
    assert verify_release(place / "release").problems == ()

    _killed("verify", place, "verify", 0)
    _finished("verify", place)
    told = _killed("compare", place, "compare", 5 * PART)["compare"][-1]
    first, *_ = _finished("compare", place)["compare"]
    assert first >= told - MOST > 0
    assert not (place / "compared").exists()  # exact counts do not stay
    _finished("references", place)
    assert {path.stem for path in place.glob("*.done")} == set(record.STAGES)

    used = record.used_by(place)
    attempts = [json.loads(line)["attempt"] for line in (place / "journal.jsonl").read_text().splitlines()]
    assert set(used) >= set(record.SHOWN) and len(set(attempts)) > len(record.STAGES)
    assert all(used[stage]["processor"] > 0 and used[stage]["mib"] > 0 for stage in record.SHOWN)
    lines = list(record.told(place.parent, [ROWS]))
    assert sum(stage in line for line in lines for stage in ("counting against", "drawing against")) == 2
    likely = record.likely(place.parent / str(10 * ROWS), 10 * ROWS)
    assert likely["verify"] == pytest.approx(10 * used["verify"]["seconds"])
    assert record.likely(place, ROWS) == {}  # nothing smaller is there


def test_a_stage_ends_with_the_process_that_started_it(tmp_path: Path) -> None:
    """Else the same command, given again, would write the same files beside a stage that nobody sees."""
    command = [sys.executable, "-m", "benchmarks.record", str(tmp_path), str(ROWS)]
    with subprocess.Popen(command, env=spark_environment(), stderr=subprocess.DEVNULL) as running:
        place = tmp_path / str(ROWS)
        while not (place / "table").exists():
            assert running.poll() is None
            time.sleep(0.01)
        child = Path(f"/proc/{running.pid}/task/{running.pid}/children").read_text().split()[0]
        running.kill()
    until = time.monotonic() + 60
    while _is_running(child) and time.monotonic() < until:
        time.sleep(0.01)
    assert not _is_running(child) and not (place / "simulate.done").exists()


def _is_running(process: str) -> bool:
    try:
        return "State:\tZ" not in Path(f"/proc/{process}/status").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False


def test_pieces_and_drawn_parts_are_less_than_half_a_part() -> None:
    """Of two threads each, so that a kill of the record loses less than one part of its table."""
    assert max(streamed.PIECE_ROWS, PART_ROWS, record.GROUP) < record.PART / 2
