"""``EPSILON`` of :mod:`understudy.parameters`, which raises an OverflowError for whole numbers beyond all floats today.

Import it from there once it does not.
"""

from typing import Any

from understudy.parameters import Number


class _Epsilon(Number):
    """A number above 0, however large."""

    def admits(self, value: Any) -> bool:
        """Whether it is above 0."""
        return super().admits(max(min(value, 1 << 1000), -1) if type(value) is int else value)


EPSILON = _Epsilon(above=0)
