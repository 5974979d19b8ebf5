"""Certificates: what they say, that they are true, what they cost, and that a rejection withholds and stays charged."""

import json
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest

import understudy as us
from understudy.codebook import Categorical, Codebook, PersonUnit, Role, Text
from understudy.errors import ParameterError, RefusalError
from understudy.mechanisms.stream import Stream
from understudy.privacy.account import Account
from understudy.sources.rows import read_rows
from understudy.synth.certificate import certificate_lines, count_certificate, regression_of, released_counts
from understudy.synth.wishes import read_wishes

TABLE, REGRESSION = "sex x age.yrs within 0.2", "sex=Male ~ age.yrs + sev within 0.9"
MODEL = {"epsilon": 1.0, "delta": 1e-6}
ASKED = {**MODEL, "certify": (TABLE, REGRESSION), "certify_epsilon": 1.0}
HOPELESS = {**MODEL, "certify": ("sex x age.yrs within 0.0001",), "certify_epsilon": 0.5}
BOOK = us.datasets.discharges_codebook()
SMALL = Codebook(
    columns=(Categorical(name="a", levels=("x", "y", "z")), Categorical(name="b", levels=("u", "v"))),
)


@pytest.fixture(scope="module")
def patients():
    return us.datasets.discharges(rows=4000, seed=5)


@pytest.fixture(scope="module")
def release(patients):
    return us.synthesize(patients, BOOK, rows=3000, **ASKED)


def codes_of(table, book=BOOK):
    return dict(zip(book.names, read_rows(table, book).open().codes, strict=True))


def true_distance(counts, released):
    return float(np.abs(counts / counts.sum() - released / released.sum()).sum() / 2)


def true_steps(fitted, real):
    """The one-step differences of the coefficients, without noise."""
    each = fitted.steps.reshape(real.size, -1) * fitted.unit
    return real.reshape(-1) @ each / real.sum() - fitted.offset


def beyond_chance(item):
    """A distance in records, or steps, that noise passes once in 10^9."""
    return 21 * float(Fraction(item["scale"]))


def small_table(rows, seed=None):
    rng = np.random.default_rng(seed)
    columns = {"a": rng.choice(["x", "y", "z"], rows, p=[0.6, 0.3, 0.1]), "b": rng.choice(["u", "v"], rows)}
    return pa.table({name: pa.array(values.tolist()) for name, values in columns.items()})


def test_quote_and_ledger_hold_the_certificate(release):
    quote = us.quote(BOOK, rows=3000, **ASKED)
    alone = us.quote(BOOK, rows=3000, **MODEL)
    assert [entry.stage for entry in quote.ledger].count("certificate") == 3
    assert alone.total.epsilon + 0.99 < quote.total.epsilon <= 2.0
    assert release.manifest.ledger == quote.ledger
    assert any("records or more" in warning for warning in quote.warnings)


def test_the_certificate_is_true_of_the_rows(patients, release):
    certificate = release.manifest.certificate
    assert certificate["accepted"], certificate_lines(certificate)
    real, drawn = codes_of(patients), codes_of(release.table)
    for wish, item in zip(read_wishes(ASKED["certify"], BOOK), certificate["asked"], strict=True):
        counts, released = (released_counts(BOOK, wish.clique, codes) for codes in (real, drawn))
        if wish.outcome is None:
            assert abs(item["moved"] - 4000 * true_distance(counts, released)) < beyond_chance(item) + 1
            assert item["low"] <= item["estimate"] <= item["high"] <= wish.tolerance
            continue
        fitted = regression_of(wish, BOOK, released)
        assert [known["name"] for known in item["coefficients"]] == list(fitted.names)
        for known, true in zip(item["coefficients"], true_steps(fitted, counts), strict=True):
            records_off = 21 * float(Fraction(certificate["records"]["scale"])) / 4000
            near = beyond_chance(item) * fitted.unit / 4000 + 2 * records_off * abs(true)
            assert abs(known["estimate"] - true) < near
            assert known["low"] <= known["estimate"] <= known["high"]


