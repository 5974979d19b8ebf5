"""Check a table against its codebook and list everything that does not fit.

The list quotes private values: it is for the person who holds the data, never part of a release.
"""

import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, get_args

import ibis

from understudy.codebook import Codebook, Column, Dates, Integer, Levelled, Number
from understudy.errors import DataError
from understudy.parameters import Whole
from understudy.sources.base import Report, as_codebook, told_by_size
from understudy.sources.benches import fetched
from understudy.sources.broken_rules import broken_rules
from understudy.sources.check_counts import count_cells
from understudy.sources.csv_files import PLAIN_FILE, Places, repair_csv, repeated_names
from understudy.sources.dictionaries import have_one_schema, known_throughout
from understudy.sources.expressions import as_text, is_known, is_whole, person_of, present, read_day, read_number
from understudy.sources.faults import engine_errors
from understudy.sources.files import Opened, files_and_reading, is_database, open_table
from understudy.sources.inputs import provenance_behind
from understudy.sources.kinds import CSV, file_kind

CellFault = Literal[
    "missing value", "outside levels", "not a number", "not a whole number", "outside the edges", "not a date"
]
FaultKind = (
    CellFault
    | Literal["broken rule", "missing id", "missing column", "extra column", "duplicate header"]
    | Literal["encoding", "empty file", "unreadable"]
    | Literal["missing key", "repeated key", "orphan", "dropped orphan", "contradiction", "read by rule"]
)
_IN_CELLS: tuple[CellFault, ...] = get_args(CellFault)
"""What can be wrong with one value; its place here is its number while the engine counts."""

_BATCH = 40
_LONGEST = 80


@dataclass(frozen=True, kw_only=True)
class Fault:
    """One thing that does not fit, with its place.

    ``rows`` are data rows counted from 1, through all files of a glob in order of name; for kind ``encoding`` they
    are lines of the file. ``count`` is exact; ``rows`` and ``values`` are only the first few (for kind ``broken rule``
    the values of whole combinations).
    """

    kind: FaultKind
    column: str | None = None
    rows: tuple[int, ...] = ()
    count: int = 1
    values: tuple[str, ...] = ()
    sentence: str = ""
    table: str | None = None
    """The table, where there are several linked ones."""

    @property
    def is_fatal(self) -> bool:
        """Whether counting would fail; some rows and columns are left out as declared."""
        return not self.is_declared and self.kind != "extra column"

    @property
    def is_declared(self) -> bool:
        """Whether the codebook says itself what becomes of such rows, so that the data fit it."""
        return self.kind in ("dropped orphan", "read by rule")


def check_table(
    what: Any,
    codebook: Codebook | str | Path,
    *,
    table: str | None = None,
    most: int = 20,
    report: Report | None = None,
) -> list[Fault]:
    """Every fault of a table, none left out; an empty list means that it fits its codebook.

    >>> import pyarrow as pa
    >>> from understudy.codebook import Categorical
    >>> book = Codebook(columns=(Categorical(name="sex", levels=("F", "M")),))
    >>> [fault] = check_table(pa.table({"sex": ["F", "X", None, "X"]}), book)[1:]
    >>> fault.kind, fault.rows, fault.count, fault.values
    ('outside levels', (2, 4), 2, ('X',))
    """
    Whole(tried=20).check("most", most)
    book = as_codebook(codebook)
    book = book.plain if provenance_behind(what, book, table).is_release else book
    if not isinstance(what, str | Path) or is_database(str(what)):
        _, faults = check_opened(open_table(what, table, file=book.file, allow_repeats=True), book, most)
    else:
        paths, file = files_and_reading(str(what), table, book.file)
        faults = _check_files(paths, replace(book, file=file), most, report)
        if len(paths) > 1 and not any(fault.is_fatal for fault in faults):
            faults += _check_together(str(what), paths, book)
    return [with_sentence(fault, book) for fault in faults]


def _check_files(paths: Sequence[Path], book: Codebook, most: int, report: Report | None) -> list[Fault]:
    """File by file, so that each header and each encoding is looked at; the rows are numbered on."""
    merged: dict[tuple[FaultKind, str | None, str], Fault] = {}
    before = 0
    for path in told_by_size(paths, "checking rows", report):
        rows, faults = _check_file(path, book, most)
        if len(paths) > 1:
            faults = [_placed(fault, path, before) for fault in faults]
        for fault in faults:
            key = (fault.kind, fault.column, fault.sentence)
            merged[key] = _joined(merged[key], fault, most) if key in merged else fault
        before += rows
    return list(merged.values())


