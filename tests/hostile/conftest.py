"""A way to hand every command something bad, in an empty folder, with an account that must stay untouched."""

import tempfile
from dataclasses import dataclass
from pathlib import Path

import pytest
from hostile_bench import Bench, make_bench

import understudy as us
from understudy.cli.app import main


@pytest.fixture(scope="session")
def bench(tmp_path_factory) -> Bench:
    return make_bench(tmp_path_factory.mktemp("bench"))


@dataclass(frozen=True)
class Ran:
    code: int
    out: str
    err: str

    @property
    def sentence(self) -> str:
        return " ".join(self.err.split())


@pytest.fixture
def here(tmp_path, monkeypatch) -> Path:
    """The folder in which a command runs, with an untouched account; its temporary folder is apart."""
    folder, scratch = tmp_path / "here", tmp_path / "scratch"
    folder.mkdir()
    scratch.mkdir()
    monkeypatch.chdir(folder)
    monkeypatch.setattr(tempfile, "tempdir", str(scratch))
    monkeypatch.setenv("TMPDIR", str(scratch))
    monkeypatch.setenv("UNDERSTUDY_MODEL_KEY", "cd" * 32)
    monkeypatch.delenv("UNDERSTUDY_DATABASE", raising=False)
    us.Account.create(
        folder / "a.account", dataset="people", epsilon=5.0, delta=1e-3, neighbours=us.Neighbours.ADD_REMOVE
    )
    return folder


@pytest.fixture
def run(capfd, bench):
    """Run one command line in this process."""

    def go(*words: str) -> Ran:
        capfd.readouterr()
        with pytest.raises(SystemExit) as stop:
            main([bench.fill(word) for word in words])
        said = capfd.readouterr()
        return Ran(int(stop.value.code or 0), said.out, said.err)

    return go
