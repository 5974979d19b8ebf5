"""Records set aside in every repeat of a map, and what attacks on a release gain on the others over them.

A release is made of the records that were kept. An attack that works as well on those set aside has learned about
everybody; what it gains on the kept ones, it learned about them.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from understudy.evaluate.remembered import Remembered
from understudy.evaluate.risk.cells import open_cells
from understudy.evaluate.risk.gains import counted_gains, gains_of
from understudy.evaluate.risk.giomi import inference
from understudy.evaluate.risk.intervals import Z95
from understudy.evaluate.risk.membership import source_of
from understudy.mechanisms.stream import Stream
from understudy.sources.base import Source

GAIN = "gain: "
"""Before the name of an attack, among the measures of a run."""
TARGETS = 2000
"""People of each side whose sensitive value is guessed from the nearest row."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Parted:
    """Records of which a release is made, and those set aside."""

    kept: Source
    others: Source

    @classmethod
    def of(cls, real: Source, share: float, stream: Stream) -> "Parted":
        """Set a share of the records aside at random; at least one stays on each side."""
        records = open_cells(real, [column.name for column in real.counted]).records()
        held = min(max(round(len(records) * share), 1), len(records) - 1)
        order = np.argsort(stream.words(len(records)), kind="stable")
        kept, others = (source_of(real.codebook, records[rows]) for rows in (order[held:], order[:held]))
        return cls(kept=Remembered(kept), others=Remembered(others))

    def gains(self, synthetic: Source, *, quasi: Sequence[str], sensitive: Sequence[str]) -> dict[str, float]:
        """What each attack gains on kept people, and its standard error, whose name ends in ``)``."""
        found = counted_gains(self.kept, synthetic, self.others, quasi=quasi, sensitive=sensitive)
        if len(synthetic.codebook.names) > 1:
            for name in sensitive:
                score = inference(self.kept, synthetic, sensitive=name, holdout=self.others, targets=TARGETS)
                found += gains_of([replace(score, metric=f"{score.metric}: {name}")])
        values = {f"{GAIN}{gain.attack}": gain.value for gain in found}
        return values | {f"{GAIN}{gain.attack} (error)": (gain.high - gain.low) / (2 * Z95) for gain in found}
