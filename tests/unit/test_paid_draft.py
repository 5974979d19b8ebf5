"""A codebook at a price: what it finds, who pays, and what it refuses."""

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

from understudy.codebook import Categorical, Codebook, Continuous, Dates, Grain, Integer, Origin, PersonUnit
from understudy.errors import BudgetError, CodebookError, DataError, ParameterError, RefusalError
from understudy.mechanisms.stream import Stream
from understudy.privacy import Neighbours
from understudy.privacy.account import Account
from understudy.release.verify import verify_release
from understudy.sources import open_source
from understudy.synth import LaplaceHistogram, Marginals, PeGS
from understudy.synth.paid_draft import PaidPlan, paid_draft

PLAN = PaidPlan(epsilon=4.0, delta=1e-6, drop=("id",), named=("code",))


def visits(rows=12_000):
    drawn = np.random.default_rng(3)
    day = drawn.integers(0, 900, rows)
    return pa.table(
        {
            "id": [f"secret-{k}" for k in range(rows)],
            "sex": np.where(np.arange(rows) == 7, "a secret", drawn.choice(["F", "M"], rows)),
            "code": drawn.choice([101, 250, 999], rows),
            "stay": drawn.choice([1, 2, 3], rows),
            "charge": np.round(drawn.lognormal(8, 1, rows)).astype(np.int64),
            "weight": np.round(drawn.normal(75, 12, rows), 1),
            "zip": drawn.choice(["01234", "02139"], rows),
            "day": [str(np.datetime64("2010-03-01") + int(d)) for d in day],
            "note": [f"text {k}" for k in range(rows)],
        }
    )


@pytest.fixture(scope="module")
def drafted():
    return paid_draft(visits(), PLAN, stream=Stream.from_system())


def test_columns_are_found_as_a_person_would(drafted):
    """Thresholds here are near 60 records and the columns hold thousands, so no draw changes what is found."""
    assert [column.name for column in drafted.columns] == visits().column_names
    sex, code, zips = (drafted.column(name) for name in ("sex", "code", "zip"))
    assert sex.labels == ("F", "M", "other", "NA")
    assert code.labels == ("101", "250", "999", "other", "NA") and isinstance(code, Categorical)
    assert drafted.column("stay").labels == ("1", "2", "3", "other", "NA")
    assert zips.labels == ("01234", "02139", "other", "NA")  # a leading zero makes it a name
    charge, weight, day = (drafted.column(name) for name in ("charge", "weight", "day"))
    assert isinstance(charge, Integer) and charge.clip and 4 <= charge.proper_levels <= 8
    assert isinstance(weight, Continuous) and weight.precision >= 1 and 3 <= weight.proper_levels <= 8
    assert isinstance(day, Dates) and (day.start.year, day.end.year) == (2010, 2012) and day.grain is Grain.MONTH
    assert [c.name for c in drafted.columns if not c.is_modelled] == ["id", "note"]
    assert all(column.origin is Origin.PAID for column in drafted.modelled)
    assert "a secret" not in drafted.to_toml()


def test_edges_are_near_the_quantiles(drafted):
    """Median within a tenth of the records: at epsilon .1 a round, e^-60 of the law lies beyond."""
    weights = np.sort(visits()["weight"].to_numpy())
    places = np.searchsorted(weights, [float(edge) for edge in drafted.column("weight").edges]) / len(weights)
    assert np.abs(places - 0.5).min() < 0.1


def test_a_paid_codebook_is_written_and_read_back(drafted):
    assert Codebook.from_toml(drafted.to_toml()) == drafted
    assert drafted.is_public and drafted.unattested == ()


