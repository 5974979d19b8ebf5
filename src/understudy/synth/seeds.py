"""The rows from which Gibbs chains start. The start shows in the drawn row, so it must not come from private data.

With seeds drawn from real rows the ratio is unbounded (4387 instead of e at n = 100,000).
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from understudy.codebook import Codebook
from understudy.errors import ParameterError
from understudy.mechanisms.smoothing import declared_public, exposed
from understudy.mechanisms.stream import Stream
from understudy.parameters import shown_value
from understudy.privacy.ledger import Entry
from understudy.privacy.provenance import InputRole
from understudy.samplers.cells import draw_cells
from understudy.samplers.within import uniform_within
from understudy.sources import open_source
from understudy.sources.addresses import shown
from understudy.sources.base import Source
from understudy.sources.tables import code_type

Codes = npt.NDArray[np.unsignedinteger]
_WHY = "chains were started from real rows, which nobody paid for"


class SeedPool(ABC):
    """A pool of starting rows."""

    @abstractmethod
    def cells(self, source: Source) -> tuple[Codes, npt.NDArray[np.int64]] | None:
        """The distinct rows of the pool and how often each occurs; None for every row that the codebook allows."""

    def draw(self, source: Source, count: int, stream: Stream) -> list[Codes]:
        """``count`` starting rows, one array of codes per column."""
        return start_rows(self.cells(source), source.codebook, count, stream)


def start_rows(
    cells: tuple[Codes, npt.NDArray[np.int64]] | None, book: Codebook, count: int, stream: Stream
) -> list[Codes]:
    """Rows of a pool, with replacement; without a pool, uniform codes within the rules of the codebook."""
    if cells is not None:
        return draw_cells(*cells, rows=count, stream=stream)
    rows = [np.zeros(count, dtype=code_type(max(book.sizes))) for _ in book.names]
    for place, (size, step) in enumerate(zip(book.sizes, book.allowed.plan(range(len(rows))), strict=True)):
        if step is None:
            rows[place][:] = stream.below_each(np.full(count, size, dtype=np.uint64))
        else:
            rows[place][:] = uniform_within(step, rows, stream.below_each)
    return list(rows)


@dataclass(frozen=True, kw_only=True)
class UniformSeeds(SeedPool):
    """Records that the codebook allows, equally likely where no rule ties columns together."""

    def cells(self, source: Source) -> None:
        """Independent uniform codes, each column within what the rules allow after those before it."""
        return

    def __str__(self) -> str:
        return "uniform over the codebook"


@dataclass(frozen=True, kw_only=True)
class PublicSeeds(SeedPool):
    """Rows of a table that is itself public, for example an earlier release."""

    path: str

    def cells(self, source: Source) -> tuple[Codes, npt.NDArray[np.int64]]:
        """Rows of the public file."""
        public = open_source(self.path, source.codebook)
        counts = public.count([source.codebook.names])
        return declared_public(counts, provenance=public.provenance, role=InputRole.SEEDS)[0].occupied()

    def __str__(self) -> str:
        return f"rows of the public file {shown(self.path)}"


@dataclass(frozen=True, kw_only=True)
class RealSeeds(SeedPool):
    """Real rows: the paper's choice. There is no guarantee with them."""

    def cells(self, source: Source) -> tuple[Codes, npt.NDArray[np.int64]]:
        """Rows of the confidential table."""
        tables, _ = exposed(
            source.count([source.codebook.names]),
            stage="seeds",
            reads="real rows as starts of chains",
            why=_WHY,
        )
        return tables[0].occupied()

    def __str__(self) -> str:
        return "real rows"


def seeds_entry(pool: SeedPool) -> Entry | None:
    """The unpriced entry that real seeds cause. A word instead of a pool is refused, lest it be priced as public."""
    if not isinstance(pool, SeedPool):
        raise ParameterError(
            f"`seeds` is {shown_value(pool)}; it must be UniformSeeds(), PublicSeeds(path=...) or RealSeeds() "
            "(from understudy.synth.seeds). On the command line a word is enough."
        )
    if isinstance(pool, RealSeeds):
        return Entry.unpriced(stage="seeds", reads="real rows as starts of chains", why=_WHY)
    return None


def seeds_assumption(pool: SeedPool) -> tuple[str, ...]:
    """What must be public about the pool."""
    assumptions = (f"chains start from {pool}, in which nothing private stands unpaid",)
    return assumptions if isinstance(pool, PublicSeeds) else ()
