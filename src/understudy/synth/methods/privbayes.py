"""`privbayes`: a private Bayesian network (after Zhang et al. 2014), the baseline that SBHG is judged against.

A greedy network is chosen by the exponential mechanism on mutual information, among parent sets small enough for their
noisy tables to be useful; every table gets Laplace noise; rows are drawn parents first. Pure epsilon-DP.
"""

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

from understudy.codebook import Codebook
from understudy.mechanisms.exponential import select, selection_event
from understudy.mechanisms.histogram import noisy_histogram_event
from understudy.mechanisms.laplace_tables import noisy_tables, share_of
from understudy.mechanisms.selection_scores import (
    conditional_entropy_sensitivity,
    fixed_size,
    information_of_all,
    mutual_information,
    mutual_information_sensitivity,
    score_tables,
)
from understudy.mechanisms.stream import Stream
from understudy.parameters import SHARE, Number, Panel, option
from understudy.privacy.guarantees import Neighbours
from understudy.privacy.ledger import Entry
from understudy.sources.base import Report, Source
from understudy.sources.tables import DENSE_LIMIT
from understudy.synth.assumed import public_size
from understudy.synth.method_facts import synthesis_facts
from understudy.synth.options import epsilon_option, neighbours_option, parent_count_option, public_rows_option
from understudy.synth.released import Perturbed, ReleasedRecipe
from understudy.synth.ways import Network

_MOST_CANDIDATES = 4_000


