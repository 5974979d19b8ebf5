"""Folders of linked tables go from draft to report by commands alone, with no hand-written step.

The files are simulated and have the faults of real ones: column names that differ only by case, persons without a
household, upper-case files, dates with times, eight tables. Where the public samples are there (UNDERSTUDY_DATA), they
go the same way.
"""

import contextlib
import io
import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from understudy.cli.app import main


def run(*words: object) -> str:
    said = io.StringIO()
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said), pytest.raises(SystemExit) as stop:
        main([str(word) for word in words])
    assert not stop.value.code, said.getvalue()
    return said.getvalue()


def households(folder: Path, number: int = 400) -> None:
    """Households and persons as a census office cuts them: `sex` and `SEX`, and persons of other households."""
    rng = np.random.default_rng(1)
    ids = 2012_000_000_000 + rng.choice(10**6, number, replace=False)
    cars = rng.integers(0, 4, number)
    income = np.round(rng.lognormal(10.5, 0.8, number)).astype(int)
    pd.DataFrame({"serialno": ids, "cars": cars, "income": income}).to_csv(folder / "household_sample.csv", index=False)
    of = np.append(rng.choice(ids, 900), 2013_000_000_000 + np.arange(60))
    age, sex = rng.integers(0, 95, len(of)), rng.integers(1, 3, len(of))
    persons = pd.DataFrame({"serialno": of, "age": age, "sex": np.array(["male", "female"])[sex - 1], "SEX": sex})
    persons.to_csv(folder / "person_sample.csv", index=False)


def intensive_care(folder: Path, number: int = 80) -> None:
    """Patients, admissions and what hangs on them, as a hospital exports them."""
    rng = np.random.default_rng(2)
    people = np.arange(10_000, 10_000 + number)
    born = pd.Timestamp("2100-01-01") + pd.to_timedelta(rng.integers(0, 20_000, number), unit="D")
    patients = pd.DataFrame(
        {"row_id": np.arange(number), "subject_id": people, "gender": rng.choice(["F", "M"], number)}
    )
    patients.assign(dob=born).to_csv(folder / "PATIENTS.csv", index=False)
    stays = np.repeat(people, rng.integers(1, 4, number))
    admitted = pd.Timestamp("2160-01-01") + pd.to_timedelta(rng.integers(0, 3_000 * 1440, len(stays)), unit="min")
    admissions = pd.DataFrame({"row_id": np.arange(len(stays)), "subject_id": stays})
    admissions["hadm_id"] = 140_000 + rng.permutation(len(stays))
    admissions["admittime"] = admitted
    admissions["dischtime"] = admitted + pd.to_timedelta(rng.integers(60, 20_000, len(stays)), unit="min")
    admissions["admission_type"] = rng.choice(["EMERGENCY", "ELECTIVE", "URGENT"], len(stays), p=[0.7, 0.2, 0.1])
    admissions.to_csv(folder / "ADMISSIONS.csv", index=False)
    for name, column, values in (
        ("DIAGNOSES_ICD", "icd9_code", [f"{code}" for code in range(3_000, 3_400)] + ["E8120", "V103"]),
        ("SERVICES", "curr_service", ["MED", "SURG", "CSURG"]),
    ):
        of = admissions.loc[np.repeat(np.arange(len(stays)), rng.integers(1, 6, len(stays)))]
        below = of[["subject_id", "hadm_id"]].reset_index(drop=True)
        below.insert(0, "row_id", np.arange(len(below)))
        below["seq_num"] = below.groupby("hadm_id").cumcount() + 1
        below.assign(**{column: rng.choice(values, len(below))}).to_csv(folder / f"{name}.csv", index=False)


def go_through(data: Path, work: Path, people: int) -> dict[str, int]:
    """Draft, check, attest, make, verify and compare; the rows of every released table."""
    book, out = work / "book.toml", work / "release"
    run("codebook", "draft", data, "-o", book)
    run("codebook", "check", data, "-c", book)
    run("codebook", "declare", book, "--all", "--by", "A. Steward", "--from", "the form")
    run("synth", data, "-c", book, "-n", people, "--epsilon", "1", "--delta", "1e-6", "-o", out)
    assert json.loads(run("verify", out, "--json"))["problems"] == []
    run("evaluate", data, out, "-o", work / "report.html")
    assert (work / "report.html").stat().st_size > 10_000
    manifest = json.loads((out / "manifest.json").read_text())
    assert manifest["guarantee"]["kind"] == "ApproxDP"
    return dict(manifest["tables"])


@pytest.mark.parametrize(
    ("make", "top", "tables"), [(households, "household_sample", 2), (intensive_care, "patients", 4)]
)
def test_simulated_folders_go_through(make, top, tables, tmp_path):
    data, work = tmp_path / "data", tmp_path / "work"
    data.mkdir()
    work.mkdir()
    make(data)
    rows = go_through(data, work, 120)
    assert len(rows) == tables and rows[top] == 120


@pytest.mark.parametrize(
    ("name", "top", "tables"), [("acs_households", "household_sample", 2), ("mimic3_demo", "patients", 8)]
)
def test_public_samples_go_through(name, top, tables, data_folder, tmp_path):
    rows = go_through(data_folder / name, tmp_path, 150)
    assert len(rows) == tables and rows[top] == 150
