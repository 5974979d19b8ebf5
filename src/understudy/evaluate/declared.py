"""Metrics find themselves: a decorator marks the function that measures, and each module of a folder is searched."""

import pkgutil
from collections.abc import Iterator, Sequence
from importlib import import_module
from typing import TypeVar

Declared = TypeVar("Declared")


def find_declared(package: str, paths: Sequence[str], mark: str, kind: type[Declared]) -> Iterator[Declared]:
    """What functions in the modules of a package carry under this name, where it is of this kind."""
    for module in pkgutil.iter_modules(paths, f"{package}."):
        for value in vars(import_module(module.name)).values():
            if isinstance(declared := getattr(value, mark, None), kind):
                yield declared
