"""How numbers are printed, in one place: the page says what the JSON document says, to four digits."""

import datetime as dt
import math


def number(value: float | None) -> str:
    """Four significant digits.

    >>> number(0.0123456), number(1234567.0), number(None), number(0.0), number(1e-9)
    ('0.01235', '1,234,567', 'not defined', '0', '1e-09')
    """
    if value is None or math.isnan(value):
        return "not defined"
    if math.isinf(value):
        return "no bound"
    if value == int(value) and abs(value) < 1e15:
        return f"{int(value):,}"
    if abs(value) >= 10_000:
        return f"{value:,.0f}"
    return f"{value:.4g}"


def percent(value: float | None) -> str:
    """A share.

    >>> percent(0.12345), percent(0.0), percent(0.00001)
    ('12.3%', '0%', '0.001%')
    """
    if value is None or math.isnan(value):
        return "not defined"
    if value in (0, 1):
        return f"{value:.0%}"
    return f"{100 * value:.3g}%"


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
