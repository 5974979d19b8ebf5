"""Figures 1 to 4 of the OnTheMap paper on Rhode Island 2019: ``python -m experiments.onthemap [--quick]``.

``world`` loads the flows, ``run`` draws, measures and keeps the numbers.
"""

from experiments.onthemap.run import main

__all__ = ["main"]
