"""The facts about anonymised tables. See ``docs/methods/index.md``."""

from understudy.anonymize.recipe import Recipe

FACTS = (Recipe.facts,)
