"""Everything that a report says, as one value: the page and the JSON document are both written from it.

Computed on confidential data; not covered by the guarantee of the release.
"""

import datetime as dt
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from understudy.codebook import Codebook
from understudy.confidential import Confidential
from understudy.evaluate.board import Board
from understudy.evaluate.impossible import ImpossibleRows
from understudy.evaluate.metric import Metric, Score, json_ready
from understudy.evaluate.report.columns import ColumnFacts
from understudy.evaluate.report.intruder import Attacks
from understudy.evaluate.report.pairs import Mosaic, PairFacts
from understudy.evaluate.report.release_facts import ReleaseFacts
from understudy.evaluate.report.verdicts import Judgement, judgement_dict
from understudy.evaluate.utility.regression import Comparison
from understudy.privacy.card import card
from understudy.version import __version__

FORMAT = "understudy-report/1"
BANNER = (
    "Confidential. This report was computed on the confidential data and shows exact figures of them. The privacy "
    "guarantee of the release does not cover it: do not publish it with the release."
)


@dataclass(frozen=True, kw_only=True)
class Headline:
    """One line of the summary, with what two known tables would score."""

    label: str
    says: str
    goal: str
    value: float
    bootstrap: float | None = None
    """What a bootstrap of the confidential table, of the same size, would score: the best one can hope for."""
    independent: float | None = None
    """What independent columns would score: the least one should ask for."""
    low: float | None = None
    high: float | None = None
    perfect: float = 0.0
    worst: float | None = None
    """Where its scale ends, if it has an end."""


@dataclass(frozen=True, kw_only=True)
class HonestInterval:
    """A coefficient from the measurements of a release, whose interval covers their noise."""

    name: str
    estimate: float
    low: float
    high: float


@dataclass(frozen=True, kw_only=True)
class Measured:
    """A score with the description of its metric."""

    metric: Metric
    score: Score

    def to_dict(self) -> dict[str, Any]:
        """As plain data."""
        return {
            **self.score.to_dict(),
            "goal": self.metric.goal,
            "perfect": json_ready(self.metric.perfect),
            "room": self.metric.room,
            "says": self.metric.says,
        }


@dataclass(frozen=True, kw_only=True, repr=False)
class Findings(Confidential):
    """All numbers of one report."""

    codebook: Codebook
    real_label: str
    synthetic_label: str
    real_rows: int
    synthetic_rows: int
    holdout_rows: int | None
    holdout_twins: float | None
    release: ReleaseFacts | None
    columns: Sequence[ColumnFacts]
    pairs: Sequence[PairFacts]
    mosaics: Sequence[Mosaic]
    models: Sequence[Comparison]
    utility: Sequence[Measured]
    risk: Sequence[Measured]
    risk_level: str
    headlines: Sequence[Headline]
    target: str | None
    given: str | None
    notes: Sequence[str]
    impossible: ImpossibleRows
    """Combinations that only synthetic rows have, and breaches of declared rules."""
    attacks: Attacks
    board: Board
    judgement: Judgement
    """One verdict per question, against the limits of the board."""
    honest: Mapping[str, Sequence[HonestInterval]] = field(default_factory=dict)
    """By formula: what the measurements of the release say about coefficients, with intervals that hold."""
    chain: dict[str, Any] | None = None
    """Gibbs diagnostics, where the rows came from chains."""
    created: str = field(default_factory=lambda: dt.datetime.now(dt.UTC).isoformat(timespec="seconds"))

    def _repr_html_(self) -> str:
        """A card without figures, which were computed on real people."""
        facts = [
            ("Measured", ", ".join(sorted({measured.metric.title for measured in (*self.utility, *self.risk)}))),
            ("Release", "one with a manifest" if self.release is not None else "a table"),
        ]
        note = "Computed on confidential data, not for release: figures are withheld here; `to_dict()` has them."
        return card("Findings", facts, note=note)

    def to_dict(self) -> dict[str, Any]:
        """The JSON document. Numbers that JSON cannot hold are null."""
        held = {"rows": self.holdout_rows, "share_with_a_twin": self.holdout_twins}
        document: dict[str, Any] = json_ready(
            {
                "format": FORMAT,
                "created": self.created,
                "understudy": __version__,
                "warning": BANNER,
                "title": self.codebook.title,
                "real": {"label": self.real_label, "rows": self.real_rows},
                "synthetic": {"label": self.synthetic_label, "rows": self.synthetic_rows},
                "holdout": None if self.holdout_rows is None else held,
                "target": self.target,
                "given": self.given,
                "release": self.release,
                "notes": self.notes,
                "board": self.board.to_dict(),
                "judgement": judgement_dict(self.judgement),
                "attacks": self.attacks,
                "summary": self.headlines,
                "columns": self.columns,
                "association": self._association(),
                "pairs": [
                    {name: getattr(pair, name) for name in ("columns", "distance", "levels", "shares")}
                    for pair in self.pairs
                ],
                "mosaics": self.mosaics,
                "impossible": self.impossible,
                "models": self.models,
                "honest": self.honest,
                "utility": self.utility,
                "risk": {"level": self.risk_level, "scores": self.risk},
                "chain": self.chain,
            }
        )
        return document

    def _association(self) -> dict[str, Any]:
        names = list(self.codebook.names)
        size = len(names)
        grids = {which: np.full((size, size), math.nan) for which in ("real", "synthetic")}
        for pair in self.pairs:
            a, b = (names.index(name) for name in pair.columns)
            for which, value in (("real", pair.real), ("synthetic", pair.synthetic)):
                grids[which][a, b] = grids[which][b, a] = value
        return {
            "measure": "Cramer's V, corrected for bias",
            "columns": names,
            **grids,
            "difference": grids["synthetic"] - grids["real"],
        }
