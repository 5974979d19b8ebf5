"""`combine`, `diagnose` and `codebook cells`: the command line says what Python says."""

import json
import math
import statistics

import pyarrow as pa
import pytest

import understudy as us
from understudy.codebook import Integer
from understudy.synth.choices import Choices


@pytest.fixture(scope="module")
def many(tmp_path_factory, discharges):
    """Three files of one fit, in numbered folders."""
    data, book = discharges
    folder = tmp_path_factory.mktemp("combine") / "many"
    us.synthesize_many(data, book, 300, "marginals", files=3, out=folder, epsilon=5, delta=1e-6)
    return folder


def columns_of(folder, name):
    import pyarrow.parquet as pq

    return [
        [
            value
            for value in pq.read_table(folder / str(number) / "synthetic.parquet")[name].to_pylist()
            if value is not None
        ]
        for number in (1, 2, 3)
    ]


def test_a_share_from_released_files(run, many):
    values = columns_of(many, "cat")
    shares = [sum(value == "Surgical" for value in column) / len(column) for column in values]
    expected = us.combine(
        shares, [p * (1 - p) / len(c) for p, c in zip(shares, values, strict=True)], kind="plug-in", rows_ratio=0.5
    )
    said = run("combine", many, "--kind", "plug-in", "--share", "cat=Surgical", "--rows-ratio", 0.5, "--json")
    assert said.code == 0, said.err
    assert said.json == pytest.approx(expected.to_dict())
    alone = run("combine", *(many / str(n) for n in (1, 2, 3)), "--kind", "plug-in", "--share", "cat=Surgical")
    assert alone.code == 0 and "from 3 files" in alone.out and "Note: no combining rule" in alone.out


def test_a_mean_from_released_files(run, tmp_path):
    book = us.Codebook(columns=(Integer(name="days", edges=(0, 2, 5, 9)),))
    table = pa.table({"days": [0, 1, 1, 2, 3, 3, 4, 7, 8] * 40})
    us.synthesize_many(table, book, 200, "laplace", files=3, out=tmp_path / "many", epsilon=5)
    values = columns_of(tmp_path / "many", "days")
    variances = [statistics.variance(column) / len(column) for column in values]
    expected = us.combine(list(map(statistics.fmean, values)), variances, kind="full")
    said = run("combine", tmp_path / "many", "--kind", "full", "--mean", "days", "--level", 0.9, "--json")
    assert said.code == 0, said.err
    assert said.json == pytest.approx(expected.to_dict(0.9))


def test_numbers_that_were_computed_elsewhere(run):
    numbers = [word for value in (10, 11, 9, 10.5, 9.5) for word in ("--estimate", value, "--variance", 1)]
    said = run("combine", *numbers, "--kind", "partial", "--json")
    assert said.code == 0, said.err
    assert (said.json["variance"], said.json["degrees_of_freedom"]) == (1.125, pytest.approx(324))


def test_a_release_that_was_edited_is_not_combined(run, many, tmp_path):
    import shutil

    copy = tmp_path / "many"
    shutil.copytree(many, copy)
    shutil.copyfile(copy / "1" / "synthetic.parquet", copy / "2" / "synthetic.parquet")
    said = run("combine", copy, "--kind", "plug-in", "--share", "cat=Surgical")
    assert said.code == 2 and "does not verify" in said.err


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--kind", "plug-in"), ("give one of --share", "--mean")),
        (("--kind", "plug-in", "--share", "cat=Surgical", "--mean", "los"), ("give one of",)),
        (("--kind", "plug-in", "--share", "cat"), ("--share is 'cat'", "COLUMN=VALUE")),
        (("--kind", "plug-in", "--share", "cat=nothing"), ("'nothing'", "it has", "Surgical")),
        (("--kind", "plug-in", "--share", "nobody=1"), ("no column 'nobody'", "choose among")),
        (("--kind", "plug-in", "--mean", "cat"), ("'cat' holds", "no number", "share")),
        (("--kind", "plug-in", "--mean", "los"), ("'los' holds", "no number")),
        (("--kind", "averaged", "--share", "cat=Surgical"), ("--kind is 'averaged'", "plug-in")),
        (("--kind", "plug-in", "--share", "cat=Surgical", "--rows-ratio", 0), ("--rows-ratio is 0", "above 0")),
        (("--kind", "plug-in", "--share", "cat=Surgical", "--noise", -1), ("--noise is -1",)),
        (("--kind", "plug-in", "--share", "cat=Surgical", "--level", 1), ("--level is 1",)),
        (("--kind", "plug-in", "--share", "cat=Surgical", "--estimate", 1), ("leave one of them out",)),
    ],
)
def test_what_cannot_be_combined(run, many, words, says):
    said = run("combine", many, *words)
    assert said.code in (1, 2) and not said.out
    assert all(word in " ".join(said.err.split()) for word in says), said.err


def test_files_or_numbers_are_needed(run, tmp_path):
    assert "name the files" in run("combine", "--kind", "full", "--mean", "los").err
    assert "0 estimate" in run("combine", "--kind", "full").err
    assert "1 estimates and 0 variances" in " ".join(run("combine", "--kind", "full", "--estimate", 1).err.split())
    gone = run("combine", tmp_path / "gone", "--kind", "full", "--mean", "los")
    assert gone.code in (1, 2) and "gone" in gone.err


