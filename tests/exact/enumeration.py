"""Exact output laws of the Gibbs samplers on tiny domains, read off the weights that a fit really holds."""

import itertools
import math
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache

import numpy as np

from understudy.blocks.keys import KeyFunction
from understudy.codebook import Categorical, Codebook
from understudy.mechanisms.stream import Stream
from understudy.privacy.guarantees import Neighbours
from understudy.sources import EncodedSource
from understudy.synth.perturbed import FittedPerturbed, PerturbedRecipe

Record = tuple[int, ...]
Table = tuple[Record, ...]
Law = dict[tuple[Record, ...], Fraction]

AR, RO = Neighbours.ADD_REMOVE, Neighbours.REPLACE


def small_book(*sizes: int) -> Codebook:
    """Columns a, b, c, ... with these numbers of levels; every column is keyed by all the others."""
    names = "abcdefgh"[: len(sizes)]
    return Codebook(
        columns=tuple(
            Categorical(
                name=name,
                levels=tuple(f"{name}{level}" for level in range(size)),
                parents=tuple(other for other in names if other != name),
            )
            for name, size in zip(names, sizes, strict=True)
        )
    )


def source_of(book: Codebook, table: Sequence[Record]) -> EncodedSource:
    codes = np.array(table, dtype=np.uint8).reshape(len(table), len(book.names))
    columns = [np.ascontiguousarray(codes[:, position]) for position in range(codes.shape[1])]
    return EncodedSource(codebook=book, columns=columns)


def records_of(book: Codebook) -> list[Record]:
    return list(itertools.product(*(range(size) for size in book.sizes)))


def tables_up_to(book: Codebook, most: int) -> Iterator[Table]:
    """Every multiset of at most ``most`` records."""
    for rows in range(most + 1):
        yield from itertools.combinations_with_replacement(records_of(book), rows)


def neighbours_of(book: Codebook, table: Table, relation: Neighbours) -> Iterator[Table]:
    """Every table with one record more (add-remove), or with one record replaced."""
    for record in records_of(book):
        if relation is AR:
            yield tuple(sorted((*table, record)))
            continue
        for position in range(len(table)):
            if table[position] != record:
                yield tuple(sorted((*table[:position], record, *table[position + 1 :])))


@cache
def _keys(key: KeyFunction, reads: tuple[int, ...], records: tuple[Record, ...]) -> dict[Record, int]:
    """The key of every record, by the function that the sampler calls."""
    if not reads:
        return dict.fromkeys(records, 0)
    columns = [np.array([record[position] for record in records], dtype=np.uint8) for position in reads]
    return dict(zip(records, (int(found) for found in key.keys(columns)), strict=True))


@dataclass(frozen=True)
class World:
    """The exact conditional laws of one fit: ``cell[i]`` by key, and the prior's own law for unseen keys."""

    keys: tuple[dict[Record, int], ...]
    cells: tuple[dict[int, tuple[Fraction, ...]], ...]
    priors: tuple[tuple[Fraction, ...], ...]

    @classmethod
    def of(cls, fitted: FittedPerturbed) -> "World":
        book, records = fitted.codebook, tuple(records_of(fitted.codebook))
        keys, cells, priors = [], [], []
        for key, secret in zip(fitted.blocks.keys, fitted.blocks.tables, strict=True):
            weights = secret.open()
            keys.append(_keys(key, tuple(book.position(name) for name in key.reads), records))
            laws = [_law(row) for row in weights.cumulative.tolist()]
            named = range(len(laws) - 1) if weights.keys is None else weights.keys.tolist()
            cells.append(dict(zip(named, laws[:-1], strict=True)))
            priors.append(laws[weights.unseen])
        return cls(keys=tuple(keys), cells=tuple(cells), priors=tuple(priors))

    def law(self, column: int, record: Record) -> tuple[Fraction, ...]:
        """Pr(x_column | key of the record)."""
        return self.cells[column].get(self.keys[column][record], self.priors[column])

    def sweep(self, seed: Record) -> dict[Record, Fraction]:
        """Law of the record after one sweep from ``seed`` (Eq 4 of the PeGS paper)."""
        laws: dict[Record, Fraction] = {seed: Fraction(1)}
        for column in range(len(self.cells)):
            after: dict[Record, Fraction] = defaultdict(Fraction)
            for record, chance in laws.items():
                for level, share in enumerate(self.law(column, record)):
                    after[(*record[:column], level, *record[column + 1 :])] += chance * share
            laws = after
        return dict(laws)

    def sweeps(self, seed: Record, count: int) -> dict[Record, Fraction]:
        """Law of the record after ``count`` sweeps, only the last one seen."""
        laws: dict[Record, Fraction] = {seed: Fraction(1)}
        for _ in range(count):
            after: dict[Record, Fraction] = defaultdict(Fraction)
            for record, chance in laws.items():
                for reached, share in self.sweep(record).items():
                    after[reached] += chance * share
            laws = after
        return dict(laws)

    def block(self, seed: Record, size: int) -> Law:
        """Law of a whole chain of ``size`` records in which a cell falls back to its prior once drawn from."""
        laws: Law = {}
        none: tuple[frozenset[int], ...] = (frozenset(),) * len(self.cells)
        self._walk(seed, 0, none, (), Fraction(1), size, laws)
        return laws

    def _walk(
        self,
        state: Record,
        column: int,
        visited: tuple[frozenset[int], ...],
        made: tuple[Record, ...],
        chance: Fraction,
        size: int,
        laws: Law,
    ) -> None:
        if column == len(self.cells):
            made, column = (*made, state), 0
            if len(made) == size:
                laws[made] = laws.get(made, Fraction(0)) + chance
                return
        key = self.keys[column][state]
        law = self.priors[column] if key in visited[column] else self.law(column, state)
        marked = (*visited[:column], visited[column] | {key}, *visited[column + 1 :])
        for level, share in enumerate(law):
            moved = (*state[:column], level, *state[column + 1 :])
            self._walk(moved, column + 1, marked, made, chance * share, size, laws)


def _law(cumulative: Sequence[int]) -> tuple[Fraction, ...]:
    weights = [after - before for before, after in zip([0, *cumulative[:-1]], cumulative, strict=True)]
    return tuple(Fraction(weight, cumulative[-1]) for weight in weights)


def world(recipe: PerturbedRecipe, book: Codebook, table: Sequence[Record]) -> World:
    return World.of(recipe.fit(source_of(book, table), stream=Stream.seeded(1)))


def worst_ratio(left: dict, right: dict) -> Fraction:
    """Largest ratio of probabilities, in either direction; both laws must have the same outputs."""
    assert left.keys() == right.keys()
    assert sum(left.values()) == sum(right.values()) == 1
    return max(max(left[out] / right[out], right[out] / left[out]) for out in left)


def renyi(left: dict, right: dict, order: int) -> float:
    """Renyi divergence of whole order, in the worse direction."""
    forward = sum(left[out] ** order / right[out] ** (order - 1) for out in left)
    backward = sum(right[out] ** order / left[out] ** (order - 1) for out in left)
    return math.log(max(forward, backward)) / (order - 1)
