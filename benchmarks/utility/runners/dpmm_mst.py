"""MST of dpmm."""

from common import run
from dpmm.pipelines import MSTPipeline


def make(codes, sizes, epsilon, delta):
    model = MSTPipeline(epsilon=epsilon, delta=delta, disable_processing=True, n_jobs=2)
    model.fit(codes, domain=sizes)
    return model.generate


run(make)
