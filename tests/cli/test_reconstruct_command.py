"""`understudy reconstruct` and `understudy reconstruct risk` as a newcomer and a careless hand would use them."""

import json

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest

from understudy.privacy import Neighbours
from understudy.privacy.account import Account
from understudy.privacy.provenance import Made
from understudy.sources.inputs import find_provenance


@pytest.fixture
def files(tmp_path):
    rng = np.random.default_rng(4)
    n = 300
    county = rng.integers(0, 8, n)
    los = rng.integers(1, 12, n) + county
    charge = 100 + 50 * los + 20 * county + rng.integers(0, 40, n)
    people = pd.DataFrame(
        {
            "county": [f"c{k}" for k in county],
            "hospital": rng.integers(1, 4, n),
            "los": los,
            "sex": rng.choice(["F", "M"], n),
        }
    )
    people.to_csv(tmp_path / "people.csv", index=False)
    people.assign(charge=charge).to_csv(tmp_path / "truth.csv", index=False)
    whole = people.assign(avg_charge=charge)
    sizes = whole.groupby("county").size().to_numpy()
    whole.groupby("county")["avg_charge"].mean().reset_index().assign(n=sizes).to_csv(
        tmp_path / "counties.csv", index=False
    )
    whole.groupby("hospital")["avg_charge"].mean().reset_index().to_csv(tmp_path / "hospitals.csv", index=False)
    return tmp_path


def test_the_command_of_the_issue(run, files):
    said = run(
        "reconstruct", files / "people.csv", "--aggregate", f"{files}/counties.csv:county:avg_charge", "--aggregate",
        f"{files}/hospitals.csv:hospital:avg_charge", "--method", "ludia", "-o", files / "out",
    )  # fmt: skip
    assert said.code == 0, said.err
    assert "8 of 8 averages met" in said.out and "no formal protection" in said.out
    written = pq.read_table(files / "out" / "reconstructed.parquet")
    assert written.column_names[-2:] == ["avg_charge_reconstructed", "avg_charge_disclosed"]
    assert written.schema.metadata[b"understudy.kind"] == b"reconstructed"
    assert find_provenance(written).made is Made.RECONSTRUCTED
    assert str(written.schema.field("los").type) == "int64" and str(written.schema.field("hospital").type) != "int64"
    facts = json.loads((files / "out" / "reconstruction.json").read_text())
    assert facts["kind"] == "reconstructed" and facts["method"] == "ludia"
    page = (files / "out" / "report.html").read_text()
    assert "Reconstructed." in page and "https://" not in page.split("<script>")[0]


def test_truth_is_scored_and_never_used(run, files):
    words = (
        "-a",
        f"{files}/counties.csv:county:avg_charge:mean,size=n",
        "--truth",
        "charge",
        "--draws",
        2,
        "--csv",
        "--seed",
        1,
    )
    said = run("reconstruct", files / "truth.csv", *words, "-m", "er", "-o", files / "a", "--json")
    assert said.code == 0, said.out
    scores = said.json["scores"]["avg_charge"]
    assert scores["mae"] < scores["mp"]
    assert sorted(p.name for p in (files / "a").iterdir()) == [
        "reconstructed-1.csv", "reconstructed-1.parquet", "reconstructed-2.csv", "reconstructed-2.parquet",
        "reconstructed.csv", "reconstructed.parquet", "reconstruction.json", "report.html",
    ]  # fmt: skip
    assert "charge" not in pq.read_table(files / "a" / "reconstructed.parquet").column_names
    again = run(
        "reconstruct",
        files / "people.csv",
        "-a",
        f"{files}/counties.csv:county:avg_charge",
        "-m",
        "er",
        "-o",
        files / "b",
    )
    assert again.code == 0
    columns = [
        pq.read_table(files / name / "reconstructed.parquet")["avg_charge_reconstructed"].to_numpy() for name in "ab"
    ]
    assert columns[0] == pytest.approx(columns[1])


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("-a", "counties.csv"), "FILE:GROUP:FIGURE"),
        (("-a", "nowhere.csv:county:avg_charge"), "nowhere.csv"),
        (("-a", "{f}/counties.csv:county:price"), "no column 'price'"),
        (("-a", "{f}/counties.csv:town:avg_charge"), "'town'"),
        (("-a", "{f}/counties.csv:sex=county:avg_charge"), "only among the individuals"),
        (("-a", "{f}/counties.csv:county:avg_charge:noise=-1"), "noise"),
        (("-a", "{f}/counties.csv:county:avg_charge", "-m", "ludya"), "Did you mean 'ludia'"),
        (("-a", "{f}/counties.csv:county:avg_charge", "-m", "mp", "--rank", 2), "does not take --rank"),
        (("-a", "{f}/counties.csv:county:avg_charge", "--link", "cube"), "'cube'"),
        (("-a", "{f}/counties.csv:county:avg_charge", "--truth", "price"), "'price'"),
        (("-a", "{f}/counties.csv:county:avg_charge", "--draws", -1), "-1"),
        (("-a", "{f}/counties.csv:county:avg_charge", "-m", "ludia", "--rank", "some"), "'some'"),
    ],
)
def test_careless_words(run, files, words, said):
    words = [str(word).replace("{f}", str(files)) for word in words]
    ran = run("reconstruct", files / "people.csv", *words, "-o", files / "out")
    assert ran.code == 2 and said in ran.err.replace("\n", " "), ran.err
    assert not (files / "out").exists()


