"""Corners of the facade: what data are is asked wherever there is a price, and nothing that was asked is left aside."""

import zipfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pytest
from linked_examples import hospital, hospital_data

import understudy as us
from understudy.cli.numbers import number, whole_number
from understudy.codebook import Categorical, Codebook, FileReading, Integer
from understudy.errors import DataError, ParameterError, RefusalError, ReleaseError
from understudy.parameters import number_of

BOOK = Codebook(
    columns=(Categorical(name="a", levels=("x", "y"), missing="NA"), Integer(name="days", edges=(0, 2, 5, 9)))
)
TABLE = pa.table({"a": ["x", "y", "NA"] * 40, "days": [0, 3, 7, 1] * 30})


@pytest.fixture(scope="module")
def drawn() -> pa.Table:
    return us.synthesize(TABLE, BOOK, 60, "laplace", epsilon=1.0).table


@pytest.fixture
def marked(drawn):
    """Linked tables, one of which says that it is a release."""
    tables = dict(hospital_data(40, seed=1))
    name = next(iter(tables))
    tables[name] = tables[name].replace_schema_metadata(drawn.schema.metadata)
    return tables


def test_the_price_of_linked_tables_knows_what_they_are(marked):
    plain = us.quote(hospital(), 20, data=hospital_data(40, seed=1), epsilon=1.0, delta=1e-6)
    assert plain.total.is_formal
    known = us.quote(hospital(), 20, data=marked, epsilon=1.0, delta=1e-6)
    assert not known.total.is_formal and "synthetic already" in known.statement


def test_a_model_that_may_not_be_made_is_refused_before_it_is_paid(marked, tmp_path):
    account = us.Account.create(
        tmp_path / "a.account", dataset="d", epsilon=5.0, delta=1e-3, neighbours=us.Neighbours.ADD_REMOVE_PERSON
    )
    how = {"account": account, "save_model": tmp_path / "m", "epsilon": 1.0, "delta": 1e-6}
    with pytest.raises(RefusalError, match="without a model"):
        us.synthesize(marked, hospital(), 20, out=tmp_path / "out", **how)
    assert not (tmp_path / "out").exists() and account.history() == []


def test_an_answer_that_will_be_refused_has_no_price(drawn):
    assert us.quote_answer(BOOK, "count", epsilon=1.0, data=TABLE).total.is_formal
    with pytest.raises(DataError, match="Use the confidential table itself"):
        us.quote_answer(BOOK, "count", epsilon=1.0, data=drawn)


def test_completed_files_are_combined_as_what_they_are(tmp_path):
    us.impute(TABLE, BOOK, files=2, out=tmp_path / "filled")
    found = us.combine_files([tmp_path / "filled"], kind="missing", share="a=x")
    assert found.files == 2 and "not for release" in found.note
    with pytest.raises(ParameterError, match="real records whose missing values were filled"):
        us.combine_files([tmp_path / "filled"], kind="complete", share="a=x")


def test_a_notice_is_written_once(tmp_path):
    for name in ("old", "new"):
        us.count(TABLE, BOOK, by=["a"], epsilon=1.0, out=tmp_path / name)
    us.supersede(tmp_path / "old", tmp_path / "new")
    with pytest.raises(ReleaseError, match="says already"):
        us.supersede(tmp_path / "old", tmp_path / "new")
    assert len(us.verify(tmp_path / "old").notices) == 1


def test_a_folder_whose_tables_share_no_name_is_drafted(tmp_path):
    (tmp_path / "one.csv").write_text("colour,size\nred,1\nblue,2\n")
    (tmp_path / "two.csv").write_text("town,people\nA,10\nB,20\n")
    with pytest.raises(DataError):  # a sentence, where it used to be a mistake of ours
        us.draft_tables(tmp_path)


@pytest.mark.parametrize("text", ["0_1", "1_000", "_1"])
def test_underscores_are_no_part_of_a_number(text):
    """Python reads 0_1 as 1: a slip of the hand would be ten times the epsilon that was meant."""
    assert number_of(text) == text and number_of(text, int) == text
    for read in (number, whole_number):
        with pytest.raises(Exception, match="is not a"):
            read(text)


@pytest.mark.parametrize("cap", [0, -1])
def test_a_cap_of_nothing_is_no_cap_left_out(cap):
    """It used to fall back to the cap of the codebook."""
    with pytest.raises(ParameterError, match=f"`cap` is {cap}; it must be a whole number of 1 or more"):
        us.split(TABLE, person="a", constants=["days"], cap=cap)


def test_a_quote_asks_the_file_that_the_codebook_names_in_an_archive(tmp_path: Path) -> None:
    """Beside it lies a release: what is said of that one is not said of the table that is read."""
    table, book = us.datasets.discharges(rows=300, seed=1), us.datasets.discharges_codebook()
    noise: dict[str, Any] = {"epsilon": 1.0, "delta": 1e-6}
    us.synthesize(table, book, rows=20, method="marginals", out=tmp_path / "old", formats=("csv",), **noise)
    pyarrow.csv.write_csv(table, tmp_path / "raw.csv")
    packed = tmp_path / "all.zip"
    with zipfile.ZipFile(packed, "w") as archive:
        archive.write(tmp_path / "raw.csv", "raw.csv")
        for name in ("synthetic.csv", "manifest.json"):
            archive.write(tmp_path / "old" / name, f"old/{name}")
    named = replace(book, file=FileReading(member="raw.csv"))
    drawn = us.synthesize(packed, named, rows=20, method="marginals", save_model=tmp_path / "model.zip", **noise)
    assert us.quote(named, 20, "marginals", data=packed, **noise).total == drawn.manifest.total
    counted = us.count(packed, named, by=["sex"], epsilon=1.0)
    assert us.quote_count(packed, named, by=["sex"], epsilon=1.0).quote.total == counted.manifest.total
    assert us.quote_answer(named, "count by sex", epsilon=1.0, data=packed).total.is_formal
    with pytest.raises(DataError, match="an answer could promise nothing"):
        us.quote_answer(book, "count by sex", epsilon=1.0, data=packed)
