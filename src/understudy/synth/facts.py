"""The facts about every recipe: what its paper claimed and what is true. See ``docs/methods/index.md``."""

from typing import Any

from understudy.privacy.facts import BOTH_RELATIONS, MethodFacts
from understudy.privacy.guarantees import Neighbours

_SYNTH = "understudy synth -m "
_EXACT = "tests/exact/"
_AUDIT = "tests/audit/"
_COMMAND = _AUDIT + "test_audit_command.py"
_NOISE = _AUDIT + "test_noise_audit.py"
_PERSON = ("group_of_records.md", "records_per_person.md")
_PERSON_TEST = _EXACT + "test_person_exact.py"
_LEVELS = "levels and edges"
_BASELINE = "nothing; the papers use it as a yardstick"


def _none(name: str, *, truth: str, page: str, claim: str = _BASELINE) -> MethodFacts:
    """A baseline without a promise."""
    return MethodFacts(
        name=name,
        command=_SYNTH + name,
        route="none",
        neighbours=(),
        guarantee="none",
        public="nothing makes it private",
        paper="baseline",
        paper_claim=claim,
        sound="no claim",
        truth=truth,
        page=page,
        instead="marginals",
    )


def _tables(name: str, **more: Any) -> MethodFacts:
    """A method of route N under both relations."""
    return MethodFacts(name=name, command=_SYNTH + name, route="N", neighbours=BOTH_RELATIONS, **more)


