"""One person moves every view of linked tables by no more than the price of `histories` says."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from linked_examples import hospital, hospital_data

from understudy.codebook import Categorical, Codebook, LinkedCodebook, LinkedTable
from understudy.codebook.views import views_of
from understudy.errors import RefusalError
from understudy.histories.counting import view_source
from understudy.histories.recipe import Histories
from understudy.mechanisms.gaussian_measurements import Meter
from understudy.mechanisms.histories import history_event
from understudy.mechanisms.stream import Stream
from understudy.privacy.secret import Secret
from understudy.sources.linked import open_linked
from understudy.sources.tables import CountTable

SEX, WARD = Categorical(name="sex", levels=("F", "M")), Categorical(name="ward", levels=("A", "B"))
TWO = LinkedCodebook(
    tables=(
        LinkedTable(name="people", key="id", book=Codebook(columns=(SEX,))),
        LinkedTable(name="stays", parent="people", parent_key="id", cap=2, book=Codebook(columns=(WARD,))),
    )
)


def two_level(histories):
    """Tables of people, each a sex and the wards of their stays."""
    people = {"id": [f"p{number}" for number, _ in histories], "sex": [sex for _, (sex, _) in histories]}
    stays = [(f"p{number}", ward) for number, (_, wards) in histories for ward in wards]
    return {
        "people": pa.table(people),
        "stays": pa.table(
            {
                "id": pa.array([one for one, _ in stays], pa.string()),
                "ward": pa.array([w for _, w in stays], pa.string()),
            }
        ),
    }


def grids(data, book, steps):
    """Counts of every view in all its columns, under fixed texts."""
    source, views = open_linked(data, book).capped("one text"), views_of(book)
    return [
        view_source(source, views, view, steps=steps, key="another").count([view.book.names])[0].open()
        for view in views
    ]


def moved(first, second):
    """Counts that differ, as a list."""
    cells = {}
    for sign, table in ((1, first), (-1, second)):
        codes, counts = table.occupied()
        for row, count in zip(codes.tolist(), counts.tolist(), strict=True):
            cells[tuple(row)] = cells.get(tuple(row), 0) + sign * count
    return [change for change in cells.values() if change]


@pytest.mark.parametrize("steps", [1, 2])
def test_one_person_moves_every_view_by_no_more_than_is_paid_for(steps):
    """Every history of up to three stays, beside two other people: nothing but the person's own rows changes."""
    others = [(1, ("F", ("A", "B", "A"))), (2, ("M", ("B",)))]
    without = grids(two_level(others), TWO, steps)
    for sex, number in itertools.product("FM", range(4)):
        for wards in itertools.combinations_with_replacement("AB", number):
            place = 0 if sex == "F" else 2  # whether their rows come first or last
            who = (0 if place == 0 else 9, (sex, wards))
            with_one = grids(two_level([*others[:place], who, *others[place:]]), TWO, steps)
            for view, (more, less) in enumerate(zip(with_one, without, strict=True)):
                changes = moved(more, less)
                assert all(change > 0 for change in changes)
                assert sum(changes) == (1 if view == 0 else min(steps, number))
                assert sum(change**2 for change in changes) <= (steps if view else 1) ** 2


@pytest.mark.parametrize("steps", [1, pytest.param(3, marks=pytest.mark.long)])
def test_a_view_of_three_levels_moves_by_its_steps(steps):
    """Each of several people taken out of three levels with rules, dates and caps."""
    data, book = hospital_data(6, seed=3), hospital()
    whole = grids(data, book, steps)
    stays = data["stays"].to_pylist()
    for person in data["patients"].column("pid").to_pylist():
        theirs = {row["sid"] for row in stays if row["pid"] == person}
        left = {
            "patients": data["patients"].filter(np.array(data["patients"].column("pid")) != person),
            "stays": data["stays"].filter(np.array(data["stays"].column("pid")) != person),
            "diagnoses": data["diagnoses"].filter(
                np.array([sid not in theirs for sid in data["diagnoses"].column("sid").to_pylist()])
            ),
        }
        for number, (more, less) in enumerate(zip(whole, grids(left, book, steps), strict=True)):
            changes = moved(more, less)
            assert all(change > 0 for change in changes)
            assert sum(changes) <= (1 if number == 0 else steps)


def test_measurements_of_several_rows_keep_the_stated_price():
    """zCDP of every kind of measurement, from the noise really used: at most units / 2 variance for k rows at once."""
    event = history_event(epsilon=2.0, delta=1e-6, rows=(1, 3))
    for rows, copies in itertools.product((2, 3), (1, 5, 400)):
        meter = Meter(event, Stream.seeded(1)).apart(event.units, rows=rows)
        used = []
        meter._joined = lambda exact, share, meter=meter, used=used: (  # type: ignore[method-assign]
            used.append((exact, meter.event.joined_deviation(share))) or exact.astype(float)
        )
        empty, full = (Secret(CountTable.dense(("a", "b"), grid)) for grid in _neighbours(rows))
        for measure in (
            lambda table, m=meter, c=copies: m.table(table, copies=c),
            lambda table, m=meter, c=copies: m.interaction(table, copies=c),
            lambda table, m=meter, c=copies: m.dependences([table, table], [np.ones((2, 3))] * 2, copies=c),
        ):
            before = meter.left
            measure(empty)
            paid = before - meter.left
            measure(full)
            (first, deviation), (second, _) = used[-2:]
            length = int(((first - second) ** 2).sum())
            assert length > 0
            assert Fraction(length) / (2 * deviation**2) <= Fraction(paid) / (2 * event.variance)


def _neighbours(rows):
    grid = np.array([[4, 0, 7], [1, 2, 3]])
    more = grid.copy()
    more[1, 2] += rows  # all in one cell: the worst place
    return grid, more


def test_as_many_steps_as_may_be_asked_for_have_a_price():
    event = history_event(epsilon=200.0, delta=1e-6, rows=(1, 1_000))
    assert event.units >= 1_000**2
    assert event.guarantee().epsilon <= 200.0


def test_no_view_spends_beyond_its_share():
    meter = Meter(history_event(epsilon=1.0, delta=1e-6, rows=(1, 2)), Stream.seeded(1))
    part = meter.apart(100, rows=2)
    table = Secret(CountTable.dense(("a",), np.array([3, 4])))
    part.table(table, copies=25)
    with pytest.raises(RefusalError):
        part.table(table, copies=1)
    with pytest.raises(RefusalError):
        meter.apart(meter.left + 1, rows=1)
    recipe, views = Histories(epsilon=1.0, delta=1e-6), views_of(hospital())
    assert math.fsum(recipe.shares(views)) <= 1 + 1e-12
    event = recipe.event(hospital(), views)
    assert sum(int(share * event.units) for share in recipe.shares(views)) <= event.units
    assert event.guarantee().epsilon <= 1.0
    assert event.guarantee().neighbours.unit == "person"
