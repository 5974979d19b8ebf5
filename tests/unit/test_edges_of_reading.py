"""What is read back is what was written: promises, manifests and passports (survivors of the third round, 0178)."""

import json

import pytest

import understudy as us
from understudy.errors import ParameterError
from understudy.mechanisms.selection_scores import conditional_entropy_sensitivity, mutual_information_sensitivity
from understudy.privacy.guarantees import (
    ApproxDP,
    KAnonymous,
    LDiverse,
    Neighbours,
    NoFormal,
    ProbabilisticDP,
    PureDP,
    guarantee_from_dict,
)
from understudy.release.manifest import read_manifest

AR = Neighbours.ADD_REMOVE
PROMISES = (
    PureDP(epsilon=0.5, neighbours=AR),
    ApproxDP(epsilon=0.5, delta=1e-6, neighbours=Neighbours.REPLACE),
    ProbabilisticDP(epsilon=0.5, delta=1e-6, neighbours=AR),
    NoFormal(why="nobody has a proof"),
)


@pytest.mark.parametrize("promise", PROMISES, ids=lambda promise: promise.kind)
def test_a_promise_is_read_as_it_was_written(promise):
    assert guarantee_from_dict(json.loads(json.dumps(promise.to_dict()))) == promise
    assert {PureDP, ApproxDP, ProbabilisticDP, NoFormal, LDiverse, KAnonymous} >= {type(promise)}


@pytest.fixture(scope="module")
def released(tmp_path_factory):
    place = tmp_path_factory.mktemp("read")
    book, rows = us.datasets.discharges_codebook(), us.datasets.discharges(rows=200, seed=1)
    for name, seed in (("secure", None), ("seeded", 7)):
        us.synthesize(rows, book, rows=5, method="laplace", epsilon=1, seed=seed, out=place / name)
    return place, book


@pytest.mark.parametrize(("name", "secure"), [("secure", True), ("seeded", False)])
def test_a_manifest_says_whether_somebody_knows_the_seed(released, name, secure):
    place, book = released
    facts = json.loads((place / name / "manifest.json").read_text(encoding="utf-8"))
    assert read_manifest(facts, book).secure is secure


def test_a_passport_that_says_something_else_is_a_fault(released):
    place, _ = released
    folder = place / "secure"
    us.passport(folder)
    assert us.verify(folder).is_valid
    card = folder / "README.md"
    card.write_text(card.read_text(encoding="utf-8") + "Free of any risk.\n", encoding="utf-8")
    assert any("README.md was changed" in problem for problem in us.verify(folder).problems)


def test_scores_are_exact_enough_up_to_a_number_of_records():
    assert conditional_entropy_sensitivity(2**31) > 0 and mutual_information_sensitivity(2**31, binary=False) > 0
    for refused in (conditional_entropy_sensitivity, lambda n: mutual_information_sensitivity(n, binary=True)):
        with pytest.raises(ParameterError):
            refused(2**31 + 1)
