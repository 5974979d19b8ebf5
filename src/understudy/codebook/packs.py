"""Public classifications as packs: codes with their parents, from a file of facts with source and licence.

A pack is one CSV file: ``code``, then its parents from the nearest to the coarsest, then ``label`` and ``also`` (other
spellings, between bars) where there are any. Lines that begin with ``#`` say ``title``, ``source``, ``licence`` and
``reading``. A code may be a range of numbers (``001..009``, ``01001..01133/2``). A line without parents whose code is a
parent elsewhere gives that parent its label.
"""

import csv
import difflib
import hashlib
import io
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from importlib.resources import files
from pathlib import Path

from understudy.errors import CodebookError
from understudy.loading import loader

SHIPPED = ("icd9", "icd10", "ms_drg", "iso_countries", "us_states", "us_counties", "naics", "sic")
MOST_CODES = 100_000
_RANGE = re.compile(r"([A-Z]*)([0-9]+)\.\.\1([0-9]+)(?:/([0-9]+))?")
_NAME = re.compile(r"[a-z][a-z0-9_]*")
_SPACES = " \t\n\r\v\f"
_SAID = ("title", "source", "licence", "reading")
_READING = re.compile(r"upper|dot|zeros=[0-9]{1,2}|[A-Z]=[0-9]{1,2}|width=[0-9]{1,2}")


@dataclass(frozen=True, kw_only=True)
class CodeReading:
    """How a code of a file is found in the list: ``25083``, ``250.83`` and ``250`` are all 250."""

    upper: bool = False
    """Small letters count as capital ones."""
    dot: bool = False
    """What follows a dot is a finer code than the list has."""
    zeros: int | None = None
    """Numbers that lost their leading zeros get them back, to so many digits: 38 is 038."""
    width: int | None = None
    """Characters of a code; what follows is a finer code than the list has."""
    widths: tuple[tuple[str, int], ...] = ()
    """The same for codes that begin with a letter of their own."""

    @classmethod
    def of(cls, words: str) -> "CodeReading":
        """From the line of a pack: ``upper, dot, zeros=3, width=3, E=4``."""
        given = [word.strip() for word in words.split(",") if word.strip()]
        if strange := [word for word in given if not _READING.fullmatch(word)]:
            raise ValueError(
                f"its reading has {strange[0]!r}; it knows upper, dot, zeros=3, width=3 and E=4 (the width of codes "
                "that begin with E)"
            )
        sizes = {name: int(size) for name, _, size in (word.partition("=") for word in given if "=" in word)}
        return cls(
            upper="upper" in given,
            dot="dot" in given,
            zeros=sizes.pop("zeros", None),
            width=sizes.pop("width", None),
            widths=tuple(sizes.items()),
        )

    def folded(self, text: str) -> str:
        """As it stands, without blanks around it, in capital letters if that is how the list has them."""
        text = text.strip(_SPACES)
        return text.upper() if self.upper else text

    def cut(self, text: str) -> str:
        """A folded code without what is finer than the list.

        >>> reading = CodeReading.of("upper, dot, zeros=3, width=3, E=4")
        >>> [reading.cut(text) for text in ("250.83", "25083", "38", "8.5", "V5789", "E9090")]
        ['250', '250', '038', '008', 'V57', 'E909']
        """
        if self.dot:
            text = text.partition(".")[0]
        if self.zeros is not None and re.fullmatch("[0-9]+", text):
            text = text.rjust(self.zeros, "0")
        return text[: dict(self.widths).get(text[:1], self.width)]


