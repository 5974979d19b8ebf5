"""`lugs`: Gibbs synthesis from hashed blocks that are entropy l-diverse (lugs.txt), in time linear in the rows.

Route S, with another promise than the others: synthetic l-diversity of the sampling distributions, not differential
privacy. Nothing is spent, nothing is bounded, and every statement says so.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from understudy.blocks.minhash import RecordMinHash
from understudy.blocks.nearest import check_bands
from understudy.codebook import Codebook
from understudy.errors import ParameterError
from understudy.mechanisms.l_diversity import (
    DiverseTables,
    LDiverseDraws,
    check_l,
    diversify,
    largest_probability,
)
from understudy.mechanisms.smoothing import open_for_draws
from understudy.mechanisms.stream import Stream
from understudy.privacy.ledger import Entry, Ledger
from understudy.privacy.secret import Secret
from understudy.samplers.diagnostics import ChainReport, chain_report
from understudy.samplers.diverse import DiverseSampler
from understudy.sources.base import Report, Source
from understudy.synth.drawers import DiverseDrawer, RangeDrawer
from understudy.synth.hashed_gibbs import check_sweeps
from understudy.synth.recipe import Fitted, Recipe

Codes = npt.NDArray[np.unsignedinteger]
FLOOR = 2.0**-20


@dataclass(frozen=True, kw_only=True)
class DiverseRecipe(Recipe):
    """What LUGS and PLUGS share: one block per column and MinHash key, mixed with as little uniform as l needs."""

    ranged: ClassVar[bool] = True
    route: ClassVar[str] = "S"
    promise: ClassVar[str] = "synthetic l-diversity (not differential privacy)"
    l: float | Mapping[str, float]  # noqa: E741 - the field's own name for it
    """Entropy of every sampling distribution is at least log l (in nats); one number, or one for each column."""
    cap: bool = False
    """Whether a column with fewer than l levels gets the l that it can have, instead of a refusal."""
    floor: float = FLOOR
    """Smallest mixing weight of any block: above 0 the chains can reach every state; 0 is what the paper prints."""
    hashes: int = 4
    """MinHash functions per key: more of them tell more states apart, in more and smaller blocks."""
    bands: int = 8
    """Hash tables in which the nearest block of an unseen state is looked for."""
    key_space: int = 1 << 16
    """Most blocks per column."""
    sweeps: int = 20
    """Burn-in: sweeps of each chain before its state becomes a row."""

    def __post_init__(self) -> None:
        names = list(self.l) if isinstance(self.l, Mapping) else ["l"]
        check_l(self.l, names=names, levels=[1] * len(names), cap=True)  # numbers only; columns come with a codebook
        if not isinstance(self.cap, bool):
            raise ParameterError(f"`cap` is {self.cap!r}; it is True or False.")
        if isinstance(self.floor, bool) or not isinstance(self.floor, int | float) or not 0 <= self.floor < 1:
            raise ParameterError(f"`floor` is {self.floor!r}; it is a mixing weight, 0 or more and below 1. Try 1e-6.")
        RecordMinHash(sizes=(2,), hashes=self.hashes, key_space=self.key_space)
        check_bands(self.bands)
        check_sweeps(self.sweeps)

    def ls(self, book: Codebook) -> tuple[float, ...]:
        """The l of each column; refuses what its levels cannot have."""
        return check_l(self.l, names=book.names, levels=book.sizes, cap=self.cap)

    def event(self, book: Codebook) -> LDiverseDraws:
        """What the draws promise; the number of rows does not matter to it."""
        return LDiverseDraws(ls=self.ls(book), levels=tuple(book.sizes), floor=float(self.floor))

    def hashing(self, book: Codebook) -> RecordMinHash:
        """The public key function."""
        return RecordMinHash(sizes=tuple(book.sizes), hashes=self.hashes, key_space=self.key_space)

    def price(self, book: Codebook, rows: int) -> list[Entry]:
        """A promise per draw, whatever was read: blocks, neighbours and their keys."""
        reads = f"hashed conditional tables of {len(book.names)} columns, by drawing {rows:,} rows"
        entries = [Entry(stage="rows", reads=reads, event=self.event(book), assumptions=book.assumptions)]
        narrowed = [
            name for name, step in zip(book.names, book.allowed.plan(range(len(book.names))), strict=True) if step
        ]
        if narrowed:
            entries.append(
                Entry.unpriced(
                    stage="rules",
                    reads=f"blocks of {', '.join(narrowed)}, within the rules of the codebook",
                    why=f"rules narrow {', '.join(narrowed)}, and a value with fewer than l levels to choose from "
                    "cannot be l-diverse",
                )
            )
        return entries

    def paper_figure(self, book: Codebook) -> dict[str, Any]:
        """l column by column, and how likely one value may still be."""
        ls = dict(zip(book.names, self.ls(book), strict=True))
        asked = self.l if isinstance(self.l, Mapping) else dict.fromkeys(book.names, self.l)
        chances = {name: largest_probability(l=ls[name], levels=book.column(name).size) for name in book.names}
        worst = max(chances, key=chances.__getitem__)
        return {
            "l_by_column": ls,
            "capped": [name for name in book.names if ls[name] < asked[name]],
            "largest_probability": chances[worst],
            "statement": f"It is weak even against a good guess: one value of {worst!r} ({book.column(worst).size} "
            f"levels, l = {ls[worst]:.4g}) may still have probability {chances[worst]:.4f}.",
        }

    def warnings(self, book: Codebook) -> list[str]:
        """What positivity costs, before anything is read."""
        if self.floor > 0:
            return []
        return [
            "floor is 0: blocks that are diverse enough as counted keep levels without any chance, so the chains may "
            "be reducible and what they converge to may depend on where they start. `diagnose()` counts such blocks."
        ]


@dataclass(frozen=True, kw_only=True)
class LUGS(DiverseRecipe):
    """Blocks from the whole table, and one chain per row."""

    name: ClassVar[str] = "lugs"
    summary: ClassVar[str] = "l-diverse Gibbs sampler over MinHash blocks, in linear time"

    def fit_records(self, source: Source, stream: Stream, report: Report | None) -> "FittedDiverse":
        """Estimate and perturb."""
        book = source.codebook
        event = self.event(book)  # refuse an impossible l before anything is read
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
        steps = self.codebook.allowed.plan(range(len(self.codebook.names)))
        return DiverseSampler(opened[0], self.choices.hashing(self.codebook), self.choices.bands, steps)

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
        choices = self.choices
        hashing = choices.hashing(self.codebook)
        return DiverseDrawer(
            tables=opened[0],
            hashing=hashing,
            bands=choices.bands,
            sweeps=choices.sweeps,
            steps=self.codebook.allowed.plan(range(len(self.codebook.names))),
        )

    def diagnose(self, *, chains: int = 256, sweeps: int = 200, lags: int = 20) -> ChainReport:
        """Run fresh chains and say how they mix. Reads confidential blocks: not for release.

        ``sweeps`` are counted after the recipe's own burn-in.
        """
        sampler = self._sampler(self.quote(chains).ledger)
        seen = sampler.trace(chains=chains, sweeps=self.choices.sweeps + sweeps, stream=self._stream.spawn())
        tables, names = sampler.tables, self.codebook.names
        return chain_report(
            seen[self.choices.sweeps :],
            names=names,
            lags=lags,
            unseen=sampler.unseen,
            smallest_weight=float(tables.weights.min()),
            zero_blocks=dict(zip(names, tables.zero_blocks(), strict=True)),
        )
