"""Commands with codebooks of linked tables: those that take them, and one sentence from those that do not."""

import json

import pyarrow.csv as pa_csv
import pytest
from typer.testing import CliRunner

from tests.unit.linked_hospital import TEXT, changed, tables
from understudy.cli.app import app, main
from understudy.codebook import LinkedCodebook


@pytest.fixture
def folder(tmp_path):
    place = tmp_path / "hospital"
    place.mkdir()
    for name, table in tables().items():
        pa_csv.write_csv(table, place / f"{name}.csv")
    (tmp_path / "book.toml").write_text(TEXT, encoding="utf-8")
    return tmp_path


def told(words, capsys):
    with pytest.raises(SystemExit) as ended:
        main([str(word) for word in words])
    shown = capsys.readouterr()
    return ended.value.code, shown.out, " ".join(shown.err.split())


def test_check_show_and_count(folder, capsys):
    code, out, _ = told(["codebook", "check", folder / "hospital", "-c", folder / "book.toml"], capsys)
    assert code == 0 and "fit the codebook" in out
    code, out, _ = told(["codebook", "show", folder / "book.toml", "--json"], capsys)
    assert [table["name"] for table in json.loads(out)["tables"]] == ["patients", "stays", "diagnoses"]
    words = ["count", folder / "hospital", "-c", folder / "book.toml", "--by", "patients.sex,stays.ward"]
    code, _, _ = told([*words, "--epsilon", "1", "-o", folder / "counts"], capsys)
    assert code == 0 and told(["verify", folder / "counts"], capsys)[0] == 0


def test_faults_are_listed_with_table_and_row(folder, capsys):
    pa_csv.write_csv(changed("diagnoses", "stay_id", 4, 77)["diagnoses"], folder / "hospital" / "diagnoses.csv")
    code, out, _ = told(["codebook", "check", folder / "hospital", "-c", folder / "book.toml", "--json"], capsys)
    (fault,) = json.loads(out)
    assert code == 1 and (fault["kind"], fault["table"], fault["rows"]) == ("orphan", "diagnoses", [5])


def test_a_folder_is_drafted_and_attested(folder, capsys):
    drafted = folder / "drafted.toml"
    assert told(["codebook", "draft", folder / "hospital", "-o", drafted], capsys)[0] == 0
    book = LinkedCodebook.load(drafted)
    assert [(t.name, t.parent, t.key, t.cap) for t in book.tables] == [
        ("patients", None, "patient_id", None),
        ("stays", "patients", "stay_id", 5),
        ("diagnoses", "stays", None, 5),
    ]
    assert not book.is_public and book.table("stays").order == "admitted"
    drafted.write_text("# mine\n" + drafted.read_text(encoding="utf-8"), encoding="utf-8")
    words = ["codebook", "declare", drafted, "--by", "A. Meyer", "--from", "form 7"]
    code, _, err = told(words, capsys)
    assert code != 0 and "--all" in err
    assert told([*words, "--column", "stays.ward", "--column", "[stays]"], capsys)[0] == 0
    assert {"stays.ward", "[stays]"}.isdisjoint(LinkedCodebook.load(drafted).unattested)
    assert told([*words, "--all"], capsys)[0] == 0
    assert LinkedCodebook.load(drafted).is_public and drafted.read_text(encoding="utf-8").startswith("# mine")


def test_one_table_is_split(folder, capsys):
    stays, made = folder / "hospital" / "stays.csv", folder / "split.toml"
    words = ["codebook", "split", stays, "--person", "patient_id", "--key", "stay_id", "--order", "admitted"]
    code, out, _ = told([*words, "--json"], capsys)
    looked = json.loads(out)["looked"]
    assert code == 0 and (looked["people"], looked["several"]) == (3, 2) and looked["differing"]["ward"] == 1
    words += ["--cap", "3", "-o", made]
    code, _, err = told([*words, "--constant", "ward"], capsys)
    assert code != 0 and "rows 1, 2, 3" in err and not made.exists()
    assert told([*words, "--constant", "ward=first"], capsys)[0] == 0
    book = LinkedCodebook.load(made)
    assert book.person.made_of == "encounters" and "patients.ward is constant" in book.unattested
    assert told(["codebook", "check", stays, "-c", made], capsys)[1].count("the rule takes the first one") == 1


def test_templates_are_written_once(folder, capsys):
    assert "omop" in told(["codebook", "template"], capsys)[1]
    assert told(["codebook", "template", "omop", "-o", folder / "omop.toml"], capsys)[0] == 0
    code, _, err = told(["codebook", "template", "omop", "-o", folder / "omop.toml"], capsys)
    assert code != 0 and "exists already" in err


CONSUMERS = {
    "impute": ["impute", "{data}", "-c", "{book}", "-o", "{out}"],
    "diagnose": ["diagnose", "{data}", "-c", "{book}", "--l", "2"],
    "cells": ["codebook", "cells", "{book}", "--public-rows", "100"],
    "anonymize": ["anonymize", "risk", "{data}", "-c", "{book}"],
    "train": ["train", "{data}", "-c", "{book}", "--target", "ward", "--epsilon", "1", "-o", "{out}"],
    "synth with a method for one table": [
        "synth", "{data}", "-c", "{book}", "--method", "gibbs", "--rows", "5", "--alpha", "1", "-o", "{out}",
    ],
}  # fmt: skip


@pytest.mark.parametrize("name", CONSUMERS)
def test_a_command_for_one_table_says_so_in_one_sentence(name, folder, capsys):
    places = {"data": folder / "hospital" / "stays.csv", "book": folder / "book.toml", "out": folder / "new"}
    code, out, err = told([word.format(**places) for word in CONSUMERS[name]], capsys)
    assert code not in (0, None) and "linked tables" in err, (out, err)
    assert "Traceback" not in err and not (folder / "new").exists()


def test_help_names_the_new_commands():
    shown = CliRunner().invoke(app, ["codebook", "--help"]).output
    assert "split" in shown and "template" in shown


def test_review_and_rules_go_through_linked_tables(folder, capsys):
    """Both take the folder; answers and rules are written into the codebook."""
    book, data = folder / "book.toml", folder / "hospital"
    answers = folder / "answers.json"
    answers.write_text('{"columns": {"stays.ward": "sensitive"}}', encoding="utf-8")
    code, out, err = told(["codebook", "review", book, "--data", data, "--by", "me", "--answers", answers], capsys)
    assert code == 0 and "1 columns are reviewed" in out, (out, err)
    assert 'role = "sensitive"' in book.read_text(encoding="utf-8")
    code, out, err = told(["codebook", "rules", book, "--data", data, "--json"], capsys)
    assert code == 0 and '"proposals"' in out, (out, err)
    code, _, err = told(["codebook", "rules", book, "--data", data, "--pack", "deaths"], capsys)
    assert code != 0 and "linked" in err and "Traceback" not in err
