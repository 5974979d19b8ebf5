"""A codebook drafted at a price: levels by thresholded counting, bounds and edges by private quantiles.

What is public beforehand: the names in the header, which columns are dropped or hold names rather than amounts, the
number of bins, and the price. Everything else is read through the mechanisms and paid for, step by step, each charged
before it is read: what the values look like, then frequent levels and bounds, then edges inside the bounds.
"""

import datetime as dt
import json
import math
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from understudy.codebook import (
    Categorical,
    Codebook,
    Column,
    Continuous,
    Dates,
    Grain,
    Integer,
    Origin,
    PaidDraft,
    PersonUnit,
)
from understudy.codebook.columns import Role, Text
from understudy.codebook.unit import unit_faults
from understudy.errors import DataError, EmptyDraftError, ParameterError
from understudy.mechanisms.discrete_laplace import half_width, scale_for
from understudy.mechanisms.drafting import (
    DraftBudget,
    PricedDraft,
    noisy_looks,
    private_quantile,
    private_splits,
    shown_levels,
)
from understudy.mechanisms.exponential import selection_event
from understudy.mechanisms.group import GroupOf, RecordChoice, share_of_group
from understudy.mechanisms.histogram import GeometricHistogram
from understudy.mechanisms.laplace_tables import share_of
from understudy.mechanisms.stability import StabilityHistogram, stable_histogram_event
from understudy.mechanisms.stream import Stream
from understudy.parameters import DELTA, EPSILON
from understudy.privacy.account import Account, digest_of_choices
from understudy.privacy.guarantees import Neighbours
from understudy.privacy.ledger import Entry, Ledger
from understudy.privacy.quote import Quote
from understudy.privacy.transaction import Point, paying
from understudy.release.folders import digest_of_bytes, new_file
from understudy.sources.base import Report
from understudy.sources.capping import capped_table
from understudy.sources.files import Opened, open_table
from understudy.sources.inputs import find_provenance
from understudy.sources.looks import LOOKS, look_at_days, look_at_kinds, look_at_levels, look_at_numbers

AR = Neighbours.ADD_REMOVE
_LOOKS_SHARE = 0.1
_BOUNDS_SHARE = 0.5
_DOWN = 1 - 1e-9
"""Keeps sums of float shares within the budget, which is exact."""
_MOST = 0.95
"""Share of the values that must look alike before a column is taken for numbers or dates."""
_FEWEST = 40
"""So many shown whole numbers may be levels; more are bins."""
_TAIL = 0.005
_CERTAIN = 16.0
"""A bound is wrong with probability about e^-_CERTAIN times the size of the grid."""
_COARSE = tuple(
    sorted(
        {Fraction(0)}
        | {
            sign * Fraction(digits) * Fraction(10) ** (power - 1)
            for sign in (1, -1)
            for digits in range(10, 100)
            for power in range(-3, 10)
        }
    )
)
"""Public candidates for the bounds of any number: two digits, from a thousandth to ten thousand million."""
_YEARS = tuple(range(1900, 2102))
_ASSUMED = ("the names in the header of the table are public knowledge",)


