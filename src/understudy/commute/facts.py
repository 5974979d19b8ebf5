"""The facts about commuting releases, which their recipe carries. See ``docs/methods/index.md``."""

from understudy.commute.recipe import CommuteRecipe

FACTS = tuple(CommuteRecipe.facts.values())
