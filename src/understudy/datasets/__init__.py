"""Tables that ship with Understudy: simulated ones only, each with its codebook."""

from understudy.codebook import Codebook
from understudy.datasets.commutes import commutes
from understudy.datasets.discharges import discharges, discharges_codebook_text
from understudy.datasets.histories import encounters, encounters_codebook, histories, histories_codebook

__all__ = [
    "commutes",
    "discharges",
    "discharges_codebook",
    "discharges_codebook_text",
    "encounters",
    "encounters_codebook",
    "histories",
    "histories_codebook",
]


def discharges_codebook() -> Codebook:
    """The codebook of :func:`discharges`: thirteen columns, levels and parents declared."""
    return Codebook.from_toml(discharges_codebook_text())
