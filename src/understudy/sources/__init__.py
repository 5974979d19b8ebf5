"""Sources: private tables, wherever they are stored, and the counts taken from them."""

from pathlib import Path
from typing import Any

from understudy.codebook import Codebook
from understudy.errors import DataError, listed
from understudy.privacy.account import Account, account_at
from understudy.sources.base import Source, as_codebook
from understudy.sources.encoded import EncodedSource
from understudy.sources.engine import EngineSource
from understudy.sources.files import open_table
from understudy.sources.inputs import provenance_behind
from understudy.sources.tables import CountTable

__all__ = ["CountTable", "EncodedSource", "EngineSource", "Source", "open_source"]

LOCAL_BYTES = 1 << 28
"""Codes up to 256 MiB are counted in memory; codes of larger tables go to a private file on disk, piece by piece."""


def open_source(
    what: Any,
    codebook: Codebook | str | Path | None = None,
    *,
    unknown: str = "error",
    table: str | None = None,
    account: Account | str | Path | None = None,
    local_bytes: int = LOCAL_BYTES,
) -> Source:
    """Put a private table behind its codebook; no row is read until something is counted.

    ``what`` is a CSV (also gzip) or Parquet path, a glob of them, ``duckdb:///FILE?table=T``,
    ``sqlite:///FILE?table=T``, ``postgresql://USER@HOST/DB?table=SCHEMA.TABLE``, ``mariadb://USER@HOST/DB?table=T``,
    ``spark://HOST:PORT?table=T`` (or ``?path=P``), a Spark session with ``table`` a name or a path, or an Arrow table,
    a pandas, Polars or Spark frame. Servers and Spark encode and count where the rows are; passwords come from the
    environment, never from an address.

    ``unknown`` says where values outside the codebook go: ``error``, ``missing``, ``other``, ``other-or-missing`` or
    ``clamp`` (a number or date beyond its bounds becomes the bound).
    ``account`` is charged by everything that spends.

    >>> import pyarrow as pa
    >>> from understudy.codebook import Categorical, Codebook
    >>> book = Codebook(columns=(Categorical(name="sex", levels=("F", "M")),))
    >>> source = open_source(pa.table({"sex": ["F", "M", "F"]}), book)
    >>> source.count([["sex"]])
    [<withheld>]
    """
    book = as_codebook(codebook)
    provenance = provenance_behind(what, book, table)
    opened = open_table(what, table, file=None if provenance.is_release else book.file)
    absent = dict.fromkeys(c.reads for c in book.described if c.reads not in opened.header)
    if absent:
        raise DataError(
            f"{opened.label} lacks the columns {', '.join(map(repr, absent))} that the codebook describes; it has "
            f"{listed(map(repr, opened.header))}. Is this the codebook of another file?"
        )
    source = EngineSource(
        codebook=book,
        opened=opened,
        unknown=unknown,
        account=account_at(account),
        provenance=provenance,
        local_bytes=local_bytes,
    )
    source.address = what if isinstance(what, str | Path) else None
    return source
