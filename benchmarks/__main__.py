"""Run every benchmark: ``python -m benchmarks [name ...]``."""

import sys

from benchmarks import constraints, counting, imputation, linear, lugs, sbhg, sweep

ALL = {
    "sweep": sweep.main,
    "counting": counting.main,
    "linear": linear.main,
    "imputation": imputation.main,
    "lugs": lugs.main,
    "sbhg": sbhg.main,
    "constraints": constraints.main,
}

if __name__ == "__main__":
    wanted = sys.argv[1:] or list(ALL)
    for name in wanted:
        print(f"== {name}")
        ALL[name]()
