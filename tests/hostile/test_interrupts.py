"""Ctrl-C in the middle of every long command: one sentence, code 130, and what the sentence says is true.

Each command runs once to count its calls of our functions, and then again with the signal sent to itself at the start,
in the middle or near the end of that count: no clock is involved. Commands take turns at the three places; `make long`
interrupts each at all of them.
"""

import _thread
import gc
import os
import shutil
import signal
import subprocess
import sys
import time
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import understudy as us
from understudy.cli.app import _run
from understudy.interrupts import not_while_importing

SRC = str(Path(us.__file__).parent)
FINALIZER = weakref.finalize.__call__.__code__
PLACES = (0.2, 0.7, 0.97)

_A = "--account a.account"
_P = "--epsilon 4 --delta 1e-6 --certificate exact"
LONG = {
    "synth laplace": "synth @data -c @book -m laplace --epsilon 1 -n 50 -o out --account a.account",
    "synth marginals": "synth @data -c @book --epsilon 1 --delta 1e-6 -n 50 -o out --account a.account --csv",
    "synth pegs": "synth @data -c @book -m pegs --epsilon 4 --delta 1e-4 -n 5 -o out --account a.account",
    "synth files": "synth @data -c @book -m laplace --epsilon 1 -n 50 --files 2 -o out --account a.account",
    "synth model": f"synth @data -c @book -m sba --epsilon 2 --delta 1e-6 -n 9 -o out --save-model m.us {_A}",
    "synth parts": f"synth @data -c @book -m laplace --epsilon 1 -n 50 --engine local --part-rows 20 -o out {_A}",
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
}  # fmt: skip


class Calls:
    """Counts calls of our own functions, and sends the signal at one of them."""

    def __init__(self, at: int | None, number: int) -> None:
        self.at, self.number, self.count = at, number, 0

    def __call__(self, frame, event, _argument) -> None:
        if event == "call" and frame.f_code.co_filename.startswith(SRC):
            self.count += 1
            if self.at is not None and self.count >= self.at and not is_unheard(frame):
                sys.setprofile(None)
                signal.raise_signal(self.number)


def is_unheard(frame) -> bool:
    """Python swallows what is raised in a finalizer, or in a generator that is thrown away: no signal is sent there."""
    if frame.f_code.co_name == "<genexpr>":
        return True
    while frame is not None:
        if frame.f_code is FINALIZER:
            return True
        frame = frame.f_back
    return False


@contextmanager
def counting(at: int | None, number: int = signal.SIGINT) -> Iterator[Calls]:
    calls = Calls(at, number)
    sys.setprofile(calls)
    try:
        yield calls
    finally:
        sys.setprofile(None)


def stopped(run, words, at: int):
    """What a command says that is interrupted at its ``at``-th call.

    A Ctrl-C inside the removal of a scratch folder or inside an import is sent again a moment later, which may be after
    the command has ended: then it is nobody's.
    """
    before, threads = signal.signal(signal.SIGINT, not_while_importing(heard_by_the_command)), _thread._count()
    try:
        with counting(at):
            said = run(*words)
        gc.collect()
        time.sleep(0.05)  # five times the moment after which it is sent again
        until = time.monotonic() + 2  # on a busy machine the thread that sends it may be later
        while _thread._count() > threads and time.monotonic() < until:
            time.sleep(0.01)
    finally:
        signal.signal(signal.SIGINT, before)
    return said


def heard_by_the_command(number: int, frame) -> None:
    """What Python does at Ctrl-C, inside the command; nothing outside of it, nor while it says how it ended.

    The first run of a process calls more of our functions than later ones, so that a late place of the first may lie
    behind the end of the second: there nothing is left to interrupt but the tests themselves.
    """
    within = frame
    while within is not None and within.f_code is not _run.__code__:
        within = within.f_back
    if within is not None:
        signal.default_int_handler(number, frame)


def clear(folder: Path) -> None:
    for name in ("out", "out.html", "m.us", "out.unfinished", "out-picture.svg", "out-report.html"):
        path = folder / name
        if path.is_dir():
            shutil.rmtree(path)
        elif path.exists():
            path.unlink()


SLOW = dict.fromkeys(("anonymize report", "audit"), pytest.mark.long)
"""Struck everywhere by the long tests in any case."""


@pytest.mark.parametrize(
    ("name", "places"),
    [
        *(
            pytest.param(name, PLACES[turn % 3 :][:1], id=name, marks=SLOW.get(name, ()))
            for turn, name in enumerate(LONG)
        ),
        *(pytest.param(name, PLACES, id=f"{name}, everywhere", marks=pytest.mark.long) for name in LONG),
    ],
)
def test_interrupted(run, bench, here, name, places):
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
    for place in places:
        clear(here)
        (here / "a.account").write_bytes(fresh)
        said = stopped(run, words, max(1, int(calls.count * place)))
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


def test_the_demo_interrupted(run, here):
    """Its steps are those of the commands above; here in the middle of its synthesis."""
    said = stopped(run, ["demo", "-o", "out"], 4000)
    assert said.code == 130 and "nothing was written and nothing was charged" in said.sentence
    assert {path.name for path in here.iterdir()} == {"a.account"}
    assert sorted((here.parent / "scratch").iterdir()) == []


def test_told_to_stop(run, bench, here):
    """SIGTERM, as an operator or a time limit sends it, tidies up as Ctrl-C does."""
    words = LONG["synth laplace"].split()
    with counting(200, signal.SIGTERM):
        said = run(*words)
    assert said.code == 143 and "nothing was written and nothing was charged" in said.sentence
    assert {path.name for path in here.iterdir()} == {"a.account"}
    assert us.Account.open(here / "a.account").spent().epsilon == 0


def test_interrupted_while_starting():
    """Before a single command is known."""
    program = (
        "import sys\n"
        "class Impatient:\n"
        "    @staticmethod\n"
        "    def find_spec(name, path=None, target=None):\n"
        "        if name == 'typer': raise KeyboardInterrupt\n"
        "sys.meta_path.insert(0, Impatient)\n"
        "from understudy.cli.start import main\n"
        "main()\n"
    )
    environment = {**os.environ, "PYTHONPATH": str(Path(SRC).parent)}
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False, env=environment
    )
    assert done.returncode == 130 and done.stdout == ""
    assert done.stderr == "error: interrupted before anything began. Run it again.\n"


def test_helpers_stay_silent():
    """A terminal sends Ctrl-C to every process of the group; only the first of them speaks, and none is left."""
    program = (
        "import os, sys, time\n"
        "from understudy.synth.processes import helper_processes\n"
        "try:\n"
        "    with helper_processes(2) as spread:\n"
        "        answers = spread(time.sleep, [0.01, 60])\n"
        "        next(answers)\n"
        "        print('ready', flush=True)\n"
        "        next(answers)\n"
        "except KeyboardInterrupt:\n"
        "    print('stopped', flush=True)\n"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", program],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
        env={**os.environ, "PYTHONPATH": str(Path(SRC).parent)},
    )  # fmt: skip
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    os.killpg(process.pid, signal.SIGINT)
    out, err = process.communicate(timeout=30)
    assert (out, err, process.returncode) == ("stopped\n", "", 0)
    with pytest.raises(ProcessLookupError):
        for _ in range(100):  # the helpers are gone, or going
            os.killpg(process.pid, 0)
            time.sleep(0.1)
