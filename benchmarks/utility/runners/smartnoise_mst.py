"""MST of smartnoise-synth."""

from common import run
from snsynth import Synthesizer


def make(codes, sizes, epsilon, delta):
    model = Synthesizer.create("mst", epsilon=epsilon, delta=delta)
    model.fit(codes.astype(str), preprocessor_eps=0.0, categorical_columns=list(sizes))
    return lambda rows: model.sample(rows).astype(int)


run(make)
