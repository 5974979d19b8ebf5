"""`infer`: the command line says what Python says."""

import json
import subprocess
import sys

import pytest

import understudy as us


@pytest.fixture(scope="module")
def folder(tmp_path_factory, discharges):
    data, book = discharges
    place = tmp_path_factory.mktemp("infer") / "release"
    us.synthesize(data, book, 500, out=place, epsilon=5, delta=1e-6)
    return place


def test_the_command_says_what_python_says(run, folder):
    words = ("--share", "cat", "--mean", "los", "--where", "sex=Female", "--for", "table", "--level", 0.9)
    said = run("infer", folder, *words, "--json")
    expected = us.infer(folder, share="cat", mean="los", where={"sex": "Female"}, target="table", level=0.9)
    assert json.loads(said.out) == json.loads(json.dumps(expected.to_dict()))


def test_figures_are_a_table_and_a_page(run, folder, tmp_path):
    page = tmp_path / "page.html"
    said = run("infer", folder, "--share", "cat", "--linear", "los ~ sev", "-o", page)
    assert "cat=Surgical" in said.out
    assert "differentially private" in said.out
    assert f"wrote {page}" in said.out.replace("\n", "")
    assert page.stat().st_size > 1000


def test_what_is_not_told_is_said_beside_what_is(run, folder):
    said = run("infer", folder, "--share", "cat=Surgical", "--logistic", "sev > 1 ~ I(sev > 1)")
    assert "not told" in said.out and "perfect separation" in said.out


def test_a_release_is_asked_the_question_that_the_data_would_be_asked(run, folder, tmp_path):
    """Whoever has the release alone can try what `answer` takes, word for word."""
    page = tmp_path / "page.html"
    said = run("infer", folder, "mean of los by sex where cat=Medical", "-o", page, "--json")
    expected = us.infer(folder, mean="los", by="sex", where={"cat": "Medical"})
    figures = [(figure["name"], figure["estimate"]) for figure in said.json["figures"]]
    assert said.code == 0 and page.stat().st_size > 1000
    assert [estimate for _, estimate in figures] == [figure.estimate for figure in expected]
    mixed = run("infer", folder, "mean of los", "--by", "sex")
    assert mixed.code == 2 and "whole question" in mixed.err


def test_the_command_loads_what_it_uses(folder):
    """Half of its time would otherwise go to what compiles, counts and draws."""
    program = (
        "import sys; from understudy.cli.app import main\n"
        f"try: main(['infer', {str(folder)!r}, '--logistic', 'sev > 1 ~ los'])\n"
        "except SystemExit: pass\n"
        "print('loaded:', *sorted({name.partition('.')[0] for name in sys.modules}))"
    )
    said = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    assert "Intercept" in said
    assert not {"numba", "ibis", "duckdb", "scipy", "sklearn"} & set(said.split("loaded:")[1].split())


def test_a_size_that_is_none_is_called_by_its_option(run, discharges):
    said = run("forecast", "-c", discharges[1], "--epsilon", 1, "--delta", 1e-6, "--rows-about", "-5")
    assert "--rows-about is -5" in said.err
