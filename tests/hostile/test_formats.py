"""Workbooks, statistical files, archives and documents as people send them: a right reading, or one sentence with the
remedy and nothing written."""

import datetime as dt
import gzip
import json
import shutil
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import understudy as us
from tests.file_makers import LOCKED_XLSX, OLD_XLS, ods, packed, xlsb, xlsx
from understudy.errors import DataError, UnderstudyError
from understudy.sources.files import open_table

ROWS = [["name", "age"], ["Ann", 41], ["Bob", 7]]
READ = [{"name": "Ann", "age": 41}, {"name": "Bob", "age": 7}]
Make = Callable[[Path], Any]


def text(name: str, content: str | bytes, then: str = "") -> Make:
    def make(folder: Path) -> str:
        (folder / name).write_bytes(content.encode() if isinstance(content, str) else content)
        return str(folder / name) + then

    return make


def book(sheets: dict[str, list[list[Any]]], then: str = "", name: str = "t.xlsx", touch: Any = None) -> Make:
    return lambda folder: str(xlsx(folder / name, sheets, touch)) + then


def touched(change: Callable[[Any], Any]) -> Callable[[Any], None]:
    """Something done to the first sheet."""
    return lambda workbook: change(workbook.worksheets()[0])


def edited(folder: Path) -> str:
    """Formulas as a program writes them that cannot compute."""
    path = xlsx(folder / "made.xlsx", {"s": [["a", "b"], [1, 2], [3, 4]]})
    with zipfile.ZipFile(path) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    sheet = "xl/worksheets/sheet1.xml"
    parts[sheet] = parts[sheet].replace(b"<v>2</v>", b"<f>A2*2</f><v></v>").replace(b"<v>4</v>", b"<f>A3*2</f><v></v>")
    with zipfile.ZipFile(folder / "t.xlsx", "w") as archive:
        for name, content in parts.items():
            archive.writestr(name, content)
    return str(folder / "t.xlsx")


