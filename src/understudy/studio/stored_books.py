"""Codebooks that have been read: each is read again only where its file has changed."""

from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

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


def is_linked(own: Dataset) -> bool:
    """Whether there is a codebook, and it is one of linked tables."""
    return own.codebook.is_file() and hasattr(load_book(own), "tables")


def one_book(own: Dataset) -> "Codebook":
    """The codebook of a data set of one table; linked ones are refused."""
    book = load_book(own)
    if hasattr(book, "tables"):
        raise ParameterError(texts("codebook")["one_table"])
    return book


def tables_of(book: Any) -> "dict[str, Codebook]":
    """Its tables by name; one without a name where there are no linked ones."""
    return {table.name: table.book for table in book.tables} if hasattr(book, "tables") else {"": book}


def spelled(table: str, column: str) -> str:
    """A column as reviews and attestations call it.

    >>> spelled("stays", "ward"), spelled("", "ward")
    ('stays.ward', 'ward')
    """
    return f"{table}.{column}" if table else column


def table_of(own: Dataset) -> str | None:
    """The one table of a database that is used; None for linked ones, which are all used."""
    return None if is_linked(own) else own.table
