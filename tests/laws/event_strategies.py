"""Hypothesis strategies for every kind of pricing event."""

from fractions import Fraction

from hypothesis import strategies as st

from understudy.mechanisms import (
    BoundedSums,
    CappedAnswers,
    CertifiedNumbers,
    DirichletDraws,
    DirichletResetBlocks,
    ExponentialSelection,
    FlowMeasurements,
    GaussianMeasurements,
    GaussianStability,
    GeometricHistogram,
    GroupOf,
    HistoryMeasurements,
    KAnonymousTable,
    LDiverseDraws,
    MaxNormSums,
    MomentSums,
    OriginDraws,
    PeopleHistogram,
    PerturbedPrediction,
    PricedDraft,
    RuleSupport,
    SelectedTry,
    SparseHistogram,
    StabilityHistogram,
    StableSplits,
    SubsampledBinomial,
    TreeCounts,
    TreeSplits,
    VectorSums,
    WeightedHistogram,
)
from understudy.mechanisms.gaussian_measurements import gaussian_measurements_event
from understudy.mechanisms.gaussian_stability import gaussian_stability_event
from understudy.privacy import Entry, Ledger, Neighbours, UnpricedRead

AR, RO = Neighbours.ADD_REMOVE, Neighbours.REPLACE

relations = st.sampled_from([AR, RO])
scales = st.sampled_from([Fraction(1, 4), Fraction(1), Fraction(5, 2), Fraction(40), Fraction(1 << 16)])
alphas = st.sampled_from([Fraction(1, 8), Fraction(1), Fraction(5, 2), Fraction(40), Fraction(1 << 20, 3)])
# few distinct priors, because the curve of each is computed once and kept
priors = st.sampled_from([2, 3, 25]).flatmap(lambda levels: alphas.map(lambda alpha: ((alpha, levels),)))
shaped = alphas.map(lambda alpha: ((alpha, 2), (3 * alpha, 1), (7 * alpha, 4)))
columns = st.lists(priors | shaped, min_size=1, max_size=3).map(tuple)
numbers = st.integers(1, 5000)


def priced(relation):
    """Events that promise differential privacy under one relation, by kind."""
    return {
        BoundedSums: st.builds(
            BoundedSums, scale=scales, reach=st.sampled_from([1, 3, 1024]), neighbours=st.just(relation)
        ),
        CappedAnswers: st.builds(
            CappedAnswers,
            epsilon=scales,
            delta=st.sampled_from([Fraction(0), Fraction(1, 10**9)]),
            neighbours=st.just(relation),
        ),
        **{
            kind: st.builds(kind, scale=scales, moved=st.sampled_from([1, 3, 1 << 14]), neighbours=st.just(relation))
            for kind in (VectorSums, TreeCounts, MomentSums)
        },
        CertifiedNumbers: st.builds(
            CertifiedNumbers, scale=scales, moved=st.sampled_from([1, 2, 1 << 14]), neighbours=st.just(relation)
        ),
        SelectedTry: st.builds(
            SelectedTry,
            epsilon=st.sampled_from([0.01, 0.5, 8.0]),
            tries=st.sampled_from([1, 2, 10, 1000]),
            neighbours=st.just(relation),
        ),
        DirichletDraws: st.builds(DirichletDraws, priors=columns, draws=numbers, neighbours=st.just(relation)),
        DirichletResetBlocks: st.builds(
            DirichletResetBlocks, priors=columns, blocks=numbers, neighbours=st.just(relation)
        ),
        ExponentialSelection: st.builds(
            ExponentialSelection, epsilon=scales.map(lambda s: 1 / s), selections=numbers, neighbours=st.just(relation)
        ),
        GaussianMeasurements: st.builds(
            gaussian_measurements_event,
            epsilon=st.sampled_from([0.5, 1.0, 8.0]),
            delta=st.sampled_from([1e-10, 1e-7, 1e-3]),
            units=st.sampled_from([1, 40, 2000]),
            neighbours=st.just(relation),
        ),
        GaussianStability: st.builds(
            gaussian_stability_event,
            epsilon=st.sampled_from([0.5, 1.0, 8.0]),
            delta=st.sampled_from([1e-10, 1e-7, 1e-3]),
            tables=st.sampled_from([1, 4, 30]),
            neighbours=st.just(relation),
        ),
        GeometricHistogram: st.builds(GeometricHistogram, scale=scales, neighbours=st.just(relation)),
        MaxNormSums: st.builds(
            MaxNormSums,
            scale=scales,
            sensitivity=st.sampled_from([1, 7, 4096]),
            dimensions=st.sampled_from([1, 9, 400]),
            neighbours=st.just(relation),
        ),
        PerturbedPrediction: st.builds(
            PerturbedPrediction,
            alpha=alphas,
            levels=st.lists(st.sampled_from([2, 3, 25]), min_size=1, max_size=3).map(tuple),
            draws=numbers,
            neighbours=st.just(relation),
        ),
        SparseHistogram: st.builds(
            SparseHistogram, scale=scales, threshold=st.integers(1, 10_000), neighbours=st.just(relation)
        ),
        StabilityHistogram: st.builds(
            StabilityHistogram, scale=scales, threshold=st.integers(1, 10_000), neighbours=st.just(relation)
        ),
        RuleSupport: st.builds(
            RuleSupport,
            scale=scales,
            threshold=st.integers(2, 10_000),
            pairs=st.integers(1, 40),
            neighbours=st.just(relation),
        ),
        WeightedHistogram: st.builds(
            WeightedHistogram, scale=scales, largest=st.integers(1, 1024), neighbours=st.just(relation)
        ),
        **(tree_events() if relation is AR else {}),
    }


