"""Records set aside in every repeat of a map, and what attacks on a release gain on the others over them.

A release is made of the records that were kept. An attack that works as well on those set aside has learned about
everybody; what it gains on the kept ones, it learned about them.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from understudy.evaluate.remembered import Remembered
from understudy.evaluate.risk.cells import Cells, joint_keys, open_cells
from understudy.evaluate.risk.giomi import inference
from understudy.evaluate.risk.membership import source_of
from understudy.mechanisms.stream import Stream
from understudy.sources.base import Source

MEMBERSHIP = "extra_membership"
INFERENCE = "extra_inference"
TARGETS = 2000
"""People of each side whose sensitive value is guessed."""


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

    def gains(self, synthetic: Source, wanted: Sequence[str]) -> dict[str, float]:
        """What each attack gains on kept people, as a share, and its standard error: whose name ends in ``)``."""
        names = synthetic.codebook.names
        copy = open_cells(synthetic, names)
        inside, outside = (open_cells(part, names) for part in (self.kept, self.others))
        gains = _gain(MEMBERSHIP, (_known(inside, copy), inside.rows), (_known(outside, copy), outside.rows))
        for name in wanted if len(names) > 1 else ():
            rates = inference(self.kept, synthetic, sensitive=name, holdout=self.others, targets=TARGETS).breakdown
            sizes = min(TARGETS, inside.rows), min(TARGETS, outside.rows)
            gains |= _gain(f"{INFERENCE}: {name}", (rates["attack"], sizes[0]), (rates["control"], sizes[1]))
        return gains


def _known(people: Cells, copy: Cells) -> float:
    """Share of people whose whole record the release has."""
    ours, theirs = joint_keys(people.sizes, people.codes, copy.codes)
    return float(people.counts[np.isin(ours, theirs)].sum() / people.rows)


def _gain(name: str, inside: tuple[float, int], outside: tuple[float, int]) -> dict[str, float]:
    """The difference of two rates, each of so many people, and its standard error.

    >>> gains = _gain("x", (0.5, 100), (0.5, 100))
    >>> gains["x"], round(gains["x (error)"], 3)
    (0.0, 0.07)
    """
    known = [((rate * n + 1) / (n + 2), n) for rate, n in (inside, outside)]  # Laplace's rule: 0 is not known exactly
    error = math.sqrt(sum(rate * (1 - rate) / n for rate, n in known))
    return {name: inside[0] - outside[0], f"{name} (error)": error}
