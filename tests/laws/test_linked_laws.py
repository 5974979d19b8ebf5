"""Random codebooks of linked tables are written and read again without a change."""

from dataclasses import replace
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.laws.codebooks import codebooks
from understudy.codebook import Constant, LinkedCodebook, LinkedTable, Origin


@st.composite
def linked_codebooks(draw: st.DrawFn) -> LinkedCodebook:
    """One to five tables, each below one that was made before it; some columns of a parent are constants of a child."""
    tables: list[LinkedTable] = []
    for number in range(draw(st.integers(1, 5))):
        parent = draw(st.sampled_from(tables)) if tables else None
        place: dict[str, Any] = {}
        if parent is not None:
            place = {"parent": parent.name, "parent_key": f"{parent.name} id", "cap": draw(st.integers(1, 10_000))}
            place["order"] = draw(st.sampled_from([None, f"t{number} id", "when"]))
            place["orphans"] = draw(st.sampled_from(["refuse", "drop"]))
        book = replace(draw(codebooks(most=2)), title="")
        kept = tuple(column for column in book.columns if column.is_modelled)
        tables.append(
            LinkedTable(
                name=f"t{number}",
                key=f"t{number} id",
                book=replace(book, columns=tuple(replace(c, name=f"{number} {c.name}", parents=None) for c in kept)),
                data=draw(st.sampled_from(["", "file.csv"])),
                origin=draw(st.sampled_from([Origin.DECLARED, Origin.DRAFTED])),
                **place,
            )
        )
    for place_, table in enumerate(tables):
        children = [other.name for other in tables if other.parent == table.name]
        if children and draw(st.booleans()):
            constant = Constant(
                column=table.book.names[0],
                child=draw(st.sampled_from(children)),
                rule=draw(st.sampled_from([None, "most frequent"])),
                origin=draw(st.sampled_from([Origin.DECLARED, Origin.DRAFTED])),
            )
            tables[place_] = replace(table, constants=(constant,))
    return LinkedCodebook(tables=tuple(draw(st.permutations(tables))))


@settings(max_examples=40, deadline=None)
@given(linked_codebooks())
def test_reading_what_was_written_changes_nothing(book: LinkedCodebook) -> None:
    text = book.to_toml()
    again = LinkedCodebook.from_toml(text)
    assert again == book and again.to_toml() == text and again.digest == book.digest


@settings(max_examples=40, deadline=None)
@given(linked_codebooks())
def test_every_table_stands_behind_its_parent_and_leads_to_the_persons(book: LinkedCodebook) -> None:
    names = [table.name for table in book.tables]
    for table in book.tables:
        path = book.path(table.name)
        assert path[0] is book.person and path[-1] == table
        assert table.parent is None or names.index(table.parent) < names.index(table.name)
        above = 1 if table.parent is None else book.most_rows(table.parent)
        assert book.most_rows(table.name) == above * (table.cap or 1)
