"""`sbhg-gauss`: SBHG with discrete Gaussian noise, priced as one zCDP event (``gaussian_stability.md``).

Its noise grows with the square root of the number of tables, not with the number itself, so it is better for many
columns.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import ClassVar

from understudy.codebook import Codebook
from understudy.errors import RefusalError
from understudy.mechanisms.discrete_gaussian import MAX_DEVIATION, MIN_DEVIATION, gaussian_tail, variance_for
from understudy.mechanisms.discrete_laplace import count_sensitivity
from understudy.mechanisms.exponential import selection_event
from understudy.mechanisms.gaussian_stability import (
    GaussianStability,
    gaussian_stability_event,
    gaussian_stable_tables,
)
from understudy.mechanisms.group import for_person, share_of_group
from understudy.mechanisms.stream import Stream
from understudy.privacy.guarantees import Neighbours
from understudy.privacy.ledger import Entry, Ledger
from understudy.privacy.secret import Secret
from understudy.sources.tables import CountTable
from understudy.synth.hashed_gibbs import HashedGibbs, hashed_facts
from understudy.synth.released import Perturbed
from understudy.synth.ways import Chains


@dataclass(frozen=True, kw_only=True)
class SBHGGauss(HashedGibbs):
    """Discrete Gaussian noise on the occupied cells of all tables together.

    >>> import understudy as us
    >>> book = us.datasets.discharges_codebook()
    >>> quote = us.SBHGGauss(epsilon=1.0, delta=1e-6, parents="declared").quote(book, rows=1000)
    >>> quote.total.epsilon <= 1.0, quote.total.delta <= 1e-6
    (True, True)
    """

    facts = hashed_facts(
        "sbhg-gauss",
        paper="ours, after SBHG",
        paper_claim="nothing",
        sound="our own",
        truth="Discrete Gaussian noise and one threshold for all tables, with their own exact tails.",
        proof="gaussian_stability",
        exact_tests=("gaussian_exact", "sbhg_exact", "exponential_exact"),
    )
    summary = "SBHG with discrete Gaussian noise under zCDP: better for many columns"

    shared_targets: ClassVar[tuple[tuple[str, str | None], ...]] = (("detail_epsilon", "detail_delta"),)
    """The plan meets the target for a whole person, so it is not divided beforehand."""

    def _plan(self, book: Codebook) -> tuple[float, GaussianStability]:
        return _plan(**self.target(book), records=None if book.unit is None else book.unit.cap)

    def pick_epsilon(self, book: Codebook) -> float:
        """From the selection's share of rho: rho = picks epsilon^2 / 8."""
        return self._plan(book)[0]

    def table_events(self, book: Codebook) -> Sequence[GaussianStability]:
        """One for all tables together."""
        return [self._plan(book)[1]]

    def threshold(self, book: Codebook) -> int:
        """The same for every table."""
        return self._plan(book)[1].threshold

    def release(self, counts: Sequence[Secret[CountTable]], book: Codebook, stream: Stream) -> Perturbed:
        """Noise and threshold on every table."""
        tables, entry = gaussian_stable_tables(counts, event=self._plan(book)[1], stream=stream)
        return Perturbed(way=Chains(sweeps=self.sweeps), tables=tables, entries=[entry])


@lru_cache(maxsize=256)
def _plan(
    *,
    epsilon: float,
    delta: float,
    tables: int,
    picks: int,
    share: float,
    neighbours: Neighbours,
    records: int | None,
) -> tuple[float, GaussianStability]:
    """Price of a pick, and the noise of the tables, that together just meet (epsilon, delta).

    ``records`` is the cap on the records of one person, where the target is meant for a person.
    """
    each, slack = share_of_group(epsilon=epsilon, delta=delta, records=records or 1)
    assert slack is not None
    if not picks:
        return 0.0, gaussian_stability_event(epsilon=each, delta=slack, tables=tables, neighbours=neighbours)

    def at(rho: float) -> tuple[float, GaussianStability]:
        pick = math.sqrt(8 * share * rho / picks)
        changed = tables * count_sensitivity(neighbours)
        deviation = math.sqrt(changed / (2 * (1 - share) * rho))
        variance = variance_for(min(max(deviation, float(MIN_DEVIATION)), float(MAX_DEVIATION)))
        return pick, _event(variance, slack, tables, neighbours)

    def fits(plan: tuple[float, GaussianStability]) -> bool:
        chosen = selection_event(epsilon=plan[0], selections=picks, neighbours=neighbours)
        ledger = Ledger.of(Entry(stage="", reads="", event=event) for event in (chosen, plan[1]))
        if records is not None:
            ledger = Ledger.of(for_person(entry, records) for entry in ledger)
        total = ledger.total(delta=delta)
        return bool(getattr(total, "epsilon", epsilon + 1) <= epsilon and getattr(total, "delta", 1.0) <= delta)

    low, high = math.log(1e-9), math.log(1e4)
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (middle, high) if fits(at(math.exp(middle))) else (low, middle)
        if high - low < 1e-5:
            break
    plan = at(math.exp(low))
    if not fits(plan):
        raise RefusalError(
            f"epsilon {epsilon:g} at delta {delta:g} is too small for {tables} tables: their noise would exceed "
            f"{MAX_DEVIATION:,} records. Use a larger epsilon or fewer columns."
        )
    return plan


def _event(variance: Fraction, delta: float, tables: int, neighbours: Neighbours) -> GaussianStability:
    """The lowest threshold at which lone cells take at most half of delta."""
    allowed = delta / (2 * tables)
    low, high = 1, 2
    while gaussian_tail(variance, high - 1) > allowed:
        low, high = high, high * 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if gaussian_tail(variance, middle - 1) > allowed else (low, middle)
    return GaussianStability(variance=variance, threshold=high, tables=tables, delta=delta, neighbours=neighbours)
