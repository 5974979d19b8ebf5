"""A CSV that a spreadsheet opens without running anything: asked for, named in the manifest, known to `verify`."""

import csv
import json
import re

import pyarrow as pa
import pytest

import understudy as us
from understudy.codebook import Categorical, Codebook, LinkedCodebook, LinkedTable
from understudy.codebook.numbers import Integer

EVIL = ("=HYPERLINK(1)", "+1+cmd|' /C calc'!A0", "-2+3", "@SUM(1)", "\tx", "\rx", "plain", "-5", "+7.5", "'=1")
BOOK = Codebook(
    columns=(
        Categorical(name="=note", levels=EVIL),
        Integer(name="age", edges=(-10, 0, 10)),
        Categorical(name="sex", levels=("F", "M"), missing="-"),
    )
)
N = 40
TABLE = pa.table(
    {
        "=note": [EVIL[row % len(EVIL)] for row in range(N)],
        "age": [row % 20 - 10 for row in range(N)],
        "sex": [("F", "M", None)[row % 3] for row in range(N)],
    }
)


@pytest.fixture
def release(tmp_path):
    folder = tmp_path / "r"
    us.synthesize(TABLE, BOOK, rows=400, method="laplace", epsilon=50.0, out=folder, formats=["csv", "guarded.csv"])
    return folder


def rows_of(path):
    with path.open(newline="", encoding="utf-8") as lines:
        return list(csv.reader(lines))


def test_no_cell_begins_a_formula_and_numbers_stay_numbers(release):
    plain, guarded = rows_of(release / "synthetic.csv"), rows_of(release / "synthetic.guarded.csv")
    assert guarded[0] == ["'=note", "age", "sex"]
    assert len(plain) == len(guarded)
    running = ("=", "@", "\t", "\r", "+1", "-2")
    for before, after in zip(plain[1:], guarded[1:], strict=True):
        assert after[0] == ("'" + before[0] if before[0].startswith(running) else before[0])
        assert after[1] == before[1]
        assert after[2] == ("'-" if before[2] == "-" else before[2])
    seen = {row[0] for row in plain[1:]}
    assert {"=HYPERLINK(1)", "-5"} <= seen or len(seen) > 4  # noise may hide a level; there is something to guard


def test_the_manifest_names_it_and_verify_knows_it(release):
    path = release / "manifest.json"
    manifest = json.loads(path.read_text())
    assert "synthetic.guarded.csv" in manifest["files"] and "apostrophe" in manifest["guarded"]
    verdict = us.verify(release)
    assert verdict.is_valid, verdict.problems
    assert "synthetic.guarded.csv holds the same rows as the table" in verdict.passed
    del manifest["guarded"]
    path.write_text(json.dumps(manifest))
    assert any("how synthetic.guarded.csv is guarded" in problem for problem in us.verify(release).problems)


def test_a_guarded_file_that_is_not_guarded_does_not_verify(release):
    from understudy.release.folders import digest_of

    (release / "synthetic.guarded.csv").write_bytes((release / "synthetic.csv").read_bytes())
    path = release / "manifest.json"
    manifest = json.loads(path.read_text())
    manifest["files"]["synthetic.guarded.csv"] = digest_of(release / "synthetic.csv")
    path.write_text(json.dumps(manifest))
    assert any("synthetic.guarded.csv does not hold" in problem for problem in us.verify(release).problems)


def test_it_is_not_written_unless_asked_for(tmp_path):
    us.synthesize(TABLE, BOOK, rows=20, method="laplace", epsilon=9.0, out=tmp_path / "r", csv=True)
    names = {path.name for path in (tmp_path / "r").iterdir()}
    assert "synthetic.csv" in names and "synthetic.guarded.csv" not in names
    assert "guarded" not in json.loads((tmp_path / "r" / "manifest.json").read_text())


FORMS = ["csv", "guarded.csv"]
LEVELS = ("=1+1", "-2+3", "@SUM(1)", "plain")
NOTE = Categorical(name="=note", levels=LEVELS)
SEX = Categorical(name="sex", levels=("F", "M"))
SMALL = Codebook(columns=(NOTE, SEX))
ROWS = pa.table({"=note": [LEVELS[row % 4] for row in range(N)], "sex": ["FM"[row % 2] for row in range(N)]})