def test_diagnose_is_that_of_python(run, discharges, tmp_path):
    data, book = discharges
    words = ("--l", 1.3, "--sweeps", 2, "--chains", 16, "--after", 30, "--lags", 6, "--seed", 3)
    said = run("diagnose", data, "-c", book, *words, "--json")
    assert said.code == 0, said.err
    chains = {"chains": 16, "after": 30, "lags": 6, "seed": 3}
    expected = us.diagnose(data, book, l=1.3, sweeps=2, **chains)
    assert "confidential" in repr(expected)
    assert said.json == json.loads(json.dumps(expected.to_dict()))
    assert said.json["irreducible"] and set(said.json["zero_blocks"].values()) == {0}
    shown = run("diagnose", data, "-c", book, *words)
    assert shown.code == 0 and "not for release" in shown.out and "Every state can be reached" in shown.out
    holes = run("diagnose", data, "-c", book, *words, "--floor", 0, "--json").json
    assert not holes["irreducible"] and any(holes["zero_blocks"].values()) and holes["warnings"]
    recipe = tmp_path / "lugs.toml"
    recipe.write_text(Choices(method="lugs", options={"l": 1.3, "sweeps": 2}, rows=9).to_toml())
    again = run("diagnose", data, "-c", book, "--recipe", recipe, *words[4:], "--json")
    assert again.json == said.json


def test_an_account_remembers_a_diagnosis(run, discharges, tmp_path):
    data, book = discharges
    account = tmp_path / "a.account"
    run("account", "create", account, "--dataset", "d", "--epsilon", 5, "--delta", 1e-5, "--neighbours", "add-remove")
    asked = ("--l", 1.3, "--sweeps", 1, "--chains", 4, "--after", 5, "--lags", 2, "--account", account)
    assert run("diagnose", data, "-c", book, *asked).code == 0
    assert [what for _, what in us.Account.open(account).looks()] == ["diagnosis of the chains of lugs"]


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ((), ("--l",)),
        (("--l", 1.3, "--chains", 0), ("--chains is 0", "from 1 to 1,000,000")),
        (("--l", 1.3, "--lags", 0), ("--lags is 0",)),
        (("--l", 1.3, "--after", 20), ("--after is 20", "21")),
        (("--l", 40), ("levels", "--cap")),
        (("--l", 1.3, "--epsilon", 1), ("--epsilon",)),
    ],
)
def test_a_diagnosis_that_cannot_be_made(run, discharges, words, says):
    said = run("diagnose", discharges[0], "-c", discharges[1], *words)
    assert said.code == 2 and not said.out
    assert all(word in " ".join(said.err.split()) for word in says), said.err


def test_only_lugs_is_diagnosed(run, discharges, tmp_path):
    recipe = tmp_path / "r.toml"
    recipe.write_text('method = "pegs"\nalpha = 1.0\n')
    said = run("diagnose", discharges[0], "-c", discharges[1], "--recipe", recipe)
    assert said.code == 2 and "'pegs'" in said.err and "only the chains of lugs" in said.err


def test_records_per_cell_from_public_sizes(run, discharges):
    book = us.Codebook.load(discharges[1])
    said = run("codebook", "cells", discharges[1], "--public-rows", 10_000, "--json")
    assert said.code == 0, said.err
    for name, parents in said.json["parents"].items():
        keys = math.prod(book.column(parent).size for parent in parents)
        assert said.json["records"][name] == pytest.approx(10_000 / keys)
        assert (name in said.json["thin"]) == (10_000 / keys < 30)
        kept = math.prod(book.column(parent).size for parent in said.json["kept"][name])
        assert 10_000 / kept >= 30
    assert said.json["most_keys"] == 333
    own = run("codebook", "cells", discharges[1], "--public-rows", 60, "--per-cell", 20, "--parents", "cat=sex,typ")
    assert own.code == 0 and "at most 3 leaves 20 records per key" in own.out
    asked = us.records_per_cell(book, 60, parents=["cat=sex,typ"], per_cell=20)
    assert asked.parents["cat"] == ("sex", "typ") and asked.records["cat"] == 60 / (3 * 6)


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ((), ("--public-rows",)),
        (("--public-rows", 0), ("--public-rows is 0", "1 or more")),
        (("--public-rows", 100, "--per-cell", 0), ("--per-cell is 0", "above 0")),
        (("--public-rows", 100, "--parents", "private"), ("'private'", "COLUMN=PARENT")),
        (("--public-rows", 100, "--parents", "cat=nobody"), ("'nobody'", "choose parents among")),
        (("--public-rows", 100, "--parents", "cat=cat"), ("other columns",)),
    ],
)
def test_cells_that_cannot_be_counted(run, discharges, words, says):
    said = run("codebook", "cells", discharges[1], *words)
    assert said.code == 2 and not said.out
    assert all(word in " ".join(said.err.split()) for word in says), said.err


def test_a_missing_kind_and_another_method_are_told_with_the_rule_and_a_remedy(run, tmp_path):
    said = run("combine", "--estimate", "1", "--variance", "1")
    assert said.code == 2 and "--kind is missing" in said.err and "Try --kind plug-in" in said.err
    said = run("diagnose", tmp_path / "x.csv", "--codebook", tmp_path / "x.toml", "-m", "pegs")
    assert said.code == 2 and "--method is 'pegs'" in said.err and "only the chains of lugs" in said.err
