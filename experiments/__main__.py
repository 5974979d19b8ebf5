"""Run every experiment, or those named."""

import sys

from experiments import prices

ALL = {"prices": prices.main}

if __name__ == "__main__":
    for name in sys.argv[1:] or list(ALL):
        print(f"== {name}")
        ALL[name]()
