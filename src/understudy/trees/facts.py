"""The facts about risk scores and the service that answers with them. See ``docs/methods/index.md``."""

from understudy.privacy.facts import MethodFacts
from understudy.privacy.guarantees import Neighbours

_TRAIN = "understudy train --method "
_AR = (Neighbours.ADD_REMOVE,)
_PAGE = "docs/methods/dpat.md"
_SPLITS = "tests/exact/test_tree_splits_exact.py"
_MEASURED = "tests/exact/test_measurements_exact.py"
_NOISE = "tests/exact/test_noise_exact.py"
_AUDIT = ("tests/audit/test_tree_audit.py",)
_PUBLIC = "levels and thresholds, depth; a bound on the number of records at α = 1"
_UNSOUND = (
    "False: a structure that depends on the data is not DP for any ε, noise scaled by local sensitivity has diverging "
    "tails "
    "(ratio 36.8 at ε = 1). Kept for study; the model says that it promises nothing."
)


def _unsound(name: str, claim: str) -> MethodFacts:
    return MethodFacts(
        name=name,
        command=_TRAIN + name,
        route="none",
        neighbours=(),
        guarantee="none",
        public="nothing makes it private",
        paper="dissertation ch. 5",
        paper_claim=claim,
        sound="unsound",
        truth=_UNSOUND,
        page=_PAGE,
        exact_tests=(_SPLITS,),
        instead="forest, or per-call-tree for answers at a price",
    )


def _trees(name: str, truth: str) -> MethodFacts:
    return MethodFacts(
        name=name,
        command=_TRAIN + name,
        route="N",
        neighbours=_AR,
        guarantee="ε-DP, or (ε, δ)-DP with stable questions; answers are free",
        public=_PUBLIC,
        paper="ours, after ch. 5",
        paper_claim="nothing",
        sound="our own",
        truth=truth,
        page=_PAGE,
        proofs=("tree_splits.md", "stable_splits.md", "gaussian_measurements.md", "geometric_histogram.md"),
        exact_tests=(_SPLITS, _MEASURED, _NOISE),
        audits=_AUDIT,
    )


FACTS: dict[str, MethodFacts] = {
    facts.name: facts
    for facts in (
        MethodFacts(
            name="forest",
            command=_TRAIN + "forest",
            route="N",
            neighbours=_AR,
            guarantee="ε-DP, model released once; answers are free",
            public="levels and thresholds",
            paper="ours",
            paper_claim="nothing",
            sound="our own",
            truth="All questions are asked at once and their sums get noise in the maximum norm.",
            page=_PAGE,
            proofs=("max_norm_sums.md", "geometric_histogram.md"),
            exact_tests=("tests/exact/test_max_norm_exact.py", _NOISE),
            audits=_AUDIT,
        ),
        _trees("tree", "Questions by the exponential mechanism or stable choice; leaf counts noised once."),
        _trees("bag", "Several such trees; the price is the sum, or that of one on disjoint random parts."),
        MethodFacts(
            name="per-call-tree",
            command=_TRAIN + "per-call-tree",
            route="call",
            neighbours=_AR,
            guarantee="ε-DP for training plus ε-DP for every answer",
            public=_PUBLIC,
            paper="the sound form of DPaT (dissertation ch. 5)",
            paper_claim="Each call costs ε.",
            sound="holds with conditions",
            truth="True with noise on counts, which this adds, and false with the chapter's local sensitivity. Q "
            "answers cost "
            "Q times as much: each is paid for before its noise is drawn, and a repeated question gets its stored "
            "answer.",
            page=_PAGE,
            proofs=("tree_splits.md", "stable_splits.md", "gaussian_measurements.md", "geometric_histogram.md"),
            exact_tests=(_SPLITS, _MEASURED, _NOISE),
            audits=_AUDIT,
        ),
        _unsound("dpat", "0-DiffStructure is 0-DP; leaf noise scaled by local sensitivity is ε-DP per call."),
        _unsound(
            "edpat", "Structures of several α are 0-DP together; noise scaled by averaged local sensitivities is ε-DP."
        ),
        MethodFacts(
            name="alpha-tree",
            command=_TRAIN + "alpha-tree",
            route="none",
            neighbours=(),
            guarantee="none",
            public="nothing makes it private",
            paper="dissertation ch. 5",
            paper_claim="nothing; a plain tree",
            sound="no claim",
            truth="Questions and leaf counts as they are; its counts are encrypted at rest.",
            page=_PAGE,
            instead="forest",
        ),
    )
}

SERVICE = MethodFacts(
    name="scores over HTTP",
    command="understudy serve",
    route="call",
    neighbours=_AR,
    guarantee="training plus all answers, within a cap per key and model",
    public="the model's card",
    paper="dissertation ch. 5 (the two services)",
    paper_claim="Each call costs ε; nobody counts the calls.",
    sound="holds with conditions",
    truth="Answers add up: a charge is durable before its noise is drawn, a repeated question gets its stored answer, "
    "caps hold "
    "across servers. One-shot models answer for free.",
    page="docs/guide/service.md",
    proofs=("geometric_histogram.md", "max_norm_sums.md"),
    exact_tests=(_NOISE, "tests/exact/test_max_norm_exact.py"),
    audits=("tests/service/test_processes.py",),
)
