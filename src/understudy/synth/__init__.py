"""Recipes: choices only, one file per method, and the registry."""

from understudy.synth.contingency import Contingency
from understudy.synth.gibbs import GibbsSampler
from understudy.synth.imputation import Imputation
from understudy.synth.laplace import LaplaceHistogram
from understudy.synth.lugs import LUGS
from understudy.synth.marginal_bootstrap import BayesianBootstrap, MarginalBootstrap
from understudy.synth.marginals import Marginals
from understudy.synth.pegs import PeGS
from understudy.synth.pegs_rs import PeGSReset
from understudy.synth.plugs import PLUGS
from understudy.synth.pmi import PMI
from understudy.synth.privbayes import PrivBayes
from understudy.synth.recipe import Fitted, Quote, Recipe
from understudy.synth.registry import METHODS, make_recipe
from understudy.synth.sba import StabilityBasedHistogram
from understudy.synth.sbhg import SBHG
from understudy.synth.sbhg_gauss import SBHGGauss

__all__ = [
    "LUGS",
    "METHODS",
    "PLUGS",
    "PMI",
    "SBHG",
    "BayesianBootstrap",
    "Contingency",
    "Fitted",
    "GibbsSampler",
    "Imputation",
    "LaplaceHistogram",
    "MarginalBootstrap",
    "Marginals",
    "PeGS",
    "PeGSReset",
    "PrivBayes",
    "Quote",
    "Recipe",
    "SBHGGauss",
    "StabilityBasedHistogram",
    "make_recipe",
]
