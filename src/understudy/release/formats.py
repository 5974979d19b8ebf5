"""The table of a release in the formats of other programs, with order, labels and missing codes.

Parquet is always written, and whatever else is asked for holds the same rows: ``verify`` compares them. Missing values
are written as the codes that the codebook's reading rules name, or as the program's own missing value.
"""

import base64
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv

from understudy.codebook import Codebook, Column, FileReading, Levelled, LinkedCodebook, Number, Ordinal
from understudy.codebook.encode import number_of, spelling
from understudy.codebook.labels import has_number_levels
from understudy.codebook.readings import MISSING_TOKENS
from understudy.errors import ParameterError
from understudy.extras import need
from understudy.parameters import OneOf
from understudy.privacy.provenance import MARK, Made

GUARDED = "guarded.csv"
"""A CSV for spreadsheets, which would run some texts as formulas."""
GUARDED_WORDS = (
    "texts and names of columns that a spreadsheet would run as a formula (=, +, -, @, tab or carriage return in "
    "front, and no number) stand behind an apostrophe"
)
FORMATS = ("parquet", "csv", GUARDED, "xlsx", "sav", "dta")
_FORMULA, _PLAIN_NUMBER = r"\A[=+\-@\t\r]", r"\A[+-]?[0-9]+([.][0-9]+)?\z"
FORMAT = OneOf(FORMATS)
_MOST_XLSX_ROWS = (1 << 20) - 1
"""Rows of a sheet beside the header."""
_NEEDS = {"xlsx": ("xlsxwriter",), "sav": ("pyreadstat", "pandas"), "dta": ("pyreadstat", "pandas")}
_LABEL_BYTES = {"sav": (255, 120), "dta": (80, 32_000)}
"""The longest label of a variable and of a value that a program takes."""
_WHOLE_32 = 2_147_483_620
"""Whole numbers beyond it are missing values in Stata's 32-bit type."""


def chosen_formats(asked: str | Sequence[str] | None, *, csv: bool = False, rows: int | None = None) -> tuple[str, ...]:
    """The formats to write beside Parquet; what cannot be written is refused before anything is paid.

    >>> chosen_formats("csv"), chosen_formats(["parquet", "csv"], csv=True)
    (('csv',), ('csv',))
    """
    words = [asked] if isinstance(asked, str) else [*(asked or ())]
    words = [part.strip().lower() for word in words for part in str(word).split(",")]
    for word in words:
        FORMAT.check("format", word)
        if word in _NEEDS:
            need(*_NEEDS[word], extra="formats", what=f"writing .{word}")
    if "xlsx" in words and rows is not None and rows > _MOST_XLSX_ROWS:
        raise ParameterError(f"`format` is xlsx for {rows:,} rows, and a sheet has {_MOST_XLSX_ROWS:,}; try parquet.")
    return tuple(dict.fromkeys(word for word in [*words, *(["csv"] if csv else [])] if word != "parquet"))


def formula_like(book: Codebook | LinkedCodebook) -> list[str]:
    """Columns with a level that a spreadsheet would run as a formula when it opens a CSV."""
    return [
        column.name
        for column in book.released
        if isinstance(column, Levelled) and any(level.startswith(("=", "+", "-", "@")) for level in column.levels)
    ]


def write_table(table: pa.Table, book: Codebook, made: Made, path: Path, form: str) -> None:
    """One file beside the Parquet table."""
    if form in ("csv", GUARDED):
        spelled = spelled_table(table, book, made)
        pyarrow.csv.write_csv(_guarded(spelled) if form == GUARDED else spelled, path)
        return
    columns = [_Written.of(name, table, book, made) for name in table.column_names]
    mark = (table.schema.metadata or {}).get(MARK, b"")
    _WRITERS[form](columns, path, mark)


