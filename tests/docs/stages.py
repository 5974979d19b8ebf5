"""Small tables with the columns that the pages name. All of them are simulated."""

import csv
import random
import tomllib
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as pv
import pyarrow.parquet as pq
from blocks import ALL, ROOT

import understudy as us

Stage = Callable[[Path, int], None]

PATIENTS = """
format = 1

[[columns]]
name = "sex"
kind = "categorical"
role = "quasi-identifier"
levels = ["F", "M"]

[[columns]]
name = "age"
kind = "integer"
role = "quasi-identifier"
edges = [0, 20, 40, 60, 80, 110]

[[columns]]
name = "zip"
kind = "categorical"
levels = ["900", "901", "902"]

[[columns]]
name = "county"
kind = "categorical"
levels = ["Ash", "Birch", "Cedar"]

[[columns]]
name = "hospital"
kind = "categorical"
levels = ["A", "B"]

[[columns]]
name = "los"
kind = "integer"
edges = [0, 1, 2, 4, 8, 30]

[[columns]]
name = "charge"
kind = "integer"
edges = [0, 10, 20, 30, 50, 100]

[[columns]]
name = "readmitted"
kind = "categorical"
levels = ["no", "yes"]

[[columns]]
name = "diabetes"
kind = "categorical"
levels = ["no", "yes"]

[[columns]]
name = "shock"
kind = "categorical"
levels = ["no", "yes"]
"""

SURVEY = """
format = 1
weight = "finalwt"

[[columns]]
name = "sex"
kind = "categorical"
levels = ["F", "M"]

[[columns]]
name = "region"
kind = "categorical"
levels = ["north", "south"]

[[columns]]
name = "finalwt"
kind = "continuous"
edges = [1, 50, 100, 250, 500]
precision = 1
clip = true
"""


def patient_table(rows: int, seed: int) -> pa.Table:
    """Simulated patients: charges grow with days, readmissions with age."""
    rng = np.random.default_rng(seed)
    age = rng.integers(0, 101, rows)
    days = np.minimum(rng.poisson(1 + age / 40), 29)
    flags = {
        name: rng.random(rows) < age / scale for name, scale in (("readmitted", 200), ("diabetes", 160), ("shock", 400))
    }
    return pa.table(
        {
            "sex": rng.choice(["F", "M"], rows),
            "age": age,
            "zip": rng.choice(["900", "901", "902"], rows),
            "county": rng.choice(["Ash", "Birch", "Cedar"], rows),
            "hospital": rng.choice(["A", "B"], rows),
            "los": days,
            "charge": np.minimum(5 + 6 * days + rng.integers(0, 8, rows), 99),
            **{name: np.where(values, "yes", "no") for name, values in flags.items()},
        }
    )


def patients(folder: Path) -> None:
    """patients.csv and patients.toml."""
    pv.write_csv(patient_table(1500, 1), folder / "patients.csv")
    (folder / "patients.toml").write_text(PATIENTS, encoding="utf-8")


def asked(folder: Path, number: int) -> None:
    """The patients, whom the page asks."""
    patients(folder)


def published(folder: Path, number: int) -> None:
    """The patients, and the declaration that the page shows."""
    from blocks import ALL

    if number == 0:
        patients(folder)
        (text,) = [block.text for block in ALL if block.page == "docs/guide/passport.md" and block.language == "toml"]
        (folder / "publication.toml").write_text(text, encoding="utf-8")


def steward(folder: Path, number: int) -> None:
    """answers.toml: a person has looked at every column of the example."""
    names = us.datasets.discharges(rows=1, seed=1).column_names
    answers = "".join(f'"{name}" = "yes"\n' for name in names)
    (folder / "answers.toml").write_text(f"[columns]\n{answers}", encoding="utf-8")


