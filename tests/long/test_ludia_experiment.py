"""The LUDIA experiment: the reference errors of PRIVACY section 8, and a quick run that draws its figures."""

import sys
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parents[2]))  # experiments are no part of the package

from experiments.ludia.run import main
from experiments.ludia.simulate import draw
from experiments.ludia.simulated import METHODS, REFERENCE


@pytest.mark.parametrize(
    ("kind", "size", "name"),
    [
        ("LR", 200, "MP"),
        ("FE", 5, "MP"),
        ("FE", 200, "MP"),
        ("RE2", 200, "MP"),
        ("FE", 5, "LUDIA, +1 column, 100 it."),
        ("FE", 200, "LUDIA, +1 column, 100 it."),
        ("RE2", 200, "LUDIA, +1 column, 100 it."),
        ("LR", 200, "PC-ER, r = 2"),
    ],
)
def test_reference_errors_are_met(kind, size, name):
    """Means of 30 replicates, and of 40 in the reference: five standard errors of the difference."""
    rng = np.random.default_rng([9, size])
    errors = []
    for _ in range(30):
        drawn = draw(kind, size, rng)
        errors.append(float(np.abs(METHODS[name](drawn) - drawn.y).mean()))
    spread = np.std(errors, ddof=1) * np.sqrt(1 / 30 + 1 / 40)
    assert abs(np.mean(errors) - REFERENCE[kind, size, name]) < 5 * spread


def test_the_error_of_ludia_depends_on_its_iterations():
    """PRIVACY section 8: .882 after 100 and .491 after 1000 iterations where ecological regression has .218."""
    from experiments.ludia.simulated import _corrected, ludia

    rng = np.random.default_rng(7)
    drawn = [draw("FE", 50, rng) for _ in range(8)]
    means = []
    for count in (20, 100, 600):
        method = _corrected(True, lambda sketch, count=count: ludia(sketch, rank=3, iterations=count).beta)
        means.append(np.mean([np.abs(method(each) - each.y).mean() for each in drawn]))
    regression = np.median([np.abs(METHODS["WLS-ER, corrected"](each) - each.y).mean() for each in drawn])
    assert means[0] > means[1] > means[2] > 1.2 * regression


def test_quick_run(tmp_path, capsys, monkeypatch):
    monkeypatch.delenv("UNDERSTUDY_DATA", raising=False)
    results = main(quick=True, only=["starts", "clusters", "hospital", "charges"], out=tmp_path)
    said = capsys.readouterr().out
    assert results["hospital"] == {"skipped": "UNDERSTUDY_DATA names no folder"} and "skipped" in said
    assert (tmp_path / "results.json").is_file()
    picture = ElementTree.parse(tmp_path / "ludia-4-5-starts.svg").getroot()
    marks = "".join(path.get("d") for path in picture.iter("{http://www.w3.org/2000/svg}path")).count("h0")
    assert picture.tag.endswith("svg") and marks > 100
    row = results["clusters"]["rows"][0]
    assert row["oracle"] < row["MCEM"]["mae"] < row["MP"]
    charges = results["charges"]
    assert "skipped" in charges["sparcs"]
    levels = charges["simulated"]["levels"]
    assert set(levels) == {"county", "hospital", "zip", "county, hospital and zip"}
    hospital, stacked = (levels[name]["methods"] for name in ("hospital", "county, hospital and zip"))
    assert "CUDIA" in hospital and "CUDIA" not in stacked  # it takes one partition
    assert all(np.isfinite(row["mae"]).all() for row in hospital.values() if "mae" in row)
    assert stacked["MP"]["mae"][0] < hospital["MP"]["mae"][0]  # more averages, less left to guess
