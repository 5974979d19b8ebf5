"""One method in a process of its own: figures, or why there are none."""

import json
import os
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pandas as pd

from benchmarks.utility.score import score
from benchmarks.utility.tables import Task

__all__ = ["one_run", "reason"]


def reason(errors: str) -> str:
    """The last line that says something, short enough for a table."""
    lines = [line.strip() for line in errors.splitlines() if line.strip()]
    return f"failed: {lines[-1][:160] if lines else 'it said nothing'}".replace("|", "/")


def _processor() -> float:
    """Of the processes started here that have ended."""
    times = os.times()
    return times.children_user + times.children_system


def one_run(
    runner: str,
    python: Path,
    task: Task,
    *,
    epsilon: float,
    delta: float,
    folder: Path,
    patience: float,
    extra: dict[str, str] | None = None,
) -> dict[str, Any] | str:
    """Fit and draw as many rows as it read, in a fresh process; one that takes too long is ended, workers and all."""
    rows, levels = task.write(folder)
    script = Path(__file__).parent / "runners" / f"{runner}.py"
    out = folder / "synthetic.csv"
    out.unlink(missing_ok=True)
    words = [python, script, rows, levels, epsilon, delta, len(task.train), out]
    paths = os.pathsep.join(map(str, (Path("src").resolve(), script.parent)))
    started, used = time.perf_counter(), _processor()
    process = subprocess.Popen(
        list(map(str, words)),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": paths, **(extra or {})},
        start_new_session=True,  # a group of its own, so that workers of a peer end with it
    )
    try:
        shown, errors = process.communicate(timeout=patience)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        return f"not finished in {patience:.0f} s ({_processor() - used:.0f} s of processor time)"
    whole = time.perf_counter() - started
    if process.returncode:
        return reason(errors)
    synthetic = pd.read_csv(out, dtype=str, keep_default_na=False)
    return {**score(task, synthetic), **json.loads(shown.strip().splitlines()[-1]), "whole": whole}
