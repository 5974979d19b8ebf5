"""Try mutants: each in a forked process, where functions get other code and the tests mapped to them run.

``python -m tests.mutants.campaign --each 10`` tries a seeded sample and writes ``results.toml``: what was killed and by
which test, and what survived with the reason that a person gave it. See decision 0178.
"""

import argparse
import ast
import builtins
import gc
import importlib
import inspect
import json
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
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

from tests.mutants.mutators import Mutant, mutants_of, told_by_functions

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
SOURCE = ROOT / "src" / "understudy"
RESULTS = HERE / "results.toml"
_WARM = ("numpy", "scipy.stats", "numba", "hypothesis", "pyarrow", "pandas", "pytest", "sqlalchemy", "cryptography")
_ROOMS = (
    "front", "codebook", "privacy", "sources", "mechanisms", "blocks", "release", "synth", "histories", "commute", "trees", "service",
)  # fmt: skip
_MOST_BYTES = 8 << 30
HANGS = "hangs"
"""In the place of a test: the mutant used up its time."""


def tests_of(module: str) -> list[str]:
    """The test files that a module is mapped to; the quickest first."""
    mapped = tomllib.loads((HERE / "targets.toml").read_text(encoding="utf-8"))
    return [str(ROOT / "tests" / name) for name in mapped[module]]


