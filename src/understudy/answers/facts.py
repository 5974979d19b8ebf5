"""The facts about answers on the real data. See ``docs/methods/index.md``."""

from understudy.privacy.facts import BOTH_RELATIONS, MethodFacts

_PERSON = ("group_of_records.md", "records_per_person.md")
_EXACT = "tests/exact/"

FACTS: tuple[MethodFacts, ...] = (
    MethodFacts(
        name="answer",
        command="understudy answer DATA QUESTION",
        route="call",
        neighbours=BOTH_RELATIONS,
        guarantee="ε-DP, or (ε, δ)-DP where a delta is declared, for each answer",
        public="levels and bounds of the columns, and the question",
        paper="ours",
        paper_claim="nothing",
        sound="our own",
        truth="Noisy sums of vectors of whole numbers, one for each record, cut to a stated length. Intervals cover "
        "sampling and noise. The same question on a release is free.",
        page="docs/guide/answers.md",
        proofs=("vector_sums.md", "tree_counts.md", "moment_sums.md", "geometric_histogram.md", *_PERSON),
        exact_tests=(
            _EXACT + "test_vector_sums_exact.py",
            _EXACT + "test_noise_exact.py",
            _EXACT + "test_person_exact.py",
        ),
        audits=("tests/audit/test_noise_audit.py",),
    ),
    MethodFacts(
        name="answers over HTTP",
        command="understudy serve --data FILE",
        route="call",
        neighbours=BOTH_RELATIONS,
        guarantee="all answers together, within caps of key, project and data set",
        public="the codebook, the release that questions are tried on, and the rules",
        paper="ours",
        paper_claim="nothing",
        sound="our own",
        truth="A cap is charged to the account before it takes effect, and an answer to all three budgets before it is "
        "drawn. Refusals look at public values only.",
        page="docs/guide/validation.md",
        proofs=("capped_answers.md",),
        exact_tests=(_EXACT + "test_capped_answers.py",),
        audits=("tests/service/test_answer_storm.py",),
    ),
)