def tree_events():
    """Splits are priced under add-remove only."""
    return {
        StableSplits: st.builds(
            StableSplits,
            scale=scales,
            threshold=st.integers(2, 10_000),
            levels=st.integers(1, 9),
            neighbours=st.just(AR),
        ),
        TreeSplits: st.builds(
            TreeSplits, epsilon=scales.map(lambda s: 1 / s), levels=st.integers(1, 9), neighbours=st.just(AR)
        ),
    }


def grouped(relation):
    """Prices of people; the groups of events with a delta may promise nothing, so the pure ones are taken."""
    pure = [priced(relation)[kind] for kind in (DirichletDraws, ExponentialSelection, GeometricHistogram)]
    return st.builds(GroupOf, event=st.one_of(pure), records=st.integers(1, 5))


people = st.builds(
    PeopleHistogram,
    scale=scales,
    neighbours=st.sampled_from([Neighbours.ADD_REMOVE_PERSON, Neighbours.REPLACE_PERSON]),
) | st.builds(
    HistoryMeasurements,
    variance=st.sampled_from([Fraction(2025), Fraction(70_225, 4)]),
    units=st.sampled_from([64, 5000]),
    delta=st.sampled_from([1e-9, 1e-6]),
    neighbours=st.just(AR),
    rows=st.sampled_from([(1, 1), (1, 2, 3)]),
)
"""Prices of people that no record has."""

words = st.text("abcdefghij ", min_size=1, max_size=20)
unpriced = st.builds(UnpricedRead, why=words)


def priced_under(relation):
    return st.one_of(list(priced(relation).values()))


diverse = st.builds(
    lambda ls, floor: LDiverseDraws(ls=tuple(ls), levels=(7,) * len(ls), floor=floor),
    ls=st.lists(st.floats(1, 7), min_size=1, max_size=3),
    floor=st.sampled_from([0.0, 2.0**-20]),
)
"""Promises of another kind."""

anonymous = st.builds(
    KAnonymousTable,
    k=st.integers(2, 50),
    quasi_identifiers=st.lists(words, min_size=1, max_size=3).map(tuple),
    criteria=st.lists(words, max_size=2).map(tuple),
)
"""Properties of one table."""

groups = st.builds(
    "{} {} {} {}*{}@{}".format,
    st.integers(1, 40),
    st.integers(1, 40),
    st.sampled_from(["1/8", "1/2", "3/1", "70368745/1073741824"]),
    st.integers(1, 20_000),
    st.integers(1, 7),
    st.sampled_from([1 << 32, 1 << 31, 162349974]),
)
commuting = {
    FlowMeasurements: st.builds(
        FlowMeasurements,
        variance=st.sampled_from([Fraction(2025), Fraction(70_225, 4)]),
        units=st.sampled_from([64, 5000]),
        delta=st.sampled_from([1e-9, 1e-6]),
        neighbours=st.just(Neighbours.ORIGIN),
    ),
    OriginDraws: st.builds(
        OriginDraws,
        certificate=st.sampled_from(["pure", "probabilistic", "exact"]),
        epsilon=st.sampled_from([0.5, 1.0, 4.6]),
        lost=st.sampled_from([1e-9, 1e-7]),
        rejects=st.just(False),
        groups=st.lists(groups, min_size=1, max_size=3).map(tuple),
    ),
    SubsampledBinomial: st.builds(
        SubsampledBinomial,
        keep=st.integers(1, 1 << 32),
        trials=st.integers(1, 40),
        epsilon=st.sampled_from([0.5, 1.0, 4.6]),
    ),
}
"""Events of commuting tables, by kind; their relation is their own."""

drafts = st.builds(
    PricedDraft, epsilon=st.floats(0.01, 10), delta=st.sampled_from([1e-9, 1e-6]), neighbours=st.just(AR)
)
any_event = (
    relations.flatmap(priced_under)
    | relations.flatmap(grouped)
    | drafts
    | people
    | unpriced
    | diverse
    | anonymous
    | st.one_of(list(commuting.values()))
)
stages = st.sampled_from(["tables", "rows", "parents"])


def entries(events):
    return st.builds(Entry, stage=stages, reads=words, event=events, assumptions=st.lists(words, max_size=2).map(tuple))


def ledgers(events, least=0, most=4):
    return st.lists(entries(events), min_size=least, max_size=most).map(Ledger.of)


same_relation = relations.flatmap(lambda relation: ledgers(priced_under(relation), least=1))
pairs_of_ledgers = relations.flatmap(
    lambda relation: st.tuples(ledgers(priced_under(relation), least=1), ledgers(priced_under(relation)))
)
