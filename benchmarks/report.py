"""Time and memory of `understudy evaluate`, each run in a process of its own. Bars: 50,000 x 13 in less than 60 s.

The synthetic table is another draw of the same simulation, so that nearly every one of a million records is distinct:
the hardest case for work by counting. `python -m benchmarks.report --write OLD.html` with an earlier version, then
`--old OLD.html` with this one, compares how long a browser takes to show the reports on 15 columns.
"""

import json
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import understudy as us
from understudy.codebook import Categorical, Codebook

SIZES, HELD = (50_000, 1_000_000), 10_000
_CHILD = """
import json, resource, sys, time
from pathlib import Path
import understudy as us
from understudy.codebook import Categorical, Codebook
from understudy.evaluate.report import make  # the import is not what is measured
folder = Path(sys.argv[1])
began = time.perf_counter()
us.evaluate(folder / "real.parquet", folder / "copy.parquet", folder / "book.toml",
            out=folder / "report.html", holdout=folder / "held.parquet", target="charge", risk="quick")
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1 << 30 if sys.platform == "darwin" else 1 << 20)
print(json.dumps({"seconds": time.perf_counter() - began, "gigabytes": peak}))
"""


def measure(rows: int) -> dict[str, float]:
    """Seconds and peak memory of one report with models and attacks by counting."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        us.datasets.discharges_codebook().save(folder / "book.toml")
        for seed, (which, size) in enumerate((("real", rows), ("copy", rows), ("held", HELD)), start=1):
            pq.write_table(us.datasets.discharges(rows=size, seed=seed), folder / f"{which}.parquet")
        done = subprocess.run([sys.executable, "-c", _CHILD, name], capture_output=True, text=True, check=True)
    return dict(json.loads(done.stdout.strip().splitlines()[-1]))


def seconds_to_show(page: Path, *, times: int = 5) -> float:
    """Median seconds until a browser has drawn all figures of a page; earlier reports say so by `data-ready`."""
    from playwright.sync_api import sync_playwright

    drawn = "!document.querySelector('.plot') || document.documentElement.dataset.ready === 'true'"
    with sync_playwright() as driver:
        browser = driver.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox", "--disable-gpu"]
        )
        taken = []
        for _ in range(times):
            shown = browser.new_page(bypass_csp=True)  # the policy forbids the question below
            began = time.perf_counter()
            shown.goto(page.absolute().as_uri())
            shown.wait_for_function(drawn, timeout=120_000)
            taken.append(time.perf_counter() - began)
            shown.close()
        browser.close()
    return statistics.median(taken)


def table_of(columns: int, rows: int, seed: int) -> tuple[Codebook, pa.Table]:
    """A table of so many columns of ten levels."""
    levels, rng = tuple(f"level {k}" for k in range(10)), np.random.default_rng(seed)
    book = Codebook(columns=tuple(Categorical(name=f"column {k}", levels=levels) for k in range(columns)))
    return book, pa.table({name: np.array(levels)[rng.integers(0, 10, rows)] for name in book.names})


def write_wide(page: Path, columns: int = 15) -> None:
    """A report on two tables of so many columns; an earlier version of this package writes the page to compare with."""
    book, real = table_of(columns, 2000, 1)
    us.evaluate(real, table_of(columns, 2000, 2)[1], book, out=page, risk="none", target="column 0")


def main() -> None:
    if sys.argv[1:2] == ["--write"]:
        write_wide(Path(sys.argv[2]))
        return
    if sys.argv[1:2] == ["--old"]:  # a page that an earlier version wrote with --write
        with tempfile.TemporaryDirectory() as name:
            new = Path(name) / "new.html"
            write_wide(new)
            old, pages = Path(sys.argv[2]), {}
            for called, page in (("earlier", old), ("this", new)):
                pages[called] = seconds_to_show(page)
                print(f"{called} version, 15 columns: {page.stat().st_size:,} bytes, {pages[called]:.3f} s to show")
            print(f"ratio {pages['this'] / pages['earlier']:.3f} (bar 0.1, at most)")
        return
    for rows in SIZES:
        found = measure(rows)
        print(f"report on {rows:,} rows x 13: {found['seconds']:.0f} s, peak {found['gigabytes']:.1f} GiB")


if __name__ == "__main__":
    main()
