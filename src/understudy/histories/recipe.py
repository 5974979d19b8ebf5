"""`histories`: people with their linked rows, each drawn given the rows above it and the one before it.

Route N under one Gaussian price for a whole person. A view of persons and one view of steps for every other table
(``codebook/views.py``) are measured by the engine of ``marginals``, each with a share of one budget; histories that
agree with all of them are drawn at no further price. In a view of steps a person takes part with ``steps`` rows chosen
at random: with k of them a table costs k² units, so few rows have less noise than many.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from understudy.codebook import Coded, LinkedCodebook
from understudy.codebook.linked_rules import is_previous
from understudy.codebook.views import View, views_of
from understudy.errors import BudgetError, ParameterError
from understudy.histories.fitted import FittedHistories
from understudy.histories.measure import measure_views
from understudy.mechanisms.histories import HistoryMeasurements, history_event
from understudy.mechanisms.stream import Stream
from understudy.parameters import ROWS, Declared, Whole, option
from understudy.privacy.facts import MethodFacts
from understudy.privacy.guarantees import Neighbours
from understudy.privacy.ledger import Entry, Ledger, stream_entries
from understudy.privacy.quote import Quote
from understudy.privacy.statement import Subject
from understudy.sources.base import Report
from understudy.sources.linked import LinkedSource, open_linked
from understudy.synth.options import delta_option, epsilon_option
from understudy.synth.paid_books import bought_codebook, drafted_entries

_LEAST_PERSONS = 0.1
"""Share of the budget that the view of persons gets at least: its numbers are met again in every other view."""


@dataclass(frozen=True, kw_only=True)
class Histories(Declared):
    """People with histories.

    >>> Histories(epsilon=1.0, delta=1e-6).steps_used, Histories(epsilon=25.0, delta=1e-6).steps_used
    (1, 3)
    """

    name: ClassVar[str] = "histories"
    route: ClassVar[str] = "N"
    summary: ClassVar[str] = "linked tables: people and their rows, each given the rows above it and the one before it"
    facts: ClassVar[MethodFacts] = MethodFacts(
        name="histories",
        command="understudy synth -c LINKED.toml -m histories",
        route="N",
        neighbours=(Neighbours.ADD_REMOVE_PERSON,),
        guarantee="(ε, δ)-DP for a person with all rows in all tables",
        public="levels and edges, keys and parents, caps, order, rules",
        paper="ours, after the measured-marginals literature",
        paper_claim="nothing",
        sound="our own",
        truth="All views share a fixed number of units of discrete Gaussian noise; k rows of a person cost k² units.",
        page="docs/methods/histories.md",
        proofs=("histories.md", "gaussian_measurements.md"),
        exact_tests=("tests/exact/test_histories_exact.py", "tests/exact/test_measurements_exact.py"),
        audits=("tests/audit/test_histories_audit.py",),
    )
    epsilon: float = epsilon_option()
    delta: float = delta_option()
    steps: int | None = option(
        None,
        rule=Whole(most=1_000, tried=2),
        help="Rows of each person that take part in the view of a table, chosen at random; k of them cost k² units "
        "of noise. Without it one, and one more for every ten of epsilon.",
    )

    @property
    def steps_used(self) -> int:
        """How many rows of a person take part, where the caps allow as many."""
        return 1 + int(self.epsilon // 10) if self.steps is None else self.steps

    def rows_of(self, book: LinkedCodebook, views: Sequence[View]) -> tuple[int, ...]:
        """Most rows of one person in every view: public numbers."""
        return tuple(min(self.steps_used, book.most_rows(view.table.name)) for view in views)

    def event(self, book: LinkedCodebook, views: Sequence[View]) -> HistoryMeasurements:
        """The one price of all measurements."""
        return history_event(epsilon=self.epsilon, delta=self.delta, rows=self.rows_of(book, views))

    def shares(self, views: Sequence[View]) -> list[float]:
        """Of the budget, by view: as the root of the pairs that it may measure."""
        weights = [math.sqrt(max(1, len(view.pairs))) for view in views]
        first = max(_LEAST_PERSONS, weights[0] / sum(weights)) if len(views) > 1 else 1.0
        rest = sum(weights[1:]) or 1.0
        return [first, *((1 - first) * weight / rest for weight in weights[1:])]

    def price(self, book: LinkedCodebook) -> list[Entry]:
        """One entry; rows are free."""
        views = views_of(book)
        reads = f"one-way tables, dependence and chosen pairs of {len(views)} views of {', '.join(_names(book))}"
        codes = [f"{view.spelled(one.detail.name)} ({one.size:,})" for view in views for one in view.codes]
        return [
            Entry(
                stage="tables",
                reads=reads + (f", and counts of all codes of {', '.join(codes)}" if codes else ""),
                event=self.event(book, views),
                assumptions=(*book.assumptions, *_public_codes(book)),
            )
        ]

    def quote(self, book: LinkedCodebook, people: int, *, secure: bool = True) -> Quote:
        """The price of ``people`` people; reads nothing but the codebook."""
        ROWS.check("rows", people)
        refuse_unmodelled(book)
        return Quote(
            method=self.name,
            route=self.route,
            own=Ledger.of([*drafted_entries(book), *self.price(book), *stream_entries(secure)]),
            rows=people,
            own_delta=self.delta,
            subject=Subject.PEOPLE,
            bought=tuple(purchase for table in book.tables for purchase in bought_codebook(table.book)),
            basis=(self, book.digest, secure),
        )

    def fit(
        self,
        data: Any,
        book: LinkedCodebook | str | Path | None = None,
        *,
        stream: Stream | None = None,
        report: Report | None = None,
        quote: Quote | None = None,
    ) -> FittedHistories:
        """Read the counts of all views. The default stream is secure; a seeded one makes the release not private.

        ``data`` is a source that was opened with its codebook, or whatever :func:`open_linked` takes with its ``book``.
        """
        if isinstance(data, LinkedSource) == (book is not None):
            raise ParameterError("give a table with its `book`, or a source that was opened with one.")
        source = data if isinstance(data, LinkedSource) else open_linked(data, book or "")
        stream = Stream.checked(stream)
        priced = quote or self.quote(source.codebook, 1, secure=stream.is_secure)
        if source.account is not None and (fault := source.account.relation_fault(priced.ledger)):
            raise BudgetError(f"the release {fault}")  # before anything is read
        measured = measure_views(self, source, stream, report)
        return FittedHistories(recipe=self, source=source, measured=measured, stream=stream, report=report)


def _names(book: LinkedCodebook) -> list[str]:
    return [table.name for table in book.tables]


def _public_codes(book: LinkedCodebook) -> list[str]:
    """That a list of codes is known without the data: its packs, and codes that the codebook lists."""
    packs = {one.codes.name: one.codes for table in book.tables for one in table.book.coded}
    listed = [
        table.spelled(one.name) for table in book.tables for one in table.book.details if not isinstance(one, Coded)
    ]
    sentences = [
        f"the codes of the pack {pack.name} ({pack.title}), and which belongs to which, are public"
        for pack in packs.values()
    ]
    return [*sentences, *(f"the codes of {name}, and which belongs to which, are public" for name in listed)]


def refuse_unmodelled(book: LinkedCodebook) -> None:
    """What a codebook may ask for and this method has not."""
    odd = [f"{table.spelled(one.name)} (measured pieces)" for table in book.tables for one in table.book.measured]
    unsure = [
        table.name
        for table in book.tables
        if table.key is None and table.order in table.book.names and _looks_at_siblings(book, table.name)
    ]
    if unsure:
        raise ParameterError(
            f"the table {unsure[0]!r} has a rule about siblings, which follow each other by a column of the release, "
            "and no key to tell those apart that share a value of it; give the table a key, or another order."
        )
    if odd:
        raise ParameterError(
            f"`histories` does not draw {', '.join(odd)}; drop `shape` and `pieces` there (bins are measured all the "
            "same, and narrower `edges` tell more), or take those columns out."
        )


def _looks_at_siblings(book: LinkedCodebook, name: str) -> bool:
    rules = book.rules_on(name)
    return bool(book.ends(name)) or any(is_previous(column) for rule in rules for column in rule.columns)
