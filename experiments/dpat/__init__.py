"""Chapter 5 of the dissertation with our methods: ``python -m experiments.dpat [--quick]``.

``data`` loads the two tables behind codebooks of clinical thresholds, ``accuracy`` measures AUROC, ``peer`` runs
diffprivlib in an interpreter of its own, ``attacks`` plays the two case studies, ``figures`` redraws 5.3 to 5.7.
"""

from experiments.dpat.run import main

__all__ = ["main"]
