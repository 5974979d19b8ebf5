"""A question with its price and its method; no data. What :meth:`Plan.draw` reads is paid for by ``quote``."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from understudy.answers.figures import withheld
from understudy.answers.grid import Grid, grid_of
from understudy.answers.models import ModelMethod
from understudy.answers.quantiles import QuantileMethod
from understudy.answers.question import Question
from understudy.answers.sums import UNITS, SumsMethod
from understudy.codebook import Codebook
from understudy.errors import RefusalError
from understudy.infer.asked import LEVEL, TARGETS
from understudy.infer.inference import Figure
from understudy.mechanisms.gaussian_measurements import GaussianMeasurements
from understudy.mechanisms.group import share_of_group
from understudy.mechanisms.histogram import GeometricHistogram
from understudy.mechanisms.stream import Stream
from understudy.mechanisms.vector_sums import (
    Lengths,
    TreeCounts,
    VectorSums,
    most_units,
    noisy_vector_sums,
    quieter_event,
)
from understudy.parameters import DELTA, EPSILON, OneOf
from understudy.privacy.guarantees import Neighbours
from understudy.privacy.ledger import Entry, Ledger, stream_entries
from understudy.privacy.quote import Quote
from understudy.privacy.statement import Subject
from understudy.sources import open_source
from understudy.sources.base import Source
from understudy.synth.choices import relation_of
from understudy.synth.paid_books import bought_codebook, drafted_entries
from understudy.synth.people import capped_source, person_entries

if TYPE_CHECKING:
    from understudy.release import Release

METHOD = "answer"
Noise = VectorSums | GaussianMeasurements | GeometricHistogram


@dataclass(frozen=True, kw_only=True)
class Plan:
    """Price and method of one answer."""

    question: Question
    book: Codebook
    epsilon: float
    delta: float | None
    level: float
    target: str
    neighbours: Neighbours
    start: tuple[float, ...] | None = field(default=None)
    """Public coefficients of a release from which a model is fitted, on its own scale."""

    def __post_init__(self) -> None:
        """Hold the choices to their rules, also those that a manifest states."""
        EPSILON.check("epsilon", self.epsilon)
        if self.delta is not None:
            DELTA.check("delta", self.delta)
        LEVEL.check("level", self.level)
        OneOf(TARGETS).check("target", self.target)

    @cached_property
    def grid(self) -> Grid:
        """The public grid on which records are counted."""
        return grid_of(self.question, self.book)

    @cached_property
    def share(self) -> tuple[float, float | None]:
        """What one record may cost, so that a person costs epsilon and delta."""
        records = 1 if self.book.unit is None else self.book.unit.cap
        return share_of_group(epsilon=self.epsilon, delta=self.delta, records=records)

    @cached_property
    def method(self) -> SumsMethod | QuantileMethod | ModelMethod:
        """How it is computed."""
        question, grid = self.question, self.grid
        clustered = 1 if self.book.unit is None else self.book.unit.cap
        if question.is_model:
            return ModelMethod(
                question=question,
                grid=grid,
                target=self.target,
                clustered=clustered,
                epsilon=self.share[0],
                delta=self.share[1],
                neighbours=self.neighbours,
                start=self.start,
            )
        method: SumsMethod | QuantileMethod
        if question.kind == "quantile":
            method = QuantileMethod(question=question, grid=grid, target=self.target, clustered=clustered)
            method.check()
            return method
        counted = question.kind in ("count", "table") or question.level is not None
        units = 1 if counted else most_units(self.share[0], wanted=UNITS, times=1, neighbours=self.neighbours)
        method = SumsMethod(question=question, grid=grid, units=units, target=self.target, clustered=clustered)
        method.check()
        return method

    @cached_property
    def events(self) -> tuple[Noise, ...]:
        """What is paid for, in the order in which it is measured."""
        method = self.method
        if isinstance(method, ModelMethod):
            return method.events
        if isinstance(method, QuantileMethod):
            return (self._quieter(TreeCounts, method.lengths),)
        event = self._quieter(VectorSums, method.lengths)
        return (_as_histogram(event) if method.lengths.moved == 1 else event,)

    def _quieter(self, kind: type[VectorSums], lengths: Lengths) -> Noise:
        epsilon, delta = self.share
        return quieter_event(kind, lengths, epsilon=epsilon, delta=delta, neighbours=self.neighbours)

    @property
    def figures_number(self) -> int:
        """How many figures there will be; public."""
        return self.method.number

    @cached_property
    def quote(self) -> Quote:
        """The price of the answer itself; reads nothing but the codebook."""
        return self.quoted()

    def quoted(self, *, secure: bool = True) -> Quote:
        """The same, and what a seed does to it."""
        book = self.grid.used
        entries = [
            Entry(stage=stage, reads=reads, event=event, assumptions=book.assumptions)
            for (stage, reads), event in zip(self._stages(), self.events, strict=True)
        ]
        gaussian = any(isinstance(event, GaussianMeasurements) for event in self.events)
        return Quote(
            method=METHOD,
            route="answer",
            own=Ledger.of([*drafted_entries(book), *person_entries(entries, book), *stream_entries(secure)]),
            own_delta=self.delta if gaussian else None,
            rows=self.figures_number,
            subject=Subject.ANSWER,
            warnings=self.notes,
            bought=bought_codebook(book),
        )

    def _stages(self) -> list[tuple[str, str]]:
        text = self.question.text
        if isinstance(self.method, ModelMethod):
            number = len(self.events)
            return [
                ("answer", f"{text}: score and information, step {step} of {number}") for step in range(1, number + 1)
            ]
        return [("answer", text)]

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader of the figures should know."""
        notes = []
        if self.question.kind in ("count", "table", "sum"):
            notes.append("counts and sums are of the table; their intervals cover the noise alone.")
        if self.book.unit is not None and self.book.unit.cap > 1:
            notes.append(
                f"figures are of records, of which at most {self.book.unit.cap} of each person take part; sampling is "
                "stated for the worst case, records of a person that are all alike."
            )
        if self.book.weight is not None:
            notes.append(f"figures are of records; the survey weight {self.book.weight!r} takes no part.")
        return tuple(notes)

    def parameters(self) -> dict[str, Any]:
        """Every choice as plain data, for the manifest."""
        return {
            "question": self.question.text,
            "epsilon": self.epsilon,
            "delta": self.delta,
            "level": self.level,
            "target": self.target,
            "neighbours": self.neighbours.value,
            "start": None if self.start is None else list(self.start),
        }

    def open(self, data: Any, **opening: Any) -> Source:
        """The table behind the grid of the question; ``opening`` as in :func:`understudy.open`."""
        return open_source(data, self.grid.counted, **opening)

    def count(self, source: Source, stream: Stream) -> "Counted":
        """The secret counts of the grid, at most so many records of each person in them."""
        source.provenance.refuse_as_data("an answer")
        grid = self.grid.counted
        if source.codebook is not grid and source.codebook.digest != grid.digest:
            raise RefusalError("the table was opened with another grid than that of the question; open it by the plan.")
        (counts,) = capped_source(source, stream).count([self.question.columns])
        return Counted(plan=self, counts=counts, stream=stream)

    def draw(self, source: Source, stream: Stream) -> tuple[Figure, ...]:
        """The figures. Whoever calls this has paid ``quote`` before."""
        return self.count(source, stream).draw()


