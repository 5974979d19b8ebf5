import json
from pathlib import Path

import pyarrow.csv as pv
import pytest

import understudy as us
from understudy.cli.app import main


class Ran:
    """What one command did."""

    def __init__(self, code: int, out: str, err: str) -> None:
        self.code, self.out, self.err = code, out, err

    @property
    def json(self):
        return json.loads(self.out)


@pytest.fixture
def run(capsys):
    def go(*words: object) -> Ran:
        capsys.readouterr()
        with pytest.raises(SystemExit) as stop:
            main([str(word) for word in words])
        said = capsys.readouterr()
        assert "Traceback" not in said.err
        return Ran(int(stop.value.code or 0), said.out, said.err)

    return go


@pytest.fixture(scope="session")
def discharges(tmp_path_factory) -> tuple[Path, Path]:
    """A CSV of simulated discharges and its codebook file."""
    folder = tmp_path_factory.mktemp("discharges")
    data, book = folder / "discharges.csv", folder / "discharges.toml"
    pv.write_csv(us.datasets.discharges(rows=3000, seed=5), data)
    us.datasets.discharges_codebook().save(book)
    return data, book
