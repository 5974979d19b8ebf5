"""Gibbs diagnostics of a release whose rows are chains: `pegs-rs` writes blocks of rows, each drawn from the last.

Rows late in a block drift towards the prior (pegs.txt figure 5); consecutive rows resemble each other.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from understudy.codebook import Codebook
from understudy.evaluate.opened import Counts
from understudy.evaluate.utility.distances import total_variation
from understudy.evaluate.utility.references import expected_gap
from understudy.evaluate.values import codes_of

_MOST_ROWS = 100_000


def chain_facts(path: str, book: Codebook, real: dict[str, Counts], block: int) -> dict[str, Any] | None:
    """Distance to the confidential shares by place in the block, and the correlation of neighbours in a block."""
    import pyarrow.parquet as pq

    table = pq.read_table(path, columns=list(book.names)).slice(0, _MOST_ROWS)
    blocks = table.num_rows // block
    if block < 2 or blocks < 2:
        return None
    distances = np.zeros(block)
    chance, lags = 0.0, {}
    for name in book.names:
        column = book.column(name)
        codes = codes_of(table.column(name), column)[: blocks * block].reshape(blocks, block)
        shares = real[name] / real[name].sum()
        chance += float(expected_gap(shares, shares, blocks).sum() / 2)
        for place in range(block):
            distances[place] += total_variation(real[name], np.bincount(codes[:, place], minlength=column.size))
        lags[name] = _lag_one(codes == np.bincount(codes.ravel()).argmax())
    columns = len(book.names)
    return {
        "says": f"The rows come in blocks of {block}, each row drawn from the one before it; a cell of a table that "
        "was drawn from is reset to the prior for the rest of its block. Rows late in a block may therefore drift "
        f"towards the prior. {blocks:,} blocks were looked at.",
        "block_size": block,
        "distance": (distances / columns).tolist(),
        "bootstrap": chance / columns,
        "lag_one": lags,
    }


def _lag_one(sits: npt.NDArray[np.bool_]) -> float | None:
    """Correlation of neighbours within blocks, by whether the column sits in its most common level."""
    first, second = sits[:, :-1].ravel().astype(np.float64), sits[:, 1:].ravel().astype(np.float64)
    if np.ptp(first) == 0 or np.ptp(second) == 0:
        return None
    return float(np.corrcoef(first, second)[0, 1])
