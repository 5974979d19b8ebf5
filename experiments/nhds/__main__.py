"""``python -m experiments.nhds [--quick]``."""

import sys

from experiments.nhds.run import main

if __name__ == "__main__":
    main(quick="--quick" in sys.argv[1:])
