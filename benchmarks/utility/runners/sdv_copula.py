"""Gaussian copula of SDV: no privacy, for speed."""

from common import run
from sdv.metadata import Metadata
from sdv.single_table import GaussianCopulaSynthesizer


def make(codes, sizes, epsilon, delta):
    columns = {name: {"sdtype": "categorical"} for name in sizes}
    model = GaussianCopulaSynthesizer(Metadata.load_from_dict({"columns": columns}, single_table_name="table"))
    model.fit({"table": codes.astype(str)})
    return lambda rows: model.sample(num_rows=rows)["table"].astype(int)


run(make)
