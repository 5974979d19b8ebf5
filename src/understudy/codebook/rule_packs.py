"""Packs of public rules, and how they are matched to the columns of a codebook. Reads no data.

A pack is a TOML file of facts with their source: columns that it speaks about by what they mean, values that it means,
and rules between them. Values are found by their words, by codes of ICD-9-CM or ICD-10-CM, or by age. Levels that are
numbers are never guessed at: whoever holds the codebook names them.
"""

import itertools
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from importlib.resources import files
from typing import Any

from understudy.codebook.book import Codebook
from understudy.codebook.columns import Column, Groups
from understudy.codebook.details import Detail
from understudy.codebook.numbers import Number
from understudy.codebook.rules import Impossible, Rule
from understudy.errors import ParameterError

PACKS = ("deaths", "newborns", "pregnancy", "sex_and_diagnoses")
_ICD = re.compile(
    r"([A-Z]?[0-9][0-9A-Z]{1,3})(?:[.][0-9A-Z]*)?(?:\s*(?:-|\u2013|to)\s*([A-Z]?[0-9][0-9A-Z]{1,3}))?(?:\s.*)?"
)
_LARGEST_CODE = 4


@dataclass(frozen=True, kw_only=True)
class RulePack:
    """Public rules about columns of a certain meaning."""

    name: str
    facts: Mapping[str, Any]

    @property
    def title(self) -> str:
        """What it is about."""
        return str(self.facts["title"])

    @property
    def source(self) -> str:
        """Where its rules are known from."""
        return str(self.facts["source"])

    @cached_property
    def columns(self) -> Mapping[str, Mapping[str, Any]]:
        """The columns that it speaks about, by what they mean."""
        columns: Mapping[str, Mapping[str, Any]] = self.facts["columns"]
        return columns


@cache
def rule_pack(name: str) -> RulePack:
    """A pack that comes with the package."""
    if name not in PACKS:
        raise ParameterError(f"there is no rule pack {name!r}; there are {', '.join(PACKS)}.")
    text = files("understudy.codebook").joinpath("rule_pack_data", f"{name}.toml").read_text(encoding="utf-8")
    return RulePack(name=name, facts=tomllib.loads(text))


@dataclass(frozen=True, kw_only=True)
class PackMatch:
    """A pack held against a codebook: which columns it means, which levels, and what it cannot say."""

    pack: RulePack
    columns: Mapping[str, tuple[str, ...]]
    """Columns of the codebook, by what they mean."""
    levels: Mapping[tuple[str, str], tuple[str, ...]]
    """Levels, by column and the value of the pack."""
    rules: tuple[Rule, ...]
    notes: tuple[str, ...]
    """Levels that hold both what a rule means and other things, so that the rule cannot speak about them."""

    @property
    def words(self) -> str:
        """The match, as the options that would ask for it."""
        columns = " ".join(f"--column {meaning}={name}" for meaning, own in self.columns.items() for name in own)
        return f"--pack {self.pack.name} {columns}"


def match_pack(
    book: Codebook,
    name: str,
    columns: Mapping[str, Sequence[str]] | None = None,
    levels: Mapping[str, Sequence[str]] | None = None,
) -> PackMatch:
    """The rules of a pack about the columns of a codebook.

    ``columns`` says which columns are meant (``{"sex": ["gender"]}``), ``levels`` which levels a value of the pack is
    (``{"died": ["11", "19"]}``); what is not said is looked for by name and words.
    """
    pack = rule_pack(name)
    chosen = _columns(book, pack, columns or {})
    known = {value for facts in pack.columns.values() for value in facts["values"]}
    for value in levels or {}:
        if value not in known:
            raise ParameterError(f"the pack {name!r} has no value {value!r}; it has {', '.join(sorted(known))}.")
    notes: list[str] = []
    found: dict[tuple[str, str], tuple[str, ...]] = {}
    for meaning, names in chosen.items():
        for value, facts in pack.columns[meaning]["values"].items():
            for column_name in names:
                column = book.column(column_name)
                given = (levels or {}).get(value)
                found[column_name, value] = (
                    _given_levels(column, value, given) if given else _levels(book, column, value, facts, notes)
                )
    rules = tuple(_rules(pack, chosen, found))
    return PackMatch(pack=pack, columns=chosen, levels=found, rules=rules, notes=tuple(dict.fromkeys(notes)))


def _columns(book: Codebook, pack: RulePack, given: Mapping[str, Sequence[str]]) -> dict[str, tuple[str, ...]]:
    for meaning, names in given.items():
        if meaning not in pack.columns:
            raise ParameterError(
                f"the pack {pack.name!r} does not speak about {meaning!r}; it speaks about {', '.join(pack.columns)}."
            )
        for name in names:
            book.column(name)
    chosen = {}
    for meaning, facts in pack.columns.items():
        own = given.get(meaning) or _named(book, facts)
        if own:
            chosen[meaning] = tuple(dict.fromkeys(_modelled(book, name, meaning, pack) for name in own))
        elif not facts.get("optional"):
            raise ParameterError(
                f"the pack {pack.name!r} needs a column that says {facts['says']}, and none is called "
                f"{' or '.join(facts['names'][:2])}; name it with --column {meaning}=COLUMN."
            )
    return chosen


