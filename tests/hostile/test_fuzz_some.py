"""A thousand of the cases that `make long` runs, and what the harness itself must notice."""

import pytest
from fuzz.commands import commands
from fuzz.run import run, run_case
from fuzz.targets import Target, prepare

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


def test_every_whole_file_is_read(targets, tmp_path):
    """Or nothing but refusals would be tried."""
    for target in targets:
        folder = tmp_path / target.name
        folder.mkdir()
        path = folder / target.file
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(target.content)
        if target.is_whole and not target.name.startswith("command"):
            target.load(path.parent if "/" in target.file else path)


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
