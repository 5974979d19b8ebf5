"""The facts about every recipe: what its paper claimed and what is true. See ``docs/methods/index.md``."""

from understudy.privacy.facts import BOTH_RELATIONS, MethodFacts
from understudy.privacy.guarantees import Neighbours
from understudy.synth.registry import METHODS

_EXACT = "tests/exact/"
_AUDIT = "tests/audit/"
_NOISE = _AUDIT + "test_noise_audit.py"
_PERSON = ("group_of_records.md", "records_per_person.md")
_PERSON_TEST = _EXACT + "test_person_exact.py"
_LEVELS = "levels and edges"


FACTS: dict[str, MethodFacts] = {name: cls.facts for name, cls in METHODS.items()}

OTHER: tuple[MethodFacts, ...] = (
    MethodFacts(
        name="impute",
        command="understudy impute",
        route="none",
        neighbours=(),
        guarantee="none: real records, confidential",
        public="nothing makes it private",
        paper="multiple imputation",
        paper_claim="nothing about privacy",
        sound="no claim",
        truth="The file holds the real records. What is synthesized from it promises nothing to people either: "
        "filled-in "
        "values depend on everybody.",
        page="docs/methods/imputation.md",
        instead="marginals",
    ),
    MethodFacts(
        name="detail columns",
        command="understudy synth --detail-epsilon E --detail-delta D",
        route="N",
        neighbours=BOTH_RELATIONS,
        guarantee="(ε, δ)-DP, paid beside the model",
        public="codes and which coarse level each belongs to",
        paper="ours",
        paper_claim="nothing",
        sound="our own",
        truth="Two tables per column: noisy counts of the coarse levels, thresholded counts of the codes.",
        page="docs/guide/codes.md",
        proofs=("geometric_histogram.md", "stability_histogram.md", *_PERSON),
        exact_tests=(_EXACT + "test_noise_exact.py", _EXACT + "test_stability.py", _PERSON_TEST),
        audits=(_NOISE,),
    ),
    MethodFacts(
        name="certificate",
        command="understudy synth --certify WISH --certify-epsilon E",
        route="N",
        neighbours=BOTH_RELATIONS,
        guarantee="ε-DP, paid beside the model",
        public="what the release must be good for",
        paper="ours; the selection after Liu and Talwar 2019",
        paper_claim="at most 2ε for a selection",
        sound="our own",
        truth="Distances of the released rows from the table, with exact intervals. A rejection is charged too.",
        page="docs/guide/forecast.md",
        proofs=("certificate.md", "selected_try.md", *_PERSON),
        exact_tests=(_EXACT + "test_certificate_exact.py", _PERSON_TEST),
    ),
    MethodFacts(
        name="weighted counts",
        command="understudy.synth.counts",
        route="N",
        neighbours=BOTH_RELATIONS,
        guarantee="ε-DP, table released once",
        public="levels, and the bounds of the weight",
        paper="ours",
        paper_claim="nothing",
        sound="our own",
        truth="Noise for the largest declared weight; a weight beyond it is refused, never clipped in silence.",
        page="docs/guide/weights.md",
        proofs=("weighted_histogram.md", *_PERSON),
        exact_tests=(_EXACT + "test_weighted_exact.py", _PERSON_TEST),
    ),
    MethodFacts(
        name="priced draft",
        command="understudy codebook draft --epsilon E --delta D",
        route="N",
        neighbours=(Neighbours.ADD_REMOVE,),
        guarantee="(ε, δ)-DP, codebook released once",
        public="the names in the header",
        paper="ours",
        paper_claim="nothing; the papers read levels and bins off the data",
        sound="our own",
        truth="One budget for all steps, whatever they find. Releases made with the codebook repeat its price.",
        page="docs/guide/priced-draft.md",
        proofs=("priced_draft.md",),
        exact_tests=(_EXACT + "test_draft_exact.py",),
    ),
    MethodFacts(
        name="priced rules",
        command="understudy codebook rules --learn A,B --epsilon E --delta D",
        route="N",
        neighbours=(Neighbours.ADD_REMOVE,),
        guarantee="(ε, δ)-DP, rules released once",
        public="the codebook, and the pairs of columns that are asked about",
        paper="ours",
        paper_claim="nothing",
        sound="our own",
        truth="Combinations show from a threshold on; rules are post-processing. Releases repeat the price.",
        page="docs/guide/constraints.md",
        proofs=("rule_support.md",),
        exact_tests=(_EXACT + "test_rule_support_exact.py",),
    ),
)
"""What is released beside the recipes of this room."""
