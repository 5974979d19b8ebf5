"""Risk scores: additive shapes from noisy moments, alpha-trees, DPaT and EDPaT as written, and their provable forms."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from understudy.trees.features import Feature, FeatureError
from understudy.trees.model import Quality, ScoreModel, load_model, save_model

if TYPE_CHECKING:
    from understudy.trees.estimators import (
        AlphaTree,
        DPaT,
        EDPaT,
        PerCallAlphaTree,
        PrivateAdditiveScore,
        PrivateAlphaBag,
        PrivateAlphaForest,
        PrivateAlphaTree,
    )
    from understudy.trees.recipe import RiskScore, make_score
    from understudy.trees.train import (
        Additive,
        Bag,
        FaithfulDPaT,
        FaithfulEDPaT,
        Forest,
        OneTree,
        PerCallTree,
        PlainTree,
        make_training,
    )

__all__ = [
    "Additive",
    "AlphaTree",
    "Bag",
    "DPaT",
    "EDPaT",
    "FaithfulDPaT",
    "FaithfulEDPaT",
    "Feature",
    "FeatureError",
    "Forest",
    "OneTree",
    "PerCallAlphaTree",
    "PerCallTree",
    "PlainTree",
    "PrivateAdditiveScore",
    "PrivateAlphaBag",
    "PrivateAlphaForest",
    "PrivateAlphaTree",
    "Quality",
    "RiskScore",
    "ScoreModel",
    "load_model",
    "make_score",
    "make_training",
    "save_model",
]


def __getattr__(name: str) -> Any:
    """Training and estimators on first use: a service that only answers needs no scikit-learn."""
    if name in __all__:
        for room in ("train", "recipe", "estimators"):
            names = vars(import_module(f"understudy.trees.{room}"))
            if name in names:
                return names[name]
    raise AttributeError(f"module 'understudy.trees' has no attribute {name!r}")
