"""A statistical file goes in, and a release comes out in its format: labels, order and missing codes are kept."""

import base64
import datetime as dt
import shutil
import subprocess
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet
import pyreadstat
import pytest

import understudy as us
from tests.file_makers import xlsx
from understudy.codebook import Categorical, Codebook, Dates, FileReading, Grain, Integer, Ordinal
from understudy.codebook.readings import Reading
from understudy.errors import ParameterError, UnderstudyError
from understudy.privacy.provenance import Made
from understudy.release.formats import chosen_formats, holds_same_rows, write_table
from understudy.sources.files import open_table
from understudy.sources.inputs import find_provenance

N = 300
SEX = {1.0: "male", 2.0: "female", 3.0: "other", -9.0: "refused", -8.0: "don't know"}
LABELS = {"sex": "Sex of respondent", "agree": "Agrees", "age": "Age in years"}


def study(path: Path) -> Path:
    """A survey with labelled codes, single and ranged missing codes, a labelled text and a plain number."""
    rng = np.random.default_rng(7)
    age = rng.integers(18, 90, N).astype(float)
    age[:20] = rng.choice([97.0, 98.0, 99.0], 20)
    frame = pd.DataFrame(
        {
            "sex": rng.choice([1.0, 2.0, -9.0, -8.0], N),
            "agree": rng.choice([1.0, 2.0, 3.0, 4.0], N),
            "age": age,
            "area": rng.choice(["N", "S", "zz"], N),
            "kids": rng.integers(0, 5, N).astype(float),
        }
    )
    pyreadstat.write_sav(
        frame,
        str(path),
        column_labels=LABELS,
        variable_value_labels={"sex": SEX, "agree": {1.0: "no", 4.0: "yes"}, "area": {"N": "North", "S": "South"}},
        missing_ranges={"sex": [-9.0, -8.0], "age": [{"lo": 97.0, "hi": 99.0}], "area": ["zz"]},
        variable_measure={"sex": "nominal", "agree": "ordinal", "age": "scale", "kids": "scale"},
    )
    return path


def stata(path: Path) -> Path:
    rng = np.random.default_rng(8)
    sex: list[Any] = [1, 2, "a", "b"]
    frame = pd.DataFrame(
        {
            "sex": pd.Series([sex[place] for place in rng.integers(0, 4, N)], dtype=object),
            "kids": rng.integers(0, 5, N).astype("int32"),
            "weight": rng.random(N).round(2),
        }
    )
    pyreadstat.write_dta(
        frame,
        str(path),
        column_labels={"sex": "Sex of respondent"},
        variable_value_labels={"sex": {1: "male", 2: "female", 3: "other", "a": "refused", "b": "don't know"}},
        missing_user_values={"sex": ["a", "b"]},
    )
    return path


def released(path: Path, out: Path, *formats: str) -> us.Release:
    book = us.draft(path).codebook
    return us.synthesize(
        path, book, rows=120, method="marginals", epsilon=5, delta=1e-6, seed=1, out=out, formats=formats
    )


def facts(metadata: Any) -> dict[str, Any]:
    return {
        "order": metadata.column_names,
        "labels": metadata.column_names_to_labels,
        "values": metadata.variable_value_labels,
        "measure": {name: m for name, m in metadata.variable_measure.items() if m != "unknown"},
        "letters": metadata.missing_user_values,
    }


def codes(ranges: dict[str, list[dict[str, Any]]]) -> dict[str, set[Any]]:
    """A range of three whole numbers and three single codes say the same."""
    return {
        name: {
            code
            for item in items
            for code in ([item["lo"]] if isinstance(item["lo"], str) else np.arange(item["lo"], item["hi"] + 1))
        }
        for name, items in ranges.items()
    }


