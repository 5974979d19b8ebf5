"""A commuting release by levels in the hands of those who evaluate and map commutes."""

import understudy as us
from understudy.facade.commutes import evaluate_commute, map_commute


def test_a_release_by_levels_is_evaluated_and_mapped(tmp_path):
    town = us.datasets.commutes(600, seed=3, homes=40, workplaces=8)
    us.commute(town.flows, 4.6, delta=1e-6, count="workers", places=town.places, out=tmp_path / "levels")
    assert us.verify(tmp_path / "levels").is_valid
    evaluate_commute(town.flows, tmp_path / "levels", out=tmp_path / "page.html", count="workers", short=5.0)
    page = (tmp_path / "page.html").read_text()
    assert "half the epsilon" in page and "twice the epsilon" in page
    assert map_commute(tmp_path / "levels", tmp_path / "map.html").file.is_file()
