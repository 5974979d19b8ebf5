"""Time and memory of `understudy evaluate`, each run in a process of its own. Bars: 50,000 x 13 in less than 60 s.

The synthetic table is another draw of the same simulation, so that nearly every one of a million records is distinct:
the hardest case for work by counting.
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

import pyarrow.parquet as pq

import understudy as us

SIZES, HELD = (50_000, 1_000_000), 10_000
_CHILD = """
import json, resource, sys, time
from pathlib import Path
import understudy as us
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


def main() -> None:
    for rows in SIZES:
        found = measure(rows)
        print(f"report on {rows:,} rows x 13: {found['seconds']:.0f} s, peak {found['gigabytes']:.1f} GiB")


if __name__ == "__main__":
    main()
