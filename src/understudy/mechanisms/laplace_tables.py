"""Several tables, each with Laplace noise at an equal share of the budget; the ledger adds the shares up.

Every table has its own line and its own proof (``geometric_histogram.md``, ``sparse_histogram.md``); their sum is basic
composition [DR14 Thm 3.16], and where it is smaller the ledger takes the sum of their Renyi curves. Shares are
rounded down, so that the sum of the lines never exceeds what was asked for.
"""

import math
from collections.abc import Sequence
from fractions import Fraction

from understudy.errors import ParameterError
from understudy.mechanisms.histogram import noisy_histogram
from understudy.mechanisms.stream import Stream
from understudy.parameters import EPSILON
from understudy.privacy.guarantees import Neighbours
from understudy.privacy.ledger import Entry
from understudy.privacy.secret import Secret
from understudy.sources.tables import CountTable


def share_of(total: float, tables: int) -> float:
    """The largest float of which ``tables`` together do not exceed ``total``."""
    if tables < 1:
        raise ParameterError(f"there are {tables} tables; a budget is shared between one or more. Name a table.")
    near = float(Fraction(total) / tables)
    return near if Fraction(near) * tables <= Fraction(total) else math.nextafter(near, 0.0)


def noisy_tables(
    counts: Sequence[Secret[CountTable]], *, epsilon: float, neighbours: Neighbours, stream: Stream
) -> tuple[list[CountTable], list[Entry]]:
    """Noisy counts of every cell of every table, none below 0 (PrivBayes); ``epsilon`` is for all tables together."""
    each = share_of(EPSILON.check("epsilon", epsilon), len(counts))
    pairs = [noisy_histogram(count, epsilon=each, neighbours=neighbours, stream=stream) for count in counts]
    return [table for table, _ in pairs], [entry for _, entry in pairs]
