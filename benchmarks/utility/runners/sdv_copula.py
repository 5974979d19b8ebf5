"""Gaussian copula of SDV: no privacy, for speed."""

from common import run
from sdv.metadata import SingleTableMetadata
from sdv.single_table import GaussianCopulaSynthesizer


def make(codes, sizes, epsilon, delta):
    text = codes.astype(str)
    metadata = SingleTableMetadata()
    for name in sizes:
        metadata.add_column(name, sdtype="categorical")
    model = GaussianCopulaSynthesizer(metadata)
    model.fit(text)
    return lambda rows: model.sample(num_rows=rows).astype(int)


run(make)
