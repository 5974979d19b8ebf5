"""Coverage of intervals: of the papers' combining rules, and of `understudy infer`."""

from experiments.coverage.rules import main

__all__ = ["main"]
