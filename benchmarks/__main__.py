"""Run benchmarks and keep what they say in RESULTS.md: ``python -m benchmarks [name ...]``; without a name, all."""

import sys

from benchmarks import counting, imputation, linear, lugs, results, sbhg, scale, sweep

ALL = {
    "sweep": sweep.main,
    "counting": counting.main,
    "linear": linear.main,
    "imputation": imputation.main,
    "lugs": lugs.main,
    "sbhg": sbhg.main,
    **{f"scale: {name}": part for name, part in scale.PARTS.items()},
}


if __name__ == "__main__":
    wanted = sys.argv[1:] or list(ALL)
    for name in wanted:
        print(f"== {name}")
        results.run(name, ALL[name])
