"""The SBHG experiment: its theory against brute force, its measure, and a quick run that draws its figures."""

import itertools
import math
import sys
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import multivariate_normal, norm

from understudy.errors import DataError
from understudy.evaluate.utility.distances import joint_l1, table_l1
from understudy.mechanisms.stability import stability_threshold
from understudy.privacy.guarantees import Neighbours
from understudy.sources.tables import CountTable

sys.path.insert(0, str(Path(__file__).parents[2]))  # experiments are no part of the package

from experiments.chart import Line, Panel, chart
from experiments.sbhg import real_data
from experiments.sbhg.measure import histogram_l1, sba
from experiments.sbhg.real import real
from experiments.sbhg.run import main
from experiments.sbhg.simulate import best_mass, private_floor, simulated
from experiments.sbhg.theory import (
    expected_l1,
    expected_l1_discrete,
    expected_l1_with_typical_noise,
    paper_threshold,
)

SVG = "{http://www.w3.org/2000/svg}"


def test_proposition_2_1_at_the_numbers_of_the_errata():
    threshold = paper_threshold(0.5, 1e-4)
    assert threshold == pytest.approx(1 + 4 * math.log(2e4))
    cell = np.array([30])
    assert expected_l1(cell, epsilon=0.5, threshold=threshold) == pytest.approx(29.4584, abs=5e-5)
    assert expected_l1_with_typical_noise(cell, epsilon=0.5, threshold=threshold) == pytest.approx(29.085, abs=5e-4)


@pytest.mark.parametrize("count", [1, 30, 40, 41, 60])
def test_proposition_2_1_is_the_integral_it_claims_to_be(count):
    epsilon, threshold = 0.5, paper_threshold(0.5, 1e-4)
    b, a = 2 / epsilon, threshold - count

    def density(e):
        return math.exp(-abs(e) / b) / (2 * b)

    below = -0.5 * math.exp(-abs(a) / b) + 1 if a >= 0 else 0.5 * math.exp(-abs(a) / b)
    pieces = [a, 0, 400 * b] if a < 0 else [a, 400 * b]
    kept = sum(quad(lambda e: abs(e) * density(e), *ends)[0] for ends in itertools.pairwise(pieces))
    assert expected_l1(np.array([count]), epsilon=epsilon, threshold=threshold) == pytest.approx(count * below + kept)


@pytest.mark.parametrize(("scale", "threshold"), [(4.0, 36), (0.2, 2), (20.0, 1)])
@pytest.mark.parametrize("count", [1, 2, 35, 36, 37, 90])
def test_the_discrete_version_is_the_sum_it_claims_to_be(scale, threshold, count):
    q = math.exp(-1 / scale)
    noise = np.arange(-5_000, 5_001)
    chance = (1 - q) / (1 + q) * q ** np.abs(noise)
    shown = np.where(count + noise >= threshold, count + noise, 0)
    expected = float((np.abs(shown - count) * chance).sum())
    found = expected_l1_discrete(np.array([count]), scale=scale, threshold=threshold)
    assert found == pytest.approx(expected, rel=1e-9)


def test_released_histograms_err_as_expected():
    """Cells are independent, and an error is the cell's count or its noise, so its SD is below c + 2 scale."""
    table = simulated(3, seed=0)
    counts = table.counts.occupied()[1]
    runs = 20
    found = np.mean([histogram_l1(sba(5.0, 1e-4), table, seed=seed) for seed in range(runs)])
    scale, threshold = stability_threshold(epsilon=5.0, delta=1e-4, neighbours=Neighbours.REPLACE)
    expected = expected_l1_discrete(counts, scale=float(scale), threshold=threshold)
    bound = math.sqrt(float(((counts + 2 * float(scale)) ** 2).sum()) / runs)
    assert abs(found - expected) < 6 * bound


def as_table(cells):
    codes = np.array(list(cells), dtype=np.uint8).reshape(-1, 2)
    return CountTable.sparse(("a", "b"), (9, 9), codes, np.array(list(cells.values()), dtype=np.int64))


