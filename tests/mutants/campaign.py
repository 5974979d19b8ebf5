"""Try mutants: each in a forked process, where functions get other code and the tests mapped to them run.

``python -m tests.mutants.campaign --sample 150`` tries a seeded sample and writes ``results.toml``: what was killed,
and what survived with the reason that a person gave it. mutmut and cosmic-ray were looked at first; see decision 0178.
"""

import argparse
import gc
import importlib
import inspect
import os
import pkgutil
import random
import resource
import shutil
import signal
import sys
import tempfile
import time
import tomllib
import types
from collections.abc import Iterable, Sequence
from pathlib import Path

from tests.mutants.mutators import Mutant, mutants_of

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
SOURCE = ROOT / "src" / "understudy"
RESULTS = HERE / "results.toml"
_WARM = ("numpy", "scipy.stats", "numba", "hypothesis", "pyarrow", "pandas", "pytest", "sqlalchemy", "cryptography")
_ROOMS = ("codebook", "privacy", "sources", "mechanisms", "blocks", "release", "synth", "trees", "service")
_MOST_BYTES = 8 << 30


def tests_of(module: str) -> list[str]:
    """The test files that a module is mapped to; the quickest first."""
    mapped = tomllib.loads((HERE / "targets.toml").read_text(encoding="utf-8"))
    return [str(ROOT / "tests" / name) for name in mapped[module]]


def all_mutants(modules: Iterable[str]) -> list[Mutant]:
    """Of the functions of some modules, without compiled kernels: those would be compiled anew, half a minute each."""
    return [
        mutant
        for module in modules
        for mutant in mutants_of(SOURCE / module, module)
        if mutant.is_inside and not mutant.is_compiled
    ]


def modules() -> list[str]:
    """Those that have tests mapped to them."""
    return list(tomllib.loads((HERE / "targets.toml").read_text(encoding="utf-8")))


def warm_up() -> None:
    """Import everything once, before forking: a mutant then costs its tests and nothing else."""
    for name in _WARM:
        importlib.import_module(name)
    for room in _ROOMS:
        package = importlib.import_module(f"understudy.{room}")
        for found in pkgutil.walk_packages(package.__path__, f"understudy.{room}."):
            importlib.import_module(found.name)


def _codes(code: types.CodeType) -> dict[tuple[str, int], types.CodeType]:
    """Functions of a compiled module, outside other functions, by name and by which of that name they are."""
    found: dict[tuple[str, int], types.CodeType] = {}
    for inner in (each for each in code.co_consts if isinstance(each, types.CodeType)):
        if "<locals>" in inner.co_qualname:
            continue
        if inner.co_flags & inspect.CO_OPTIMIZED:  # a function; the body of a class is not
            found[inner.co_qualname, sum(name == inner.co_qualname for name, _ in found)] = inner
        else:
            found |= _codes(inner)
    return found


def put_in(mutant: Mutant) -> int:
    """Give every function of the module, wherever it is referred to, the code of the mutant; how many were changed.

    Nothing is executed again, so that events and recipes are not registered twice.
    """
    path = str(SOURCE / mutant.module)
    old, new = (_codes(compile(text, path, "exec")) for text in (Path(path).read_text(encoding="utf-8"), mutant.source))
    by_line = {(code.co_qualname, code.co_firstlineno): new[key] for key, code in old.items()}
    changed = 0
    for function in [each for each in gc.get_objects() if isinstance(each, types.FunctionType)]:
        code = function.__code__
        fresh = by_line.get((code.co_qualname, code.co_firstlineno)) if code.co_filename == path else None
        if fresh is not None and fresh.co_freevars == code.co_freevars:
            function.__code__ = fresh
            changed += 1
    return changed


