"""The page for R, run by R from top to bottom; and what travels between a data frame and a table."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from blocks import ALL

ASKED = "cat(all(vapply(c('reticulate', 'haven', 'tibble'), requireNamespace, TRUE, quietly = TRUE)))"
PAGE = "docs/guide/r.md"


@pytest.fixture(scope="module")
def run_r(tmp_path_factory):
    """Run a script in R with this Python, and give what it printed."""
    tool = shutil.which("Rscript")
    if tool is None:
        pytest.skip("group R: no R here (apt-get install r-base-core r-cran-reticulate r-cran-haven)")
    asked = subprocess.run([tool, "-e", ASKED], capture_output=True, text=True, timeout=60, check=False)
    if "TRUE" not in asked.stdout:
        pytest.skip("group R: R without reticulate, haven and tibble (apt-get install r-cran-reticulate r-cran-haven)")
    folder = tmp_path_factory.mktemp("r")

    def run(script: str) -> str:
        (folder / "script.R").write_text(script, encoding="utf-8")
        ran = subprocess.run(
            [tool, "--vanilla", "script.R"],
            cwd=folder,
            env={**os.environ, "RETICULATE_PYTHON": sys.executable, "PYTHONWARNINGS": "default"},
            capture_output=True,
            text=True,
            timeout=400,
            check=False,
        )
        assert ran.returncode == 0, ran.stdout[-4000:] + ran.stderr[-4000:]
        return ran.stdout

    return run


def test_the_page_runs_from_top_to_bottom(run_r):
    shown = [block.text for block in ALL if block.page == PAGE and block.language == "r"]
    assert len(shown) > 5
    said = run_r("\n".join(shown) + '\ncat("to the end\\n")\n')
    assert said.rstrip().endswith("to the end")
    assert "died=true" in said and "Ord.factor" in said


def test_r_is_on_no_page_that_nobody_runs():
    assert {block.page for block in ALL if block.language == "r"} == {PAGE}


FRAME = """
library(reticulate)
us <- import("understudy")
source(us$r_functions())
zone <- "America/New_York"
frame <- data.frame(
  whole = c(1L, NA, 3L), number = c(1.5, NA, -2), flag = c(TRUE, NA, FALSE), text = c("\\u00e9", NA, "NA"),
  level = factor(c("b", NA, "a"), levels = c("b", "a", "never")),
  day = as.Date(c("2020-02-29", NA, "1950-01-01")),
  moment = as.POSIXct(c("2020-01-01 23:30:00", NA, "1969-12-31 01:02:03"), tz = zone),
  stringsAsFactors = FALSE)
frame$coded <- haven::labelled(c(1, haven::tagged_na("r"), NA), c(yes = 1, refused = haven::tagged_na("r")), "Label")
frame$`two words` <- c(TRUE, TRUE, TRUE)
table <- as_understudy(frame)
"""


def test_nothing_is_lost_on_the_way(run_r, tmp_path):
    import pyarrow.parquet as pq

    path = tmp_path / "frame.parquet"
    run_r(FRAME + f'import("pyarrow.parquet")$write_table(table, {json.dumps(str(path))})')
    held = pq.read_table(path).to_pydict()
    assert held["whole"] == [1, None, 3] and held["number"] == [1.5, None, -2.0]
    assert held["flag"] == [True, None, False]
    assert held["text"] == ["é", None, "NA"] and held["level"] == ["b", None, "a"]
    assert [value and value.isoformat() for value in held["day"]] == ["2020-02-29", None, "1950-01-01"]
    assert [value and value.isoformat() for value in held["moment"]] == [
        "2020-01-01T23:30:00",
        None,
        "1969-12-31T01:02:03",
    ]
    assert held["coded"] == ["1", ".r", None] and held["two words"] == [True] * 3


def test_there_and_back(run_r):
    said = run_r(
        FRAME
        + """
back <- as_r(table)
stopifnot(identical(names(back), names(frame)), identical(back$whole, frame$whole), identical(back$flag, frame$flag))
stopifnot(identical(back$number, frame$number), identical(back$text, frame$text), identical(back$day, frame$day))
stopifnot(identical(format(back$moment), format(frame$moment)))
one <- as_r(as_understudy(frame[1, ])); stopifnot(nrow(one) == 1, one$whole == 1L)
none <- as_r(as_understudy(frame[0, ])); stopifnot(nrow(none) == 0, identical(names(none), names(frame)))
many <- data.frame(x = c(3e9, 1)); stopifnot(identical(as_r(as_understudy(many))$x, many$x))
cat("kept")
"""
    )
    assert said.endswith("kept")


def test_a_release_is_known_as_one_after_a_stay_in_r(run_r):
    said = run_r(
        """
library(reticulate)
us <- import("understudy")
source(us$r_functions())
book <- us$datasets$discharges_codebook()
release <- us$synthesize(us$datasets$discharges(rows = 500L, seed = 1L), book, rows = 50L, epsilon = 1, delta = 1e-6)
again <- as_understudy(as_r(release))
find <- import("understudy.sources.inputs")$find_provenance
stopifnot(find(again)$is_release, !find(as_understudy(data.frame(x = 1:3)))$is_release)
cat("known")
"""
    )
    assert said.endswith("known")


REFUSED = {
    "data.frame(x = I(list(1, 2)))": "the column 'x' is a AsIs",
    "data.frame(x = I(matrix(1:4, 2)))": "the column 'x' is a AsIs",
    "data.frame(x = as.raw(1:2))": "the column 'x' is a raw",
    "data.frame(x = complex(2))": "the column 'x' is a complex",
    "1:3": "takes a data frame",
    "data.frame(a = 1, A = 2)": "two columns called",
}


def test_what_cannot_be_taken_is_refused_by_name(run_r):
    start = 'library(reticulate); us <- import("understudy"); source(us$r_functions())\n'
    told = "tryCatch({{as_understudy({}); cat('taken')}}, error = function(e) cat(conditionMessage(e), '\n'))\n"
    said = run_r(start + "".join(told.format(frame) for frame in REFUSED))
    for frame, sentence in REFUSED.items():
        assert sentence in said, frame
    assert "taken" not in said


def test_the_file_for_r_is_in_the_package():
    import understudy as us

    assert Path(us.r_functions()).is_file()