@dataclass(frozen=True, kw_only=True)
class PaidPlan:
    """The public choices of a priced draft."""

    epsilon: float
    delta: float
    bins: int = 8
    """Bins of a number, a power of two."""
    drop: tuple[str, ...] = ()
    """Columns known to be identifiers."""
    named: tuple[str, ...] = ()
    """Columns whose numbers are names: they get levels."""
    unit: PersonUnit | None = None
    """The id column and the cap, where the price is meant for a person with all their records."""

    def __post_init__(self) -> None:
        EPSILON.check("epsilon", self.epsilon)
        DELTA.check("delta", self.delta)
        whole = isinstance(self.bins, int) and not isinstance(self.bins, bool)
        if not whole or self.bins not in (2, 4, 8, 16, 32):
            raise ParameterError(f"`bins` is {self.bins!r}; medians of medians give 2, 4, 8, 16 or 32 bins. Try 8.")

        if self.unit is not None:
            ids = {self.unit.id: Text(name=self.unit.id, role=Role.IDENTIFIER)}
            for fault in unit_faults(self.unit, ids):
                raise ParameterError(fault)

    @property
    def budget(self) -> PricedDraft:
        """What the steps may cost one record, whatever they find."""
        records = 1 if self.unit is None else self.unit.cap
        epsilon, delta = share_of_group(epsilon=float(self.epsilon), delta=float(self.delta), records=records)
        assert delta is not None
        return PricedDraft(epsilon=epsilon, delta=delta, neighbours=AR)

    @property
    def event(self) -> PricedDraft | GroupOf:
        """What the draft costs: one record, or one person."""
        return self.budget if self.unit is None else GroupOf(event=self.budget, records=self.unit.cap)

    def quote(self, columns: int, *, secure: bool = True) -> Quote:
        """One line for all steps: which of them run depends on what earlier ones find, so they have one budget."""
        paid = Entry(
            stage="codebook",
            reads=f"kinds, frequent levels, bounds and edges of {columns} columns",
            event=self.event,
            assumptions=_ASSUMED if self.unit is None else (*_ASSUMED, self.unit.assumption),
        )
        why = "the codebook was drafted with a seed, so whoever guesses the seed can undo its noise"
        seeded = Entry.unpriced(stage="codebook", reads="a seed instead of the secure stream", why=why)
        own = Ledger.of([paid] if secure else [paid, seeded])
        return Quote(method="priced-draft", route="counts", own=own, own_delta=None, rows=columns)

    def outlook(self, columns: int) -> list[str]:
        """What its thresholds will do, said before anything is paid: from the price and the number of columns alone."""
        draft = _Rates.of(self, columns)
        unit = "records" if self.unit is None else "records of those that take part"
        sentences = []
        for words, epsilon in (("a text", draft.rest), ("a whole number that is a level", draft.rest / 2)):
            event = draft.stable(epsilon)
            needed = event.threshold + half_width(event.scale, miss=0.1)
            sentences.append(
                f"{words} needs about {needed:,} {unit} to show in 95 of 100 cases (threshold {event.threshold:,}); "
                "rarer ones count as other."
            )
        each = draft.rest * _BOUNDS_SHARE / 2
        fewest = math.ceil(2 * (_CERTAIN + math.log(len(_COARSE))) / (0.25 * each))
        sentences.append(
            f"a column of numbers gets bounds from about {fewest:,} {unit} with a value on, one of whole numbers that "
            "are no levels from twice as many; with fewer it is left out."
        )
        return sentences

    @property
    def left_out(self) -> tuple[str, ...]:
        """Columns that are not looked at."""
        ids = () if self.unit is None or self.unit.id in self.drop else (self.unit.id,)
        return (*self.drop, *ids)


def paid_draft(
    what: Any,
    plan: PaidPlan,
    *,
    table: str | None = None,
    account: Account | None = None,
    stream: Stream | None = None,
    out: Path | None = None,
    report: Report | None = None,
) -> Codebook:
    """A codebook that a promise may rest on, paid for before it is handed over, or just before ``out`` appears."""
    provenance = find_provenance(what, table=table)
    provenance.refuse_as_data("a priced draft")
    opened = open_table(what, table)
    names = _names(opened, plan)
    stream = Stream.checked(stream)
    quote = plan.quote(len(names), secure=stream.is_secure).with_data(provenance)
    identity = f"codebook {uuid.uuid4()}"
    choices = digest_of_choices(method="priced draft", plan=repr(plan), columns=names)
    with paying(account, quote, label="priced draft of a codebook", release_id=identity, choices=choices) as payment:
        # nothing is looked at yet but whether the table is whole and every row has an id
        taking_part, forget = _taking_part(opened, plan, names, stream)
        payment.drawing()
        try:
            columns = _columns(_Draft(taking_part, plan, len(names), stream), plan, names, report)
        finally:
            forget()
        order = {name: place for place, name in enumerate(opened.header)}
        book = Codebook(
            columns=tuple(sorted(columns, key=lambda column: order[column.name])),
            title="drafted at a price",
            description=f"Levels, bounds and edges were found at epsilon {plan.epsilon:g}, delta {plan.delta:g}. "
            "Values that are not listed count as other or missing: use unknown = 'other-or-missing'.",
            unit=plan.unit,
            file=None if opened.file.says_nothing else opened.file,
            paid=PaidDraft(
                draft=identity,
                entries=json.dumps(quote.own.to_list(), ensure_ascii=False),
                found=json.dumps({c.name: c.content for c in columns if c.origin is Origin.PAID}, ensure_ascii=False),
            ),
        )
        text = book.to_toml().encode()
        payment.reached(Point.DRAWN)
        if out is None:
            payment.commit(digest_of_bytes(text))
        else:
            new_file(out, text, what="a draft", commit=payment.commit)
    return book