def spelled_table(table: pa.Table, book: Codebook, made: Made) -> pa.Table:
    """For CSV: missing values spelled as the codebook spells them."""
    if made.is_statistics:  # labels, tokens among them, and numbers
        return table
    columns = []
    for name in table.column_names:
        values, token = table.column(name), book.column(name).missing
        columns.append(values if token is None else values.cast(pa.string()).fill_null(token))
    return pa.table(columns, names=table.column_names)


def _guarded(table: pa.Table) -> pa.Table:
    """An apostrophe in front of texts that a spreadsheet would run."""
    columns = []
    for values in (*table.columns, pa.chunked_array([table.column_names], pa.string())):
        if pa.types.is_dictionary(values.type):
            values = values.cast(pa.string())  # noqa: PLW2901
        if pa.types.is_string(values.type) or pa.types.is_large_string(values.type):
            runs = pc.match_substring_regex(values, _FORMULA)
            runs = pc.and_(runs, pc.invert(pc.match_substring_regex(values, _PLAIN_NUMBER)))
            behind = pc.binary_join_element_wise(pa.scalar("'", values.type), values, pa.scalar("", values.type))
            values = pc.if_else(runs, behind, values)  # noqa: PLW2901
        columns.append(values)
    return pa.table(columns[:-1], names=columns[-1].to_pylist())


def holds_same_rows(path: Path, form: str, table: pa.Table, book: Codebook, made: Made) -> bool:
    """Whether a file beside the Parquet table says the same, column by column in its order."""
    if form in ("csv", GUARDED):
        expected = spelled_table(table, book, made)
        expected = _guarded(expected) if form == GUARDED else expected
        types = {field.name: field.type for field in expected.schema}
        options = pyarrow.csv.ConvertOptions(column_types=types, strings_can_be_null=False, null_values=[""])
        lines = pyarrow.csv.ParseOptions(newlines_in_values=True)
        read = pyarrow.csv.read_csv(path, parse_options=lines, convert_options=options)
        return bool(read.equals(expected.replace_schema_metadata(None)))
    from understudy.sources.marks import DATA_SHEET
    from understudy.sources.statistical import read_statistical
    from understudy.sources.workbooks import read_workbook

    reading = FileReading(sheet=DATA_SHEET) if form == "xlsx" else FileReading()
    parsed = read_workbook(path, reading) if form == "xlsx" else read_statistical(path, reading)
    columns = [_Written.of(name, table, book, made) for name in table.column_names]
    names = [column.name for column in columns]
    if parsed.header != tuple(names if form == "xlsx" else _legal_names(names, form)):
        return False
    return len(parsed.table) == len(table) and all(
        column.same_as(values) for column, values in zip(columns, parsed.table.columns, strict=True)
    )


