"""Counts of linked tables, joined where they lie and priced for a person: columns are spelled ``table.column``.

A person has as many rows in the join as the caps on its path allow, multiplied, so the price is that of a table with
so many records of one person (``mechanisms/proofs/group_of_records.md``).
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from understudy.codebook import Codebook, LinkedCodebook
from understudy.codebook.joined import joined_book, narrowed, not_public_on
from understudy.errors import ParameterError, UnderstudyError
from understudy.parameters import from_words, options_of
from understudy.privacy.ledger import Entry, Ledger
from understudy.privacy.quote import Quote
from understudy.sources.base import Source
from understudy.sources.joined_source import open_joined
from understudy.synth.counts import Counts

LINKED = "linked"
"""The parameter of a manifest that holds the codebook of the joined tables."""


@dataclass(frozen=True, kw_only=True)
class LinkedCounts(Counts):
    """A table of counts of a join; ``book`` is the codebook of the join."""

    linked: LinkedCodebook

    @cached_property
    def links(self) -> LinkedCodebook:
        """The tables that the join rests on, as a manifest tells them: keys, parents, caps and constants."""
        return narrowed(self.linked, self.by).plain

    def parameters(self) -> dict[str, Any]:
        """Every choice as plain data, and how the tables belong together."""
        return {**super().parameters(), LINKED: self.links.to_toml()}

    @cached_property
    def _priced(self) -> Quote:
        priced = super()._priced
        known = self.links.link_assumptions
        own = [
            replace(entry, assumptions=(*entry.assumptions, *known)) if entry.stage == "tables" else entry
            for entry in priced.own
        ]
        priced = replace(priced, own=Ledger.of(own))
        drafted = not_public_on(self.linked, self.by)
        if not drafted:
            return priced
        why = f"nobody has attested {', '.join(drafted)}, which were found in the data"
        entry = Entry.unpriced(stage="codebook", reads="how the tables belong together", why=why)
        return replace(priced, own=Ledger.of([entry]) + priced.own)

    def open(self, data: Any, *, table: str | None = None, **opening: Any) -> Source:
        """The joined tables."""
        if table is not None:
            raise ParameterError(f"`table` is {table!r}, and linked tables are joined; leave it out.")
        return open_joined(data, self.linked, self.counted, self.by, **opening)


def linked_counts(linked: LinkedCodebook, words: Mapping[str, Any]) -> LinkedCounts:
    """The counts that words of a command line stand for."""
    by = options_of(Counts)["by"].rule.read("by", words["by"])
    return from_words(LinkedCounts, "count", words, book=joined_book(linked, by), linked=linked)


def join_faults(book: Codebook, parameters: Mapping[str, Any], ledger: Ledger) -> list[str]:
    """Why counts of a join do not rest on the keys and caps that their manifest tells."""
    try:
        links = LinkedCodebook.from_toml(parameters[LINKED])
        joined = joined_book(links, parameters["columns"])
    except UnderstudyError as reason:
        return [f"how the tables belong together cannot be read: {reason}"]
    faults = []
    if book.unit != joined.unit:
        faults.append("the caps of the tables, multiplied, are not the number of records that a person is priced for")
    if {name: book.column(name).labels for name in book.names} != {n: joined.column(n).labels for n in joined.names}:
        faults.append("the columns are not those of the tables that are said to be joined")
    lacking = [text for text in links.link_assumptions if text not in ledger.assumptions]
    return [*faults, *(f"the statement does not name what it rests on: {text}" for text in lacking)]
