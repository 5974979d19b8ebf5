"""A thousand of the cases that `make long` runs, and what the harness itself must notice."""

import ast
import sys
from pathlib import Path

import pytest
from fuzz.commands import commands
from fuzz.run import run, run_case
from fuzz.targets import Target, prepare

import understudy
from understudy.errors import DataError


@pytest.fixture(scope="module")
def targets(tmp_path_factory):
    place = tmp_path_factory.mktemp("fuzzed")
    return [*prepare(place), *commands(place)]


def test_a_thousand_damaged_files(targets, tmp_path):
    folder = tmp_path / "cases"
    folder.mkdir()
    done, failures = run(targets, folder, seed=2, cases=1000)
    assert not failures, "\n".join(map(str, failures))
    assert done >= 1000


SOURCE = Path(understudy.__file__).parent


BY_COMMAND = ("command codebook draft", "command recipe", "command passport")
"""Commands that are the only way to a loader."""


def guarded(function: ast.AST) -> bool:
    """Whether it reads files behind the refusing wrapper."""
    if not isinstance(function, ast.FunctionDef):
        return False
    entered = [item.context_expr for node in ast.walk(function) if isinstance(node, ast.With) for item in node.items]
    calls = [node for node in (*function.decorator_list, *entered) if isinstance(node, ast.Call)]
    return any(ast.unparse(call.func) in ("loader", "loading") for call in calls)


def test_every_whole_file_is_read_and_every_loader_is_fuzzed(targets, tmp_path):
    """Or nothing but refusals would be tried; and whoever adds a file that is read adds a target."""
    loaders = {
        (str(path.relative_to(SOURCE)), node.name)
        for path in SOURCE.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if path.name != "loading.py" and guarded(node)
    }
    called = set()

    def note(frame, event, _argument):
        if event == "call" and frame.f_code.co_filename.startswith(str(SOURCE)):
            called.add((str(Path(frame.f_code.co_filename).relative_to(SOURCE)), frame.f_code.co_name))

    for target in targets:
        if not target.is_whole or (target.name.startswith("command") and target.name not in BY_COMMAND):
            continue
        path = tmp_path / target.name / target.file
        path.parent.mkdir(parents=True)
        path.write_bytes(target.content)
        sys.setprofile(note)
        try:
            target.load(path.parent if "/" in target.file else path)
        finally:
            sys.setprofile(None)
    assert len(loaders) > 40 and loaders <= called, sorted(loaders - called)


@pytest.mark.parametrize(
    ("raised", "words"),
    [
        (KeyError("ledger"), "KeyError"),
        (DataError("it is damaged; copy it again."), "the file is not named"),
        (DataError("fuzzed.toml is damaged"), "not a sentence"),
    ],
)
def test_the_harness_notices(tmp_path, raised, words):
    def load(_path):
        raise raised

    target = Target("x", b"abc", lambda content, _: content, load, 1, "fuzzed.toml")
    failure = run_case(target, "1.1", tmp_path)
    assert failure is not None and words in str(failure)
    assert run_case(Target("x", b"abc", lambda c, _: c, lambda _p: 1, 1, "fuzzed.toml"), "1.1", tmp_path) is None
