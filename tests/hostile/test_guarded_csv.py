"""A CSV that a spreadsheet opens without running anything: asked for, named in the manifest, known to `verify`."""

import csv
import json

import pyarrow as pa
import pytest

import understudy as us
from understudy.codebook import Categorical, Codebook
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