@dataclass(frozen=True, kw_only=True)
class PrivBayes(ReleasedRecipe):
    """Bayesian network with noisy conditional tables.

    >>> import understudy as us
    >>> book = us.datasets.discharges_codebook()
    >>> us.PrivBayes(epsilon=1.0, public_rows=50_000).quote(book, rows=1000).total.kind
    'PureDP'
    """

    facts = synthesis_facts(
        "privbayes",
        route="N",
        guarantee="ε-DP, tables released once",
        public="levels, a bound on the number of records",
        paper="PrivBayes, the baseline of the SBHG paper",
        paper_claim="A network chosen by the exponential mechanism and Laplace noise on its tables are ε-DP.",
        sound="holds",
        truth="As claimed, with exact choices and discrete noise.",
        page="privbayes",
        proofs=(
            "geometric_histogram",
            "exponential_selection",
        ),
        exact_tests=(
            "noise_exact",
            "exponential_exact",
        ),
        audits=(
            "sbhg_audit",
            "audit_command",
        ),
    )
    summary = "private Bayesian network, Laplace noise on its tables (the baseline of the SBHG paper)"
    example = {"epsilon": 2.0, "public_rows": 5000}
    epsilon: float = epsilon_option()
    public_rows: int = public_rows_option(is_required=True)
    neighbours: Neighbours = neighbours_option()
    selection_share: float = option(
        0.3, rule=SHARE, panel=Panel.PRIVACY, help="The paper's beta: share of epsilon for choosing the network."
    )
    usefulness: float = option(
        4.0,
        rule=Number(above=0),
        help="The paper's theta: average count of a cell over the average size of its noise, at least.",
    )
    parent_count: int = parent_count_option(3)

    def _picks(self, book: Codebook) -> int:
        return len(book.names) - 1

    def _pick_epsilon(self, book: Codebook) -> float:
        return share_of(self.selection_share * self.epsilon, self._picks(book))

    def _tables_epsilon(self, book: Codebook) -> float:
        spent = self.selection_share * self.epsilon if self._picks(book) else 0.0
        return self.epsilon - spent

    def price(self, book: Codebook, rows: int) -> list[Entry]:
        """The network, then its tables."""
        known = f"the table is known to have at most {self.public_rows:,} records"
        if self.neighbours is Neighbours.REPLACE:
            known = f"the table is known to have exactly {self.public_rows:,} records"
            known += "" if book.unit is None else ", and it is known how many of them each person has"
        entries = []
        if self._picks(book):
            chosen = selection_event(
                epsilon=self._pick_epsilon(book), selections=self._picks(book), neighbours=self.neighbours
            )
            reads = f"a network of {len(book.names)} columns, by the exponential mechanism"
            assumptions = (*book.assumptions, known)
            entries.append(Entry(stage="parents", reads=reads, event=chosen, assumptions=assumptions))
        each = share_of(self._tables_epsilon(book), len(book.names))
        event = noisy_histogram_event((2,), epsilon=each, neighbours=self.neighbours)
        entries += [
            Entry(
                stage="tables",
                reads=f"counts of {name} with its parents in the network",
                event=event,
                assumptions=public_size(book, self.neighbours),
            )
            for name in book.names
        ]
        return entries

    def largest_table(self, book: Codebook) -> int:
        """Most cells at which the average count is ``usefulness`` times the average noise; public sizes only."""
        each = share_of(self._tables_epsilon(book), len(book.names))
        noise = (1 if self.neighbours is Neighbours.ADD_REMOVE else 2) / each
        return min(DENSE_LIMIT, max(1, int(self.public_rows / (self.usefulness * noise))))

    def perturb(self, source: Source, stream: Stream, report: Report | None) -> Perturbed:
        """Grow the network, then release its tables."""
        book = source.codebook
        parents = self._network(source, stream, report)
        cliques = [(*parents[name], name) for name in book.names]
        counts = source.count(cliques, report)
        tables, entries = noisy_tables(
            counts, epsilon=self._tables_epsilon(book), neighbours=self.neighbours, stream=stream
        )
        order = tuple(book.position(name) for name in parents)
        return Perturbed(way=Network(order=order), tables=tables, entries=entries)

    def _network(self, source: Source, stream: Stream, report: Report | None) -> dict[str, tuple[str, ...]]:
        """Parents of every column, in the order in which the columns joined; the first joins at random."""
        book = source.codebook
        first = book.names[stream.below(len(book.names))]
        network: dict[str, tuple[str, ...]] = {first: ()}
        while len(network) < len(book.names):
            pairs = self._candidates(book, tuple(network))
            tables = source.count([(*chosen, child) for child, chosen in pairs])
            binary = all(
                book.column(child).size == 2 or math.prod(book.column(p).size for p in chosen) <= 2
                for child, chosen in pairs
            )
            exactly = self.neighbours is Neighbours.REPLACE
            size = fixed_size(tables, self.public_rows, capped=exactly and book.unit is not None)
            score = mutual_information if exactly else information_of_all
            sensitivity = (
                mutual_information_sensitivity(size, binary=binary)
                if exactly
                else conditional_entropy_sensitivity(self.public_rows)
            )
            number, _ = select(
                score_tables(tables, score, records=size, exactly=exactly),
                epsilon=self._pick_epsilon(book),
                sensitivity=sensitivity,
                monotone=False,
                neighbours=self.neighbours,
                stream=stream,
            )
            child, chosen = pairs[number]
            network[child] = chosen
            if report:
                report("choosing the network", len(network), len(book.names))
        return network

    def _candidates(self, book: Codebook, joined: Sequence[str]) -> list[tuple[str, tuple[str, ...]]]:
        """Every child with every maximal set of joined parents whose table stays useful; public sizes only."""
        limit = self.largest_table(book)
        waiting = [name for name in book.names if name not in joined]
        for most in range(min(self.parent_count, len(joined)), 0, -1):
            pairs = [(child, chosen) for child in waiting for chosen in _maximal(book, joined, limit, child, most)]
            if len(pairs) <= _MOST_CANDIDATES or most == 1:
                return pairs
        return [(child, ()) for child in waiting]


def _maximal(book: Codebook, joined: Sequence[str], limit: int, child: str, most: int) -> list[tuple[str, ...]]:
    """Parent sets of at most ``most`` columns that fit beside the child and to which none can be added."""
    size = {name: book.column(name).size for name in joined}
    room = limit // book.column(child).size
    sets = []
    for count in range(most, -1, -1):
        for chosen in itertools.combinations(joined, count):
            cells = math.prod(size[name] for name in chosen)
            grows = count < most and any(name not in chosen and cells * size[name] <= room for name in joined)
            if cells <= max(room, 1) and not grows:
                sets.append(chosen)
    return sets
