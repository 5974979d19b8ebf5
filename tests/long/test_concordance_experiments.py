"""Every experiment that the concordance names runs, in its quick form, and draws what it says."""

import runpy
import shlex
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2]))  # experiments are no part of the package
sys.path.insert(0, str(Path(__file__).parents[1] / "docs"))

from concordance import ENTRIES, commands

LINES = {shlex.join(words): words for words in commands("python", "-m", "experiments")}


@pytest.mark.parametrize("line", LINES)
def test_an_experiment_runs_quickly(line, tmp_path, monkeypatch, capsys):
    module, *options = LINES[line][2:]
    if module != "experiments":
        options = [*options, "--quick", "--out", str(tmp_path)]
    monkeypatch.delenv("UNDERSTUDY_DATA", raising=False)  # what needs real tables says so, and the rest is quick
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", [module, *options])
    runpy.run_module(module, run_name="__main__", alter_sys=False)
    said = capsys.readouterr().out
    assert said
    left_out = "left out" in said or "skipped" in said
    for entry in ENTRIES:
        if entry.run == line and entry.picture:
            assert left_out or (tmp_path / entry.picture).is_file(), f"{entry.anchor}: {entry.picture}"
