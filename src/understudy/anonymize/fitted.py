"""A table that a recipe was applied to: what it has was counted, and it can be handed over or written.

Whether what is drawn from it later keeps its price depends on one question: does every row come from one record by
itself? Two tables that differ by one record are then sent to two that differ by one row, and a price per row is one
per record (``mechanisms/proofs/k_anonymity.md``). :func:`is_record_wise` answers it.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from understudy.anonymize.cells import Cells
from understudy.anonymize.measure import Measured
from understudy.anonymize.outcome import Outcome
from understudy.confidential import Confidential
from understudy.mechanisms.k_anonymity import KAnonymousTable
from understudy.mechanisms.stream import Stream
from understudy.privacy.ledger import Entry, Ledger, stream_entries
from understudy.privacy.provenance import InputRole, Made
from understudy.privacy.quote import Quote
from understudy.privacy.transaction import Payment
from understudy.release import Release, describe
from understudy.release.making import FittedWhole, choices_of
from understudy.sources.base import Report, Source

if TYPE_CHECKING:
    from understudy.anonymize.recipe import Recipe

_PUBLIC = ("do", "column", "columns", "to", "steps", "loss", "nodes")
"""Facts of a step that can be seen in the released table or that recipe and codebook fix: no count of records, nor of
nodes that the search had to visit, which the records decide."""
_ACCOUNT = "none: k-anonymity is no differential privacy, and no account can hold it against an epsilon"


def is_record_wise(recipe: "Recipe", source: Source, stream: Stream) -> bool:
    """Whether every row will come from one record of the people behind the source, by itself.

    Every step must say so. Under a seed a step that draws does not: the n-th row gets the n-th noise, and one record
    more shifts the noise of all rows after it. Bins that were read from the data are no public rule. Where people have
    several records, one person changes several rows. And rows of a table that was made from many records do not become
    records by being recoded.
    """
    book = source.codebook
    return (
        recipe.is_record_wise
        and (stream.is_secure or not recipe.is_random)
        and book.is_public
        and book.unit is None
        and source.provenance.record_wise
    )


class FittedAnonymized(FittedWhole):
    """A recipe and what it made of a table."""

    def __init__(
        self, *, recipe: "Recipe", source: Source, outcome: Outcome, stream: Stream, report: Report | None
    ) -> None:
        super().__init__(account=None, provenance=source.provenance, stream=stream, report=report)
        self.recipe = recipe
        self.codebook = source.codebook
        self.outcome = outcome
        self.record_wise = is_record_wise(recipe, source, stream)

    def quote(self, rows: int | None = None) -> Quote:
        """What can be claimed, once it is counted; there is no price.

        What the input is does not change what the classes of this table are, so it is told and nothing more.
        """
        return Quote(
            method="anonymize",
            route="none",
            own=Ledger.of(self._entries()),
            rows=self.outcome.measured.rows,
            own_delta=None,
            inputs={InputRole.DATA: self._provenance},
        )

    @contextmanager
    def _paying(self, quote: Quote, *, files: int = 1) -> Iterator[Payment]:
        yield Payment.free(words=_ACCOUNT)

    def _choices(self, quote: Quote) -> str:
        return choices_of(quote, self.recipe.to_dict(), self.codebook.digest)

    def _make(self, quote: Quote, payment: Payment, **how: Any) -> Release:
        state, measured = self.outcome.state, self.outcome.measured
        manifest = describe(
            quote,
            payment,
            parameters=self.recipe.to_dict(),
            rows_origin="one row per record that was kept: the number is the data's own",
            codebook=self.outcome.book,
            secure=self._stream.is_secure,
            warnings=self._warnings(),
            made=Made.ANONYMIZED,
            record_wise=self.record_wise,
            real_records=True,
            anonymity={
                "quasi_identifiers": list(state.quasi),
                "asked": {"k": state.k, "criteria": [criterion.to_dict() for criterion in state.criteria]},
                "measured": measured.to_dict(),
                "applied": [{name: fact[name] for name in fact if name in _PUBLIC} for fact in state.facts],
                "trees": dict(self.outcome.trees),
            },
        )
        return Release(table=self.outcome.table, manifest=manifest)

    def _entries(self) -> list[Entry]:
        state, measured = self.outcome.state, self.outcome.measured
        names = ", ".join(state.quasi)
        if measured.k < 2:
            why = f"records of real people, some of them alone with their combination of {names}"
            entries = [Entry.unpriced(stage="release", reads="every record", why=why)]
        else:
            criteria = tuple(criterion.label for criterion, _ in measured.achieved)
            entries = [
                Entry(
                    stage="release",
                    reads="every record",
                    event=KAnonymousTable(k=measured.k, quasi_identifiers=state.quasi, criteria=criteria),
                    assumptions=(f"an intruder can link by {names} and by nothing else in the table",),
                )
            ]
        return [*entries, *stream_entries(self._stream.is_secure or not self.recipe.is_random)]

    def _warnings(self) -> tuple[str, ...]:
        warnings = []
        if self.codebook.unit is not None:
            warnings.append(
                "classes count records, not people: one person with several records may fill a class alone, so that "
                "its size says less than it seems."
            )
        if self.codebook.details:
            names = ", ".join(detail.name for detail in self.codebook.details)
            warnings.append(f"left out: {names} (detailed codes are not anonymised).")
        if not self.codebook.is_public:
            warnings.append(
                f"levels of {', '.join(self.codebook.unattested)} were drafted from the data: they say what occurs in "
                "it."
            )
        return tuple(warnings)

    def __repr__(self) -> str:
        return f"<anonymised table of {len(self.outcome.book.columns)} columns, not handed over yet>"


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Anonymized(Confidential):
    """The release, and what it was made from; everything but the release is confidential."""

    release: Release
    before: Cells
    """The table as it was read."""
    facts: tuple[Mapping[str, Any], ...]
    """What each step did."""
    quasi: tuple[str, ...]
    measured: Measured

    @classmethod
    def of(cls, fitted: FittedAnonymized, release: Release) -> "Anonymized":
        """The release of a fit, with its facts."""
        made = fitted.outcome
        return cls(
            release=release, before=made.before, facts=made.state.facts, quasi=made.state.quasi, measured=made.measured
        )
