"""Generalise, suppress, and say what that achieves: k-anonymity, l-diversity, t-closeness.

>>> import understudy as us
>>> from understudy.anonymize import FullDomain, Recipe, anonymize
>>> source = us.open(us.datasets.discharges(rows=2000, seed=1), us.datasets.discharges_codebook())
>>> recipe = Recipe(steps=(FullDomain(k=5, suppression=0.05, loss="entropy"),), quasi=("sex", "pay", "patzip"))
>>> made = anonymize(source, recipe)
>>> made.release.manifest.total.k >= 5
True
"""

from understudy.anonymize.anonymity import FullDomain, Mondrian
from understudy.anonymize.criteria import Closeness, DistinctDiversity, EntropyDiversity, RecursiveDiversity
from understudy.anonymize.fitted import Anonymized
from understudy.anonymize.hierarchies import Rule
from understudy.anonymize.hierarchy import Hierarchy
from understudy.anonymize.measure import Measured, measure
from understudy.anonymize.perturb import AddNoise, RankSwap, Swap
from understudy.anonymize.recipe import Recipe, anonymize, load_recipe, read_recipe
from understudy.anonymize.steps import Bin, BottomCode, Drop, Generalise, GroupLevels, GroupRare, Keep, Round, TopCode
from understudy.anonymize.suppress import SuppressCells, SuppressRows

__all__ = [
    "AddNoise",
    "Anonymized",
    "Bin",
    "BottomCode",
    "Closeness",
    "DistinctDiversity",
    "Drop",
    "EntropyDiversity",
    "FullDomain",
    "Generalise",
    "GroupLevels",
    "GroupRare",
    "Hierarchy",
    "Keep",
    "Measured",
    "Mondrian",
    "RankSwap",
    "Recipe",
    "RecursiveDiversity",
    "Round",
    "Rule",
    "SuppressCells",
    "SuppressRows",
    "Swap",
    "TopCode",
    "anonymize",
    "load_recipe",
    "measure",
    "read_recipe",
]
