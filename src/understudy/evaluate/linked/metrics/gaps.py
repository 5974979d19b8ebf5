"""How long it takes from one event to the next."""

import numpy as np

from understudy.evaluate.linked.rows import NONE, Floats, Ints, LinkedRows
from understudy.evaluate.linked.shares import coarse, distance, shares
from understudy.evaluate.metric import Metric, Score
from understudy.evaluate.utility.measure import measures

GAPS = Metric(
    name="gaps",
    title="Time between events",
    says="Distance between how long the next row takes to follow, by each column of the row before.",
)
EDGES = (0.0, 1.0, 8.0, 31.0, 91.0, 366.0)
BANDS = ("before it", "the same day", "1 to 7", "8 to 30", "31 to 90", "91 to 365", "later")
"""In days, or in the unit of the number that orders the rows."""


@measures(GAPS, place=40)
def gaps(real: LinkedRows, synthetic: LinkedRows) -> Score:
    """Mean over the columns of the row before; the breakdown also has the distance whatever they are."""
    parts: dict[str, float] = {}
    overall: dict[str, float] = {}
    for table in real.book.tables:
        days = gap_days(real, table.name)
        if days is None or len(np.unique(days[~np.isnan(days)])) < 2:  # a sequence number always grows by one
            continue
        sides = [(side, gap_bands(side, table.name)) for side in (real, synthetic)]
        overall[f"gaps in {table.name}"] = distance(*(gap_shares(side, table.name) for side, _ in sides))
        for column in table.book.modelled:
            if column.name == table.order:
                continue
            tables = []
            for side, bands in sides:
                codes, size = coarse(column, side.codes(f"{table.name}.previous.{column.name}", table.name))
                known = np.full(len(codes), -1) if bands is None else bands
                tables.append(shares([codes, known], [size, len(BANDS)]))
            parts[f"{table.spelled(column.name)} x gap"] = distance(*tables)
    if not overall:
        return GAPS.undefined("No table has dates or numbers that order its rows, and a row that follows another.")
    mean = float(np.mean(list((parts or overall).values())))
    return GAPS.score(mean, {**overall, **parts}, note=f"Gaps in bands of days: {', '.join(BANDS[1:])}.")


def gap_days(rows: LinkedRows, name: str) -> Floats | None:
    """Days since the sibling before; NaN for a first one. None where the rows have no moments."""
    table = rows.tables[name]
    if table.moments is None:
        return None
    follows = table.before != NONE
    days = np.full(table.rows, np.nan)
    days[follows] = table.moments[follows] - table.moments[table.before[follows]]
    return days


def gap_bands(rows: LinkedRows, name: str) -> Ints | None:
    """The band of each row's gap; -1 for a first row."""
    days = gap_days(rows, name)
    return None if days is None else np.where(np.isnan(days), -1, np.digitize(np.nan_to_num(days), EDGES))


def gap_shares(rows: LinkedRows, name: str) -> Floats:
    """Share of each band among the rows that follow another."""
    bands = gap_bands(rows, name)
    return np.zeros(len(BANDS)) if bands is None else shares([bands], [len(BANDS)])
