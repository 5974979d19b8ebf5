"""Codebooks that have been read: each is read again only where its file has changed."""

from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from understudy.errors import ParameterError
from understudy.studio.texts import texts
from understudy.studio.workspace import Dataset

if TYPE_CHECKING:
    from understudy.codebook import Codebook, LinkedCodebook


def load_book(own: Dataset) -> "Codebook | LinkedCodebook":
    """The codebook; read again only where its file has changed."""
    place = own.codebook
    if not place.is_file():
        raise ParameterError(texts("codebook")["no_book"])
    stat = place.stat()
    return _loaded(place, stat.st_mtime_ns, stat.st_size, stat.st_ino)


@lru_cache(maxsize=8)
def _loaded(place: Path, _changed: int, _size: int, _file: int) -> "Codebook | LinkedCodebook":
    from understudy.facade.codebooks import load_any

    return load_any(place)
