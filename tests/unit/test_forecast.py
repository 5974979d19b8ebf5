"""Forecasts: from public numbers alone, near what happens, and turned round to the smallest epsilon."""

import itertools
import math

import numpy as np
import pyarrow as pa
import pytest

import understudy as us
from understudy.codebook import Categorical, Codebook, Detail
from understudy.errors import DataError, ParameterError
from understudy.sources.rows import read_rows
from understudy.synth.forecast import PublicRows, distance

BOOK = us.datasets.discharges_codebook()
PRICE = {"epsilon": 1.0, "delta": 1e-6}
CODES = tuple(f"h{number}" for number in range(40))
VISITS = Codebook(
    columns=(
        Categorical(name="chapter", levels=("heart", "lung")),
        Categorical(name="sex", levels=("F", "M")),
        Detail(name="code", detail_of="chapter", other="other", groups=(("heart", CODES), ("lung", ("l1",)))),
    )
)
DETAILS = {**PRICE, "detail_epsilon": 1.0, "detail_delta": 1e-6}


def visits(rows, seed):
    """Half of the hearts have the first code, a quarter the second, and so on: the last ones nobody has."""
    rng = np.random.default_rng(seed)
    place = np.minimum(rng.geometric(0.5, rows) - 1, len(CODES) - 1)
    lung = rng.random(rows) < 0.3
    return pa.table(
        {
            "chapter": np.where(lung, "lung", "heart").tolist(),
            "sex": rng.choice(["F", "M"], rows).tolist(),
            "code": ["l1" if is_lung else CODES[code] for is_lung, code in zip(lung, place, strict=True)],
        }
    )


def test_errors_fall_with_epsilon_and_with_records():
    grid = [(epsilon, records) for epsilon in (0.1, 1.0, 10.0) for records in (1_000, 10_000, 100_000)]
    told = {place: us.forecast(BOOK, place[1], epsilon=place[0], delta=1e-6) for place in grid}
    for (epsilon, records), outlook in told.items():
        for span in (outlook.one_way, outlook.two_way, outlook.share_noise):
            assert 0 < span.low < span.high
        assert outlook.two_way.high <= 1 and not outlook.from_public
        for other in (told.get((epsilon * 10, records)), told.get((epsilon, records * 10))):
            if other is not None:
                assert other.two_way.low < outlook.two_way.low and other.two_way.high < outlook.two_way.high
                assert other.share_noise.high < outlook.share_noise.high


def test_a_public_table_tells_what_happens():
    """Another sample of the same town; the bar is 25 %, and the mean of 78 tables hardly varies between runs."""
    public, real = (us.datasets.discharges(rows=4000, seed=seed) for seed in (1, 2))
    outlook = us.forecast(BOOK, 4000, public=public, wanted="share of sex by sev", **PRICE)
    release = us.synthesize(real, BOOK, rows=4000, **PRICE)
    both = [dict(zip(BOOK.names, read_rows(table, BOOK).open().codes, strict=True)) for table in (real, release.table)]
    happened = np.mean([distance(*both, pair, BOOK) for pair in itertools.combinations(BOOK.names, 2)])
    assert outlook.from_public and outlook.two_way.low == outlook.two_way.high
    assert abs(outlook.two_way.high / happened - 1) < 0.25
    by_range = us.forecast(BOOK, 4000, **PRICE).two_way
    assert by_range.low <= happened <= by_range.high
    assert outlook.table == ("sex", "sev") and 0 < outlook.table_error.high < 0.2


@pytest.mark.parametrize("wanted", [None, "sex x sev", "pay"])
def test_the_smallest_epsilon_meets_the_error_and_a_smaller_one_does_not(wanted):
    outlook = us.forecast(BOOK, 10_000, error=0.05, wanted=wanted, delta=1e-6)

    def upper(epsilon):
        told = us.forecast(BOOK, 10_000, epsilon=epsilon, delta=1e-6, wanted=wanted)
        return (told.table_error or told.two_way).high

    assert upper(outlook.epsilon) <= 0.05 < upper(outlook.epsilon / 1.06)
    assert "smallest epsilon" in outlook.lines()[1]


def test_thresholds_say_how_large_a_code_must_be():
    """In 95 of 100 cases, by the law of the noise: one record fewer would show less often."""
    outlook = us.forecast(VISITS, 5000, **DETAILS)
    [threshold] = outlook.thresholds
    event = outlook.quote.ledger.entries[-1].event
    q = math.exp(-1 / float(event.scale))

    def chance(records):  # P(records + noise >= threshold)
        return 1 - q ** (records - event.threshold + 1) / (1 + q)

    assert chance(threshold.records) >= 0.95 > chance(threshold.records - 1)
    assert threshold.at_most == 5000 // threshold.records
    assert outlook.details == () and outlook.vanished == {}  # which codes vanish is told only by public frequencies