def all_mutants(modules: Iterable[str]) -> list[Mutant]:
    """Of the functions and the constants of some modules. Kernels only where they run as Python: see ``plain_kernels``."""
    return [
        mutant
        for module in modules
        for mutant in mutants_of(SOURCE / module, module)
        if (mutant.is_inside or mutant.is_constant) and not mutant.is_compiled
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
    return _put_in_constant(mutant) if mutant.is_constant else _put_in_functions(mutant.module, mutant.source)


def _put_in_functions(module: str, source: str) -> int:
    path = str(SOURCE / module)
    old, new = (_codes(compile(text, path, "exec")) for text in (Path(path).read_text(encoding="utf-8"), source))
    by_line = {(code.co_qualname, code.co_firstlineno): new[key] for key, code in old.items()}
    changed = 0
    for function in [each for each in gc.get_objects() if isinstance(each, types.FunctionType)]:
        code = function.__code__
        fresh = by_line.get((code.co_qualname, code.co_firstlineno)) if code.co_filename == path else None
        if fresh is not None and fresh.co_freevars == code.co_freevars:
            function.__code__ = fresh
            changed += 1
    return changed


def _put_in_constant(mutant: Mutant) -> int:
    """Compute the one statement that differs, and give its value to every module that holds the constant."""
    texts = ((SOURCE / mutant.module).read_text(encoding="utf-8"), mutant.source)
    old, new = (ast.parse(text).body for text in texts)
    statement = next(after for before, after in zip(old, new, strict=True) if ast.dump(before) != ast.dump(after))
    target = statement.targets[0] if isinstance(statement, ast.Assign) else getattr(statement, "target", None)
    assert isinstance(target, ast.Name)
    home = sys.modules["understudy." + mutant.module.removesuffix(".py").replace("/", ".")]
    here = dict(vars(home))
    exec(compile(ast.Module([statement], []), "constant", "exec"), here)
    before, changed = vars(home)[target.id], 0
    for module in [each for each in sys.modules.values() if vars(each).get(target.id) is before]:
        setattr(module, target.id, here[target.id])
        changed += 1
    return changed


@dataclass(frozen=True)
class Ended:
    """How a run of tests ended."""

    killer: str | None
    """The first test that failed; nothing if all passed."""
    seconds: float
    """Of the processor."""


@dataclass(frozen=True)
class Used:
    """A test, the functions of the module that it ran, and how long it took."""

    test: str
    places: frozenset[str]
    seconds: float


class _Watching:
    """Runs the chosen tests only, in their order, and notes the first that fails."""

    def __init__(self, note: Path, chosen: Sequence[str] | None) -> None:
        self.note = note
        self.order = None if chosen is None else {test: place for place, test in enumerate(chosen)}

    def pytest_collection_modifyitems(self, items: list[Any]) -> None:
        if self.order is not None:
            items[:] = sorted((i for i in items if i.nodeid in self.order), key=lambda item: self.order[item.nodeid])

    def pytest_runtest_logreport(self, report: Any) -> None:
        if report.failed and not self.note.exists():
            self.note.write_text(str(report.nodeid), encoding="utf-8")


class _Seeing:
    """Notes which functions of the module each test runs."""

    def __init__(self, note: Path) -> None:
        self.note, self.places = note, set[str]()
        self.used: dict[str, tuple[set[str], float]] = {}
        self.of_files: dict[str, set[str]] = {}

    def pytest_runtest_logreport(self, report: Any) -> None:
        places, seconds = self.used.get(report.nodeid, (set(), 0.0))
        self.used[report.nodeid] = (places | self.places, seconds + report.duration)
        if report.when == "setup":  # what a fixture made may be looked at by any test of the file
            self.of_files.setdefault(report.nodeid.partition("::")[0], set()).update(self.places)
        self.places.clear()

    def pytest_sessionfinish(self) -> None:
        told = [
            [test, sorted(places | self.of_files[test.partition("::")[0]]), seconds]
            for test, (places, seconds) in self.used.items()
        ]
        self.note.write_text(json.dumps(told), encoding="utf-8")


def _arguments(folder: str, tests: Sequence[str]) -> list[str]:
    quiet = ["-x", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", f"--basetemp={folder}/t", f"--rootdir={ROOT}"]
    chosen = ["-W", "ignore::pytest.PytestAssertRewriteWarning", "-m", "not long and not java", "-k", "not postgres"]
    return [*quiet, *chosen, *tests]


def _be_quiet() -> None:
    import hypothesis

    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)
    hypothesis.settings.register_profile("mutants", database=None, derandomize=True, deadline=None, max_examples=12)
    hypothesis.settings.load_profile("mutants")


def _forked(work: Callable[[Path], int], *, seconds: float) -> tuple[int | None, float, Path]:
    """Do it in a child with so many seconds of the processor; its code, what it used, and the folder that it had."""
    folder = Path(tempfile.mkdtemp(prefix="understudy-mutant-"))
    number = os.fork()
    if number == 0:
        code = 70
        try:
            os.setpgid(0, 0)
            resource.setrlimit(resource.RLIMIT_AS, (_MOST_BYTES, resource.getrlimit(resource.RLIMIT_AS)[1]))
            resource.setrlimit(resource.RLIMIT_CPU, (int(seconds) + 1, int(seconds) + 2))
            _be_quiet()
            code = work(folder)
        finally:
            os._exit(code)
    end = time.monotonic() + 30 + 10 * seconds
    while True:
        done, status, usage = os.wait4(number, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status), usage.ru_utime + usage.ru_stime, folder
        if time.monotonic() > end:
            os.kill(number, signal.SIGKILL)
            os.waitpid(number, 0)
            return None, seconds, folder
        time.sleep(0.02)


def collect(tests: Sequence[str]) -> None:
    """Import the test files once, before the first mutant of a module."""
    import pytest

    keep = [os.dup(1), os.dup(2)]
    folder = tempfile.mkdtemp(prefix="understudy-mutant-")
    _be_quiet()
    pytest.main([*_arguments(folder, tests), "--collect-only"])
    for number, kept in enumerate(keep, start=1):
        os.dup2(kept, number)
        os.close(kept)
    shutil.rmtree(folder, ignore_errors=True)


def run(
    mutant: Mutant | None, tests: Sequence[str], *, chosen: Sequence[str] | None = None, seconds: float = 600.0
) -> Ended:
    """Run tests, with a mutant or without. Seconds are of the processor, so that a busy machine decides nothing."""
    import pytest

    def work(folder: Path) -> int:
        if mutant is not None and not put_in(mutant):
            return 5
        return int(pytest.main(_arguments(str(folder), tests), plugins=[_Watching(folder / "killer", chosen)]))

    code, used, folder = _forked(work, seconds=seconds)
    note = folder / "killer"
    killer = note.read_text(encoding="utf-8") if note.exists() else HANGS
    shutil.rmtree(folder, ignore_errors=True)
    assert code not in (4, 5), f"the tests of {tests} cannot be collected"
    return Ended(killer=None if code == 0 else killer, seconds=used)


def uses_of(module: str, tests: Sequence[str]) -> list[Used]:
    """Every test, with the functions of the module that it runs; all must pass. Quick files and quick tests first."""
    import pytest

    def work(folder: Path) -> int:
        seeing = _Seeing(folder / "used")
        vars(builtins)["__seen__"] = seeing.places.add
        assert _put_in_functions(module, told_by_functions(SOURCE / module))
        return int(pytest.main(_arguments(str(folder), tests), plugins=[seeing]))

    code, _, folder = _forked(work, seconds=600.0)
    assert code == 0, f"{tests} fail without any fault"
    told = json.loads((folder / "used").read_text(encoding="utf-8"))
    shutil.rmtree(folder, ignore_errors=True)
    uses = [Used(test, frozenset(places), seconds) for test, places, seconds in told]
    of_file = Counter[str]()
    for use in uses:
        of_file[use.test.partition("::")[0]] += use.seconds  # type: ignore[assignment]
    return sorted(uses, key=lambda use: (of_file[use.test.partition("::")[0]], use.test.partition("::")[0], use.seconds))


def tried(mutant: Mutant, uses: Sequence[Used]) -> Ended:
    """Run the tests that run what was changed."""
    running = [use for use in uses if mutant.is_constant or mutant.place in use.places]
    if not running:
        return Ended(killer=None, seconds=0.0)
    files = list(dict.fromkeys(str(ROOT / use.test.partition("::")[0]) for use in running))
    seconds = 5.0 + 4 * sum(use.seconds for use in running)
    return run(mutant, files, chosen=[use.test for use in running], seconds=seconds)


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


def _per_module(mutants: Iterable[Mutant], most: int, seed: int, tried: set[str]) -> Iterator[Mutant]:
    """So many of every module, what was tried before included."""
    for module, group in groupby(mutants, key=lambda mutant: mutant.module):
        found = list(group)
        left = [mutant for mutant in found if mutant.name not in tried]
        wanted = min(most - (len(found) - len(left)), len(left))
        yield from random.Random(f"{seed} {module}").sample(left, max(0, wanted))


def _sample(chosen: argparse.Namespace, results: dict[str, dict[str, str]]) -> list[Mutant]:
    known = all_mutants(name for name in modules() if name.startswith(tuple(chosen.of.split(","))))
    if chosen.again:
        return [mutant for mutant in known if mutant.name in results["survived"]]
    if chosen.unnamed:
        return [mutant for mutant in known if results["killed"].get(mutant.name) == ""]
    tried = {*results["killed"], *results["survived"]} if chosen.new or chosen.each else set()
    if chosen.each:
        return list(_per_module(known, chosen.each, chosen.seed, tried))
    left = [mutant for mutant in known if mutant.name not in tried]
    return random.Random(chosen.seed).sample(left, min(chosen.sample, len(left)))


def _note(mutant: Mutant, killer: str | None) -> None:
    results = read_results()  # another campaign may have written meanwhile
    before = results["survived"].pop(mutant.name, "")
    results["killed"].pop(mutant.name, None)
    if killer is None:
        results["survived"][mutant.name] = before
    else:
        results["killed"][mutant.name] = killer.removeprefix("tests/")
    write_results(results)


def _try_module(module: str, sample: Sequence[Mutant]) -> None:
    tests = tests_of(module)
    collect(tests)
    uses = uses_of(module, tests)
    say = sys.stdout.write
    say(f"{module}: {len(uses)} tests, {sum(use.seconds for use in uses):.1f} s without a fault\n")
    for number, mutant in enumerate(sample, start=1):
        ended = tried(mutant, uses)
        _note(mutant, ended.killer)
        verdict = "SURVIVED" if ended.killer is None else "killed"
        say(f"{number}/{len(sample)} {verdict} {ended.seconds:.1f} s {mutant.name}\n")
        sys.stdout.flush()


def main(words: Sequence[str] | None = None) -> None:
    """Try a sample, or the survivors of earlier campaigns again."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--sample", type=int, default=150)
    parser.add_argument("--each", type=int, default=0, help="so many of each module, with those that were tried before")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--of", default="", help="beginnings of modules, with commas: privacy/,mechanisms/stability")
    parser.add_argument("--again", action="store_true", help="try the survivors of earlier campaigns again")
    parser.add_argument("--unnamed", action="store_true", help="try those again whose killer was not noted")
    parser.add_argument("--new", action="store_true", help="leave out what was tried before")
    chosen = parser.parse_args(words)
    sample = sorted(_sample(chosen, read_results()), key=lambda mutant: modules().index(mutant.module))
    warm_up()
    for module, mutants in groupby(sample, key=lambda mutant: mutant.module):
        number = os.fork()  # what the tests of one module import and start does not meet the next
        if number == 0:
            code = 70
            try:
                _try_module(module, list(mutants))
                code = 0
            except AssertionError as error:
                sys.stdout.write(f"{module}: {error}\n")
            finally:
                sys.stdout.flush()
                os._exit(code)
        os.waitpid(number, 0)
    results = read_results()
    names = {mutant.name for mutant in sample}
    killed = len(names & set(results["killed"]))
    say = sys.stdout.write
    say(f"{killed} of {len(names)} killed ({killed / max(1, len(names)):.1%})\n")
    say("".join(f"survived: {name}: {why or 'NO REASON YET'}\n" for name, why in sorted(results["survived"].items())))


if __name__ == "__main__":
    main()