@pytest.fixture(scope="module")
def spss(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    folder = tmp_path_factory.mktemp("spss")
    path = study(folder / "study.sav")
    released(path, folder / "release", "sav", "dta", "xlsx", "csv")
    return path, folder / "release"


def test_sav_to_sav_keeps_labels_order_and_missing_codes(spss: tuple[Path, Path]):
    path, release = spss
    _, before = pyreadstat.read_sav(str(path), user_missing=True)
    rows, after = pyreadstat.read_sav(str(release / "synthetic.sav"), user_missing=True)
    first, second = facts(before), facts(after)
    second["measure"] = {name: second["measure"][name] for name in first["measure"] if name != "kids"}
    first["measure"].pop("kids")  # five whole numbers are drafted as ordered levels
    assert second == first
    assert codes(after.missing_ranges) == codes(before.missing_ranges)
    assert set(rows["sex"]) <= set(SEX)
    assert set(rows["area"]) <= {"N", "S", "zz"}
    assert rows["kids"].notna().all()


def test_the_missing_values_of_a_release_are_missing_to_the_program_that_opens_it(spss: tuple[Path, Path]):
    _, release = spss
    table = pa.parquet.read_table(release / "synthetic.parquet")
    for reader, name in ((pyreadstat.read_sav, "synthetic.sav"), (pyreadstat.read_dta, "synthetic.dta")):
        rows, _ = reader(str(release / name))
        for column in ("sex", "age"):
            assert rows[column].isna().tolist() == [value is None for value in table.column(column).to_pylist()]


def test_dta_to_dta_keeps_labels_order_and_missing_codes(tmp_path: Path):
    path = stata(tmp_path / "study.dta")
    released(path, tmp_path / "release", "dta", "sav")
    _, before = pyreadstat.read_dta(str(path), user_missing=True)
    rows, after = pyreadstat.read_dta(str(tmp_path / "release" / "synthetic.dta"), user_missing=True)
    first, second = facts(before), facts(after)
    assert second["letters"]["sex"] == ["a"]  # what occurs: one missing level has one code
    first.pop("letters"), second.pop("letters")
    assert second == first
    assert {str(value) for value in rows["sex"]} <= {"1", "2", "3", "a"}
    assert after.readstat_variable_types["kids"] == "int32"


def test_verify_reads_every_format_and_finds_another_table(spss: tuple[Path, Path], tmp_path: Path):
    _, release = spss
    checked = us.verify(release)
    assert not checked.problems
    for form in ("csv", "xlsx", "sav", "dta"):
        assert f"synthetic.{form} holds the same rows as the table" in checked.passed
    table = pa.parquet.read_table(release / "synthetic.parquet")
    book = Codebook.load(release / "codebook.toml")
    changed = table.set_column(2, "age", pa.array([*table.column("age").to_pylist()[:-1], 33], pa.int64()))
    for form in ("csv", "xlsx", "sav", "dta"):
        write_table(changed, book, Made.SYNTHETIC, tmp_path / f"t.{form}", form)
        same = changed.column("age").to_pylist() == table.column("age").to_pylist()
        assert holds_same_rows(tmp_path / f"t.{form}", form, table, book, Made.SYNTHETIC) is same
        assert holds_same_rows(tmp_path / f"t.{form}", form, changed, book, Made.SYNTHETIC)


def test_provenance_travels_in_files_and_in_archives(spss: tuple[Path, Path], tmp_path: Path):
    """A copy of a release is known by itself; a .dta or .csv file has no room for the mark, so its manifest says it."""
    _, release = spss
    for form in ("sav", "xlsx", "parquet"):
        copy = tmp_path / f"copy.{form}"
        shutil.copy(release / f"synthetic.{form}", copy)
        assert find_provenance(copy).made is Made.SYNTHETIC
        packed = shutil.make_archive(str(tmp_path / form), "zip", tmp_path, copy.name)
        assert find_provenance(packed).made is Made.SYNTHETIC
    for form in ("sav", "xlsx", "dta", "csv"):
        assert find_provenance(release / f"synthetic.{form}").made is Made.SYNTHETIC
        with pytest.raises(UnderstudyError, match=r"synthetic|release"):
            us.draft(release / f"synthetic.{form}", tmp_path / "b.toml", epsilon=1, delta=1e-6)
    assert find_provenance(f"{release / 'synthetic.xlsx'}?sheet=data").made is Made.SYNTHETIC


def test_a_damaged_mark_is_not_taken_for_a_plain_table(tmp_path: Path):
    from understudy.sources.marks import MARK_LINE

    mark = MARK_LINE + base64.b64encode(b"{not json").decode()
    path = xlsx(tmp_path / "t.xlsx", {"s": [["a"], [1]]}, lambda book: book.set_properties({"comments": mark}))
    assert find_provenance(path).real_records  # the most careful reading


def test_the_confidential_file_is_known_inside_an_archive(tmp_path: Path):
    from understudy.sources.same import refuse_same

    path = study(tmp_path / "study.sav")
    packed = shutil.make_archive(str(tmp_path / "public"), "zip", tmp_path, "study.sav")
    with pytest.raises(ParameterError, match="holds the confidential table itself"):
        refuse_same(path, packed, "a public table")


BOOK = Codebook(
    columns=(
        Categorical(name="first name", levels=("=1+1", "b"), description="never a formula", missing="NA"),
        Ordinal(name="2nd", levels=("1", "2.5", "3"), missing="-1", value_labels=(("1", "low"), ("-1", "none"))),
        Integer(
            name="by",
            edges=(Fraction(0), Fraction(5), Fraction(10)),
            missing="77",
            reading=Reading(missing=("78", "79", "80")),
        ),
        Dates(name="day", grain=Grain.DAY, start=dt.date(2020, 1, 1), end=dt.date(2020, 12, 31), missing="NA"),
    )
)  # fmt: skip
TABLE = pa.table(
    {
        "first name": ["=1+1", "b", None],
        "2nd": ["2.5", None, "1"],
        "by": pa.array([3, None, 10], pa.int64()),
        "day": [dt.date(2020, 5, 1), None, dt.date(2020, 12, 31)],
    }
)


@pytest.mark.parametrize("form", ["csv", "xlsx", "sav", "dta"])
def test_names_codes_and_days_that_programs_stumble_over(form: str, tmp_path: Path):
    path = tmp_path / f"t.{form}"
    write_table(TABLE, BOOK, Made.SYNTHETIC, path, form)
    assert holds_same_rows(path, form, TABLE, BOOK, Made.SYNTHETIC)
    if form == "sav":
        rows, metadata = pyreadstat.read_sav(str(path), user_missing=True)
        assert metadata.column_names == ["first_name", "v_2nd", "by_3", "day"]  # BY is a word of SPSS
        assert metadata.column_names_to_labels["v_2nd"] == "2nd"
        assert metadata.missing_ranges["by_3"] == [{"lo": 77.0, "hi": 80.0}]  # four codes need a range
        assert metadata.variable_value_labels["v_2nd"] == {1.0: "low", -1.0: "none"}
        assert rows["v_2nd"].tolist() == [2.5, -1.0, 1.0]
    if form == "dta":
        rows, metadata = pyreadstat.read_dta(str(path), user_missing=True)
        assert metadata.column_names == ["first_name", "_2nd", "by", "day"]
        assert rows["by"].tolist() == [3, "a", 10]
    if form == "xlsx":
        opened = open_table(f"{path}?sheet=data")
        assert opened.table.to_pyarrow().to_pylist()[0]["first name"] == "=1+1"
        labels = open_table(path, file=FileReading(sheet="labels")).table.to_pyarrow().to_pylist()
        assert {"column": "2nd", "description": None, "code": "-1", "label": "none", "missing": "yes"} in labels


def test_what_cannot_be_written_is_refused_before_anything_is_paid(tmp_path: Path):
    with pytest.raises(ParameterError, match=r"xlsx for 2,000,000 rows, and a sheet has 1,048,575; try parquet"):
        chosen_formats("xlsx", rows=2_000_000)
    with pytest.raises(ParameterError, match="format"):
        chosen_formats(["docx"])
    with pytest.raises(ParameterError):
        us.synthesize(TABLE, BOOK, rows=3, epsilon=1, delta=1e-6, out=tmp_path / "out", formats="docx")
    assert not (tmp_path / "out").exists()


def test_value_labels_count_in_what_a_person_attests():
    plain = Categorical(name="x", levels=("1", "2"))
    labelled = Categorical(name="x", levels=("1", "2"), value_labels=(("1", "yes"), ("2", "no")))
    assert plain.content != labelled.content
    text = Codebook(columns=(labelled,)).to_toml()
    assert Codebook.from_toml(text).columns[0].value_labels == (("1", "yes"), ("2", "no"))
    assert Codebook.from_toml(text).to_toml() == text


def test_missing_ranges_that_cannot_be_listed_are_missing(tmp_path: Path):
    frame = pd.DataFrame({"income": [100.0, 2e6, 3.5e6, 50.0]})
    pyreadstat.write_sav(frame, str(tmp_path / "t.sav"), missing_ranges={"income": [{"lo": 1e6, "hi": 9e6}]})
    assert open_table(tmp_path / "t.sav").table.to_pyarrow().column("income").to_pylist() == [100, None, None, 50]


@pytest.mark.parametrize("suffix", ["por", "xpt"])
def test_older_formats(suffix: str, tmp_path: Path):
    frame = pd.DataFrame({"AGE": [41.0, 7.5], "WORD": ["a", "b"]})
    path = tmp_path / f"t.{suffix}"
    {"por": pyreadstat.write_por, "xpt": pyreadstat.write_xport}[suffix](frame, str(path))
    assert open_table(path).table.to_pyarrow().to_pylist() == [{"AGE": 41.0, "WORD": "a"}, {"AGE": 7.5, "WORD": "b"}]


def test_files_read_in_pieces_say_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    from understudy.sources import statistical

    path = study(tmp_path / "study.sav")
    whole = statistical.read_statistical(path, FileReading()).table
    monkeypatch.setattr(statistical, "_WHOLE_BYTES", 0)
    monkeypatch.setattr(statistical, "_CELLS", 1)  # the least is 1000 rows
    assert statistical.read_statistical(path, FileReading()).table.to_pylist() == whole.to_pylist()


HAVEN = """
library(haven)
arguments <- commandArgs(trailingOnly = TRUE)
read <- function(path) if (endsWith(path, "sav")) read_sav(path, user_na = TRUE) else read_dta(path)
before <- read(arguments[1]); after <- read(arguments[2])
stopifnot(identical(names(before), names(after)))
for (name in names(before)) for (fact in c("label", "labels"))
  stopifnot(isTRUE(all.equal(attr(before[[name]], fact), attr(after[[name]], fact))))
stopifnot(identical(attr(before$sex, "na_values"), attr(after$sex, "na_values")))
cat(sum(is.na(after$sex)))
"""


@pytest.mark.parametrize("suffix", ["sav", "dta"])
def test_haven_reads_the_same_labels(suffix: str, tmp_path: Path):
    """R's own reader: labels, order and missing codes of the study and of its release."""
    asked = "cat(requireNamespace('haven', quietly = TRUE))"
    if (
        not shutil.which("Rscript")
        or b"TRUE" not in subprocess.run(["Rscript", "-e", asked], check=False, capture_output=True).stdout
    ):
        pytest.skip("group R: no R with haven here (apt-get install r-cran-haven)")
    path = {"sav": study, "dta": stata}[suffix](tmp_path / f"study.{suffix}")
    made = released(path, tmp_path / "release", suffix)
    (tmp_path / "haven.R").write_text(HAVEN)
    words = ["Rscript", tmp_path / "haven.R", path, tmp_path / "release" / f"synthetic.{suffix}"]
    said = subprocess.run(words, check=False, capture_output=True, text=True)
    assert said.returncode == 0, said.stderr
    assert int(said.stdout) == made.table.column("sex").null_count
