"""The cells in which the codes of a detail column are counted where every cell gets noise: a list that is public.

Codes of a pack tell their coarse level themselves, so each code is a cell. Where the codebook lists the codes of every
level, ``other`` and a missing code belong to all levels and have a cell for each. So one count says all that codes are
drawn from.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from understudy.codebook.book import Codebook
from understudy.codebook.coded import Coded
from understudy.codebook.columns import Categorical
from understudy.codebook.details import Detail

Places = npt.NDArray[np.int64]


@dataclass(frozen=True, kw_only=True, eq=False)
class CodeCells:
    """The cells of one detail column of a codebook."""

    book: Codebook
    detail: Detail

    @property
    def by_level(self) -> bool:
        """Whether ``other`` and missing codes are counted by coarse level."""
        return not isinstance(self.detail, Coded)

    @property
    def codes(self) -> int:
        """Codes of the list, without ``other``."""
        return self.detail.proper_levels - 1

    @property
    def levels(self) -> int:
        """Of the coarse column, with its missing one."""
        return self.book.column(self.detail.detail_of).size

    @property
    def size(self) -> int:
        """How many cells there are."""
        if not self.by_level:
            return self.detail.size
        return self.codes + self.levels * (self.detail.size - self.codes)

    @cached_property
    def pairs(self) -> tuple[Places, Places]:
        """The coarse level and the code of every cell, where they are counted by level."""
        labels = self.book.column(self.detail.detail_of).labels
        place = {label: number for number, label in enumerate(labels)}
        parents = [place[group] for group, members in self.detail.groups for _ in members]
        beyond = range(self.codes, self.detail.size)
        level = [*parents, *(number for _ in beyond for number in range(self.levels))]
        code = [*range(self.codes), *(each for each in beyond for _ in range(self.levels))]
        return np.array(level, dtype=np.int64), np.array(code, dtype=np.int64)

    def column(self, name: str) -> Categorical:
        """A column whose codes are the cells."""
        return Categorical(name=name, levels=tuple(map(str, range(self.size))))


def code_cells(book: Codebook) -> tuple[CodeCells, ...]:
    """The cells of every detail column."""
    return tuple(CodeCells(book=book, detail=detail) for detail in book.details)
