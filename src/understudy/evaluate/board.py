"""What a board allows, set before a release is looked at: the limits that verdicts are held against.

Every limit has a default that anybody may read, with the public convention it comes from; a file `board.toml` replaces
some or all of them. A limit that has no public norm says so.
"""

import datetime as dt
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from understudy.errors import ParameterError
from understudy.loading import loader
from understudy.parameters import Declared, Number, Text, option, options_of

_LIMIT = Number(above=0, most=1, tried=0.05)


def _day(value: Any) -> dt.date:
    """A day as TOML has it, with or without a time of day, or as text; days of releases are those of Greenwich."""
    if isinstance(value, dt.datetime):
        return (value if value.tzinfo is None else value.astimezone(dt.UTC)).date()
    return value if isinstance(value, dt.date) else dt.date.fromisoformat(value)


def _is_day(value: Any) -> bool:
    try:
        _day(value)
    except (TypeError, ValueError, OverflowError):
        return False
    return True


@dataclass(frozen=True, kw_only=True)
class Board(Declared):
    """The limits of a board. Shares and gains are fractions: 0.03 is 3 percentage points."""

    most_epsilon: float = option(
        10.0, rule=Number(above=0, tried=1.0), help="The largest epsilon that a release may promise."
    )
    share_error: float = option(
        0.03, rule=_LIMIT, help="How far a share of a level, or of two levels together, may be off."
    )
    usable_pairs: float = option(
        0.9,
        rule=_LIMIT,
        help="On a risk-utility map: the part of all pairs of columns whose shares must be no further off than that.",
    )
    association_error: float = option(
        0.1, rule=_LIMIT, help="How far the association of two columns (Cramer's V, 0 to 1) may be off."
    )
    effect_error: float = option(
        0.1,
        rule=Number(above=0, tried=0.1),
        help="How far a coefficient may be off, as a part of the confidential one; chance is allowed too.",
    )
    prediction_loss: float = option(
        0.05,
        rule=_LIMIT,
        help="How much worse a classifier trained on synthetic rows may rank real people (area under the curve).",
    )
    impossible_rows: float = option(
        0.01, rule=_LIMIT, help="Share of synthetic rows that may have one combination that no real record has."
    )
    attack_gain: float = option(
        0.09, rule=_LIMIT, help="What an attack may gain about people in the data over people held out."
    )
    decided_by: str | None = option(None, rule=Text(words="a name", example="Data access board"), help="Who set them.")
    decided_on: Any = option(
        None, rule=Text(words="a date", example="2026-11-16", admitted=_is_day), help="When, before the release."
    )

    @property
    def day(self) -> str | None:
        """When the limits were set, as YYYY-MM-DD however it was written, so that days can be compared as texts."""
        return None if self.decided_on is None else _day(self.decided_on).isoformat()

    def lines(self) -> list[tuple[str, str, float, str]]:
        """Each limit: its name, what it limits, its value, and where the value comes from."""
        own = Board()
        return [
            (name, declared.help, value, SOURCES[name] if value == getattr(own, name) else "set by the board")
            for name, declared in options_of(Board).items()
            if name in SOURCES and (value := getattr(self, name)) is not None
        ]

    def to_dict(self) -> dict[str, Any]:
        """As plain data, with sources."""
        limits = {
            name: {"value": value, "limits": what, "source": source} for name, what, value, source in self.lines()
        }
        return {"decided_by": self.decided_by, "decided_on": self.day, "limits": limits}


SOURCES = {
    "most_epsilon": "Ponomareva et al. 2023, How to DP-fy ML: up to 10 reasonable, up to 1 strong",
    "share_error": "the margin of error of a poll of about 1,000 people (95 %)",
    "usable_pairs": "no public norm; our choice",
    "association_error": "Cohen 1988: below 0.1 an effect is not even small",
    "effect_error": "the 10 % change-in-estimate rule of epidemiology (Maldonado and Greenland 1993)",
    "prediction_loss": "no public norm; our choice",
    "impossible_rows": "no public norm; our choice",
    "attack_gain": "the largest risk of re-identification that EMA (Policy 0070) and Health Canada accept: 0.09",
}


@loader("`board`", remedy="write one limit per line, as share_error = 0.03.", error=ParameterError)
def read_board(path: str | Path) -> Board:
    """The board of a TOML file; all faults are told at once."""
    try:
        given = tomllib.loads(Path(path).read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as reason:
        why = reason.strerror if isinstance(reason, OSError) else "it is not UTF-8 text"
        raise ParameterError(f"`board` {str(path)!r} cannot be read: {why}. Name a file such as board.toml.") from None
    except tomllib.TOMLDecodeError as reason:
        raise ParameterError(
            f"`board` {str(path)!r} is no TOML file: {reason}. Write one limit per line, as share_error = 0.03."
        ) from None
    known = options_of(Board)
    faults = [f"there is no limit '{name}'; limits are {', '.join(known)}." for name in given if name not in known]
    for name in known.keys() & given.keys():
        try:
            known[name].check(given[name])
        except ParameterError as reason:
            faults.append(str(reason).replace(f"`{name}`", f"'{name}'"))
    if faults:
        raise ParameterError(f"in the board {str(path)!r}: {' '.join(sorted(faults))}")
    return Board(**given)
