"""Risk scores from trees: alpha-trees, DPaT and EDPaT as written, and their provable forms."""

from understudy.trees.features import Feature, FeatureError
from understudy.trees.model import Quality, ScoreModel, load_model, save_model

__all__ = ["Feature", "FeatureError", "Quality", "ScoreModel", "load_model", "save_model"]
