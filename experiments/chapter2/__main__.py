"""``python -m experiments.chapter2 [--quick] [--out FOLDER]``."""

import argparse
from pathlib import Path

from experiments.chapter2.run import OUT, main

if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m experiments.chapter2", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a third of the rows: a smoke test")
    parser.add_argument("--out", type=Path, default=OUT, help="where the tables and figures go")
    given = parser.parse_args()
    main(quick=given.quick, out=given.out)