def test_one_step_is_near_the_difference_of_the_coefficients(patients):
    """What is certified is one step of Newton's method; between like tables only terms of second order are left out."""
    wish = read_wishes([REGRESSION], BOOK)[0]
    other = us.datasets.discharges(rows=4000, seed=6)
    real, drawn = (released_counts(BOOK, wish.clique, codes_of(table)) for table in (patients, other))
    fitted, target = regression_of(wish, BOOK, drawn), regression_of(wish, BOOK, real)
    wanted = dict(zip(target.names, target.coefficients, strict=True))
    assert set(fitted.names) == set(wanted) and len(wanted) >= 2
    for name, released, step in zip(fitted.names, fitted.coefficients, true_steps(fitted, real), strict=True):
        assert abs(step - (wanted[name] - released)) < 0.25 * abs(wanted[name] - released) + 0.02


def coverage(tries, runs, tolerance):
    """How often the interval holds the true distance, whatever the verdict; rows of any quality."""
    table, rng, stream = small_table(3000), np.random.default_rng(), Stream.from_system()
    asked = us.Marginals(**MODEL, certify=(f"a x b within {tolerance}",), certify_epsilon=0.3, certify_tries=tries)
    judge = count_certificate(asked, us.open(table, SMALL))
    real, covered = released_counts(SMALL, ("a", "b"), codes_of(table, SMALL)), 0

    def draw():
        shares = rng.dirichlet([12, 6, 2])
        return [rng.choice(3, 500, p=shares).astype(np.uint8), rng.integers(0, 2, 500).astype(np.uint8)]

    for _ in range(runs):
        drawn, certificate = judge.judged(draw, lambda codes: codes, 500, stream)
        released = released_counts(SMALL, ("a", "b"), dict(zip("ab", drawn, strict=True)))
        item = certificate["asked"][0]
        covered += item["low"] <= true_distance(real, released) <= item["high"]
    return covered / runs


@pytest.mark.parametrize(("tries", "tolerance"), [(1, 0.05), (20, 0.05), (20, 0.02)])
def test_intervals_cover_whether_or_not_rows_were_selected(tries, tolerance):
    """Nominal 95 %: 400 runs fall below 91 % with probability below .001, and the law is 96 % and more by its parts."""
    assert coverage(tries, 400, tolerance) >= 0.91


def test_a_rejection_is_recorded_withholds_the_rows_and_stays_charged(patients, tmp_path):
    account = Account.create(
        tmp_path / "a.account", dataset="town", epsilon=10.0, delta=1e-4, neighbours=us.Neighbours.ADD_REMOVE
    )
    model = tmp_path / "model.understudy"
    release = us.synthesize(
        patients, BOOK, rows=500, out=tmp_path / "out", save_model=model, account=account, **HOPELESS
    )
    assert release.table.num_rows == 0 and not model.exists()
    assert release.manifest.certificate["accepted"] is False
    [charge] = Account.open(tmp_path / "a.account").history()
    assert charge.state.value == "committed" and charge.digest is not None
    assert account.spent().epsilon == pytest.approx(release.manifest.total.epsilon)
    verdict = us.verify(tmp_path / "out")
    assert verdict.is_valid, verdict.problems
    assert any("withheld" in passed for passed in verdict.passed)


def test_nothing_more_comes_from_a_rejected_fit(patients):
    fitted = us.Marginals(**HOPELESS).fit(us.open(patients, BOOK))
    assert fitted.sample(200).table.num_rows == 0
    for ask in (lambda: fitted.sample(200), lambda: fitted.model, lambda: fitted.save_model("m")):
        with pytest.raises(RefusalError, match="rejected"):
            ask()


def test_further_rows_of_an_accepted_fit_are_free_and_have_no_certificate(patients):
    fitted = us.Marginals(**ASKED).fit(us.open(patients, BOOK))
    with pytest.raises(RefusalError, match="draw that first"):
        fitted.save_model("m")
    assert fitted.sample(3000).manifest.certificate["accepted"]
    assert fitted.sample(10).manifest.certificate is None


def test_a_method_of_route_s_pays_for_every_certificate(patients):
    recipe = us.PeGS(
        alpha=50.0, delta=1e-6, certify=("sex within 0.0001",), certify_epsilon=0.5, neighbours=us.Neighbours.REPLACE
    )
    fitted = recipe.fit(us.open(patients, BOOK))
    assert [fitted.sample(50).table.num_rows for _ in range(2)] == [0, 0]


