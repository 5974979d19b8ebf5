"""The record on Spark in small: two real worker processes, equal counts, a run that goes on, and a plan from it."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.engines.conftest import java, spark_environment  # noqa: F401 - a fixture

pytestmark = pytest.mark.java
_RUN = """
import sys
from pathlib import Path
from benchmarks import spark_record as record
record.PART_ROWS = 20_000
record.WORKER_MEMORY = 700
found = {}
for rows in (40_000, 80_000):
    found[rows] = record.run_size(Path(sys.argv[1]), rows)
    record.tell_size(rows, found[rows])
constants = record.constants_of(found)
record.write_constants(constants, Path(sys.argv[1]) / "constants.toml")
plan = record.plan_cluster(record.us.datasets.discharges_codebook(), 80_000, workers=2, cores=1, constants=constants)
record.tell_check(80_000, plan, found[80_000])
"""


def _run(folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", _RUN, str(folder)],
        env=spark_environment(),
        capture_output=True,
        text=True,
        timeout=1500,
        check=False,
    )


def test_the_record_in_small(java: Path, tmp_path: Path) -> None:  # noqa: F811
    done = _run(tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    for rows in (40_000, 80_000):
        found = json.loads((tmp_path / str(rows) / "stages.json").read_text())
        assert found["compare"]["different"] == [] and found["compare"]["totals"] == [rows]
        assert found["compare"]["tables"] == 13 + 78
        assert found["verify"]["valid"] and found["verify"]["rows"] == rows
        assert found["draw"]["parts"] == rows // 20_000
        roles = found["draw"]["by_role"]
        assert roles["worker Python"] > 0 and found["encode"]["by_role"]["worker Java"] > 0  # drawn and counted there
        assert found["count"]["spark"]["shuffle_bytes"] > 0 and found["count"]["joint"] == 16
    assert "equal to DuckDB in every cell" in done.stdout
    assert "shuffled bytes" in done.stdout and (tmp_path / "constants.toml").exists()
    # what is done is not done again; what is lost is
    stages = tmp_path / "40000" / "stages.json"
    kept = json.loads(stages.read_text())
    del kept["duckdb"], kept["verify"]
    stages.write_text(json.dumps(kept))
    drawn = sorted((tmp_path / "40000" / "release" / "synthetic").iterdir())
    again = _run(tmp_path)
    assert again.returncode == 0, again.stdout + again.stderr
    assert sorted((tmp_path / "40000" / "release" / "synthetic").iterdir()) == drawn
    assert {"duckdb", "verify"} <= set(json.loads(stages.read_text()))
    assert "incubator" not in again.stderr  # Spark was not started
