"""Ways to choose parents: what each reads, what it costs, and the choice itself.

``declared``, ``random`` and ``full`` read no data. ``mutual-information`` reads raw data and voids the promise (the
paper's SBHG without EM). ``private`` pays for every pick by the exponential mechanism (SBHG+EM).
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from understudy.blocks.parents import (
    RAW_INFORMATION,
    RECORDS_PER_CELL,
    Parents,
    check_count,
    declared_parents,
    mutual_information_parents,
)
from understudy.codebook import Codebook
from understudy.codec import to_plain
from understudy.errors import ParameterError
from understudy.mechanisms.exponential import select, selection_event
from understudy.mechanisms.selection_scores import (
    conditional_entropy_score,
    conditional_entropy_sensitivity,
    fixed_size,
    mutual_information,
    mutual_information_sensitivity,
    score_tables,
)
from understudy.mechanisms.stream import Stream
from understudy.parameters import Whole
from understudy.privacy.guarantees import Neighbours
from understudy.privacy.ledger import Entry
from understudy.sources.base import Report, Source


@dataclass(frozen=True, kw_only=True)
class ParentChoice(ABC):
    """One way to choose the parents of every column."""

    word: ClassVar[str]

    @abstractmethod
    def check(self, book: Codebook) -> None:
        """Refuse what cannot work, before any data is read."""

    def entries(self, book: Codebook) -> list[Entry]:
        """What the choice costs; nothing, unless it reads data."""
        return []

    @abstractmethod
    def choose(self, source: Source, stream: Stream, report: Report | None = None) -> Parents:
        """The parents of every column."""

    def describe(self) -> dict[str, Any]:
        """For a manifest."""
        return {"choice": self.word, **to_plain(vars(self))}


@dataclass(frozen=True, kw_only=True)
class DeclaredParents(ParentChoice):
    """As the codebook or the caller declares them; otherwise the columns before."""

    word: ClassVar[str] = "declared"
    overrides: Mapping[str, tuple[str, ...]] | None = None

    def check(self, book: Codebook) -> None:
        """Names must be columns."""
        declared_parents(book, self.overrides)

    def choose(self, source: Source, stream: Stream, report: Report | None = None) -> Parents:
        """No data is looked at."""
        return declared_parents(source.codebook, self.overrides)


@dataclass(frozen=True, kw_only=True)
class FullParents(ParentChoice):
    """Every other column: the plain Gibbs sampler."""

    word: ClassVar[str] = "full"

    def check(self, book: Codebook) -> None:
        """Always possible."""

    def choose(self, source: Source, stream: Stream, report: Report | None = None) -> Parents:
        """No data is looked at."""
        names = source.codebook.names
        return {name: tuple(other for other in names if other != name) for name in names}


@dataclass(frozen=True, kw_only=True)
class NoParents(ParentChoice):
    """Every column on its own."""

    word: ClassVar[str] = "none"

    def check(self, book: Codebook) -> None:
        """Always possible."""

    def choose(self, source: Source, stream: Stream, report: Report | None = None) -> Parents:
        """No data is looked at."""
        return dict.fromkeys(source.codebook.names, ())


@dataclass(frozen=True, kw_only=True)
class _CountedParents(ParentChoice):
    count: int
    """Parents of each column."""

    def check(self, book: Codebook) -> None:
        """At most as many as there are other columns."""
        check_count(self.count, len(book.names))


@dataclass(frozen=True, kw_only=True)
class RandomParents(_CountedParents):
    """A public shuffle of the other columns; reads nothing."""

    word: ClassVar[str] = "random"
    salt: int = 1
    """Public: the same number gives the same parents."""

    def choose(self, source: Source, stream: Stream, report: Report | None = None) -> Parents:
        """Drawn from a public stream, so that the choice can be repeated by anybody."""
        public = Stream.seeded(self.salt)
        names = source.codebook.names
        chosen = {}
        for name in names:
            others = [other for other in names if other != name]
            chosen[name] = tuple(others.pop(public.below(len(others))) for _ in range(self.count))
        return chosen


@dataclass(frozen=True, kw_only=True)
class InformationParents(_CountedParents):
    """Most mutual information on raw data: the papers' choice. There is no guarantee with it."""

    word: ClassVar[str] = "mutual-information"

    def entries(self, book: Codebook) -> list[Entry]:
        """Nobody pays."""
        return [Entry.unpriced(**RAW_INFORMATION)]

    def choose(self, source: Source, stream: Stream, report: Report | None = None) -> Parents:
        """By raw counts."""
        parents, _ = mutual_information_parents(source, self.count)
        return parents