def _check_together(address: str, paths: Sequence[Path], book: Codebook) -> list[Fault]:
    """Files that fit one by one may still differ in the order of their columns or in their types."""
    try:
        if have_one_schema(paths):
            return []
        opened = open_table(address, file=book.file)
        with engine_errors(repr(address)):
            for batch in batched([column for column in book.described if column.reads == column.name]):
                _bad_columns(opened, batch)
    except DataError as reason:
        return [Fault(kind="unreadable", sentence=str(reason))]
    return []


def _placed(fault: Fault, path: Path, before: int) -> Fault:
    """A fault of one file among several: rows are numbered on, what is not about rows names its file."""
    if fault.kind in (*_IN_CELLS, "broken rule", "missing id"):
        return replace(fault, rows=tuple(before + row for row in fault.rows))
    return replace(fault, sentence=fault.sentence or str(path))


def _joined(first: Fault, second: Fault, most: int) -> Fault:
    return replace(
        first,
        rows=(first.rows + second.rows)[:most],
        count=first.count + second.count,
        values=tuple(dict.fromkeys(first.values + second.values))[:most],
    )


def _check_file(path: Path, book: Codebook, most: int) -> tuple[int, list[Fault]]:
    if path.stat().st_size == 0:
        return 0, [Fault(kind="empty file", sentence=f"{str(path)!r} is empty; a table needs a header and rows.")]
    try:
        opened = open_table(path, file=book.file, allow_repeats=True)
        opened.verify_whole()
        return check_opened(opened, book, most)
    except DataError as reason:
        if file_kind(path) != CSV:
            return 0, [Fault(kind="unreadable", sentence=str(reason))]
        return _check_repaired(path, book, most, str(reason))


def _check_repaired(path: Path, book: Codebook, most: int, reason: str) -> tuple[int, list[Fault]]:
    """Copy a file that the engine refuses with its faults repaired, so that all other faults are found too."""
    with tempfile.TemporaryDirectory(prefix="understudy-") as folder:
        copy = Path(folder) / "mended.csv"
        damage = repair_csv(path, copy, most, book.file or PLAIN_FILE)
        faults = _damaged(
            "encoding", damage.bad_lines, f"{str(path)!r} is not UTF-8 on ", "line", "; save it as UTF-8."
        ) + _damaged(
            "unreadable",
            damage.ragged,
            f"{str(path)!r} has ",
            "row",
            f" without exactly {damage.width} fields, as its header has; mend the delimiters and quotes there.",
        )
        if damage.is_cut or not faults:
            faults.append(Fault(kind="unreadable", sentence=reason))
        try:
            rows, more = check_opened(open_table(copy, allow_repeats=True), book, most)
        except DataError:  # beyond mending; the engine's first reason is already on the list
            rows, more = damage.rows, []
    return rows, [*faults, *more]


def _damaged(kind: FaultKind, damaged: Places, start: str, word: str, end: str) -> list[Fault]:
    if not damaged:
        return []
    rows = tuple(damaged.first)
    sentence = f"{start}{places(word, rows, damaged.count)}{end}"
    return [Fault(kind=kind, rows=rows, count=damaged.count, sentence=sentence)]


def check_opened(opened: Opened, book: Codebook, most: int) -> tuple[int, list[Fault]]:
    """How many rows a table has, and what does not fit; sentences are still to be written."""
    header = opened.header
    faults = [Fault(kind="duplicate header", column=name, count=header.count(name)) for name in repeated_names(header)]
    faults += [
        Fault(kind="missing column", column=name)
        for name in dict.fromkeys(c.reads for c in book.described)
        if name not in header
    ]
    known = {column.name for column in book.columns}
    faults += [Fault(kind="extra column", column=name) for name in dict.fromkeys(header) if name not in known]
    with engine_errors(repr(opened.label)):
        rows = _number_of(opened, opened.table)
        if rows == 0:
            return 0, [*faults, Fault(kind="empty file", sentence=f"{opened.label!r} has a header but no rows.")]
        faults += _id_faults(opened, book, most)
        columns = [column for column in book.described if column.name in header and column.reads == column.name]
        sound = known_throughout(opened.parquet, columns)
        unsure = [column for column in columns if column.name not in sound]
        bad = [column for batch in batched(unsure) for column in _bad_columns(opened, batch)]
        faults += [fault for batch in batched(bad) for fault in _cell_faults(opened, batch, most)]
        faults += [
            Fault(kind="broken rule", sentence=title, count=count, rows=places, values=values)
            for title, (count, places, values) in broken_rules(opened, book, most)
        ]
    return rows, faults