def bloated(folder: Path) -> str:
    """65 MiB of nothing in a workbook of some kilobytes."""
    path = xlsx(folder / "t.xlsx", {"s": ROWS})
    with zipfile.ZipFile(path, "a", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("xl/media/image1.png", bytes(65 << 20))
    return str(path)


def repeated(folder: Path) -> str:
    """A row of 16,384 cells that an OpenDocument sheet repeats a million times."""
    path = ods(folder / "made.ods", [["a", "b"], ["x", 1]])
    with zipfile.ZipFile(path) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    wide = parts["content.xml"].replace(b'office:value="1"', b'office:value="1" table:number-columns-repeated="16383"')
    parts["content.xml"] = b'<table:table-row table:number-rows-repeated="1048576">'.join(
        wide.rsplit(b"<table:table-row>", 1)
    )
    with zipfile.ZipFile(folder / "t.ods", "w") as archive:
        for name, content in parts.items():
            archive.writestr(name, content)
    return str(folder / "t.ods")


def sav(folder: Path, name: str = "t.sav", **more: Any) -> Path:
    import pandas as pd
    import pyreadstat

    frame = pd.DataFrame({"sex": [1.0, 2.0, -9.0], "word": ["a", "", "b"]})
    pyreadstat.write_sav(frame, str(folder / name), **more)
    return folder / name


def cut(make: Callable[[Path], Path], name: str) -> Make:
    def half(folder: Path) -> str:
        whole = make(folder).read_bytes()
        (folder / name).write_bytes(whole[: len(whole) // 2])
        return str(folder / name)

    return half


def zipped(contents: dict[str, bytes], then: str = "") -> Make:
    def make(folder: Path) -> str:
        with zipfile.ZipFile(folder / "t.zip", "w") as archive:
            for name, content in contents.items():
                archive.writestr(name, content)
        return str(folder / "t.zip") + then

    return make


def formula(cell: str, value: Any) -> Callable[[Any], None]:
    return touched(lambda sheet: sheet.write_formula(cell, "=6*7", None, value))


def zipped_workbook(folder: Path) -> Any:
    return zipped({"t.xlsx": xlsx(folder / "t.xlsx", {"s": ROWS}).read_bytes()})(folder)


def locked_zip(folder: Path) -> str:
    """The flag of an encrypted member, in both of its headers."""
    zipped({"t.csv": b"a\n1\n"})(folder)
    content = bytearray((folder / "t.zip").read_bytes())
    content[6] |= 1
    content[content.index(b"PK\x01\x02") + 8] |= 1
    (folder / "t.zip").write_bytes(content)
    return str(folder / "t.zip")


def with_layout(lines: str, layout: str) -> Make:
    def make(folder: Path) -> str:
        (folder / "t.dat").write_text(lines)
        (folder / "layout.csv").write_text(layout)
        return f"{folder / 't.dat'}?layout={folder / 'layout.csv'}"

    return make


def gzipped(folder: Path) -> str:
    path = xlsx(folder / "w.xlsx", {"s": ROWS})
    (folder / "t.xlsx.gz").write_bytes(gzip.compress(path.read_bytes()))
    return str(folder / "t.xlsx.gz")


def dump(document: Any) -> str:
    return json.dumps(document)


REFUSED: list[tuple[str, Make, str]] = [
    ("two sheets", book({"2019": ROWS, "2020": ROWS}), r"2 sheets, '2019', '2020', and several hold data; name one as"),
    (
        "300 sheets",
        book({f"s{n}": ROWS for n in range(300)}),
        "has 300 sheets, 's0', .* and 288 more, and several hold",
    ),
    ("no such sheet", book({"2019": ROWS}, "?sheet=2018"), "has no sheet '2018'; it has '2019'"),
    ("empty sheet", book({"2019": []}), "holds anything; a table needs a header and rows"),
    ("named empty sheet", book({"a": ROWS, "b": []}, "?sheet=b"), "sheet 'b' of .* is empty; a table needs"),
    ("header only", book({"a": ROWS[:1]}), "has a header but no rows"),
    ("password", lambda folder: str(packed(folder / "t.xlsx", LOCKED_XLSX)), "protected by a password; give a copy"),
    ("password, as csv", lambda folder: str(packed(folder / "t.csv", LOCKED_XLSX)), "protected by a password; give a"),
    ("never computed", edited, "formulas whose values were never computed; open the workbook in a spreadsheet, save"),
    (
        "headings merged across",
        book({"s": [["", "a", "b"], [1, 2, 3]]}, touch=touched(lambda s: s.merge_range("B1:C1", "x"))),
        r"cells merged across columns \(B1:C1\) among the names of its columns; .*unmerge",
    ),
    (
        "rows merged across",
        book({"s": [*ROWS, ["", ""]]}, touch=touched(lambda s: s.merge_range("A4:B4", "Source: us"))),
        r"cells merged across columns \(A4:B4\) among the rows; .*unmerge",
    ),
    (
        "a cell in the last corner",
        book({"s": ROWS}, touch=touched(lambda s: s.write("XFD1048576", 1))),
        "more than 67,108,864 cells between its first and its last .*; delete what stands far outside",
    ),
    ("a row repeated for ever", repeated, "Cell limit exceeded .*; it is damaged or of another kind"),
    ("a bloated workbook", bloated, "unpacks to more than 300 times its size, as no table does; save the"),
    ("cut xlsx", cut(lambda folder: xlsx(folder / "w.xlsx", {"s": ROWS}), "t.xlsx"), "save it anew as .xlsx"),
    ("html as xls", text("t.xls", "<html><table><tr><td>1</td></tr></table>"), "HTML or XML text, .* save it as .xlsx"),
    ("noise as xlsx", text("t.xlsx", b"\x00\x01\x02\x03" * 99), "cannot be read .* save it anew as .xlsx"),
    ("sheet of a csv", text("t.csv", "a\n1\n", "?sheet=x&table=y"), "holds one table only; leave it out, or name a"),
    ("unknown option", text("t.csv", "a\n1\n", "?sheet=x&colour=red"), "sets 'colour'; a file takes table, encoding"),
    ("skip in words", book({"s": ROWS}, "?skip=two"), "sets skip to 'two'; it must be a whole number"),
    ("skip beyond", book({"s": ROWS}, "?skip=99"), "has 3 rows, and its .file. looks for names below; mend it"),
    ("compressed xlsx", gzipped, "is a compressed workbook; unpack it first"),
    ("cut sav", cut(sav, "u.sav"), "damaged, cut short or of another kind"),
    ("noise as sav", text("t.sav", b"\x00\x07" * 400), "damaged, cut short or of another kind"),
    ("noise as dta", text("t.dta", b"\x00\x07" * 400), "damaged, cut short or of another kind"),
    ("noise as sas7bdat", text("t.sas7bdat", b"\x00\x07" * 400), "damaged, cut short or of another kind"),
    ("noise as xpt", text("t.xpt", b"\x00\x07" * 400), "damaged, cut short or of another kind"),
    ("zip of two", zipped({"a.csv": b"x\n1\n", "b.csv": b"x\n1\n"}), r"has 'a.csv', 'b.csv', and one is needed"),
    ("zip without the file", zipped({"a.csv": b"x\n1\n"}, "?member=b.csv"), "there is no 'b.csv'; name one as"),
    ("zip of nothing", zipped({}), "a kind that is not read|has no file"),
    ("zip of an empty file", zipped({"a.csv": b""}), "'a.csv' in .* is empty"),
    ("zip of a picture", zipped({"a.png": b"\x89PNG"}), "of a kind that is not read"),
    ("zip with a password", locked_zip, "protected by a password; unpack it in a safe place first"),
    ("cut zip", cut(lambda folder: Path(zipped({"a.csv": b"x\n1\n" * 99})(folder)), "u.zip"), "cut short or damaged"),
    (
        "nested json",
        text("t.jsonl", '{"a": {"b": 1}}\n{"a": {"b": 2}}\n'),
        "holds objects or lists inside 'a'; .*Flatten",
    ),
    ("broken json", text("t.jsonl", '{"a": 1}\n{"a": \n'), "every line holds one object"),
    ("numbers as json", text("t.ndjson", "1\n2\n"), "does not hold one JSON object a line|every line holds one object"),
    ("no layout", text("t.dat", "001F 20\n002M 31\n"), "have no delimiter, .*name a layout"),
    (
        "layout of another file",
        with_layout("001F\n", "name,start,end\nx,90,95\n"),
        "is this the layout of another file",
    ),
    ("layout without places", with_layout("001F\n", "name,label\nx,y\n"), "it needs name, start and end"),
    (
        "layout in words",
        with_layout("001F\n", "name,start,end\nx,one,two\n"),
        "has no whole numbers for its characters",
    ),
    (
        "layout backwards",
        with_layout("001F\n", "name,start,end\nx,3,1\n"),
        "counted from 1, and the last is not before",
    ),
    ("layout that repeats", with_layout("001F\n", "name,start,end\nx,1,1\nx,2,2\n"), "names 'x' twice in layout"),
    ("no such layout", text("t.dat", "001F\n", "?layout=nowhere.csv"), "the layout 'nowhere.csv' cannot be read"),
    (
        "billion laughs",
        text("t.xml", '<!DOCTYPE a [<!ENTITY b "c">]><codeBook>&b;</codeBook>'),
        "declares XML entities",
    ),
    (
        "external entity",
        text("t.xml", '<!DOCTYPE a [<!ENTITY b SYSTEM "file:///etc/passwd">]><codeBook>&b;</codeBook>'),
        "declares XML entities",
    ),
    ("broken xml", text("t.xml", "<codeBook><var>"), "is not valid XML"),
    ("other xml", text("t.xml", "<html/>"), "is XML, but no DDI-Codebook"),
    ("ddi without variables", text("t.xml", "<codeBook/>"), "describes no table: it needs variables"),
    ("other json", text("t.json", dump({"a": 1})), "is no document that describes a table. Known are DDI"),
    ("deep json", text("t.jsonl", "[" * 100_000), "cannot be read|does not hold"),
    (
        "package of two tables",
        text("t.json", dump({"resources": [{"name": n, "schema": {"fields": [{"name": "a"}]}} for n in "xy"]})),
        "describes the tables 'x', 'y'; name one with --table",
    ),
    (
        "package elsewhere",
        text("t.json", dump({"resources": [{"name": "x", "schema": "http://x.y"}]})),
        "are not opened",
    ),
    (
        "document of text",
        text("t.json", dump({"fields": [{"name": "a", "type": "string"}]})),
        "lists values or a range of no",
    ),
]


@pytest.mark.parametrize(("make", "words"), [pytest.param(make, words, id=name) for name, make, words in REFUSED])
def test_what_cannot_be_read_is_said_in_one_sentence_and_nothing_is_written(make: Make, words: str, tmp_path: Path):
    address = make(tmp_path)
    before = sorted(tmp_path.iterdir())
    with pytest.raises(UnderstudyError, match=words) as caught:
        us.draft(address, tmp_path / "book.toml")
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 600
    assert sorted(tmp_path.iterdir()) == before


def test_at_least_25_of_them():
    assert len(REFUSED) >= 25


DAY = dt.date(2020, 1, 31)

RIGHT: list[tuple[str, Make, list[dict[str, Any]]]] = [
    ("xlsx", book({"s": ROWS}), READ),
    ("xlsb", lambda folder: str(xlsb(folder / "t.xlsb", ROWS)), READ),
    ("ods", lambda folder: str(ods(folder / "t.ods", ROWS)), READ),
    (
        "xls",
        lambda folder: str(packed(folder / "t.xls", OLD_XLS)),
        [
            {"name": "Ann", "age": 41, "day": DAY},
            {"name": "Bob", "age": 7, "day": dt.date(2021, 2, 28)},
            {"name": "Cy", "age": None, "day": None},
        ],
    ),
    ("a csv that is a workbook", lambda folder: shutil.move(book({"s": ROWS})(folder), folder / "t.csv"), READ),
    ("an xls that is a text", text("t.xls", "name\tage\nAnn\t41\n"), [{"name": "Ann", "age": "41"}]),
    ("the only sheet with data", book({"notes": [], "s": ROWS}), READ),
    ("a hidden sheet", book({"s": ROWS, "old": ROWS}, touch=lambda workbook: workbook.worksheets()[1].hide()), READ),
    ("a named sheet", book({"a": [["x"], [1]], "b c": ROWS}, "?sheet=b c"), READ),
    ("a title above", book({"s": [["People of 2020"], [], *ROWS]}), READ),
    ("rows to skip", book({"s": [["x", "y"], [1, 2], *ROWS]}, "?skip=2"), READ),
    ("blank rows and columns", book({"s": [[], *([None, *row, None] for row in ROWS), [], []]}), READ),
    (
        "merged downwards",
        book({"s": [["name", "age"], ["x", 41], [None, 7]]}, touch=touched(lambda s: s.merge_range("A2:A3", "Ann"))),
        [{"name": "Ann", "age": 41}, {"name": "Ann", "age": 7}],
    ),
    ("several kinds", book({"s": [["x"], [1], [2.5], [DAY]]}), [{"x": "1"}, {"x": "2.5"}, {"x": "2020-01-31"}]),
    ("fractions", book({"s": [["x"], [1], [2.5]]}), [{"x": 1.0}, {"x": 2.5}]),
    ("truths", book({"s": [["x"], [True], [False]]}), [{"x": True}, {"x": False}]),
    ("an error is missing", book({"s": [["x", "y"], [1]]}, touch=formula("B2", "#DIV/0!")), [{"x": 1, "y": None}]),
    ("a computed formula", book({"s": [["x", "y"], [1]]}, touch=formula("B2", 42)), [{"x": 1, "y": 42}]),
    ("zip of a workbook", zipped_workbook, READ),
    ("zip from a Mac", zipped({"t.csv": b"a\n1\n", "__MACOSX/._t.csv": b"x", ".DS_Store": b"x"}), [{"a": "1"}]),
    ("zip with a path in it", zipped({"../../t.csv": b"a\n1\n"}), [{"a": "1"}]),
    ("one of two in a zip", zipped({"a.csv": b"a\n1\n", "b.csv": b"b\n2\n"}, "?member=b.csv"), [{"b": "2"}]),
    ("fixed width", with_layout("001F 20\n002M  7\n\n003F\n", "name,start,end\nid,1,3\nsex,4,4\nage,5,7\n"),
     [{"id": "001", "sex": "F", "age": "20"}, {"id": "002", "sex": "M", "age": "7"},
      {"id": "003", "sex": "F", "age": None}]),
    ("fixed width by widths", with_layout("1é2\n3b4\n", "variable;width\na;1\nb;1\nc;1\n"),
     [{"a": "1", "b": "é", "c": "2"}, {"a": "3", "b": "b", "c": "4"}]),
    ("a .dat with commas", text("t.dat", "a,b\n1,2\n"), [{"a": "1", "b": "2"}]),
    ("json lines", text("t.ndjson", '{"a": 1, "b": "x"}\n{"a": 2.5, "c": true}\n'),
     [{"a": "1", "b": "x", "c": None}, {"a": "2.5", "b": None, "c": "true"}]),
    ("a json list", text("t.json", '[{"a": 1}, {"a": "b"}]'), [{"a": "1"}, {"a": "b"}]),
]  # fmt: skip


@pytest.mark.parametrize(("make", "rows"), [pytest.param(make, rows, id=name) for name, make, rows in RIGHT])
def test_what_can_be_read_is_read_as_what_it_is(make: Make, rows: list[dict[str, Any]], tmp_path: Path):
    opened = open_table(make(tmp_path))
    opened.verify()
    assert opened.table.to_pyarrow().to_pylist() == rows
    assert list(opened.header) == list(rows[0])


def test_dates_times_percent_and_money_are_what_the_cell_holds(tmp_path: Path):
    def touch(workbook: Any) -> None:
        sheet = workbook.worksheets()[0]
        forms = {"0%": 0.25, "$#,##0.00": 1234.5, "hh:mm": dt.time(10, 30), "[h]:mm": dt.timedelta(hours=30)}
        forms["yyyy-mm-dd hh:mm"] = dt.datetime(2020, 1, 31, 5, 6)
        for place, (form, value) in enumerate(forms.items()):
            write = sheet.write_number if isinstance(value, float) else sheet.write_datetime
            write(1, place, value, workbook.add_format({"num_format": form}))

    path = xlsx(tmp_path / "t.xlsx", {"s": [["percent", "money", "time", "duration", "moment"]]}, touch)
    [row] = open_table(path).table.to_pyarrow().to_pylist()
    assert row == {
        "percent": 0.25,
        "money": 1234.5,
        "time": "10:30:00",
        "duration": "30:00:00",
        "moment": dt.datetime(2020, 1, 31, 5, 6),
    }


def test_the_sheet_and_the_rows_above_stand_in_the_codebook(tmp_path: Path):
    """Whoever drafts from one sheet of several need not name it again."""
    rows = [["A title"], ["sex"], *([value] for value in ["F", "M", "F", "M"])]
    rows = [[*row, "x"] if at else row for at, row in enumerate(rows)]
    path = xlsx(tmp_path / "t.xlsx", {"a": ROWS, "b": rows})
    book = us.draft(f"{path}?sheet=b").codebook
    assert book.file is not None
    assert (book.file.sheet, book.file.skip) == ("b", 1)
    assert us.check(path, us.Codebook.from_toml(book.to_toml())).fits
    with pytest.raises(DataError, match="lacks the columns"):
        us.synthesize(f"{path}?sheet=a", book, rows=10, epsilon=1, delta=1e-6)  # the address wins


def test_a_missing_package_is_named_with_its_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    import sys

    path = xlsx(tmp_path / "t.xlsx", {"s": ROWS})
    file = sav(tmp_path)
    for module, address in (("python_calamine", path), ("pyreadstat", file)):
        monkeypatch.setitem(sys.modules, module, None)
        with pytest.raises(UnderstudyError, match=r'run `pip install "understudy\[formats\]"`'):
            open_table(address)
