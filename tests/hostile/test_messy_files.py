"""Files as people have them: each is read rightly, value by value, or refused in a sentence that names the remedy.

What a draft guesses is held against the values that were meant. The same rules, applied by the engine, leave no fault.
"""

import datetime as dt
import gzip
import json
import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pyarrow.compute as pc
import pytest

from understudy.codebook import Codebook
from understudy.codebook.declare import declare_text
from understudy.errors import DataError
from understudy.sources import open_source
from understudy.sources.check import check_table
from understudy.sources.draft import Draft, draft_in_full
from understudy.sources.rows import rows_of

MANY = range(60)
DAYS = [dt.date(2020, 1, 15) + dt.timedelta(11 * k) for k in MANY]
MORE_DAYS = [dt.date(2000, 1, 1) + dt.timedelta(17 * k) for k in range(400)]
EARLY = [dt.date(2020 + k % 3, 1 + k % 12, 1 + k % 9) for k in MANY]
"""No day above 12."""


def read(path: Path) -> tuple[Draft, dict[str, list[Any]]]:
    """The draft of a file, and the values of its columns as its rules read them; special codes as text."""
    draft = draft_in_full(path)
    book = Codebook.from_toml(draft.codebook.to_toml())
    assert book == draft.codebook
    assert check_table(path, book) == []
    source = open_source(path, book)
    rows = rows_of(source).open()
    values = {}
    for column, codes, array in zip(book.modelled, rows.codes, rows.values, strict=True):
        kept = array.to_pylist()
        if column.special:
            kept = [
                column.labels[code] if column.proper_levels <= code < column.size - 1 else value
                for code, value in zip(codes.tolist(), kept, strict=True)
            ]
        values[column.name] = kept
        grid = source.count([[column.name]])[0].open().to_grid()
        assert grid.sum() == len(codes)
        assert [int((codes == code).sum()) for code in range(column.size)] == grid.tolist()  # engine and reference
    return draft, values


def as_csv(texts: Sequence[str], other: Sequence[Any] = ()) -> str:
    """A file with the texts in a column, quoted, beside one of plain numbers."""
    quoted = ['"' + text.replace('"', '""') + '"' for text in texts]
    return "value,plain\n" + "".join(f"{text},{k % 3}\n" for k, text in enumerate(quoted))


def spread(make: Callable[[int], str]) -> list[str]:
    return [make(k) for k in MANY]


def said(draft: Draft, rule: str) -> str:
    return " ".join(guess.sentence for guess in draft.guesses if guess.rule == rule)


