"""The released tables of details as a file, for work that is interrupted and resumed."""

import os
import zipfile
from pathlib import Path
from typing import Any

import numpy as np

from understudy.codebook import Codebook
from understudy.errors import ReleaseError
from understudy.sources.tables import CountTable
from understudy.synth.details import Details, detail_cliques


def write_details(details: Details, path: Path) -> None:
    """Codes and noisy counts of every table, in one step."""
    arrays: dict[str, Any] = {}
    for number, table in enumerate(details.tables()):
        arrays[f"codes{number}"], arrays[f"counts{number}"] = table.occupied()
    scratch = path.with_name(f".{path.name}")
    with scratch.open("wb") as target:
        np.savez_compressed(target, **arrays)
        target.flush()
        os.fsync(target.fileno())
    scratch.rename(path)


def read_details(book: Codebook, path: Path) -> Details:
    """What :func:`write_details` wrote, over the codebook it was counted with."""
    try:
        with np.load(path, allow_pickle=False) as archive:
            tables = [
                CountTable.sparse(
                    clique,
                    tuple(book.column(name).size for name in clique),
                    archive[f"codes{number}"],
                    archive[f"counts{number}"],
                )
                for number, clique in enumerate(detail_cliques(book))
            ]
    except (OSError, KeyError, ValueError, zipfile.BadZipFile) as reason:
        raise ReleaseError(
            f"the details kept in {str(path)!r} cannot be read ({reason}); remove the folder to give the release "
            "up: what it was charged stays charged."
        ) from None
    return Details.of(tables, codes=len(book.details))