def _named(book: Codebook, facts: Mapping[str, Any]) -> list[str]:
    """Columns whose name says what the pack means; only the best one unless it may be several."""
    words = [_plain(name) for name in facts["names"]]
    released = [column.name for column in book.released]
    exact = [name for name in released if _plain(name) in words]
    near = [
        name
        for name in released
        if any(word in _plain(name).split() or _plain(name).startswith(word) for word in words)
    ]
    found = exact or near
    return (near or exact) if facts.get("several") else found[:1]


def _plain(name: str) -> str:
    return re.sub("[^a-z0-9]+", " ", name.lower()).strip()


def _modelled(book: Codebook, name: str, meaning: str, pack: RulePack) -> str:
    """A detail is spoken about through its coarse column."""
    column = book.column(name)
    if isinstance(column, Detail):
        return column.detail_of
    if not column.is_modelled:
        coarse = [detail.detail_of for detail in book.details if name.startswith(detail.name)]
        if coarse:
            return coarse[0]
        raise ParameterError(
            f"the pack {pack.name!r} is to take {name!r} as {meaning}, which is left out of releases; choose among "
            f"{', '.join(book.names)}."
        )
    return name


def _given_levels(column: Column, value: str, given: Sequence[str]) -> tuple[str, ...]:
    if strange := [level for level in given if level not in column.code_of_label]:
        raise ParameterError(
            f"`{value}` is to be the level {strange[0]!r} of {column.name!r}, which has {column.shown_labels(6)}."
        )
    return tuple(given)


def _levels(book: Codebook, column: Column, value: str, facts: Mapping[str, Any], notes: list[str]) -> tuple[str, ...]:
    words = {_plain(word) for word in facts.get("words", ())}
    ranges = _ranges(book, column, facts)
    members = {
        group: codes for detail in book.details if detail.detail_of == column.name for group, codes in detail.groups
    }
    found = []
    for code, label in enumerate(column.labels[: column.proper_levels]):
        if _plain(label) in words and not label.strip().isdigit():
            found.append(label)
        elif ranges:
            inside = [_inside(text, ranges) for text in members.get(label, (label,))]
            if inside and all(part == 1.0 for part in inside):
                found.append(label)
            elif any(inside):
                notes.append(
                    f"the level {label!r} of {column.name!r} holds {value} and other things; no rule speaks about it"
                )
        elif "years_above" in facts and _is_above(column, code, int(facts["years_above"])):
            found.append(label)
    return tuple(found)


def _ranges(book: Codebook, column: Column, facts: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Ranges of the classification that the levels look like: ICD-9-CM begins with digits, ICD-10-CM with a letter."""
    members = [
        code for detail in book.details if detail.detail_of == column.name for _, own in detail.groups for code in own
    ]
    texts = members or list(column.labels[: column.proper_levels])
    coded = [text for text in texts if _ICD.fullmatch(text.strip().upper())]
    if len(coded) < max(2, len(texts) / 2):
        return []
    is_ninth = sum(text.strip()[:1].isdigit() for text in coded) > len(coded) / 2
    listed = facts.get("icd9" if is_ninth else "icd10", ())
    pairs = [item.partition("-") for item in listed]
    return [(low, high or low) for low, _, high in pairs]


def _inside(text: str, ranges: Sequence[tuple[str, str]]) -> float:
    """1 where a code or range of codes lies inside, 0 outside, and a half where it lies across an end."""
    match = _ICD.fullmatch(text.strip().upper())
    if match is None:
        return 0.0
    low, high = (_three(end) for end in (match[1], match[2] or match[1]))
    if any(first <= low and high <= last + "~" for first, last in ranges if low[:1].isalpha() == first[:1].isalpha()):
        return 1.0
    return (
        0.5
        if any(low <= last and first <= high for first, last in ranges if low[:1].isalpha() == first[:1].isalpha())
        else 0.0
    )


def _three(code: str) -> str:
    """Numbers that lost their leading zeros get them back."""
    return code.rjust(3, "0") if code.isdigit() else code[:_LARGEST_CODE]


def _is_above(column: Column, code: int, years: int) -> bool:
    """Whether all ages of a level lie above: bins by their edges, groups by the first number in their label."""
    if isinstance(column, Number):
        first, _ = column.grids[code]
        return first * column.step > years
    number = re.search("[0-9]+", column.labels[code])
    return number is not None and int(number[0]) > years


def _rules(
    pack: RulePack, chosen: Mapping[str, Sequence[str]], found: Mapping[tuple[str, str], tuple[str, ...]]
) -> Iterator[Rule]:
    for facts in pack.facts["rules"]:
        cells: Mapping[str, str] = facts["cells"]
        if any(meaning not in chosen for meaning in cells):
            continue
        for choice in itertools.product(*(chosen[meaning] for meaning in cells)):
            named: Groups = tuple(
                (column, found[column, value]) for column, value in zip(choice, cells.values(), strict=True)
            )
            if all(levels for _, levels in named):
                several = any(len(chosen[meaning]) > 1 for meaning in cells)
                name = f"{facts['name']} ({choice[-1] if len(chosen[list(cells)[-1]]) > 1 else choice[0]})"
                yield Impossible(name=name if several else facts["name"], cells=named, source=pack.source)


def proposed_packs(book: Codebook) -> list[PackMatch]:
    """Packs whose columns are found by name and that would say something."""
    matches = []
    for name in PACKS:
        try:
            match = match_pack(book, name)
        except ParameterError:
            continue
        if match.rules:
            matches.append(match)
    return matches