def _columns(draft: "_Draft", plan: PaidPlan, names: Sequence[str], report: Report | None) -> list[Column]:
    """Every column as the draft finds it."""
    columns: list[Column] = [Text(name=name, role=Role.IDENTIFIER, description="dropped") for name in plan.left_out]
    kinds = draft.kinds(names)
    for number, name in enumerate(names, start=1):
        columns.append(draft.column(name, kinds[name]))
        if report:
            report("drafting", number, len(names))
    if not any(column.is_modelled for column in columns):
        raise EmptyDraftError(
            "no column has anything to show at this price; raise epsilon, or write the codebook by hand. What was "
            "charged stays charged, because that nothing shows is an answer."
        )
    return columns


def _taking_part(
    opened: Opened, plan: PaidPlan, names: Sequence[str], stream: Stream
) -> tuple[Opened, Callable[[], None]]:
    """The records that the draft may look at, and what forgets them."""
    opened.verify()
    if plan.unit is None:
        return opened, lambda: None
    return capped_table(opened, plan.unit, names, RecordChoice(cap=plan.unit.cap, stream=stream.spawn()))


def _names(opened: Opened, plan: PaidPlan) -> list[str]:
    header = [name for name in opened.header if name]
    for named in (*plan.left_out, *plan.named):
        if named not in header:
            raise ParameterError(f"there is no column {named!r}; the table has {', '.join(header[:12])}.")
    names = [name for name in header if name not in plan.left_out]
    if not names:
        raise DataError("every column is dropped, so nothing is left to draft; drop fewer.")
    return names


@dataclass(frozen=True, kw_only=True)
class _Rates:
    """What each column may cost."""

    epsilon: float
    delta: float

    @classmethod
    def of(cls, plan: PaidPlan, columns: int) -> "_Rates":
        """Equal shares of the budget of one record."""
        return cls(epsilon=share_of(plan.budget.epsilon, columns), delta=share_of(plan.budget.delta, columns))

    @property
    def rest(self) -> float:
        """What is left for the levels or edges of a column."""
        return self.epsilon * (1 - _LOOKS_SHARE) * _DOWN

    def stable(self, epsilon: float) -> StabilityHistogram:
        """The threshold for frequent levels."""
        return stable_histogram_event(epsilon=epsilon, delta=self.delta, neighbours=AR)


