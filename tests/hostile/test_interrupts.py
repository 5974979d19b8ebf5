"""Ctrl-C in the middle of every long command: one sentence, code 130, and what the sentence says is true.

Each command runs once to count its calls of our functions, and then again with the signal sent to itself at the start,
in the middle and near the end of that count: no clock is involved.
"""

import gc
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import understudy as us

SRC = str(Path(us.__file__).parent)
PLACES = tuple(map(float, os.environ.get("UNDERSTUDY_INTERRUPTS", "0.2 0.7 0.97").split()))

_P = "--epsilon 4 --delta 1e-6 --certificate exact"
LONG = {
    "synth laplace": "synth @data -c @book -m laplace --epsilon 1 -n 50 -o out --account a.account",
    "synth marginals": "synth @data -c @book --epsilon 1 --delta 1e-6 -n 50 -o out --account a.account --csv",
    "synth pegs": "synth @data -c @book -m pegs --epsilon 4 --delta 1e-4 -n 5 -o out --account a.account",
    "synth files": "synth @data -c @book -m laplace --epsilon 1 -n 50 --files 2 -o out --account a.account",
    "synth model": "synth @data -c @book -m sba --epsilon 2 --delta 1e-6 -n 50 -o out --save-model m.us --account a.account",
    "synth parts": "synth @data -c @book -m laplace --epsilon 1 -n 50 --engine local --part-rows 20 -o out --account a.account",
    "draw": "draw @model -n 50 -o out",
    "codebook draft": "codebook draft @data -o out",
    "priced draft": "codebook draft @data -o out --epsilon 2 --delta 1e-4 --account a.account",
    "codebook check": "codebook check @data -c @book",
    "impute": "impute holes.csv -c holes.toml -o out --files 2",
    "evaluate": "evaluate @data @release -c @book -o out --risk quick --target readmitted",
    "rumap": "rumap @data -c @book --epsilons 1 --methods laplace --repeat 1 -n 30 -o out",
    "audit": "audit @data -c @book -m laplace --epsilon 1 -n 5 --runs 60",
    "anonymize run": "anonymize run @data -c @book --k 3 --suppression 0.1 -o out",
    "anonymize report": "anonymize report @data @anonymous -c @book -o out",
    "reconstruct": "reconstruct @people -a @counties:county:charge -m ludia -o out",
    "reconstruct risk": "reconstruct risk @data -c @book --group region --value charge --known age -o out",
    "commute synth": f"commute synth @flows --count workers --places @places {_P} -o out",
    "commute evaluate": "commute evaluate @flows @trips --count workers -o out",
    "commute map": "commute map @trips -o out",
    "train": "train @data -c @book --target readmitted --method tree --epsilon 1 -o out --account a.account",
    "demo": "demo -o out",
}  # fmt: skip


class Calls:
    """Counts calls of our own functions, and sends the signal at one of them."""

    def __init__(self, at: int | None) -> None:
        self.at, self.count = at, 0

    def __call__(self, frame, event, _argument) -> None:
        if event == "call" and frame.f_code.co_filename.startswith(SRC):
            self.count += 1
            if self.count == self.at:
                sys.setprofile(None)
                signal.raise_signal(signal.SIGINT)


@contextmanager
def counting(at: int | None) -> Iterator[Calls]:
    calls = Calls(at)
    sys.setprofile(calls)
    try:
        yield calls
    finally:
        sys.setprofile(None)


def clear(folder: Path) -> None:
    for name in ("out", "m.us", "out.unfinished", "out-picture.svg", "out-report.html"):
        path = folder / name
        if path.is_dir():
            shutil.rmtree(path)
        elif path.exists():
            path.unlink()


@pytest.mark.parametrize("name", LONG)
def test_interrupted(run, bench, here, name, monkeypatch):
    from understudy import jobs

    for size in ("DEMO_DATA_ROWS", "DEMO_ROWS", "DEMO_HELD_OUT"):
        monkeypatch.setattr(jobs, size, 400)
    table = Path(bench.places["data"]).read_text().replace('"F",', "?,", 20)
    (here / "holes.csv").write_text(table)
    book = Path(bench.places["book"]).read_text().replace('levels = ["F", "M"]', 'levels = ["F", "M"]\nmissing = "?"')
    (here / "holes.toml").write_text(book)
    words = LONG[name].split()
    fresh = (here / "a.account").read_bytes()
    before = {path.name for path in here.iterdir()}
    with counting(None) as calls:
        whole = run(*words)
    assert whole.code == 0, whole.err
    spent = us.Account.open(here / "a.account").spent().epsilon
    for place in PLACES:
        clear(here)
        (here / "a.account").write_bytes(fresh)
        with counting(max(1, int(calls.count * place))):
            said = run(*words)
        gc.collect()
        left = {path.name for path in here.iterdir()} - before
        account = us.Account.open(here / "a.account")
        charged = account.spent().epsilon
        told = " ".join(said.err.replace("[bold red]", "").split())
        assert "Traceback" not in said.err and "Exception ignored" not in said.err, said.err
        if said.code == 0:  # it came while the release took its name, or inside a finalizer: held back
            assert "out" in left or name in ("codebook check", "audit")
            assert charged == spent
            continue
        assert said.code == 130, (said.code, said.err)
        assert told.count("error:") == 1 and "interrupted" in told, told
        if "nothing was written and nothing was charged" in told:
            assert left == set(), (place, told, left)
            assert charged == 0 and account.summary()["held"] == []
        elif "stays charged" in told:
            assert left == set() and charged == spent, (place, told, left)
        elif "was written: it is whole" in told:
            assert charged == spent and "out" in left, (place, told, left)
        elif "are kept in" in told or "goes on where this stopped" in told:
            assert "out" in left or "out.unfinished" in left
            assert name in ("rumap", "synth parts") and (charged == spent or name == "rumap"), told
        else:
            raise AssertionError(told)
        assert not [n for n in left if n.startswith(".")], left
        if (here / "out").is_dir() and (here / "out" / "manifest.json").exists():
            assert run("verify", "out").code == 0
    assert sorted((here.parent / "scratch").iterdir()) == []
