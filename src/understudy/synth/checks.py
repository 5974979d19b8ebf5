"""Numbers and words that every recipe checks in the same way."""

from understudy.errors import ParameterError
from understudy.privacy.guarantees import Neighbours

MOST_ROWS = 10**12
"""A hundred gigabytes a column; beyond it a number is a slip of the hand."""


def check_rows(rows: int) -> int:
    """Rows are a public number that the caller states; there is no default."""
    if isinstance(rows, bool) or not isinstance(rows, int) or rows < 1:
        raise ParameterError(f"`rows` is {rows!r}; it must be a whole number of 1 or more. Try 1000.")
    if rows > MOST_ROWS:
        raise ParameterError(f"`rows` is {rows:,}; no machine holds more than {MOST_ROWS:,}. Ask for fewer.")
    return rows


def refuse_commuting(neighbours: Neighbours | None) -> None:
    """A table of records has no public destinations, so the relation of commuting tables says nothing about it."""
    if neighbours is Neighbours.ORIGIN:
        raise ParameterError(
            f"`neighbours` is {Neighbours.ORIGIN.value!r}; that relation belongs to commuting tables "
            "(`understudy commute synth`). Use add-remove or replace-one."
        )


def check_files(files: int) -> int:
    """How many files are drawn at once."""
    if isinstance(files, bool) or not isinstance(files, int) or files < 1:
        raise ParameterError(f"`files` is {files!r}; it must be a whole number of 1 or more. Try 5.")
    return files


def positive(name: str, value: float) -> float:
    """A finite number above zero."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < float("inf"):
        raise ParameterError(f"`{name}` is {value!r}; it must be a finite number above 0. Try 1.0.")
    return float(value)