def untidy(folder: Path, number: int) -> None:
    """discharges.csv as a ward's system writes it, the public register of hospitals, and the answers of the page."""
    if number:
        return
    drawn = random.Random(7)
    counties = {"St. Anna": "North", "Maple": "North", "Quayside": "South"}
    page = (ROOT / "docs" / "guide" / "first-release.md").read_text(encoding="utf-8")
    (folder / "answers.toml").write_text(page.split("```toml\n")[1].split("```")[0], encoding="utf-8")
    lines = [f"{hospital},{county}\n" for hospital, county in counties.items()]
    (folder / "register.csv").write_text("Hospital,County\n" + "".join(lines), encoding="utf-8")
    with (folder / "discharges.csv").open("w", encoding="cp1252", newline="") as file:
        file.write("Discharges 2019, exported by the ward office\r\n\r\n")
        rows = csv.writer(file, delimiter=";")
        rows.writerow(
            ["Patient", "Sex", "Born", "Hospital", "County", "Days", "Charges", "Diagnosis", "Died", "Readmitted"]
        )
        for _ in range(3000):
            sex, hospital = drawn.choice("FM"), drawn.choice(list(counties))
            died = "Y" if drawn.random() < 0.04 else "N"
            code = drawn.choice(["250.83", "428", "410.7", "V57", "650" if sex == "F" else "486"])
            days = drawn.choice(["1", "2", "3", "5", "8", "13", "120 +"])
            born = f"{drawn.randrange(1, 29):02d}.{drawn.randrange(1, 13):02d}.{drawn.randrange(1930, 2000)}"
            charges = f"€{drawn.randrange(500, 90000):,}.{drawn.randrange(100):02d}"
            back = "no" if died == "Y" else drawn.choice(["no", "<30", ">30"])
            spelled = sex if drawn.random() < 0.97 else sex.lower() + " "
            person = f"P{drawn.randrange(2200):05d}"
            rows.writerow([person, spelled, born, hospital, counties[hospital], days, charges, code, died, back])


def readme(folder: Path, number: int) -> None:
    """The first commands draft a codebook; for the others somebody has reviewed it and set roles."""
    few = ["sex", "age", "county", "los", "charge", "readmitted"]
    pv.write_csv(patient_table(1500, 1).select(few), folder / "patients.csv")
    pv.write_csv(patient_table(30, 2).select(few), folder / "sample.csv")
    if number > 1:
        reviewed = us.Codebook.from_toml(PATIENTS)
        us.Codebook(columns=tuple(reviewed.column(name) for name in few)).save(folder / "patients.toml")


def evaluation(folder: Path, number: int) -> None:
    """A release to look at, and people set aside before it was made."""
    if number:
        return
    patients(folder)
    pv.write_csv(patient_table(400, 3), folder / "held.csv")
    source = us.open(folder / "patients.csv", folder / "patients.toml")
    us.Marginals(epsilon=1.0, delta=1e-6).fit(source).sample(1000).save(folder / "release-1")


def newborns(folder: Path, number: int) -> None:
    """The generated newborns and the recipe that the page shows."""
    if number:
        return
    from experiments.chapter2.study import codebook

    few = [column.name for column in codebook().columns]
    pv.write_csv(us.datasets.discharges(rows=1500, seed=1).select(few), folder / "newborns.csv")
    codebook().save(folder / "newborns.toml")
    shown = [block.text for block in ALL if block.page == "docs/guide/anonymize.md" and block.language == "toml"]
    recipe = next(text for text in shown if "steps" in tomllib.loads(text))
    (folder / "recipe.toml").write_text(recipe, encoding="utf-8")


def averages(folder: Path, number: int) -> None:
    """Individuals without the interesting column, and published averages of it."""
    if number:
        return
    patients(folder)
    whole = patient_table(1500, 1)
    pv.write_csv(whole.drop_columns(["charge"]), folder / "people.csv")
    frame = whole.to_pandas()
    for name, by in (("counties", "county"), ("hospitals", "hospital")):
        table = frame.groupby(by)["charge"].agg(avg_charge="mean", total="sum", people="size").reset_index()
        pv.write_csv(pa.Table.from_pandas(table, preserve_index=False), folder / f"{name}.csv")


def service(folder: Path, number: int) -> None:
    """Patients, and an account that a cap can be charged to."""
    if number:
        return
    patients(folder)
    from understudy.privacy import Neighbours

    us.Account.create(
        folder / "patients.account", dataset="patients", epsilon=20.0, delta=1e-6, neighbours=Neighbours.ADD_REMOVE
    )


def validation(folder: Path, number: int) -> None:
    """Patients, and the file of data sets that the page shows."""
    if number:
        return
    patients(folder)
    (text,) = [block.text for block in ALL if block.page == "docs/guide/validation.md" and block.language == "toml"]
    (folder / "data.toml").write_text(text, encoding="utf-8")


def diagnoses(folder: Path, number: int) -> None:
    """Stays with three diagnoses each, from a list."""
    codes = ["250.83", "428", "38", "V57", "E909", "?"]
    rows = [
        "sex,diag_1,diag_2,diag_3",
        *(f"{'FM'[n % 2]},{codes[n % 6]},{codes[n % 5]},{codes[n % 4]}" for n in range(60)),
    ]
    (folder / "visits.csv").write_text("\n".join(rows) + "\n")


