"""Methods of synthesis: one recipe per file in `understudy.synth.methods`, found by the registry."""

from typing import Any

from understudy.privacy.quote import Quote
from understudy.synth.recipe import Fitted, Recipe
from understudy.synth.registry import METHODS, make_recipe

_CLASSES = {cls.__name__: cls for cls in METHODS.values()}
__all__ = ["METHODS", "Fitted", "Quote", "Recipe", "make_recipe", *_CLASSES]  # noqa: PLE0604 - found, not listed


def __getattr__(name: str) -> Any:
    """The classes of all methods by their names."""
    if name in _CLASSES:
        return _CLASSES[name]
    raise AttributeError(f"module 'understudy.synth' has no attribute {name!r}")
