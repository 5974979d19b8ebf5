"""A real discharge survey in full: codes with thousands of levels, weights, rules. Report: docs/methods/nhds.md."""

from experiments.nhds.run import main

__all__ = ["main"]
