"""Everything the page says, as one document: counted from the confidential table and from the released one."""

import datetime as dt
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from understudy.anonymize.cells import STAR, Cells
from understudy.anonymize.measure import class_sizes, row_classes
from understudy.anonymize.mosaic import Mosaic, mosaic_counts
from understudy.anonymize.released import table_of
from understudy.anonymize.report.alternatives import Alternative, alternatives, of_classes
from understudy.anonymize.risk import RiskFigures, band_counts, risk_figures
from understudy.anonymize.verify import REMEDY, read_anonymized, verify_anonymized
from understudy.codebook import Codebook, Role
from understudy.codec import to_plain
from understudy.confidential import Confidential
from understudy.errors import ReleaseError
from understudy.loading import loading
from understudy.release.release import CODEBOOK
from understudy.version import __version__

FORMAT = "understudy-anonymity/2"
_SHOWN = 3
"""Quasi-identifiers in a mosaic."""


@dataclass(frozen=True, kw_only=True, repr=False)
class Findings(Confidential):
    """The document."""

    title: str
    manifest: Mapping[str, Any]
    problems: tuple[str, ...]
    before: RiskFigures
    after: RiskFigures
    duplicates: tuple[Mapping[str, int], Mapping[str, int]]
    """Rows by how many rows share all their values, before and after (figure 2.3)."""
    duplicate_uniques: tuple[int, int]
    suppressed: int
    """Rows that read * in every quasi-identifier."""
    deleted: int
    mosaics: tuple[Mosaic, Mosaic] | None
    homogeneity: Mapping[str, Mapping[str, float]]
    chosen: Alternative
    """The release itself, measured as its alternatives are."""
    alternatives: Sequence[Alternative]

    def to_dict(self) -> dict[str, Any]:
        """As plain data; the page says no number that is not in it."""
        said = ("statement", "release", "anonymity", "parameters", "warnings")
        counted = {name: value for name, value in vars(self).items() if name not in ("manifest", "title")}
        return {
            "format": FORMAT,
            "title": self.title,
            "created": dt.datetime.now(dt.UTC).isoformat(timespec="seconds"),
            "understudy": __version__,
            **{name: self.manifest[name] for name in said},
            **to_plain(counted),
        }


def gather(
    before: Cells, folder: str | Path, *, population: Cells | None = None, threshold: float = 0.2, title: str = ""
) -> Findings:
    """Compare the confidential table with an anonymised release of it. What comes out is confidential."""
    place = Path(folder)
    verdict, _ = verify_anonymized(place)
    released = read_anonymized(place)
    manifest, table, quasi, sizes = released.manifest, released.table, released.quasi, released.sizes
    known = before.select(quasi)
    people = None if population is None else people_in(known, population)
    with loading(place, "the release", remedy=REMEDY, error=ReleaseError, quotes=False):
        asked = manifest["anonymity"]["asked"]["k"] or 2
        stars = _all_stars(table, quasi)
        kept = [name for name in table.column_names if name in before.names]
        whole_before, whole_after = before.select(kept).counts, class_sizes(table, kept)
        return Findings(
            title=title or Codebook.load(place / CODEBOOK).title or "Anonymised table",
            manifest=manifest,
            problems=verdict.problems,
            before=risk_figures(known.counts, population=people, threshold=threshold),
            after=risk_figures(sizes, threshold=threshold),
            duplicates=(band_counts(whole_before), band_counts(whole_after)),
            duplicate_uniques=(int((whole_before == 1).sum()), int((whole_after == 1).sum())),
            suppressed=int(stars.sum()),
            deleted=before.rows - table.num_rows,
            mosaics=_mosaics(table_of(known), table, quasi, asked),
            homogeneity=_homogeneity(before, table, quasi),
            chosen=of_classes(
                "as released", sizes, known.counts, suppressed=int(stars.sum()) + before.rows - table.num_rows
            ),
            alternatives=alternatives(before, manifest["parameters"], quasi),
        )


def _all_stars(table: pa.Table, quasi: Sequence[str]) -> npt.NDArray[np.bool_]:
    import pyarrow.compute as pc

    stars = np.ones(table.num_rows, dtype=bool)
    for name in quasi:
        values = table.column(name).cast(pa.string())
        stars &= pc.fill_null(pc.equal(values, STAR), False).to_numpy(zero_copy_only=False)
    return stars


def people_in(known: Cells, population: Cells) -> npt.NDArray[np.int64]:
    """People of the population in each class of the table: at least as many as the table has."""
    wide = population.select(known.names)
    counts = {tuple(codes): int(count) for codes, count in zip(wide.codes.tolist(), wide.counts, strict=True)}
    people = np.array([counts.get(tuple(codes), 0) for codes in known.codes.tolist()], dtype=np.int64)
    if (short := int((people < known.counts).sum())) > 0:
        raise ReleaseError(
            f"the population has fewer people than the table in {short:,} of {len(people):,} classes; it must hold the "
            "people of the table too. Is this another population?"
        )
    return people


def _mosaics(before: pa.Table, after: pa.Table, quasi: Sequence[str], k: int) -> tuple[Mosaic, Mosaic] | None:
    """The first few quasi-identifiers; the one with most values stands upright."""
    shown = list(quasi[:_SHOWN])
    if len(shown) < 2:
        return None
    sizes = {name: len(before.column(name).unique()) for name in shown}
    up = max(shown, key=lambda name: sizes[name])
    across = sorted((name for name in shown if name != up), key=lambda name: sizes[name])
    return mosaic_counts(before, across=across, up=up, k=k), mosaic_counts(after, across=across, up=up, k=k)


def _homogeneity(before: Cells, table: pa.Table, quasi: Sequence[str]) -> dict[str, dict[str, float]]:
    """Share of rows whose class has one sensitive value only: whoever finds the class knows it."""
    sensitive = [name for name in before.with_roles(Role.SENSITIVE) if name in table.column_names and name not in quasi]
    text = table_of(before) if sensitive else table
    return {
        name: {"before": _one_valued(text, quasi, name), "after": _one_valued(table, quasi, name)} for name in sensitive
    }


def _one_valued(table: pa.Table, quasi: Sequence[str], column: str) -> float:
    classes = row_classes(table, quasi)
    pairs = row_classes(table, [*quasi, column])
    values = np.bincount(np.unique(np.stack([classes, pairs]), axis=1)[0])
    return float((values[classes] == 1).mean())