def test_a_release_repeats_the_price_and_an_account_pays_it_once(tmp_path):
    account = Account.create(
        tmp_path / "a.db", dataset="visits", epsilon=20.0, delta=1e-5, neighbours=Neighbours.ADD_REMOVE
    )
    book = paid_draft(visits(), PLAN, account=account)
    assert account.spent().epsilon == 4.0
    source = open_source(visits(), book, unknown="other-or-missing", account=account)
    recipe = Marginals(epsilon=1.0, delta=1e-6)
    for number in (1, 2):
        release = recipe.fit(source).sample(100)
        assert 4.0 < release.manifest.total.epsilon <= 5.0 and release.manifest.total.delta <= 2.1e-6
        assert account.spent().epsilon == pytest.approx(4.0 + number, rel=1e-6)  # not 4 + number * 5
    assert release.manifest.ledger.entries[0].stage == "codebook"
    release.save(tmp_path / "out")
    assert verify_release(tmp_path / "out").is_valid


def test_an_account_that_did_not_pay_for_the_draft_is_charged_for_it(drafted, tmp_path):
    account = Account.create(
        tmp_path / "a.db", dataset="visits", epsilon=20.0, delta=1e-5, neighbours=Neighbours.ADD_REMOVE
    )
    source = open_source(visits(), drafted, unknown="other-or-missing", account=account)
    LaplaceHistogram(epsilon=1.0).quote(replace(drafted, columns=drafted.columns[:3]), 5)
    Marginals(epsilon=1.0, delta=1e-6).fit(source).sample(10)
    assert account.spent().epsilon == pytest.approx(5.0, rel=1e-6)


def test_a_whole_file_target_keeps_its_own_delta(drafted):
    total = PeGS(epsilon=2.0, delta=1e-6, rows=50).quote(drafted, 50).total
    assert total.epsilon <= 6.0 + 1e-6 and total.delta <= 2.1e-6


def test_an_account_that_cannot_pay_is_left_alone(tmp_path):
    account = Account.create(
        tmp_path / "a.db", dataset="visits", epsilon=3.0, delta=1e-5, neighbours=Neighbours.ADD_REMOVE
    )
    with pytest.raises(BudgetError):
        paid_draft(visits(100), PLAN, account=account)
    assert account.spent().epsilon == 0.0


def test_a_draft_with_nothing_to_show_stays_charged(tmp_path):
    account = Account.create(
        tmp_path / "a.db", dataset="visits", epsilon=9.0, delta=1e-5, neighbours=Neighbours.ADD_REMOVE
    )
    with pytest.raises(RefusalError, match="nothing shows is an answer"):
        paid_draft(visits(8), PLAN, account=account)
    assert account.spent().epsilon == 4.0


def test_a_seeded_draft_promises_nothing():
    book = paid_draft(visits(), PLAN, stream=Stream.seeded(1))
    total = Marginals(epsilon=1.0, delta=1e-6).quote(book, 10).total
    assert not total.is_formal and "seed" in total.why


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"epsilon": 0.0}, "epsilon"),
        ({"epsilon": float("nan")}, "epsilon"),
        ({"delta": 0.0}, "delta"),
        ({"delta": 2.0}, "delta"),
        ({"bins": 7}, "bins"),
        ({"bins": True}, "bins"),
    ],
)
def test_a_bad_plan_is_refused(change, said):
    with pytest.raises(ParameterError, match=said):
        PaidPlan(**{"epsilon": 1.0, "delta": 1e-6, **change})


def test_unknown_columns_and_too_much_dropping_are_refused():
    with pytest.raises(ParameterError, match="no column 'nobody'"):
        paid_draft(visits(10), replace(PLAN, drop=("nobody",)))
    with pytest.raises(DataError, match="every column is dropped"):
        paid_draft(pa.table({"a": [1]}), PaidPlan(epsilon=1.0, delta=1e-6, drop=("a",)))


def test_paid_columns_without_a_receipt_are_refused(drafted):
    with pytest.raises(CodebookError, match=r"no \[paid\] table"):
        replace(drafted, paid=None)
    text = drafted.to_toml()
    for old, new in (('draft = "', 'draft = 7 # "'), ("entries = ", "extra = 1\nentries = "), ('"[{', '"{[{')):
        with pytest.raises(CodebookError, match=r"\[paid\]|valid TOML"):
            Codebook.from_toml(text.replace(old, new, 1))
    forged = replace(drafted, paid=replace(drafted.paid, entries='[{"stage": "codebook"}]'))
    with pytest.raises(CodebookError, match="cannot be priced"):
        LaplaceHistogram(epsilon=1.0).quote(forged, 5)


