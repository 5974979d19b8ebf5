"""The facts about risk scores and the service that answers with them. See ``docs/methods/index.md``."""

from understudy.privacy.facts import MethodFacts
from understudy.privacy.guarantees import Neighbours
from understudy.trees.train import METHODS

FACTS: dict[str, MethodFacts] = {name: method.facts for name, method in METHODS.items()}

SERVICE = MethodFacts(
    name="scores over HTTP",
    command="understudy serve",
    route="call",
    neighbours=(Neighbours.ADD_REMOVE,),
    guarantee="training plus all answers, within a cap per key and model",
    public="the model's card",
    paper="dissertation ch. 5 (the two services)",
    paper_claim="Each call costs ε; nobody counts the calls.",
    sound="holds with conditions",
    truth="Answers add up: a charge is durable before its noise is drawn, a repeated question gets its stored answer, "
    "caps hold across servers. One-shot models answer for free.",
    page="docs/guide/service.md",
    proofs=("geometric_histogram.md", "max_norm_sums.md"),
    exact_tests=("tests/exact/test_noise_exact.py", "tests/exact/test_max_norm_exact.py"),
    audits=("tests/service/test_processes.py",),
)
