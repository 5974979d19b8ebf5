"""One example of every method of synthesis, as the methods state it, for all tests that must meet every method."""

from collections.abc import Mapping
from typing import Any

from understudy.synth.registry import METHODS

EXAMPLES = {name: dict(cls.example) for name, cls in METHODS.items()}


def examples_with(changes: Mapping[str, Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
    """Every method's own example, with what a test must change of some of them; None takes an option out."""
    merged = {name: {**example, **changes.get(name, {})} for name, example in EXAMPLES.items()}
    return {
        name: {option: value for option, value in options.items() if value is not None}
        for name, options in merged.items()
    }