@dataclass(frozen=True, kw_only=True, eq=False)
class Counted:
    """The secret counts of one question, before anything of them is shown."""

    plan: Plan
    counts: Any
    stream: Stream

    def draw(self) -> tuple[Figure, ...]:
        """Noise, then figures."""
        plan, method = self.plan, self.plan.method
        if isinstance(method, ModelMethod):
            return tuple(method.fitted(self.counts, self.stream, plan.level))
        released = noisy_vector_sums(
            self.counts,
            method.rule,
            slots=method.groups.number,
            width=method.width,
            lengths=method.lengths,
            event=plan.events[0],
            stream=self.stream,
        )
        figures = method.figures(released, plan.level)
        return tuple(withheld(figures) if released.is_full else figures)


def _as_histogram(event: Noise) -> Noise:
    """One record in one cell is a histogram, whose price is known more closely."""
    if isinstance(event, VectorSums):
        return GeometricHistogram(scale=event.scale, neighbours=event.neighbours)
    return event


def plan_answer(
    question: Question,
    book: Codebook,
    *,
    epsilon: float,
    delta: float | None = None,
    neighbours: Neighbours | str = Neighbours.ADD_REMOVE,
    level: float = 0.95,
    target: str = "population",
    release: "Release | Any | None" = None,
) -> Plan:
    """Price a question; what cannot be answered at this price is refused here, before anything is paid."""
    relation = neighbours if isinstance(neighbours, Neighbours) else relation_of(neighbours)
    start: Sequence[float] | None = None
    if release is not None and question.kind == "logistic":
        from understudy.answers.comparing import coefficients_of

        start = coefficients_of(question, book, release)
    plan = Plan(
        question=question,
        book=book,
        epsilon=float(EPSILON.check("epsilon", epsilon)),
        delta=delta,
        level=level,
        target=target,
        neighbours=relation,
        start=None if start is None else tuple(start),
    )
    plan.quote  # noqa: B018 - refuses what cannot be priced
    return plan
