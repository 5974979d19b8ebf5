"""Ours: people with histories."""

from linked_common import run

import understudy as us


def make(tables, levels, folder, epsilon, delta):
    source = us.open_linked(dict(tables), folder / "book.toml")
    fitted = us.Histories(epsilon=epsilon, delta=delta).fit(source)
    return lambda: {name: table.to_pandas() for name, table in fitted.sample(len(tables["patients"])).tables.items()}


run(make)