NUMBERS: dict[str, tuple[list[str], list[Any], dict[str, Any]]] = {
    "money with commas": (spread(lambda k: f"{k * 1807:,}.42"), [k * 1807 + 0.42 for k in MANY], {"thousands": ","}),
    "dollars": (spread(lambda k: f"${k * 907:,}.50"), [k * 907 + 0.5 for k in MANY], {"taken_off": ("$",)}),
    "dollars below zero": (
        spread(lambda k: f"-${k + 1}.25" if k % 2 else f"(${k + 1}.25)"),
        [-k - 1.25 for k in MANY],
        {"parentheses": True},
    ),
    "euros behind": (
        spread(lambda k: f"{k * 1807:,}".replace(",", ".") + ",50 €"),
        [k * 1807 + 0.5 for k in MANY],
        {"decimal": ",", "thousands": ".", "taken_off": ("€",)},
    ),
    "francs with apostrophes": (
        spread(lambda k: f"CHF {k * 1807:,}.05".replace(",", "'")),
        [k * 1807 + 0.05 for k in MANY],
        {"thousands": "'", "taken_off": ("CHF",)},
    ),
    "blanks between thousands": (
        spread(lambda k: f"{k * 1807:,},5".replace(",", "\u00a0", f"{k * 1807:,}".count(","))),
        [k * 1807 + 0.5 for k in MANY],
        {"decimal": ",", "thousands": " "},
    ),
    "decimal commas": (spread(lambda k: f"{k},{k % 10}5"), [float(f"{k}.{k % 10}5") for k in MANY], {"decimal": ","}),
    "lakhs": (
        spread(lambda k: f"1,{k % 90 + 10},{k % 900 + 100}"),
        [int(f"1{k % 90 + 10}{k % 900 + 100}") for k in MANY],
        {"thousands": ","},
    ),
    "percent": (spread(lambda k: f"{k + 0.5} %"), [k + 0.5 for k in MANY], {"taken_off": ("%",)}),
    "a unit behind": (spread(lambda k: f"{k + 30} kg"), [k + 30 for k in MANY], {"taken_off": ("kg",)}),
    "blanks around": (spread(lambda k: f"  {k}\t" if k % 2 else f"\u00a0{k}"), list(MANY), {}),
    "plus at the top": (
        spread(lambda k: "120 +" if k == 59 else str(k)),
        [*range(59), 120],
        {"means": (("120 +", "120"),)},
    ),
    "older than": (
        spread(lambda k: "> 89" if k > 50 else f"{k}"),
        [*range(51), *[89] * 9],
        {"means": (("> 89", "89"),)},
    ),
    "N among numbers": (
        spread(lambda k: "N" if k % 4 == 0 else f"{k * 7}"),
        [k * 7 if k % 4 else "N" for k in MANY],
        {},
    ),
    "minus eight": (
        spread(lambda k: "-8" if k % 9 == 0 else f"{k}"),
        [k if k % 9 else None for k in MANY],
        {"missing": ("-8",)},
    ),
    "several codes": (
        spread(lambda k: ["-9", "-8", "999"][k % 3] if k < 9 else f"{k}"),
        [None] * 9 + [*range(9, 60)],
        {"missing": ("-9", "-8", "999")},
    ),
    "nines with a point": (
        spread(lambda k: "999.0" if k % 7 == 0 else f"{k}.5"),
        [k + 0.5 if k % 7 else None for k in MANY],
        {"missing": ("999",)},
    ),
    "unknown and numbers": (
        spread(lambda k: "unknown" if k % 5 == 0 else f"{k}"),
        [k if k % 5 else None for k in MANY],
        {"missing": ("unknown",)},
    ),
    "two tokens": (spread(lambda k: ["NA ", "?", " NA"][k] if k < 3 else f"{k}"), [None] * 3 + [*range(3, 60)], {}),
    "errors of a spreadsheet": (
        spread(lambda k: "#DIV/0!" if k == 7 else f"{k}.25"),
        [None if k == 7 else k + 0.25 for k in MANY],
        {"missing": ("#DIV/0!",)},
    ),
}


@pytest.mark.parametrize("name", NUMBERS)
def test_numbers_are_read_as_they_were_meant(name: str, tmp_path: Path) -> None:
    texts, meant, rules = NUMBERS[name]
    (tmp_path / "t.csv").write_text(as_csv(texts), encoding="utf-8")
    draft, values = read(tmp_path / "t.csv")
    column = draft.codebook.column("value")
    assert values["value"] == pytest.approx(meant) if not column.special else values["value"] == meant
    assert {key: getattr(column.reading, key) for key in rules} == rules
    assert column.special == (("N",) if "N" in texts else ())
    if not column.reading.is_plain and rules:
        assert any(guess.column == "value" and guess.examples for guess in draft.guesses)


DATES: dict[str, tuple[list[str], list[dt.date | None], tuple[str, ...]]] = {
    "months first": ([f"{d:%m/%d/%Y}" for d in DAYS], list(DAYS), ("MM/DD/YYYY",)),
    "days first": ([f"{d:%d/%m/%Y}" for d in DAYS], list(DAYS), ("DD/MM/YYYY",)),
    "points": ([f"{d.day}.{d.month}.{d.year}" for d in DAYS], list(DAYS), ("DD.MM.YYYY",)),
    "names of months": ([f"{d:%d%b%Y}".upper() for d in DAYS], list(DAYS), ("DDMONYYYY",)),
    "words": ([f"{d:%B} {d.day}, {d.year}" for d in DAYS], list(DAYS), ("MON DD, YYYY",)),
    "eight digits": ([f"{d:%Y%m%d}" for d in DAYS], list(DAYS), ("YYYYMMDD",)),
    "midnight in the morning": ([f"{d:%m/%d/%Y} 12:00:00 AM" for d in DAYS], list(DAYS), ("MM/DD/YYYY",)),
    "two digits of a year": ([f"{d:%d-%b-%y}" for d in DAYS], list(DAYS), ("DD-MON-YY",)),
    "two orders that differ": (
        [f"{d:%Y-%m-%d}" if d.day % 2 else f"{d:%m/%d/%Y}" for d in DAYS],
        list(DAYS),
        ("YYYY-MM-DD", "MM/DD/YYYY"),
    ),
    "a day that is none": (
        ["00/00/0000" if k == 3 else f"{d:%m/%d/%Y}" for k, d in enumerate(DAYS)],
        [None if k == 3 else d for k, d in enumerate(DAYS)],
        ("MM/DD/YYYY",),
    ),
    "the last day of all": (
        ["9999-12-31" if k % 5 == 0 else d.isoformat() for k, d in enumerate(DAYS)],
        [None if k % 5 == 0 else d for k, d in enumerate(DAYS)],
        (),
    ),
}