@dataclass(frozen=True, kw_only=True)
class Pack:
    """Codes of a classification, each with its parents from the nearest to the coarsest."""

    name: str
    text: str
    """The CSV file as it is, so that a codebook that carries its own pack says all of it."""
    is_shipped: bool = False

    def __post_init__(self) -> None:
        if not _NAME.fullmatch(self.name):
            raise CodebookError(
                f"a pack is called {self.name!r}; its name is written as a kind of column, so use small letters, "
                "digits and _, beginning with a letter."
            )
        faults = list(self._faults())
        if faults:
            more = f" (and {len(faults) - 5:,} more)" if len(faults) > 5 else ""
            raise CodebookError(f"the pack {self.name!r} cannot be used{more}:", faults[:5])

    @cached_property
    def said(self) -> Mapping[str, str]:
        """Title, source, licence and reading, as far as the file says them."""
        lines = (line[1:].partition(":") for line in self.text.splitlines() if line.startswith("#"))
        return {key.strip().lower(): value.strip() for key, colon, value in lines if colon}

    @property
    def source(self) -> str:
        """Where the list comes from."""
        return self.said.get("source", "")

    @property
    def title(self) -> str:
        """What the list is."""
        return self.said.get("title", self.name)

    @cached_property
    def reading(self) -> CodeReading:
        """How codes of files are found in it."""
        return CodeReading.of(self.said.get("reading", ""))

    @cached_property
    def _lines(self) -> list[list[str]]:
        plain = [line for line in self.text.splitlines() if line.strip() and not line.startswith("#")]
        return [[cell.strip() for cell in row] for row in csv.reader(io.StringIO("\n".join(plain)))]

    @cached_property
    def levels(self) -> tuple[str, ...]:
        """Names of the levels of parents, from the coarsest to the nearest: chapter, block."""
        header = self._lines[0] if self._lines else []
        return tuple(name for name in reversed(header[1:]) if name not in ("label", "also"))

    @cached_property
    def _rows(self) -> list[tuple[str, tuple[str, ...], str, str]]:
        """Code (perhaps a range), parents from the coarsest on, label, other spellings; of every line."""
        header = self._lines[0]
        place = {name: number for number, name in enumerate(header)}
        cells = [[*row, *[""] * (len(header) - len(row))] for row in self._lines[1:]]
        return [
            (
                row[0],
                tuple(row[place[level]] for level in self.levels),
                row[place["label"]] if "label" in place else "",
                row[place["also"]] if "also" in place else "",
            )
            for row in cells
        ]

    def _faults(self) -> Iterator[str]:
        try:
            _ = self.reading
        except ValueError as reason:
            yield f"{reason}."
            return
        header = self._lines[0] if self._lines else []
        if not header or header[0] != "code" or not self.levels:
            yield (
                "its first line must name the columns: code, then its parents from the nearest to the coarsest, then "
                "label; for example code,block,chapter,label."
            )
            return
        if len(set(header)) != len(header) or "" in header:
            yield f"its first line is {','.join(header)}; give every column a name of its own."
            return
        if odd := [row for row in self._lines[1:] if len(row) > len(header)]:
            cells = f"{len(odd[0])} cells and the header {len(header)}"
            yield f"the line of {odd[0][0]!r} has {cells}; put quotes around a comma."
            return
        yield from self._code_faults()

    def _code_faults(self) -> Iterator[str]:
        above = {parent for _, parents, _, _ in self._rows for parent in parents if parent}
        chain: dict[tuple[int, str], tuple[str, ...]] = {}
        for code, parents, _, _ in self._rows:
            named = [parent for parent in parents if parent]
            if not code:
                yield "a line has no code; every line begins with one."
            elif not named and code not in above:
                yield f"the code {code!r} has no parent; name one, so that a rare code can fall back to it."
            elif 0 < len(named) < len(parents):
                yield f"the code {code!r} has {len(named)} of {len(parents)} parents; name all of them."
            for number, parent in enumerate(parents if named else ()):
                known = chain.setdefault((number, parent), parents[:number])
                if known != parents[:number]:
                    which = f"two parents, {known[-1]!r} and {parents[number - 1]!r}"
                    yield f"{self.levels[number]} {parent!r} has {which}; each belongs to one. Keep one."
        yield from self._list_faults(above)

    def _list_faults(self, above: set[str]) -> Iterator[str]:
        seen: dict[str, tuple[str, ...]] = {}
        for code, parents in self._listed():
            if code in seen:
                first, second = seen[code][-1], parents[-1]
                which = f"two parents, {first!r} and {second!r}" if first != second else f"the parent {first!r} twice"
                yield f"it gives the code {code!r} {which}; each code belongs to one. Keep one."
            seen[code] = parents
        if not seen:
            yield "it has no codes; write a line for each: the code, then its parents."
        if len(seen) > MOST_CODES:
            yield f"it has {len(seen):,} codes, more than {MOST_CODES:,}; list coarser ones."
        if clash := sorted(above & set(seen)):
            yield f"{clash[0]!r} is a code and a parent; call the parent something else, such as '{clash[0]}-'."
        if self.is_shipped and (lacking := [key for key in _SAID[:3] if not self.said.get(key)]):
            yield f"it says no {', '.join(lacking)}."

    def _listed(self) -> Iterator[tuple[str, tuple[str, ...]]]:
        for code, parents, _, _ in self._rows:
            if any(parents):
                yield from ((one, parents) for one in _expanded(code))

    @cached_property
    def codes(self) -> Mapping[str, tuple[str, ...]]:
        """Every code with its parents, the coarsest first, in the order of the coarsest."""
        listed = list(self._listed())
        order = {parents[0]: None for _, parents in listed}
        places = {parent: place for place, parent in enumerate(order)}
        return dict(sorted(listed, key=lambda item: places[item[1][0]]))

    @cached_property
    def nodes(self) -> Mapping[str, tuple[str, ...]]:
        """Every parent with the chain that leads to it and ends in it; a parent named like its own is the same one."""
        chains: dict[str, tuple[str, ...]] = {}
        for parents in self.codes.values():
            for number, parent in enumerate(parents):
                chains.setdefault(parent, parents[: number + 1])
        return chains

    @cached_property
    def labels(self) -> Mapping[str, str]:
        """What codes and parents are called, where the file says so."""
        return {code: label for row in self._rows for code in _expanded(row[0]) if (label := row[2])}

    @cached_property
    def places(self) -> Mapping[str, str]:
        """The code or parent that each known spelling stands for."""
        known = {self.reading.folded(name): name for name in (*self.codes, *self.nodes)}
        for code, _, _, also in self._rows:
            known |= {self.reading.folded(word): code for word in also.split("|") if word.strip()}
        return known

    def find(self, text: str) -> str | None:
        """The code or parent that a text stands for, or None.

        >>> [shipped_pack("icd9").find(text) for text in ("250.83", "38", "390-459", "none")]
        ['250', '038', '390-459', None]
        """
        folded = self.reading.folded(text)
        if folded in self.places:
            return self.places[folded]
        return self.places.get(self.reading.cut(folded))

    @cached_property
    def exact(self) -> tuple[str, ...]:
        """Spellings that are taken as they stand: cutting them would make something else of them."""
        return tuple(text for text in self.places if self.reading.cut(text) != text)

    @property
    def digest(self) -> str:
        """Of the whole list; a codebook says it, so that another edition is noticed."""
        return "sha256:" + hashlib.sha256(self.text.encode()).hexdigest()[:32]

    def __repr__(self) -> str:
        return f"<Pack {self.name!r} of {len(self.codes):,} codes>"