def counted(folder):
    us.count(ROWS, SMALL, by=["=note"], epsilon=9.0, out=folder, formats=FORMS)


def drawn(folder):
    model = folder.with_suffix(".us")
    us.synthesize(
        ROWS, SMALL, rows=9, method="laplace", epsilon=90.0, out=folder.with_suffix(".made"), save_model=model
    )
    us.draw(model, rows=200, out=folder, formats=FORMS)


def anonymized(folder):
    us.anonymize(ROWS, SMALL, 2, quasi=["sex"], suppression=0.0, out=folder, formats=FORMS)


def completed(folder):
    book = Codebook(columns=(NOTE, Categorical(name="sex", levels=("F", "M"), missing="?")))
    holes = ROWS.set_column(1, "sex", [[None if row % 7 == 0 else "F" for row in range(N)]])
    us.impute(holes, book, files=1, out=folder, formats=FORMS, seed=1)


def commuted(folder):
    flows = pa.table(
        {"origin": [f"h{row % 3}" for row in range(12)], "destination": ["=w0", "@w1"] * 6, "workers": [5] * 12}
    )
    names = ["h0", "h1", "h2", "=w0", "@w1"]
    places = pa.table(
        {"place": names, "latitude": [45.0 + place for place in range(5)], "longitude": [-93.0] * 5,
         "county": ["=c", "=c", "d", "=c", "d"]}
    )  # fmt: skip
    us.commute(flows, epsilon=50.0, delta=1e-6, count="workers", places=places, out=folder, formats=FORMS)


def linked(folder):
    book = LinkedCodebook(
        tables=(
            LinkedTable(name="people", key="id", book=Codebook(columns=(SEX,))),
            LinkedTable(name="stays", parent="people", parent_key="id", cap=2, book=Codebook(columns=(NOTE,))),
        )
    )
    tables = {
        "people": pa.table({"id": list(map(str, range(N))), "sex": ROWS["sex"]}),
        "stays": pa.table({"id": list(map(str, range(N))), "=note": ROWS["=note"]}),
    }
    us.synthesize(tables, book, 200, epsilon=50.0, delta=1e-6, out=folder, formats=FORMS)


MAKERS = [counted, drawn, anonymized, completed, commuted, linked]


@pytest.mark.parametrize("make", MAKERS)
def test_every_producer_of_a_csv_has_a_guarded_form(make, tmp_path):
    """Cell by cell beside the plain CSV; the manifest names it, and one that is not guarded does not verify."""
    from understudy.release.folders import digest_of

    make(tmp_path / "r")
    folder = next(path for path in (tmp_path / "r", tmp_path / "r" / "1") if (path / "manifest.json").is_file())
    verdict = us.verify(folder)
    assert verdict.is_valid, verdict.problems
    manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    assert "apostrophe" in manifest["guarded"]
    pairs = [(path.with_name(path.name.replace(".guarded", "")), path) for path in folder.glob("*.guarded.csv")]
    assert pairs and all(guarded.name in manifest["files"] for _, guarded in pairs)
    changed = 0
    for plain, guarded in pairs:
        for before, after in zip(rows_of(plain), rows_of(guarded), strict=True):
            for was, cell in zip(before, after, strict=True):
                runs = was[:1] in set("=+-@\t\r") - {""} and not re.fullmatch(r"[+-]?[0-9]+([.][0-9]+)?", was)
                assert cell == ("'" + was if runs else was)
                changed += runs
    assert changed > 1, "there is nothing to guard"
    plain, guarded = next(pair for pair in pairs if pair[0].read_bytes() != pair[1].read_bytes())
    guarded.write_bytes(plain.read_bytes())
    manifest["files"][guarded.name] = digest_of(guarded)
    (folder / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")
    assert any(f"{guarded.name} does not hold" in problem for problem in us.verify(folder).problems)
