"""Run the quick experiments, or those named: ``python -m experiments [name ...]``; ``all`` means every one."""

import sys

from experiments import combining, coverage, lugs, nhds, pegs, prices, sbhg

QUICK = {"prices": prices.main, "coverage": coverage.main}
HEAVY = {"lugs": lugs.main, "combining": combining.main, "sbhg": sbhg.main, "pegs": pegs.main, "nhds": nhds.main}
"""Run only when named: each takes many minutes."""

if __name__ == "__main__":
    asked = sys.argv[1:] or list(QUICK)
    known = QUICK | HEAVY
    if strange := sorted(set(asked) - set(known) - {"all"}):
        sys.exit(f"there is no experiment {', '.join(strange)}; experiments are {', '.join(known)}, or all.")
    for name in known if "all" in asked else asked:
        print(f"== {name}")
        known[name]()
