"""From a source and a recipe to a release, and to what a report about it needs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from understudy.anonymize.cells import Cells, base_texts
from understudy.anonymize.fitted import FittedAnonymized
from understudy.anonymize.measure import Measured
from understudy.anonymize.recipe import Recipe
from understudy.confidential import Confidential
from understudy.mechanisms.stream import Stream
from understudy.release import Release
from understudy.sources.base import Report, Source


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


def anonymize(
    source: Source, recipe: Recipe, *, quasi: Sequence[str] | None = None, stream: Stream | None = None,
    report: Report | None = None,
) -> Anonymized:  # fmt: skip
    """Apply a recipe and measure what came out. A table that falls short of what was asked is refused."""
    fitted = recipe.fit(source, quasi=quasi, stream=stream, report=report)
    return Anonymized.of(fitted, fitted.sample())


def table_of(cells: Cells) -> pa.Table:
    """Cells as text, for figures about a table before it was anonymised; confidential."""
    rows = cells.expanded()
    arrays = {}
    for place, column in enumerate(cells.columns):
        labels = pa.array([*base_texts(column), *([None] if column.missing is not None else [])], type=pa.string())
        arrays[column.name] = labels.take(pa.array(rows[:, place]))
    return pa.table(arrays)
