"""An answer as it leaves: figures, what a release had said, the promise, and a folder that can be cited."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

import pyarrow as pa

from understudy.answers.plan import Counted, Plan
from understudy.errors import ReleaseError
from understudy.infer.inference import Figure
from understudy.mechanisms.stream import Stream
from understudy.privacy.guarantees import Guarantee, guarantee_from_dict
from understudy.privacy.provenance import InputRole, Made, Provenance
from understudy.privacy.quote import Quote
from understudy.privacy.transaction import Payment
from understudy.release import Release, describe
from understudy.release.making import FittedWhole, choices_of
from understudy.sources.base import Report, Source

FORMAT = 1
COLUMNS = (
    "figure",
    "estimate",
    "error",
    "low",
    "high",
    "sampling",
    "note",
    "release",
    "release_low",
    "release_high",
    "gap",
)
"""Of the table of an answer; ``gap`` is the answer minus what the release had said."""
_ORIGIN = "one row for every figure that was asked for; the number of confidential records was not used"


@dataclass(frozen=True, kw_only=True)
class Answer:
    """What leaves the house: nothing in it but paid figures, public numbers, and figures of a release."""

    answer_id: str
    question: str
    kind: str
    figures: tuple[Figure, ...]
    synthetic: tuple[Figure, ...] | None
    """The same figures as a release tells them, where one was given."""
    statement: str
    guarantee: Guarantee
    epsilon: float
    delta: float | None
    """The declared price of this answer alone."""
    level: float
    target: str
    created: str
    notes: tuple[str, ...] = ()
    release: Release | None = field(default=None, repr=False, compare=False)
    """Table and manifest, where it was made by :func:`understudy.answer`."""

    @property
    def gaps(self) -> tuple[float | None, ...]:
        """For each figure the answer minus what the release had said; None where either is not told."""
        return gaps_of(self.figures, self.synthetic)

    @property
    def warnings(self) -> tuple[str, ...]:
        """Notes, then those of all figures, each once."""
        return (*self.notes, *dict.fromkeys(word for figure in self.figures for word in figure.warnings))

    @classmethod
    def of(
        cls,
        plan: Plan,
        figures: Sequence[Figure],
        *,
        answer_id: str,
        created: str,
        synthetic: Sequence[Figure] | None = None,
        quote: Quote | None = None,
        release: Release | None = None,
    ) -> "Answer":
        """The answer to a plan; ``quote`` where it was paid for together with something else."""
        price = plan.quote if quote is None else quote
        return cls(
            answer_id=answer_id,
            question=plan.question.text,
            kind=plan.question.kind,
            figures=tuple(figures),
            synthetic=None if synthetic is None else tuple(synthetic),
            statement=price.statement,
            guarantee=price.total,
            epsilon=plan.epsilon,
            delta=plan.delta,
            level=plan.level,
            target=plan.target,
            created=created,
            notes=plan.notes,
            release=release,
        )

    def to_dict(self) -> dict[str, Any]:
        """As plain data."""
        return {
            "format": FORMAT,
            "answer": self.answer_id,
            "question": self.question,
            "kind": self.kind,
            "created": self.created,
            "for": self.target,
            "level": self.level,
            "epsilon": self.epsilon,
            "delta": self.delta,
            "figures": [{**figure.to_dict(), "gap": gap} for figure, gap in zip(self.figures, self.gaps, strict=True)],
            "synthetic": None if self.synthetic is None else [figure.to_dict() for figure in self.synthetic],
            "guarantee": self.guarantee.to_dict(),
            "statement": self.statement,
            "notes": list(self.notes),
        }

    @classmethod
    def from_dict(cls, facts: Mapping[str, Any]) -> "Answer":
        """Read back what :meth:`to_dict` wrote."""
        try:
            if facts["format"] != FORMAT:
                raise ReleaseError(f"the answer is of format {facts['format']!r}; this version reads {FORMAT}.")
            told = facts["synthetic"]
            return cls(
                answer_id=str(facts["answer"]),
                question=str(facts["question"]),
                kind=str(facts["kind"]),
                figures=tuple(map(figure_of, facts["figures"])),
                synthetic=None if told is None else tuple(map(figure_of, told)),
                statement=str(facts["statement"]),
                guarantee=guarantee_from_dict(dict(facts["guarantee"])),
                epsilon=float(facts["epsilon"]),
                delta=facts["delta"],
                level=float(facts["level"]),
                target=str(facts["for"]),
                created=str(facts["created"]),
                notes=tuple(facts["notes"]),
            )
        except (LookupError, TypeError, ValueError) as reason:
            raise ReleaseError(
                f"the answer cannot be read ({reason}); take it again from where it was given."
            ) from None

    def page(self) -> str:
        """Its public page."""
        from understudy.answers.page import answer_page

        return answer_page(self)

    def __repr__(self) -> str:
        return f"<Answer to {self.question!r}: {len(self.figures)} figures, epsilon {self.epsilon:g}>"


def figure_of(facts: Mapping[str, Any]) -> Figure:
    """A figure from plain data."""
    known = {one.name: facts.get(one.name) for one in fields(Figure)}
    known["warnings"] = tuple(facts.get("warnings", ()))
    return Figure(**known)  # type: ignore[arg-type]


def matched(figures: Sequence[Figure], synthetic: Sequence[Figure] | None) -> list[Figure | None]:
    """For each figure the same one of a release, by its name."""
    told = {_key(figure.name): figure for figure in synthetic or ()}
    return [told.get(_key(figure.name)) for figure in figures]


def _key(name: str) -> tuple[str, ...]:
    """A name whose conditions may stand in any order."""
    what, _, whom = name.partition(" | ")
    return (what, *sorted(whom.split(", ")))


def gaps_of(figures: Sequence[Figure], synthetic: Sequence[Figure] | None) -> tuple[float | None, ...]:
    """The answer minus what the release had said."""
    return tuple(
        None if other is None or other.estimate is None or figure.estimate is None else figure.estimate - other.estimate
        for figure, other in zip(figures, matched(figures, synthetic), strict=True)
    )


def table_of(figures: Sequence[Figure], synthetic: Sequence[Figure] | None) -> pa.Table:
    """The figures as a table, beside those of a release."""
    others = matched(figures, synthetic)
    numbers = {
        "estimate": [figure.estimate for figure in figures],
        "error": [figure.error for figure in figures],
        "low": [figure.low for figure in figures],
        "high": [figure.high for figure in figures],
        "sampling": [figure.sampling for figure in figures],
        "release": [None if other is None else other.estimate for other in others],
        "release_low": [None if other is None else other.low for other in others],
        "release_high": [None if other is None else other.high for other in others],
        "gap": list(gaps_of(figures, synthetic)),
    }
    columns = {name: pa.array(values, pa.float64()) for name, values in numbers.items()}
    columns["figure"] = pa.array([figure.name for figure in figures], pa.string())
    columns["note"] = pa.array([figure.refused or "; ".join(figure.warnings) for figure in figures], pa.string())
    return pa.table({name: columns[name] for name in COLUMNS})


class FittedAnswer(FittedWhole):
    """A question whose cells were counted. Nothing of them is shown before it is paid for."""

    def __init__(
        self,
        *,
        plan: Plan,
        source: Source,
        stream: Stream,
        report: Report | None = None,
        synthetic: Sequence[Figure] | None = None,
        compared: Provenance | None = None,
    ) -> None:
        source.provenance.refuse_as_data("an answer")
        super().__init__(account=source.account, provenance=source.provenance, stream=stream, report=report)
        self.recipe = plan
        self.synthetic, self._compared = synthetic, compared
        self._tell("counting", 0, 1)
        self._counted: Counted = plan.count(source, stream)
        self._tell("counting", 1, 1)

    def quote(self, rows: int | None = None) -> Quote:
        """The price of all figures together; a release that was asked first is in it, and is paid for once."""
        quote = self.recipe.quoted(secure=self._stream.is_secure).with_data(self._provenance)
        return quote if self._compared is None else quote.with_public({InputRole.COMPARED: self._compared})

    def _choices(self, quote: Quote) -> str:
        return choices_of(quote, self.recipe.parameters(), self.recipe.grid.used.digest)

    def _label(self, quote: Quote) -> str:
        return f"{quote.method}: {self.recipe.question.text}"

    def _make(self, quote: Quote, payment: Payment, **how: Any) -> Release:
        figures = self._counted.draw()
        self.figures = figures
        manifest = describe(
            quote,
            payment,
            parameters=self.recipe.parameters(),
            rows_origin=_ORIGIN,
            codebook=self.recipe.grid.used,
            secure=self._stream.is_secure,
            made=Made.ANSWER,
        )
        return Release(table=table_of(figures, self.synthetic), manifest=manifest)

    def answered(self, out: str | Path | None = None) -> Answer:
        """Pay, draw, and hand over or write to a new folder."""
        release = self.sample() if out is None else self.write(out)
        manifest = release.manifest
        answer = Answer.of(
            self.recipe,
            self.figures,
            answer_id=manifest.release_id,
            created=manifest.created,
            synthetic=self.synthetic,
            quote=manifest.quote,
            release=release,
        )
        return replace(answer, statement=manifest.statement)
