"""``python -m experiments.onthemap [--quick] [--out FOLDER]``."""

import argparse
from pathlib import Path

from experiments.onthemap.run import OUT, main

if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m experiments.onthemap", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a simulated town instead of Rhode Island: a smoke test")
    parser.add_argument("--out", type=Path, default=OUT, help="folder for figures and numbers")
    given = parser.parse_args()
    main(quick=given.quick, out=given.out)
