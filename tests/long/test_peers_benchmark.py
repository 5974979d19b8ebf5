"""The comparison with peers: its figures worked out by hand, and what it says when a peer is absent, fails or hangs."""

import os
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from benchmarks import answers, environments, peers, scores
from benchmarks.utility import processes
from benchmarks.utility.score import score
from benchmarks.utility.tables import Task
from understudy.codebook import Categorical, Codebook
from understudy.evaluate.utility.distances import tvd_one_way, tvd_three_way, tvd_two_way
from understudy.sources import EncodedSource


def run(runner: str, *, fit: float = 1.0, processor: float = 2.0, tvd2: float = 0.02, **other):
    return {
        **{"table": "t", "epsilon": 1.0, "runner": runner, "load": 0.5, "tvd1": 0.1, "tvd2": tvd2, "tvd3": 0.3},
        **{"auc": 0.9, "fit": fit, "draw": 1.0, "processor": processor, "megabytes": 100.0, "whole": 9.0},
        **other,
    }


def ours(**other):
    return run(peers.OURS, **other)


def said(runs, start: str) -> str:
    (found,) = [line for line in peers.report(runs) if line.startswith(start)]
    return found


def test_a_ratio_is_of_a_peer_to_our_runs_around_it():
    runs = [ours(fit=99.0), ours(fit=1.0), run("a", fit=39.0), ours(fit=5.0), run("a", fit=11.0), ours(fit=0.0)]
    assert peers.ratios(runs, "a", peers.seconds) == [40 / 4, 12 / 3.5]
    assert peers.ratios(runs, "a", lambda each: each["processor"]) == [1.0, 1.0]
    assert peers.ratios(runs[2:4], "a", peers.seconds) == [40 / 6]  # one neighbour is enough
    assert peers.ratios(runs[2:3], "a", peers.seconds) == []


def test_a_run_that_failed_is_no_neighbour():
    broken = {"table": "t", "epsilon": 1.0, "runner": peers.OURS, "load": 0.0, "failed": "failed: x"}
    assert peers.ratios([ours(), broken, run("a", fit=7.0), broken], "a", peers.seconds) == [4.0]


def test_the_bars_hold_by_clock_and_by_processor():
    """Thirty times our clock time, but only 9 times our processor time: slower than ours, yet not by ten times."""
    runs = [ours(), run("a", fit=59.0, processor=18.0, tvd2=0.03), ours()]
    assert said(runs, "a:").endswith(": met")
    assert "at least 9.0 times our time (bar 10): MISSED" in said(runs, "most accurate")
    runs[1]["processor"] = 20.0
    assert "at least 10.0 times our time (bar 10): met" in said(runs, "most accurate")


def test_the_first_run_of_ours_is_told_apart():
    runs = [run(peers.FIRST, processor=8.0, fit=50.0), ours(), run("a", fit=59.0, processor=60.0, tvd2=0.03), ours()]
    assert "at least 30.0 times our time (bar 10): met" in said(runs, "most accurate")
    assert said(runs, "against our first run") == "against our first run, which compiles: 7.5 times its processor time"


def test_a_smaller_error_or_a_faster_run_of_a_peer_is_a_missed_bar():
    assert said([ours(), run("a", fit=99.0, processor=99.0, tvd2=0.019), ours()], "a:").endswith("MISSED")
    assert said([ours(), run("a", fit=0.5, processor=1.0, tvd2=0.5), ours()], "a:").endswith("MISSED")


def test_the_most_accurate_peer_has_the_smallest_mean_error_and_promises_something():
    runs = [ours(), run("a", tvd2=0.05), ours(), run("b", tvd2=0.04), ours(), run("sdv_copula", tvd2=0.03), ours()]
    assert said(runs, "most accurate").startswith("most accurate private peer: b,")
    assert not [line for line in peers.report(runs) if line.startswith("sdv_copula:")]
    assert "| sdv_copula | 1 of 1 |" in said(runs, "| sdv_copula")


def test_a_peer_without_figures_is_named_with_its_reason():
    failed = {"table": "t", "epsilon": 1.0, "runner": "a", "load": 0.0, "failed": "failed: KeyError: 4"}
    lines = list(peers.report([ours(), failed, ours()]))
    assert "| a | 1 | failed: KeyError: 4 |" in lines
    assert "a: failed: KeyError: 4; no error to compare" in lines
    assert not [line for line in lines if line.startswith("most accurate")]


def test_peers_take_turns_and_slow_or_broken_ones_run_once():
    assert peers.next_peer([], ["a", "b"], 2) == "a"
    assert peers.next_peer([ours(), run("a")], ["a", "b"], 2) == "b"
    assert peers.next_peer([run("a"), run("b"), ours()], ["a", "b"], 2) == "a"
    assert peers.next_peer([run("a", fit=600.0), run("b")], ["a", "b"], 2) == "b"
    assert peers.next_peer([run("a", failed="failed: x"), run("b"), run("b")], ["a", "b"], 2) is None
    assert peers.next_peer([ours()], [], 2) is None


