"""Rules within and across tables that rows break."""

import math

import numpy as np
import numpy.typing as npt

from understudy.codebook.clauses import clause_of
from understudy.codebook.linked_rules import PREVIOUS
from understudy.codebook.numbers import Number
from understudy.codebook.rules import Order, Rule, codes_of
from understudy.evaluate.linked.rows import LinkedRows
from understudy.evaluate.metric import Metric, Score
from understudy.evaluate.utility.measure import measures

Bools = npt.NDArray[np.bool_]
BROKEN = Metric(
    name="broken_rules",
    title="Broken rules",
    says="Rows that break a rule of the codebook: within a table, across tables, or about what follows. It must be 0.",
    highest=math.inf,
)


@measures(BROKEN, place=70)
def broken_rules(real: LinkedRows, synthetic: LinkedRows) -> Score:
    """Counts of the synthetic tables by rule; the note tells those of the real ones."""
    parts = broken_by_rule(synthetic)
    if not parts:
        return BROKEN.undefined("The codebook has no rules.")
    told = {title: count for title, count in broken_by_rule(real).items() if count}
    note = "; ".join(f"{count:,} rows break {title!r}" for title, count in told.items())
    return BROKEN.score(sum(parts.values()), parts, note=f"In the confidential tables, {note}." if note else "")


def broken_by_rule(rows: LinkedRows) -> dict[str, int]:
    """How many rows break each rule; a row with a value that is missing or unknown breaks none that is about it."""
    broken: dict[str, int] = {}
    for table in rows.book.tables:
        above = {rule.title for upper in rows.book.path(table.name)[:-1] for rule in rows.book.rules_on(upper.name)}
        for rule in rows.book.rules_on(table.name):
            if rule.title not in above:
                broken[rule.title] = int(_breaks(rows, rule, table.name).sum())
        for rule in rows.book.ends(table.name):
            broken[rule.title] = int(_goes_on(rows, rule, table.name).sum())
    return broken


def _breaks(rows: LinkedRows, rule: Rule, at: str) -> Bools:
    columns = {name: rows.book.column(name) for name in rule.columns}
    if isinstance(rule, Order) and all(isinstance(column, Number) for column in columns.values()):
        low, high = (rows.steps(name, at) for name in (rule.low, rule.high))
        return np.asarray(low > high) if rule.relation == "<=" else np.asarray(low >= high)  # NaN breaks nothing
    clause = clause_of(rule, columns)
    codes = [rows.codes(name, at) for name in clause.columns]
    known = np.all([code >= 0 for code in codes], axis=0)
    breaks = np.zeros(len(known), dtype=bool)
    breaks[known] = ~clause.allows([code[known] for code in codes])
    return breaks


def _goes_on(rows: LinkedRows, rule: Rule, at: str) -> Bools:
    """Rows that come after one that should have been the last."""
    ended = np.ones(rows.tables[at].rows, dtype=bool)
    for spelled, values in rule.cells:  # type: ignore[attr-defined]
        column = rows.book.column(spelled)
        before = rows.codes(spelled.replace(".", f".{PREVIOUS}.", 1), at)
        ended &= np.isin(before, codes_of(column, values))
    return ended