@dataclass(frozen=True, kw_only=True, eq=False)
class _Written:
    """One column as another program keeps it: numbers or texts, with what is known about it."""

    name: str
    values: pa.ChunkedArray
    column: Column | None
    """None for the figures of a table of counts."""

    @staticmethod
    def of(name: str, table: pa.Table, book: Codebook, made: Made) -> "_Written":
        column = book.column(name) if name in {c.name for c in book.columns} and not made.is_statistics else None
        values = table.column(name)
        if pa.types.is_dictionary(values.type):
            values = values.cast(pa.string())
        if column is not None and isinstance(column, Levelled) and has_number_levels(column):
            with suppress(pa.ArrowInvalid):  # an anonymised column may hold groups of its levels
                numbers = values.cast(pa.float64())
                is_whole = all(level.lstrip("-").isdecimal() for level in column.levels)
                values = numbers.cast(pa.int64()) if is_whole else numbers
        return _Written(name=name, values=values, column=column)

    @property
    def is_number(self) -> bool:
        return bool(pa.types.is_integer(self.values.type) or pa.types.is_floating(self.values.type))

    @property
    def label(self) -> str:
        return "" if self.column is None else self.column.description

    @property
    def missing_codes(self) -> tuple[str, ...]:
        """Codes that the file declares as missing; the first one is written. A word such as NA is no code."""
        if self.column is None or self.column.missing is None:
            return ()
        codes = (self.column.missing, *self.column.reading.missing)
        return tuple(code for code in dict.fromkeys(codes) if code not in MISSING_TOKENS)

    @property
    def value_labels(self) -> dict[str, str]:
        return {} if self.column is None else dict(self.column.value_labels)

    @property
    def measure(self) -> str:
        if isinstance(self.column, Number) or self.column is None:
            return "scale"
        return "ordinal" if isinstance(self.column, Ordinal) else "nominal"

    def _is_listed(self, number: float) -> bool:
        if isinstance(self.column, Levelled):
            return any(number_of(level) == number for level in self.column.levels)
        return isinstance(self.column, Number) and self.column.float_edges[0] <= number <= self.column.float_edges[-1]

    @property
    def missing_numbers(self) -> list[float]:
        """Those of the missing codes that are numbers, none of them a value too."""
        numbers = (number_of(code) for code in self.missing_codes)
        return [number for number in numbers if number is not None and not self._is_listed(number)]

    def same_as(self, read: pa.ChunkedArray) -> bool:
        """Whether a column that was read back holds these values; codes that mean missing count as missing."""
        token = None if self.column is None else self.column.missing
        absent = {token, "", *self.missing_codes, *(f".{letter}" for letter in _letters(self).values())}
        for mine, theirs in zip(self.values.to_pylist(), read.to_pylist(), strict=True):
            if spelling(theirs) in absent or theirs is None:
                if mine is not None:
                    return False
            elif mine is None or (number_of(theirs) != mine if self.is_number else spelling(mine) != spelling(theirs)):
                return False
        return True

    def spss_missing(self) -> list[Any]:
        """SPSS takes three codes, or one range and one code."""
        if not self.is_number:
            return [code for code in self.missing_codes if 0 < len(code.encode()) <= 8][:3]
        codes = sorted(self.missing_numbers)
        if len(codes) <= 3:
            return list(codes)
        for low, high, alone in ((0, -1, []), (0, -2, codes[-1:]), (1, -1, codes[:1])):
            ends = codes[low], codes[high]
            levels = self.column.levels if isinstance(self.column, Levelled) else ()
            valid = [number for level in levels if (number := number_of(level)) is not None]
            if isinstance(self.column, Number):
                valid = [self.column.float_edges[0], self.column.float_edges[-1]]
            if not any(ends[0] <= number <= ends[1] for number in valid):
                return [{"lo": ends[0], "hi": ends[1]}, *alone]
        return list(self.missing_numbers[:3])  # the first is the one that is written


# SPSS and Stata


def _write_sav(columns: Sequence[_Written], path: Path, mark: bytes) -> None:
    import pandas as pd
    import pyreadstat

    names = _legal_names([column.name for column in columns], "sav")
    frame: dict[str, Any] = {}
    labels: dict[str, dict[Any, str]] = {}
    missing: dict[str, list[Any]] = {}
    for name, column in zip(names, columns, strict=True):
        declared = column.spss_missing()
        values = column.values
        if column.is_number:
            fill = column.missing_numbers[:1]
            values = values.cast(pa.float64()).fill_null(fill[0]) if fill else values
            labels[name] = {
                number: _cut(label, _LABEL_BYTES["sav"][1])
                for code, label in column.value_labels.items()
                if (number := number_of(code)) is not None
            }
        elif pa.types.is_string(values.type):
            values = values.fill_null(declared[0] if declared else "")
            labels[name] = {code: _cut(label, _LABEL_BYTES["sav"][1]) for code, label in column.value_labels.items()}
        frame[name] = _as_pandas(values)
        if declared:
            missing[name] = declared
    whole = [name for name, column in zip(names, columns, strict=True) if pa.types.is_integer(column.values.type)]
    pyreadstat.write_sav(
        pd.DataFrame(frame),
        str(path),
        column_labels=_variable_labels(names, columns, "sav"),
        variable_value_labels={name: values for name, values in labels.items() if values},
        missing_ranges=missing,
        variable_measure={name: column.measure for name, column in zip(names, columns, strict=True)},
        variable_format=dict.fromkeys(whole, "F8.0"),
        note=_mark_lines(mark),
        row_compress=True,
    )


