"""Figures 5 to 12 and table 3 of the PeGS paper, with our methods: ``python -m experiments.pegs [--quick]``.

``settings`` prepares the tables, ``maps`` runs the methods over the epsilons, ``blocks`` looks into one block and one
sweep, ``figures`` draws, ``report`` prints what agrees with the paper and what does not.
"""

from experiments.pegs.run import main

__all__ = ["main"]
