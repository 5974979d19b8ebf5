"""A way of drawing rows from released tables."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from understudy.codebook import Codebook
from understudy.sources.tables import CountTable
from understudy.synth.ways.wanted import Drawn, Wanted

Whole = npt.NDArray[np.int64]
Read = Callable[[str, int], Whole]
"""An array of whole numbers, by its name and its number of dimensions."""

_WAYS: dict[str, type["Way"]] = {}


@dataclass(frozen=True, kw_only=True, eq=False)
class Way(ABC):
    """How rows are drawn, and what that needs beside the tables."""

    kind: ClassVar[str]
    """Its name in model files, which never changes once released."""
    one_by_one: ClassVar[bool] = True
    """Whether a row is drawn without regard to the others; if not, it is better drawn with many."""

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        _WAYS[cls.kind] = cls

    @staticmethod
    def named(kind: Any) -> type["Way"]:
        """The way with this name in model files."""
        if kind not in _WAYS:
            raise ValueError(f"the kind {kind!r} is unknown")
        return _WAYS[kind]

    @abstractmethod
    def faults(self, book: Codebook, tables: Sequence[CountTable]) -> list[str]:
        """Everything in which these tables are not those that rows can be drawn from this way."""

    @abstractmethod
    def draw(self, book: Codebook, tables: Sequence[CountTable], wanted: Wanted) -> Drawn:
        """The rows that are wanted."""

    @abstractmethod
    def described(self) -> dict[str, Any]:
        """What a model file says of it, as plain data."""

    def arrays(self) -> dict[str, Whole]:
        """What a model file holds of it beside the description, by name."""
        return {}

    @classmethod
    @abstractmethod
    def rebuilt(cls, described: Mapping[str, Any], read: Read) -> "Way":
        """From what :meth:`described` and :meth:`arrays` gave to a model file."""


def each_column_faults(book: Codebook, tables: Sequence[CountTable]) -> list[str]:
    """Whether there is one table for every column, which is its last."""
    if [table.columns[-1] for table in tables] != list(book.names):
        return ["it needs one table per column, in the order of the codebook"]
    return []
