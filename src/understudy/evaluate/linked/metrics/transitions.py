"""From one event to the next: what follows what within a person."""

from understudy.evaluate.linked.rows import LinkedRows
from understudy.evaluate.linked.shares import Floats, coarse, distance, independent, shares
from understudy.evaluate.metric import Metric, Score
from understudy.evaluate.utility.measure import measures

TRANSITIONS = Metric(
    name="transitions",
    title="From one event to the next",
    says="Mean total variation distance of the tables of a column's value in one row and in the row that follows it.",
)


@measures(TRANSITIONS, place=30)
def transitions(real: LinkedRows, synthetic: LinkedRows) -> Score:
    """Every column of the tables that have an order, but not the order itself."""
    parts: dict[str, float] = {}
    alone: list[float] = []
    for table in real.book.tables:
        for column in table.book.names if table.order is not None else ():
            if column == table.order:
                continue
            (truth, size), (copy, _) = (transition_shares(side, table.name, column) for side in (real, synthetic))
            if truth.any():
                parts[table.spelled(column)] = distance(truth, copy)
                alone.append(distance(truth, independent(truth, (size, size))))
    score = TRANSITIONS.mean(parts, empty="No table has an order and a row that follows another.")
    if not parts:
        return score
    note = f"Rows drawn independently of one another would score {sum(alone) / len(alone):.4f}."
    return TRANSITIONS.score(score.value, parts, note=note)


def transition_shares(rows: LinkedRows, table: str, column: str) -> tuple[Floats, int]:
    """Shares of (value, value in the row that follows), and how many values there are."""
    described = rows.book.table(table).book.column(column)
    name = f"{table}.{column}"
    before, size = coarse(described, rows.codes(f"{table}.previous.{column}", table))
    now, _ = coarse(described, rows.codes(name, table))
    return shares([before, now], [size, size]), size
