"""Detailed codes of linked tables: what one person moves, and what all tables of codes together cost."""

import itertools

import pyarrow as pa
import pytest
from coded_examples import coded_book, coded_data

from understudy.codebook import Categorical, Codebook, Coded, Detail, LinkedCodebook, LinkedTable, Pack
from understudy.codebook.views import views_of
from understudy.histories import measure
from understudy.histories.codes import codes_share
from understudy.histories.counting import view_source
from understudy.histories.recipe import Histories
from understudy.mechanisms.gaussian_measurements import Meter
from understudy.mechanisms.stream import Stream
from understudy.sources.linked import open_linked

PACK = Pack(name="tiny", text="# source: made up\ncode,chapter\na1,a\na2,a\nb1,b\n")
KIND = Categorical(name="kind", levels=("x", "y"))
OWN = Detail(name="own", detail_of="kind", other="other", groups=(("x", ("x1", "x2")), ("y", ("y1",))), missing="")
BOOK = LinkedCodebook(
    tables=(
        LinkedTable(name="people", key="id", book=Codebook(columns=(KIND, OWN))),
        LinkedTable(
            name="stays", parent="people", parent_key="id", cap=2,
            book=Codebook(columns=(Coded(name="one", pack=PACK), Coded(name="two", pack=PACK))),
        ),
    )
)  # fmt: skip


def tables(people):
    """People by number, each a kind, a code of its own, and the codes of their stays."""
    stays = [(f"p{number}", one, two) for number, (_, _, theirs) in people for one, two in theirs]
    texts = [pa.array(column, pa.string()) for column in zip(*stays, strict=True)] or [pa.array([], pa.string())] * 3
    return {
        "people": pa.table(
            {
                "id": [f"p{number}" for number, _ in people],
                "kind": [kind for _, (kind, _, _) in people],
                "own": [own for _, (_, own, _) in people],
            }
        ),
        "stays": pa.table(dict(zip(("id", "one", "two"), texts, strict=True))),
    }


def code_counts(data, steps):
    """The counts of every code column of every view, under fixed texts."""
    source, views = open_linked(data, BOOK).capped("one text"), views_of(BOOK)
    found = {}
    for view in views:
        counted = view_source(source, views, view, steps=1 if view.is_first else steps, key="another")
        for one in view.codes:
            name = view.spelled(one.detail.name)
            found[name] = counted.count([(name,)])[0].open().to_grid()
            assert len(found[name]) == one.size
    return found


@pytest.mark.parametrize("steps", [1, 2])
def test_one_person_moves_each_table_of_codes_by_no_more_than_is_paid_for(steps):
    """Histories of up to three stays in every code, and every code of the person, beside two other people."""
    others = [(1, ("x", "x1", (("a1", "b1"), ("a2", "a2"), ("b1", "a1")))), (2, ("y", "other", (("a1", "a1"),)))]
    without = code_counts(tables(others), steps)
    stays = list(itertools.product(("a1", "a2", "b1"), ("a1", "unheard of")))
    histories = [(), *((stay,) for stay in stays), (stays[0],) * 3, tuple(stays[:3])]
    people = [("x", "x1"), ("x", "x2"), ("x", "other"), ("x", ""), ("y", "y1"), ("y", "other"), ("y", "")]
    worst = 0
    for number, theirs in enumerate(histories):
        kind, own = people[number % len(people)]
        whole = code_counts(tables([*others, (9, (kind, own, theirs))]), steps)
        for name, counts in whole.items():
            change = counts - without[name]
            most = 1 if name == "people.own" else steps
            assert change.min() >= 0
            assert change.sum() == (1 if name == "people.own" else min(steps, len(theirs)))
            assert (change**2).sum() <= most**2
            worst = max(worst, int((change**2).sum()))
    assert worst == steps**2  # the price is not too large either: all rows may lie in one cell


def test_codes_that_the_codebook_lists_have_a_cell_for_each_level():
    """``other`` and missing codes of x are told from those of y, and every cell names its pair."""
    cells = views_of(BOOK)[0].codes[0]
    level, code = cells.pairs
    pairs = {(cells.book.column("kind").labels[i], OWN.labels[j]) for i, j in zip(level, code, strict=True)}
    codes = {("x", "x1"), ("x", "x2"), ("y", "y1")}
    assert pairs == codes | set(itertools.product("xy", ("other", OWN.labels[-1])))
    assert len(level) == cells.size == 7
    for kind, own in (("x", "x2"), ("y", "y1"), ("x", "other"), ("y", "other"), ("x", ""), ("y", "")):
        counts = code_counts(tables([(1, (kind, own, ()))]), 1)["people.own"]
        place = int(counts.argmax())
        told = OWN.labels[-1] if own == "" else own
        assert (cells.book.column("kind").labels[level[place]], OWN.labels[code[place]]) == (kind, told)


@pytest.mark.parametrize("steps", [1, 2])
def test_views_and_codes_together_spend_no_more_than_the_event_has(monkeypatch, steps):
    meters, spent = [], []

    class Watched(Meter):
        def __init__(self, event, stream):
            super().__init__(event, stream)
            meters.append(self)

        def apart(self, units, *, rows):
            part = super().apart(units, rows=rows)
            table = part.table

            def priced(counts, *, copies, groups=None):
                before = part.left
                measured = table(counts, copies=copies, groups=groups)
                spent.append((counts.open().columns, rows, copies, before - part.left))
                return measured

            part.table = priced
            return part

    monkeypatch.setattr(measure, "Meter", Watched)
    recipe, book = Histories(epsilon=1.0, delta=1e-6, steps=steps), coded_book()
    source = open_linked(coded_data(30), book)
    measure.measure_views(recipe, source, Stream.seeded(4), None)
    event = recipe.event(book, views_of(book))
    assert [meter.units for meter in meters] == [event.units] and meters[0].left >= 0
    names = {f"stays.diag_{number}" for number in (1, 2, 3)} | {"patients.plan", "drugs.reason"}
    codes = [one for one in spent if set(one[0]) <= names]
    assert {one[0][0] for one in codes} == names and len(codes) == 5
    assert all(paid == copies * rows**2 for _, rows, copies, paid in codes)
    assert sum(paid for *_, paid in codes) <= codes_share(book) * event.units
    assert event.guarantee().epsilon <= 1.0
