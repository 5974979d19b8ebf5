"""Every method of every room with its facts: what `understudy methods` and ``docs/methods/index.md`` show."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from understudy.codebook import Codebook
    from understudy.parameters import Option
    from understudy.privacy.facts import MethodFacts
    from understudy.synth.recipe import Recipe


def synthesis_methods() -> dict[str, type[Recipe]]:
    """The methods of synthesis by name."""
    from understudy.synth.registry import METHODS

    return METHODS


def unusable_methods() -> list[str]:
    """A sentence for every method that another package names and that cannot be used."""
    from understudy.synth.registry import unusable

    return unusable()


def method_package(method: str) -> str | None:
    """The package that a method comes from, where it is not ours."""
    from understudy.synth.outside import package_of
    from understudy.synth.registry import find_method

    return package_of(find_method(method))


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


def method_reasons(method: str, book: Codebook, *, rows_about: int, given: Collection[str] = ()) -> tuple[str, ...]:
    """Why one would take a method for a codebook and about so many records, or would not: names of reasons.

    They follow from what the class is and from its facts, so a new method has them without saying anything more. Of
    a method of another package nothing is known but that. ``given`` are the public numbers that were named already.
    Screens put words and numbers to the names.
    """
    from understudy.synth.registry import find_method

    recipe = find_method(method)
    reasons = ["outside" if method_package(method) else _first_reason(recipe, book, rows_about)]
    if recipe.facts.sound in _CLAIMS:
        reasons.append(_CLAIMS[recipe.facts.sound])
    if any(option.has_no_value and name not in given for name, option in needed_numbers(method).items()):
        reasons.append("needs")
    return tuple(reasons)


_CLAIMS = {"holds with conditions": "conditions", "unsound": "unsound"}
"""What is told of a paper's own claim, by what is true of it."""


def _first_reason(recipe: type[Recipe], book: Codebook, rows_about: int) -> str:
    from understudy.parameters import options_of
    from understudy.synth.hashed_gibbs import HashedGibbs
    from understudy.synth.histograms import TableRecipe
    from understudy.synth.methods.marginal_bootstrap import MarginalBootstrap
    from understudy.synth.methods.pegs_rs import PeGSReset
    from understudy.synth.methods.pmi import PMI
    from understudy.synth.methods.sbhg_gauss import SBHGGauss

    has_delta = "delta" in options_of(recipe)
    if issubclass(recipe, TableRecipe):
        return ("sparse" if book.cells > rows_about else "dense") + ("" if has_delta else "_pure")
    kinds = (
        (SBHGGauss, "thresholds_gauss"),
        (HashedGibbs, "thresholds"),
        (MarginalBootstrap, "singles"),
        (PeGSReset, "blocks"),
        (PMI, "regressions"),
    )
    for kind, reason in kinds:
        if issubclass(recipe, kind):
            return reason
    if recipe.route == "S":
        return "draws"
    return "tables" if has_delta else "tables_pure"


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
