"""Hold linked tables against their codebook: every fault at once, with table and rows. For the holder of the data only.

Tables of DuckDB, that is files and data frames, are told with row numbers; a server's rows have none.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from understudy.codebook import Codebook, LinkedCodebook, LinkedTable, Role, Text
from understudy.errors import DataError
from understudy.parameters import Whole
from understudy.sources.benches import fetched
from understudy.sources.check import Fault, FaultKind, check_opened, check_table, places, with_sentence
from understudy.sources.csv_files import repeated_names
from understudy.sources.faults import engine_errors
from understudy.sources.files import open_table
from understudy.sources.linked import LinkedSource, columns_read, open_linked
from understudy.sources.linked_broken import broken_across, counted_rows, row_keys
from understudy.sources.linked_constants import contradicted
from understudy.sources.linked_files import Place, places_of
from understudy.sources.linked_order import KEY, PARENT


def check_linked(what: Any, codebook: LinkedCodebook | str | Path, *, most: int = 20) -> list[Fault]:
    """Every fault of linked tables; an empty list means that they fit and hold together."""
    Whole(tried=20).check("most", most)
    book = codebook if isinstance(codebook, LinkedCodebook) else LinkedCodebook.load(codebook)
    found = places_of(what, book)
    faults = [fault for name, place in found.items() for fault in _alone(book, book.table(name), place, most)]
    if any(fault.kind in ("missing column", "unreadable", "empty file", "encoding") for fault in faults):
        return faults  # joins would say the same once more, or nothing
    source = open_linked(what, book)
    source.numbered = True
    with engine_errors("the data"):
        staged = source.prepare(strict=False)
        if source.connection.name != "duckdb":
            faults += [fault for name in staged for fault in _unknown(source, name, staged[name])]
        for table in book.tables:
            faults += _keys(source, table, staged, most)
            faults += _constants(source, table, staged, most)
        faults += broken_across(source, most)
    return faults


def _alone(book: LinkedCodebook, table: LinkedTable, place: Place, most: int) -> list[Fault]:
    """What is wrong within one table: its header, and values outside the codebook."""
    alone, owners = book_of_file(book, table)
    try:
        faults = _checked(alone, place, most)
    except DataError as reason:
        return [Fault(kind="unreadable", sentence=str(reason), table=table.name)]
    lost = [name for name in columns_read(book, table) if name not in owners and name not in _header(place, table)]
    faults += [with_sentence(Fault(kind="missing column", column=name), alone) for name in lost]
    return [replace(fault, table=table.name, sentence=f"table {table.name!r}: {fault.sentence}") for fault in faults]


def book_of_file(book: LinkedCodebook, table: LinkedTable) -> tuple[Codebook, dict[str, str]]:
    """The codebook of the one file that a table lies in, and the table that describes each column but keys.

    Constants of the parent lie in this file, and those of the table itself in a child's.
    """
    own = {constant.column for constant in table.read_constants}
    columns = {column.name: (column, table.name) for column in table.book.written if column.reads not in own}
    if table.parent is not None:
        above = book.table(table.parent)
        read = {constant.column for constant in above.read_constants if constant.child == table.name}
        columns |= {column.name: (column, above.name) for column in above.book.written if column.name in read}
    keys = dict.fromkeys(name for name in (table.key, table.parent_key, table.order) if name and name not in columns)
    identifiers = [Text(name=name, role=Role.IDENTIFIER) for name in keys]
    rules = tuple(rule for rule in table.book.constraints if not own & set(rule.columns))
    described = (*(replace(column, parents=None) for column, _ in columns.values()), *identifiers)
    owners = {name: owner for name, (_, owner) in columns.items()}
    return Codebook(columns=described, constraints=rules, file=table.book.file), owners


def _checked(book: Codebook, place: Place, most: int) -> list[Fault]:
    opened = open_table(place.what, place.table, file=book.file, allow_repeats=True)
    if opened.connection.name != "duckdb":
        return []  # values outside the codebook are counted with the codes
    if repeated_names(opened.header):
        return [with_sentence(fault, book) for fault in check_opened(place.open(book.file), book, most)[1]]
    return check_table(place.what, book, table=place.table, most=most)


def _header(place: Place, table: LinkedTable) -> tuple[str, ...]:
    return place.open(table.book.file).header


def _unknown(source: LinkedSource, name: str, codes: Any) -> Iterator[Fault]:
    """Values outside the codebook in a server's table, by their number alone."""
    for column, count in source.unknown_counts(name, codes).items():
        where = f"table {name!r}: column {column!r} has values outside the codebook in {places('row', (), count)}"
        sentence = f"{where}; add what is right to the codebook, mend the rest."
        yield Fault(kind="outside levels", table=name, column=column, count=count, sentence=sentence)


