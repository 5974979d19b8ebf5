"""Conditional tables Pr(x_i | h(x_-i)) of all columns, smoothed and still secret."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from understudy.blocks.keys import ColumnKey, FeatureHashKey, KeyFunction, MinHashKey
from understudy.blocks.parents import Parents
from understudy.codebook import Codebook
from understudy.mechanisms.smoothing import KeyOf, Weights
from understudy.parameters import OneOf
from understudy.privacy.secret import Secret
from understudy.sources.base import Report, Source
from understudy.sources.tables import CountTable


class Smoothing(Protocol):
    """Turns the counts of one column by key into secret weights."""

    def __call__(self, counts: Secret[CountTable], *, key_of: KeyOf, key_space: int, dense: bool) -> Secret[Weights]:
        """The last column of ``counts`` is the target, the others are what the key reads."""


KEY_FUNCTIONS = ("columns", "feature-hash", "minhash")
DENSE_CELLS = 1 << 22
"""Of a conditional table that is laid out by key; larger ones list the keys that occur."""
DEFAULT_BUCKETS = 4096


@dataclass(frozen=True, kw_only=True)
class Blocks:
    """One key function and one secret table of weights per column, in codebook order."""

    codebook: Codebook
    keys: tuple[KeyFunction, ...]
    tables: tuple[Secret[Weights], ...]


def key_functions(book: Codebook, parents: Parents, kind: str, buckets: int | None) -> tuple[KeyFunction, ...]:
    """The key function of every column.

    ``columns`` keys by the parents themselves; the hashed kinds read every other column, so parents do not matter.
    """
    OneOf(KEY_FUNCTIONS).check("key", kind)
    if kind == "columns":
        return tuple(
            ColumnKey(reads=parents[name], sizes=tuple(book.column(parent).size for parent in parents[name]))
            for name in book.names
        )
    hashed = FeatureHashKey if kind == "feature-hash" else MinHashKey
    functions: list[KeyFunction] = []
    for name in book.names:
        others = tuple(other for other in book.names if other != name)
        sizes = tuple(book.column(other).size for other in others)
        functions.append(hashed(reads=others, sizes=sizes, buckets=buckets or DEFAULT_BUCKETS))
    return tuple(functions)


def build_blocks(
    source: Source,
    *,
    keys: Sequence[KeyFunction],
    smoothing: Sequence[Smoothing],
    report: Report | None = None,
) -> Blocks:
    """Count every (key columns, column) clique, smooth, keep secret."""
    book = source.codebook
    cliques = [(*key.reads, name) for key, name in zip(keys, book.names, strict=True)]
    counts = source.count(cliques, report)
    tables = [
        smooth(table, key_of=key.keys, key_space=key.space, dense=key.space * size <= DENSE_CELLS)
        for table, smooth, key, size in zip(counts, smoothing, keys, book.sizes, strict=True)
    ]
    return Blocks(codebook=book, keys=tuple(keys), tables=tuple(tables))
