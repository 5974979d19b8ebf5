"""What training promises, and its quality figures."""

from fractions import Fraction

import numpy as np
import pytest

from tests.unit.tree_tables import FEATURES, auroc, book, boxed, simulated
from understudy.codebook import Categorical, Codebook, Integer
from understudy.errors import ParameterError, RefusalError
from understudy.mechanisms.stream import Stream
from understudy.parameters import options_of
from understudy.privacy import Neighbours, NoFormal, PureDP
from understudy.sources import EncodedSource
from understudy.trees.examples import diabetes_example
from understudy.trees.features import features_of
from understudy.trees.quality import measure_private, measures, public_quality
from understudy.trees.questions import answers, questions_of
from understudy.trees.recipe import RiskScore
from understudy.trees.show import reliability_picture
from understudy.trees.train import make_training

PER_CALL = make_training("per-call-tree", epsilon=1.0, call_epsilon=1.0)

# --- training and quality --------------------------------------------------------------------------------------------


def source(rows=500):
    codes, labels = simulated(rows)
    columns = [*(np.ascontiguousarray(codes[:, place]) for place in range(4)), labels.astype(np.uint8)]
    return EncodedSource(codebook=book(), columns=columns)


def train(source, training, *, stream=None, target="ill", **more):
    return RiskScore(training=training, target=target, **more).fit(source, stream=stream).sample()


def test_training_says_what_it_promised():
    model = train(source(), make_training("forest", epsilon=1.0))
    assert isinstance(model.guarantee, PureDP) and model.guarantee.epsilon <= 1.0
    assert "post-processing and free" in model.statement and "declared in the codebook" in model.statement
    plain = train(source(), make_training("alpha-tree"))
    assert isinstance(plain.guarantee, NoFormal) and "no formal privacy guarantee" in plain.statement
    calls = train(source(), make_training("per-call-tree", epsilon=1.0, call_epsilon=0.25))
    assert calls.price_per_call == 0.25 and calls.guarantee.epsilon <= 1.0
    free = train(source(), make_training("per-call-tree", call_epsilon=0.25, structure="random"))
    assert free.guarantee == PureDP(epsilon=0.0, neighbours=Neighbours.ADD_REMOVE)
    assert "nothing that is seen here depends on the data" in free.statement
    assert "questions that were drawn at random, without the data: epsilon 0" in free.statement
    assert "every new question costs another epsilon = 0.25" in free.statement
    seeded = train(source(), make_training("forest", epsilon=1.0), stream=Stream.seeded(1))
    assert isinstance(seeded.guarantee, NoFormal) and "seed" in seeded.statement


def test_a_drafted_codebook_promises_nothing():
    from dataclasses import replace

    from understudy.codebook import Origin

    drafted = book()
    columns = (replace(drafted.columns[0], origin=Origin.DRAFTED), *drafted.columns[1:])
    held = source()
    held.__dict__["codebook"] = replace(drafted, columns=columns)
    model = train(held, make_training("forest", epsilon=1.0))
    assert isinstance(model.guarantee, NoFormal) and "dose" in model.guarantee.why


def test_a_target_of_three_levels_needs_a_name():
    with pytest.raises(ParameterError, match="positive"):
        train(source(), make_training("forest", epsilon=1.0), target="ward")
    model = train(source(), make_training("forest", epsilon=1.0), target="ward", positive="c")
    assert model.positive == "c" and "ill" in [feature.name for feature in model.features]


def test_exact_measures_by_hand():
    score = np.array([0.2, 0.4, 0.8])
    positive, negative = np.array([10.0, 20.0, 30.0]), np.array([30.0, 20.0, 10.0])
    found = measures(score, positive, negative, scale=0.0, generator=np.random.default_rng(1))
    # pairs won: 30 x (50 + 10/2) + 20 x (30 + 20/2) + 10 x 30/2 of 60 x 60
    assert found["auroc"]["value"] == pytest.approx((30 * 55 + 20 * 40 + 10 * 15) / 3600, abs=5e-5)
    brier = (10 * 0.64 + 30 * 0.04 + 20 * 0.36 + 20 * 0.16 + 30 * 0.04 + 10 * 0.64) / 120
    assert found["brier"]["value"] == pytest.approx(brier, abs=5e-5)
    assert [entry["observed"] for entry in found["reliability"]] == [0.25, 0.5, 0.75]
    assert found["auroc"]["low"] < found["auroc"]["value"] < found["auroc"]["high"]
    assert reliability_picture(found["reliability"], title="reliability").count("<circle") == 3
    few = measures(score, np.array([1.0, 1, 1]), negative, scale=0.0, generator=np.random.default_rng(1))
    assert few["auroc"] is None and "too few" in few["why"]