def stays(people=4_000, each=5):
    """Everybody has five records; one person has a word of their own in a thousand more."""
    drawn = np.random.default_rng(4)
    who = [*(f"p{k % people}" for k in range(people * each)), *["one"] * 1000]
    return pa.table(
        {
            "patient": who,
            "sex": [*drawn.choice(["F", "M"], people * each), *["mine alone"] * 1000],
            "weight": np.round(drawn.normal(75, 12, len(who)), 1),
        }
    )


def test_a_draft_for_people_caps_prices_and_is_paid_once(tmp_path):
    account = Account.create(
        tmp_path / "a", dataset="d", epsilon=9.0, delta=1e-3, neighbours=Neighbours.ADD_REMOVE_PERSON
    )
    plan = PaidPlan(epsilon=4.0, delta=1e-6, unit=PersonUnit(id="patient", cap=2))
    book = paid_draft(stays(), plan, account=account)
    assert book.unit == plan.unit and book.is_public and book.names == ("sex", "weight")
    assert book.column("sex").labels == ("F", "M", "other", "NA")  # two records of "one" take part, not a thousand
    assert Codebook.from_toml(book.to_toml()) == book
    release = (
        LaplaceHistogram(epsilon=1.0)
        .fit(open_source(stays(), book, unknown="other-or-missing", account=account))
        .sample(50)
    )
    total = release.manifest.total
    assert total.neighbours is Neighbours.ADD_REMOVE_PERSON and total.epsilon == pytest.approx(5.0)
    assert total.delta <= 1e-6 and account.spent().epsilon == pytest.approx(5.0)
    release.save(tmp_path / "out")
    assert verify_release(tmp_path / "out").is_valid
    assert b"mine alone" not in (tmp_path / "out" / "codebook.toml").read_bytes()


def test_a_draft_for_people_of_a_record_s_price_shows_what_the_cap_hides():
    """The same table drafted for records shows the word that one person has a thousand times: this test can fail."""
    book = paid_draft(stays(), PaidPlan(epsilon=4.0, delta=1e-6, drop=("patient",)))
    assert "mine alone" in book.column("sex").labels


def test_a_draft_for_people_refuses_rows_of_nobody_and_charges_nothing(tmp_path):
    account = Account.create(
        tmp_path / "a", dataset="d", epsilon=9.0, delta=1e-3, neighbours=Neighbours.ADD_REMOVE_PERSON
    )
    rows = stays(people=50).set_column(0, "patient", pa.array([None, *["x"] * 1249]))
    plan = PaidPlan(epsilon=4.0, delta=1e-6, unit=PersonUnit(id="patient", cap=2))
    with pytest.raises(DataError, match="'patient' is missing in 1 rows"):
        paid_draft(rows, plan, account=account)
    assert account.spent().epsilon == 0
    with pytest.raises(ParameterError, match="no column 'patient'"):
        paid_draft(rows.drop_columns(["patient"]), plan)
    with pytest.raises(ParameterError, match="cap = 0"):
        PaidPlan(epsilon=1.0, delta=1e-6, unit=PersonUnit(id="patient", cap=0))


def test_bounds_are_found_where_many_records_share_the_smallest_or_largest_value():
    """Newborns: 12 % are 0, and 6 % are 95 or over. A wrong bound has probability about e^-16 per column."""
    drawn = np.random.default_rng(6)
    ages = np.minimum(np.where(drawn.random(20_000) < 0.12, 0, drawn.integers(0, 100, 20_000)), 95)
    book = paid_draft(pa.table({"age": ages}), PaidPlan(epsilon=3.0, delta=1e-6))
    age = book.column("age")
    assert isinstance(age, Integer) and age.edges[0] == 0 and 95 <= age.edges[-1] <= 97
