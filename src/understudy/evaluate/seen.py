"""Which records of one table another table holds too, and how many new ones chance would bring."""

import numpy as np
import numpy.typing as npt

from understudy.sources.tables import CountTable


def known_records(known: CountTable, asked: CountTable) -> npt.NDArray[np.bool_]:
    """Which occupied cells of ``asked`` are occupied in ``known`` too."""
    codes, _ = known.occupied()
    others, _ = asked.occupied()
    kind = np.result_type(codes.dtype, others.dtype)
    both = np.concatenate([codes.astype(kind), others.astype(kind)])
    order = np.lexsort(both.T[::-1])  # stable: of two equal records the known one comes first
    ranked = both[order]
    same = np.concatenate([[False], (ranked[1:] == ranked[:-1]).all(axis=1)]) if len(both) else np.zeros(0, bool)
    found = np.zeros(len(both), dtype=np.bool_)
    found[order] = same
    return found[len(codes) :]


def unseen_share(table: CountTable) -> float:
    """Good and Turing's estimate of the share of new rows whose record the table lacks: singletons over rows."""
    _, counts = table.occupied()
    return float((counts == 1).sum() / counts.sum())