def _number_of(opened: Opened, rows: Any) -> int:
    return int(fetched(opened.connection, rows.aggregate(n=rows.count()))["n"][0].as_py())


def _id_faults(opened: Opened, book: Codebook, most: int) -> list[Fault]:
    """Rows without an id."""
    if book.unit is None:
        return []
    name = book.unit.id
    if name not in opened.header:
        return [Fault(kind="missing column", column=name)]
    absent = person_of(opened.value(name)).isnull()
    if opened.connection.name != "duckdb":  # whose rows have no order
        count = _number_of(opened, opened.table.filter(absent))
        return [Fault(kind="missing id", column=name, count=count)] if count else []
    scan = opened.connection.compile(opened.table.select(row=ibis.row_number() + 1, absent=absent))
    count, rows = opened.connection.raw_sql(
        f"SELECT count(*) FILTER (absent), coalesce(min(row, {most}) FILTER (absent), []) FROM ({scan}) AS scan"
    ).fetchone()
    return [Fault(kind="missing id", column=name, count=int(count), rows=tuple(rows))] if count else []


def batched(columns: Sequence[Column]) -> Iterator[Sequence[Column]]:
    """Columns that one scan looks at: enough to share it, few enough for the engine's planner."""
    for start in range(0, len(columns), _BATCH):
        yield columns[start : start + _BATCH]


def _bad_columns(opened: Opened, columns: Sequence[Column]) -> list[Column]:
    """The columns with any fault; on clean data this one scan is all."""
    known = opened.table.select(**{f"k{p}": is_known(c, opened.value(c.name)) for p, c in enumerate(columns)})
    tests = {f"b{p}": (~known[f"k{p}"]).any() for p in range(len(columns))}
    is_bad = fetched(opened.connection, known.aggregate(**tests)).to_pylist()[0]
    return [column for p, column in enumerate(columns) if is_bad[f"b{p}"]]


def _cell_faults(opened: Opened, columns: Sequence[Column], most: int) -> list[Fault]:
    """One scan counts and numbers the bad rows of each kind, another one collects the bad values."""
    looked_at = {"row": ibis.row_number() + 1}
    pairs = []
    for place, column in enumerate(columns):
        value = present(opened.value(column.name))
        numbered = [(_IN_CELLS.index(kind), holds) for kind, holds in _tests(column, value)]
        branches = [(holds, ibis.literal(number, "int8")) for number, holds in numbered[:-1]]
        is_fine = (is_known(column, value, looked_up=False), ibis.null("int8"))
        looked_at[f"r{place}"] = ibis.cases(is_fine, *branches, else_=ibis.literal(numbered[-1][0], "int8"))
        looked_at[f"v{place}"] = as_text(value).substr(0, _LONGEST)
        pairs += [(place, number) for number, _ in numbered]
    if opened.connection.name != "duckdb":
        return [
            Fault(kind=_IN_CELLS[k], column=column.name, count=count, values=texts)
            for p, column in enumerate(columns)
            for k, (count, texts) in sorted(count_cells(opened, looked_at[f"r{p}"], looked_at[f"v{p}"], most).items())
        ]
    scan = opened.connection.compile(opened.table.select(**looked_at))
    counted = opened.connection.raw_sql(
        "SELECT "
        + ", ".join(
            f"count(*) FILTER (r{p} = {k}), coalesce(min(row, {most}) FILTER (r{p} = {k}), [])" for p, k in pairs
        )
        + f" FROM ({scan}) AS scan"
    ).fetchone()
    bad = [(p, k, int(counted[2 * i]), tuple(counted[2 * i + 1])) for i, (p, k) in enumerate(pairs) if counted[2 * i]]
    values = _bad_values(opened, scan, sorted({p for p, *_ in bad}), most) if bad else {}
    return [
        Fault(kind=_IN_CELLS[k], column=columns[p].name, rows=rows, count=count, values=tuple(values.get((p, k), ())))
        for p, k, count, rows in bad
    ]


