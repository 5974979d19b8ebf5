"""How much code lies on the way of a command: distinct functions of ours that it calls, and the files they stand in.

A figure for maintainers, not for users: `python -m benchmarks paths` prints it for the commands that pay. Functions
that only read the command line are left out, so that one more option is not one more idea.
"""

import contextlib
import io
import os
import sys
import tempfile
from pathlib import Path

import understudy
from understudy.cli.app import main as command

SRC = str(Path(understudy.__file__).parent) + os.sep
LEFT_OUT = tuple(str(Path("understudy", "cli", name)) for name in ("options.py", "numbers.py"))

COMMANDS = {
    "synth": "synth town/patients.csv -c town/patients.toml -m {method} -n 100 -o out --account a.account",
    "count": "count town/patients.csv -c town/patients.toml --by sex --epsilon 1 -o out --account a.account",
    "train": "train town/patients.csv -c town/patients.toml --target sex --method forest --epsilon 1 -o out "
    "--account a.account",
    "commute synth": "commute synth trips/flows.csv --count workers --places trips/places.csv --epsilon 4 --delta 1e-6 "
    "--certificate exact -o out --account o.account",
}


def called(words: list[str]) -> tuple[int, int]:
    """Functions and files of ours on the way of one command."""
    found: set[tuple[str, str]] = set()

    def see(frame, event, _argument):  # type: ignore[no-untyped-def]
        if event == "call" and frame.f_code.co_filename.startswith(SRC):
            found.add((frame.f_code.co_filename, frame.f_code.co_qualname))

    said = io.StringIO()
    sys.setprofile(see)
    try:
        with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said), contextlib.suppress(SystemExit):
            command(words)
    finally:
        sys.setprofile(None)
    kept = {one for one in found if not one[0].endswith(LEFT_OUT) and not one[1].endswith(">")}  # no lambdas
    return len(kept), len({file for file, _ in kept})


def main() -> None:
    """Print functions and files for every command, each in a folder of its own."""
    for name, words in COMMANDS.items():
        methods = ["marginals --epsilon 1 --delta 1e-6", "pegs --alpha 50"] if "{method}" in words else [""]
        for method in methods:
            for _ in range(2):  # bodies of modules and classes run once, when they are imported: not on the way
                with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
                    _prepare()
                    functions, files = called(words.format(method=method).split())
                    assert Path("out").exists(), f"{name} made nothing"
            print(f"{name} {method.split(' ')[0]:12} {functions:4} functions in {files:3} files")


def _prepare() -> None:
    from understudy.privacy import Neighbours
    from understudy.privacy.account import Account

    quiet = io.StringIO()
    for words in ("example -n 2000 -o town", "commute example -o trips"):
        with contextlib.redirect_stdout(quiet), contextlib.suppress(SystemExit):
            command(words.split())
    for name, relation in (("a", Neighbours.ADD_REMOVE), ("o", Neighbours.ORIGIN)):
        Account.create(f"{name}.account", dataset="d", epsilon=1e6, delta=0.5, neighbours=relation)


if __name__ == "__main__":
    main()
