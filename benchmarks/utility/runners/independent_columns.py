"""Independent noisy columns: all of the budget for one-way tables, by our own price."""

import numpy as np
from common import run

import understudy as us
from understudy.blocks.shrinking import believable
from understudy.codebook import Categorical
from understudy.mechanisms.gaussian_measurements import Meter
from understudy.mechanisms.stream import Stream
from understudy.sources import EncodedSource
from understudy.sources.tables import code_type


def make(codes, sizes, epsilon, delta):
    book = us.Codebook(
        columns=tuple(
            Categorical(name=name, levels=tuple(str(code) for code in range(size))) for name, size in sizes.items()
        )
    )
    columns = [codes[name].to_numpy().astype(code_type(size)) for name, size in sizes.items()]
    source = EncodedSource(codebook=book, columns=columns)
    stream = Stream.from_system()
    meter = Meter(us.Marginals(epsilon=epsilon, delta=delta).event(book), stream)
    # the best split of a budget between tables of so many cells, for the sum of their L1 errors
    weights = np.array([size ** (2 / 3) for size in sizes.values()])
    copies = np.maximum(1, (weights / weights.sum() * (meter.left // meter.table_price)).astype(int))
    tables = []
    for count, number in zip(source.count([(name,) for name in sizes]), copies.tolist(), strict=True):
        noisy = meter.table(count, copies=number).astype(float)
        tables.append(believable(noisy, len(codes), float(np.sqrt(meter.variance(number)))))

    def draw(rows):
        rng = np.random.default_rng()
        drawn = {}
        for name, table in zip(sizes, tables, strict=True):
            places = rng.permutation((np.arange(rows) + rng.random()) / rows)
            drawn[name] = np.searchsorted(np.cumsum(table) / table.sum(), places).clip(0, len(table) - 1)
        return drawn

    return draw


run(make)
