"""Run the quick experiments, or those named: ``python -m experiments [name ...]``; ``all`` means every one."""

import sys

from experiments import (
    anonymeter_check,
    chapter2,
    combining,
    coverage,
    dpat,
    ludia,
    lugs,
    nhds,
    onthemap,
    pegs,
    prices,
    sbhg,
)
from experiments.coverage import releases

QUICK = {
    "prices": prices.main,
    "coverage": coverage.main,
    "chapter2": chapter2.main,
}
HEAVY = {
    "lugs": lugs.main,
    "combining": combining.main,
    "sbhg": sbhg.main,
    "pegs": pegs.main,
    "anonymeter": anonymeter_check.main,
    "ludia": ludia.main,
    "onthemap": onthemap.main,
    "dpat": dpat.main,
    "nhds": nhds.main,
    "intervals": lambda: releases.main(["--out", "coverage.jsonl"]),
}
"""Run only when named: each takes many minutes."""

if __name__ == "__main__":
    asked = sys.argv[1:] or list(QUICK)
    known = QUICK | HEAVY
    if strange := sorted(set(asked) - set(known) - {"all"}):
        sys.exit(f"there is no experiment {', '.join(strange)}; experiments are {', '.join(known)}, or all.")
    for name in known if "all" in asked else asked:
        print(f"== {name}")
        known[name]()
