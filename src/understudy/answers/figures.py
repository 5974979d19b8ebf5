"""Figures of an answer: names like those that a release gives the same figures."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
import numpy.typing as npt

from understudy.answers.grid import Grid
from understudy.answers.question import Question, Where
from understudy.codebook import Codebook
from understudy.infer.inference import Figure
from understudy.sources.tables import Codes

Integers = npt.NDArray[np.int64]


@dataclass(frozen=True, kw_only=True)
class Groups:
    """The public list of groups of a question, and the rule that puts a cell into one of them."""

    grid: Grid
    by: tuple[str, ...]
    where: Where

    @classmethod
    def of(cls, question: Question, grid: Grid) -> "Groups":
        """Those of one question."""
        return cls(grid=grid, by=question.by, where=question.where)

    @property
    def sizes(self) -> tuple[int, ...]:
        """Levels of each column, the missing one among them."""
        return tuple(self.grid.book.column(name).size for name in self.by)

    @property
    def number(self) -> int:
        """How many there are."""
        return int(np.prod(self.sizes, dtype=np.int64)) if self.by else 1

    def slots(self, codes: Codes) -> Integers:
        """The group of each cell; -1 for cells that are not asked about."""
        slot = np.zeros(len(codes), dtype=np.int64)
        for name, size in zip(self.by, self.sizes, strict=True):
            slot = slot * size + self._declared(codes, name)
        for name, allowed in self.where:
            slot[~np.isin(self._declared(codes, name), allowed)] = -1
        return slot

    def _declared(self, codes: Codes, name: str) -> Integers:
        own = codes[:, self.grid.columns.index(name)].astype(np.int64)
        return self.grid.groups(name)[own]

    @property
    def names(self) -> list[str]:
        """In words, one for each group; empty without ``by`` and ``where``."""
        whom = where_words(tuple(one for one in self.where if one[0] not in self.by), self.grid.book)
        told = []
        for codes in product(*map(range, self.sizes)):
            own = [
                f"{name}={self.grid.book.column(name).labels[code]}" for name, code in zip(self.by, codes, strict=True)
            ]
            told.append(", ".join(filter(None, [whom, *own])))
        return told

    @property
    def possible(self) -> list[bool]:
        """Whether the conditions leave room for each group: what they rule out is no group of the question."""
        allowed = dict(self.where)
        return [
            all(code in allowed.get(name, (code,)) for name, code in zip(self.by, codes, strict=True))
            for codes in product(*map(range, self.sizes))
        ]


def where_words(where: Where, book: Codebook) -> str:
    """Conditions as a release names them."""
    return ", ".join(f"{name}={' or '.join(book.column(name).labels[c] for c in codes)}" for name, codes in where)


def named(what: str, group: str) -> str:
    """A figure of a group."""
    return f"{what} | {group}" if group else what


def untold(name: str, kind: str, records: float, deviation: float) -> Figure:
    """A figure that the noise hides; that there may be nobody at all is not told apart."""
    return Figure(
        name=name,
        group=kind,
        refused=f"{name}: about {max(records, 0.0):,.0f} records, give or take {2 * deviation:,.0f}, are too few to be "
        "told from the noise. Ask for a larger group, or with a larger epsilon.",
    )


def withheld(figures: Sequence[Figure]) -> list[Figure]:
    """The same without numbers: their sums reached the end of what can be summed."""
    return [
        Figure(
            name=figure.name,
            group=figure.group,
            refused=f"{figure.name}: more records than can be summed exactly. Ask for a part of them (`where`).",
        )
        for figure in figures
    ]
