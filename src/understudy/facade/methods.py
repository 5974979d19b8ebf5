"""Every method of every room with its facts: what `understudy methods` and ``docs/methods/index.md`` show."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from understudy.parameters import Option
    from understudy.privacy.facts import MethodFacts
    from understudy.synth.recipe import Recipe


def synthesis_methods() -> dict[str, type[Recipe]]:
    """The methods of synthesis by name."""
    from understudy.synth.registry import METHODS

    return METHODS


def needed_numbers(method: str) -> dict[str, Option]:
    """Whole numbers besides the price that a method cannot do without, as its own example shows."""
    from understudy.parameters import Panel, Whole, options_of
    from understudy.synth.registry import find_method

    recipe = find_method(method)
    return {
        name: option
        for name, option in options_of(recipe).items()
        if name in recipe.example and option.panel is Panel.MODEL and isinstance(option.rule, Whole)
    }


def method_facts() -> dict[str, tuple[MethodFacts, ...]]:
    """The facts of all methods, by what is released."""
    from understudy.anonymize.facts import FACTS as ANONYMIZE
    from understudy.answers.facts import FACTS as ANSWERS
    from understudy.commute.facts import FACTS as COMMUTE
    from understudy.histories.recipe import Histories
    from understudy.reconstruct.facts import FACTS as RECONSTRUCT
    from understudy.synth.facts import FACTS as SYNTH
    from understudy.synth.facts import OTHER
    from understudy.trees.facts import FACTS as TREES
    from understudy.trees.facts import SERVICE

    return {
        "Synthetic tables": tuple(SYNTH.values()),
        "Linked tables": (Histories.facts,),
        "Beside them": OTHER,
        "Commuting tables": COMMUTE,
        "Risk scores": (*TREES.values(), SERVICE),
        "Answers on the real data": ANSWERS,
        "Anonymised tables": ANONYMIZE,
        "Averages": RECONSTRUCT,
    }
