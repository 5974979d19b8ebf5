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

OF_REAL_TABLES = ("pegs-nhds", "sbhg-4-real", "sbhg-5-real", "ludia-4-6", "ludia-4-7", "ludia-4-8", "dpat-")
"""Pictures that are drawn only where `UNDERSTUDY_DATA` names the folder of real tables."""


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
    for entry in ENTRIES:
        if entry.run == line and entry.picture and not entry.picture.startswith(OF_REAL_TABLES):
            assert (tmp_path / entry.picture).is_file(), f"{entry.anchor}: {entry.picture}"
