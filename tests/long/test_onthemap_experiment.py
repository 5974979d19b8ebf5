"""The OnTheMap experiment: a quick run on the simulated town."""

import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

sys.path.insert(0, str(Path(__file__).parents[2]))  # experiments are no part of the package

from experiments.onthemap import run as experiment
from experiments.onthemap import world


def test_a_quick_run_writes_figures_and_numbers(tmp_path, capsys, monkeypatch):
    kept = ("paper: theorem 4.4, shrunk, 30 miles", "exact, no cut-off, by tract", "baseline SBA")
    monkeypatch.setattr(experiment, "VARIANTS", {name: experiment.VARIANTS[name] for name in kept})
    report = experiment.main(quick=True, out=tmp_path)
    for name in (1, 2, 3, 4, "all-1", "all-2", "all-3", "all-4"):
        root = ElementTree.fromstring((tmp_path / f"onthemap-{name}.svg").read_text())
        spoken = root.findtext("{http://www.w3.org/2000/svg}title")  # what a screen reader says
        assert root.attrib["role"] == "img" and "destinations" in spoken
    assert set(report["variants"]) == set(kept)
    paper = report["variants"][kept[0]]
    assert paper["delta"] <= 1e-5 and 4.6 < paper["epsilon"] <= 8.6
    assert (tmp_path / "onthemap.md").read_text().count("|") > 30
    assert "figures 1 and 2" in capsys.readouterr().out


def test_without_the_data_folder_it_is_left_out(monkeypatch, tmp_path, capsys):
    monkeypatch.delenv("UNDERSTUDY_DATA", raising=False)
    assert experiment.main(out=tmp_path) == {}
    assert "left out" in capsys.readouterr().out


@pytest.mark.data
def test_rhode_island_has_the_stated_size():
    try:
        state = world.rhode_island()
    except world.Absent as reason:
        pytest.skip(str(reason))
    flows = state.all().flows
    assert (flows.workers, len(flows.destinations), len(flows.origins)) == (406_052, 8_358, 17_127)
    assert int((flows.totals == 1).sum()) / 8_358 == pytest.approx(0.13, abs=0.005)
