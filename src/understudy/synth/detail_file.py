"""The released tables of details as a file, for work that is interrupted and resumed."""

import io
import math
import zipfile
from pathlib import Path
from typing import Any

import numpy as np

from understudy.codebook import Codebook
from understudy.errors import ReleaseError
from understudy.files import Access, write_file
from understudy.loading import loading
from understudy.sources.tables import CountTable
from understudy.synth.details import Details, detail_cliques
from understudy.synth.model_parts import ModelParts


def write_details(details: Details, path: Path) -> None:
    """Codes and noisy counts of every table, in one step."""
    arrays: dict[str, Any] = {}
    for number, table in enumerate(details.tables()):
        arrays[f"codes{number}"], arrays[f"counts{number}"] = table.occupied()
    buffer = io.BytesIO()
    np.savez_compressed(buffer, **arrays)
    write_file(path, buffer.getvalue(), Access.OWNER)


def read_details(book: Codebook, path: Path) -> Details:
    """What :func:`write_details` wrote, over the codebook it was counted with."""
    remedy = "remove the folder to give the release up: what it was charged stays charged."
    with (
        loading(path, "the table of details", remedy=remedy, error=ReleaseError),
        zipfile.ZipFile(path) as archive,
    ):
        parts = ModelParts(archive)
        tables = [_table(book, parts, clique, number) for number, clique in enumerate(detail_cliques(book))]
    return Details.of(tables, codes=len(book.details))


def _table(book: Codebook, parts: ModelParts, clique: tuple[str, ...], number: int) -> CountTable:
    """One of them, no larger than its codebook allows."""
    sizes = tuple(book.column(name).size for name in clique)
    cells = math.prod(sizes)
    codes = parts.array(f"codes{number}.npy", most=cells * len(sizes), dimensions=2)
    return CountTable.sparse(clique, sizes, codes, parts.array(f"counts{number}.npy", most=cells, dimensions=1))