def test_quality_on_public_records_has_a_noise_band_and_subgroups():
    codes, labels = simulated(1500)
    held = boxed(codes, labels).open()
    grown = make_training("forest", epsilon=1.0).grow(boxed(codes, labels), FEATURES, Stream.from_system())
    quality = public_quality(grown.scorer, FEATURES, held, subgroups=["sex"], label="a simulation")
    assert set(quality.measures["subgroups"]["sex"]) == {"F", "M"}
    band = quality.measures["noise_band"]["auroc"]
    assert band["low"] <= band["high"]
    assert "public" in quality.paid
    with pytest.raises(ParameterError, match="subgroup"):
        public_quality(grown.scorer, FEATURES, held, subgroups=["nobody"], label="x")
    calls = PER_CALL.grow(boxed(codes, labels), FEATURES, Stream.from_system())
    with pytest.raises(RefusalError, match="cannot be measured for free"):
        public_quality(calls.scorer, FEATURES, held, subgroups=[], label="x")


def test_priced_quality_is_near_the_exact_one_and_costs_its_epsilon():
    """20,000 records at epsilon 5: noise moves AUROC by far less than 0.03, and 18 bands lose little."""
    codes, labels = simulated(20_000)
    grown = make_training("forest", epsilon=5.0).grow(boxed(codes, labels), FEATURES, Stream.from_system())
    exact = auroc(grown.scorer.score(codes)[0] + np.random.default_rng(0).random(len(codes)) * 1e-9, labels)
    quality, entries = measure_private(
        grown.scorer, FEATURES, boxed(codes, labels), epsilon=5.0, subgroups=["sex"], stream=Stream.from_system()
    )
    assert sum(entry.guarantee.epsilon for entry in entries) <= 5.0 * (1 + 1e-12)
    assert abs(quality.measures["auroc"]["value"] - exact) < 0.03
    assert quality.measures["auroc"]["low"] <= quality.measures["auroc"]["high"]
    assert "epsilon 5" in quality.paid
    calls = PER_CALL.grow(boxed(codes, labels), FEATURES, Stream.from_system())
    with pytest.raises(RefusalError, match="per-call"):
        measure_private(
            calls.scorer, FEATURES, boxed(codes, labels), epsilon=1.0, subgroups=[], stream=Stream.from_system()
        )


def test_wide_columns_are_refused():
    wide = Codebook(
        columns=(
            Integer(name="n", edges=tuple(map(Fraction, range(300)))),
            Categorical(name="y", levels=("0", "1")),
        )
    )
    with pytest.raises(RefusalError, match="256"):
        features_of(wide, "y")


def test_answers_follow_the_codes():
    questions = questions_of(FEATURES)
    found = answers(questions, np.array([[4, 2, 0, 1]], dtype=np.uint8))
    yes = [question.words for question, said in zip(questions, found[0], strict=True) if said]
    assert yes == ["dose is missing", "stage from II on", "stage = III", "ward = a", "sex = M"]


def test_the_delta_of_a_shared_bag_is_what_its_help_says():
    """Epsilon is of the whole bag and delta of each tree: a bag of 5 at 1e-6 states up to 5e-6."""
    stated = {}
    for sharing in ("shared", "disjoint"):
        bag = make_training("bag", epsilon=1.0, delta=1e-6, structure="stable", trees=5, sharing=sharing)
        stated[sharing] = RiskScore(training=bag, target="diabetes").quote(diabetes_example().codebook).total
    assert stated["disjoint"].delta <= 1e-6 < stated["shared"].delta <= 5e-6
    assert max(total.epsilon for total in stated.values()) <= 1.0
    said = options_of(type(bag))["delta"].help
    assert "each tree" in said and "shared bag adds them up" in said
