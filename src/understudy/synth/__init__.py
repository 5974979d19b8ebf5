"""Recipes: choices only, one file per method, and the registry."""

from understudy.synth.contingency import Contingency
from understudy.synth.gibbs import GibbsSampler
from understudy.synth.laplace import LaplaceHistogram
from understudy.synth.marginal_bootstrap import BayesianBootstrap, MarginalBootstrap
from understudy.synth.pegs import PeGS
from understudy.synth.pegs_rs import PeGSReset
from understudy.synth.privbayes import PrivBayes
from understudy.synth.recipe import Fitted, Quote, Recipe
from understudy.synth.registry import METHODS, make_recipe
from understudy.synth.sba import StabilityBasedHistogram
from understudy.synth.sbhg import SBHG
from understudy.synth.sbhg_gauss import SBHGGauss

__all__ = [
    "METHODS",
    "SBHG",
    "BayesianBootstrap",
    "Contingency",
    "Fitted",
    "GibbsSampler",
    "LaplaceHistogram",
    "MarginalBootstrap",
    "PeGS",
    "PeGSReset",
    "PrivBayes",
    "Quote",
    "Recipe",
    "SBHGGauss",
    "StabilityBasedHistogram",
    "make_recipe",
]