@pytest.mark.parametrize("seed", range(5))
def test_table_l1_is_the_sum_over_all_cells(seed):
    rng = np.random.default_rng(seed)
    real, copy = (
        {
            tuple(cell): int(count)
            for cell, count in zip(rng.integers(0, 9, (20, 2)), rng.integers(1, 9, 20), strict=True)
        }
        for _ in range(2)
    )
    for weight in (1.0, 0.5):
        expected = sum(abs(real.get(c, 0) - weight * copy.get(c, 0)) for c in {*real, *copy})
        assert table_l1(as_table(real), as_table(copy), weight=weight) == pytest.approx(expected)
        assert table_l1(CountTable.dense(("a", "b"), as_table(real).to_grid()), as_table(copy), weight=weight) == (
            pytest.approx(expected)
        )


def test_l1_at_its_ends():
    real = as_table({(0, 0): 3, (1, 1): 2})
    assert table_l1(real, real) == 0
    assert table_l1(real, as_table({(2, 2): 5})) == 10
    assert table_l1(real, as_table({})) == table_l1(as_table({}), real) == 5
    assert table_l1(as_table({}), as_table({})) == 0
    with pytest.raises(DataError, match="same columns"):
        table_l1(real, CountTable.dense(("a", "c"), real.to_grid()))


def test_a_rescaled_copy_is_no_distance_away():
    table = simulated(10, seed=1, rows=500)
    twice = simulated(10, seed=1, rows=500)
    doubled = type(table).of(twice.source.codebook, [np.repeat(c, 2) for c in twice.source._columns])
    assert joint_l1(table.source, doubled.source) == 500
    assert joint_l1(table.source, doubled.source, rescale=True) == 0


def test_simulated_columns_are_deciles_with_the_stated_correlation():
    table = simulated(3, seed=4, rows=20_000)
    for name in table.source.codebook.names:
        share = table.counts.project([name]).to_grid() / 20_000
        assert np.abs(share - 0.1).max() < 6 * math.sqrt(0.1 * 0.9 / 20_000)
    corner = multivariate_normal.cdf([norm.ppf(0.1)] * 2, cov=[[1, 0.3], [0.3, 1]])
    found = table.counts.project(["x1", "x2"]).to_grid()[0, 0] / 20_000
    assert abs(found - corner) < 6 * math.sqrt(corner / 20_000)


def test_the_likeliest_cells():
    corner = multivariate_normal.cdf([norm.ppf(0.1)] * 2, cov=[[1, 0.3], [0.3, 1]])
    assert best_mass(2, 1) == pytest.approx(corner, rel=1e-6)
    assert best_mass(2, 2) == pytest.approx(2 * corner, rel=1e-6)  # the opposite corner is as likely
    assert best_mass(3, 1000) == pytest.approx(1.0)
    assert private_floor(3, epsilon=1.0, delta=1e-4) == 0
    assert 5900 < private_floor(10, epsilon=0.5, delta=1e-4) < 6000


def test_a_chart_is_well_formed_and_needs_no_colour():
    lines = [Line(label=f"a < b & {i}", style=i, points=[(0.1, 1.0), (1, 2.0)], hollow=[True, False]) for i in range(6)]
    root = ElementTree.fromstring(chart("t", [Panel(title="p", x="x", y="y", lines=lines, log_x=True)]))
    shapes = {(path.get("stroke-dasharray"), path.get("fill")) for path in root.iter(f"{SVG}path")}
    assert len({dash for dash, fill in shapes if fill == "none" and dash is not None}) == 6


def test_real_data_are_skipped_by_name_where_they_are_absent(monkeypatch, capsys):
    monkeypatch.delenv("UNDERSTUDY_DATA", raising=False)
    assert set(real(quick=True)) == set(real_data.TASKS)
    assert "skipped Adult" in capsys.readouterr().out


def test_a_quick_run_writes_numbers_and_figures(tmp_path, capsys):
    results = main(quick=True, only=["noise", "figure2"], out=tmp_path)
    assert (tmp_path / "results.json").is_file()
    ElementTree.parse(tmp_path / "sbhg-2-rows.svg")
    assert not (tmp_path / "sbhg-4-real-error.svg").exists()
    series = results["figure2"]["series"]
    refused = series["SBHG, R=2, epsilon 0.5"][0]
    assert refused["refused"] == refused["runs"]
    assert refused["mean"] == 3_000  # an empty release, honestly counted
    assert "| columns |" in capsys.readouterr().out
