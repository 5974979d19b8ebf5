"""What does not fit, counted by a server: its rows have no order, so there are numbers and values, and no places.

For the holder of the data only, as everything that a check says.
"""

from collections.abc import Mapping
from typing import Any

from understudy.sources.benches import fetched
from understudy.sources.files import Opened


def count_cells(opened: Opened, kind: Any, text: Any, most: int) -> dict[int, tuple[int, tuple[str, ...]]]:
    """For each kind of fault how many rows have it, and its values, the most frequent first."""
    bad = opened.table.select(kind=kind, text=text)
    bad = bad.filter(bad.kind.notnull())
    counts = fetched(opened.connection, bad.group_by("kind").aggregate(n=bad.count())).to_pylist()
    found = {}
    for row in counts:
        mine = bad.filter((bad.kind == row["kind"]) & bad.text.notnull())
        texts = mine.group_by("text").aggregate(n=mine.count())
        first = fetched(opened.connection, texts.order_by([texts.n.desc(), texts.text]).limit(most))
        found[int(row["kind"])] = int(row["n"]), tuple(first["text"].to_pylist())
    return found


def count_combinations(opened: Opened, looked_at: Mapping[str, Any]) -> list[tuple[Any, ...]]:
    """Every combination of known values with its count, and no rows."""
    cells = opened.table.select(**looked_at)
    for name in looked_at:
        cells = cells.filter(cells[name].notnull())
    counted = cells.group_by(list(looked_at)).aggregate(n=cells.count()).order_by(list(looked_at))
    return [(*row.values(), ()) for row in fetched(opened.connection, counted).to_pylist()]


def count_wrong_orders(opened: Opened, low: Any, high: Any, gap: float | None, most: int) -> tuple[int, list[Any]]:
    """Rows in which one number does not lie below another, by ``gap`` where there is one, and the first pairs."""
    pairs = opened.table.select(a=low, b=high)
    pairs = pairs.filter((pairs.a >= pairs.b) if gap is None else (pairs.a + gap > pairs.b))
    (count,) = fetched(opened.connection, pairs.aggregate(n=pairs.count()))["n"].to_pylist()
    each = pairs.group_by(["a", "b"]).aggregate(n=pairs.count())
    shown = fetched(opened.connection, each.order_by([each.n.desc(), each.a, each.b]).limit(most)).to_pylist()
    return int(count), [(row["a"], row["b"]) for row in shown]
