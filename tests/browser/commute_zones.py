"""A made-up region of another country: zones with names and postal codes, no Census columns; and releases of it."""

import numpy as np
import pyarrow as pa

import understudy as us

TOWNS = ("Achern", "Bühl", "Celle", "Düren")
ACROSS = 6
"""Zones along each side of a town."""


def zones():
    """Four towns in a square, each of 6 x 6 zones; every second column of zones shares a postal code."""
    rows = []
    for town, name in enumerate(TOWNS):
        for x in range(ACROSS):
            for y in range(ACROSS):
                column = (town % 2) * ACROSS + x
                rows.append(
                    {
                        "place": f"Z{town}{x}{y}",
                        "latitude": 48.0 - 0.02 * ((town // 2) * ACROSS + y),
                        "longitude": 8.0 + 0.03 * column,
                        "town": f"{town + 1:03d}",
                        "town_name": name,
                        "zip": f"77{column // 2:03d}",
                        "zip_name": f"77{column // 2:03d}",
                    }
                )
    return pa.Table.from_pylist(rows)


def flows():
    """Most people work in their own town; nobody commutes from Achern to Düren."""
    generator = np.random.default_rng(5)
    places = zones()
    names, towns = places["place"].to_pylist(), np.repeat(np.arange(4), ACROSS**2)
    pull = np.where(towns[:, None] == towns[None, :], 6.0, 1.0)
    pull[np.ix_(towns == 0, towns == 3)] = 0.0
    counts = generator.poisson(pull * generator.gamma(1.0, 1.0, (1, len(names))) / 2)
    homes, work = np.nonzero(counts)
    young = generator.binomial(counts[homes, work], 0.3)
    return pa.table(
        {
            "origin": [names[home] for home in homes],
            "destination": [names[place] for place in work],
            "workers": counts[homes, work],
            "young": young,
            "old": counts[homes, work] - young,
        }
    )


def release(folder, *, certificate=None):
    """By levels, or with a certificate by the draws of the paper."""
    more = {"characteristics": {"age": ("young", "old")}} if certificate is None else {}
    us.commute(flows(), 4.0, certificate, delta=1e-6, count="workers", places=zones(), seed=7, out=folder, **more)
    return folder


def between(table, of_home, of_work):
    """Workers of a released table by two towns' numbers, such as "Z0" and "Z3"; an empty one is any."""
    homes, work = (table.column(name).to_pylist() for name in table.column_names[:2])
    return sum(h.startswith(of_home) and w.startswith(of_work) for h, w in zip(homes, work, strict=True))
