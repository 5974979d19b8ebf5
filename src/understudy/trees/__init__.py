"""Risk scores from trees: alpha-trees, DPaT and EDPaT as written, and their provable forms."""

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
        PrivateAlphaBag,
        PrivateAlphaForest,
        PrivateAlphaTree,
    )
    from understudy.trees.recipe import RiskScore
    from understudy.trees.train import Training

__all__ = [
    "AlphaTree",
    "DPaT",
    "EDPaT",
    "Feature",
    "FeatureError",
    "PerCallAlphaTree",
    "PrivateAlphaBag",
    "PrivateAlphaForest",
    "PrivateAlphaTree",
    "Quality",
    "RiskScore",
    "ScoreModel",
    "Training",
    "load_model",
    "save_model",
]


def __getattr__(name: str) -> Any:
    """Training and estimators on first use: a service that only answers needs no scikit-learn."""
    if name in __all__:
        room = {"RiskScore": "recipe", "Training": "train"}.get(name, "estimators")
        return getattr(import_module(f"understudy.trees.{room}"), name)
    raise AttributeError(f"module 'understudy.trees' has no attribute {name!r}")
