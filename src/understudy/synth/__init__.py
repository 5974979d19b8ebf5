"""Recipes: choices only, one file per method, and the registry."""

from understudy.synth.contingency import Contingency
from understudy.synth.laplace import LaplaceHistogram
from understudy.synth.marginal_bootstrap import BayesianBootstrap, MarginalBootstrap
from understudy.synth.pegs import PeGS
from understudy.synth.pegs_rs import PeGSReset
from understudy.synth.recipe import Fitted, Quote, Recipe
from understudy.synth.registry import METHODS, make_recipe
from understudy.synth.sba import StabilityBasedHistogram

__all__ = [
    "METHODS",
    "BayesianBootstrap",
    "Contingency",
    "Fitted",
    "LaplaceHistogram",
    "MarginalBootstrap",
    "PeGS",
    "PeGSReset",
    "Quote",
    "Recipe",
    "StabilityBasedHistogram",
    "make_recipe",
]
