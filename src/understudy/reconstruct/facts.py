"""The facts about reconstruction from averages, and about the averages. See ``docs/methods/index.md``."""

from understudy.privacy.facts import BOTH_RELATIONS, MethodFacts

FACTS = (
    MethodFacts(
        name="reconstruct",
        command="understudy reconstruct",
        route="none",
        neighbours=(),
        guarantee="none: an attack tool",
        public="the averages are published by somebody else",
        paper="dissertation ch. 4 (LUDIA, CUDIA)",
        paper_claim="Values can be rebuilt from published averages; aggregation may no longer be safe; LUDIA does it "
        "best.",
        sound="no claim",
        truth="Publishing averages gives no formal protection. LUDIA's objective is degenerate and its answer depends "
        "on the "
        "number of iterations; all linear methods give group mean plus one common slope.",
        page="docs/methods/reconstruct.md",
        exact_tests=("tests/exact/test_reconstruct_exact.py",),
        instead="noisy averages (`understudy reconstruct risk` quotes them)",
    ),
    MethodFacts(
        name="noisy averages",
        command="understudy reconstruct risk --epsilon E",
        route="N",
        neighbours=BOTH_RELATIONS,
        guarantee="ε-DP, sums released once",
        public="groups, and bounds of the values",
        paper="ours",
        paper_claim="nothing",
        sound="our own",
        truth="Exact discrete noise on bounded sums protects single people, not what averages teach about everybody.",
        page="docs/guide/reconstruct.md",
        proofs=("bounded_sums.md",),
        exact_tests=("tests/exact/test_bounded_sums_exact.py",),
    ),
)
