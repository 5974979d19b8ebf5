"""How many rows people have, by what is known of them."""

import numpy as np

from understudy.evaluate.linked.rows import LinkedRows
from understudy.evaluate.linked.shares import coarse, distance, shares
from understudy.evaluate.metric import Metric, Score
from understudy.evaluate.utility.measure import measures

CHILDREN = Metric(
    name="children_by_group",
    title="Number of rows by group",
    says="Distance between how many rows of a child table go with one row of the parent, by each column of the parent.",
)


@measures(CHILDREN, place=10)
def children_by_group(real: LinkedRows, synthetic: LinkedRows) -> Score:
    """Mean over the columns of the parents; the breakdown also has the distance whatever the group."""
    parts: dict[str, float] = {}
    overall: dict[str, float] = {}
    for table in real.book.tables:
        if table.parent is None:
            continue
        numbers = [_numbers(side, table.name, table.cap or 0) for side in (real, synthetic)]
        sizes = (table.cap or 0) + 1
        overall[f"rows of {table.name}"] = distance(*(shares([number], [sizes]) for number in numbers))
        parent = real.book.table(table.parent)
        for column in parent.book.modelled:
            tables = []
            for side, number in zip((real, synthetic), numbers, strict=True):
                codes, size = coarse(column, side.tables[parent.name].codes(column.name))
                tables.append(shares([codes, number], [size, sizes]))
            parts[f"{parent.spelled(column.name)} x rows of {table.name}"] = distance(*tables)
    score = CHILDREN.mean(parts, empty="There is one table only.")
    return CHILDREN.score(
        score.value, {**overall, **parts}, note=score.note or "Numbers beyond a cap count as the cap."
    )


def share_by_number(rows: LinkedRows, name: str) -> list[float]:
    """Share of the parent's rows that have none, one, two, ... rows of this table, up to its cap."""
    cap = rows.book.table(name).cap or 0
    return [float(share) for share in shares([_numbers(rows, name, cap)], [cap + 1])]


def _numbers(rows: LinkedRows, name: str, cap: int) -> np.ndarray:
    return np.minimum(rows.children(name), cap)
