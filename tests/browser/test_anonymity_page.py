"""The page about an anonymised release as a browser shows it."""

import pytest
from test_report import Shown

import understudy as us
from understudy.anonymize import Closeness, FullDomain, Recipe, Rule
from understudy.codebook import Categorical, Codebook, Role


@pytest.fixture(scope="module")
def shown(chromium, tmp_path_factory):
    folder = tmp_path_factory.mktemp("anonymity")
    book = us.datasets.discharges_codebook()
    step = FullDomain(k=3, suppression=0.1, criteria=(Closeness(column="disp", t=0.9, distance="equal"),))
    recipe = Recipe(steps=(step,), quasi=("sex", "pay", "patzip"), hierarchies={"patzip": Rule(prefix=(2, 1))})
    table = us.datasets.discharges(rows=1200, seed=3)
    us.anonymize(table, book, recipe=recipe, out=folder / "release", page=folder / "page.html")
    return Shown(chromium, folder / "page.html", folder)


@pytest.mark.browser
def test_every_figure_is_drawn_and_nothing_is_loaded(shown):
    shown.check()
    assert shown.dom.count('<svg class="drawing"') == 4
    for words in ("Prosecutor, highest", "Homogeneity", "Quasi-identifiers as released", "0.9-closeness of disp"):
        assert words in shown.dom


@pytest.mark.browser
def test_names_that_look_like_markup_stay_text(chromium, tmp_path):
    evil = "<img src=x onerror=alert(1)>"
    columns = (
        Categorical(name="a<b", levels=(evil, "y"), role=Role.QUASI_IDENTIFIER),
        Categorical(name="c", levels=("</script>", "z"), role=Role.QUASI_IDENTIFIER),
        Categorical(name="s", levels=("p", "q"), role=Role.SENSITIVE),
    )
    table = {"a<b": [evil, "y"] * 6, "c": ["</script>"] * 6 + ["z"] * 6, "s": ["p", "q", "q"] * 4}
    import pyarrow as pa

    recipe = Recipe(steps=(FullDomain(k=2, suppression=0.5),))
    us.anonymize(
        pa.table(table), Codebook(columns=columns), recipe=recipe, out=tmp_path / "r", page=tmp_path / "page.html"
    )
    seen = Shown(chromium, tmp_path / "page.html", tmp_path)
    assert seen.console == []
    assert seen.dom.count('<svg class="drawing"') == 4
    assert "<img" not in seen.dom