class _Draft:
    """The steps of a draft. Each is paid from the budget before anything is opened."""

    def __init__(self, opened: Opened, plan: PaidPlan, columns: int, stream: Stream) -> None:
        self.opened, self.plan, self.stream = opened, plan, stream
        self.rates = _Rates.of(plan, columns)
        self.epsilon = self.rates.epsilon
        self.budget = DraftBudget(plan.budget)

    def kinds(self, names: Sequence[str]) -> dict[str, np.ndarray]:
        """Noisy counts of what the values look like."""
        event = GeometricHistogram(scale=scale_for(self.epsilon * _LOOKS_SHARE, 1), neighbours=AR)
        for _ in names:
            self.budget.pay(event)
        counted = look_at_kinds(self.opened, names)
        return {name: noisy_looks(counted[name], event=event, stream=self.stream) for name in names}

    @property
    def rest(self) -> float:
        """What is left for the levels or edges of a column."""
        return self.rates.rest

    def column(self, name: str, looks: np.ndarray) -> Column:
        """One column, by what most of its values look like."""
        by = dict(zip(LOOKS, np.maximum(looks, 0).tolist(), strict=True))
        present = max(1, sum(by.values()) - by["missing"])
        if name not in self.plan.named and by["date"] >= _MOST * present:
            return self.dates(name, present)
        if name not in self.plan.named and by["whole"] + by["decimal"] >= _MOST * present:
            return self.number(name, present, whole=by["decimal"] <= (1 - _MOST) * present)
        return self.levels(name, self.stable(self.rest))

    def stable(self, epsilon: float) -> StabilityHistogram:
        """The threshold for frequent levels."""
        return self.rates.stable(epsilon)

    def levels(self, name: str, event: StabilityHistogram) -> Column:
        """Frequent texts, and one level for all others."""
        self.budget.pay(event)
        shown = shown_levels(look_at_levels(self.opened, name), event=event, stream=self.stream)
        return self._levelled(name, [text for text, _ in shown], event)

    def _levelled(self, name: str, texts: Sequence[str], event: StabilityHistogram) -> Column:
        if not texts:
            why = f"left out: no value reaches {event.threshold:,} records"
            return Text(name=name, role=Role.IDENTIFIER, description=why)
        other, missing = _free("other", texts), _free("NA", texts)
        return Categorical(
            name=name,
            levels=(*texts, other),
            other=other,
            missing=missing,
            origin=Origin.PAID,
            description=f"levels with at least {event.threshold:,} records, noise included",
        )

    def number(self, name: str, present: int, *, whole: bool) -> Column:
        """Few frequent whole numbers are levels; all others get bounds and bins, each end one private quantile."""
        budget = self.rest
        if whole:
            budget = self.rest / 2
            event = self.stable(budget)
            self.budget.pay(event)
            shown = shown_levels(look_at_levels(self.opened, name), event=event, stream=self.stream)
            if 0 < len(shown) <= _FEWEST and sum(count for _, count in shown) >= _MOST * present:
                return self._levelled(name, [text for text, _ in sorted(shown, key=_as_number)], event)
        grid = [float(point) for point in _COARSE if not whole or point.denominator == 1]
        ends = self.bounds(name, grid, budget * _BOUNDS_SHARE, present, look_at_numbers(self.opened, name))
        if ends is None:
            return Text(
                name=name, role=Role.IDENTIFIER, description="left out: too few records for bounds at this price"
            )
        return self.bins(name, *ends, epsilon=budget * (1 - _BOUNDS_SHARE), whole=whole)

    def bounds(
        self, name: str, grid: Sequence[float], epsilon: float, present: int, numbers: Any
    ) -> tuple[float, float] | None:
        """A low and a high quantile; None where even the quartiles would drown."""
        each = epsilon / 2
        share = max(_TAIL, 2 * (_CERTAIN + np.log(len(grid))) / (each * present))
        if share > 0.25:
            return None
        self.budget.pay(selection_event(epsilon=each, selections=2, neighbours=AR))
        cells = [
            private_quantile(numbers, grid=grid, share=point, epsilon=each, stream=self.stream)
            for point in (share, 1 - share)
        ]
        return grid[min(cells)], grid[max(cells) + 1]

    def bins(self, name: str, low: float, high: float, *, epsilon: float, whole: bool) -> Column:
        """Edges inside the bounds by medians of medians."""
        depth = self.plan.bins.bit_length() - 1
        grid, digits = _fine_grid(low, high, whole=whole)
        each = epsilon / depth
        self.budget.pay(selection_event(epsilon=each, selections=depth, neighbours=AR))
        numbers = look_at_numbers(self.opened, name)
        cuts = private_splits(numbers, grid=[float(g) for g in grid], depth=depth, epsilon=each, stream=self.stream)
        exact = {float(point): point for point in grid}
        common: dict[str, Any] = {
            "name": name,
            "edges": tuple(exact[cut] for cut in cuts),
            "clip": True,
            "missing": "NA",
            "origin": Origin.PAID,
            "description": "bounds and edges by private quantiles; values beyond them count in the end bins",
        }
        return Integer(**common) if whole else Continuous(precision=digits, **common)

    def dates(self, name: str, present: int) -> Column:
        """The years in which nearly all days lie; months where they are few."""
        years = [float(year) for year in _YEARS]
        ends = self.bounds(name, years, self.rest, present, look_at_days(self.opened, name))
        if ends is None:
            return Text(
                name=name, role=Role.IDENTIFIER, description="left out: too few records for bounds at this price"
            )
        first, last = int(ends[0]), int(ends[1]) - 1  # a cell is one year
        return Dates(
            name=name,
            grain=Grain.MONTH if last - first <= 10 else Grain.YEAR,
            start=dt.date(first, 1, 1),
            end=dt.date(last, 12, 31),
            missing="NA",
            origin=Origin.PAID,
            description="range of years by private quantiles; days beyond it count as missing",
        )


def _as_number(item: tuple[str, int]) -> float:
    try:
        return float(item[0])
    except ValueError:
        return float("inf")


def _free(word: str, taken: Sequence[str]) -> str:
    while word in taken:
        word = f"({word})"
    return word


def _fine_grid(low: float, high: float, *, whole: bool) -> tuple[list[Fraction], int]:
    """About a thousand evenly spaced points between two bounds of the coarse grid, and how many digits they need."""
    exact = {float(point): point for point in _COARSE}
    start, end = exact[low], exact[high]
    step, digits = Fraction(1), 0
    while not whole and digits < 6 and (end - start) / step < 500:
        step, digits = step / 10, digits + 1
    while (end - start) / step > 2000:
        step *= 10
    points = [start + number * step for number in range(int((end - start) / step) + 1)]
    return (points if points[-1] == end else [*points, end]), digits
