"""The released tables of details as a file, for work that is interrupted and resumed."""

import io
from pathlib import Path
from typing import Any

import numpy as np

from understudy.codebook import Codebook
from understudy.errors import ReleaseError
from understudy.files import Access, write_file
from understudy.loading import loading
from understudy.sources.tables import CountTable
from understudy.synth.details import Details, detail_cliques


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
        path.open("rb") as file,  # NumPy leaves a damaged file open that it opened itself
        np.load(file, allow_pickle=False) as archive,
    ):
        tables = [
            CountTable.sparse(
                clique,
                tuple(book.column(name).size for name in clique),
                archive[f"codes{number}"],
                archive[f"counts{number}"],
            )
            for number, clique in enumerate(detail_cliques(book))
        ]
    return Details.of(tables, codes=len(book.details))
