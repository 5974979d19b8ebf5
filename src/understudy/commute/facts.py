"""The facts about commuting releases. See ``docs/methods/index.md``."""

from understudy.privacy.facts import MethodFacts
from understudy.privacy.guarantees import Neighbours

_COMMUTE = "understudy commute synth --method "
_ORIGIN = (Neighbours.ORIGIN,)
_PUBLIC = "who works where (destination totals), output sizes, the list of possible origins, distance rings"
_PAGE = "docs/methods/onthemap.md"
_AUDIT = ("tests/audit/test_origin_audit.py",)
_EXACT = "tests/exact/"


def _baseline(name: str, guarantee: str, truth: str, proofs: tuple[str, ...], *tests: str) -> MethodFacts:
    return MethodFacts(
        name=f"commute {name}",
        command=_COMMUTE + name,
        route="N",
        neighbours=_ORIGIN,
        guarantee=guarantee,
        public=_PUBLIC,
        paper="ours, as a yardstick for OnTheMap",
        paper_claim="nothing",
        sound="our own",
        truth=truth,
        page=_PAGE,
        proofs=proofs,
        exact_tests=(_EXACT + "test_origin_baselines.py", _EXACT + "test_origin_vectors.py", *tests),
    )


FACTS = (
    MethodFacts(
        name="commute dirichlet",
        command=_COMMUTE + "dirichlet",
        route="S",
        neighbours=_ORIGIN,
        guarantee="(ε, δ)-DP for the origin of one worker, or ε-DP",
        public=_PUBLIC,
        paper="OnTheMap",
        paper_claim="Theorem 4.4 gives (ε, δ)-probabilistic DP; theorem 5.2 keeps δ when the domain is shrunk.",
        sound="unsound",
        truth="4.1 and 4.3 hold; 4.4 is false for one worker and loose otherwise; 5.2 is false, δ grows when |α| "
        "falls. Every "
        "release is priced by exact tails of the Dirichlet-multinomial law; 4.4 may choose α, never the promise.",
        page=_PAGE,
        proofs=("origin_draws.md",),
        exact_tests=(_EXACT + "test_origin_exact.py", _EXACT + "test_origin_vectors.py"),
        audits=_AUDIT,
        instead="--certificate exact",
    ),
    _baseline(
        "laplace",
        "ε-DP",
        "Discrete Laplace noise on every cell of a destination.",
        ("geometric_histogram.md",),
        _EXACT + "test_noise_exact.py",
    ),
    _baseline(
        "subsample", "(ε, δ)-DP", "Subsampling and binomial noise, δ summed exactly.", ("subsampled_binomial.md",)
    ),
    _baseline(
        "sba",
        "(ε, δ)-DP",
        "Noise on occupied cells and a threshold.",
        ("stability_histogram.md",),
        _EXACT + "test_stability.py",
    ),
)