def _child(mutant: Mutant | None, tests: Sequence[str], folder: str) -> int:
    import hypothesis
    import pytest

    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)
    resource.setrlimit(resource.RLIMIT_AS, (_MOST_BYTES, resource.getrlimit(resource.RLIMIT_AS)[1]))
    hypothesis.settings.register_profile("mutants", database=None, derandomize=True, deadline=None, max_examples=30)
    hypothesis.settings.load_profile("mutants")
    if mutant is not None and not put_in(mutant):
        return 5
    quiet = ["-x", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", f"--basetemp={folder}/t", "-W"]
    chosen = ["ignore::pytest.PytestAssertRewriteWarning", "-m", "not long and not java", "-k", "not postgres"]
    return int(pytest.main([*quiet, *chosen, *tests]))


def survives(mutant: Mutant | None, tests: Sequence[str], *, seconds: float) -> bool:
    """Whether all tests pass within the time; one that hangs counts as killed."""
    folder = tempfile.mkdtemp(prefix="understudy-mutant-")
    number = os.fork()
    if number == 0:
        code = 70
        try:
            os.setpgid(0, 0)
            code = _child(mutant, tests, folder)
        finally:
            os._exit(code)
    end, status = time.monotonic() + seconds, None
    while status is None and time.monotonic() < end:
        done, ended = os.waitpid(number, os.WNOHANG)
        status = ended if done else None
        time.sleep(0.02)
    if status is None:
        os.kill(number, signal.SIGKILL)
        os.waitpid(number, 0)
    shutil.rmtree(folder, ignore_errors=True)
    code = None if status is None else os.waitstatus_to_exitcode(status)
    assert code not in (4, 5), f"the tests of {tests} cannot be collected"
    return code == 0


def baseline(tests: Sequence[str]) -> float:
    """Seconds that the tests take without a fault; they must pass."""
    began = time.monotonic()
    assert survives(None, tests, seconds=600.0), f"{tests} fail without any fault"
    return time.monotonic() - began


def read_results() -> dict[str, dict[str, str]]:
    """Verdicts of earlier campaigns, by the name of the mutant."""
    return tomllib.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.exists() else {"killed": {}, "survived": {}}


def write_results(results: dict[str, dict[str, str]]) -> None:
    lines = ["# written by tests/mutants/campaign.py; only the reasons of the survivors are written by a person\n"]
    for verdict in ("killed", "survived"):
        lines.append(f"\n[{verdict}]\n")
        lines += [f"{_quoted(name)} = {_quoted(why)}\n" for name, why in sorted(results[verdict].items())]
    scratch = RESULTS.with_suffix(f".{os.getpid()}")
    scratch.write_text("".join(lines), encoding="utf-8")
    scratch.replace(RESULTS)


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def main(words: Sequence[str] | None = None) -> None:
    """Try a sample, or the survivors of earlier campaigns again."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--sample", type=int, default=150)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--of", default="", help="beginnings of modules, with commas: privacy/,mechanisms/stability")
    parser.add_argument("--again", action="store_true", help="try the survivors of earlier campaigns again")
    parser.add_argument("--new", action="store_true", help="leave out what was tried before")
    chosen = parser.parse_args(words)
    results = read_results()
    known = all_mutants(name for name in modules() if name.startswith(tuple(chosen.of.split(","))))
    if chosen.again:
        sample = [mutant for mutant in known if mutant.name in results["survived"]]
    else:
        tried = {*results["killed"], *results["survived"]} if chosen.new else set()
        left = [mutant for mutant in known if mutant.name not in tried]
        sample = random.Random(chosen.seed).sample(left, min(chosen.sample, len(left)))
    warm_up()
    times: dict[str, float] = {}
    say = sys.stdout.write
    for number, mutant in enumerate(sample, start=1):
        tests = tests_of(mutant.module)
        if mutant.module not in times:
            times[mutant.module] = baseline(tests)
            say(f"{mutant.module}: {times[mutant.module]:.1f} s without a fault\n")
        alive = survives(mutant, tests, seconds=10.0 + 5 * times[mutant.module])
        results = read_results()  # another campaign may have written meanwhile
        if alive:
            results["survived"].setdefault(mutant.name, "")
            results["killed"].pop(mutant.name, None)
        else:
            results["killed"][mutant.name] = ""
            results["survived"].pop(mutant.name, None)
        write_results(results)
        say(f"{number}/{len(sample)} {'SURVIVED' if alive else 'killed'} {mutant.name}\n")
        sys.stdout.flush()
    names = {mutant.name for mutant in sample}
    killed = len(names & set(results["killed"]))
    say(f"{killed} of {len(names)} killed ({killed / max(1, len(names)):.1%})\n")
    say("".join(f"survived: {name}: {why or 'NO REASON YET'}\n" for name, why in sorted(results["survived"].items())))


if __name__ == "__main__":
    main()
