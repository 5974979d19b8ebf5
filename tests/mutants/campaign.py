"""Try mutants: each in a forked process, where functions get other code and the tests mapped to them run.

``python -m tests.mutants.campaign --each 10`` tries a seeded sample and writes ``results.toml``: what was killed and by
which test, and what survived with the reason that a person gave it. See decision 0178.
"""

import argparse
import ast
import builtins
import contextlib
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
import subprocess
import sys
import tempfile
import time
import tomllib
import types
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import groupby
from pathlib import Path
from typing import Any

from tests.mutants.mutators import Mutant, mutants_of, mutants_of_text, told_by_functions

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
SOURCE = ROOT / "src" / "understudy"
RESULTS = HERE / "results.toml"
_WARM = ("numpy", "scipy.stats", "numba", "hypothesis", "pyarrow", "pandas", "pytest", "sqlalchemy", "cryptography")
_ROOMS = (
    "front", "codebook", "privacy", "sources", "mechanisms", "blocks", "release", "synth", "histories", "commute",
    "trees", "service",
)  # fmt: skip
_MOST_BYTES = 8 << 30
_CHOSEN = "not postgres and not processes_together and not process_killed"
"""Which tests run: without another server, and without those that start interpreters, half a minute for each mutant."""
HANGS = "hangs"
"""In the place of a test: the mutant used up its time."""
NOWHERE = "nowhere"
"""In the place of a test: the fault could not be put in, which is no verdict."""
_FEW = 3
"""So many mutants of a module are tried without asking first which test runs what, which takes all its tests once."""
_SECONDS_OF_FEW = 60.0


def tests_of(module: str) -> list[str]:
    """The test files that a module is mapped to; the quickest first."""
    mapped = tomllib.loads((HERE / "targets.toml").read_text(encoding="utf-8"))
    return [str(ROOT / "tests" / name) for name in mapped[module]]


def all_mutants(modules: Iterable[str]) -> list[Mutant]:
    """Of the functions and constants of some modules, without kernels: those would be compiled anew each time."""
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
    for function in _functions_of(path):
        code = function.__code__
        fresh = by_line.get((code.co_qualname, code.co_firstlineno))
        if fresh is not None and fresh.co_freevars == code.co_freevars:
            function.__code__ = fresh
            changed += 1
    return changed


@lru_cache(maxsize=1)
def _functions_of(path: str) -> list[types.FunctionType]:
    """The live functions of a file. Asked before forking: a child that looks at every object copies all of memory."""
    functions = [each for each in gc.get_objects() if isinstance(each, types.FunctionType)]
    return [each for each in functions if each.__code__.co_filename == path]


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

    test: Any
    places: frozenset[str]
    seconds: float

    @property
    def file(self) -> str:
        return str(self.test.nodeid).partition("::")[0]


class _Failing:
    """Notes the first test that fails."""

    def __init__(self) -> None:
        self.first: str | None = None

    def pytest_runtest_logreport(self, report: Any) -> None:
        if report.failed and self.first is None:
            self.first = str(report.nodeid)


class _Seeing:
    """Notes which functions of the module each test runs."""

    def __init__(self) -> None:
        self.places, self.last = set[str](), time.process_time()
        self.used: dict[str, tuple[set[str], float]] = {}
        self.of_files: dict[str, set[str]] = {}

    def pytest_runtest_logreport(self, report: Any) -> None:
        places, seconds = self.used.get(report.nodeid, (set(), 0.0))
        took, self.last = time.process_time() - self.last, time.process_time()
        self.used[report.nodeid] = (places | self.places, seconds + took)
        if report.when == "setup":  # what a fixture made may be looked at by any test of the file
            self.of_files.setdefault(report.nodeid.partition("::")[0], set()).update(self.places)
        self.places.clear()

    def told(self) -> list[tuple[list[str], float]]:
        """Of each test in the order of running."""
        return [
            (sorted(places | self.of_files[test.partition("::")[0]]), seconds)
            for test, (places, seconds) in self.used.items()
        ]


