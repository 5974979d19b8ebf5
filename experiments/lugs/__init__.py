"""Figures 2 to 7 of the LUGS paper, and memory against fidelity: ``python -m experiments.lugs [--quick]``.

``tables`` loads the two tables, ``collect`` measures, ``figures`` draws and ``run`` keeps the numbers.
"""

from experiments.lugs.run import main

__all__ = ["main"]
