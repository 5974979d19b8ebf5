"""Ours: people with histories."""

from linked_common import run

from understudy.histories.recipe import Histories
from understudy.sources.linked import open_linked


def make(tables, levels, folder, epsilon, delta):
    source = open_linked(dict(tables), folder / "book.toml")
    fitted = Histories(epsilon=epsilon, delta=delta).fit(source)
    return lambda: {name: table.to_pandas() for name, table in fitted.sample(len(tables["patients"])).tables.items()}


run(make)
