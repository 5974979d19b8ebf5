"""The facts about reconstruction from averages, and about the averages. See ``docs/methods/index.md``."""

from understudy.reconstruct.estimators import Reconstructor
from understudy.reconstruct.risk import RiskQuestion

FACTS = (Reconstructor.facts, RiskQuestion.facts)
