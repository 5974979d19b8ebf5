"""Chapter 4 of the dissertation, with our methods: ``python -m experiments.ludia [--quick]``.

``simulate`` draws the four simulations and CUDIA's, ``simulated`` measures them, ``hospital`` uses the National
Hospital Discharge Survey in place of the Texas file, ``charges`` masks charges as the chapter does,
``figures`` draws and ``report`` writes the tables.
"""

from experiments.ludia.run import main

__all__ = ["main"]
