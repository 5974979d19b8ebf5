"""The colours of every figure: Okabe and Ito's, told apart by everybody. Patterns and shapes differ as well."""

from collections.abc import Mapping
from typing import Any

__all__ = ["DEEP_BLUE", "DEEP_ORANGE", "GRID", "HATCHED", "INK", "REAL", "SYNTHETIC", "SYNTHETIC_LINE"]

REAL, SYNTHETIC = "#0072b2", "#e69f00"
"""Blue is the confidential table, orange the synthetic one."""
SYNTHETIC_LINE = "#c8571b"
"""The orange of thin lines and small marks, which need more contrast with paper."""
DEEP_BLUE, DEEP_ORANGE = "#0b4f80", "#b85a00"
INK, GRID = "#222222", "#d9d9d9"
HATCHED: Mapping[str, Any] = {
    "color": "#ffffff",
    "line": {"color": "#9a6a00", "width": 1},
    "pattern": {"shape": "/", "fgcolor": "#c98500", "bgcolor": "#fdf0d5", "size": 6, "solidity": 0.4},
}
"""The bars of what was made, beside the plain ones of what is real."""
