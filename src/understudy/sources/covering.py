"""Fewer scans: tables that share columns are counted together once and added up afterwards.

An engine pays for every GROUP BY with a scan and a round trip; adding up a table of ten thousand cells in our own
memory costs nothing beside that. All pairs of thirteen columns need some sixteen scans instead of seventy-eight.
"""

import math
from collections.abc import Mapping, Sequence

MOST_CELLS = 1 << 14
"""A joint table may have this many cells: few enough for any engine to hold and for a driver to receive."""


def covers(
    cliques: Sequence[Sequence[str]], sizes: Mapping[str, int], *, most_cells: int = MOST_CELLS
) -> dict[tuple[str, ...], list[int]]:
    """Column sets to count, each with the places of the cliques that can be read off it.

    >>> covers([("a", "b"), ("b", "c"), ("d",)], {"a": 2, "b": 3, "c": 2, "d": 1 << 13})
    {('d',): [2], ('a', 'b', 'c'): [0, 1]}
    """
    order = sorted(range(len(cliques)), key=lambda place: -math.prod(sizes[name] for name in cliques[place]))
    joint: list[tuple[dict[str, None], list[int]]] = []
    for place in order:
        wanted = dict.fromkeys(cliques[place])
        best, least = None, math.inf
        for candidate in joint:
            columns, _ = candidate
            before = math.prod(sizes[name] for name in columns)
            after = before * math.prod(sizes[name] for name in wanted if name not in columns)
            growth = after / before
            if (growth == 1 or after <= most_cells) and growth < least:
                best, least = candidate, growth
        if best is None:
            joint.append((wanted, [place]))
        else:
            best[0].update(wanted)
            best[1].append(place)
    return {tuple(columns): sorted(places) for columns, places in joint}
