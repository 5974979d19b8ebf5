"""How a text file is laid out, guessed once over the whole of it, for the draft of its codebook.

What is guessed is said to the person who drafts, with examples, and written into ``[file]`` only where it differs from
the plain convention (:mod:`understudy.sources.csv_files`). Nothing here runs when a file is opened with a codebook.
"""

import codecs
import csv
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice, pairwise
from pathlib import Path
from typing import Any

from understudy.codebook import FileReading, Origin
from understudy.codebook.encode import day_of, number_of
from understudy.errors import DataError
from understudy.sources.csv_files import DELIMITERS, codec_of, named_columns_of, open_bytes, open_text

_LOOKED_AT = 400
"""Lines at the top of a file among which a title, a second header and the delimiter are looked for."""
_DEEPEST = 60
"""Lines that may stand before a table."""
_PIECE = 1 << 20
_NEARLY_ALL = 0.9
_MARKS = ((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF32_LE, "utf-32"), (codecs.BOM_UTF32_BE, "utf-32"),
          (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"))  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Guess:
    """One thing that a draft took for granted, for the screen of whoever holds the data: examples are private."""

    column: str | None
    """None for what holds for the whole file."""
    rule: str
    """The key of the codebook that holds it, or "kind" and "left out"."""
    sentence: str
    examples: tuple[tuple[str, str], ...] = ()
    """Values as they are written, and as they are read."""


def guess_file(path: Path) -> tuple[FileReading | None, list[Guess]]:
    """The rules of a text file where they are not the plain convention, and what was guessed."""
    encoding, guesses = _guess_encoding(path)
    rules: dict[str, Any] = {"encoding": encoding}
    lines = _top(path, FileReading(encoding=encoding))
    delimiter, records = _guess_delimiter(lines)
    skip = _guess_skip(records)
    if len(records) > skip:
        header, rows = records[skip], [row for row in records[skip + 1 :] if any(field.strip() for field in row)]
        if skip:
            before = _line_of(lines, records, skip)
            rules |= {"skip": before, "header_row": 1}
            shown = tuple((",".join(record)[:60], "not read") for record in records[:skip][:3])
            sentence = f"the table begins on line {before + 1}; what stands before it is not read."
            guesses.append(Guess(column=None, rule="skip", sentence=sentence, examples=shown))
        if skip or max((_fields(lines[0], mark) for mark in DELIMITERS), key=len) != header:
            rules["delimiter"] = delimiter
            sentence = f"fields are parted by {_MARK_NAMES[delimiter]}."
            guesses.append(Guess(column=None, rule="delimiter", sentence=sentence))
        more, said = _guess_names(header, rows)
        rules |= more
        guesses += said
    reading = FileReading(**rules, origin=Origin.DRAFTED)
    return None if reading.says_nothing else reading, guesses


_MARK_NAMES = {"\t": "a tab", ";": "a semicolon", ",": "a comma", "|": "a bar", " ": "a space"}


def _guess_encoding(path: Path) -> tuple[str, list[Guess]]:
    """Its name, empty for UTF-8: by a mark, by the zeros of UTF-16, or UTF-8 where all of the file is."""
    with open_bytes(path) as source:
        head = source.read(4000)
    for mark, name in _MARKS:
        if head.startswith(mark):
            return ("", []) if name == "utf-8" else (name, [_encoding_guess(name, "the file says so itself")])
    if (zeros := head.count(0)) > len(head) // 4:
        name = "utf-16-le" if head[1::2].count(0) * 2 > zeros else "utf-16-be"
        return name, [_encoding_guess(name, "every other byte is zero")]
    if _is_utf8(path):
        return "", []
    name, why = _guess_code_page(path)
    shown: dict[str, None] = {}
    with open_text(path, FileReading(encoding=name)) as lines:
        for line in lines:
            shown |= dict.fromkeys(re.findall(r"[^\s,;|\t\"]*[^\x00-\x7f][^\s,;|\t\"]*", line))
            if len(shown) >= 5:
                break
    examples = tuple((word.encode(name).hex(" "), word) for word in list(shown)[:5])
    return name, [_encoding_guess(name, f"{why}; check that these words are right", examples)]


def _is_utf8(path: Path) -> bool:
    decoder = codecs.getincrementaldecoder("utf-8")()
    try:
        with open_bytes(path) as source:
            while piece := source.read(_PIECE):
                decoder.decode(piece)
        decoder.decode(b"", final=True)
    except UnicodeDecodeError:
        return False
    return True


def _guess_code_page(path: Path) -> tuple[str, str]:
    """Of Western Europe, unless long runs of letters beyond ASCII are more than its languages have."""
    beyond: set[bytes] = set()
    longest = 0
    with open_bytes(path) as source:
        while piece := source.read(_PIECE):
            beyond.update(re.findall(rb"[\x80-\xff]", piece))
            longest = max([longest, *map(len, re.findall(rb"[\xc0-\xff]{4,}", piece))])
    if beyond & {b"\x81", b"\x8d", b"\x8f", b"\x90", b"\x9d"}:  # which cp1252 does not have
        return "latin-1", "it is not UTF-8"
    if longest >= 5:
        return "cp1251", "it is not UTF-8, and long runs of its letters look Cyrillic"
    return "cp1252", "it is not UTF-8"


def _encoding_guess(name: str, why: str, examples: tuple[tuple[str, str], ...] = ()) -> Guess:
    return Guess(column=None, rule="encoding", sentence=f"the text is read as {name}: {why}.", examples=examples)


def _top(path: Path, reading: FileReading) -> list[str]:
    try:
        with open_text(path, reading) as lines:
            return list(islice(lines, _LOOKED_AT))
    except UnicodeError:
        raise DataError(
            f"{str(path)!r} looks like {codec_of(reading)} text and is not all of it; save it as UTF-8."
        ) from None


def _fields(line: str, delimiter: str) -> list[str]:
    return next(csv.reader([line], delimiter=delimiter), [])


def _guess_delimiter(lines: Sequence[str]) -> tuple[str, list[list[str]]]:
    """The mark that parts most rows into the same number of fields, and more than one; and the rows, parted by it."""
    best: tuple[tuple[float, int], str, list[list[str]]] | None = None
    for mark in (*DELIMITERS, " "):
        try:
            records = list(csv.reader(lines, delimiter=mark))
        except csv.Error:
            continue
        widths = Counter(len(record) for record in records if record)
        if not widths:
            continue
        width, count = widths.most_common(1)[0]
        share = count / sum(widths.values()) if width > 1 else 0.0
        if mark == " " and (share < 0.95 or (best is not None and best[0][0] > 0)):
            continue  # spaces stand inside values too: only where nothing else parts the fields
        rank = (share if share >= 0.5 else 0.0, width)
        if best is None or rank > best[0]:
            best = (rank, mark, records)
    return (",", []) if best is None else (best[1], best[2])


def _guess_skip(records: Sequence[list[str]]) -> int:
    """How many rows stand before the one that holds the names: those that are narrower than nearly all others."""
    widths = Counter(len(record) for record in records[1:] if record)
    if not widths:
        return 0
    width = widths.most_common(1)[0][0]
    if width < 2 or len(records[0]) == width:
        filled = [sum(bool(field.strip()) for field in record) for record in records[:_DEEPEST]]
        # a spreadsheet pads its title with empty fields
        if width < 3 or filled[0] > 1 or not records[0][0].strip():
            return 0
        place = next((place for place, many in enumerate(filled) if many > width // 2), 0)
        return 0 if any(map(_is_value, records[place])) else place
    for place, record in enumerate(records[:_DEEPEST]):
        if len(record) >= width - 1 and sum(bool(field.strip()) for field in record) > width // 2:
            return place
    return 0


def _line_of(lines: Sequence[str], records: Sequence[list[str]], skip: int) -> int:
    """How many lines the skipped rows take; a quoted field may hold several."""
    return skip if len(lines) == len(records) else min(skip + sum(map(_breaks, records[:skip])), len(lines) - 1)


def _breaks(record: Sequence[str]) -> int:
    return sum(field.count("\n") for field in record)


def _is_value(field: str) -> bool:
    """Whether a field is a number or a date, which a name rarely is."""
    return number_of(field.replace(",", "").strip("$€£% ")) is not None or day_of(field) is not None


def _guess_names(header: Sequence[str], rows: Sequence[list[str]]) -> tuple[dict[str, Any], list[Guess]]:
    """Names for blank columns, for a header one field short, for two rows of names, and for none."""
    width = Counter(map(len, rows)).most_common(1)[0][0] if rows else len(header)
    if len(header) == width - 1 and width > 1:  # as R writes row names
        names = named_columns_of(["", *header])
        sentence = (
            f"rows have {width} fields and the header {len(header)}: the first is taken for the names of the rows and "
            f"is called {names[0]!r}."
        )
        return {"header_row": 1, "names": names}, [Guess(column=names[0], rule="names", sentence=sentence)]
    blank = [name for name, given in zip(named_columns_of(header), header, strict=True) if not given.strip()]
    said = [
        Guess(column=name, rule="names", sentence=f"the header has no name for column {name!r}; it got this one.")
        for name in blank
    ]
    below = [row for row in rows[1:] if len(row) == len(header)]
    amounts = [place for place in range(len(header)) if below and _share(below, place) >= _NEARLY_ALL]
    if len(below) < 2 or len(rows[0]) != len(header) or not amounts:
        return {}, said
    second = rows[0]
    words = [place for place in amounts if second[place].strip()]
    recurs = any(field.strip() and field in {row[place] for row in below} for place, field in enumerate(second))
    # one odd field may be a code such as N in the first record, and a record has values that come again
    if len(words) > 1 and not recurs and not any(_is_value(row[place]) for row in (header, second) for place in words):
        names = _joined_names(header, second)
        sentence = "the second row holds words where numbers follow, so it is taken for a part of the header."
        examples = tuple(zip(second[:4], names[:4], strict=True))
        return {"header_row": 2, "names": names}, [
            Guess(column=None, rule="header_row", sentence=sentence, examples=examples)
        ]
    if all(_is_value(header[place]) for place in amounts) and not _are_names([header[place] for place in amounts]):
        names = named_columns_of([""] * len(header))
        sentence = "the first row holds numbers where numbers follow, so the file is taken to have no header."
        examples = tuple(zip(header[:4], names[:4], strict=True))
        return {"header_row": 0, "names": names}, [
            Guess(column=None, rule="header_row", sentence=sentence, examples=examples)
        ]
    return {}, said


def _are_names(fields: Sequence[str]) -> bool:
    """Whether numbers are names of columns: years, or one after the other."""
    numbers = [number_of(field) for field in fields]
    if len(fields) > 1 and all(a is not None and b == a + 1 for a, b in pairwise(numbers)):
        return True
    return all(re.fullmatch("(19|20)[0-9]{2}", field.strip()) for field in fields)


def _share(rows: Sequence[Sequence[str]], place: int) -> float:
    """Share of the fields of a column that are values, blanks aside."""
    fields = [row[place] for row in rows if row[place].strip()]
    return sum(map(_is_value, fields)) / len(fields) if fields else 0.0


def _joined_names(first: Sequence[str], second: Sequence[str]) -> tuple[str, ...]:
    """The names of the first row where they are names, else a group and what stands below it.

    >>> _joined_names(["id", "blood", ""], ["", "high", "low"])
    ('id', 'blood high', 'blood low')
    >>> _joined_names(["height", "weight"], ["cm", "kg"])
    ('height', 'weight')
    """
    given = [name.strip() for name in first]
    if all(given) and len({name.lower() for name in given}) == len(given):
        return tuple(given)
    names, group = [], ""
    for name, below in zip(given, second, strict=True):
        group = name or group
        names.append(f"{group} {below.strip()}".strip() if below.strip() else group)
    return named_columns_of(names)
