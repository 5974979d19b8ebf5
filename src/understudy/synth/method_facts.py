"""The facts of a synthesis method, with the parts that all methods share."""

from understudy.privacy.facts import BOTH_RELATIONS, MethodFacts
from understudy.privacy.guarantees import Neighbours

PERSON_PROOFS = ("group_of_records.md", "records_per_person.md")
"""Every price for records becomes one for a person by these."""
PERSON_TEST = "person_exact"


def synthesis_facts(
    name: str,
    *,
    route: str,
    guarantee: str,
    public: str,
    paper: str,
    paper_claim: str,
    sound: str,
    truth: str,
    page: str,
    proofs: tuple[str, ...] = (),
    exact_tests: tuple[str, ...] = (),
    audits: tuple[str, ...] = (),
    neighbours: tuple[Neighbours, ...] = BOTH_RELATIONS,
    instead: str | None = None,
) -> MethodFacts:
    """The facts of one method; tests and pages are given by the middle of their names."""
    people = bool(neighbours)
    return MethodFacts(
        name=name,
        command=f"understudy synth -m {name}",
        route=route,
        neighbours=neighbours,
        guarantee=guarantee,
        public=public,
        paper=paper,
        paper_claim=paper_claim,
        sound=sound,
        truth=truth,
        page=f"docs/methods/{page}.md",
        proofs=(*(f"{proof}.md" for proof in proofs), *(PERSON_PROOFS if people else ())),
        exact_tests=tuple(f"tests/exact/test_{test}.py" for test in (*exact_tests, *([PERSON_TEST] if people else []))),
        audits=tuple(f"tests/audit/test_{audit}.py" for audit in audits),
        instead=instead,
    )


def baseline_facts(
    name: str, *, truth: str, page: str, paper_claim: str = "nothing; the papers use it as a yardstick"
) -> MethodFacts:
    """A method without a promise, for comparison."""
    return synthesis_facts(
        name,
        route="none",
        guarantee="none",
        public="nothing makes it private",
        paper="baseline",
        paper_claim=paper_claim,
        sound="no claim",
        truth=truth,
        page=page,
        neighbours=(),
        instead="marginals",
    )
