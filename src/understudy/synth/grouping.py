"""Synthetic people: how many records each of them has, declared in the codebook or counted at a price.

The rows of a synthetic person are drawn independently of one another. Grouping gives files a plausible number of
records per id; it makes no histories.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from understudy.codebook import Codebook
from understudy.errors import ParameterError
from understudy.mechanisms.people_histogram import PeopleHistogram, noisy_people, people_histogram_event
from understudy.mechanisms.smoothing import exposed
from understudy.mechanisms.stream import Stream
from understudy.privacy.guarantees import Neighbours
from understudy.privacy.ledger import Entry
from understudy.sources.base import Source
from understudy.sources.tables import counts_people

if TYPE_CHECKING:
    from understudy.synth.recipe import Recipe

_READS = "how many people have one record, two, and so on up to the cap"
_WHY = "synthetic people get their numbers of records from exact counts, which nobody paid for"
_SAID = (
    "rows that share an id were drawn independently of one another: a synthetic person has a plausible number of "
    "records, not a history."
)


def _event(recipe: "Recipe") -> PeopleHistogram:
    epsilon = recipe.people_epsilon
    if epsilon is None:
        raise ParameterError(
            "the codebook's [unit] says that records per person are counted, which is paid for beside the model; give "
            "`people_epsilon` (for example 0.1), or write the shares into the codebook if they are publicly known."
        )
    relation = getattr(recipe, "neighbours", Neighbours.ADD_REMOVE)
    return people_histogram_event(epsilon=float(epsilon), neighbours=relation)


def people_entries(recipe: "Recipe", book: Codebook) -> list[Entry]:
    """What it costs to count them; reads nothing but the codebook."""
    if not counts_people(book):
        if recipe.people_epsilon is not None:
            raise ParameterError(
                "`people_epsilon` pays for counting the records of each person, and the codebook does not ask for it; "
                'leave it out, or write pseudonyms = true and records_per_person = "counted" into [unit].'
            )
        return []
    if recipe.route == "none":
        return [Entry.unpriced(stage="people", reads=_READS, why=_WHY)]
    assert book.unit is not None
    return [Entry(stage="people", reads=_READS, event=_event(recipe), assumptions=(book.unit.assumption,))]


def count_people(recipe: "Recipe", source: Source, stream: Stream) -> tuple[int, ...]:
    """How common each number of records is, as released; empty if not asked for."""
    if not counts_people(source.codebook):
        return ()
    assert source.people is not None  # counted when the records were capped
    if recipe.route == "none":
        [exact], _ = exposed([source.people], stage="people", reads=_READS, why=_WHY)
        return tuple(exact.to_grid().tolist())
    return noisy_people(source.people, event=_event(recipe), stream=stream)


def sizes_of(book: Codebook, released: Sequence[int]) -> tuple[int, ...]:
    """The weights by which synthetic people get their numbers of records: those released, else those declared."""
    declared = () if book.unit is None else book.unit.records_per_person
    return tuple(released) if isinstance(declared, str) else tuple(declared)


def people_warnings(book: Codebook) -> tuple[str, ...]:
    """What a reader of the file must know about its ids."""
    return (_SAID,) if book.unit is not None and book.unit.records_per_person else ()
