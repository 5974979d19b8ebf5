"""`sbhg`: stability-based hashed Gibbs sampler, with Laplace noise (sbhg.txt, Theorem 3.1).

The budget is split evenly over the tables: (epsilon/p, delta/p) each, by basic composition. Where adding Renyi curves
proves more, all shares are raised together until that total meets epsilon, half of delta paying for the conversion.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from understudy.codebook import Codebook
from understudy.mechanisms.exponential import selection_event
from understudy.mechanisms.laplace_tables import share_of
from understudy.mechanisms.stability import StabilityHistogram, stable_histogram, stable_histogram_event
from understudy.mechanisms.stream import Stream
from understudy.privacy.guarantees import Neighbours
from understudy.privacy.ledger import Entry, Ledger
from understudy.privacy.secret import Secret
from understudy.sources.tables import CountTable
from understudy.synth.hashed_gibbs import HashedGibbs, hashed_facts
from understudy.synth.released import Perturbed
from understudy.synth.ways import Chains


@dataclass(frozen=True, kw_only=True)
class _Shares:
    """Price of one pick, and (epsilon, delta) of one table."""

    pick: float
    table: float
    delta: float


@dataclass(frozen=True, kw_only=True)
class SBHG(HashedGibbs):
    """Laplace noise on the occupied cells of every table.

    >>> import understudy as us
    >>> book = us.datasets.discharges_codebook()
    >>> quote = us.SBHG(epsilon=1.0, delta=1e-6, parents="declared").quote(book, rows=1000)
    >>> quote.total.epsilon <= 1.0, quote.total.delta <= 1e-6
    (True, True)
    """

    facts = hashed_facts(
        "sbhg",
        paper="SBHG",
        paper_claim="p tables at (ε/p, δ/p) are (ε, δ)-DP if the hash does not depend on the data (theorem 3.1, remark "
        "3.2); the experiments choose it by mutual information.",
        sound="holds with conditions",
        truth="True of the tables; the experiments' own choice of parents is not private at all (a ratio of 100 for"
        " e). Here they are chosen by the exponential mechanism and paid for. Algorithm 2 tests the wrong key"
        " and starts from the data: both mended.",
        proof="stability_histogram",
        exact_tests=("sbhg_exact", "stability", "exponential_exact"),
    )
    summary = "stability-based hashed Gibbs sampler: thresholded conditional tables, Laplace noise"

    def _shares(self, book: Codebook) -> _Shares:
        return _shares(**self.target(book))

    def pick_epsilon(self, book: Codebook) -> float:
        """An even share of the selection's part."""
        return self._shares(book).pick

    def table_events(self, book: Codebook) -> Sequence[StabilityHistogram]:
        """One per column."""
        shares = self._shares(book)
        event = stable_histogram_event(epsilon=shares.table, delta=shares.delta, neighbours=self.neighbours)
        return [event] * len(book.names)

    def threshold(self, book: Codebook) -> int:
        """The same for every table."""
        return self.table_events(book)[0].threshold

    def release(self, counts: Sequence[Secret[CountTable]], book: Codebook, stream: Stream) -> Perturbed:
        """Algorithm 1 on every table."""
        shares = self._shares(book)
        pairs = [
            stable_histogram(count, epsilon=shares.table, delta=shares.delta, neighbours=self.neighbours, stream=stream)
            for count in counts
        ]
        return Perturbed(
            way=Chains(sweeps=self.sweeps),
            tables=[table for table, _ in pairs],
            entries=[entry for _, entry in pairs],
        )


@lru_cache(maxsize=256)
def _shares(*, epsilon: float, delta: float, tables: int, picks: int, share: float, neighbours: Neighbours) -> _Shares:
    """Basic composition, or the larger shares that Renyi composition proves."""
    for_picks = share * epsilon if picks else 0.0
    basic = _Shares(
        pick=share_of(for_picks, picks) if picks else 0.0,
        table=share_of(epsilon - for_picks, tables),
        delta=share_of(delta, tables),
    )

    def raised(factor: float) -> _Shares:
        return _Shares(pick=basic.pick * factor, table=basic.table * factor, delta=share_of(delta / 2, tables))

    def fits(shares: _Shares) -> bool:
        total = _ledger(shares, tables, picks, neighbours).total(delta=delta)
        return bool(getattr(total, "epsilon", epsilon + 1) <= epsilon and getattr(total, "delta", 1.0) <= delta)

    low, high = 1.0, 64.0
    if not fits(raised(1.02)):
        return basic
    for _ in range(24):
        middle = (low * high) ** 0.5
        low, high = (middle, high) if fits(raised(middle)) else (low, middle)
    return raised(low)


def _ledger(shares: _Shares, tables: int, picks: int, neighbours: Neighbours) -> Ledger:
    event = stable_histogram_event(epsilon=shares.table, delta=shares.delta, neighbours=neighbours)
    entries = [Entry(stage="tables", reads="", event=event) for _ in range(tables)]
    if picks:
        chosen = selection_event(epsilon=shares.pick, selections=picks, neighbours=neighbours)
        entries.append(Entry(stage="parents", reads="", event=chosen))
    return Ledger.of(entries)
