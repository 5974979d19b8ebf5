"""``python -m experiments.ludia [--quick] [--only PART ...] [--out FOLDER]``."""

import argparse
from pathlib import Path

from experiments.ludia.run import OUT, PARTS, main

if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m experiments.ludia", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="few repeats and small samples: a smoke test")
    parser.add_argument(
        "--only",
        nargs="*",
        choices=list(PARTS),
        help="these parts; the rest keeps its last results (none: only redraw)",
    )
    parser.add_argument("--out", type=Path, default=OUT, help="where results.json and the figures go")
    given = parser.parse_args()
    main(quick=given.quick, only=given.only, out=given.out)
