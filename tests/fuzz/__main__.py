"""By hand, from the top of the repository: ``python -m tests.fuzz --hours 2`` or ``--cases 5000 --seed 7``."""

import argparse
import secrets
import sys
import tempfile
import time
from pathlib import Path

from .commands import commands
from .run import run
from .targets import prepare

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--hours", type=float, default=0.0, help="Go on with new seeds for so long.")
parser.add_argument("--cases", type=int, default=50_000, help="Cases of each seed.")
parser.add_argument("--seed", type=int, default=None, help="The first seed; one is drawn otherwise.")
parser.add_argument("--only", default="", help="The name of one target.")
asked = parser.parse_args()

seed = secrets.randbelow(1 << 31) if asked.seed is None else asked.seed
with tempfile.TemporaryDirectory(prefix="understudy-fuzz-") as place:
    targets = [*prepare(Path(place)), *commands(Path(place))]
    cases = Path(place) / "cases"
    cases.mkdir()
    end, failed = time.monotonic() + 3600 * asked.hours, False
    while True:
        done, failures = run(targets, cases, seed=seed, cases=asked.cases, only=asked.only, timed=True)
        print(f"seed {seed}: {done:,} cases, {len(failures)} failures", *failures, sep="\n")  # noqa: T201
        failed |= bool(failures)
        seed += 1
        if time.monotonic() >= end:
            sys.exit(failed)
