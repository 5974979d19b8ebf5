"""Codebooks drafted from documents: what the document declares, nothing from data, and public by its source."""

import datetime as dt
import json
from pathlib import Path
from typing import Any

import pandas as pd
import pyreadstat
import pytest

import understudy as us
from understudy.codebook import Codebook, Continuous, Dates, Integer, Origin
from understudy.errors import ParameterError
from understudy.sources.files import open_table

DDI = """<?xml version="1.0" encoding="UTF-8"?>
<codeBook xmlns="ddi:codebook:2_5" version="2.5">
  <stdyDscr><citation><titlStmt><titl>A study</titl></titlStmt></citation></stdyDscr>
  <dataDscr>
    <var ID="V1" name="sex" nature="nominal"><location StartPos="1" EndPos="1"/><labl>Sex</labl>
      <catgry><catValu>1</catValu><labl>Male</labl><catStat type="freq">812</catStat></catgry>
      <catgry><catValu>2</catValu><labl>Female</labl></catgry>
      <catgry missing="Y"><catValu>9</catValu><labl>Refused</labl></catgry></var>
    <var ID="V2" name="age" intrvl="contin"><location StartPos="2" width="3"/><labl>Age in years</labl>
      <valrng><range min="18" max="99"/></valrng><invalrng><item VALUE="-9"/><item VALUE="-8"/></invalrng>
      <sumStat type="min">19</sumStat><sumStat type="max">93</sumStat></var>
    <var ID="V3" name="income" intrvl="contin" dcml="2"><location StartPos="5" width="7"/>
      <valrng><range min="0" max="5000"/></valrng></var>
    <var ID="V4" name="note"><location StartPos="12" width="9"/><varFormat type="character"/>
      <sumStat type="min">1</sumStat></var>
  </dataDscr>
</codeBook>"""


def written(path: Path, document: Any) -> Path:
    path.write_text(document if isinstance(document, str) else json.dumps(document), encoding="utf-8")
    return path


def test_ddi(tmp_path: Path):
    drafted = us.draft(written(tmp_path / "study.xml", DDI), tmp_path / "book.toml")
    book = Codebook.load(tmp_path / "book.toml")
    sex, age, income, _ = book.columns
    assert sex.levels == ("1", "2")
    assert (sex.missing, sex.description) == ("9", "Sex")
    assert sex.value_labels == (("1", "Male"), ("2", "Female"), ("9", "Refused"))
    assert isinstance(age, Integer)
    assert age.bounds == (18, 99)  # the declared range, not the statistics of the data
    assert (age.missing, age.reading.missing) == ("-9", ("-8",))
    assert isinstance(income, Continuous)
    assert income.precision == 2
    assert set(drafted.left_out) == {"note"}
    assert all(column.origin is Origin.DECLARED for column in book.columns)
    assert book.is_public
    assert book.title == "A study"
    assert "study.xml (DDI-Codebook, 'A study', sha256" in book.description
    assert "from a document" in repr(drafted)


def test_a_release_made_with_it_has_a_formal_total(tmp_path: Path):
    book = us.draft(written(tmp_path / "study.xml", DDI)).codebook
    data = pd.DataFrame({"sex": [1, 2, 9] * 20, "age": [20, 99, -8] * 20, "income": [0.5, 5000, 12.34] * 20})
    made = us.synthesize(data, book, rows=30, method="marginals", epsilon=1, delta=1e-6)
    assert made.manifest.total.is_formal
    assert "study.xml" in made.codebook.description


def test_ddi_lays_out_a_fixed_width_file(tmp_path: Path):
    written(tmp_path / "study.xml", DDI)
    written(tmp_path / "study.dat", "1 41 1200.5 remark\n2 -9      \n")
    opened = open_table(f"{tmp_path / 'study.dat'}?layout={tmp_path / 'study.xml'}")
    assert opened.table.to_pyarrow().to_pylist() == [
        {"sex": "1", "age": "41", "income": "1200.5", "note": "remark"},
        {"sex": "2", "age": "-9", "income": None, "note": None},
    ]


FIELDS = [
    {"name": "age", "type": "integer", "title": "Age", "constraints": {"minimum": 0, "maximum": 120}},
    {"name": "sex", "type": "string", "constraints": {"enum": ["F", "M"], "required": True}},
    {"name": "day", "type": "date", "constraints": {"minimum": "2010-01-01", "maximum": "2015-12-31"}},
    {"name": "agree", "type": "integer", "categoriesOrdered": True,
     "categories": [{"value": 1, "label": "no"}, {"value": 2, "label": "yes"}]},
    {"name": "dose", "type": "number", "constraints": {"minimum": 0.5, "maximum": 2.5}},
    {"name": "free", "type": "string"},
    {"name": "ill", "type": "boolean"},
    {"name": "kids", "type": "integer", "constraints": {"minimum": 0, "maximum": 9}},
]  # fmt: skip


