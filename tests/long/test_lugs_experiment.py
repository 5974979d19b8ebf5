"""The LUGS experiment: its tables, and a quick run of the parts that need no other data."""

import sys
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parents[2]))  # experiments are no part of the package

from experiments.lugs import collect, tables
from experiments.lugs.figures import FIGURES
from experiments.lugs.run import main, report


def test_bands_hold_their_first_value():
    assert tables._bands(np.array([0, 17, 18, 34, 90]), tables.AGES).tolist() == [0, 0, 1, 1, 6]
    assert tables._bands(np.array([1, 2, 3, 5, 9, 10, 400]), tables.STAYS).tolist() == [0, 1, 2, 3, 4, 5, 5]


def test_without_the_data_folder_nhds_is_left_out(monkeypatch, tmp_path):
    monkeypatch.setenv("UNDERSTUDY_DATA", str(tmp_path))
    with pytest.raises(tables.Absent, match="nhds2010"):
        tables.nhds()
    monkeypatch.delenv("UNDERSTUDY_DATA")
    with pytest.raises(tables.Absent):
        tables.nhds()


@pytest.mark.data
def test_nhds_has_the_papers_shape():
    try:
        study = tables.nhds(rows=2000)
    except tables.Absent as reason:
        pytest.skip(str(reason))
    assert study.source.codebook.names == ("sex", "age", "drg", "procedure", "stay", "payer")
    assert study.source.count([study.three])[0].open().to_grid().sum() == 2000


def test_a_quick_run_draws_its_figures(monkeypatch, tmp_path, capsys):
    monkeypatch.delenv("UNDERSTUDY_DATA", raising=False)
    monkeypatch.setattr(collect, "QUICK", 400)
    monkeypatch.setattr(collect, "LOG_LS", (0.0, 0.1, 0.3, 0.69))
    results = main(quick=True, only=["chains", "memory"], out=tmp_path)
    assert "autocorrelation after 5 sweeps" in report(results)
    for name, (part, _) in FIGURES.items():
        if part in results:
            ElementTree.fromstring((tmp_path / f"{name}.svg").read_text(encoding="utf-8"))
    assert (tmp_path / "results.json").is_file()