def _bad_values(opened: Opened, scan: str, positions: Sequence[int], most: int) -> dict[tuple[int, int], list[str]]:
    """Distinct bad values of each column, in the order in which they first appear."""
    cells = ", ".join(f"{{'p': {p}, 'k': r{p}, 'v': v{p}}}" for p in positions)
    somewhere = " OR ".join(f"r{p} IS NOT NULL" for p in positions)
    rows = opened.connection.raw_sql(
        f"SELECT cell.p, cell.k, cell.v FROM (SELECT row, unnest([{cells}]) AS cell FROM ({scan}) AS scan "
        f"WHERE {somewhere}) AS cells WHERE cell.k IS NOT NULL AND cell.v IS NOT NULL GROUP BY cell.p, cell.k, cell.v "
        f"QUALIFY row_number() OVER (PARTITION BY cell.p, cell.k ORDER BY min(row)) <= {most} ORDER BY min(row)"
    ).fetchall()
    values: dict[tuple[int, int], list[str]] = {}
    for position, kind, value in rows:
        values.setdefault((position, kind), []).append(value)
    return values


def _tests(column: Column, value: Any) -> list[tuple[CellFault, Any]]:
    """What can be wrong with a value that the codebook does not know: the first of these that holds, else the last."""
    tests: list[tuple[CellFault, Any]] = [("missing value", value.isnull())]
    if isinstance(column, Levelled):
        return [*tests, ("outside levels", None)]
    if isinstance(column, Number):
        number = read_number(column.reading, value)
        tests.append(("not a number", number.isnull()))
        if isinstance(column, Integer):
            tests.append(("not a whole number", ~is_whole(number)))
    elif isinstance(column, Dates):
        tests.append(("not a date", read_day(column.reading, value).isnull()))
    return [*tests, ("outside the edges", None)]


def with_sentence(fault: Fault, book: Codebook) -> Fault:
    """Say what is wrong, where, and what to do about it."""
    name = fault.column
    if fault.kind == "broken rule":
        shown = "; ".join(fault.values[:3]) + ("; ..." if len(fault.values) > 3 else "")
        return replace(
            fault,
            sentence=f"rule {fault.sentence!r} is broken in {places('row', fault.rows, fault.count)} ({shown}); mend "
            "the data or the rule. No synthetic row will break it.",
        )
    if name is None:
        return fault
    where = f" in {fault.sentence!r}" if fault.sentence else ""
    if fault.kind == "duplicate header":
        sentence = f"the header{where} has {name!r} more than once (case does not count); rename all but one."
    elif fault.kind == "missing column":
        sentence = f"column {name!r} of the codebook is not in the header{where}; is this the codebook of another file?"
    elif fault.kind == "extra column":
        sentence = (
            f"column {name!r}{where} is not in the codebook and is left out; describe it, or give it "
            'role = "identifier" and kind = "text".'
        )
    else:
        sentence = _cell_sentence(fault, book.column(name))
    return replace(fault, sentence=sentence)


def _cell_sentence(fault: Fault, column: Column) -> str:
    where = places("row", fault.rows, fault.count)
    shown = ", ".join(map(repr, fault.values[:5])) + (", ..." if len(fault.values) > 5 else "")
    start = f"column {column.name!r} has {shown} in {where}, "
    if fault.kind == "missing id":
        return f"column {column.name!r} tells people apart and has no value in {where}; fill the gaps."
    if fault.kind == "missing value":
        return (
            f'column {column.name!r} has no value in {where}; declare missing = "NA" in the codebook, or fill the gaps.'
        )
    if fault.kind == "outside levels":
        return f"{start}outside its {column.size} levels; add what is right to the codebook, mend the rest."
    if fault.kind == "not a date":
        return f"{start}not a date such as 2010-01-31; mend the data."
    if fault.kind == "outside the edges" and isinstance(column, Dates):
        return f"{start}outside {column.start} to {column.end}; widen the range, or mend the data."
    if fault.kind == "outside the edges" and isinstance(column, Number):
        reach = f"{column.float_edges[0]:g} to {column.float_edges[-1]:g}"
        return f"{start}outside {reach}; widen the edges, set clip = true, or mend the data."
    return f"{start}{fault.kind}; mend the data, or change the kind of the column."


def places(word: str, numbers: Sequence[int], count: int, most: int = 5) -> str:
    """Row and line numbers in words.

    >>> places("row", (3, 9), 2), places("row", (1, 2, 3, 4, 5, 6), 9)
    ('rows 3, 9', 'rows 1, 2, 3, 4, 5 and 4 more')
    """
    if not numbers:  # a database, whose rows have no numbers
        return f"{count:,} {word}{'s' * (count != 1)}"
    shown = ", ".join(f"{number}" for number in numbers[:most])
    rest = count - len(numbers[:most])
    return f"{word}{'s' * (count != 1)} {shown}" + (f" and {rest:,} more" if rest else "")