def _write_dta(columns: Sequence[_Written], path: Path, mark: bytes) -> None:
    """Stata's missing values are .a to .z: other codes become letters in their order. It has no room for the mark."""
    import pandas as pd
    import pyreadstat

    names = _legal_names([column.name for column in columns], "dta")
    frame: dict[str, Any] = {}
    labels: dict[str, dict[Any, str]] = {}
    missing: dict[str, list[str]] = {}
    for name, column in zip(names, columns, strict=True):
        values = column.values
        if pa.types.is_string(values.type):
            frame[name] = _as_pandas(values.fill_null(""))
            continue
        letters = _letters(column) if column.is_number else {}
        labels[name] = {
            _stata_code(code, letters): label
            for code, label in column.value_labels.items()
            if column.is_number and _stata_code(code, letters) is not None
        }
        frame[name] = _as_pandas(_narrow(values))
        if letters:
            missing[name] = sorted(set(letters.values()))
            written = letters[column.missing_codes[0]]
            frame[name] = pd.Series([written if value is None else value for value in values.to_pylist()], dtype=object)
    pyreadstat.write_dta(
        pd.DataFrame(frame),
        str(path),
        column_labels=_variable_labels(names, columns, "dta"),
        variable_value_labels={name: values for name, values in labels.items() if values},
        missing_user_values=missing,
    )


def _letters(column: _Written) -> dict[str, str]:
    """A letter for every missing code: its own where it has one."""
    codes = column.missing_codes[:26]
    own = {code: code[1] for code in codes if re.fullmatch(r"\.[a-zA-Z]", code)}
    free = iter(letter for letter in "abcdefghijklmnopqrstuvwxyz" if letter not in map(str.lower, own.values()))
    return {code: own[code].lower() if code in own else next(free) for code in codes}


def _stata_code(code: str, letters: Mapping[str, str]) -> int | str | None:
    number = number_of(code)
    if code in letters:
        return letters[code]
    return int(number) if number is not None and number == int(number) and abs(number) < _WHOLE_32 else None


def _narrow(values: pa.ChunkedArray) -> pa.ChunkedArray:
    """Whole numbers in 32 bits where they fit, as Stata keeps them."""
    is_whole = pa.types.is_integer(values.type) and values.null_count == 0 and len(values) > 0
    return values.cast(pa.int32()) if is_whole and pc.max(pc.abs(values)).as_py() <= _WHOLE_32 else values


def _as_pandas(values: pa.ChunkedArray) -> Any:
    """Days stay days; whole numbers with gaps become floats."""
    return values.to_pandas(date_as_object=True, integer_object_nulls=False)


def _variable_labels(names: Sequence[str], columns: Sequence[_Written], form: str) -> dict[str, str]:
    """Of each column its description, or its own name where the program cannot take that as a name."""
    told = {
        name: column.label or ("" if name == column.name else column.name)
        for name, column in zip(names, columns, strict=True)
    }
    return {name: _cut(label, _LABEL_BYTES[form][0]) for name, label in told.items() if label}


def _cut(label: str, most: int) -> str:
    return label.encode()[:most].decode(errors="ignore")


_LONGEST_NAME = {"sav": 64, "dta": 32}
_RESERVED = {
    "sav": {"all", "and", "by", "eq", "ge", "gt", "le", "lt", "ne", "not", "or", "to", "with"},
    "dta": {
        "_all", "_b", "_n", "_cons", "_pi", "_rc", "_skip", "_se", "byte", "double", "float", "if", "in", "int", "long",
        "using", "with", "strl",
    },
}  # fmt: skip


