"""The facts about anonymised tables. See ``docs/methods/index.md``."""

from understudy.privacy.facts import MethodFacts

FACTS = (
    MethodFacts(
        name="anonymize",
        command="understudy anonymize run",
        route="none",
        neighbours=(),
        guarantee="k-anonymity of one table, with l-diversity and t-closeness where asked",
        public="which columns an intruder knows (the quasi-identifiers)",
        paper="k-anonymity, l-diversity, t-closeness; dissertation ch. 2",
        paper_claim="Each record hides among k; inference about sensitive values is bounded.",
        sound="holds with conditions",
        truth="Counted in the released table, for that table alone: homogeneity, composition, minimality and "
        "knowledge beyond "
        "the quasi-identifiers remain. Never beside a DP label, never inherited by what is drawn from it.",
        page="docs/methods/anonymity.md",
        proofs=("k_anonymity.md",),
        exact_tests=("tests/exact/test_anonymity_exact.py",),
        instead="marginals",
    ),
)
