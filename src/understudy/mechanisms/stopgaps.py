"""Two names of :mod:`understudy.parameters` that fail there today: import them from there once they do not.

``option`` raises a TypeError for every field, and ``EPSILON`` an OverflowError for whole numbers beyond all floats.
"""

import dataclasses
from typing import Any

from understudy.parameters import _METADATA_KEY, Number, Option, Panel, Rule


def option(*, rule: Rule, help: str) -> Any:  # noqa: A002 - the word that everybody knows
    """A dataclass field that declares an option."""
    declared = Option(name="", rule=rule, help=help, panel=Panel.PRIVACY, default=dataclasses.MISSING)
    return dataclasses.field(metadata={_METADATA_KEY: declared})


class _Epsilon(Number):
    """A number above 0, however large."""

    def admits(self, value: Any) -> bool:
        """Whether it is above 0."""
        return super().admits(max(min(value, 1 << 1000), -1) if type(value) is int else value)


EPSILON = _Epsilon(above=0)