class _Instead:
    """Does something else with the collected tests than to run them all."""

    def __init__(self, work: Callable[[list[Any]], None]) -> None:
        self.work, self.fault = work, ""

    def pytest_runtestloop(self, session: Any) -> bool:
        assert not session.testsfailed, "the tests cannot be collected"
        self.work(list(session.items))
        return True

    def pytest_internalerror(self, excrepr: Any) -> None:
        self.fault = str(excrepr)


def with_tests(files: Sequence[str], work: Callable[[list[Any]], None]) -> None:
    """Collect the tests of some files once, and hand them over; each mutant is then a fork of this process."""
    import hypothesis
    import pytest

    hypothesis.settings.register_profile("mutants", database=None, derandomize=True, deadline=None, max_examples=6)
    hypothesis.settings.load_profile("mutants")
    quiet = ["-q", "-s", "-p", "no:cacheprovider", "-p", "no:xdist", f"--rootdir={ROOT}"]
    chosen = ["-W", "ignore::pytest.PytestAssertRewriteWarning", "-m", "not long and not java", "-k", _CHOSEN]
    with tempfile.TemporaryDirectory(prefix="understudy-mutant-") as folder:
        instead = _Instead(work)
        pytest.main([*quiet, *chosen, f"--basetemp={folder}/t", *files], plugins=[instead])
        assert not instead.fault, instead.fault[-500:]


def _run_tests(tests: Sequence[Any], watching: Any, folder: Path, *, go_on: Callable[[], bool]) -> None:
    config = tests[0].config
    config.pluginmanager.register(watching)
    config._tmp_path_factory._basetemp = folder
    for place, test in enumerate(tests):
        following = tests[place + 1] if place + 1 < len(tests) else None
        config.hook.pytest_runtest_protocol(item=test, nextitem=following)
        if not go_on():
            return


def _forked(work: Callable[[Path], object], *, seconds: float) -> tuple[Any, float]:
    """Do it in a child with so many seconds of the processor: what it returned (None if it died) and used."""
    folder = Path(tempfile.mkdtemp(prefix="understudy-mutant-"))
    number = os.fork()
    if number == 0:
        try:
            os.setpgid(0, 0)
            resource.setrlimit(resource.RLIMIT_AS, (_MOST_BYTES, resource.getrlimit(resource.RLIMIT_AS)[1]))
            resource.setrlimit(resource.RLIMIT_CPU, (int(seconds) + 1, int(seconds) + 2))
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, 1)
            os.dup2(nowhere, 2)
            (folder / "tests").mkdir()
            text = json.dumps([work(folder / "tests")])
            (folder / "said").write_text(text, encoding="utf-8")
        finally:
            os._exit(0)
    end = time.monotonic() + 60 + 10 * seconds
    used = seconds
    while time.monotonic() < end:
        done, _, usage = os.wait4(number, os.WNOHANG)
        if done:
            used = usage.ru_utime + usage.ru_stime
            break
        time.sleep(0.01)
    else:
        os.kill(number, signal.SIGKILL)
        os.waitpid(number, 0)
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(number, signal.SIGKILL)  # what its tests started does not outlive it
    said = folder / "said"
    result = json.loads(said.read_text(encoding="utf-8"))[0] if said.exists() else None
    shutil.rmtree(folder, ignore_errors=True)
    return result, used


def run(mutant: Mutant | None, tests: Sequence[Any], *, seconds: float = 600.0) -> Ended:
    """Run tests, with a mutant or without. Seconds are of the processor, so that a busy machine decides nothing."""

    def work(folder: Path) -> str:
        if mutant is not None and not put_in(mutant):
            return NOWHERE
        failing = _Failing()
        _run_tests(tests, failing, folder, go_on=lambda: failing.first is None)
        return failing.first or ""

    killer, used = _forked(work, seconds=seconds)
    assert killer != NOWHERE, (
        f"no function was changed: {mutant and mutant.name}"
    )  # or it would count as one that hangs
    return Ended(killer=HANGS if killer is None else killer or None, seconds=used)


