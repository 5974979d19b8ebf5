"""Every notebook of the documentation runs from top to bottom."""

import json
from pathlib import Path

import pytest

NOTEBOOKS = sorted((Path(__file__).parents[2] / "docs" / "notebooks").glob("*.ipynb"))


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs(path, tmp_path, monkeypatch):
    """Cell by cell in one namespace, in an empty folder; Jupyter itself is not needed."""
    monkeypatch.chdir(tmp_path)
    cells = [cell for cell in json.loads(path.read_text(encoding="utf-8"))["cells"] if cell["cell_type"] == "code"]
    assert cells, "a notebook without code shows nothing"
    names: dict[str, object] = {}
    for number, cell in enumerate(cells, start=1):
        exec(compile("".join(cell["source"]), f"{path.name}, code cell {number}", "exec"), names)
        assert not cell["outputs"], "stored outputs grow stale; clear them before committing"


def test_there_is_a_notebook():
    assert NOTEBOOKS
