"""Mechanisms: all randomness that privacy depends on, and a proof file for every claim.

Importing this package registers every pricing event, so that any ledger can be read and priced.
"""

from understudy.mechanisms.bounded_sums import BoundedSums
from understudy.mechanisms.capped_answers import CappedAnswers
from understudy.mechanisms.certificate import CertifiedNumbers, SelectedTry
from understudy.mechanisms.dirichlet import DirichletDraws, DirichletResetBlocks
from understudy.mechanisms.drafting import PricedDraft
from understudy.mechanisms.exponential import ExponentialSelection
from understudy.mechanisms.flow_measurements import FlowMeasurements
from understudy.mechanisms.gaussian_measurements import GaussianMeasurements
from understudy.mechanisms.gaussian_stability import GaussianStability
from understudy.mechanisms.group import GroupOf
from understudy.mechanisms.histogram import GeometricHistogram, SparseHistogram
from understudy.mechanisms.histories import HistoryMeasurements
from understudy.mechanisms.k_anonymity import KAnonymousTable
from understudy.mechanisms.l_diversity import LDiverseDraws
from understudy.mechanisms.max_norm import MaxNormSums
from understudy.mechanisms.origin_baselines import SubsampledBinomial
from understudy.mechanisms.origin_draws import OriginDraws
from understudy.mechanisms.people_histogram import PeopleHistogram
from understudy.mechanisms.prediction import PerturbedPrediction
from understudy.mechanisms.rule_support import RuleSupport
from understudy.mechanisms.split_choice import StableSplits, TreeSplits
from understudy.mechanisms.stability import StabilityHistogram
from understudy.mechanisms.stream import Stream
from understudy.mechanisms.vector_sums import MomentSums, TreeCounts, VectorSums
from understudy.mechanisms.weighted import WeightedHistogram

__all__ = [
    "BoundedSums",
    "CappedAnswers",
    "CertifiedNumbers",
    "DirichletDraws",
    "DirichletResetBlocks",
    "ExponentialSelection",
    "FlowMeasurements",
    "GaussianMeasurements",
    "GaussianStability",
    "GeometricHistogram",
    "GroupOf",
    "HistoryMeasurements",
    "KAnonymousTable",
    "LDiverseDraws",
    "MaxNormSums",
    "MomentSums",
    "OriginDraws",
    "PeopleHistogram",
    "PerturbedPrediction",
    "PricedDraft",
    "RuleSupport",
    "SelectedTry",
    "SparseHistogram",
    "StabilityHistogram",
    "StableSplits",
    "Stream",
    "SubsampledBinomial",
    "TreeCounts",
    "TreeSplits",
    "VectorSums",
    "WeightedHistogram",
]