@pytest.mark.parametrize("package", [True, False])
def test_frictionless(package: bool, tmp_path: Path):
    schema = {"fields": FIELDS, "missingValues": ["", "-99", "-98"]}
    resource = {"name": "r", "path": "r.csv", "dialect": {"delimiter": ";"}, "encoding": "cp1252", "schema": schema}
    document = {"name": "p", "title": "A package", "resources": [resource]} if package else schema
    drafted = us.draft(written(tmp_path / "datapackage.json", document))
    age, sex, day, agree, dose, _, ill, kids = drafted.codebook.columns
    assert (age.kind, age.bounds, age.missing, age.reading.missing) == ("integer", (0, 120), "-99", ("-98",))
    assert (sex.levels, sex.missing) == (("F", "M"), "-99")
    assert isinstance(day, Dates)
    assert (day.start, day.end) == (dt.date(2010, 1, 1), dt.date(2015, 12, 31))
    assert (agree.kind, agree.levels, agree.value_labels) == ("ordinal", ("1", "2"), (("1", "no"), ("2", "yes")))
    assert (dose.kind, dose.bounds) == ("continuous", (0.5, 2.5))
    assert ill.levels == ("false", "true")
    assert (kids.kind, kids.levels) == ("ordinal", tuple("0123456789"))
    assert set(drafted.left_out) == {"free"}
    if package:
        assert (drafted.codebook.file.delimiter, drafted.codebook.file.encoding) == (";", "cp1252")


def test_csvw(tmp_path: Path):
    columns = [
        {"titles": "age", "dc:description": "Age", "datatype": {"base": "integer", "minimum": 0, "maximum": 110}},
        {"name": "sex", "titles": {"en": "Sex"}, "datatype": {"base": "string", "format": "^(F|M)$"}, "required": True},
        {"name": "code", "datatype": "string", "null": ["?"]},
    ]
    document = {
        "@context": "http://www.w3.org/ns/csvw",
        "url": "x.csv",
        "dialect": {"skipRows": 2},
        "tableSchema": {"columns": columns},
    }
    drafted = us.draft(written(tmp_path / "x.csv-metadata.json", document))
    age, sex, _ = drafted.codebook.columns
    assert (age.name, age.bounds, age.description, age.missing) == ("age", (0, 110), "Age", "NA")
    assert (sex.name, sex.levels, sex.missing) == ("Sex", ("F", "M"), None)
    assert drafted.codebook.file.skip == 2
    assert set(drafted.left_out) == {"code"}


def test_nist_schema_and_dictionary(tmp_path: Path):
    schema = {
        "PUMA": {"dtype": "object", "values": ["01-01301", "06-07502"]},
        "AGEP": {"dtype": "int64", "min": 0, "max": 95},
        "MSP": {"has_null": True, "null_value": "N", "dtype": "object", "values": ["N", "1", "2"]},
        "DENSITY": {"dtype": "float64", "min": 16, "max": 52864},
    }
    puma, age, msp, density = us.draft(written(tmp_path / "s.json", {"schema": schema})).codebook.columns
    assert (puma.levels, puma.missing) == (("01-01301", "06-07502"), None)
    assert age.bounds == (0, 95)
    assert (msp.levels, msp.missing) == (("1", "2"), "N")
    assert density.kind == "continuous"
    dictionary = {
        "SEX": {"description": "Person's gender", "values": {"1": "Male", "2": "Female"}},
        "PINCP": {"description": "Income", "values": {"N": "N/A (younger than 15)", "min": -9000, "max": 1341000}},
        "POVPIP": {"description": "Ratio", "values": {"min": 0, "max": 500, "501": "above 5 x"}},
        "INDP": {"description": "Industry", "details": "271 codes, see there"},
    }
    drafted = us.draft(written(tmp_path / "d.json", dictionary))
    sex, income, ratio, _ = drafted.codebook.columns
    assert sex.value_labels == (("1", "Male"), ("2", "Female"))
    assert (income.bounds, income.special) == ((-9000, 1341000), ("N",))
    assert ratio.bounds == (0, 501)
    assert set(drafted.left_out) == {"INDP"}


def test_the_dictionary_of_a_statistical_file_alone(tmp_path: Path):
    """No row is read: the levels are those with a label, whatever occurs."""
    frame = pd.DataFrame({"sex": [1.0, 7.0], "age": [20.0, 31.0]})
    pyreadstat.write_sav(
        frame,
        str(tmp_path / "t.sav"),
        variable_value_labels={"sex": {1.0: "male", 2.0: "female", 9.0: "refused"}},
        missing_ranges={"sex": [9.0]},
    )
    drafted = us.draft(tmp_path / "t.sav", from_document=True)
    sex = drafted.codebook.columns[0]
    assert (sex.levels, sex.missing, sex.origin) == (("1", "2"), "9", Origin.DECLARED)
    assert drafted.codebook.is_public
    assert set(drafted.left_out) == {"age"}
    assert not us.draft(tmp_path / "t.sav").codebook.is_public


def test_a_document_has_no_price(tmp_path: Path):
    with pytest.raises(ParameterError, match="is a document: nothing of it is paid for"):
        us.draft(written(tmp_path / "study.xml", DDI), tmp_path / "b.toml", epsilon=1, delta=1e-6)
    with pytest.raises(ParameterError, match="is no document"):
        us.draft(pd.DataFrame({"a": [1]}), from_document=True)


def test_keep_and_drop(tmp_path: Path):
    path = written(tmp_path / "study.xml", DDI)
    assert [column.name for column in us.draft(path, keep=["sex"]).codebook.released] == ["sex"]
    assert [column.name for column in us.draft(path, drop=["sex,income"]).codebook.released] == ["age"]
