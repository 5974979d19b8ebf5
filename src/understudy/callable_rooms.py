"""Rooms that can be called.

Some use cases are called like the room behind them: ``us.evaluate(...)`` compares two tables, ``understudy.evaluate``
holds the metrics. Python puts a room into the package as soon as anybody imports it, in place of the function. So these
rooms answer a call by the use case of their name, and begin their help with its help.
"""

import inspect
import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from types import ModuleType
from typing import Any

_HOME: dict[str, str] = {}
"""The modules that hold the use cases, by name."""


class CallableRoom(ModuleType):
    """A room that stands for a use case, too."""

    def __call__(self, *arguments: Any, **options: Any) -> Any:
        """The use case."""
        return self._use_case(*arguments, **options)

    @property
    def _use_case(self) -> Callable[..., Any]:
        name = self.__name__.rpartition(".")[2]
        use_case: Callable[..., Any] = getattr(import_module(_HOME[name]), name)
        return use_case

    @property
    def __signature__(self) -> inspect.Signature:
        return inspect.signature(self._use_case)

    @property
    def __doc__(self) -> str:  # type: ignore[override]
        return f"{inspect.getdoc(self._use_case)}\n\n{self.__dict__['__doc__']}"


class _Package(ModuleType):
    def __setattr__(self, name: str, value: Any) -> None:
        if name in _HOME and isinstance(value, ModuleType):
            value.__class__ = CallableRoom
        super().__setattr__(name, value)


def answer_calls(package: str, homes: Mapping[str, str]) -> None:
    """Let the rooms of ``package`` that have the name of a use case answer when they are called."""
    _HOME.update(homes)
    sys.modules[package].__class__ = _Package
