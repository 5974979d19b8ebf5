"""Fifty thousand damaged files, and every one is read or answered with a sentence; hours by `python -m tests.fuzz`."""

import os

import pytest
from fuzz.commands import commands
from fuzz.run import run
from fuzz.targets import prepare

SEED = int(os.environ.get("UNDERSTUDY_FUZZ_SEED", "1"))
"""Fixed unless it is named, so that a run can be repeated; whoever wants others gives --seed or --hours by hand."""


@pytest.mark.long
def test_no_damaged_file_is_a_mistake_of_ours(tmp_path):
    targets = [*prepare(tmp_path), *commands(tmp_path)]
    folder = tmp_path / "cases"
    folder.mkdir()
    done, failures = run(targets, folder, seed=SEED, cases=50_000)
    assert not failures, f"seed {SEED}:\n" + "\n".join(map(str, failures))
    assert done >= 50_000