def uses_of(module: str, tests: Sequence[Any]) -> list[Used]:
    """Every test with the functions of the module that it runs. Quick files and quick tests come first."""

    def work(folder: Path) -> object:
        seeing, failing = _Seeing(), _Failing()
        vars(builtins)["__seen__"] = seeing.places.add
        assert _put_in_functions(module, told_by_functions(SOURCE / module))
        tests[0].config.pluginmanager.register(failing)
        _run_tests(tests, seeing, folder, go_on=lambda: failing.first is None)
        return failing.first or seeing.told()

    told, _ = _forked(work, seconds=600.0)
    assert isinstance(told, list), f"{told or 'a test that ends the process'} fails without any fault"
    uses = [Used(test, frozenset(places), took) for test, (places, took) in zip(tests, told, strict=True)]
    of_file: dict[str, float] = {}
    for use in uses:
        of_file[use.file] = of_file.get(use.file, 0.0) + use.seconds
    return sorted(uses, key=lambda use: (of_file[use.file], use.file, use.seconds))


def tried(mutant: Mutant, uses: Sequence[Used]) -> Ended:
    """Run the tests that run what was changed."""
    running = [use for use in uses if mutant.is_constant or mutant.place in use.places]
    if not running:
        return Ended(killer=None, seconds=0.0)
    return run(mutant, [use.test for use in running], seconds=3.0 + 3 * sum(use.seconds for use in running))


def tried_directly(mutant: Mutant, tests: Sequence[Any]) -> Ended | None:
    """Run all tests, those that killed others first; None where the time is too short to tell.

    Nobody has seen the tests pass without a fault, so the one that fails with it runs again alone and without.
    """
    names = [name for name, _ in Counter(killers_of(mutant.module)).most_common()]
    rank = {name: place for place, name in enumerate(names)}
    ordered = sorted(tests, key=lambda test: rank.get(str(test.nodeid).removeprefix("tests/"), len(rank)))
    ended = run(mutant, ordered, seconds=_SECONDS_OF_FEW)
    if ended.killer == HANGS:
        return None
    for test in tests:
        if test.nodeid == ended.killer:
            assert run(None, [test]).killer is None, f"{test.nodeid} fails without any fault"
    return ended


def killers_of(module: str) -> list[str]:
    """The test that killed each mutant of a module so far."""
    killed = read_results()["killed"].items()
    return [test for name, test in killed if name.startswith(f"{module}: ") and test not in ("", HANGS)]


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


def standing(results: dict[str, dict[str, str]], known: Iterable[str]) -> dict[str, dict[str, str]]:
    """The verdicts on mutants that the code still has: what is told of code that is gone counts for nothing."""
    names = set(known)
    return {verdict: {name: why for name, why in told.items() if name in names} for verdict, told in results.items()}


def names_at(commit: str) -> set[str]:
    """What the mutants of the mapped modules were called at an earlier commit."""
    known = ["git", "cat-file", "-e", f"{commit}^{{commit}}"]
    if subprocess.run(known, cwd=ROOT, capture_output=True, check=False).returncode:
        raise ValueError(f"there is no commit {commit!r} here; name one that `git log` shows.")
    names = set[str]()
    for module in modules():
        path = f"{commit}:{SOURCE.relative_to(ROOT)}/{module}"
        shown = subprocess.run(["git", "show", path], cwd=ROOT, capture_output=True, text=True, check=False)
        names |= {mutant.name for mutant in mutants_of_text(shown.stdout, module)}  # of a file that was not there: none
    return names


def _per_module(mutants: Iterable[Mutant], most: int, seed: str, tried: set[str]) -> Iterator[Mutant]:
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
    tried = {*results["killed"], *results["survived"]} if chosen.new or chosen.each or chosen.since else set()
    if chosen.since:
        before = tried | names_at(chosen.since)
        return [mutant for mutant in known if mutant.name not in before]
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


def _try_module(module: str, sample: Sequence[Mutant], say: Callable[[str], object]) -> None:
    def work(tests: list[Any]) -> None:
        _functions_of(str(SOURCE / module))  # before the next line, which hides them from whoever asks
        gc.freeze()  # or the collector of every child would write to all pages that it shares
        uses: list[Used] = []
        for number, mutant in enumerate(sample, start=1):
            ended = tried_directly(mutant, tests) if len(sample) <= _FEW and not uses else None
            if ended is None and not uses:
                uses = uses_of(module, tests)
                say(f"{module}: {len(uses)} tests, {sum(use.seconds for use in uses):.1f} s without a fault\n")
            ended = ended or tried(mutant, uses)
            _note(mutant, ended.killer)
            verdict = "SURVIVED" if ended.killer is None else "killed"
            say(f"{number}/{len(sample)} {verdict} {ended.seconds:.1f} s {mutant.name}\n")

    with_tests(tests_of(module), work)


