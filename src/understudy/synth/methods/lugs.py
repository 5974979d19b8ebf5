"""`lugs`: Gibbs synthesis from hashed blocks that are entropy l-diverse (lugs.txt), in time linear in the rows.

Route S. The promise is l-diversity of the sampling distributions, not differential privacy. Drawing spends no
epsilon, and every statement says that this is not differential privacy.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from understudy.blocks.minhash import RecordMinHash
from understudy.blocks.nearest import check_bands
from understudy.codebook import Codebook
from understudy.mechanisms.l_diversity import DiverseTables, LDiverseDraws, diversify
from understudy.mechanisms.smoothing import open_for_draws
from understudy.mechanisms.stream import Stream
from understudy.parameters import Whole, option
from understudy.privacy.ledger import Entry, Ledger
from understudy.privacy.secret import Secret
from understudy.samplers.diagnostics import ChainReport, chain_report
from understudy.samplers.diverse import DiverseSampler
from understudy.sources.base import Report, Source
from understudy.synth.diversity import Diversity, cap_option, floor_option, l_option
from understudy.synth.drawers import DiverseChains, DiverseDrawer, RangeDrawer
from understudy.synth.method_facts import synthesis_facts
from understudy.synth.options import key_space_option, sweeps_option
from understudy.synth.recipe import Fitted, Recipe

Codes = npt.NDArray[np.unsignedinteger]


@dataclass(frozen=True, kw_only=True)
class DiverseRecipe(Recipe):
    """Base of LUGS and PLUGS: one block per column and MinHash key, mixed with as little uniform noise as l needs."""

    ranged: ClassVar[bool] = True
    l: float | Mapping[str, float] = l_option()  # noqa: E741 - the field's own name for it
    cap: bool = cap_option()
    floor: float = floor_option()
    hashes: int = option(
        4, rule=Whole(most=64, tried=4), help="MinHash functions per key: more of them make more and smaller blocks."
    )
    bands: int = option(
        8, rule=Whole(), help="Hash tables in which the nearest block of an unseen state is looked for."
    )
    key_space: int = key_space_option(1 << 16)
    sweeps: int = sweeps_option(20, about="Burn-in: sweeps of each chain before its state becomes a row.")

    def __post_init__(self) -> None:
        super().__post_init__()
        _ = self.diversity  # refuse an impossible l at once
        RecordMinHash(sizes=(2,), hashes=self.hashes, key_space=self.key_space)
        check_bands(self.bands)

    @property
    def diversity(self) -> Diversity:
        """What the blocks must have."""
        return Diversity(l=self.l, cap=self.cap, floor=self.floor)

    def event(self, book: Codebook) -> LDiverseDraws:
        """What the draws promise; the number of rows does not matter to it."""
        return self.diversity.event(book)

    def hashing(self, book: Codebook) -> RecordMinHash:
        """The public key function."""
        return RecordMinHash(sizes=tuple(book.sizes), hashes=self.hashes, key_space=self.key_space)

    def chains(self, book: Codebook) -> DiverseChains:
        """How rows are drawn."""
        return DiverseChains(
            hashing=self.hashing(book),
            ls=self.diversity.ls(book),
            floor=float(self.floor),
            bands=self.bands,
            sweeps=self.sweeps,
            steps=book.allowed.plan(range(len(book.names))),
        )

    def price(self, book: Codebook, rows: int) -> list[Entry]:
        """A promise per draw, whatever was read: blocks, neighbours and their keys."""
        reads = f"hashed conditional tables of {len(book.names)} columns, by drawing {rows:,} rows"
        return self.diversity.entries(book, reads)

    def paper_figure(self, book: Codebook) -> dict[str, Any]:
        """l column by column, and how likely one value may still be."""
        return self.diversity.paper_figure(book)

    def warnings(self, book: Codebook) -> list[str]:
        """What positivity costs, before anything is read."""
        return self.diversity.warnings()


@dataclass(frozen=True, kw_only=True)
class LUGS(DiverseRecipe):
    """Blocks from the whole table, and one chain per row."""

    facts = synthesis_facts(
        "lugs",
        route="S",
        guarantee="entropy l-diversity of the sampling distributions",
        public="levels (the promise is about one table, not about neighbours)",
        paper="LUGS",
        paper_claim="Sampling distributions have entropy log l; the distance to the data's law is bounded by log l; "
        "smoothing lowers the mutual information; the link gain rises as the right value becomes less likely "
        "(theorem 2).",
        sound="unsound",
        truth="Every drawn value has conditional entropy of at least log l, and no more: not DP (a level may have "
        "probability 0), no bound on membership or link gain; the bound by log l is unproved.",
        page="lugs",
        proofs=("l_diversity",),
        exact_tests=("diversity_vectors",),
        neighbours=(),
        instead="marginals",
    )
    summary = "l-diverse Gibbs sampler over MinHash blocks, in linear time"
    example = {"l": 1.2, "sweeps": 2}

    def fit_records(self, source: Source, stream: Stream, report: Report | None) -> "FittedDiverse":
        """Estimate and perturb."""
        book = source.codebook
        event = self.event(book)
        hashing = self.hashing(book)
        counts = source.count([book.names], report)[0]
        tables = diversify(
            counts, keys_of=hashing.leave_one_out, key_space=self.key_space, ls=event.ls, floor=event.floor
        )
        return FittedDiverse(recipe=self, source=source, tables=tables, stream=stream, report=report)


class FittedDiverse(Fitted):
    """Perturbed blocks, still secret: they hold counts."""

    def __init__(
        self,
        *,
        recipe: DiverseRecipe,
        source: Source,
        tables: Secret[DiverseTables],
        stream: Stream,
        report: Report | None,
    ) -> None:
        super().__init__(recipe=recipe, source=source, stream=stream, report=report)
        self.choices = recipe
        self.tables = tables

    def _sampler(self, ledger: Ledger) -> DiverseSampler:
        opened = open_for_draws([self.tables], event=self.choices.event(self.codebook), ledger=ledger)
        return self.choices.chains(self.codebook).sampler(opened[0])

    def _draw(self, rows: int, ledger: Ledger) -> Sequence[Codes]:
        # a key of its own, as each partition of PLUGS has: one partition then draws the very same rows
        own = Stream(key=self._stream.fresh_key())
        return self._sampler(ledger).draw(
            rows=rows,
            sweeps=self.choices.sweeps,
            stream=own,
            report=lambda done, total: self._tell("drawing rows", done, total),
        )

    def drawer(self, rows: int, ledger: Ledger) -> RangeDrawer:
        """The opened blocks."""
        opened = open_for_draws([self.tables], event=self.choices.event(self.codebook), ledger=ledger)
        return DiverseDrawer(tables=opened[0], chains=self.choices.chains(self.codebook))

    def diagnose(self, *, chains: int = 256, sweeps: int = 200, lags: int = 20) -> ChainReport:
        """Run fresh chains and say how they mix. Reads confidential blocks: not for release.

        ``sweeps`` are counted after the recipe's own burn-in.
        """
        sampler = self._sampler(self.quote(chains).ledger)
        trace = sampler.trace(chains=chains, sweeps=self.choices.sweeps + sweeps, stream=self._stream.spawn())
        tables, names = sampler.tables, self.codebook.names
        return chain_report(
            trace[self.choices.sweeps :],
            names=names,
            lags=lags,
            unseen=sampler.unseen,
            smallest_weight=float(tables.weights.min()),
            zero_blocks=dict(zip(names, tables.zero_blocks(), strict=True)),
        )