@dataclass(frozen=True, kw_only=True)
class PrivateParents(_CountedParents):
    """Picked one after the other by the exponential mechanism, each pick at ``epsilon``.

    Under add-remove the score of a candidate set h is -n H(X_j | X_h), monotone, with increment at most
    ln(n_max + 1) + 1; under replace-one it is the mutual information with PrivBayes' sensitivity, n public. What a
    table of that shape would score on independent data, (levels - 1)(keys - 1)/2 nats, is public and taken off first.
    """

    word: ClassVar[str] = "private"
    epsilon: float
    """Of one pick; there are ``count`` per column."""
    public_rows: int
    """Publicly known size of the table: an upper bound under add-remove, the exact number under replace-one."""
    neighbours: Neighbours
    per_cell: float = RECORDS_PER_CELL
    """Candidates that would leave fewer public rows per key on average are not considered."""

    def check(self, book: Codebook) -> None:
        """The count and the public size."""
        super().check(book)
        Whole(least=2, tried=1000).check("public_rows", self.public_rows)

    def entries(self, book: Codebook) -> list[Entry]:
        """``count`` picks per column, whether or not all of them find a candidate."""
        event = selection_event(
            epsilon=self.epsilon, selections=self.count * len(book.names), neighbours=self.neighbours
        )
        bound = "at most" if self.neighbours is Neighbours.ADD_REMOVE else "exactly"
        known = f"the table is known to have {bound} {self.public_rows:,} records"
        if book.unit is not None and self.neighbours is Neighbours.REPLACE:
            known += ", and it is known how many of them each person has"
        return [
            Entry(
                stage="parents",
                reads=f"{self.count} parents of each of {len(book.names)} columns, by the exponential mechanism",
                event=event,
                assumptions=(*book.assumptions, known),
            )
        ]

    def choose(self, source: Source, stream: Stream, report: Report | None = None) -> Parents:
        """Greedy: the best first parent, then the best second one beside it, and so on."""
        book = source.codebook
        chosen: dict[str, tuple[str, ...]] = dict.fromkeys(book.names, ())
        for round_number in range(self.count):
            asked = {name: self._candidates(book, name, chosen[name]) for name in book.names}
            cliques = [(*chosen[name], other, name) for name in book.names for other in asked[name]]
            tables = iter(source.count(cliques))
            for done, name in enumerate(book.names, start=1):
                mine = [next(tables) for _ in asked[name]]
                if mine:
                    chosen[name] += (self._pick(book, name, chosen[name], asked[name], mine, stream),)
                if report:
                    report("choosing parents", round_number * len(book.names) + done, self.count * len(book.names))
        return chosen

    def _candidates(self, book: Codebook, name: str, taken: tuple[str, ...]) -> list[str]:
        """Public sizes and earlier picks decide who is considered."""
        keys = math.prod(book.column(parent).size for parent in taken)
        room = self.public_rows / self.per_cell / keys
        others = [other for other in book.names if other != name and other not in taken]
        return [other for other in others if book.column(other).size <= room]

    def _pick(
        self,
        book: Codebook,
        name: str,
        taken: tuple[str, ...],
        candidates: list[str],
        tables: list[Any],
        stream: Stream,
    ) -> str:
        levels = book.column(name).size
        keys = [math.prod(book.column(p).size for p in (*taken, other)) for other in candidates]
        chance = [(levels - 1) * (size - 1) / 2 for size in keys]
        monotone = self.neighbours is Neighbours.ADD_REMOVE
        if monotone:
            sensitivity = conditional_entropy_sensitivity(self.public_rows)
            scores = score_tables(
                tables, conditional_entropy_score, records=self.public_rows, exactly=False, offsets=chance
            )
        else:
            binary = levels == 2 or all(size == 2 for size in keys)
            size = fixed_size(tables, self.public_rows, capped=book.unit is not None)
            sensitivity = mutual_information_sensitivity(size, binary=binary)
            offsets = [value / size for value in chance]
            scores = score_tables(tables, mutual_information, records=size, exactly=True, offsets=offsets)
        number, _ = select(
            scores,
            epsilon=self.epsilon,
            sensitivity=sensitivity,
            monotone=monotone,
            neighbours=self.neighbours,
            stream=stream,
        )
        return candidates[number]


CHOICES = ("declared", "private", "mutual-information", "random", "full")


def parent_choice(
    given: "Mapping[str, tuple[str, ...]] | str | ParentChoice | None",
    *,
    count: int,
    neighbours: Neighbours,
    pick_epsilon: float | None,
    public_rows: int | None,
) -> ParentChoice:
    """The choice that a word, a mapping or nothing stands for."""
    if isinstance(given, ParentChoice):
        return given
    if given is None or isinstance(given, Mapping):
        return DeclaredParents(overrides=given)
    if given == "private":
        if pick_epsilon is None or public_rows is None:
            raise ParameterError(
                "parents = 'private' needs a price and the publicly known size of the table (`public_rows`)."
            )
        return PrivateParents(count=count, epsilon=pick_epsilon, public_rows=public_rows, neighbours=neighbours)
    simple: dict[str, ParentChoice] = {
        "declared": DeclaredParents(),
        "full": FullParents(),
        "random": RandomParents(count=count),
        "mutual-information": InformationParents(count=count),
    }
    if given not in simple:
        raise ParameterError(
            f"`parents` is {given!r}; give a mapping of columns to parents, or one of {', '.join(CHOICES)}."
        )
    return simple[given]
