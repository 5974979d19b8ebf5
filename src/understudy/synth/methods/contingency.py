"""`contingency`: rows drawn from the exact table of full records. The baseline that promises nothing."""

from dataclasses import dataclass
from typing import ClassVar

from understudy.codebook import Codebook
from understudy.mechanisms.smoothing import exposed
from understudy.mechanisms.stream import Stream
from understudy.privacy.ledger import Entry
from understudy.privacy.secret import Secret
from understudy.sources.tables import CountTable
from understudy.synth.histograms import TableRecipe
from understudy.synth.method_facts import baseline_facts

_READS = "exact counts of full records"
_WHY = "rows are drawn from the exact counts; every synthetic row is a real record"


@dataclass(frozen=True, kw_only=True)
class Contingency(TableRecipe):
    """A bootstrap of the real rows, for comparison only."""

    facts = baseline_facts(
        "contingency",
        truth="Every synthetic row is a real record.",
        page="bootstraps",
    )
    summary = "draw from the exact table of full records: a baseline, every row is a real one"
    example = {}
    shows_records: ClassVar[bool] = True

    def table_entry(self, book: Codebook) -> Entry:
        """Nothing is paid."""
        return Entry.unpriced(stage="tables", reads=_READS, why=_WHY)

    def perturb_table(self, counts: Secret[CountTable], stream: Stream) -> tuple[CountTable, Entry]:
        """Leave the counts as they are."""
        tables, entry = exposed([counts], stage="tables", reads=_READS, why=_WHY)
        return tables[0], entry
