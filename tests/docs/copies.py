"""Figures of the documentation that are copies of a record in benchmarks/RESULTS.md, and how the two are compared.

A pattern is a piece of a line: ``#`` stands for a number, ``~`` for one cell of a table, ``...`` for any text of the
line, blanks for any blanks. The patterns of one copy are looked for one behind the other.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path

ROOT = Path(__file__).parents[2]
MEANT = {"#": r"([-+]?(?:\d[\d,]*)?\.?\d+)", "~": r"[^|\n]*", "...": r"[^\n]*?"}


@dataclass(frozen=True)
class Copy:
    """Numbers of a page, and the same numbers, in the same order, of one section of the record."""

    page: str
    says: Sequence[str]
    section: str
    record: Sequence[str]
    times: Decimal = Decimal(1)
    """What the record is multiplied by: 100 where the page has percent, 1/1000 for seconds from milliseconds."""


def numbers(text: str, patterns: Sequence[str], place: str) -> list[str]:
    """Every number for which a ``#`` stands."""
    found: list[str] = []
    at = 0
    for pattern in patterns:
        parts = re.split(r"(\.\.\.|[#~]|\s+)", pattern)
        expression = "".join(r"\s+" if part.isspace() else MEANT.get(part) or re.escape(part) for part in parts)
        match = re.compile(expression).search(text, at)
        assert match, f"{place} does not say {pattern!r}"
        found += match.groups()
        at = match.end()
    return found


def agree(shown: str, recorded: str, times: Decimal = Decimal(1)) -> bool:
    """Whether a number is the recorded one, rounded to the digits that are shown."""
    value = Decimal(shown.replace(",", ""))
    half = Decimal(5).scaleb(int(value.as_tuple().exponent) - 1)
    return abs(value - times * Decimal(recorded.replace(",", ""))) <= half


def section(name: str) -> str:
    """One section of the record."""
    results = (ROOT / "benchmarks" / "RESULTS.md").read_text(encoding="utf-8")
    return dict(part.split("\n", 1) for part in re.split(r"(?m)^## ", results)[1:])[name]
