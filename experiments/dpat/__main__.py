"""``python -m experiments.dpat [--quick] [--only PART ...] [--out FOLDER]``."""

import argparse
from pathlib import Path

from experiments.dpat.run import OUT, PARTS, main

if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m experiments.dpat", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="few repeats: a smoke test")
    parser.add_argument("--only", nargs="*", choices=list(PARTS), help="these parts; others keep their last results")
    parser.add_argument("--out", type=Path, default=OUT, help="where results.json and the figures go")
    given = parser.parse_args()
    main(quick=given.quick, only=given.only, out=given.out)
