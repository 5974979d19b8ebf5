"""``python -m experiments.pegs [--quick] [--out FOLDER]``."""

import argparse
from pathlib import Path

from experiments.pegs.run import OUT, main

if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m experiments.pegs", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer records and repeats: a few minutes")
    parser.add_argument("--out", type=Path, default=OUT, help="where results.json and the figures go")
    given = parser.parse_args()
    main(quick=given.quick, out=given.out)
