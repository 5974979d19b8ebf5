"""What a worker needs to draw a range of rows: opened tables and public choices, no account and no source.

A drawer travels to other threads and processes. On route S it holds confidential weights, so it is sent to workers that
may see the data anyway, and never written to a file of ours.
"""

import threading
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from understudy.blocks.keys import KeyFunction
from understudy.blocks.minhash import RecordMinHash
from understudy.codebook import Codebook
from understudy.codebook.constraints import Step
from understudy.mechanisms.l_diversity import DiverseTables, diverse_tables
from understudy.mechanisms.smoothing import Weights
from understudy.mechanisms.stream import Stream
from understudy.samplers.diverse import DiverseSampler
from understudy.samplers.gibbs import ConditionalSampler
from understudy.sources.tables import CountTable, code_type
from understudy.synth.details import Details
from understudy.synth.models import ReleasedModel
from understudy.synth.seeds import start_rows
from understudy.synth.ways import Drawn

Codes = npt.NDArray[np.unsignedinteger]
Cells = tuple[Codes, npt.NDArray[np.int64]]
SLICE = 1 << 18
"""Rows that are held in memory at a time, per worker."""


class RangeDrawer(ABC):
    """Draws independent ranges of rows; what is slow to set up is built once per process."""

    details: Details = Details()
    """Released tables of what is drawn after the model; they travel with the drawer."""

    def __init__(self) -> None:
        self._built: Any = None
        self._lock = threading.Lock()

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name not in ("_built", "_lock")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state, _built=None, _lock=threading.Lock())

    def built(self) -> Any:
        """The sampler."""
        with self._lock:
            if self._built is None:
                self._built = self._build()
            return self._built

    @abstractmethod
    def _build(self) -> Any:
        """Set up the sampler."""

    @property
    def step(self) -> int:
        """Ranges are cut at multiples of this many rows."""
        return 1

    @property
    def slice_rows(self) -> int:
        """Rows drawn at a time; a multiple of ``step``."""
        return max(SLICE // self.step, 1) * self.step

    @abstractmethod
    def draw(self, rows: int, stream: Stream, threads: int | None = 1) -> Drawn:
        """``rows`` new records."""


@dataclass(frozen=True, kw_only=True)
class _Range:
    """The part of a fit that PeGS and related recipes use while they draw one range of rows."""

    stream: Stream
    threads: int | None
    cells: Cells | None
    book: Codebook

    def seed_rows(self, count: int) -> list[Codes]:
        return start_rows(self.cells, self.book, count, self.stream)

    def report_rows(self, done: int, total: int) -> None:
        pass


class _Drawing(Protocol):
    def sampler(
        self, book: Codebook, keys: Sequence[KeyFunction], weights: Sequence[Weights]
    ) -> ConditionalSampler: ...

    def draw(self, sampler: ConditionalSampler, fitted: Any, rows: int) -> Sequence[Codes]: ...


class PerturbedDrawer(RangeDrawer):
    """PeGS, PeGS.rs and the marginal bootstrap."""

    def __init__(
        self,
        *,
        recipe: _Drawing,
        book: Codebook,
        keys: Sequence[KeyFunction],
        weights: Sequence[Weights],
        cells: Cells | None,
    ) -> None:
        super().__init__()
        self._recipe, self._book, self._keys, self._weights, self._cells = recipe, book, keys, weights, cells

    def _build(self) -> ConditionalSampler:
        return self._recipe.sampler(self._book, self._keys, self._weights)

    @property
    def step(self) -> int:
        """A chain of PeGS.rs is never cut: its rows are paid for together."""
        return int(getattr(self._recipe, "block_size", 1))

    def draw(self, rows: int, stream: Stream, threads: int | None = 1) -> Drawn:
        """As a fit draws, from seeds of its own."""
        here = _Range(stream=stream, threads=threads, cells=self._cells, book=self._book)
        return Drawn(codes=self._recipe.draw(self.built(), here, rows))


class ModelDrawer(RangeDrawer):
    """Every released model, and the baselines that draw like one."""

    def __init__(self, model: ReleasedModel) -> None:
        super().__init__()
        self.model = model
        self.details = model.details

    def _build(self) -> None:
        return None

    @property
    def slice_rows(self) -> int:
        """Rows that are made to agree with tables need company: a range is then drawn whole."""
        return super().slice_rows if self.model.way.one_by_one else 1 << 20

    def draw(self, rows: int, stream: Stream, threads: int | None = 1) -> Drawn:
        """Post-processing, hence free."""
        return self.model.draw(rows, stream, threads=threads)


@dataclass(frozen=True, kw_only=True)
class DiverseChains:
    """How LUGS and PLUGS draw rows, wherever they do it: plain public choices."""

    hashing: RecordMinHash
    ls: tuple[float, ...]
    floor: float
    bands: int
    sweeps: int
    steps: tuple[Step | None, ...]
    """How each column goes on within the rules of the codebook."""

    def sampler(self, tables: DiverseTables) -> DiverseSampler:
        """Chains over these blocks."""
        return DiverseSampler(tables, self.hashing, self.bands, self.steps)

    def sampler_of(self, part: CountTable, *, threads: int | None = None) -> DiverseSampler:
        """Chains over the blocks of some records, which are made l-diverse first."""
        tables = diverse_tables(
            part,
            keys_of=self.hashing.leave_one_out,
            key_space=self.hashing.key_space,
            ls=self.ls,
            floor=self.floor,
            threads=threads,
        )
        return self.sampler(tables)


class DiverseDrawer(RangeDrawer):
    """LUGS: chains over one set of blocks."""

    def __init__(self, *, tables: DiverseTables, chains: DiverseChains) -> None:
        super().__init__()
        self._tables, self._chains = tables, chains

    def _build(self) -> DiverseSampler:
        return self._chains.sampler(self._tables)

    def draw(self, rows: int, stream: Stream, threads: int | None = 1) -> Drawn:
        """One chain per row."""
        return Drawn(codes=self.built().draw(rows=rows, sweeps=self._chains.sweeps, stream=stream, threads=threads))


class PartsDrawer(RangeDrawer):
    """PLUGS: the part of every row is drawn first, so rows are draws from the mixture of the parts."""

    def __init__(self, *, parts: Sequence[CountTable], chains: DiverseChains) -> None:
        super().__init__()
        self._parts, self._chains = parts, chains

    def _build(self) -> list[DiverseSampler]:
        return [self._chains.sampler_of(part) for part in self._parts]

    def draw(self, rows: int, stream: Stream, threads: int | None = 1) -> Drawn:
        """Which part, then a chain over its blocks."""
        samplers, sizes = self.built(), self._chains.hashing.sizes
        origin = stream.below_each(np.full(rows, len(samplers), dtype=np.uint64)).astype(np.int64)
        out = [np.empty(rows, dtype=code_type(max(sizes))) for _ in sizes]
        for part, sampler in enumerate(samplers):
            of_part = origin == part
            count = int(of_part.sum())
            if count:
                own = Stream(key=stream.fresh_key())
                drawn = sampler.draw(rows=count, sweeps=self._chains.sweeps, stream=own, threads=threads)
                for column, values in zip(out, drawn, strict=True):
                    column[of_part] = values
        return Drawn(codes=out)