def _file_of(test: str) -> Path:
    return ROOT / "tests" / test.partition("::")[0]


def repeated(number: int, seed: str, say: Callable[[str], object]) -> int:
    """Put in some mutants again that one test killed, of as many modules as there are: how many live now.

    Only that one test runs, with and without the fault. ``seed`` decides which. Code that has changed, and tests
    whose file is gone, are left out.
    """
    noted = {name: test for name, test in read_results()["killed"].items() if test not in ("", HANGS)}
    killers = {name: test for name, test in noted.items() if _file_of(test).is_file()}
    known = [mutant for mutant in all_mutants(modules()) if mutant.name in killers]
    random.Random(seed).shuffle(known)
    chosen = list({mutant.module: mutant for mutant in known}.values())[:number]
    alive: list[str] = []

    def work(tests: list[Any]) -> None:
        by_name = {str(test.nodeid).removeprefix("tests/"): test for test in tests}
        tried = [mutant for mutant in chosen if killers[mutant.name] in by_name]
        assert len(tried) >= number // 2, "the tests have other names now; try the mutants again: make mutants"
        for mutant in tried:
            test = by_name[killers[mutant.name]]
            assert run(None, [test]).killer is None, f"{test.nodeid} fails without any fault"
            ended = run(mutant, [test], seconds=60.0)
            say(f"{'SURVIVED' if ended.killer is None else 'killed'} {ended.seconds:.1f} s {mutant.name}\n")
            alive.extend([mutant.name] if ended.killer is None else [])

    warm_up()
    files = {str(_file_of(killers[mutant.name])) for mutant in chosen}
    with_tests(sorted(files), work)
    return len(alive)


def main(words: Sequence[str] | None = None) -> None:
    """Try a sample, or the survivors of earlier campaigns again."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--sample", type=int, default=150)
    parser.add_argument("--each", type=int, default=0, help="so many of each module, with those that were tried before")
    parser.add_argument("--seed", default="0", help="any text: it decides which mutants are in a sample")
    parser.add_argument("--repeat", type=int, default=0, help="only repeat so many that one quick test killed before")
    parser.add_argument("--of", default="", help="beginnings of modules, with commas: privacy/,mechanisms/stability")
    parser.add_argument("--again", action="store_true", help="try the survivors of earlier campaigns again")
    parser.add_argument("--unnamed", action="store_true", help="try those again whose killer was not noted")
    parser.add_argument("--since", default="", help="a commit: try all untried mutants of code that has changed since")
    parser.add_argument("--tidy", action="store_true", help="only drop the verdicts on code that is gone")
    parser.add_argument("--new", action="store_true", help="leave out what was tried before")
    chosen = parser.parse_args(words)
    if chosen.repeat:
        say = os.fdopen(os.dup(1), "w", buffering=1).write
        sys.exit(1 if repeated(chosen.repeat, chosen.seed, say) else 0)
    if chosen.tidy:
        write_results(standing(read_results(), (mutant.name for mutant in all_mutants(modules()))))
        return
    sample = sorted(_sample(chosen, read_results()), key=lambda mutant: modules().index(mutant.module))
    warm_up()
    say = os.fdopen(os.dup(1), "w", buffering=1).write
    for module, mutants in groupby(sample, key=lambda mutant: mutant.module):
        number = os.fork()  # what the tests of one module import and start does not meet the next
        if number == 0:
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, 1)
            try:
                _try_module(module, list(mutants), say)
            except BaseException as reason:
                say(f"{module}: {type(reason).__name__}: {reason}\n")
            finally:
                os._exit(0)
        os.waitpid(number, 0)
    results = read_results()
    names = {mutant.name for mutant in sample}
    killed = len(names & set(results["killed"]))
    say(f"{killed} of {len(names)} killed ({killed / max(1, len(names)):.1%})\n")
    say("".join(f"survived: {name}: {why or 'NO REASON YET'}\n" for name, why in sorted(results["survived"].items())))


if __name__ == "__main__":
    main()
