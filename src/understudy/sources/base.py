"""The interface of all sources: counts of chosen columns, wherever the rows are stored."""

import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from os import PathLike
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from understudy.codebook import Codebook, Column, LinkedCodebook, Number, PersonUnit
from understudy.codebook.book import IS_LINKED
from understudy.errors import DataError, ParameterError, RefusalError
from understudy.privacy.account import Account
from understudy.privacy.provenance import DECLARED, Provenance
from understudy.privacy.secret import Secret, note_reading
from understudy.sources.files import Opened
from understudy.sources.tables import CountTable

Clique = Sequence[str]
"""A set of columns to be counted together."""

Report = Callable[[str, int, int], None]
"""Told the name of the step and how much of how much is done."""


def told_by_size(paths: Sequence[Path], step: str, report: Report | None) -> Iterator[Path]:
    """Each file; after it, how many bytes of all of them are done."""
    if report is None:
        yield from paths
        return
    sizes = [_size_of(path) for path in paths]
    done = 0
    for path, size in zip(paths, sizes, strict=True):
        yield path
        done += size
        report(step, done, sum(sizes))


def _size_of(path: Path) -> int:
    try:
        return path.stat().st_size
    except (OSError, ValueError):  # whoever opens it says what is wrong with it
        return 0


def no_ids(unit: PersonUnit | None) -> DataError:
    """The error where ids are needed and there are none."""
    return DataError(
        f"the table has no column {unit.id if unit else ''!r}, the id that the codebook's [unit] names; without it "
        "nobody knows which records belong to one person. Give the table with its ids, or take [unit] out and protect "
        "single records."
    )


def as_codebook(given: Codebook | str | Path | None) -> Codebook:
    """A codebook, or the file of one; without either an error that says how to draft one."""
    if given is None:
        raise ParameterError(
            "`codebook` is missing: it says which columns the table has and what they may hold, and no table is read "
            "without it. Draft one with `understudy codebook draft DATA -o codebook.toml`, or with us.draft(DATA) in "
            "Python, review it, and hand it over."
        )
    if isinstance(given, LinkedCodebook):
        raise ParameterError(f"`codebook` is of several tables: {IS_LINKED}")
    if not isinstance(given, Codebook | str | PathLike):
        raise ParameterError(  # its type only: it may be the confidential table, handed over in the wrong place
            f"`codebook` is of type {type(given).__name__}; it must be a Codebook or the path of one. Try "
            "us.Codebook.load('codebook.toml')."
        )
    return given if isinstance(given, Codebook) else Codebook.load(given)


class Choice(Protocol):
    """Which records of each person take part; supplied by ``mechanisms.group``."""

    @property
    def cap(self) -> int:
        """How many of them."""

    def keep(self, people: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
        """Whether each record stays, given a number for its person."""

    def key(self) -> str:
        """A secret text from the stream, by which an engine chooses (:mod:`understudy.sources.capping`)."""


def slice_weights(columns: int) -> list[int]:
    """Public multipliers: a combination falls into slice sum(weight x code) mod parts."""
    return [(2 * place + 1) * 0x9E3779B1 % 1_000_003 for place in range(columns)]


class Source(ABC):
    """A private table with its codebook. It returns counts as secrets, and never rows."""

    def __init__(
        self,
        *,
        codebook: Codebook,
        account: Account | None,
        provenance: Provenance = DECLARED,
        opened: Opened | None = None,
        unknown: str = "error",
    ) -> None:
        self.codebook = codebook
        self.rules = codebook.plain if provenance.is_release else codebook
        """The same codebook with the rules by which this table is written: a release is written plainly."""
        self.account = account
        self.provenance = provenance
        """What the table is."""
        self.address: str | Path | None = None
        """Where the rows lie, if not in memory."""
        self._opened = opened
        self.unknown = unknown
        """What becomes of values outside the codebook."""
        self._is_capped = codebook.unit is None
        self.people: Secret[CountTable] | None = None
        """How many people have one record, two, ...; of a capped source whose codebook asks for it."""
        self.keep: Path | None = None
        """A folder of the holder in which a long count notes how far it is; without one it begins anew."""

    @property
    def opened(self) -> Opened | None:
        """What holds the rows, for the few jobs that need them (:func:`understudy.sources.rows.rows_of`)."""
        note_reading(sys._getframe(1))
        return self._opened

    def __setattr__(self, name: str, value: Any) -> None:
        """Codes were made with one codebook: another one set afterwards would price, and promise, something else."""
        if name == "codebook" and name in self.__dict__:
            raise RefusalError("the codebook of a source does not change; open the table again with the other one.")
        super().__setattr__(name, value)

    @abstractmethod
    def count(self, cliques: Sequence[Clique], report: Report | None = None) -> list[Secret[CountTable]]:
        """Counts for many column sets at once, so that an engine can share one scan."""

    def frequencies(self, clique: Clique) -> Secret[dict[int, int]]:
        """How many combinations of these columns occur once, twice, and so on: counts of counts."""
        raise RefusalError(f"a {type(self).__name__} has no counts of counts; open the table itself.")

    def lone(self, clique: Clique, part: int, parts: int) -> Secret[CountTable]:
        """Combinations that occur exactly once, of one slice out of ``parts`` that depend only on the combination."""
        raise RefusalError(f"a {type(self).__name__} does not tell lone combinations; open the table itself.")

    def capped(self, choice: Choice) -> "Source":
        """The records that take part where the codebook makes the person the unit; ``choice`` chooses them."""
        raise RefusalError(
            f"a {type(self).__name__} cannot cap the records of one person; read the table from a file or a data frame."
        )

    @property
    def is_capped(self) -> bool:
        """Whether no person has more records than the codebook allows."""
        return self._is_capped

    @property
    def smooth(self) -> tuple[Number, ...]:
        """Smooth numbers whose pieces it can count."""
        return self.codebook.smooth

    @property
    def counted(self) -> tuple[Column, ...]:
        """The columns that it can count: those of the table, then pieces of numbers."""
        return self.codebook.counted if self.smooth else self.codebook.without_smooth_pieces

    def sizes(self, clique: Clique) -> tuple[int, ...]:
        """Public number of codes of each column of a clique."""
        return tuple(self.codebook.column(name).size for name in clique)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {len(self.codebook.names)} columns, rows withheld>"