@pytest.mark.parametrize("name", DATES)
def test_dates_are_read_as_they_were_meant(name: str, tmp_path: Path) -> None:
    texts, meant, orders = DATES[name]
    (tmp_path / "t.csv").write_text(as_csv(texts), encoding="utf-8")
    draft, values = read(tmp_path / "t.csv")
    column = draft.codebook.column("value")
    assert (column.kind, column.reading.dates) == ("date", tuple(sorted(orders, key=column.reading.dates.index)))
    assert values["value"] == meant


def test_serials_of_a_spreadsheet(tmp_path: Path) -> None:
    serials = [(d - dt.date(1899, 12, 30)).days for d in DAYS]
    rows = "".join(f"{serial},{serial}\n" for serial in serials)
    (tmp_path / "t.csv").write_text("Admission Date,amount\n" + rows)
    draft, values = read(tmp_path / "t.csv")
    assert values["Admission Date"] == DAYS
    assert values["amount"] == serials  # nothing says that these are days
    assert "days of a spreadsheet" in said(draft, "doubt")


def test_a_day_that_may_be_a_month_is_said_out_loud(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text(as_csv([f"{d:%m/%d/%Y}" for d in EARLY]))
    draft, values = read(tmp_path / "t.csv")
    assert "may be read in two ways" in said(draft, "doubt")
    assert values["value"] == EARLY


def test_another_column_tells_days_from_months(tmp_path: Path) -> None:
    rows = "".join(f"{early:%d/%m/%Y},{day:%d/%m/%Y}\n" for early, day in zip(EARLY, DAYS, strict=True))
    (tmp_path / "t.csv").write_text("early,any\n" + rows)
    _, values = read(tmp_path / "t.csv")
    assert values == {"early": EARLY, "any": DAYS}


LEVELS: dict[str, tuple[list[str], list[str]]] = {
    "blanks": (["F", " F", "F ", "M"] * 9, ["F", "F", "F", "M"] * 9),
    "case": (["Female", "FEMALE", "female", "Male", "male"] * 9, ["Female"] * 3 + ["Male"] * 2),
    "short codes keep their case": (["a", "A", "b"] * 9, ["a", "A", "b"] * 9),
    "one level": (["only"] * 9, ["only"] * 9),
    "signs of other tongues": (
        ["Größe", "größe", "日本", "a,b", 'say "hi"'] * 9,
        ["Größe", "Größe", "日本", "a,b", 'say "hi"'] * 9,
    ),
}


@pytest.mark.parametrize("name", LEVELS)
def test_levels_are_read_as_they_were_meant(name: str, tmp_path: Path) -> None:
    texts, meant = LEVELS[name]
    texts = [*texts, *texts[:1] * 3]  # one spelling is the most common
    (tmp_path / "t.csv").write_text(as_csv(texts), encoding="utf-8")
    _, values = read(tmp_path / "t.csv")
    folded = [meant[k % len(meant)] for k in range(len(texts) - 3)]
    spelled = values["value"][: len(folded)]
    assert len(set(spelled)) == len(set(meant))
    assert [text.lower() for text in spelled] == [text.lower() for text in folded]
    assert values["value"][0] == meant[0]


SIMPLE = "näme,größe\nZoë,1\nJürgen,2\nAna,2\n"


def encoded(text: str, encoding: str) -> bytes:
    return text.encode(encoding)


FILES: dict[str, tuple[bytes, dict[str, list[Any]], dict[str, Any]]] = {
    "UTF-8": (encoded(SIMPLE, "utf-8"), {"näme": ["Zoë", "Jürgen", "Ana"]}, {}),
    "UTF-8 with a mark": (encoded(SIMPLE, "utf-8-sig"), {"näme": ["Zoë", "Jürgen", "Ana"]}, {}),
    "cp1252": (encoded(SIMPLE, "cp1252"), {"näme": ["Zoë", "Jürgen", "Ana"]}, {"encoding": "cp1252"}),
    "latin-1 controls": (
        SIMPLE.encode("latin-1") + b"\x81x,2\n",
        {"größe": ["1", "2", "2", "2"]},
        {"encoding": "latin-1"},
    ),
    "UTF-16": (encoded(SIMPLE, "utf-16"), {"näme": ["Zoë", "Jürgen", "Ana"]}, {"encoding": "utf-16"}),
    "UTF-16 without a mark": (
        encoded(SIMPLE, "utf-16-le"),
        {"näme": ["Zoë", "Jürgen", "Ana"]},
        {"encoding": "utf-16-le"},
    ),
    "Cyrillic": (
        encoded("город,n\nМосква,1\nКазань,2\nМосква,2\n", "cp1251"),
        {"город": ["Москва", "Казань", "Москва"]},
        {"encoding": "cp1251"},
    ),
    "semicolons": (b"a;b\n1,5;x\n2,5;y\n", {"a": ["1,5", "2,5"]}, {}),
    "bars": (b"a|b\n1|x\n2|y\n", {"a": ["1", "2"]}, {}),
    "spaces": (b"a b\n1 x\n2 y\n3 z\n", {"a": ["1", "2", "3"], "b": ["x", "y", "z"]}, {"delimiter": " "}),
    "old line ends": (b"a,b\r1,x\r2,y\r", {"b": ["x", "y"]}, {}),
    "a preamble": (b"Hospital report\nprinted 1 May\n\na,b\n1,x\n2,y\n3,z\n", {"a": ["1", "2", "3"]}, {"skip": 3}),
    "a padded preamble": (b"Report,,\n,,\na,b,c\n1,x,u\n2,y,v\n", {"a": ["1", "2"], "c": ["u", "v"]}, {"skip": 2}),
    "two header rows": (
        b"id,blood,\n,high,low\n1,120,80\n2,130,85\n3,120,80\n",
        {"blood high": ["120", "130", "120"], "blood low": ["80", "85", "80"]},
        {"header_row": 2},
    ),
    "a row of units": (
        b"height,weight,sex\ncm,kg,-\n170,60,F\n180,70,M\n170,60,F\n",
        {"height": ["170", "180", "170"]},
        {"header_row": 2, "names": ("height", "weight", "sex")},
    ),
    "no header": (
        b"170,F,60\n180,M,70\n170,F,60\n180,M,70\n",
        {"column 1": ["170", "180", "170", "180"]},
        {"header_row": 0},
    ),
    "names of rows without a name": (
        b"a,b\nr1,1,x\nr2,2,y\nr3,1,x\n",
        {"a": ["1", "2", "1"], "column 1": ["r1", "r2", "r3"]},
        {"names": ("column 1", "a", "b")},
    ),
    "blank names": (b",b,\n1,x,u\n2,y,v\n", {"column 1": ["1", "2"], "column 3": ["u", "v"]}, {}),
    "years for names": (b"place,2019,2020\nA,1,2\nB,3,4\nA,1,2\n", {"2019": ["1", "3", "1"]}, {}),
    "numbers for names": (b"place,1,2,3\nA,7,2,5\nB,3,4,6\nA,1,2,5\n", {"2": ["2", "4", "2"]}, {}),
    "a code in the first record": (b"sex,stay\nF,?\nM,3\nF,4\nM,3\n", {"sex": ["F", "M", "F", "M"]}, {}),
    "names with commas": (b"a;b,c\n1;x\n2;y\n", {"b,c": ["x", "y"]}, {"delimiter": ";"}),
    "fields with line ends": (b'a,b\n"1\n2",x\n3,y\n', {"a": ["1\n2", "3"]}, {}),
    "a last line without an end": (b"a,b\n1,x\n2,y", {"b": ["x", "y"]}, {}),
    "comment signs": (b"a,b\n#1,x\n2,y\n", {"a": ["#1", "2"]}, {}),
}


@pytest.mark.parametrize("name", FILES)
def test_files_are_read_as_they_were_meant(name: str, tmp_path: Path) -> None:
    content, meant, rules = FILES[name]
    (tmp_path / "t.csv").write_bytes(content)
    draft, values = read(tmp_path / "t.csv")
    assert {column: values[column] for column in meant} == meant
    file = draft.codebook.file
    assert (file is None) == (not rules)
    assert {key: getattr(file, key) for key in rules} == rules
    if rules:
        assert {guess.rule for guess in draft.guesses} & {*rules, "header_row", "names"}
    blank = [guess.column for guess in draft.guesses if guess.rule == "names"]
    assert all(column in [c.name for c in draft.codebook.columns] for column in blank)


def test_a_compressed_file_is_read_by_the_same_rules(tmp_path: Path) -> None:
    (tmp_path / "t.csv.gz").write_bytes(gzip.compress(FILES["cp1252"][0]))
    assert read(tmp_path / "t.csv.gz")[1]["näme"] == ["Zoë", "Jürgen", "Ana"]


BAD: dict[str, tuple[bytes, str]] = {
    "a row too long": (b"a,b\n1,x\n2,y,z\n3,w\n", "Line: 3.*Mend that line"),
    "a row too short": (b"a,b,c\n1,x,u\n2,y\n", "Line: 3.*Mend that line"),
    "a line of totals": (b"a,b\n1,x\n2,y\nTotal 2\n", "Line: 4.*Mend that line"),
    "a quote that never closes": (b'a,b\n1,"x\n2,y\n3,z\n', "Line: 2.*quotes"),
    "the same name twice": (b"a,b,A\n1,x,2\n2,y,3\n", "two columns called 'A', 'a'.*rename"),
    "only a header": (b"a,b\n", "a header but no rows"),
    "nothing": (b"", "is empty"),
    "blank lines": (b"\n\n\n", "empty first line"),
    "NUL bytes in all": (b"a\n\x00x\n\x00y\n", "NUL bytes.*mend the file"),
    "half of a UTF-16 sign": ("a,b\n1,ü\n".encode("utf-16") + b"\x00", "utf-16.*save it as UTF-8"),
    "cut short": (gzip.compress(b"a,b\n1,x\n" * 500)[:40], "copy it again|cut short"),
}


@pytest.mark.parametrize("name", BAD)
def test_what_cannot_be_read_is_refused_with_a_remedy(name: str, tmp_path: Path) -> None:
    content, sentence = BAD[name]
    path = tmp_path / ("t.csv.gz" if name == "cut short" else "t.csv")
    path.write_bytes(content)
    with pytest.raises(DataError, match=sentence):
        draft_in_full(path)


LEFT_OUT: dict[str, tuple[list[str], str]] = {
    "days and months mixed": (
        [
            f"{d:%m/%d/%Y}" if k % 2 else f"{d:%d/%m/%Y}"
            for k in range(300)
            for d in [dt.date(2000, 1, 1) + dt.timedelta(17 * k)]
        ],
        "written in two orders",
    ),
    "points and commas mixed": ([f"{k}.5" if k % 2 else f"{k},5" for k in range(300)], "'.*points from commas"),
    "dates with other texts": (
        [f"{dt.date(2000, 1, 1) + dt.timedelta(k)}" if k % 7 else f"soon {k}" for k in range(400)],
        "most are dates, but some are not",
    ),
    "numbers with other texts": (
        [f"{k}.5" if k % 7 else f"about {k}" for k in range(400)],
        "most are numbers, but some are not",
    ),
    "identifiers": ([f"patient {k}" for k in range(400)], "as identifiers do"),
    "nothing at all": ([""] * 400, "no value at all"),
}


@pytest.mark.parametrize("name", LEFT_OUT)
def test_a_column_that_cannot_be_kept_has_a_line_with_the_right_reason(name: str, tmp_path: Path) -> None:
    texts, reason = LEFT_OUT[name]
    (tmp_path / "t.csv").write_text(as_csv(texts), encoding="utf-8")
    draft = draft_in_full(tmp_path / "t.csv")
    assert set(draft.reasons) == {"value"}
    with pytest.raises(ValueError, match=reason):
        raise ValueError(draft.reasons["value"])
    assert draft.codebook.column("value").kind == "text"


def test_money_is_no_identifier(tmp_path: Path) -> None:
    amounts = [round(math.exp(5 + k / 40), 2) for k in range(400)]
    (tmp_path / "t.csv").write_text(as_csv([f"{amount:,.2f}" for amount in amounts]))
    draft, values = read(tmp_path / "t.csv")
    assert not draft.reasons
    assert values["value"] == pytest.approx(amounts)


def test_the_screen_and_its_data_show_how_a_file_was_read(run: Any, here: Path) -> None:
    (here / "m.csv").write_bytes(("größe,preis\n" + "".join(f'{k % 3},"{k},5 €"\n' for k in MANY)).encode("cp1252"))
    ran = run("codebook", "draft", "m.csv", "-o", "book.toml", "--json")
    assert ran.code == 0
    guesses = {(guess["column"], guess["rule"]): guess for guess in json.loads(ran.out)["guesses"]}
    assert "cp1252" in guesses[None, "encoding"]["sentence"]
    assert ["10,5 €", "10.5"] in guesses["preis", "reading"]["examples"] or guesses["preis", "reading"]["examples"]
    ran = run("codebook", "draft", "m.csv", "-o", "again.toml")
    assert "the text is read as cp1252" in ran.out
    assert "a comma is the decimal mark" in " ".join(ran.out.split())
    assert run("codebook", "check", "m.csv", "-c", "book.toml").code == 0


def test_rules_of_the_file_are_attested_like_levels(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_bytes(FILES["cp1252"][0])
    book = draft_in_full(tmp_path / "t.csv").codebook
    assert book.unattested == ("näme", "größe", "[file]")
    assert "[file]" in book.why_not_public
    text = declare_text(book.to_toml(), columns=["näme", "größe"], by="A", source="B", on=dt.date(2024, 5, 1))
    assert Codebook.from_toml(text).unattested == ("[file]",)
    text = declare_text(text, columns=None, by="A", source="B", on=dt.date(2024, 5, 1))
    attested = Codebook.from_toml(text)
    assert attested.is_public
    assert not Codebook.from_toml(text.replace('encoding = "cp1252"', 'encoding = "latin-1"')).is_public
    assert attested.plain.is_public
    assert attested.plain.file is None


def test_a_rule_added_after_the_attestation_ends_it(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text(as_csv(NUMBERS["minus eight"][0]))
    book = draft_in_full(tmp_path / "t.csv").codebook
    text = declare_text(book.to_toml(), columns=None, by="A", source="B", on=dt.date(2024, 5, 1))
    attested = Codebook.from_toml(text)
    assert attested.is_public
    assert attested.plain.is_public
    changed = Codebook.from_toml(text.replace('missing = ["-8"]', 'missing = ["-8", "-7"]'))
    assert changed.unattested == ("value",)
    assert changed.plain.unattested == ("value",)


def test_a_release_is_written_and_read_plainly(tmp_path: Path) -> None:
    import understudy as us

    texts = ["N" if k % 4 == 0 else f"{k * 7},5" for k in MANY]
    (tmp_path / "t.csv").write_bytes(as_csv(texts).replace("plain", "pläin").encode("cp1252"))
    book = draft_in_full(tmp_path / "t.csv").codebook
    release = us.synthesize(tmp_path / "t.csv", book, 50, epsilon=5.0, delta=1e-6, out=tmp_path / "r", csv=True)
    assert release.codebook.file is not None  # nobody attested it, and that is all that is left of it
    assert release.codebook.file.encoding == ""
    assert all(column.reading.is_plain for column in release.codebook.columns)
    drawn = release.table.column("value")
    assert pc.all(pc.or_(pc.equal(drawn, "N"), pc.match_substring_regex(drawn, r"^[0-9]+([.][0-9])?$"))).as_py()
    for address in (tmp_path / "r" / "synthetic.csv", tmp_path / "r" / "synthetic.parquet"):
        if address.exists():
            counted = open_source(address, book).count([["value"]])[0].open().to_grid()
            assert counted.sum() == 50
            assert check_table(address, book) == []
