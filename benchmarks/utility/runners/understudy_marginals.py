"""Our default."""

from common import run

import understudy as us
from understudy.codebook import Categorical
from understudy.sources import EncodedSource
from understudy.sources.tables import code_type


def make(codes, sizes, epsilon, delta):
    book = us.Codebook(
        columns=tuple(
            Categorical(name=name, levels=tuple(str(code) for code in range(size))) for name, size in sizes.items()
        )
    )
    columns = [codes[name].to_numpy().astype(code_type(size)) for name, size in sizes.items()]
    fitted = us.Marginals(epsilon=epsilon, delta=delta).fit(EncodedSource(codebook=book, columns=columns))
    return lambda rows: fitted.sample(rows).table.to_pandas()


run(make)
