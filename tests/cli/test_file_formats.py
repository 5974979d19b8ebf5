"""Workbooks and statistical files in and out, and codebooks from documents, on the command line."""

import pandas as pd
import pyreadstat
import pytest

from tests.file_makers import xlsx


@pytest.fixture
def study(tmp_path):
    frame = pd.DataFrame({"sex": [1.0, 2.0, -9.0, 2.0] * 40, "kids": [0.0, 1.0, 2.0, 3.0] * 40})
    pyreadstat.write_sav(
        frame,
        str(tmp_path / "study.sav"),
        column_labels={"sex": "Sex of respondent"},
        variable_value_labels={"sex": {1.0: "male", 2.0: "female", -9.0: "refused"}},
        missing_ranges={"sex": [-9.0]},
    )
    return tmp_path / "study.sav"


def test_a_statistical_file_goes_through(run, study, tmp_path):
    assert run("codebook", "draft", study, "-o", tmp_path / "b.toml").code == 0
    made = run(
        "synth", study, "-c", tmp_path / "b.toml", "-n", 50, "--epsilon", 1, "--delta", 1e-6,
        "--format", "sav", "--format", "dta", "-o", tmp_path / "out",
    )  # fmt: skip
    assert made.code == 0, made.err
    assert {path.name for path in (tmp_path / "out").iterdir()} >= {"synthetic.sav", "synthetic.dta"}
    assert run("verify", tmp_path / "out").code == 0
    _, facts = pyreadstat.read_sav(str(tmp_path / "out" / "synthetic.sav"), user_missing=True)
    assert facts.column_names_to_labels["sex"] == "Sex of respondent"


def test_a_sheet_is_named_in_the_address_or_beside_it(run, tmp_path):
    rows = [["sex"], *([value] for value in ["F", "M"] * 30)]
    path = xlsx(tmp_path / "t.xlsx", {"a": rows, "b": rows})
    refused = run("codebook", "draft", path, "-o", tmp_path / "b.toml")
    assert refused.code != 0
    assert "?sheet=a" in refused.err.replace("\n", "")
    assert not (tmp_path / "b.toml").exists()
    assert run("codebook", "draft", f"{path}?sheet=b", "-o", tmp_path / "b.toml").code == 0
    assert 'sheet = "b"' in (tmp_path / "b.toml").read_text()
    assert run("codebook", "draft", path, "--table", "b", "-o", tmp_path / "c.toml").code == 0
    assert run("codebook", "check", path, "-c", tmp_path / "b.toml").code == 0
    counted = ("count", path, "-c", tmp_path / "b.toml", "--by", "sex", "--epsilon", 1)
    made = run(*counted, "--format", "xlsx", "-o", tmp_path / "n")
    assert made.code == 0, made.err
    assert (tmp_path / "n" / "counts.xlsx").is_file()
    assert run("verify", tmp_path / "n").code == 0


def test_a_codebook_from_labels_alone(run, study, tmp_path):
    made = run("codebook", "draft", study, "--from-document", "-o", tmp_path / "b.toml", "--json")
    assert made.code == 0
    assert made.json["drafted_from_data"] == []
    assert made.json["source"].startswith("study.sav (dictionary of a .sav file, no row read")
    assert made.json["left_out"] == {"kids": "the document lists neither its values nor a range"}


def test_an_unknown_format_is_refused_before_anything_is_paid(run, study, tmp_path):
    assert run("codebook", "draft", study, "-o", tmp_path / "b.toml").code == 0
    words = ("synth", study, "-c", tmp_path / "b.toml", "-n", 50, "--epsilon", 1, "--delta", 1e-6)
    made = run(*words, "--format", "docx", "-o", tmp_path / "out")
    assert made.code != 0
    assert "parquet, csv, guarded.csv, xlsx, sav, dta" in made.err.replace("\n", " ")
    assert not (tmp_path / "out").exists()
    parts = run(*words, "--format", "sav", "--engine", "local", "-o", tmp_path / "out")
    assert parts.code != 0
    assert "--format cannot be had with --engine" in parts.err.replace("\n", " ")
