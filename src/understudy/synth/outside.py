"""Methods of other packages: what is added to the ledger that they state themselves.

Such a method may combine our mechanisms, whose prices are proved here. With an event of its own, or counts that it
opens itself, there is no formal guarantee, unless the caller trusts the package by name.
"""

import dataclasses
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from understudy.privacy.events import Event
from understudy.privacy.ledger import Entry
from understudy.privacy.secret import openings_watched

OURS = "understudy"


def package_of(kind: type) -> str | None:
    """The package that a class comes from; None for our own."""
    package = kind.__module__.partition(".")[0]
    return None if package == OURS else package


def outside_entries(recipe: Any, entries: Sequence[Entry]) -> list[Entry]:
    """The entries of a recipe with what must be said because of where it comes from."""
    package = package_of(type(recipe))
    if package is None:
        return list(entries)
    events = [event for entry in entries for event in _parts(entry.event)]
    foreign = sorted({type(event).__qualname__ for event in events if package_of(type(event)) is not None})
    if package in recipe.trust:
        assumption = f"the method {recipe.name!r} comes from the package {package!r}, which the caller trusts by name"
    else:
        assumption = f"the method {recipe.name!r} of the package {package!r} does what it says with our mechanisms"
    entries = [replace(entry, assumptions=(*entry.assumptions, assumption)) for entry in entries]
    if foreign and package not in recipe.trust:
        entries.append(
            unchecked(
                recipe, reads=", ".join(foreign), why=f"the package {package!r} prices {', '.join(foreign)} itself"
            )
        )
    return entries


def unchecked(recipe: Any, *, reads: str, why: str) -> Entry:
    """The entry of an event or a read that was not checked here."""
    package = package_of(type(recipe))
    return Entry.unpriced(
        stage="method",
        reads=reads,
        why=f"{why}, which nobody here has checked; whoever has may trust it by name (trust = {package!r})",
    )


@contextmanager
def watched(recipe: Any) -> Iterator[list[str]]:
    """Modules that open counts themselves in this block, while a method of another package is at work."""
    package = package_of(type(recipe))
    if package is None or package in recipe.trust:
        yield []
        return
    with openings_watched() as openers:
        yield openers


def _parts(event: Event) -> Iterator[Event]:
    """The event and all events inside it."""
    yield event
    if dataclasses.is_dataclass(event):
        for field in dataclasses.fields(event):
            value = getattr(event, field.name)
            for item in value if isinstance(value, tuple | list) else [value]:
                if isinstance(item, Event):
                    yield from _parts(item)