def test_hostile_tables(run, files):
    for text, word in (
        ("county,avg_charge\nc0,1\nc0,2\n", "twice"),
        ("county,avg_charge\nc0,many\n", "'many'"),
        ("county,avg_charge\n,1\n", "no group in line 2"),
        ("county,avg_charge\nc0,\n", "no 'avg_charge'"),
        ("county,avg_charge\n", "no rows"),
        ("", "empty"),
    ):
        (files / "bad.csv").write_text(text)
        ran = run("reconstruct", files / "people.csv", "-a", f"{files}/bad.csv:county:avg_charge", "-o", files / "out")
        assert ran.code == 2 and word in ran.err.replace("\n", " "), (text, ran.err)
    (files / "out").mkdir()
    ran = run("reconstruct", files / "people.csv", "-a", f"{files}/counties.csv:county:avg_charge", "-o", files / "out")
    assert ran.code == 2 and "exists already" in ran.err


def test_risk_of_the_issue(run, files, tmp_path):
    book = tmp_path / "book.toml"
    assert run("codebook", "draft", files / "truth.csv", "-o", book).code == 0
    page = tmp_path / "risk.html"
    said = run(
        "reconstruct", "risk", files / "truth.csv", "--codebook", book, "--group", "county", "--value", "charge",
        "--known", "los,sex", "--epsilons", "1", "-o", page, "--seed", 1,
    )  # fmt: skip
    assert said.code == 0, said.err
    assert "exposed" in said.out and "no formal protection" in " ".join(said.out.split())
    assert "Confidential." in page.read_text()
    machine = run(
        "reconstruct",
        "risk",
        files / "truth.csv",
        "-c",
        book,
        "-g",
        "county",
        "--value",
        "charge",
        "--known",
        "los",
        "--json",
    )
    assert machine.json["groupings"][0]["name"] == "county"
    assert machine.json["recommendation"][-1].startswith("A pass means")
    account = tmp_path / "a.account"
    Account.create(account, dataset="d", epsilon=1, delta=0, neighbours=Neighbours.ADD_REMOVE)
    words = ("reconstruct", "risk", files / "truth.csv", "-c", book, "-g", "county", "--account", account, "--value")
    assert run(*words, "charge").code == 0
    assert run(*words, "sex").code != 0  # nothing was read for it
    assert [what for _, what in Account.open(account).looks()] == ["attack on averages of charge"]
    bad = run("reconstruct", "risk", files / "truth.csv", "-c", book, "-g", "county", "--value", "sex")
    assert bad.code == 2 and "sex" in bad.err


def test_cudia_that_does_not_predict_averages_falls_back_and_says_so_everywhere(run, files):
    words = ("reconstruct", files / "people.csv", "-a", f"{files}/counties.csv:county:avg_charge", "-m", "cudia")
    words += ("--columns", "sex", "--clusters", 2, "--iterations", 5, "--seed", 1)
    said = run(*words, "-o", files / "out")
    assert said.code == 0, said.err
    sentence = "so everybody has the average of the group instead"
    assert sentence in " ".join(said.out.split()) and "fell back to group means for avg_charge" in said.out
    assert sentence in (files / "out" / "report.html").read_text()
    held = run(*words, "-o", files / "again", "--json").json["held_out"][0]
    assert held["fell_back"] and held["ahead"] < 2 and held["settings"]["clusters"] == 2
    assert json.loads((files / "out" / "reconstruction.json").read_text())["held_out"] == [held]
    values = pq.read_table(files / "out" / "reconstructed.parquet").to_pandas()
    assert values.groupby("county")["avg_charge_reconstructed"].std().max() < 1e-9


def test_help_names_both(run):
    said = run("reconstruct", "--help")
    assert said.code == 0 and "risk" in said.out and "files" in said.out
    every, one = (run("reconstruct", "files", *words, "--help").out for words in ((), ("-m", "mp")))
    assert "--clusters" in every and "Of cudia." in every and "--clusters" not in one and "--link" in one


def test_a_question_that_lacks_something_names_it(run, files):
    said = run("reconstruct", "risk", files / "truth.csv", "-c", files / "none.toml", "--value", "charge")
    assert said.code == 2 and "the risk of averages needs --group; there is no default" in said.err.replace("\n", " ")


def test_every_declared_choice_reaches_the_method(run, files):
    words = ("reconstruct", files / "people.csv", "-a", f"{files}/counties.csv:county:avg_charge", "-m", "ludia")
    said = run(*words, "--no-standardise", "--no-correction", "--slope-columns", "los", "-o", files / "out", "--json")
    assert said.code == 0, said.err
    params = said.json["parameters"]
    assert params["standardise"] is False and params["correct"] is False and params["slope_columns"] == ["los"]
