"""People instead of records: what every recipe does when the codebook names an id column and a cap.

Targets that a user states (epsilon, delta) are meant for a person. A recipe works on records, so it is given the share
of one record; its entries are then raised to the price of a person (``mechanisms/group.py``).
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

from understudy.codebook import Codebook
from understudy.errors import RefusalError
from understudy.mechanisms.group import RecordChoice, for_person, share_of_group
from understudy.mechanisms.stream import Stream
from understudy.privacy.ledger import Entry
from understudy.sources.base import Source
from understudy.synth.one_epsilon import with_shares

if TYPE_CHECKING:
    from understudy.synth.recipe import Recipe

AnyRecipe = TypeVar("AnyRecipe", bound="Recipe")


def of_people(recipe: AnyRecipe, book: Codebook) -> AnyRecipe:
    """The recipe whose targets are the shares of one record; what was asked for a person stays in ``per_person``.

    One epsilon is first shared out among the parts of a release (:mod:`understudy.synth.one_epsilon`).
    """
    if recipe.per_person is None:
        recipe = with_shares(recipe, book)
    if book.unit is None or recipe.per_person is not None:
        return recipe
    person_targets: dict[str, Any] = {"records": book.unit.cap}
    changed: dict[str, Any] = {}
    for epsilon_name, delta_name in (*recipe.shared_targets, ("certify_epsilon", None)):
        epsilon = getattr(recipe, epsilon_name, None)
        delta = getattr(recipe, delta_name, None) if delta_name else None
        if epsilon is None:
            continue
        epsilon, slack = share_of_group(epsilon=float(epsilon), delta=delta, records=book.unit.cap)
        person_targets[epsilon_name], changed[epsilon_name] = getattr(recipe, epsilon_name), epsilon
        if delta_name and delta is not None:
            person_targets[delta_name], changed[delta_name] = delta, slack
    shared = replace(recipe, **changed)
    object.__setattr__(shared, "per_person", person_targets)
    object.__setattr__(shared, "one_epsilon", recipe.one_epsilon)
    return shared


def person_entries(entries: Sequence[Entry], book: Codebook) -> list[Entry]:
    """The entries as they are, or priced for a person."""
    if book.unit is None:
        return list(entries)
    return [for_person(entry, book.unit.cap) for entry in entries]


def capped_source(source: Source, stream: Stream) -> Source:
    """The records that take part; chosen again for every fit, each of which pays for the person."""
    unit = source.codebook.unit
    if unit is None:
        return source
    return source.capped(RecordChoice(cap=unit.cap, stream=stream.spawn()))


def require_capped(source: Source) -> None:
    """Refuse a fit whose price assumes a cap that nobody enforced."""
    if not source.is_capped:
        raise RefusalError("the records per person were not capped; fit through `Recipe.fit`, which does it.")
