"""Thresholded tables with Gaussian noise: entries, manifests and refusals."""

import math
from fractions import Fraction

import numpy as np
import pytest

from understudy.errors import DataError, ParameterError, ReleaseError
from understudy.mechanisms.discrete_gaussian import (
    MAX_DEVIATION,
    deviation_of,
    discrete_gaussian,
    gaussian_tail,
    variance_for,
)
from understudy.mechanisms.gaussian_stability import (
    GaussianStability,
    gaussian_stability_entry,
    gaussian_stability_event,
    gaussian_stable_tables,
)
from understudy.mechanisms.histogram import noisy_histogram_entry
from understudy.mechanisms.laplace_tables import noisy_tables, share_of
from understudy.mechanisms.stability import stable_histogram_entry
from understudy.mechanisms.stream import Stream
from understudy.privacy import Entry, Ledger, Neighbours, Secret
from understudy.privacy.events import event_from_dict
from understudy.sources.tables import CountTable

AR, RO = Neighbours.ADD_REMOVE, Neighbours.REPLACE
HALF, ONE, UNEVEN = Fraction(1, 4), Fraction(1), Fraction(9, 4)
# --- entries, manifests, refusals ------------------------------------------------------------------------------------


def small_tables():
    first = CountTable.dense(["a", "b"], np.array([[50, 0, 1], [900, 40, 0]], dtype=np.int64))
    wide = CountTable.sparse(
        ["b", *"cdefghij"], (9,) * 9, np.array([[1] * 9, [2] * 9], dtype=np.uint8), np.array([990, 1])
    )
    return [Secret(first), Secret(wide)]


@pytest.mark.parametrize("stream", [Stream.seeded(3), Stream.from_system()])
def test_entry_is_known_before_the_data(stream):
    event = gaussian_stability_event(epsilon=2.0, delta=1e-9, tables=2, neighbours=RO)
    released, entry = gaussian_stable_tables(small_tables(), event=event, stream=stream)
    assert entry == gaussian_stability_entry([["a", "b"], ["b", *"cdefghij"]], event=event)
    assert Entry.from_dict(entry.to_dict()) == entry
    assert entry.assumptions.count("the levels of b are public") == 1
    assert entry.assumptions[-1] == "the levels of j are public"
    assert "the number of records is public" in entry.assumptions
    for table, secret in zip(released, small_tables(), strict=True):
        assert (table.columns, table.sizes) == (secret.open().columns, secret.open().sizes)
        codes, counts = table.occupied()
        assert (counts >= event.threshold).all()
        # 900 and 990 stay (40 deviations above T); lone records show with probability 1e-9
        assert len(codes) in (1, 2, 3)
    assert abs(int(released[1].occupied()[1][0]) - 990) <= 8 * float(deviation_of(event.variance))
    ledger = Ledger.of([entry])
    assert ledger.total() == entry.guarantee
    assert ledger.total(delta=1e-9).epsilon <= 2.0  # the event's own sum beats the conversion of its curve
    looser = ledger.total(delta=1e-6)
    assert looser.epsilon < entry.guarantee.epsilon  # where there is delta to spare, the curve is used


def test_events_survive_a_manifest():
    event = gaussian_stability_event(epsilon=0.7, delta=1e-6, tables=3, neighbours=RO)
    assert event_from_dict(event.to_dict()) == event
    for fields in ({"variance": "1/0"}, {"neighbours": "x"}, {"threshold": None}, {"delta": "no"}):
        with pytest.raises(ReleaseError, match="cannot be read"):
            event_from_dict({**event.to_dict(), **fields})
    with pytest.raises(ReleaseError, match="cannot be read"):
        event_from_dict({"kind": "gaussian-stability", "variance": "1/1"})


@pytest.mark.parametrize("tables", [1, 3, 7, 35])
@pytest.mark.parametrize("total", [1.0, 0.1, 1e-6, math.pi])
def test_shares_never_add_up_to_more(total, tables):
    share = share_of(total, tables)
    assert Fraction(share) * tables <= Fraction(total) < Fraction(math.nextafter(share, math.inf)) * tables


