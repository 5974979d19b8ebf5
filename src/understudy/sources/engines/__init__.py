"""The engines, one file each: a file of this package that sets ``ENGINE`` is one, and nothing else lists it.

What such a file declares stands in :class:`understudy.sources.engines.kind.Engine`.
"""

import importlib
import pkgutil
from functools import cache
from pathlib import Path
from typing import Any

from understudy.errors import DataError
from understudy.files import refuse_special
from understudy.sources.engines.kind import Engine

_ABOUT = {"kind", "bench", "dialect", "file_database"}
"""Files of this package that several engines use and that are none."""


@cache
def engines() -> dict[str, Engine]:
    """All engines by name, in the order of their names."""
    names = [module.name for module in pkgutil.iter_modules(__path__) if module.name not in _ABOUT]
    found = [importlib.import_module(f"{__name__}.{name}").ENGINE for name in sorted(names)]
    return {engine.name: engine for engine in found}


@cache
def engine_of_scheme(scheme: str) -> Engine | None:
    """The engine that an address names by what stands before its ``://``."""
    return next((engine for engine in engines().values() if scheme in engine.schemes), None)


def engine_behind(connection: Any) -> Engine:
    """The engine that a connection of Ibis reaches."""
    found = next((engine for engine in engines().values() if engine.ibis_name == connection.name), None)
    if found is None:
        known = sorted({engine.ibis_name for engine in engines().values()})
        raise DataError(f"counting on {connection.name} is not built; use {', '.join(known)}.")
    return found


def engine_of_file(path: str) -> Engine | None:
    """The engine whose file this is: by its first bytes, or by its name where there is no such file or it is empty."""
    place = Path(path)
    candidates = [engine for engine in engines().values() if engine.file_start is not None]
    try:
        refuse_special(place, follow=True)  # a pipe would be waited for; whoever reads it says what it is
        with place.open("rb") as data:
            head = data.read(32)
    except (OSError, ValueError):
        head = b""
    for engine in candidates:
        assert engine.file_start is not None
        offset, start = engine.file_start
        if head[offset : offset + len(start)] == start:
            return engine
    return next((engine for engine in candidates if place.suffix.lower() in engine.file_suffixes), None)