def _expanded(code: str) -> list[str]:
    """The codes of a range, or the one code.

    >>> _expanded("V08..V10"), _expanded("01001..01005/2"), _expanded("heart")
    (['V08', 'V09', 'V10'], ['01001', '01003', '01005'], ['heart'])
    """
    match = _RANGE.fullmatch(code)
    if match is None:
        return [code]
    letter, first, last, step = match[1], match[2], match[3], int(match[4] or 1)
    numbers = range(int(first), int(last) + 1, max(step, 1))
    if len(numbers) > MOST_CODES or len(first) != len(last):
        return [code]
    return [f"{letter}{number:0{len(first)}d}" for number in numbers]


@cache
def shipped_pack(name: str) -> Pack:
    """One of the packs that come with the package."""
    if name not in SHIPPED:
        meant = difflib.get_close_matches(name.lower(), SHIPPED, n=1, cutoff=0.5)
        hint = f"; did you mean {meant[0]!r}?" if meant else "."
        raise CodebookError(
            f"there is no pack {name!r}{hint} Packs are {', '.join(SHIPPED)}; "
            "an own one is a CSV file with the columns code, parents and label."
        )
    text = files("understudy.codebook").joinpath("pack_data", f"{name}.csv").read_text(encoding="utf-8")
    return Pack(name=name, text=text, is_shipped=True)


@loader("the pack", remedy="give a CSV file with the columns code, parents, label.", error=CodebookError)
def pack_of_file(path: str | Path, name: str | None = None) -> Pack:
    """An own pack: one CSV file, called by its file name."""
    place = Path(path)
    try:
        text = place.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as reason:
        fault = getattr(reason, "strerror", None) or "it is not UTF-8 text"
        raise CodebookError(
            f"the pack {str(path)!r} cannot be read ({fault}); give a CSV file with the columns code, parents, label."
        ) from None
    return Pack(name=name or re.sub(r"[^a-z0-9_]+", "_", place.stem.lower()), text=text.replace("\r\n", "\n"))