def test_the_reason_of_a_failure_is_its_last_words():
    assert processes.reason("Traceback\n  here\nKeyError: 4\n\n") == "failed: KeyError: 4"
    assert processes.reason("") == "failed: it said nothing"
    assert "|" not in processes.reason("a | b")


def test_every_runner_has_a_script_and_an_environment():
    folder = Path(processes.__file__).parent / "runners"
    assert {path.stem for path in folder.glob("*.py")} - {"__init__", "common", "opendp_tables"} == set(
        environments.RUNNERS
    )
    asked = {name for names in answers.PEERS.values() for name in names}
    assert {*environments.RUNNERS.values(), *scores.PEERS, *asked} - {None} == set(environments.ENVIRONMENTS)
    assert all("==" in words[0] for words in environments.ENVIRONMENTS.values())


def test_an_absent_peer_says_why(tmp_path):
    assert environments.interpreter(peers.OURS, None) == Path(sys.executable)
    assert environments.interpreter("dpmm_aim", None) is None
    assert environments.why_absent("dpmm_aim", None) == "UNDERSTUDY_PEERS is not set"
    assert environments.why_absent("dpmm_aim", tmp_path) == "no dpmm-env in UNDERSTUDY_PEERS"
    (tmp_path / "dpmm-env" / "bin").mkdir(parents=True)
    (tmp_path / "dpmm-env" / "bin" / "python").touch()
    assert environments.interpreter("dpmm_aim", tmp_path) == tmp_path / "dpmm-env" / "bin" / "python"
    (tmp_path / "dpmm-env.failed").write_text("does not install: no wheel\n")
    assert environments.interpreter("dpmm_aim", tmp_path) is None
    assert environments.why_absent("dpmm_aim", tmp_path) == "does not install: no wheel"


@pytest.fixture
def task() -> Task:
    draw = np.random.default_rng(3)
    tables = [pd.DataFrame({name: draw.integers(0, 3, rows).astype(str) for name in "abcd"}) for rows in (60, 40)]
    levels = {name: ["0", "1", "2"] for name in "abcd"}
    return Task(name="small", train=tables[0], test=tables[1], levels=levels, target="d", positive="2")


def test_the_scorer_agrees_with_evaluate(task):
    """Four columns have four triples, all of which both take."""
    book = Codebook(columns=tuple(Categorical(name=name, levels=("0", "1", "2")) for name in "abcd"))
    real, synthetic = (
        EncodedSource(codebook=book, columns=[table[name].astype(np.uint8).to_numpy() for name in "abcd"])
        for table in (task.train, task.test)
    )
    found = score(task, task.test)
    for name, metric in (("tvd1", tvd_one_way), ("tvd2", tvd_two_way), ("tvd3", tvd_three_way)):
        assert found[name] == pytest.approx(metric(real, synthetic).value, abs=1e-12)
        assert found[name] > 0.01


def interpreter(folder: Path, script: str) -> Path:
    """What stands in for the Python of a peer; its arguments are those of a runner."""
    place = folder / "python"
    place.write_text(f"#!/bin/sh\n{script}\n")
    place.chmod(0o755)
    return place


def one(task: Task, folder: Path, script: str, patience: float = 60.0):
    python = interpreter(folder, script)
    return processes.one_run(
        "dpmm_mst", python, task, epsilon=1.0, delta=1e-9, folder=folder, patience=patience, extra={"WORD": "yes"}
    )


def test_a_run_is_scored_on_the_rows_it_wrote(task, tmp_path):
    figures = '{"fit": 1.5, "draw": 0.5, "processor": 3, "megabytes": 7}'
    found = one(task, tmp_path, f"""test $WORD = yes && cp $2 $7 && echo chatter && echo '{figures}'""")
    assert isinstance(found, dict)
    assert (found["tvd1"], found["tvd2"], found["tvd3"]) == (0.0, 0.0, 0.0)
    assert (found["fit"], found["processor"]) == (1.5, 3)
    assert found["whole"] > 0


def test_a_run_that_breaks_says_why(task, tmp_path):
    assert one(task, tmp_path, "echo 'KeyError: 4' >&2; exit 1") == "failed: KeyError: 4"


def test_a_run_that_hangs_is_ended_with_its_workers(task, tmp_path):
    for patience in (1, 4, 16, 64):  # until even a busy machine has started the worker
        found = one(task, tmp_path, f"sleep 300 & echo $! > {tmp_path}/worker; wait", patience=patience)
        assert found == f"not finished in {patience} s (0 s of processor time)"
        if (tmp_path / "worker").exists():
            break
    worker = int((tmp_path / "worker").read_text())
    for _ in range(100):  # a killed orphan lasts until init reaps it
        state = Path(f"/proc/{worker}/stat")
        try:
            if not state.exists() or state.read_text().rsplit(")", 1)[1].split()[0] == "Z":
                return
        except OSError:
            return
        time.sleep(0.1)
    os.kill(worker, 9)
    pytest.fail("the worker outlived its parent")
