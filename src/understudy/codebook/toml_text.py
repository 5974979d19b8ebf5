"""Single values as TOML writes them in the one canonical layout."""

import json
import re
from decimal import Decimal
from fractions import Fraction

_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")
_WIDTH = 100


def quoted(text: str) -> str:
    """A TOML basic string: JSON's escapes are a subset of TOML's, save for DEL, which TOML wants escaped."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def bare_key(name: str) -> str:
    """A key, quoted where it must be."""
    return name if _BARE_KEY.fullmatch(name) else quoted(name)


def number_text(value: Fraction) -> str:
    """A decimal number."""
    if value.denominator == 1:
        return str(value.numerator)
    exact = Decimal(value.numerator) / Decimal(value.denominator)
    text = format(exact, "f")
    return text if "." in text else text + ".0"


def list_line(key: str, items: list[str]) -> str:
    """A list on one line, or one item per line where it would be long."""
    line = f"{key} = [{', '.join(items)}]"
    if len(line) <= _WIDTH:
        return line
    return f"{key} = [\n" + "".join(f"    {item},\n" for item in items) + "]"
