"""One person more, in every way that linked tables are read: constants, tables that are made, orphans, joined counts.

Under fixed texts everything that is counted is compared with and without the person. Nothing of anybody else may
change, and what is theirs is at most what the price says.
"""

from dataclasses import replace
from fractions import Fraction

import pyarrow as pa
import pytest

from understudy.codebook import Categorical, Codebook, LinkedCodebook, LinkedTable
from understudy.codebook.linked import Constant
from understudy.codebook.views import views_of
from understudy.errors import ParameterError
from understudy.histories.counting import view_source
from understudy.mechanisms.group import GroupOf
from understudy.mechanisms.histories import HistoryMeasurements
from understudy.privacy.guarantees import Neighbours
from understudy.sources.joined_source import open_joined
from understudy.sources.linked import open_linked
from understudy.synth.linked_counts import linked_counts

SEX = Categorical(name="sex", levels=("F", "M"), missing="")
WARD, DRUG = Categorical(name="ward", levels=("A", "B")), Categorical(name="drug", levels=("x", "y"))
PEOPLE = LinkedTable(name="people", key="id", book=Codebook(columns=(SEX,)))
STAYS = LinkedTable(
    name="stays", key="stay", parent="people", parent_key="id", cap=2, order="turn", book=Codebook(columns=(WARD,))
)
DRUGS = LinkedTable(name="drugs", parent="stays", parent_key="stay", cap=2, book=Codebook(columns=(DRUG,)))
OTHERS = {1: ([("A", "F"), ("B", "F"), ("A", "F")], 1), 2: ([("B", "M")], 2), 3: ([("A", ""), ("A", "M")], 0)}
"""Numbers of people, each with the ward and the sex that each stay tells, and drugs of each stay."""


def tables(people, *, with_sex):
    """Tables in which stays tell the sex, or people do."""
    rows = [
        (f"p{number}", f"s{number}-{turn}", turn, ward, sex, drugs)
        for number, (stays, drugs) in people.items()
        for turn, (ward, sex) in enumerate(stays)
    ]
    names = ("id", "stay", "turn", "ward", "sex", "drugs")
    columns = {name: [row[place] for row in rows] for place, name in enumerate(names)}
    texts = {name: pa.array(columns[name], pa.string()) for name in ("id", "stay", "ward", "sex")}
    stays = pa.table({**texts, "turn": pa.array(columns["turn"], pa.int64())})
    drugs = [(row[1], "xy"[each % 2]) for row in rows for each in range(row[5])]
    own = {"id": [f"p{number}" for number in people]}
    if not with_sex:
        stays = stays.drop_columns("sex")
        own["sex"] = [max((sex for _, sex in theirs), default="") for theirs, _ in people.values()]
    return {
        "people": pa.table({name: pa.array(values, pa.string()) for name, values in own.items()}),
        "stays": stays,
        "drugs": pa.table(
            {
                "stay": pa.array([stay for stay, _ in drugs], pa.string()),
                "drug": pa.array([drug for _, drug in drugs], pa.string()),
            }
        ),
    }


def view_counts(data, book, steps):
    """Counts of every view in all its columns."""
    source, views = open_linked(data, book).capped("one text"), views_of(book)
    counted = (view_source(source, views, view, steps=steps, key="another") for view in views)
    return [each.count([view.book.names])[0].open() for each, view in zip(counted, views, strict=True)]


def changes(more, less):
    """By how much each combination of levels changed."""
    cells = {}
    for sign, table in ((1, more), (-1, less)):
        codes, counts = table.occupied()
        for row, count in zip(codes.tolist(), counts.tolist(), strict=True):
            cells[tuple(row)] = cells.get(tuple(row), 0) + sign * count
    return [change for change in cells.values() if change]


NOBODY, ONE, TWO, MANY = [], [("A", "M")], [("B", ""), ("A", "F")], [("A", "F"), ("A", "M"), ("A", "M")]
HISTORIES = (NOBODY, ONE, TWO, MANY)
"""None, one, two and more stays than the cap, with what the stays tell of the sex: missing, and contradicting."""