FACTS: dict[str, MethodFacts] = {
    facts.name: facts
    for facts in (
        MethodFacts(
            name="marginals",
            command=_SYNTH + "marginals",
            route="N",
            neighbours=BOTH_RELATIONS,
            guarantee="(ε, δ)-DP, tables released once",
            public=_LEVELS,
            paper="ours, after the measured-marginals literature",
            paper_claim="nothing",
            sound="our own",
            truth="All measurements share a fixed number of units of discrete Gaussian noise; rows are "
            "post-processing.",
            page="docs/methods/marginals.md",
            proofs=("gaussian_measurements.md", *_PERSON),
            exact_tests=(_EXACT + "test_measurements_exact.py", _PERSON_TEST),
            audits=(_AUDIT + "test_marginals_audit.py",),
        ),
        MethodFacts(
            name="pegs",
            command=_SYNTH + "pegs",
            route="S",
            neighbours=BOTH_RELATIONS,
            guarantee="ε-DP or (ε, δ)-DP of the whole file",
            public="levels, parents, prior, starts of chains, number of rows",
            paper="PeGS",
            paper_claim="One sample is ε-DP if α ≥ 1/(e^(ε/M) - 1) (Eq 8); the tables print that ε.",
            sound="holds with conditions",
            truth="True of one row of one sweep with public levels, parents, prior and starts; the paper's own bins, "
            "mutual-"
            "information keys and real seeds break it. A file of N rows costs N times as much: that total is stated.",
            page="docs/methods/pegs.md",
            proofs=("dirichlet_draw.md", "exponential_selection.md", *_PERSON),
            exact_tests=(
                _EXACT + "test_pegs_exact.py",
                _EXACT + "test_dirichlet_vectors.py",
                _EXACT + "test_rules_exact.py",
                _EXACT + "test_exponential_exact.py",
                _PERSON_TEST,
            ),
            audits=(_COMMAND,),
        ),
        MethodFacts(
            name="pegs-rs",
            command=_SYNTH + "pegs-rs",
            route="S",
            neighbours=BOTH_RELATIONS,
            guarantee="ε-DP or (ε, δ)-DP of the whole file",
            public="levels, parents, prior, starts of chains, number of rows, block size",
            paper="PeGS.rs",
            paper_claim="A block of B samples costs what one sample costs (Eq 9).",
            sound="holds with conditions",
            truth="True under add-remove with a reset after every sweep. False under replace-one, where two cells per "
            "column differ (ratio 5.994 against 4): there the larger price is charged. J blocks cost J times as much.",
            page="docs/methods/pegs.md",
            proofs=("dirichlet_reset.md", "exponential_selection.md", *_PERSON),
            exact_tests=(
                _EXACT + "test_pegs_rs_exact.py",
                _EXACT + "test_dirichlet_vectors.py",
                _EXACT + "test_exponential_exact.py",
                _PERSON_TEST,
            ),
            audits=(_COMMAND,),
        ),
        MethodFacts(
            name="marginal-bootstrap",
            command=_SYNTH + "marginal-bootstrap",
            route="S",
            neighbours=BOTH_RELATIONS,
            guarantee="ε-DP or (ε, δ)-DP of the whole file",
            public="levels, prior, number of rows",
            paper="PeGS, as a yardstick",
            paper_claim="nothing of its own",
            sound="no claim",
            truth="PeGS without parents: the same price per draw.",
            page="docs/methods/pegs.md",
            proofs=("dirichlet_draw.md", *_PERSON),
            exact_tests=(_EXACT + "test_pegs_exact.py", _EXACT + "test_dirichlet_vectors.py", _PERSON_TEST),
            audits=(_COMMAND,),
        ),
        _tables(
            "laplace",
            guarantee="ε-DP, table released once",
            public=_LEVELS,
            paper="SBHG, as a yardstick",
            paper_claim="Laplace noise of scale 2/ε on every cell is ε-DP (replace-one).",
            sound="holds with conditions",
            truth="True of real numbers; floating-point Laplace noise leaks. Here exact discrete noise, on every cell "
            "of the "
            "public domain, visited or not; scale 1/ε under add-remove.",
            page="docs/methods/histograms.md",
            proofs=("geometric_histogram.md", "sparse_histogram.md", *_PERSON),
            exact_tests=(_EXACT + "test_noise_exact.py", _PERSON_TEST),
            audits=(_NOISE, _COMMAND),
        ),
        _tables(
            "sba",
            guarantee="(ε, δ)-DP, table released once",
            public=_LEVELS,
            paper="SBHG",
            paper_claim="Scale 2/ε and threshold 1 + (2/ε) ln(2/δ) give (ε, δ)-DP; Prop 2.1 gives the error.",
            sound="holds with conditions",
            truth="The threshold is valid and larger than needed; with discrete noise δ = q^(T-1)/(1+q) exactly. Prop "
            "2.1 "
            "has the wrong probability and the wrong mean.",
            page="docs/methods/histograms.md",
            proofs=("stability_histogram.md", *_PERSON),
            exact_tests=(_EXACT + "test_stability.py", _PERSON_TEST),
            audits=(_NOISE, _COMMAND),
        ),
        _tables(
            "sbhg",
            guarantee="(ε, δ)-DP, tables released once",
            public="levels, a bound on the number of records (private parents)",
            paper="SBHG",
            paper_claim="p tables at (ε/p, δ/p) are (ε, δ)-DP if the hash does not depend on the data (theorem 3.1, "
            "remark "
            "3.2); the experiments choose it by mutual information.",
            sound="holds with conditions",
            truth="True of the tables; the experiments' own choice of parents is not private at all (a ratio of 100 "
            "for e). "
            "Here they are chosen by the exponential mechanism and paid for. Algorithm 2 tests the wrong key and "
            "starts from "
            "the data: both mended.",
            page="docs/methods/sbhg.md",
            proofs=("stability_histogram.md", "exponential_selection.md", *_PERSON),
            exact_tests=(
                _EXACT + "test_sbhg_exact.py",
                _EXACT + "test_stability.py",
                _EXACT + "test_exponential_exact.py",
                _PERSON_TEST,
            ),
            audits=(_AUDIT + "test_sbhg_audit.py", _COMMAND),
        ),
        _tables(
            "sbhg-gauss",
            guarantee="(ε, δ)-DP, tables released once",
            public="levels, a bound on the number of records (private parents)",
            paper="ours, after SBHG",
            paper_claim="nothing",
            sound="our own",
            truth="Discrete Gaussian noise and one threshold for all tables, with their own exact tails.",
            page="docs/methods/sbhg.md",
            proofs=("gaussian_stability.md", "exponential_selection.md", *_PERSON),
            exact_tests=(
                _EXACT + "test_gaussian_exact.py",
                _EXACT + "test_sbhg_exact.py",
                _EXACT + "test_exponential_exact.py",
                _PERSON_TEST,
            ),
            audits=(_AUDIT + "test_sbhg_audit.py", _COMMAND),
        ),
        _tables(
            "privbayes",
            guarantee="ε-DP, tables released once",
            public="levels, a bound on the number of records",
            paper="PrivBayes, the baseline of the SBHG paper",
            paper_claim="A network chosen by the exponential mechanism and Laplace noise on its tables are ε-DP.",
            sound="holds",
            truth="As claimed, with exact choices and discrete noise.",
            page="docs/methods/sbhg.md",
            proofs=("geometric_histogram.md", "exponential_selection.md", *_PERSON),
            exact_tests=(_EXACT + "test_noise_exact.py", _EXACT + "test_exponential_exact.py", _PERSON_TEST),
            audits=(_AUDIT + "test_sbhg_audit.py", _COMMAND),
        ),
        MethodFacts(
            name="pmi",
            command=_SYNTH + "pmi",
            route="S",
            neighbours=BOTH_RELATIONS,
            guarantee="ε-DP or (ε, δ)-DP of the whole file",
            public="levels, α, order of the columns, number of rows",
            paper="PeGS (PMI)",
            paper_claim="Perturbed predictions are ε-DP per sample.",
            sound="holds with conditions",
            truth="True of probability vectors on a public domain, and for any two tables whatever: it is near "
            "independence "
            "from the data (weight 1/(1 + Cα) on the model), which the statement says. N rows cost N times as much.",
            page="docs/methods/imputation.md",
            proofs=("perturbed_prediction.md", *_PERSON),
            exact_tests=(_EXACT + "test_prediction_exact.py", _EXACT + "test_rules_exact.py", _PERSON_TEST),
        ),
        _none(
            "imputation",
            truth="Models are fitted to the exact records. Combining rules cover sampling, not disclosure.",
            page="docs/methods/imputation.md",
            claim="nothing formal; synthetic rows are said to protect",
        ),
        MethodFacts(
            name="lugs",
            command=_SYNTH + "lugs",
            route="S",
            neighbours=(),
            guarantee="entropy l-diversity of the sampling distributions",
            public="levels (the promise is about one table, not about neighbours)",
            paper="LUGS",
            paper_claim="Sampling distributions have entropy log l; the distance to the data's law is bounded by log "
            "l; smoothing "
            "lowers the mutual information; the link gain rises as the right value becomes less likely (theorem 2).",
            sound="unsound",
            truth="Every drawn value has conditional entropy of at least log l, and no more: not DP (a level may have "
            "probability 0), no bound on membership or link gain; the bound by log l is unproved.",
            page="docs/methods/lugs.md",
            proofs=("l_diversity.md",),
            exact_tests=(_EXACT + "test_diversity_vectors.py",),
            instead="marginals",
        ),
        MethodFacts(
            name="plugs",
            command=_SYNTH + "plugs",
            route="S",
            neighbours=(),
            guarantee="entropy l-diversity of the sampling distributions",
            public="levels (the promise is about one table, not about neighbours)",
            paper="LUGS (PLUGS)",
            paper_claim="As LUGS, on parts of the table.",
            sound="unsound",
            truth="The l-diversity carries over to mixtures of parts, because entropy is concave. Otherwise as LUGS.",
            page="docs/methods/lugs.md",
            proofs=("l_diversity.md",),
            exact_tests=(_EXACT + "test_diversity_vectors.py",),
            instead="marginals",
        ),
        _none(
            "contingency",
            truth="Every synthetic row is a real record.",
            page="docs/methods/pegs.md",
        ),
        _none(
            "gibbs",
            truth="Rows are drawn from exact conditional counts; a lone record shows.",
            page="docs/methods/sbhg.md",
        ),
        _none(
            "bayesian-bootstrap",
            truth="Columns are resampled from their exact counts; a level that nobody has never shows.",
            page="docs/methods/pegs.md",
        ),
    )
}

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
        truth="One purse for all steps, whatever they find. Releases made with the codebook repeat its price.",
        page="docs/guide/priced-draft.md",
        proofs=("priced_draft.md",),
        exact_tests=(_EXACT + "test_draft_exact.py",),
    ),
)
"""What is released beside the recipes of this room."""
