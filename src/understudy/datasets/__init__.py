"""Tables that ship with Understudy: simulated ones only, each with its codebook."""

from understudy.codebook import Codebook
from understudy.datasets.commutes import commutes
from understudy.datasets.discharges import discharges, discharges_codebook_text

__all__ = ["commutes", "discharges", "discharges_codebook", "discharges_codebook_text"]


def discharges_codebook() -> Codebook:
    """The codebook of :func:`discharges`: thirteen columns, levels and parents declared."""
    return Codebook.from_toml(discharges_codebook_text())