def visits(folder: Path, number: int) -> None:
    """Visits and their account, for a draft at a price."""
    if number:
        return
    from understudy.privacy import Neighbours

    table = patient_table(3000, 4)
    pq.write_table(table, folder / "visits.parquet")
    people = pa.array([f"p{row % 900}" for row in range(table.num_rows)])
    pq.write_table(table.append_column("patient", people), folder / "stays.parquet")
    us.Account.create(
        folder / "visits.account", dataset="visits", epsilon=3.0, delta=1e-5, neighbours=Neighbours.ADD_REMOVE
    )


def survey(folder: Path, number: int) -> None:
    """A survey of people with their weights, and the codebook that the page shows part of."""
    if number:
        return
    rng = np.random.default_rng(6)
    table = pa.table(
        {
            "sex": rng.choice(["F", "M"], 800),
            "region": rng.choice(["north", "south"], 800),
            "finalwt": rng.integers(1, 600, 800),
        }
    )
    pv.write_csv(table, folder / "survey.csv")
    (folder / "survey.toml").write_text(SURVEY, encoding="utf-8")


def discharges(folder: Path, number: int) -> None:
    """The simulated discharges, as one file."""
    if number:
        return
    pv.write_csv(us.datasets.discharges(rows=400, seed=1), folder / "discharges.csv")
    us.datasets.discharges_codebook().save(folder / "discharges.toml")


def years(folder: Path, number: int) -> None:
    """Patients of this year, and of the last one, which is public."""
    if number:
        return
    patients(folder)
    pv.write_csv(patient_table(1000, 4), folder / "last-year.csv")


def formats(folder: Path, number: int) -> None:
    """A workbook of two sheets, a fixed-width file with its layout, a study in .sav, and a document about it."""
    if number:
        return
    import pandas as pd
    import pyreadstat
    import xlsxwriter

    rng = np.random.default_rng(9)
    workbook = xlsxwriter.Workbook(str(folder / "survey.xlsx"))
    for name in ("2019", "2020"):
        sheet = workbook.add_worksheet(name)
        sheet.write_row(0, 0, ["sex", "area"])
        sheet.write_column(1, 0, rng.choice(["F", "M"], 50).tolist())
        sheet.write_column(1, 1, rng.choice(["N", "S"], 50).tolist())
    workbook.close()
    (folder / "visits.dat").write_text("".join(f"{row:03d}{'FM'[row % 2]}{20 + row % 7:3d}\n" for row in range(40)))
    (folder / "layout.csv").write_text("name,start,end\nid,1,3\nsex,4,4\nage,5,7\n")
    study = pd.DataFrame(
        {"sex": rng.choice([1.0, 2.0, -9.0, -8.0], 300), "kids": rng.integers(0, 4, 300).astype(float)}
    )
    labels = {1.0: "male", 2.0: "female", 3.0: "other", -9.0: "refused", -8.0: "don't know"}
    pyreadstat.write_sav(
        study,
        str(folder / "study.sav"),
        column_labels={"sex": "Sex of respondent"},
        variable_value_labels={"sex": labels},
        missing_ranges={"sex": [-9.0, -8.0]},
    )
    (folder / "study.xml").write_text(
        '<codeBook xmlns="ddi:codebook:2_5"><dataDscr><var name="sex"><labl>Sex</labl><catgry><catValu>1</catValu>'
        "<labl>male</labl></catgry><catgry><catValu>2</catValu><labl>female</labl></catgry></var></dataDscr></codeBook>"
    )


def nothing(folder: Path, number: int) -> None:
    """A page whose commands make everything themselves."""


STAGES: dict[str, Stage] = {
    "README.md": readme,
    "docs/guide/anonymize.md": newborns,
    "docs/guide/answers.md": asked,
    "docs/guide/commute.md": nothing,
    "docs/guide/evaluate.md": evaluation,
    "docs/guide/files.md": formats,
    "docs/guide/passport.md": published,
    "docs/guide/first-release.md": untidy,
    "docs/guide/forecast.md": years,
    "docs/guide/codes.md": diagnoses,
    "docs/guide/histories.md": nothing,
    "docs/guide/priced-draft.md": visits,
    "docs/guide/reconstruct.md": averages,
    "docs/guide/service.md": service,
    "docs/guide/validation.md": validation,
    "docs/guide/weights.md": survey,
    **{f"docs/methods/{name}.md": discharges for name in ("evaluation", "imputation", "pegs")},
    **{f"docs/{name}.md": nothing for name in ("index", "install", "which")},
    **{f"docs/start/{name}.md": nothing for name in ("statistician", "aggregates", "developer", "geographer")},
    "docs/start/steward.md": steward,
    **{f"docs/start/{name}.md": nothing for name in ("engineer", "privacy")},
}
"""What lies in the folder before a block of a page is run; `number` counts the shell blocks of that page."""