def test_a_public_table_tells_which_codes_vanish():
    outlook = us.forecast(VISITS, 3000, public=visits(6000, 1), **DETAILS)
    [detail] = outlook.details
    release = us.synthesize(visits(3000, 2), VISITS, rows=3000, **DETAILS)
    codes = release.table.column("code").to_pylist()
    assert abs(detail.shown - len(set(codes) - {"other"})) <= 3
    assert abs(detail.other - codes.count("other") / 3000) < 0.03
    assert detail.vanish and set(detail.vanish) <= set(CODES[5:]) and detail.codes == 41
    assert "will show" in " ".join(outlook.lines())


def test_a_certificate_is_told_how_wide_it_will_be():
    outlook = us.forecast(BOOK, 5000, **PRICE, certify=("sex x sev within 0.05",), certify_epsilon=0.2)
    release = us.synthesize(
        us.datasets.discharges(rows=5000, seed=3),
        BOOK,
        rows=5000,
        **PRICE,
        certify=("sex x sev within 0.05",),
        certify_epsilon=0.2,
    )
    [told], [item] = outlook.certificates, release.manifest.certificate["asked"]
    assert 0.5 < (item["high"] - item["estimate"]) / told.half_width < 1.3  # it is told for a table at its tolerance


def test_the_quote_holds_the_forecast():
    quote = us.quote(BOOK, rows=100, rows_about=5000, **PRICE)
    assert quote.forecast.lines() == us.forecast(BOOK, 5000, **PRICE).lines()
    assert quote.to_dict()["forecast"]["two_way"] == {
        "low": quote.forecast.two_way.low,
        "high": quote.forecast.two_way.high,
    }
    with pytest.raises(ParameterError, match="rows_about"):
        us.quote(BOOK, rows=100, public="somewhere.csv", **PRICE)


def test_tables_that_are_not_public_are_refused(tmp_path):
    patients = us.datasets.discharges(rows=500, seed=1)
    with pytest.raises(ParameterError, match="confidential table itself"):
        us.quote(BOOK, rows=10, rows_about=500, data=patients, public=patients, **PRICE)
    unpaid = us.synthesize(patients, BOOK, rows=50, method="contingency").table
    with pytest.raises(DataError, match="stand-in"):
        us.forecast(BOOK, 500, public=unpaid, **PRICE)
    paid = us.synthesize(patients, BOOK, rows=200, **PRICE).table
    assert us.forecast(BOOK, 200, public=paid, **PRICE).from_public


def test_methods_that_cannot_tell_say_so_and_run_on_a_public_table():
    outlook = us.forecast(VISITS, 1000, method="laplace", epsilon=1.0, detail_epsilon=1.0, detail_delta=1e-6)
    assert outlook.two_way is None and "cannot tell" in outlook.lines()[1]
    run = us.forecast(
        VISITS, 1000, method="laplace", public=visits(1000, 1), epsilon=1.0, detail_epsilon=1.0, detail_delta=1e-6
    )
    assert 0 < run.two_way.high < 0.2


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({**PRICE, "wanted": "sex by nose"}, "no column of the model"),
        ({**PRICE, "wanted": "sex x sev x typ"}, "name one or two columns"),
        ({**PRICE, "rows_about": 0}, "rows_about"),
        ({**PRICE, "error": 0.1}, "leave one of them out"),
        ({"delta": 1e-6, "error": 0}, "above 0 and below 1"),
        ({"delta": 1e-6, "error": 1e-9}, "even epsilon 100"),
        ({"method": "pegs", "alpha": 50.0, "error": 0.1}, "give exactly one of alpha"),
        ({"method": "laplace", "error": 0.1}, "cannot give"),
        ({"error": 0.1}, "needs `delta`"),
    ],
)
def test_bad_questions_get_a_sentence(options, sentence):
    given = {"rows_about": 1000, **options}
    book = VISITS if options.get("method") == "laplace" else BOOK
    more = {"detail_epsilon": 1.0, "detail_delta": 1e-6} if book is VISITS else {}
    with pytest.raises(ParameterError, match=sentence):
        us.forecast(book, **given, **more)


@pytest.mark.parametrize("records", [3, 10, 25])
def test_rows_of_a_public_table_stand_in_equally_often(records):
    public = PublicRows(table=pa.table({"x": list(range(10))}), book=BOOK)
    often = np.bincount(public.sample(records, np.random.default_rng(1))["x"].to_numpy(), minlength=10)
    assert often.sum() == records and often.max() - often.min() <= 1
