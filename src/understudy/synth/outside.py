"""Methods, or parts of them, that other packages bring: what their ledger says beside what they state themselves.

Such a method may combine our mechanisms, whose prices are proved here. With an event of its own, or counts that it
opens itself, there is no formal guarantee, unless the caller trusts the package by name.
"""

import dataclasses
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from understudy.blocks.choosing import ParentChoice
from understudy.codebook import Codebook
from understudy.errors import RefusalError
from understudy.privacy.events import Event
from understudy.privacy.guarantees import Neighbours
from understudy.privacy.ledger import Entry
from understudy.privacy.secret import openings_watched
from understudy.synth.assumed import public_size
from understudy.synth.seeds import SeedPool

OURS = "understudy"


def package_of(kind: type) -> str | None:
    """The package that a class comes from; None for our own."""
    package = kind.__module__.partition(".")[0]
    return None if package == OURS else package


def packages_of(recipe: Any) -> list[str]:
    """Other packages that have a part in a recipe: by its class, or by what chooses its parents or starts."""
    chosen = (value for value in recipe.get_params().values() if isinstance(value, ParentChoice | SeedPool))
    return sorted({package for part in (recipe, *chosen) if (package := package_of(type(part))) is not None})


def outside_entries(recipe: Any, book: Codebook, entries: Sequence[Entry]) -> list[Entry]:
    """The entries of a recipe with what must be said because of where it comes from.

    What the promise takes for granted about the columns is said here where the method forgot it: whoever reads the
    statement must accept it, whatever its author knew.
    """
    packages = packages_of(recipe)
    if not packages:
        return list(entries)
    events = [event for entry in entries for event in _parts(entry.event)]
    foreign = [event for event in events if package_of(type(event)) not in (None, *recipe.trust)]
    entries = _resting(recipe, book, entries)
    said = tuple(_said(recipe, package) for package in packages)
    entries = [replace(entry, assumptions=(*entry.assumptions, *said)) for entry in entries]
    if foreign:
        named = ", ".join(sorted({type(event).__qualname__ for event in foreign}))
        owners = ", ".join(sorted({repr(package_of(type(event))) for event in foreign}))
        entries.append(unchecked(recipe, reads=named, why=f"the package {owners} prices {named} itself"))
    return entries


def _resting(recipe: Any, book: Codebook, entries: Sequence[Entry]) -> list[Entry]:
    """The first entry that has a price takes what no entry says."""
    priced = next((place for place, entry in enumerate(entries) if entry.guarantee.is_formal), None)
    if priced is None:
        return list(entries)
    neighbours = getattr(entries[priced].guarantee, "neighbours", None) or Neighbours.ADD_REMOVE
    known = {sentence for entry in entries for sentence in entry.assumptions}
    lacking = tuple(sentence for sentence in public_size(book, neighbours) if sentence not in known)
    return [
        replace(entry, assumptions=(*lacking, *entry.assumptions)) if place == priced else entry
        for place, entry in enumerate(entries)
    ]


def _said(recipe: Any, package: str) -> str:
    method, whole = f"the method {recipe.name!r}", package == package_of(type(recipe))
    if package in recipe.trust:
        part = "comes from" if whole else "is used with a part of"
        return f"{method} {part} the package {package!r}, which the caller trusts by name"
    if whole:
        return f"{method} of the package {package!r} does what it says with our mechanisms"
    return f"what {method} takes from the package {package!r} does what it says with our mechanisms"


def unchecked(recipe: Any, *, reads: str, why: str) -> Entry:
    """The entry of something that nobody here has checked."""
    packages = ", ".join(repr(package) for package in packages_of(recipe) if package not in recipe.trust)
    return Entry.unpriced(
        stage="method",
        reads=reads,
        why=f"{why}, which nobody here has checked; whoever has may trust it by name (trust = {packages})",
    )


@contextmanager
def watched(recipe: Any) -> Iterator[list[str]]:
    """Modules that open counts or rows themselves in this block, while a part of another package is at work."""
    if set(packages_of(recipe)) <= set(recipe.trust):
        yield []
        return
    with openings_watched() as openers:
        yield openers
    openers[:] = [module for module in openers if module.partition(".")[0] not in recipe.trust]


@contextmanager
def unopened(recipe: Any) -> Iterator[None]:
    """Refuse what a method of another package makes in this block, if it opens counts itself."""
    with watched(recipe) as openers:
        yield
    refuse_openers(openers)


def refuse_openers(openers: Sequence[str]) -> None:
    """Where no entry can be added any more, what was opened beside the price is refused."""
    if openers:
        raise RefusalError(
            f"{openers[0]} opened counts itself, which the price does not cover; mend the method, or trust its package "
            "by name (`trust`)."
        )


def _parts(event: Event) -> Iterator[Event]:
    """The event and all events inside it."""
    yield event
    if dataclasses.is_dataclass(event):
        for field in dataclasses.fields(event):
            value = getattr(event, field.name)
            for item in value if isinstance(value, tuple | list) else [value]:
                if isinstance(item, Event):
                    yield from _parts(item)