def _legal_names(names: Sequence[str], form: str) -> list[str]:
    """Names that the program takes, each once whatever its case.

    >>> _legal_names(["age", "first name", "2nd", "Age"], "dta")
    ['age', 'first_name', '_2nd', 'Age_4']
    """
    made: list[str] = []
    taken: set[str] = set()
    for place, name in enumerate(names, start=1):
        plain = re.sub(r"[^0-9A-Za-z_]", "_", name) if form == "dta" else re.sub(r"[^\w.$#@]", "_", name).rstrip("._")
        if not re.match(r"[^\W\d]" if form == "dta" else r"[^\W\d_]|@", plain):
            plain = ("_" if form == "dta" else "v_") + plain
        plain = _cut(plain, _LONGEST_NAME[form])
        if plain.lower() in taken | _RESERVED[form]:
            plain = f"{_cut(plain, _LONGEST_NAME[form] - 1 - len(str(place)))}_{place}"
        taken.add(plain.lower())
        made.append(plain)
    return made


def _mark_lines(mark: bytes) -> list[str]:
    """The mark as notes of a .sav file, which has lines of 80 characters."""
    text = base64.b64encode(mark).decode()
    from understudy.sources.marks import MARK_LINE

    size = 80 - len(MARK_LINE)
    return [MARK_LINE + text[start : start + size] for start in range(0, len(text), size)]


# Excel


def _write_xlsx(columns: Sequence[_Written], path: Path, mark: bytes) -> None:
    """One sheet of data, and one of labels where there are any; a text is never a formula."""
    import xlsxwriter

    from understudy.sources.marks import DATA_SHEET, LABEL_SHEET, MARK_LINE

    workbook = xlsxwriter.Workbook(str(path), {"constant_memory": True, "strings_to_formulas": False})
    if mark:
        workbook.set_properties({"comments": MARK_LINE + base64.b64encode(mark).decode()})
    sheet, day = workbook.add_worksheet(DATA_SHEET), workbook.add_format({"num_format": "yyyy-mm-dd"})
    sheet.freeze_panes(1, 0)
    for place, column in enumerate(columns):
        sheet.write_string(0, place, column.name)
    rows = zip(*(_cells(column) for column in columns), strict=True)
    writers = [_cell_writer(sheet, column, day) for column in columns]
    for number, row in enumerate(rows, start=1):
        for place, cell in enumerate(row):
            if cell is not None:
                writers[place](number, place, cell)
        if all(cell is None for cell in row):  # or nobody would see that there is a row
            token = columns[0].column.missing if columns[0].column is not None else None
            sheet.write_string(number, 0, token or "NA")
    labelled = [column for column in columns if column.label or column.value_labels]
    if labelled:
        _write_labels(workbook.add_worksheet(LABEL_SHEET), labelled)
    workbook.close()


def _cells(column: _Written) -> list[Any]:
    written = column.missing_codes[:1]
    code = (number_of(written[0]) if column.is_number else written[0]) if written else None
    cells = column.values.to_pylist()
    return cells if code is None else [code if cell is None else cell for cell in cells]


def _cell_writer(sheet: Any, column: _Written, day: Any) -> Callable[[int, int, Any], Any]:
    if pa.types.is_date(column.values.type):
        return lambda row, place, cell: sheet.write_datetime(row, place, cell, day)
    if column.is_number:
        write_number: Callable[[int, int, Any], Any] = sheet.write_number
        return write_number
    return lambda row, place, cell: sheet.write_string(row, place, spelling(cell))


def _write_labels(sheet: Any, columns: Sequence[_Written]) -> None:
    rows = [("column", "description", "code", "label", "missing")]
    for column in columns:
        rows.append((column.name, column.label, "", "", ""))
        rows += [
            (column.name, "", code, label, "yes" if code in column.missing_codes else "")
            for code, label in column.value_labels.items()
        ]
    for number, row in enumerate(rows):
        for place, cell in enumerate(row):
            sheet.write_string(number, place, cell)


_WRITERS: dict[str, Callable[[Sequence[_Written], Path, bytes], None]] = {
    "xlsx": _write_xlsx,
    "sav": _write_sav,
    "dta": _write_dta,
}