def test_laplace_tables_cost_what_was_asked_together():
    columns = [["a", "b"], ["b", *"cdefghij"]]
    each = {"epsilon": share_of(0.3, 2), "delta": share_of(1e-6, 2), "neighbours": AR}
    total = Ledger.of(stable_histogram_entry(names, **each) for names in columns).total()
    assert 0.299 < total.epsilon <= 0.3
    assert total.delta <= 1e-6
    dense = [small_tables()[0]] * 2
    tables, entries = noisy_tables(dense, epsilon=0.3, neighbours=RO, stream=Stream.seeded(1))
    assert entries == [noisy_histogram_entry(columns[0], (2, 3), epsilon=share_of(0.3, 2), neighbours=RO)] * 2
    assert all(table.grid is not None and (table.grid >= 0).all() for table in tables)
    assert (tables[0].grid != tables[1].grid).any()
    total = Ledger.of(entries).total()
    assert (0.299 < total.epsilon <= 0.3, total.delta) == (True, 0.0)
    each = {"epsilon": share_of(1.0, 400), "delta": share_of(1e-9, 400), "neighbours": AR}
    assert (
        Ledger.of([stable_histogram_entry(["a"], **each)] * 400).total(delta=1e-6).epsilon < 0.3
    )  # the curves add up to less than the epsilons


@pytest.mark.parametrize("variance", [4.0, Fraction(0), Fraction(-1), Fraction(2), Fraction(1, 9), Fraction(1, 16), 1])
def test_bad_variance(variance):
    with pytest.raises(ParameterError, match="`variance` is"):
        discrete_gaussian(np.zeros(3, dtype=np.int64), variance=variance, stream=Stream.seeded(1))
    with pytest.raises(ParameterError, match="`variance` is"):
        gaussian_tail(variance, 3)
    with pytest.raises(ParameterError, match="`variance` is"):
        GaussianStability(variance=variance, threshold=9, tables=1, delta=0.1, neighbours=AR)


@pytest.mark.parametrize("deviation", [0.4, -1.0, math.nan, math.inf, True, "1", MAX_DEVIATION + 1])
def test_bad_deviation(deviation):
    with pytest.raises(ParameterError, match="`deviation` is"):
        variance_for(deviation)


@pytest.mark.parametrize("counts", [np.zeros(3), np.zeros(3, dtype=np.int32), [1, 2], np.array([1 << 41])])
def test_bad_counts(counts):
    with pytest.raises(DataError):
        discrete_gaussian(counts, variance=ONE, stream=Stream.seeded(1))


@pytest.mark.parametrize(
    ("field", "value"),
    [("threshold", 0), ("tables", 0), ("tables", 2.0), ("tables", True), ("delta", 0.0), ("neighbours", "add-remove")],
)
def test_bad_events(field, value):
    good = {"variance": ONE, "threshold": 9, "tables": 2, "delta": 1e-6, "neighbours": AR}
    GaussianStability(**good)
    with pytest.raises(ParameterError, match=f"`{field}` is"):
        GaussianStability(**{**good, field: value})
    with pytest.raises(ParameterError, match="`delta` is 1e-17; it must exceed"):
        GaussianStability(**{**good, "delta": 1e-17})


def test_refusals_name_the_way_out():
    with pytest.raises(ParameterError, match=r"`epsilon` is 1e-05 .* Use a larger epsilon, or fewer tables"):
        gaussian_stability_event(epsilon=1e-5, delta=1e-6, tables=10, neighbours=AR)
    event = gaussian_stability_event(epsilon=1.0, delta=1e-6, tables=3, neighbours=AR)
    with pytest.raises(ParameterError, match="there are 2 tables and the event prices 3"):
        gaussian_stable_tables(small_tables(), event=event, stream=Stream.seeded(1))
    with pytest.raises(ParameterError, match="there are 0 tables"):
        noisy_tables([], epsilon=1.0, neighbours=AR, stream=Stream.seeded(1))


def test_empty_tables():
    nobody = CountTable.sparse(["a", "b"], (5, 5), np.empty((0, 2), dtype=np.uint8), np.empty(0, dtype=np.int64))
    event = gaussian_stability_event(epsilon=1.0, delta=1e-6, tables=1, neighbours=AR)
    for stream in (Stream.seeded(1), Stream.from_system()):
        released, _ = gaussian_stable_tables([Secret(nobody)], event=event, stream=stream)
        assert len(released[0].occupied()[1]) == 0
