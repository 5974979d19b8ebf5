"""Figures 2.1 to 2.7 and tables 2.1 to 2.3 of the dissertation, on generated discharges.

``study`` prepares and anonymises, ``models`` regresses, ``figures`` draws and ``run`` writes.
"""

from experiments.chapter2.run import main

__all__ = ["main"]
