"""Which rows of each person take part: at most the caps of every parent, and of those a few steps for each view.

What is chosen of one person depends on the stream and on the rows of that person alone, which is what the price rests
on (``mechanisms/proofs/histories.md``).
"""

import numpy as np

from understudy.histories.rows import LinkedRows, Places, TableRows
from understudy.mechanisms.group import kept_records
from understudy.mechanisms.stream import Stream


def capped(histories: LinkedRows, stream: Stream) -> LinkedRows:
    """No more rows below any row than the codebook allows, a random choice where there were more."""
    tables: dict[str, TableRows] = {}
    renumbered: dict[str, Places] = {}
    stays: dict[str, np.ndarray] = {}
    for step in histories.book.tables:
        held = histories.tables[step.name]
        if step.parent is None:
            stays[step.name] = np.ones(len(held), dtype=bool)
        else:
            assert step.cap is not None
            stays[step.name] = stays[step.parent][held.parent]
            stays[step.name] &= kept_records(held.parent, cap=step.cap, stream=stream)
        renumbered[step.name] = np.cumsum(stays[step.name]) - 1
        tables[step.name] = held.kept(stays[step.name], renumbered[step.parent or step.name])
    return LinkedRows(book=histories.book, tables=tables)


def chosen_steps(histories: LinkedRows, table: str, *, steps: int, stream: Stream) -> Places:
    """At most ``steps`` rows of a table for each person, any of them as likely as any other."""
    people = histories.person_of(table)
    return np.flatnonzero(kept_records(people, cap=steps, stream=stream))
