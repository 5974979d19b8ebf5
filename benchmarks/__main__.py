"""Run every benchmark: ``python -m benchmarks [name ...]``."""

import sys

from benchmarks import counting, imputation, linear, lugs, sbhg, service, sweep

ALL = {
    "sweep": sweep.main,
    "counting": counting.main,
    "linear": linear.main,
    "imputation": imputation.main,
    "lugs": lugs.main,
    "sbhg": sbhg.main,
    "service": service.main,
}

if __name__ == "__main__":
    wanted = sys.argv[1:] or list(ALL)
    for name in wanted:
        print(f"== {name}")
        ALL[name]()
