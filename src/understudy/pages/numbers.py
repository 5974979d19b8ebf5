"""How numbers are printed, in one place: to four digits, and never as 1e-06, which few people read."""

import datetime as dt
import math
from decimal import Decimal


def number(value: float | None) -> str:
    """Four significant digits.

    >>> number(0.0123456), number(1234567.0), number(None), number(0.0), number(1e-9)
    ('0.01235', '1,234,567', 'not defined', '0', '0.000000001')
    """
    if value is None or math.isnan(value):
        return "not defined"
    if math.isinf(value):
        return "no bound"
    if value == int(value) or abs(value) >= 10_000:
        return f"{value + 0.0:,.0f}"
    return _plain(value, 4)


def percent(value: float | None) -> str:
    """A share.

    >>> percent(0.12345), percent(0.0), percent(0.00001), percent(1e-9), percent(25.0)
    ('12.3%', '0%', '0.001%', '0.0000001%', '2,500%')
    """
    if value is None or math.isnan(value):
        return "not defined"
    if value in (0, 1):
        return f"{value:.0%}"
    return f"{100 * value:,.0f}%" if abs(value) >= 1 else f"{_plain(100 * value, 3)}%"


def points(value: float, *, digits: int = 1) -> str:
    """A difference of shares in percentage points, with its sign.

    >>> points(0.0312), points(-0.5), points(0.00001), points(0.0)
    ('+3.1', '-50.0', '+0.0', '0')
    """
    return f"{100 * value:+.{digits}f}" if value else "0"


def _plain(value: float, digits: int) -> str:
    """So many significant digits without an exponent.

    >>> _plain(1.5e-7, 3), _plain(12.34, 3), _plain(0.99999, 3)
    ('0.00000015', '12.3', '1')
    """
    rounded = f"{Decimal(f'{value:.{digits}g}'):f}"
    return rounded.rstrip("0").rstrip(".") if "." in rounded else rounded


def moment(stamp: str) -> str:
    """A time for people, to the minute; what is no time stays as it is.

    >>> moment("2024-05-31T13:21:53+00:00"), moment("unknown")
    ('2024-05-31 13:21 UTC', 'unknown')
    """
    try:
        at = dt.datetime.fromisoformat(stamp)
    except ValueError:
        return stamp
    return stamp if at.tzinfo is None else f"{at.astimezone(dt.UTC):%Y-%m-%d %H:%M} UTC"
