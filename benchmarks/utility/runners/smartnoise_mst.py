"""MST of smartnoise-synth."""

from common import run
from snsynth import Synthesizer


class Sampled:
    """Its model, drawing rows one by one.

    It asks mbi to round instead, which in mbi 1.1.0 makes dependence that the model does not have (see
    ``opendp_tables.py``): as shipped its two-way error on Adult is .092.
    """

    def __init__(self, model):
        self._model = model

    def synthetic_data(self, rows):
        """What its ``sample`` calls."""
        return self._model.synthetic_data(rows, method="sample")


def make(codes, sizes, epsilon, delta):
    model = Synthesizer.create("mst", epsilon=epsilon, delta=delta)
    model.fit(codes.astype(str), preprocessor_eps=0.0, categorical_columns=list(sizes))
    model.synthesizer = Sampled(model.synthesizer)
    return lambda rows: model.sample(rows).astype(int)


run(make)
