"""Tables 1 and 2 and figures 1 to 5 of the SBHG paper, with our methods: ``python -m experiments.sbhg [--quick]``.

``simulate`` draws the tables, ``theory`` says what must come out, ``measure`` runs one recipe, ``simulated`` and
``real_data`` collect the numbers, ``figures`` draws them and ``noise`` compares the two kinds of noise without data.
"""

from experiments.sbhg.run import main

__all__ = ["main"]
