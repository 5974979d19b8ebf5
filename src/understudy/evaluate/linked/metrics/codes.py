"""Detailed codes of linked tables, which no other metric looks at."""

import numpy as np

from understudy.codebook import Coded
from understudy.evaluate.linked.rows import LinkedRows
from understudy.evaluate.linked.shares import distance, shares
from understudy.evaluate.metric import Metric, Score
from understudy.evaluate.utility.measure import measures

CODES = Metric(
    name="detailed_codes",
    title="Detailed codes",
    says="Total variation distance of the shares of detailed codes, averaged over columns; a code that fell back to "
    "its parent, or to other, counts as changed.",
)


@measures(CODES, place=25)
def detailed_codes(real: LinkedRows, synthetic: LinkedRows) -> Score | None:
    """Of every column of codes; the note says how many rows name a parent. None where there are no codes."""
    parts: dict[str, float] = {}
    fell: list[str] = []
    for table in real.book.tables:
        for detail in table.book.details:
            sides = [side.tables[table.name].codes(detail.name) for side in (real, synthetic)]
            parts[table.spelled(detail.name)] = distance(*(shares([codes], [detail.size]) for codes in sides))
            vague = np.zeros(detail.size, dtype=bool)
            vague[detail.code_of[str(detail.other)]] = True
            if isinstance(detail, Coded):
                vague[[detail.place_of[node] for node in detail.codes.nodes]] = True
            known = sides[1][sides[1] >= 0]
            fell.append(f"{np.mean(vague[known]) if len(known) else 0:.1%} of {table.spelled(detail.name)}")
    if not parts:
        return None
    return CODES.mean(parts, note=f"{', '.join(fell)} name a parent or other in place of a code.", empty="")