def _keys(source: LinkedSource, table: LinkedTable, staged: Mapping[str, Any], most: int) -> Iterator[Fault]:
    """Missing and repeated keys, and rows without a parent."""
    rows = staged.get(table.name)
    if rows is None:
        return
    where = f"table {table.name!r}"
    if table.key is not None:
        yield from _fault(
            source, "missing key", table, table.key, rows.filter(rows[KEY].isnull()), most,
            f"{where} has no value of its key {table.key!r} in {{places}}; fill the gaps, or drop those rows.",
        )  # fmt: skip
        known = rows.filter(rows[KEY].notnull())
        each = known.group_by(KEY).aggregate(n=known.count())
        twice = each.filter(each["n"] > 1).select(twice=KEY)
        yield from _fault(
            source, "repeated key", table, table.key, rows.semi_join(twice, rows[KEY] == twice["twice"]), most,
            f"{where} has {{values}} more than once as its key {table.key!r}, in {{places}}; each key names one row.",
            shown=KEY,
        )  # fmt: skip
    if table.parent is None:
        return
    kind: FaultKind = "orphan" if table.orphans == "refuse" else "dropped orphan"
    remedy = (
        'mend the data, or write orphans = "drop".'
        if table.orphans == "refuse"
        else "they take no part, as the codebook says."
    )
    yield from _fault(
        source, kind, table, table.parent_key, rows.filter(rows[PARENT].isnull()), most,
        f"{where} has no value of {table.parent_key!r} in {{places}}, so that those rows belong to nobody; {remedy}",
    )  # fmt: skip
    above = source.keys_of(source.codebook.table(table.parent), staged)
    lost = rows.filter(rows[PARENT].notnull()).anti_join(above, rows[PARENT] == above["above"])
    yield from _fault(
        source, kind, table, table.parent_key, lost, most,
        f"{where} has {{values}} as {table.parent_key!r} in {{places}}, which {table.parent!r} lacks; {remedy}",
        shown=PARENT,
    )  # fmt: skip


def _constants(source: LinkedSource, table: LinkedTable, staged: Mapping[str, Any], most: int) -> Iterator[Fault]:
    """Constants that the data contradict: faults without a reading rule, a remark with one."""
    columns = source.columns(table.name)
    for constant in table.read_constants:
        child = staged[constant.child]
        people = contradicted(table, constant, child, columns).select(people=PARENT)
        number = int(fetched(source.connection, people.aggregate(n=people.count()))["n"][0].as_py())
        place = next(place for place, column in enumerate(columns) if column.name == constant.column)
        labels = columns[place].labels
        bad = child.semi_join(people, child[PARENT] == people["people"])
        start = f"table {constant.child!r}: {constant.column!r} is declared constant within {table.name!r}, and "
        start += f"{number:,} of them have several values ({{values}}) in {{places}}; "
        end = (
            'write rule = "first", "latest" or "most frequent" for it, describe it in the child, or mend the data.'
            if constant.rule is None
            else f"the rule takes the {constant.rule} one."
        )
        kind: FaultKind = "contradiction" if constant.rule is None else "read by rule"
        where = source.codebook.table(constant.child)
        yield from _fault(
            source, kind, where, constant.column, bad, most, start + end, shown=f"k{place}", labels=labels
        )  # fmt: skip


def _fault(
    source: LinkedSource, kind: FaultKind, table: LinkedTable, column: str | None, rows: Any, most: int, sentence: str,
    *, shown: str | None = None, labels: Sequence[str] | None = None,
) -> Iterator[Fault]:  # fmt: skip
    """The fault of these rows, if there are any."""
    count, numbers, values = counted_rows(source, rows, most, shown)
    if not count:
        return
    told = tuple(str(value if labels is None else labels[int(value)]) for value in values)
    words = ", ".join(map(repr, told[:5])) + (", ..." if len(told) > 5 else "")
    yield Fault(
        kind=kind,
        table=table.name,
        column=column,
        rows=numbers,
        count=count,
        values=told,
        sentence=sentence.replace("{places}", places("row", numbers, count) + row_keys(source, rows, table)).replace(
            "{values}", words
        ),
    )
