"""AIM of dpmm, two rounds per column (its own default does not finish in minutes)."""

from common import run
from dpmm.pipelines import AIMPipeline


def make(codes, sizes, epsilon, delta):
    model = AIMPipeline(
        epsilon=epsilon, delta=delta, disable_processing=True, gen_kwargs={"rounds": 2 * len(sizes)}, n_jobs=2
    )
    model.fit(codes, domain=sizes)
    return model.generate


run(make)
