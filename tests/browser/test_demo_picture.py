"""The picture in the README, as a browser draws it."""

import subprocess
from pathlib import Path

import pyarrow as pa
import pytest

from understudy.codebook import Categorical, Codebook
from understudy.evaluate.picture import marginal_picture
from understudy.sources import open_source

FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
)


def dump(chromium: Path, page: Path, profile: Path) -> str:
    done = subprocess.run(
        [str(chromium), *FLAGS, f"--user-data-dir={profile}", "--dump-dom", page.as_uri()],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    return done.stdout


@pytest.mark.browser
def test_the_picture_is_drawn(chromium, tmp_path):
    book = Codebook(columns=(Categorical(name="<b>", levels=("a & b", "c"), description='say "<script>"'),))
    table = open_source(pa.table({"<b>": ["a & b", "c", "c"]}), book)
    picture = marginal_picture(table, table, columns=["<b>"], real_label="real")
    page = tmp_path / "page.html"
    script = (
        "<script>document.title = document.querySelectorAll('rect title').length + ' bars, ' + "
        "Math.round(document.querySelectorAll('rect')[5].getBBox().height)</script>"
    )
    page.write_text(f"<!doctype html><title>none</title>{picture}{script}")
    drawn = dump(chromium, page, tmp_path / "profile")
    assert "<title>4 bars," in drawn, "two levels, two bars each"
    assert "a &amp; b: 33.33%" in drawn
    assert "<script>&quot;" not in drawn
