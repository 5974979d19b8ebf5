"""``python -m experiments.pegs [--quick] [--only TABLE ...] [--out FOLDER]``."""

import argparse
from pathlib import Path

from experiments.pegs.run import OUT, main
from experiments.pegs.settings import SETTINGS

if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m experiments.pegs", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer records and repeats: a smoke test")
    parser.add_argument(
        "--only", nargs="+", choices=list(SETTINGS), help="these tables; others keep their last results"
    )
    parser.add_argument("--out", type=Path, default=OUT, help="where results.json and the figures go")
    given = parser.parse_args()
    main(quick=given.quick, only=given.only, out=given.out)