def assert_own_rows_only(book, steps, *, with_sex, made=False):
    names = [table.name for table in book.tables]
    shown = {name: table for name, table in tables(OTHERS, with_sex=with_sex).items() if name in names}
    without = view_counts({n: t for n, t in shown.items() if not (made and n == "people")}, book, steps)
    for number, stays in enumerate(HISTORIES):
        if made and not stays:
            continue  # whoever has no row is nobody
        place = number % 2 * 9  # their rows come first, or last
        people = dict(sorted({**OTHERS, place: (stays, number % 3)}.items()))
        data = {n: t for n, t in tables(people, with_sex=with_sex).items() if n in names}
        if made:
            del data["people"]
        for view, (more, less) in enumerate(zip(view_counts(data, book, steps), without, strict=True)):
            moved = changes(more, less)
            most = 1 if view == 0 else steps
            assert all(change > 0 for change in moved)
            assert sum(moved) <= most
            assert sum(change**2 for change in moved) <= most**2
            if view == 0:
                assert moved == [1]


@pytest.mark.parametrize("rule", ["first", "latest", "most frequent"])
def test_constants_are_read_from_rows_of_the_same_person(rule):
    """Stays tell the sex, and may contradict each other: what counts for one person moves nobody else."""
    constant = replace(PEOPLE, constants=(Constant(column="sex", child="stays", rule=rule),))
    assert_own_rows_only(LinkedCodebook(tables=(constant, STAYS)), 1, with_sex=True)


@pytest.mark.parametrize("steps", [1, 2])
def test_a_table_that_is_made_has_one_row_for_each_person(steps):
    constant = Constant(column="sex", child="stays", rule="most frequent")
    made = replace(PEOPLE, made_of="stays", constants=(constant,))
    assert_own_rows_only(LinkedCodebook(tables=(made, STAYS)), steps, with_sex=True, made=True)


def test_three_levels_move_by_the_rows_of_one_person():
    assert_own_rows_only(LinkedCodebook(tables=(PEOPLE, STAYS, DRUGS)), 2, with_sex=False)


def test_dropped_orphans_take_no_part_whoever_they_belonged_to():
    """A person without a row of their own leaves the same counts as a person who is not there at all."""
    drops = [replace(table, orphans="drop") for table in (STAYS, DRUGS)]
    book = LinkedCodebook(tables=(PEOPLE, *drops))
    without = view_counts(tables(OTHERS, with_sex=False), book, 2)
    for number, stays in enumerate(HISTORIES):
        data = tables({**OTHERS, 9: (stays, number % 3)}, with_sex=False)
        whole = view_counts(data, book, 2)
        orphaned = data | {"people": data["people"].slice(0, len(OTHERS))}
        for view, (full, lost, less) in enumerate(zip(whole, view_counts(orphaned, book, 2), without, strict=True)):
            assert changes(lost, less) == []
            moved = changes(full, less)
            assert all(change > 0 for change in moved)
            assert sum(moved) <= (1 if view == 0 else 2)


class Text:
    """A choice whose text is fixed, so that two inputs can be compared."""

    def key(self):
        return "one text"


@pytest.mark.parametrize(("by", "most"), [("people.sex,stays.ward", 2), ("people.sex,stays.ward,drugs.drug", 4)])
def test_joined_counts_move_by_the_product_of_the_caps(by, most):
    book = LinkedCodebook(tables=(PEOPLE, STAYS, DRUGS))
    plan = linked_counts(book, {"by": by, "epsilon": 1.0})
    (event,) = [entry.event for entry in plan.quote().own if isinstance(entry.event, GroupOf)]
    assert event.records == most
    assert event.guarantee().epsilon <= 1.0

    def counted(people):
        source = open_joined(tables(people, with_sex=False), book, plan.counted, plan.by)
        return source.capped(Text()).count([plan.by])[0].open()

    without, worst = counted(OTHERS), 0
    for number, stays in enumerate(HISTORIES):
        moved = changes(counted({**OTHERS, 9: (stays, 1 + number % 3)}), without)
        assert all(change > 0 for change in moved)
        assert sum(moved) <= most
        worst = max(worst, sum(moved))
    assert worst == most


def test_the_price_of_views_checks_what_it_is_proved_for():
    known = {"units": 64, "delta": 1e-6, "neighbours": Neighbours.ADD_REMOVE, "variance": Fraction(2025)}
    HistoryMeasurements(**known, rows=(1, 2))
    HistoryMeasurements(**{**known, "variance": Fraction(9)}, rows=(1, 1))  # one row of each needs no joined draws
    for wrong, word in (
        ({"variance": Fraction(961), "rows": (1, 2)}, "1024"),
        ({"delta": 1e-41, "rows": (1, 2)}, "delta"),
        ({"neighbours": Neighbours.REPLACE, "rows": (1, 1)}, "add-remove"),
        ({"rows": ()}, "rows"),
        ({"rows": (1, 0)}, "rows"),
    ):
        with pytest.raises(ParameterError, match=word):
            HistoryMeasurements(**{**known, **wrong})
