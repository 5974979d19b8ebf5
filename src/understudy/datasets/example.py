"""A folder to try the commands on: simulated patients, others kept back, and their public codebook."""

from collections.abc import Mapping
from pathlib import Path

import pyarrow as pa

from understudy.datasets.discharges import discharges, discharges_codebook_text
from understudy.datasets.histories import encounters, encounters_codebook_text, histories, histories_codebook_text
from understudy.errors import ParameterError, ReleaseError
from understudy.files import Access, make_folder, write_file


def write_patients(folder: Path, *, rows: int, seed: int) -> list[Path]:
    """Write patients.csv, held-out.csv (a quarter as many others) and patients.toml into a new folder."""
    _check_new(folder)
    tables = {"patients.csv": discharges(rows, seed), "held-out.csv": discharges(max(1, rows // 4), seed + 1)}
    return _write(folder, tables, {"patients.toml": discharges_codebook_text()})


def write_histories(folder: Path, *, patients: int, seed: int, one_file: bool = False) -> list[Path]:
    """Write people with histories into a new folder: three linked tables, or one that repeats people.

    A quarter as many others are kept back, in the folder or file called held-out.
    """
    _check_new(folder)
    others = max(1, patients // 4)
    if one_file:
        kept_aside = encounters(others, seed + 1, first=patients)
        tables = {"stays.csv": encounters(patients, seed), "held-out.csv": kept_aside}
        return _write(folder, tables, {"stays.toml": encounters_codebook_text()})
    tables = {f"{name}.csv": table for name, table in histories(patients, seed)._asdict().items()}
    kept_back = histories(others, seed + 1, first=patients)._asdict()
    tables |= {f"held-out/{name}.csv": table for name, table in kept_back.items()}
    return _write(folder, tables, {"hospital.toml": histories_codebook_text()})


def _check_new(folder: Path) -> None:
    if folder.exists():
        raise ParameterError(f"{str(folder)!r} exists already; an example never overwrites. Choose another folder.")


def _write(folder: Path, tables: Mapping[str, pa.Table], texts: Mapping[str, str]) -> list[Path]:
    import pyarrow.csv

    try:
        for place in dict.fromkeys((folder / name).parent for name in tables):
            make_folder(place, Access.EVERYBODY)
    except OSError as reason:
        raise ReleaseError(f"the folder {str(folder)!r} cannot be made ({reason.strerror}).") from None
    for name, table in tables.items():
        sink = pa.BufferOutputStream()
        pyarrow.csv.write_csv(table, sink)
        write_file(folder / name, sink.getvalue().to_pybytes(), Access.EVERYBODY)
    for name, text in texts.items():
        write_file(folder / name, text, Access.EVERYBODY)
    return [folder / name for name in (*tables, *texts)]
