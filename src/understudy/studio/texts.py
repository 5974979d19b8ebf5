"""All words of the screens, in one place: ``texts/en/SCREEN.toml``. A translation is a second folder beside ``en``.

Templates have them as ``t`` (their own screen's) and ``common``; ``{{ t.found|fill(n=3) }}`` puts values into
``"{n} columns"``. The values are escaped like everything else on a page.
"""

import tomllib
from collections.abc import Mapping
from functools import cache
from importlib import resources
from typing import Any

LANGUAGE = "en"


@cache
def texts(screen: str) -> Mapping[str, Any]:
    """The words of one screen."""
    place = resources.files("understudy.studio") / "texts" / LANGUAGE / f"{screen}.toml"
    return tomllib.loads(place.read_text(encoding="utf-8"))


def fill(words: str, /, **values: Any) -> str:
    """Put values into a sentence.

    >>> fill("{n} columns", n=3)
    '3 columns'
    """
    return words.format(**values)
