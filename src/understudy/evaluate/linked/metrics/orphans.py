"""Keys that lead nowhere, and keys that two rows share."""

import math

from understudy.evaluate.linked.rows import NONE, LinkedRows
from understudy.evaluate.metric import Metric, Score
from understudy.evaluate.utility.measure import measures

ORPHANS = Metric(
    name="orphans",
    title="Orphans",
    says="Rows whose parent does not exist, and rows whose key another row has already. It must be 0.",
    highest=math.inf,
)


@measures(ORPHANS, place=50)
def orphans(real: LinkedRows, synthetic: LinkedRows) -> Score:
    """Counts of the synthetic tables by table; the note tells those of the real ones."""
    parts = _counted(synthetic)
    told = {name: count for name, count in _counted(real).items() if count}
    note = "; ".join(f"{count:,.0f} {name}" for name, count in told.items())
    return ORPHANS.score(sum(parts.values()), parts, note=f"In the confidential tables: {note}." if note else "")


def _counted(rows: LinkedRows) -> dict[str, float]:
    parts: dict[str, float] = {}
    for name, table in rows.tables.items():
        if table.table.parent is not None:
            parts[f"orphans in {name}"] = float((table.above == NONE).sum())
        if table.table.key is not None:
            parts[f"repeated keys in {name}"] = float(table.repeated_keys)
    return parts
