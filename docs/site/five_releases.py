"""Five releases as a board would meet them, and a picture of the first screen of each report.

``python docs/site/five_releases.py FOLDER`` writes the reports and pictures; those of docs/guide/evaluate come from it.
The confidential table is simulated. Needs playwright and a Chromium.
"""

import shutil
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

import understudy as us
from understudy.codebook import Codebook, Role
from understudy.evaluate.report.findings import Findings

ROWS, EPSILON, DELTA = 4000, 2.0, 1e-6


def five_reports(folder: Path) -> dict[str, Findings]:
    """Make and evaluate the releases; the reports stand in the folder."""
    book = us.datasets.discharges_codebook()
    plain = Codebook(columns=tuple(replace(column, role=Role.OTHER) for column in book.columns), title=book.title)
    real, held = (us.datasets.discharges(rows=ROWS, seed=seed) for seed in (1, 2))

    def release(name: str, codebook: Codebook = book, **options: Any) -> Path:
        made = us.synthesize(real, codebook, rows=ROWS, **{"epsilon": EPSILON, "delta": DELTA, **options})
        made.save(folder / name)
        return folder / name

    leak = folder / "leaking.parquet"
    pq.write_table(real, leak)  # the confidential rows themselves, under another name
    made = {
        "good": (release("good"), book),
        "noisy": (release("noisy", epsilon=0.05), book),
        "leaking": (leak, book),
        "undeclared": (release("undeclared", plain), plain),
        "seeded": (release("seeded", seed=1), book),
    }
    return {
        name: us.evaluate(real, place, codebook, holdout=held, target="cat", out=folder / f"{name}.html")
        for name, (place, codebook) in made.items()
    }


def pictures(folder: Path, names: list[str]) -> None:
    """The first screen of each report as a PNG."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver:
        browser = driver.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox", "--disable-gpu", "--disable-lcd-text"]
        )
        page = browser.new_page(viewport={"width": 980, "height": 800}, color_scheme="light", device_scale_factor=0.8)
        for name in names:
            page.goto((folder / f"{name}.html").absolute().as_uri())
            page.locator("#verdict").screenshot(path=folder / f"{name}.png")
        browser.close()


if __name__ == "__main__":
    place = Path(sys.argv[1])
    place.mkdir(parents=True, exist_ok=True)
    found = five_reports(place)
    for name, findings in found.items():
        sys.stdout.write(f"{name}: {findings.judgement.decision}\n")
    pictures(place, list(found))
