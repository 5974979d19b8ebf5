"""All words of the screens, in one place: ``texts/en/SCREEN.toml``. A translation is a second folder beside ``en``.

Templates have them as ``t`` (their own screen's) and ``common``; ``{{ t.found|fill(n=3) }}`` puts values into
``"{n} columns"``. The values are escaped like everything else on a page.
"""

from collections.abc import Mapping
from typing import Any

from understudy.texts import room_texts


def texts(screen: str) -> Mapping[str, Any]:
    """The words of one screen."""
    return room_texts("studio", screen)


def fill(words: str, /, **values: Any) -> str:
    """Put values into a sentence.

    >>> fill("{n} columns", n=3)
    '3 columns'
    """
    return words.format(**values)