def test_a_person_pays_for_all_their_records(tmp_path):
    book = Codebook(
        columns=(Text(name="id", role=Role.IDENTIFIER), *SMALL.columns),
        unit=PersonUnit(id="id", cap=3),
    )
    asked = {**MODEL, "certify": ("a within 0.5",), "certify_epsilon": 0.9}
    people = small_table(3000).append_column("id", pa.array([str(row // 2) for row in range(3000)]))
    release = us.synthesize(people, book, rows=500, out=tmp_path / "out", **asked)
    assert Fraction(release.manifest.certificate["records"]["scale"]) == pytest.approx(100 / 3)
    assert 1.89 < release.manifest.ledger.basic().epsilon <= 1.9
    verdict = us.verify(tmp_path / "out")
    assert verdict.is_valid, verdict.problems


@pytest.mark.parametrize("edit", ["accepted", "high", "moved", "scale", "released", "words", "tolerance", "rows"])
def test_an_edited_certificate_is_found(release, tmp_path, edit):
    release.save(tmp_path / "out")
    assert us.verify(tmp_path / "out").is_valid
    path = tmp_path / "out" / "manifest.json"
    manifest = json.loads(path.read_text())
    certificate = manifest["certificate"]
    table, regression = certificate["asked"]
    if edit in ("accepted", "rows"):
        certificate[edit] = {"accepted": False, "rows": 17}[edit]
    elif edit == "released":
        regression["coefficients"][0]["released"] += 0.1
    else:
        table[edit] = {"high": 0.001, "moved": 0, "scale": "1", "words": "sex within 0.2", "tolerance": 0.3}[edit]
    path.write_text(json.dumps(manifest))
    assert not us.verify(tmp_path / "out").is_valid


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"certify": ("sex x nose within 0.1",)}, "no column of the model"),
        ({"certify": ("sex within 0",)}, "above 0 and below 1"),
        ({"certify": ("sex within 1.5",)}, "above 0 and below 1"),
        ({"certify": ("sex within nan",)}, "above 0 and below 1"),
        ({"certify": ("sex",)}, "names columns and a tolerance"),
        ({"certify": ("sex x sex within 0.1",)}, "twice"),
        ({"certify": ("sex=Neither ~ sev within 0.1",)}, "which level"),
        ({"certify": ("pay ~ sev within 0.1",)}, "which level"),
        ({"certify": ("sex=Male ~ sex within 0.1",)}, "both sides"),
        ({"certify": ("typ x age.yrs x charge x MDC x patzip x los within 0.1",)}, "too many"),
        (
            {
                "certify": ("sex within 0.1",),
                "certify_epsilon": None,
                "method": "pegs",
                "alpha": 9.0,
                "epsilon": None,
                "delta": None,
            },
            "There is no default for privacy",
        ),
        ({"certify": ()}, "nothing is to be certified"),
        (
            {"certify": ("sex within 0.1",), "method": "contingency", "epsilon": None, "delta": None},
            "has no differential",
        ),
        ({"certify": ("sex within 0.1",), "certify_epsilon": 1e-9}, "Use a larger epsilon"),
        ({"certify": ("sex within 0.1",), "certify_tries": 0}, "whole number"),
    ],
)
def test_bad_wishes_get_a_sentence_before_anything_is_read(options, sentence):
    given = {**MODEL, "certify_epsilon": 0.1, **options}
    given = {name: value for name, value in given.items() if value is not None}
    with pytest.raises(ParameterError, match=sentence):
        us.quote(BOOK, rows=10, **given)


def test_several_tries_need_rows_that_are_free(patients):
    with pytest.raises(ParameterError, match="route N"):
        us.quote(
            BOOK, rows=10, method="pegs", alpha=50.0, certify=("sex within 0.1",), certify_epsilon=1, certify_tries=3
        )
    with pytest.raises(ParameterError, match="one release"):
        us.synthesize_many(patients, BOOK, rows=10, files=2, **ASKED)
    with pytest.raises(ParameterError, match="as a whole"):
        us.synthesize_parts(patients, BOOK, rows=10, out="nowhere", **ASKED)


def test_several_tries_cost_no_more_than_the_epsilon_of_the_certificate():
    alone = us.quote(BOOK, rows=10, **MODEL).total.epsilon
    for tries in (1, 2, 1000):
        quote = us.quote(BOOK, rows=10, **ASKED, certify_tries=tries)
        assert alone < quote.pure.epsilon <= alone + 1.0 + 1e-9
